package board_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
	"fairlead.dev/fairlead/constraint/constrainttest"
)

// TestFloor asks what must be paid in any case for two containers of web that are to be placed, on two
// racks of one node each, of which the first holds a cache. The first node is in the dock, the second on
// the pier.
func TestFloor(t *testing.T) {
	for _, tc := range []struct {
		name, constraint string
		room             [2]int64 // of the nodes, for containers
		movable          bool     // the cache
		deployed         bool     // web is, and lacks both
		want             int64
	}{
		{"company that is there", "{web, {cache, 1, inf}, rack}", [2]int64{2, 2}, false, false, 0},
		{"company that nobody is", "{web, {disk, 1, inf}, rack}", [2]int64{2, 2}, false, false, 2 * 1100},
		{"more company than there is", "{web, {cache, 4, inf}, rack}", [2]int64{2, 2}, false, false, 2 * 1075},
		{"each other's company", "{web, {web, 1, inf}, rack}", [2]int64{2, 2}, false, false, 0},
		{"the company of more than each other", "{web, {web, 2, inf}, rack}", [2]int64{2, 2}, false, false, 2 * 1050},
		{"company in a group that is not", "{web, {cache, 1, inf}, row}", [2]int64{2, 2}, false, false, 2 * 1100},
		{"no room beside the company", "{web, {cache, 1, inf}, rack}", [2]int64{0, 2}, false, false, 2 * 1100},
		{"company that may come along", "{web, {cache, 1, inf}, rack}", [2]int64{0, 2}, true, false, 0},
		{"room only where one is not wanted", "{web, {cache, 0, 0}, rack}", [2]int64{2, 0}, false, false, 2 * 1100},
		{"room where one may be wanted", "{web, {cache, 0, 0}, rack}", [2]int64{2, 0}, true, false, 0},
		{"the one who stays wishes for company, too", "{cache, {disk, 1, inf}, rack}", [2]int64{2, 2}, false, false, 1100},
		{"a wish of the one who stays that may come true", "{cache, {web, 2, inf}, rack}", [2]int64{0, 2}, false, false, 0},
		{"one who may move, but nowhere to company", "{cache, {disk, 1, inf}, rack}", [2]int64{2, 2}, true, false, 1100},
		{"room on a node only that is in no dock", "{web, {web, 1, inf}, dock}", [2]int64{0, 2}, false, false, 2 * 1100},
		{"one who stays on a node that is on no pier", "{cache, {web, 1, inf}, pier}", [2]int64{2, 2}, false, false, 1100},
		{"a wish of a whole rack", "{*, {web, 3, inf}, rack}", [2]int64{2, 2}, false, false, 2066},
		{"apart, on two racks", "{web, {web, 0, 0}, rack}", [2]int64{1, 2}, false, false, 0},
		{"apart, on one rack", "{web, {web, 0, 0}, rack}", [2]int64{0, 2}, false, false, 2 * 1100},
		{"two together, on one rack", "{web, {web, 0, 1}, rack}", [2]int64{0, 2}, false, false, 0},
		{"two together, each counted, on one rack", "{web, {web, 0, 1}, rack}: counted", [2]int64{0, 2}, false, false, 2 * 1100},
		{"apart, of which one may stand outside the dock", "{web, {web, 0, 0}, dock}", [2]int64{1, 2}, false, false, 0},
		{"apart, of which both stand in the dock", "{web, {web, 0, 0}, dock}", [2]int64{2, 0}, false, false, 2 * 1100},
		{"apart, of which none stands in the dock", "{web, {web, 0, 0}, dock}", [2]int64{0, 2}, false, false, 0},
		{"apart, and from one who stays in the dock, of which both stand outside", "{any, {any, 0, 0}, dock}", [2]int64{1, 2}, false, false, 0},
		{"apart, and from one who stays", "{any, {any, 0, 0}, rack}", [2]int64{1, 2}, false, false, 1100},
		{"apart, for ever, or nowhere near a disk", "{web, {web, 0, 0}, rack} | {web, {disk, 0, 0}, rack}: hard", [2]int64{0, 2}, false, false, 0},
		{"apart, for ever, on one rack", "{web, {web, 0, 0}, rack}: hard", [2]int64{0, 2}, false, false, 1_000_000},
		{"apart, for ever, on one rack, as far as they come back", "{web, {web, 0, 0}, rack}: hard", [2]int64{0, 2}, false, true, 1_000_000},
		{"an alternative that may hold", "{web, {disk, 1, inf}, rack} | {web, {web, 0, 1}, rack}", [2]int64{2, 2}, false, false, 0},
		{"alternatives of which none may hold", "{web, {disk, 1, inf}, rack} | {web, {cache, 4, inf}, rack}", [2]int64{2, 2}, false, false, 2 * 1075},
		{"both at once", "{web, {disk, 1, inf}, rack} & {web, {cache, 4, inf}, rack}", [2]int64{2, 2}, false, false, 2 * (1100 + 1075)},
		{"a weight at which nobody need come", "{web, {disk, 1, inf}, rack}: 1000", [2]int64{2, 2}, false, false, 0},
		{"a weight at which nobody need come back", "{web, {disk, 1, inf}, rack}: 1000", [2]int64{2, 2}, false, true, 0},
		{"a hard wish for what nobody is", "{web, {disk, 1, inf}, rack}: hard", [2]int64{2, 2}, false, false, 1_000_000},
		{"a hard wish with a way out", "{web, {disk, 1, inf}, rack} | {web, {web, 0, 1}, rack}: hard", [2]int64{2, 2}, false, false, 0},
		{"room for one only", "{web, {disk, 1, inf}, rack}", [2]int64{1, 0}, false, false, 1_000_000},
		{"room for one of two that are lacked", "{web, {disk, 1, inf}, rack}", [2]int64{1, 0}, false, true, 1_000_000 + 1100},
		{"a hard wish of those that are lacked", "{web, {disk, 1, inf}, rack}: hard", [2]int64{2, 2}, false, true, 2_000_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := constraint.Parse(tc.constraint)
			if err != nil {
				t.Fatal(err)
			}
			p := &constraint.Problem{
				Kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}},
				Nodes: []constraint.Node{
					{Capacity: cluster.Vector{9}, Free: cluster.Vector{tc.room[0]}},
					{Capacity: cluster.Vector{9}, Free: cluster.Vector{tc.room[1]}},
				},
				Groups: []constraint.Group{
					{Name: cluster.EachNode, Sets: []string{"m", "n"}, SetOf: []int32{0, 1}},
					{Name: "rack", Sets: []string{"r", "s"}, SetOf: []int32{0, 1}},
					{Name: "dock", Sets: []string{"d"}, SetOf: []int32{0, constraint.Nowhere}},
					{Name: "pier", Sets: []string{"p"}, SetOf: []int32{constraint.Nowhere, 0}},
				},
				Applications: []constraint.Application{{Name: "old", End: 1, Deployed: true}, {Name: "new", First: 1, End: 3, Deployed: tc.deployed}},
				Shapes: []constraint.Shape{
					{Demand: cluster.Vector{1}, Tags: []string{"any", "cache"}},
					{Application: 1, Demand: cluster.Vector{1}, Tags: []string{"any", "web"}},
				},
				Containers:  []constraint.Container{{At: 0, Fixed: !tc.movable}, {Shape: 1, At: constraint.Nowhere}, {Shape: 1, At: constraint.Nowhere}},
				Constraints: []cluster.Constraint{c},
				Objective:   constraint.Standard(),
			}
			b := board.New(p, constraint.FindRoles(p))
			before := b.Score()
			if floor := b.Floor(); floor != tc.want || b.Score() != before || b.At(0) != 0 {
				t.Errorf("the floor is %d, want %d; the score was %d before, and %d after that", floor, tc.want, before, b.Score())
			}
		})
	}
}

// TestFloorOfLackedDevices has a node with fewer devices than it had: who is there holds one that is given
// twice, and there is another for the one that its application lacks, or none.
func TestFloorOfLackedDevices(t *testing.T) {
	for _, tc := range []struct {
		other, want int64
	}{{4, 0}, {0, 1_000_000}} {
		for _, comer := range []int{0, 1} {
			kinds := []cluster.Kind{{Name: "gpu", PerUnit: 4, Devices: true}}
			p := &constraint.Problem{
				Kinds:        kinds,
				Nodes:        []constraint.Node{{Capacity: cluster.Vector{8}, Free: cluster.Vector{4}, Devices: []int64{-4, tc.other}}},
				Groups:       []constraint.Group{{Name: cluster.EachNode, Sets: []string{"n"}, SetOf: []int32{0}}},
				Applications: []constraint.Application{{Name: "old", End: 2, Deployed: true}},
				Shapes:       []constraint.Shape{{Demand: cluster.Vector{4}, Needs: cluster.NeedsOf(cluster.DeviceKinds(kinds), cluster.Vector{4})}},
				Containers:   []constraint.Container{{Devices: 1}, {Devices: 1}},
				Objective:    constraint.Standard(),
			}
			p.Containers[comer] = constraint.Container{At: constraint.Nowhere}
			best := cheapest(p, p.Start(), 0)
			if floor := board.New(p, constraint.FindRoles(p)).Floor(); floor != tc.want || best != tc.want {
				t.Errorf("%d left of the other device, container %d is lacked: the floor is %d, and %d can be had, want both to be %d", tc.other, comer, floor, best, tc.want)
			}
		}
	}
}

// TestNothingBelowFloor draws problems of everything, of which weights may be such that something is better left
// out, and limits per node and the wish to be apart are frequent, and looks through all assignments for
// one that costs less than the floor. A board adds up what these cost, and the judge has the last word.
func TestNothingBelowFloor(t *testing.T) {
	paid, of := 0, cases(6000, 200_000)
	for seed := range of {
		chance := rand.New(rand.NewPCG(seed, 10))
		size := constrainttest.Size{Nodes: 3, Applications: 3, Containers: 2, Constraints: 4}
		if seed%2 == 0 {
			size = constrainttest.Size{Nodes: 2, Applications: 1, Containers: 6, Constraints: 2}
		}
		p := constrainttest.Draw(chance, size)
		if seed%3 == 0 {
			constrainttest.AddCards(rand.New(rand.NewPCG(seed, 12)), p)
		}
		sharpen(chance, p)
		b := board.New(p, constraint.FindRoles(p))
		floor := b.Floor()
		if floor > 0 {
			paid++
		}
		for c := range p.Containers {
			if of := &p.Containers[c]; !of.Fixed && of.At != constraint.Nowhere {
				b.Take(int32(c))
			}
		}
		if below(b, 0, floor) {
			t.Fatalf("seed %d: the floor is %d, and %v costs %d: %+v", seed, floor, b.Assignment(), b.Score(), p)
		}
	}
	if uint64(paid) < of/3 {
		t.Errorf("%d of %d floors are above 0: they show too little", paid, of)
	}
}

// sharpen draws weights, limits and bounds anew.
func sharpen(chance *rand.Rand, p *constraint.Problem) {
	for _, weight := range []*int64{&p.Objective.Unplaced, &p.Objective.Loose, &p.Objective.Extent} {
		if chance.IntN(2) == 0 {
			*weight = []int64{0, 1, 7, 1000, 1100, 2200}[chance.IntN(6)]
		}
	}
	for shape := range p.Shapes {
		p.Shapes[shape].PerNode = int32(max(chance.IntN(5)-2, 0))
	}
	for i := range p.Constraints {
		c := &p.Constraints[i]
		if !c.Hard && chance.IntN(2) == 0 {
			c.Weight = []int64{1, 3, 333, 100_000}[chance.IntN(4)]
		}
		for _, bounds := range c.Any {
			for j := range bounds {
				if b := &bounds[j]; len(b.Subject) > 0 && chance.IntN(2) == 0 {
					b.Target, b.Min, b.Max, b.SelfCounted = b.Subject, 0, int32(chance.IntN(2)), chance.IntN(2) == 0
				}
			}
		}
	}
}

// below reports whether an assignment costs less than the floor and may be carried out, in which the containers
// before c are where they are; the board then holds it.
func below(b *board.Board, c int32, floor int64) bool {
	p := b.Problem()
	switch {
	case int(c) == len(p.Containers):
		return b.Score() < floor && constraint.Check(p, b.Assignment()) == nil && constraint.Evaluate(p, b.Assignment()).Score < floor
	case p.Containers[c].Fixed:
		return below(b, c+1, floor)
	case p.Containers[c].At == constraint.Nowhere && below(b, c+1, floor):
		return true
	}
	for n := range int32(len(p.Nodes)) {
		b.Put(c, n)
		if below(b, c+1, floor) {
			return true
		}
		b.Take(c)
	}
	return false
}

// TestCrowd draws containers that want few of each other on their node, and some that stay, and holds
// the floor to all ways to place them. Most of the time it is what the best of these costs.
func TestCrowd(t *testing.T) {
	same, paid, of := 0, 0, cases(1000, 20_000)
	for seed := range of {
		chance := rand.New(rand.NewPCG(seed, 9))
		p := &constraint.Problem{
			Kinds:        []cluster.Kind{{Name: "cpu", PerUnit: 1}},
			Groups:       []constraint.Group{{Name: cluster.EachNode}},
			Applications: []constraint.Application{{Name: "old", Deployed: true}, {Name: "new"}},
			Shapes: []constraint.Shape{
				{Demand: cluster.Vector{1}, Tags: []string{"web"}},
				{Application: 1, Demand: cluster.Vector{1}, Tags: []string{"web"}},
			},
			Constraints: []cluster.Constraint{{Name: "apart", Weight: 1000, Hard: chance.IntN(3) == 0, Any: [][]cluster.Bound{{{
				Subject: []string{"web"}, Target: []string{"web"}, Group: cluster.EachNode, Max: int32(chance.IntN(4)), SelfCounted: chance.IntN(2) == 0,
			}}}}},
			Objective: constraint.Standard(),
		}
		for n := range 1 + chance.IntN(3) {
			name := string(rune('a' + n))
			p.Nodes = append(p.Nodes, constraint.Node{Name: name, Capacity: cluster.Vector{9}, Free: cluster.Vector{int64(chance.IntN(8) - 2)}})
			p.Groups[0].Sets, p.Groups[0].SetOf = append(p.Groups[0].Sets, name), append(p.Groups[0].SetOf, int32(n))
		}
		for range chance.IntN(4) {
			p.Containers = append(p.Containers, constraint.Container{At: int32(chance.IntN(len(p.Nodes))), Fixed: chance.IntN(2) == 0})
		}
		old := int32(len(p.Containers))
		for range 1 + chance.IntN(3) {
			p.Containers = append(p.Containers, constraint.Container{Shape: 1, At: constraint.Nowhere})
		}
		p.Applications[0].End, p.Applications[1].First, p.Applications[1].End = old, old, int32(len(p.Containers))
		best := cheapest(p, p.Start(), 0)
		floor := board.New(p, constraint.FindRoles(p)).Floor()
		if floor > best {
			t.Fatalf("seed %d: the floor is %d, and %d can be had: %+v", seed, floor, best, p)
		}
		if floor == best {
			if same++; floor > 0 {
				paid++
			}
		}
	}
	t.Logf("%d of %d floors are reached, %d of them above 0", same, of, paid)
	if uint64(same) < of/2 || uint64(paid) < of/8 {
		t.Errorf("%d of %d floors are reached, %d of them above 0: they show too little", same, of, paid)
	}
}

// cheapest is the least score that may be carried out with the containers before c where they are and the others
// wherever they may be.
func cheapest(p *constraint.Problem, a constraint.Assignment, c int) int64 {
	switch {
	case c == len(a) && constraint.Check(p, a) != nil:
		return math.MaxInt64
	case c == len(a):
		return constraint.Evaluate(p, a).Score
	case p.Containers[c].Fixed:
		return cheapest(p, a, c+1)
	}
	best, was := int64(math.MaxInt64), a[c]
	if was == constraint.Nowhere {
		best = cheapest(p, a, c+1)
	}
	for n := range p.Nodes {
		a[c] = int32(n)
		best = min(best, cheapest(p, a, c+1))
	}
	a[c] = was
	return best
}
