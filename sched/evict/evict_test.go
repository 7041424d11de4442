package evict

import (
	"cmp"
	"flag"
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestMain has each property try a thousand cases unless the command line says otherwise: a hundred may be too much alike.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "1000"); err != nil {
		panic(err)
	}
	m.Run()
}

// crowd is one node with tasks on it, and a task that wants in.
type crowd struct {
	*cluster.State
	want  cluster.TaskID
	rank  map[cluster.TaskID]int64 // of those who may be evicted as the policy sees it
	price map[cluster.TaskID]int64
}

// apply applies an event that holds.
func (c *crowd) apply(rt rapid.TB, e cluster.Event) {
	if err := c.Apply(0, e); err != nil {
		rt.Fatalf("%v: %v", e, err)
	}
}

// rule is a policy by what was drawn.
func (c *crowd) rule(_ *cluster.View, o *Candidate) bool {
	rank, ok := c.rank[o.Task]
	o.Rank, o.Price = rank, c.price[o.Task]
	return ok
}

// drawCrowd draws a node of three kinds, four GPUs of 4 and two cards of 2, and up to so many tasks. Some
// of these are leaving, protected, or too important; others hold more than the node has.
func drawCrowd(rt *rapid.T, most int) *crowd {
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "memory"}, {Name: "network"}, {Name: "gpu", PerUnit: 4, Devices: true}, {Name: "nic", PerUnit: 2, Devices: true}}
	c := &crowd{State: cluster.NewState(kinds, nil), rank: map[cluster.TaskID]int64{}, price: map[cluster.TaskID]int64{}}
	demand := func() cluster.Vector {
		quantity := rapid.Int64Range(0, 4)
		gpu := rapid.SampledFrom([]int64{0, 0, 1, 2, 3, 4, 8}).Draw(rt, "gpu")
		return cluster.Vector{1 + quantity.Draw(rt, "cpu"), quantity.Draw(rt, "memory"), quantity.Draw(rt, "network"), gpu, rapid.SampledFrom([]int64{0, 0, 0, 1, 2, 4}).Draw(rt, "nic")}
	}
	var demands []cluster.Vector
	capacity := cluster.Vector{2, 2, 0, 16, 4}
	for range rapid.IntRange(0, most).Draw(rt, "tasks") {
		d := demand()
		demands = append(demands, d)
		for k := range capacity[:3] {
			capacity[k] += d[k]
		}
	}
	for k := range capacity[:3] {
		capacity[k] = max(capacity[k]+rapid.Int64Range(-3, 1).Draw(rt, "more"), 0)
	}
	c.apply(rt, cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: capacity, Groups: []cluster.Label{{Key: "rack", Value: "r"}}}})
	c.apply(rt, cluster.JobSubmitted{Name: "j"})
	for i, d := range demands {
		t := cluster.TaskID(i)
		c.apply(rt, cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: d, Tags: drawTags(rt)}})
		c.apply(rt, cluster.TaskSubmitted{Task: t, Seq: cluster.Seq(i), Shape: cluster.ShapeID(i)})
		c.apply(rt, cluster.TaskFound{Task: t, Seq: cluster.Seq(i)})
		c.rank[t], c.price[t] = rapid.Int64Range(0, 2).Draw(rt, "rank"), rapid.Int64Range(0, 9).Draw(rt, "price")
		switch rapid.IntRange(0, 9).Draw(rt, "what") {
		case 0:
			c.apply(rt, cluster.TaskLeaving{Task: t, Attempt: c.Task(t).Attempt})
		case 1:
			c.apply(rt, cluster.TaskProtected{Task: t, Attempt: c.Task(t).Attempt, Until: 1, Reason: "test"})
		case 2:
			delete(c.rank, t)
		}
	}
	c.want = cluster.TaskID(c.TaskRows())
	larger := demand()
	for k := range larger[:3] {
		larger[k] *= rapid.Int64Range(1, 3).Draw(rt, "times")
	}
	c.apply(rt, cluster.ShapeDefined{Shape: cluster.ShapeID(c.want), Spec: cluster.Shape{Demand: larger, Tags: append(drawTags(rt), "want")}})
	c.apply(rt, cluster.TaskSubmitted{Task: c.want, Seq: cluster.Seq(c.want), Shape: cluster.ShapeID(c.want)})
	return c
}

// drawBudgets lets two budgets guard some of the runs that are there.
func (c *crowd) drawBudgets(rt *rapid.T) {
	for b := range cluster.BudgetID(2) {
		c.apply(rt, cluster.BudgetChanged{Budget: b, Spare: rapid.Int32Range(0, 2).Draw(rt, "spare")})
	}
	for t := range cluster.TaskID(c.TaskRows()) {
		budgets := rapid.SampledFrom([][]cluster.BudgetID{nil, {0}, {1}, {0, 1}}).Draw(rt, "budgets")
		if task := c.Task(t); task.Placed() && len(budgets) > 0 {
			c.apply(rt, cluster.TaskGuarded{Task: t, Attempt: task.Attempt, Budgets: budgets})
		}
	}
}

// drawTags draws some of two tags.
func drawTags(rt *rapid.T) []string {
	return slices.Clone(rapid.SampledFrom([][]string{nil, {"a"}, {"b"}, {"a", "b"}}).Draw(rt, "tags"))
}

// drawRules adds two nodes, one of the same rack and one of another, with some tasks on each, and one or two constraints by which the task that
// wants in must not meet some of those that are there.
func (c *crowd) drawRules(rt *rapid.T) {
	for n, rack := range []string{"r", "s"} {
		n := cluster.NodeID(n + 1)
		spec := cluster.NodeSpec{Name: string(rune('o' + n)), Capacity: cluster.Vector{9, 9, 9, 0, 0}, Groups: []cluster.Label{{Key: "rack", Value: rack}}}
		c.apply(rt, cluster.NodeAdded{Node: n, Spec: spec})
		for range rapid.IntRange(0, 2).Draw(rt, "others") {
			t := cluster.TaskID(c.TaskRows())
			shape := cluster.ShapeID(c.ShapeRows())
			c.apply(rt, cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: cluster.Vector{1, 0, 0, 0, 0}, Tags: drawTags(rt)}})
			c.apply(rt, cluster.TaskSubmitted{Task: t, Seq: cluster.Seq(t), Shape: shape})
			c.apply(rt, cluster.TaskFound{Task: t, Seq: cluster.Seq(t), Node: n})
			if rapid.IntRange(0, 3).Draw(rt, "leaves") == 0 {
				c.apply(rt, cluster.TaskLeaving{Task: t, Attempt: c.Task(t).Attempt})
			}
		}
	}
	for i := range rapid.IntRange(1, 2).Draw(rt, "constraints") {
		b := cluster.Bound{Subject: []string{"want"}, Target: drawTags(rt), Max: rapid.Int32Range(0, 2).Draw(rt, "max")}
		if len(b.Target) == 0 {
			b.Target = []string{"a"}
		}
		b.Group = rapid.SampledFrom([]string{cluster.EachNode, "rack"}).Draw(rt, "group")
		b.SelfCounted = rapid.Bool().Draw(rt, "self counted")
		if rapid.Bool().Draw(rt, "over the fewest") {
			b.OverFewest, b.Max = true, max(b.Max, 1) // a skew of 0 is none of Kubernetes'
			b.LeastSets = rapid.Int32Range(0, 3).Draw(rt, "least sets")
		}
		spec := cluster.Constraint{Name: string(rune('x' + i)), Any: [][]cluster.Bound{{b}}, Hard: true, Arriving: true}
		c.apply(rt, cluster.ConstraintDefined{Constraint: cluster.ConstraintID(i), Spec: spec})
	}
}

// enough reports whether the state would admit the task if those of the candidates left that
// the set names.
func (c *crowd) enough(list []Candidate, set uint) bool {
	c.Begin(cluster.NoLane)
	defer c.End()
	for i := range list {
		if set>>i&1 != 0 && c.Evict(list[i].Task).Refused() {
			return false
		}
	}
	return !cluster.Keeps(&c.View, c.want, 0).Refused()
}

// best is the best of all sets that make enough room, and false if there is none: by the
// definition of the objective.
func (c *crowd) best(objective Objective, list []Candidate) (best uint, found bool) {
	sum := func(set uint) (sum int64) {
		for i := range list {
			if set>>i&1 != 0 {
				sum += list[i].Price
			}
		}
		return sum
	}
	better := func(a, b uint) bool {
		if objective == LeastWorst {
			return a < b // the last candidate has the highest bit
		}
		x, y := sum(a), sum(b)
		return x < y || x == y && bits.OnesCount(a) < bits.OnesCount(b)
	}
	for set := range uint(1) << len(list) {
		if c.enough(list, set) && (!found || better(set, best)) {
			best, found = set, true
		}
	}
	return best, found
}

// TestSearchAgainstAllSets compares what is chosen with all sets of candidates: by LeastWorst
// it is the best set itself; by LeastSum, where there are few, one that is as
// good. Who is leaving, protected or not to be evicted by the policy never is a candidate.
func TestSearchAgainstAllSets(t *testing.T) {
	var x Search
	sizes, devices := map[int]int{}, map[int]int{}
	rapid.Check(t, func(rt *rapid.T) {
		c := drawCrowd(rt, 8)
		o := Occupants{Rule: c.rule}
		list := o.On(&c.View, 0)
		for i, a := range list {
			if i > 0 && (a.Rank < list[i-1].Rank || a.Rank == list[i-1].Rank && (a.Price < list[i-1].Price || a.Price == list[i-1].Price && a.Seq > list[i-1].Seq)) {
				rt.Fatalf("candidate %d goes after %d: %v", list[i-1].Task, a.Task, list)
			}
			if task := c.Task(a.Task); task.Phase != cluster.Running || task.Protection().Until > 0 {
				rt.Fatalf("task %d is a candidate, but not to be evicted", a.Task)
			}
		}
		for _, objective := range []Objective{LeastWorst, LeastSum} {
			want, could := c.best(objective, list)
			price, ok := int64(0), x.Begin(&c.View, c.Task(c.want).Shape, 0)
			if ok {
				price, ok = x.Choose(objective, list)
			}
			if ok != could {
				rt.Fatalf("objective %d: found a set: %t, want %t, in\n%s", objective, ok, could, c.Picture())
			}
			if !ok {
				continue
			}
			got, sum, wants := uint(0), int64(0), int64(0)
			for _, victim := range x.Victims {
				got |= 1 << slices.IndexFunc(list, func(o Candidate) bool { return o.Task == victim.Task })
				sum += victim.Price
			}
			for i := range list {
				wants += list[i].Price * int64(want>>i&1)
			}
			switch {
			case !c.enough(list, got):
				rt.Fatalf("objective %d: %b does not make enough room, in\n%s", objective, got, c.Picture())
			case objective == LeastWorst && (got != want || got != 0 && price != x.Victims[0].Price):
				rt.Fatalf("the victims are %b for %d, want %b, of %v in\n%s", got, price, want, list, c.Picture())
			case objective == LeastSum && (sum != wants || price != sum || bits.OnesCount(got) != bits.OnesCount(want)):
				rt.Fatalf("the victims are %b for %d, said to be %d; want %d for %d, as %b, of %v in\n%s", got, sum, price, bits.OnesCount(want), wants, want, list, c.Picture())
			}
			sizes[len(x.Victims)]++
			if kinds := len(c.DeviceNeeds(c.Task(c.want).Shape)); len(x.Victims) > 1 {
				devices[kinds]++
			}
			c.checkGone(rt, &x)
		}
	})
	t.Logf("sets by number of victims: %v; of several by kinds of devices: %v", sizes, devices)
	if testing.Short() {
		return // with few cases some may be missing
	}
	if sizes[0] == 0 || sizes[1] == 0 || sizes[2] == 0 || devices[1] == 0 || devices[2] == 0 {
		t.Errorf("the cases are too much alike: sets by number of victims: %v; of several by kinds of devices: %v", sizes, devices)
	}
}

// TestSearchForSeveral compares what is chosen for several of a shape at once with all sets of candidates, and holds a set that is said to be proven to be the cheapest.
func TestSearchForSeveral(t *testing.T) {
	var x Search
	proven := 0
	rapid.Check(t, func(rt *rapid.T) {
		c := drawCrowd(rt, 8)
		id := c.Task(c.want).Shape
		if len(c.DeviceNeeds(id)) > 0 {
			return
		}
		o := Occupants{Rule: c.rule}
		list := o.On(&c.View, 0)
		x.Copies = rapid.Int64Range(2, 4).Draw(rt, "copies")
		if !x.Begin(&c.View, id, 0) {
			return
		}
		best := int64(math.MaxInt64)
		for set := range uint(1) << len(list) {
			sum, lacks := int64(0), false
			for k, q := range c.Shape(id).Demand {
				room := c.Limit(0)[k] - c.Used(0)[k] + c.LeavingDemand(0)[k]
				for i := range list {
					if set>>i&1 != 0 {
						room += c.Demand(list[i].Task)[k]
					}
				}
				lacks = lacks || q > 0 && q*x.Copies > room
			}
			for i := range list {
				sum += list[i].Price * int64(set>>i&1)
			}
			if !lacks {
				best = min(best, sum)
			}
		}
		price, ok := x.Choose(LeastSum, list)
		if ok != (best < math.MaxInt64) || ok && price < best || ok && x.Proven && price != best {
			rt.Fatalf("for %d: found %t, for %d, proven %t; the best is %d, of %v in\n%s", x.Copies, ok, price, x.Proven, best, list, c.Picture())
		}
		if ok && price > 0 && x.Proven {
			proven++
		}
	})
	if proven == 0 {
		t.Errorf("nothing was proven: this says nothing")
	}
}

// budgetsLast are the candidates, those last of whom as many of one of their budgets go before as that can spare; and how many do not.
func (c *crowd) budgetsLast(list []Candidate) (all []Candidate, within int) {
	var beyond []Candidate
	for _, o := range list {
		violates := false
		for _, b := range cluster.GuardsOf(&c.View, o.Task) {
			before := 0
			for _, other := range all {
				if slices.Contains(cluster.GuardsOf(&c.View, other.Task), b) {
					before++
				}
			}
			violates = violates || before >= cluster.Left(&c.View, b)
		}
		if violates {
			beyond = append(beyond, o)
		} else {
			all = append(all, o)
		}
	}
	return append(all, beyond...), len(all)
}

// violations is how many victims violate a budget, one after the other in the order of candidates, as the state counts those that leave.
func (c *crowd) violations(victims []Candidate) (count int) {
	c.Begin(cluster.NoLane)
	defer c.End()
	for _, victim := range slices.SortedFunc(slices.Values(victims), inOrder) {
		if slices.ContainsFunc(cluster.GuardsOf(&c.View, victim.Task), func(b cluster.BudgetID) bool { return cluster.Left(&c.View, b) == 0 }) {
			count++
		}
		c.Evict(victim.Task)
	}
	return count
}

// worse reports whether more of a set violate a budget than of another one, or as many, and its last by rank comes later.
func (c *crowd) worse(list []Candidate, set, than uint) bool {
	measure := func(set uint) (violations int, last int64) {
		var victims []Candidate
		last = math.MinInt64
		for i, o := range list {
			if set>>i&1 != 0 {
				victims, last = append(victims, o), max(last, o.Rank)
			}
		}
		return c.violations(victims), last
	}
	violations, last := measure(set)
	others, other := measure(than)
	return violations > others || violations == others && last > other
}

// TestBudgets compares with all sets who is chosen where budgets guard some of the candidates: those go last who would violate one, and what budgets can
// spare is not wasted on those who go first.
func TestBudgets(t *testing.T) {
	var x Search
	violations := map[bool]int{}
	rapid.Check(t, func(rt *rapid.T) {
		c := drawCrowd(rt, 7)
		if rapid.Bool().Draw(rt, "rules") {
			c.drawRules(rt)
		}
		c.drawBudgets(rt)
		o := Occupants{Rule: c.rule}
		list, within := c.budgetsLast(o.On(&c.View, 0))
		for _, objective := range []Objective{LeastWorst, LeastSum} {
			want, could := c.best(objective, list)
			cheapest, spares := c.best(objective, list[:within])
			price, ok := int64(0), x.Begin(&c.View, c.Task(c.want).Shape, 0)
			if ok {
				price, ok = x.Choose(objective, o.On(&c.View, 0))
			}
			if ok != could {
				rt.Fatalf("objective %d: found a set: %t, want %t, in\n%s", objective, ok, could, c.Picture())
			}
			if !ok {
				continue
			}
			got, sum, wants := uint(0), int64(0), int64(0)
			for _, victim := range x.Victims {
				got |= 1 << slices.IndexFunc(list, func(o Candidate) bool { return o.Task == victim.Task })
				sum += victim.Price
			}
			for i := range list[:within] {
				wants += list[i].Price * int64(cheapest>>i&1)
			}
			switch {
			case !c.enough(list, got):
				rt.Fatalf("objective %d: %b does not make enough room, in\n%s", objective, got, c.Picture())
			case objective == LeastWorst && c.worse(list, got, want):
				rt.Fatalf("the victims are %b, worse than %b, of %v in\n%s", got, want, list, c.Picture())
			case objective == LeastSum && price != sum || spares && x.Violations > 0:
				rt.Fatalf("objective %d: the victims cost %d, said to be %d, and %d violate budgets, though nobody has to: %t", objective, sum, price, x.Violations, spares)
			case objective == LeastSum && spares && len(x.obstacles) == 0 && sum > wants:
				rt.Fatalf("the victims cost %d, want at most %d as %b, of %v in\n%s", sum, wants, cheapest, list, c.Picture())
			case x.Violations != c.violations(x.Victims):
				rt.Fatalf("%d victims are said to violate budgets, want %d", x.Violations, c.violations(x.Victims))
			}
			for i := range list {
				if got>>i&1 != 0 && c.enough(list, got&^(1<<i)) {
					rt.Fatalf("objective %d: of %b, %d need not leave, in\n%s", objective, got, i, c.Picture())
				}
			}
			if got != 0 {
				violations[x.Violations > 0]++
				for i := range x.Victims {
					if compare(&x.Victims[i], x.Last()) > 0 {
						rt.Fatalf("task %d comes after %d, the last", x.Victims[i].Task, x.Last().Task)
					}
				}
			}
		}
	})
	if !testing.Short() && (violations[false] < 10 || violations[true] < 10) {
		t.Errorf("the cases are too much alike: victims who violate budgets, and who do not: %v", violations)
	}
}

// TestWorse: of two nodes the one is better where fewer violate a budget, and then the one that is better anyhow.
func TestWorse(t *testing.T) {
	last := int64(-1 << 63)
	for violations := 200; violations >= 0; violations-- {
		for _, good := range []int64{0, 1 << 30, 1<<63 - 1} {
			score := Worse(good, violations)
			if violations < 127 && score <= last || score < last || score == -1<<63 && violations < 127 {
				t.Fatalf("%d violations of a node that is good by %d: %d, not above %d", violations, good, score, last)
			}
			last = score
		}
		if violations >= 127 {
			last = -1 << 63
		}
	}
}

// TestInTheWay compares with all sets who is chosen where constraints that bind who comes keep the task off, too.
func TestInTheWay(t *testing.T) {
	var x Search
	inTheWay, roomToo := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		c := drawCrowd(rt, 7)
		c.drawRules(rt)
		o := Occupants{Rule: c.rule}
		list := o.On(&c.View, 0)
		for _, objective := range []Objective{LeastWorst, LeastSum} {
			want, could := c.best(objective, list)
			price, ok := int64(0), x.Begin(&c.View, c.Task(c.want).Shape, 0)
			blocked := ok && len(x.obstacles) > 0
			if ok {
				lacked := !x.deficit.Met()
				if price, ok = x.Choose(objective, list); ok && blocked {
					inTheWay++
					if lacked {
						roomToo++
					}
				}
			}
			if ok != could {
				rt.Fatalf("objective %d: found a set: %t, want %t, in\n%s", objective, ok, could, c.Picture())
			}
			if !ok {
				continue
			}
			got, sum := uint(0), int64(0)
			for _, victim := range x.Victims {
				got |= 1 << slices.IndexFunc(list, func(o Candidate) bool { return o.Task == victim.Task })
				sum += victim.Price
			}
			switch {
			case !c.enough(list, got):
				rt.Fatalf("objective %d: the departure of %b is not enough, in\n%s", objective, got, c.Picture())
			case objective == LeastWorst && (got != want || got != 0 && price != x.Victims[0].Price):
				rt.Fatalf("the victims are %b for %d, want %b, of %v in\n%s", got, price, want, list, c.Picture())
			case objective == LeastSum && price != sum:
				rt.Fatalf("the victims cost %d, said to be %d, in\n%s", sum, price, c.Picture())
			}
			for i := range list {
				if got>>i&1 != 0 && c.enough(list, got&^(1<<i)) {
					rt.Fatalf("objective %d: of %b, %d need not leave, in\n%s", objective, got, i, c.Picture())
				}
			}
		}
	})
	if (inTheWay == 0 || roomToo == 0) && !testing.Short() {
		t.Errorf("the cases are too much alike: somebody is in the way in %d, and room is lacking, too, in %d", inTheWay, roomToo)
	}
}

// checkGone compares what will have left with what the state counts once the victims are told
// to.
func (c *crowd) checkGone(rt *rapid.T, x *Search) {
	gone := slices.Clone(x.Gone(&c.View, 0))
	c.Begin(cluster.NoLane)
	defer c.End()
	for _, victim := range x.Victims {
		c.Evict(victim.Task)
	}
	if want := c.LeavingDemand(0); !slices.Equal(gone, want) {
		rt.Fatalf("%v will have left, want %v", gone, want)
	}
}

// TestSumOfMany lets a search choose among more than can be compared set by set. It is
// relieved of whom it does not need, and no dearer than the greedy set: the best value for its
// price first.
func TestSumOfMany(t *testing.T) {
	var x Search
	cheaper := 0
	rapid.Check(t, func(rt *rapid.T) {
		c := drawCrowd(rt, 24)
		o := Occupants{Rule: c.rule}
		list, shape := slices.Clone(o.On(&c.View, 0)), c.Task(c.want).Shape
		fits := func(list []Candidate) bool {
			if !x.Begin(&c.View, shape, 0) {
				return false
			}
			_, ok := x.Choose(LeastWorst, list)
			return ok
		}
		if !fits(list) || !x.Begin(&c.View, shape, 0) || x.Met() {
			return
		}
		value := map[cluster.TaskID]int64{}
		for i := range list {
			value[list[i].Task] = x.Cover(&list[i])
		}
		if price, _ := x.Choose(LeastSum, list); price > 0 && len(x.Victims) == 0 {
			rt.Fatalf("nobody leaves for %d", price)
		}
		got, victims := int64(0), slices.Clone(x.Victims)
		for i, victim := range victims {
			got += victim.Price
			if fits(slices.Delete(slices.Clone(victims), i, i+1)) {
				rt.Fatalf("task %d need not leave, in\n%s", victim.Task, c.Picture())
			}
		}
		x.Begin(&c.View, shape, 0)
		greedy := int64(0)
		list = slices.DeleteFunc(list, func(a Candidate) bool { return value[a.Task] == 0 })
		slices.SortFunc(list, func(a, b Candidate) int {
			return cmp.Or(cmp.Compare(a.Price*value[b.Task], b.Price*value[a.Task]), cmp.Compare(a.Price, b.Price), cmp.Compare(c.Task(a.Task).Shape, c.Task(b.Task).Shape))
		})
		for i := 0; !x.Met(); i++ {
			x.leave(&list[i], 1)
			greedy += list[i].Price
		}
		if got > greedy {
			rt.Fatalf("the victims cost %d, greedy ones %d, in\n%s", got, greedy, c.Picture())
		}
		if got < greedy {
			cheaper++
		}
	})
	if cheaper == 0 && !testing.Short() { // a few cases may not have one
		t.Error("the search is never better than greed")
	}
}

// TestReplace evicts for a task as one bundle, or leaves everything as it was.
func TestReplace(t *testing.T) {
	bundles, refusals := 0, 0
	replace := func(rt *rapid.T) {
		c := drawCrowd(rt, 6)
		o := Occupants{Rule: c.rule}
		var x Search
		if !x.Begin(&c.View, c.Task(c.want).Shape, 0) {
			return
		}
		if _, ok := x.Choose(LeastWorst, o.On(&c.View, 0)); !ok {
			return
		}
		victims := x.Victims
		if len(victims) > 0 && rapid.Bool().Draw(rt, "one stays") {
			victims = victims[1:] // so that there is not enough room
		}
		policy := &replacer{victims: victims, want: c.want}
		core, err := sched.New(c.State, sched.Lane{Name: "test", Policy: policy})
		if err != nil {
			rt.Fatal(err)
		}
		decisions, _, err := core.Step(0, nil, nil)
		if err != nil {
			rt.Fatal(err)
		}
		if policy.done != (len(victims) == len(x.Victims)) {
			rt.Fatalf("the bundle was done: %t, with %d of %d victims", policy.done, len(victims), len(x.Victims))
		}
		if policy.before != policy.after {
			rt.Fatalf("a bundle that was refused leaves\n%s\nof\n%s", policy.after, policy.before)
		}
		evictions := 0
		for _, d := range decisions {
			if d.Kind != sched.Evict {
				continue
			}
			if want := victims[len(victims)-1-evictions].Task; d.Task != want || d.Purpose.Task != c.want {
				rt.Fatalf("eviction %d is of task %d for %v, want %d", evictions, d.Task, d.Purpose, want)
			}
			evictions++
		}
		if policy.done {
			bundles++
			return
		}
		refusals++
	}
	// With -short the few cases of one check may be all of one kind.
	for try := 0; try == 0 || try < 20 && (bundles == 0 || refusals == 0); try++ {
		rapid.Check(t, replace)
	}
	if bundles == 0 || refusals == 0 {
		t.Errorf("%d bundles were done, and %d refused", bundles, refusals)
	}
}

// replacer tries one bundle.
type replacer struct {
	victims       []Candidate
	want          cluster.TaskID
	done, began   bool
	before, after string
}

// Plan tries the bundle in the first round.
func (p *replacer) Plan(t *sched.Trial, _ *sched.Changed, _ int64, out *sched.Plan) {
	if p.began {
		return
	}
	p.began = true
	picture := t.View().Picture()
	if p.done = Replace(t, p.victims, p.want, 0, out); !p.done {
		p.before, p.after = picture, t.View().Picture()
	}
}

// Why is not asked for.
func (*replacer) Why(*sched.Trial, cluster.TaskID) sched.Reason { panic("not asked") }
