// Package constrainttest draws small problems of placement under constraints, for tests that
// compare solvers with one another, with the judge and with enumeration.
package constrainttest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// Size says how large the problems are at most.
type Size struct {
	Nodes, Applications, Containers int // containers of each application
	Constraints                     int
}

// Small is a size whose placements can be enumerated: at most 4 nodes and 6 containers.
func Small() Size { return Size{Nodes: 4, Applications: 3, Containers: 2, Constraints: 4} }

// Draw draws a problem of everything that a problem can hold: applications that run, fixed
// and not, and lack containers, groups that leave nodes out, alternatives, hard constraints, whole sets,
// weights, per-node limits, devices.
func Draw(chance *rand.Rand, size Size) *constraint.Problem {
	d := drawer{chance, &constraint.Problem{Objective: constraint.Standard()}}
	d.p.Kinds = []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1}, {Name: "gpu", Unit: "devices", PerUnit: 4, Devices: true}}
	d.nodes(1 + chance.IntN(size.Nodes))
	for i := range 1 + chance.IntN(size.Applications) {
		d.application(i, 1+chance.IntN(size.Containers))
	}
	for i := range chance.IntN(size.Constraints + 1) {
		d.constraint(i)
	}
	if chance.IntN(2) == 0 {
		o := &d.p.Objective
		o.Used, o.Peak, o.Least = int64(chance.IntN(300)), int64(chance.IntN(500)), cluster.Vector{int64(chance.IntN(4)), 0}
	}
	for c := range d.p.Containers {
		if d.p.Containers[c].At != constraint.Nowhere && chance.IntN(6) == 0 {
			d.evict(&d.p.Containers[c])
		}
	}
	return d.p
}

// AddCards lets a second kind of the problem come in devices: network cards, which some
// containers ask for, with GPUs or without. Who runs and finds none is evicted.
func AddCards(chance *rand.Rand, p *constraint.Problem) {
	d := drawer{chance, p}
	p.Kinds = append(slices.Clone(p.Kinds), cluster.Kind{Name: "nic", Unit: "cards", PerUnit: 2, Devices: true})
	kinds := cluster.DeviceKinds(p.Kinds)
	for n := range p.Nodes {
		node := &p.Nodes[n]
		count := d.IntN(3)
		node.Capacity, node.Free = append(slices.Clone(node.Capacity), int64(2*count)), append(slices.Clone(node.Free), int64(2*count))
		node.AddDevices(kinds[1], slices.Repeat([]int64{2}, count)...)
	}
	for i := range p.Shapes {
		shape := &p.Shapes[i]
		shape.Demand = append(slices.Clone(shape.Demand), []int64{0, 0, 1, 2, 4}[d.IntN(5)])
		shape.Needs = cluster.NeedsOf(kinds, shape.Demand)
	}
	if p.Objective.Least != nil {
		p.Objective.Least = append(slices.Clone(p.Objective.Least), 0)
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		if c.At == constraint.Nowhere {
			continue
		}
		shape, node, gpus := &p.Shapes[c.Shape], &p.Nodes[c.At], c.Devices
		node.Free[2] -= shape.Demand[2]
		for _, need := range shape.Needs {
			if need.Kind == 2 && !giveFirst(node.Devices, cluster.DeviceNeeds{need}, c) {
				d.evict(c)
				break
			}
			c.Devices |= gpus
		}
	}
}

type drawer struct {
	*rand.Rand
	p *constraint.Problem
}

func (d *drawer) nodes(count int) {
	groups := []constraint.Group{{Name: cluster.EachNode}, {Name: "rack", Sets: []string{"r0", "r1"}}, {Name: "zone", Sets: []string{"z0", "z1", "z2"}}}
	for n := range count {
		capacity := cluster.Vector{int64(4 + d.IntN(5)), int64(4 * d.IntN(3))}
		node := constraint.Node{ID: cluster.NodeID(n), Name: fmt.Sprintf("n%d", n), Capacity: capacity, Free: slices.Clone(capacity)}
		node.WholeDevices(d.p.Kinds)
		d.p.Nodes = append(d.p.Nodes, node)
		groups[0].Sets = append(groups[0].Sets, node.Name)
		groups[0].SetOf = append(groups[0].SetOf, int32(n))
		groups[1].SetOf = append(groups[1].SetOf, int32(d.IntN(2)))
		groups[2].SetOf = append(groups[2].SetOf, int32(d.IntN(4)-1)) // some are in none
	}
	d.p.Groups = groups
}

// tags are what tasks have beside the tag of their application.
func tags() []string { return []string{"a", "b", "c"} }

func (d *drawer) application(i, containers int) {
	name := fmt.Sprintf("app%d", i)
	first := int32(len(d.p.Containers))
	shapes := int32(len(d.p.Shapes))
	for range 1 + d.IntN(2) {
		shape := constraint.Shape{Application: int32(i), Demand: cluster.Vector{int64(1 + d.IntN(3)), 0}, Tags: []string{cluster.AppTag(name)}, PerNode: int32(max(d.IntN(6)-4, 0) * 2)}
		for _, tag := range tags() {
			if d.IntN(2) == 0 {
				shape.Tags = append(shape.Tags, tag)
			}
		}
		slices.Sort(shape.Tags)
		if d.IntN(5) == 0 {
			shape.Demand[1] = int64(1 + d.IntN(4))
			shape.Needs = cluster.NeedsOf(cluster.DeviceKinds(d.p.Kinds), shape.Demand)
		}
		if d.IntN(5) == 0 {
			for range d.p.Nodes {
				shape.Eligible = append(shape.Eligible, d.IntN(3) > 0)
			}
		}
		d.p.Shapes = append(d.p.Shapes, shape)
	}
	deployed := d.IntN(3) == 0
	for range containers {
		shape := shapes + int32(d.IntN(len(d.p.Shapes)-int(shapes)))
		c := constraint.Container{Shape: shape, At: constraint.Nowhere, Task: cluster.TaskID(len(d.p.Containers))}
		if deployed {
			d.settle(&c)
		}
		d.p.Containers = append(d.p.Containers, c)
	}
	d.p.Applications = append(d.p.Applications, constraint.Application{Name: name, First: first, End: int32(len(d.p.Containers)), Deployed: deployed})
}

// settle lets a container of a deployed application run where it has the room; where there is none
// it is one that has yet to come.
func (d *drawer) settle(c *constraint.Container) {
	shape := &d.p.Shapes[c.Shape]
	for range 4 {
		n := d.IntN(len(d.p.Nodes))
		node := &d.p.Nodes[n]
		if shape.Demand[0] > node.Free[0] {
			continue
		}
		if !giveFirst(node.Devices, shape.Needs, c) {
			continue
		}
		for k, q := range shape.Demand {
			node.Free[k] -= q
		}
		c.At, c.Fixed = int32(n), d.IntN(2) == 0
		return
	}
}

// giveFirst gives the container the first devices that suffice; false if there are none.
func giveFirst(left []int64, needs cluster.DeviceNeeds, c *constraint.Container) bool {
	var set cluster.DeviceSet
	for _, need := range needs {
		for i := 0; i < len(left) && (set&need.Places).Count() < need.Count; i++ {
			if left[i] >= need.Share && need.Places.Has(i) {
				set |= 1 << i
			}
		}
		if (set & need.Places).Count() < need.Count {
			return false
		}
	}
	needs.Give(left, set, -1)
	c.Devices = set
	return true
}

// evict takes a container off that runs, which its application then lacks.
func (d *drawer) evict(c *constraint.Container) {
	shape, node := &d.p.Shapes[c.Shape], &d.p.Nodes[c.At]
	for k, q := range shape.Demand {
		node.Free[k] += q
	}
	shape.Needs.Give(node.Devices, c.Devices, 1)
	c.At, c.Fixed, c.Devices = constraint.Nowhere, false, 0
}

func (d *drawer) constraint(i int) {
	c := cluster.Constraint{Name: fmt.Sprintf("c%d", i), Weight: []int64{1000, 1000, 500, 2500}[d.IntN(4)]}
	if d.IntN(4) == 0 {
		c.Hard, c.Weight = true, 0
	}
	for range 1 + max(d.IntN(4)-2, 0) {
		var bounds []cluster.Bound
		for range 1 + max(d.IntN(4)-2, 0) {
			bounds = append(bounds, d.bound())
		}
		c.Any = append(c.Any, bounds)
	}
	d.p.Constraints = append(d.p.Constraints, c)
}

func (d *drawer) bound() cluster.Bound {
	b := cluster.Bound{Subject: d.some(), Target: d.some(), Group: []string{cluster.EachNode, "rack", "zone", "row"}[min(d.IntN(10)/3, 3)]}
	switch d.IntN(3) {
	case 0:
		b.Min, b.Max = 1, cluster.Unbounded
	case 1:
		b.Max = int32(d.IntN(2))
	default:
		b.Min = int32(d.IntN(3))
		b.Max = b.Min + int32(d.IntN(3))
	}
	b.SelfCounted = d.IntN(4) == 0
	if d.IntN(6) == 0 {
		b.Subject, b.SelfCounted = nil, false
	}
	return b
}

// some is one tag, or two.
func (d *drawer) some() []string {
	all := tags()
	all = append(all, cluster.AppTag("app0"), cluster.AppTag("app1"))
	first, second := d.IntN(len(all)), d.IntN(len(all))
	if first == second || d.IntN(3) > 0 {
		return []string{all[first]}
	}
	both := []string{all[first], all[second]}
	slices.Sort(both)
	return both
}

// Scatter is an assignment that looks at nothing but what is fixed.
func Scatter(chance *rand.Rand, p *constraint.Problem) constraint.Assignment {
	a := p.Start()
	for i := range a {
		if !p.Containers[i].Fixed {
			a[i] = int32(chance.IntN(len(p.Nodes)+1)) - 1
		}
	}
	return a
}
