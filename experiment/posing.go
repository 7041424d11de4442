package experiment

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/planted"
)

// This file poses problems of a cluster like Medea's, of equal nodes in racks and upgrade
// domains, and of applications that an experiment asks for by their shape.

// The nodes. How large the paper's are is not known.
const (
	bedCore, bedGiB    = 1000, 1 << 30
	bedCores           = 32
	bedMemory          = 128 // GiB
	bedRack            = 40  // nodes
	bedUpgradeDomains  = 10
	bedThousandths     = 1000
	bedWeight          = 1000 // of a constraint: one violation
	bedSalt            = 0x6d656465
	nodesOfMedea       = 400
	nodesOfMedeasStorm = 275
)

// posing is a problem that is being posed.
type posing struct{ constraint.Problem }

// crew is a number of equal containers of an application.
type crew struct {
	count  int
	cores  int64 // thousandths
	memory int64 // GiB
	tag    string
}

// pose is a cluster without applications. Other work has taken from nothing to twice the load,
// in thousandths, of each node, and upgrade domains are dealt by chance.
func pose(nodes int, load int64, seed uint64) *posing {
	chance := rand.New(rand.NewPCG(seed, bedSalt)) //nolint:gosec // no secret
	p := &posing{constraint.Problem{
		Kinds:     []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: bedCore}, {Name: "memory", Unit: "GiB", PerUnit: bedGiB}},
		Objective: constraint.Standard(),
	}}
	var names, racks []string
	domains := make([]string, nodes)
	for place, node := range chance.Perm(nodes) {
		domains[node] = fmt.Sprintf("u%d", place%bedUpgradeDomains)
	}
	for node := range nodes {
		names, racks = append(names, fmt.Sprintf("n%d", node)), append(racks, fmt.Sprintf("r%d", node/bedRack))
		capacity := cluster.Vector{bedCores * bedCore, bedMemory * bedGiB}
		taken := chance.Int64N(2*load + 1)
		free := cluster.Vector{bedCores * (bedThousandths - taken), bedMemory * bedGiB / bedThousandths * (bedThousandths - taken)}
		p.Nodes = append(p.Nodes, constraint.Node{ID: cluster.NodeID(node), Name: names[node], Capacity: capacity, Free: free})
	}
	p.Groups = []constraint.Group{
		constraint.GroupOf(cluster.EachNode, names), constraint.GroupOf(planted.Rack, racks), constraint.GroupOf(planted.UpgradeDomain, domains),
	}
	return p
}

// submit adds an application.
func (p *posing) submit(name string, crews ...crew) {
	app := constraint.Application{Name: name, First: int32(len(p.Containers))}
	for _, c := range crews {
		tags := []string{cluster.AppTag(name), c.tag}
		slices.Sort(tags)
		shape := int32(len(p.Shapes))
		p.Shapes = append(p.Shapes, constraint.Shape{
			Application: int32(len(p.Applications)), Demand: cluster.Vector{c.cores, c.memory * bedGiB}, Tags: tags,
		})
		for range c.count {
			p.Containers = append(p.Containers, constraint.Container{Task: cluster.TaskID(len(p.Containers)), Shape: shape, At: constraint.Nowhere})
		}
	}
	app.End = int32(len(p.Containers))
	p.Applications = append(p.Applications, app)
}

// constrain adds a constraint of the bounds.
func (p *posing) constrain(bounds ...cluster.Bound) {
	for i := range bounds {
		slices.Sort(bounds[i].Subject)
		slices.Sort(bounds[i].Target)
	}
	p.Constraints = append(p.Constraints, cluster.Constraint{
		Name: fmt.Sprintf("c%d", len(p.Constraints)), Any: [][]cluster.Bound{bounds}, Weight: bedWeight,
	})
}

// atLeast and upTo are bounds on how many others of the target a subject has in its set.
func atLeast(least int, subject, target []string, group string) cluster.Bound {
	return cluster.Bound{Subject: subject, Target: target, Min: int32(least), Max: cluster.Unbounded, Group: group}
}

func upTo(most int, subject, target []string, group string) cluster.Bound {
	return cluster.Bound{Subject: subject, Target: target, Max: int32(most), Group: group}
}
