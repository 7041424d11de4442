//go:build !nohighs

package exact_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
)

// TestConflict holds the smallest conflict to enumeration: of the hard constraints, each subset
// is tried.
func TestConflict(t *testing.T) {
	causes := map[exact.Cause]int{}
	several := 0
	for seed := range cases(8, 20, 300) {
		drawn := draw(rand.New(rand.NewPCG(uint64(seed), 7)), tiny())
		for i := range drawn.Constraints {
			drawn.Constraints[i].Hard, drawn.Constraints[i].Weight = true, 0
		}
		for _, p := range []*constraint.Problem{drawn, neighbours(rand.New(rand.NewPCG(uint64(seed), 9)))} {
			for app := range p.Applications {
				if p.Applications[app].Deployed {
					continue
				}
				got, err := exact.Conflict(p, p.Start(), int32(app), solver(t), exact.Defaults())
				if err != nil {
					t.Fatal(err)
				}
				cause, size := smallest(p, app)
				if got.Cause != cause || len(got.Constraints) != size || cause == exact.Constraints && placeable(p, app, got.Constraints) {
					t.Fatalf("seed %d, application %d: %v, want %v of %d", seed, app, got, cause, size)
				}
				causes[got.Cause]++
				if size > 1 {
					several++
				}
			}
		}
	}
	t.Logf("%v, %d of them several constraints", causes, several)
	if !testing.Short() && (len(causes) != 3 || several < causes[exact.Constraints]/4) {
		t.Errorf("%v, %d of them several constraints: they show too little", causes, several)
	}
}

// neighbours draws an application that may not stand beside any of several others, each of which
// is on some of the nodes: to leave it no place takes as many as cover all nodes.
func neighbours(chance *rand.Rand) *constraint.Problem {
	nodes, names := 2+chance.IntN(3), []string{"new", "u", "v", "w", "x", "y", "z"}
	p := &constraint.Problem{Kinds: []cluster.Kind{{Name: "cpu"}}, Groups: []constraint.Group{{Name: cluster.EachNode}}}
	for n := range nodes {
		p.Nodes = append(p.Nodes, constraint.Node{Capacity: cluster.Vector{9}, Free: cluster.Vector{9}})
		p.Groups[0].Sets = append(p.Groups[0].Sets, fmt.Sprint("n", n))
		p.Groups[0].SetOf = append(p.Groups[0].SetOf, int32(n))
	}
	for i, name := range names {
		app := constraint.Application{Name: name, First: int32(len(p.Containers)), Deployed: i > 0}
		p.Shapes = append(p.Shapes, constraint.Shape{Application: int32(i), Demand: cluster.Vector{1}, Tags: []string{name}})
		if i == 0 {
			p.Containers = append(p.Containers, constraint.Container{At: constraint.Nowhere})
		}
		for n := range nodes {
			if i > 0 && chance.IntN(5) < 2 {
				p.Containers = append(p.Containers, constraint.Container{Shape: int32(i), At: int32(n), Fixed: true})
				p.Nodes[n].Free[0]--
			}
		}
		app.End = int32(len(p.Containers))
		p.Applications = append(p.Applications, app)
		if i > 0 {
			bound := cluster.Bound{Subject: names[:1], Target: []string{name}, Group: cluster.EachNode}
			p.Constraints = append(p.Constraints, cluster.Constraint{Name: name, Hard: true, Any: [][]cluster.Bound{{bound}}})
		}
	}
	return p
}

// smallest is the size of the smallest conflict, by trying.
func smallest(p *constraint.Problem, app int) (exact.Cause, int) {
	best := math.MaxInt
	for set := range uint(1) << len(p.Constraints) {
		var held []int32
		for i := range p.Constraints {
			if set>>i&1 == 1 {
				held = append(held, int32(i))
			}
		}
		if bits.OnesCount(set) < best && !placeable(p, app, held) {
			best = bits.OnesCount(set)
		}
	}
	switch best {
	case math.MaxInt:
		return exact.Placeable, 0
	case 0:
		return exact.NoRoom, 0
	}
	return exact.Constraints, best
}

// placeable reports whether the application has a place with only these constraints, all others
// where they are.
func placeable(p *constraint.Problem, app int, held []int32) bool {
	only := *p
	only.Constraints = nil
	for _, i := range held {
		only.Constraints = append(only.Constraints, p.Constraints[i])
	}
	only.Containers = slices.Clone(p.Containers)
	found := false
	a := p.Start()
	end := int(p.Applications[app].End)
	var from func(i int)
	from = func(i int) {
		if i == end {
			found = found || constraint.Check(&only, a) == nil
			return
		}
		for n := 0; n < len(p.Nodes) && !found; n++ {
			a[i] = int32(n)
			from(i + 1)
		}
		a[i] = constraint.Nowhere
	}
	from(int(p.Applications[app].First))
	return found
}
