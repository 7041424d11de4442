package constraint_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// world is two nodes of a rack each, a container that runs on the first, and an application
// of two that waits.
func world() *constraint.Problem {
	node := func(name string, free int64) constraint.Node {
		return constraint.Node{Name: name, Capacity: cluster.Vector{8, 8}, Free: cluster.Vector{free, 8}, Devices: []int64{4, 4}}
	}
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "gpu", PerUnit: 4, Devices: true}}
	return &constraint.Problem{
		Kinds: kinds,
		Nodes: []constraint.Node{node("n0", 6), node("n1", 8)},
		Groups: []constraint.Group{
			{Name: cluster.EachNode, Sets: []string{"n0", "n1"}, SetOf: []int32{0, 1}},
		},
		Applications: []constraint.Application{{Name: "old", First: 0, End: 1, Deployed: true}, {Name: "new", First: 1, End: 3}},
		Shapes: []constraint.Shape{
			{Application: 0, Demand: cluster.Vector{2, 0}, Tags: []string{"app:old", "loud"}},
			{Application: 1, Demand: cluster.Vector{4, 3}, Needs: cluster.NeedsOf(cluster.DeviceKinds(kinds), cluster.Vector{4, 3}), Tags: []string{"app:new"}},
		},
		Containers: []constraint.Container{{Shape: 0, At: 0, Fixed: true}, {Shape: 1, At: constraint.Nowhere}, {Shape: 1, At: constraint.Nowhere}},
		Objective:  constraint.Standard(),
	}
}

func TestCheck(t *testing.T) {
	apart := cluster.Constraint{Name: "apart", Hard: true, Any: [][]cluster.Bound{{{Subject: []string{"app:new"}, Target: []string{"loud"}, Group: cluster.EachNode}}}}
	for _, c := range []struct {
		name   string
		change func(*constraint.Problem)
		place  constraint.Assignment
		want   string // empty: it may be carried out
	}{
		{"nothing is placed", nil, constraint.Assignment{0, -1, -1}, ""},
		{"both on the empty node", nil, constraint.Assignment{0, 1, 1}, ""},
		{"one on each", nil, constraint.Assignment{0, 0, 1}, ""},
		{"half an application", nil, constraint.Assignment{0, 1, -1}, "application new: 1 of 2 containers are placed, want all or none"},
		{"no room", nil, constraint.Assignment{0, 0, 0}, "node n0: 2 cpu more than it has"},
		{"the fixed one moves", nil, constraint.Assignment{1, -1, -1}, "is fixed to node row 0, and on 1"},
		{"the fixed one is dropped", func(p *constraint.Problem) { p.Containers[0].Fixed = false }, constraint.Assignment{-1, -1, -1}, "runs on node row 0, and is taken off"},
		{"what runs moves away, and makes room", func(p *constraint.Problem) { p.Containers[0].Fixed, p.Nodes[1].Free[0] = false, 2 }, constraint.Assignment{1, 0, 0}, ""},
		{"not there", nil, constraint.Assignment{0, 2, 2}, "is on node row 2 of 2"},
		{"not eligible", func(p *constraint.Problem) { p.Shapes[1].Eligible = []bool{true, false} }, constraint.Assignment{0, 0, 1}, "is on node n1, which it may not use"},
		{"too many on a node", func(p *constraint.Problem) { p.Shapes[1].PerNode = 1 }, constraint.Assignment{0, 1, 1}, "is one of 2 of its application on node n1, which may hold 1"},
		{"as many on a node as may be", func(p *constraint.Problem) { p.Shapes[1].PerNode = 2 }, constraint.Assignment{0, 1, 1}, ""},
		{"devices", func(p *constraint.Problem) { p.Nodes[1].Devices = []int64{4, 2} }, constraint.Assignment{0, 1, 1}, "node n1: its devices cannot hold the 2 containers"},
		{"hard", func(p *constraint.Problem) { p.Constraints = []cluster.Constraint{apart} }, constraint.Assignment{0, 0, 1}, "constraint apart is hard, and violated 1 times where it was 0 times"},
		{"hard, and kept", func(p *constraint.Problem) { p.Constraints = []cluster.Constraint{apart} }, constraint.Assignment{0, 1, 1}, ""},
		{"too short", nil, constraint.Assignment{0}, "an assignment of 1 containers for a problem of 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := world()
			if c.change != nil {
				c.change(p)
			}
			err := constraint.Check(p, c.place)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestDevicesHoldWhateverTheOrder checks a packing that takes the fullest first cannot
// find.
func TestDevicesHoldWhateverTheOrder(t *testing.T) {
	p := world()
	p.Kinds[1].PerUnit = 10
	p.Nodes[1].Devices = []int64{10, 10}
	shares := []int64{5, 4, 4, 3, 3} // 4+3+3 and 5+4, and not 5+4 and 4+3+3 with one misplaced
	p.Applications[1].End = 1 + int32(len(shares))
	p.Containers, p.Shapes = p.Containers[:1], p.Shapes[:1]
	a := constraint.Assignment{0}
	for i, share := range shares {
		p.Shapes = append(p.Shapes, constraint.Shape{Application: 1, Demand: cluster.Vector{1, share}, Needs: cluster.NeedsOf(cluster.DeviceKinds(p.Kinds), cluster.Vector{1, share})})
		p.Containers = append(p.Containers, constraint.Container{Shape: int32(i + 1), At: constraint.Nowhere})
		a = append(a, 1)
	}
	p.Nodes[1].Free[1] = 20
	if err := constraint.Check(p, a); err != nil {
		t.Errorf("5+4 and 4+3+3 fit two devices of 10: %v", err)
	}
}
