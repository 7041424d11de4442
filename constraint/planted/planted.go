// Package planted makes up problems of placing long-running applications of which a placement
// without any violation is known: the placement is drawn first, and constraints are then
// loosened until it satisfies them all. It stands in for the workloads of Medea (EuroSys 2018:
// HBase, TensorFlow, Storm, and memcached beside them), which are not at hand: what
// applications consist of and wish for is chosen here.
//
// Nodes stand in racks and are dealt to upgrade domains in turn. Applications of 10 to 30
// containers ask for what such applications ask for, each its own kind of constraint; groups
// of them are tied in rings, by affinity and anti-affinity to one another. What they leave
// short of the utilisation is taken by other work that stays, unevenly, so that most racks
// that suit a constraint are too full for it.
package planted

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// The groups of nodes beside cluster.EachNode.
const (
	Rack          = "rack"
	UpgradeDomain = "upgrade_domain"
)

// Options say what is to be drawn. Equal options give equal instances on any machine.
type Options struct {
	Nodes int
	// Applications is how many are to be placed; 0 is as many as reach the utilisation with
	// those that run.
	Applications int
	// Running is how many run already, where they are planted.
	Running int
	// Utilisation is what part of the cluster's capacity is taken when all applications
	// run, in thousandths.
	Utilisation int64
	// InterApp is how many applications, running and new ones mixed, are tied to one another
	// by constraints; below 2 there are no ties.
	InterApp int
	// Free leaves constraints as they were wished for, so that nobody knows whether they can
	// all hold.
	Free bool
	// Movable lets containers that run be moved.
	Movable bool
	Seed    uint64
}

// The most that there can be of each.
const (
	MostNodes        = 100_000
	MostApplications = 100_000
	wholeCluster     = 1000
)

// check says what is wrong with the options.
func (o Options) check() error {
	for _, number := range []struct {
		what     string
		is       int
		from, to int
	}{
		{"nodes", o.Nodes, 1, MostNodes},
		{"applications to place", o.Applications, 0, MostApplications},
		{"running applications", o.Running, 0, MostApplications},
		{"utilisation in thousandths", int(o.Utilisation), 1, wholeCluster},
		{"applications in a group", o.InterApp, 0, MostApplications},
	} {
		if number.is < number.from || number.is > number.to {
			return fmt.Errorf("%s: %d, want %d to %d", number.what, number.is, number.from, number.to)
		}
	}
	return nil
}

// Instance is a problem with a placement of all its containers.
type Instance struct {
	Problem constraint.Problem
	// Witness violates no constraint, unless the options were free.
	Witness constraint.Assignment
	// Parts are what the containers of each shape are in their application, such as
	// master, by shape.
	Parts []string
	// Loosened is how many bounds were wished for more tightly than the witness allows.
	Loosened int
}

// drawing is an instance that is being drawn.
type drawing struct {
	Options
	*Instance
	rand  *rand.Rand
	racks [][]int32        // the nodes of each set of the group of racks
	left  []cluster.Vector // what the witness leaves of each node
}

// Draw makes up an instance.
func Draw(o Options) (*Instance, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d := &drawing{Options: o, Instance: &Instance{}, rand: rand.New(rand.NewPCG(o.Seed, 0x6d65646561))}
	d.drawNodes()
	drafts, err := d.drawApplications()
	if err != nil {
		return nil, err
	}
	d.enter(drafts)
	ringed := slices.Clone(drafts)
	d.rand.Shuffle(len(ringed), func(i, j int) { ringed[i], ringed[j] = ringed[j], ringed[i] })
	for group := range slices.Chunk(ringed, max(o.InterApp, 1)) {
		if err := d.plant(group); err != nil {
			return nil, err
		}
	}
	for _, a := range drafts {
		d.Problem.Constraints = append(d.Problem.Constraints, a.constraints...)
	}
	d.fill()
	d.run()
	return d.Instance, nil
}

// enter gives every application its rows.
func (d *drawing) enter(drafts []*draft) {
	p := &d.Problem
	p.Objective = constraint.Standard()
	for i, a := range drafts {
		app := constraint.Application{Name: a.name, First: int32(len(p.Containers)), Deployed: i < d.Running}
		a.row = int32(i)
		for part := range a.parts {
			q := &a.parts[part]
			q.shape = int32(len(p.Shapes))
			p.Shapes = append(p.Shapes, constraint.Shape{Application: int32(i), Demand: q.demand, Tags: q.tags})
			d.Parts = append(d.Parts, q.name)
			q.first = int32(len(p.Containers))
			for range q.count {
				p.Containers = append(p.Containers, constraint.Container{Shape: q.shape, At: constraint.Nowhere})
			}
		}
		app.End = int32(len(p.Containers))
		p.Applications = append(p.Applications, app)
	}
	for i := range p.Containers {
		p.Containers[i].Task = cluster.TaskID(i)
	}
	d.Witness = p.Start()
}

// run lets the first applications run where they are planted.
func (d *drawing) run() {
	p := &d.Problem
	for _, app := range p.Applications[:d.Running] {
		for c := app.First; c < app.End; c++ {
			container := &p.Containers[c]
			container.At, container.Fixed = d.Witness[c], !d.Movable
			take(p.Nodes[container.At].Free, p.Shapes[container.Shape].Demand)
		}
	}
}

func take(from, demand cluster.Vector) {
	for k := range from {
		from[k] -= demand[k]
	}
}
