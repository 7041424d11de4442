package cli

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fairlead.dev/fairlead/capacity/fleet"
	"fairlead.dev/fairlead/cluster"
)

// This file poses what a cluster's pods need as a problem of nodes to buy.

// needs is the problem, with what its parts are called.
type needs struct {
	*look
	problem fleet.Problem
	// asked are the offers of the file; without any, those of the cluster's own nodes.
	asked  []offer
	offers []offered
	// owners are who made the tasks of each fleet.Tasks; the first of them.
	owners []string
	// unplanned are the hard constraints that are not planned for.
	unplanned []string
	rules     map[cluster.ConstraintID][]int // of each bound, the rule
}

// offered is an offer as answers call it.
type offered struct {
	name, provider string
	price          float64
	node           cluster.NodeID // that stands for it
}

func newNeeds(l *look, offers []offer) *needs {
	n := &needs{look: l, asked: offers, rules: map[cluster.ConstraintID][]int{}}
	n.problem.Kinds = n.v.Kinds()
	if len(offers) == 0 {
		n.ownNodes()
	} else {
		n.offered()
	}
	n.constraints()
	n.tasks()
	return n
}

// nodes goes through the live nodes that are no offers.
func (n *needs) nodes(do func(cluster.NodeID)) {
	for row := range cluster.NodeID(n.v.NodeRows()) {
		if n.v.NodeLive(row) && !isOffer(n.v.NodeSpec(row).Name, n.asked) {
			do(row)
		}
	}
}

// offered takes the offers of the file.
func (n *needs) offered() {
	rows := map[string]cluster.NodeID{}
	for row := range cluster.NodeID(n.v.NodeRows()) {
		if n.v.NodeLive(row) {
			rows[n.v.NodeSpec(row).Name] = row
		}
	}
	daemons := n.daemons()
	for i := range n.asked {
		o := &n.asked[i]
		row := rows[o.nodeName()]
		room := slices.Clone(n.v.Limit(row))
		for _, d := range daemons {
			if d.goesTo(n.v.NodeSpec(row)) {
				for k, q := range d.demand {
					room[k] = max(room[k]-q, 0)
				}
			}
		}
		n.problem.Offers = append(n.problem.Offers, fleet.Offer{Name: o.id(), Room: room, Price: int64(math.Round(o.Price * priceUnits)), Most: o.Most})
		n.offers = append(n.offers, offered{o.Name, o.Provider, o.Price, row})
	}
}

// daemon is a DaemonSet, of which every node has a pod that may have one.
type daemon struct {
	demand       cluster.Vector // the most that one of its pods takes
	requirements []cluster.Requirement
}

func (d *daemon) goesTo(node *cluster.NodeSpec) bool {
	return !slices.ContainsFunc(d.requirements, func(r cluster.Requirement) bool {
		return r.Key != "metadata.name" && !r.Matches(node.Labels)
	})
}

// daemons are the DaemonSets, by name.
func (n *needs) daemons() []*daemon {
	by := map[string]*daemon{}
	for row, owner := range n.Owners {
		parts := strings.SplitN(owner, "/", 3)
		if !n.Pinned[row] || len(parts) != 3 || parts[1] != "daemonset" {
			continue
		}
		d := by[owner]
		if d == nil {
			d = &daemon{demand: make(cluster.Vector, len(n.problem.Kinds)), requirements: n.requires[n.Names[row]]}
			by[owner] = d
		}
		for k, q := range n.v.Demand(cluster.TaskID(row)) {
			d.demand[k] = max(d.demand[k], q)
		}
	}
	var all []*daemon
	for _, owner := range slices.Sorted(maps.Keys(by)) {
		all = append(all, by[owner])
	}
	return all
}

// ownNodes makes offers of the cluster's own nodes: those that have the same room and take the same tasks are one, at a
// price of 1.
func (n *needs) ownNodes() {
	sets := map[cluster.SetID]bool{}
	for row := range n.Names {
		if n.counts(row) {
			sets[n.v.Shape(n.v.Task(cluster.TaskID(row)).Shape).Eligible] = true
		}
	}
	order := slices.Sorted(maps.Keys(sets))
	at := map[string]int{}
	n.nodes(func(row cluster.NodeID) {
		room := slices.Clone(n.v.Limit(row))
		for _, t := range n.v.TasksOn(row) {
			if n.Pinned[t] {
				for k, q := range n.v.Demand(t) {
					room[k] = max(room[k]-q, 0)
				}
			}
		}
		takes := make([]byte, (len(order)+7)/8)
		for i, id := range order {
			if n.v.Eligible(id, row) {
				takes[i/8] |= 1 << (i % 8)
			}
		}
		key := fmt.Sprint(room) + string(takes)
		i, known := at[key]
		if !known {
			i = len(n.offers)
			at[key] = i
			n.offers = append(n.offers, offered{name: kindOf(n.v.NodeSpec(row)), price: 1, node: row})
			n.problem.Offers = append(n.problem.Offers, fleet.Offer{Name: n.offers[i].name, Room: room, Price: priceUnits})
		}
		n.problem.Offers[i].Most++
	})
}

// kindOf calls a kind of node by the type of machine, or by one of them.
func kindOf(spec *cluster.NodeSpec) string {
	if kind, known := typeOf(spec); known {
		return kind + " such as " + spec.Name
	}
	return "such as " + spec.Name
}

// typeOf is the type of machine of a node, if its labels say one.
func typeOf(spec *cluster.NodeSpec) (kind string, known bool) {
	for _, key := range []string{"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"} {
		for _, l := range spec.Labels {
			if l.Key == key {
				return l.Value, true
			}
		}
	}
	return "", false
}

// counts reports whether the task needs a place on the nodes.
func (n *needs) counts(row int) bool {
	return n.there(row) && n.v.Task(cluster.TaskID(row)).Phase != cluster.Absent && !n.Pinned[row]
}

// constraints makes rules of the hard constraints that are about one node.
func (n *needs) constraints() {
	concerned := map[cluster.ShapeID]bool{}
	for row := range n.Names {
		if n.counts(row) {
			concerned[n.v.Task(cluster.TaskID(row)).Shape] = true
		}
	}
	shapes := slices.Sorted(maps.Keys(concerned))
	for id := range cluster.ConstraintID(n.v.ConstraintRows()) {
		c := n.v.Constraint(id)
		if c == nil || !c.Hard || !slices.ContainsFunc(shapes, func(s cluster.ShapeID) bool { return n.v.Concerns(id, s) }) {
			continue
		}
		own := len(c.Any) == 1 && !slices.ContainsFunc(c.Any[0], func(b cluster.Bound) bool {
			return b.Group != cluster.EachNode || b.Min > 0 || b.Max == cluster.Unbounded || len(b.Subject) == 0 || b.SelfCounted || b.OverFewest
		})
		if !own {
			n.unplanned = append(n.unplanned, c.Name)
			continue
		}
		for i := range c.Any[0] {
			n.rules[id] = append(n.rules[id], len(n.problem.Rules))
			n.problem.Rules = append(n.problem.Rules, fleet.Rule{Max: int(c.Any[0][i].Max)})
		}
	}
}

// tasks gathers the tasks, those that nothing distinguishes together.
func (n *needs) tasks() {
	apart := map[cluster.JobID]bool{}
	for row := range n.Names {
		if task := n.v.Task(cluster.TaskID(row)); n.counts(row) && n.v.Shape(task.Shape).PerNode > 0 {
			apart[task.Job] = true
		}
	}
	type key struct {
		shape cluster.ShapeID
		job   int
	}
	at := map[key]int{}
	for row, name := range n.Names {
		if !n.counts(row) {
			continue
		}
		task := n.v.Task(cluster.TaskID(row))
		of := key{task.Shape, -1}
		if apart[task.Job] {
			of.job = int(task.Job)
		}
		i, known := at[of]
		if !known {
			i = len(n.problem.Tasks)
			at[of] = i
			n.problem.Tasks = append(n.problem.Tasks, n.sort(of.shape, of.job))
			n.owners = append(n.owners, cmp.Or(n.Owners[row], name))
		}
		n.problem.Tasks[i].Count++
	}
}

// sort is the tasks of a shape, and of a job where that matters, of which there are none yet.
func (n *needs) sort(id cluster.ShapeID, job int) fleet.Tasks {
	shape := n.v.Shape(id)
	t := fleet.Tasks{Demand: shape.Demand, PerNode: int(shape.PerNode), Job: job}
	for _, o := range n.offers {
		t.May = append(t.May, n.v.Eligible(shape.Eligible, o.node))
	}
	for _, c := range n.v.ConstraintsOf(id) {
		for i, rule := range n.rules[c] {
			subject, target := n.v.Constraint(c).Any[0][i].Affects(shape.Tags)
			if subject {
				t.Subject = append(t.Subject, rule)
			}
			if target {
				t.Target = append(t.Target, rule)
			}
		}
	}
	return t
}
