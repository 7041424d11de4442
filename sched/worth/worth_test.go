package worth

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// town is a small cluster in which tasks come, are placed anywhere, and end. It is a policy that shows a
// Worth what it is shown, and compares in each round its prices with those of the definition.
type town struct {
	rt     *rapid.T
	worth  *Worth
	fresh  map[cluster.NodeID]bool // whose prices may have changed since the last round
	before map[[2]uint32]Price     // by shape and node
	rounds int
	renews int // rounds in which all prices were others

	// The mean is that of the cluster when prices were renewed last.
	worthOfAll, sizeOfAll *big.Int
}

// Plan is a round.
func (o *town) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	note := func(n cluster.NodeID) { o.fresh[n] = true }
	for _, n := range c.Nodes {
		note(n)
	}
	anew := o.worth.Learn(s, c, note)
	o.rounds++
	if anew {
		o.renews++
		o.measure(s)
	}
	o.compare(s, anew || c.All)
	for id := range cluster.TaskID(s.TaskRows()) {
		task := s.Task(id)
		n := cluster.NodeID(rapid.IntRange(0, s.NodeRows()).Draw(o.rt, "node"))
		if task.Phase != cluster.Waiting || int(n) == s.NodeRows() || s.Admits(id, n).Refused() || !s.RoomNow(task.Shape, n) {
			continue
		}
		price, set := o.worth.Price(s, task.Shape, n)
		a := sched.Action{Kind: sched.Place, Task: id, Attempt: task.Attempt, Node: n, Devices: set}
		if r := t.Try(a); r.Refused() {
			o.rt.Fatalf("a placement for %d with devices %b is refused: %s, in\n%s", price, set, r.Code, s.Picture())
		}
		out.Add(a)
		out.Close()
		note(n)
		o.compareNode(s, n, true) // with what the round itself has done
	}
}

// Why is not asked for.
func (*town) Why(*sched.Trial, cluster.TaskID) sched.Reason { panic("not asked") }

// compare compares all prices.
func (o *town) compare(s *cluster.View, anew bool) {
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.NodeLive(n) {
			o.compareNode(s, n, anew || o.fresh[n])
		}
	}
	clear(o.fresh)
}

// compareNode compares those of a node; they are what they were unless the node is fresh.
func (o *town) compareNode(s *cluster.View, n cluster.NodeID, fresh bool) {
	for id := range cluster.ShapeID(s.ShapeRows()) {
		if !s.RoomNow(id, n) {
			continue
		}
		got, set := o.worth.Price(s, id, n)
		if want := o.priceOf(s, id, n); got != want {
			o.rt.Fatalf("shape %d on node %d costs %d with devices %b, want %d, in\n%s", id, n, got, set, want, s.Picture())
		}
		parts, sum := o.worth.Parts(s, id, n), Price(0)
		for i := range parts {
			sum += parts[i].Price
		}
		if sum > got && got < Most || sum < got-Price(len(o.worth.table.types)) {
			o.rt.Fatalf("shape %d on node %d costs %d, and its %d parts %d, in\n%s", id, n, got, len(parts), sum, s.Picture())
		}
		at := [2]uint32{uint32(id), uint32(n)}
		if was, ok := o.before[at]; ok && !fresh && was != got {
			o.rt.Fatalf("shape %d on node %d costs %d, and %d before, though nothing was said of it", id, n, got, was)
		}
		o.before[at] = got
	}
}

// priceOf is the price by its definition, with divisions.
func (o *town) priceOf(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) Price {
	demand := s.Shape(id).Demand
	left := o.left(s, n)
	before := o.value(s, n, left, s.Devices(n))
	after := make([]int64, len(left))
	for k := range left {
		after[k] = max(left[k]-demand[k], 0)
	}
	var most *big.Int
	for _, devices := range o.choices(s, s.DeviceNeeds(id), n) {
		if v := o.value(s, n, after, devices); most == nil || v.Cmp(most) > 0 {
			most = v
		}
	}
	lost := new(big.Int).Sub(before, most)
	one := new(big.Int).Mul(o.worthOfAll, big.NewInt(o.worth.sizeOf(demand)))
	one.Quo(one, max1(o.sizeOfAll))
	lost.Mul(lost, big.NewInt(One))
	if lost.Quo(lost, max1(one)); lost.Cmp(big.NewInt(Most)) > 0 {
		return Most
	}
	return lost.Int64()
}

// measure adds up what the nodes are worth when they are empty, and how large they are.
func (o *town) measure(s *cluster.View) {
	o.worthOfAll, o.sizeOfAll = new(big.Int), new(big.Int)
	for n := range cluster.NodeID(s.NodeRows()) {
		if !s.NodeLive(n) {
			continue
		}
		var empty []cluster.Device
		for _, d := range s.Devices(n) {
			empty = append(empty, cluster.Device{Limit: d.Limit})
		}
		o.worthOfAll.Add(o.worthOfAll, o.value(s, n, s.Limit(n), empty))
		asked := slices.Clone(s.Limit(n))
		for k := range asked {
			if !slices.ContainsFunc(o.worth.table.types, func(t typical) bool { return t.demand[k] > 0 }) {
				asked[k] = 0
			}
		}
		o.sizeOfAll.Add(o.sizeOfAll, big.NewInt(o.worth.sizeOf(asked)))
	}
}

func max1(n *big.Int) *big.Int {
	if n.Sign() == 0 {
		return big.NewInt(1)
	}
	return n
}

// left is what the node has left, kind by kind.
func (o *town) left(s *cluster.View, n cluster.NodeID) []int64 {
	var left []int64
	for k, q := range s.Limit(n) {
		left = append(left, max(q-s.Used(n)[k], 0))
	}
	return left
}

// choices are the node's devices after each choice for the needs: one of all devices for a share, those of
// commit for several.
func (o *town) choices(s *cluster.View, needs cluster.DeviceNeeds, n cluster.NodeID) [][]cluster.Device {
	list := [][]cluster.Device{s.Devices(n)}
	for _, need := range needs {
		var sets []cluster.DeviceSet
		if need.Count > 1 {
			set, _ := s.PickDevices(n, cluster.DeviceNeeds{need})
			sets = append(sets, set)
		} else {
			for place, d := range s.Devices(n) {
				if need.Places.Has(place) && d.Left() >= need.Share {
					sets = append(sets, 1<<place)
				}
			}
		}
		var next [][]cluster.Device
		for _, devices := range list {
			for _, set := range sets {
				taken := append([]cluster.Device(nil), devices...)
				for place := range taken {
					if set.Has(place) {
						taken[place].Used += need.Share
					}
				}
				next = append(next, taken)
			}
		}
		list = next
	}
	return list
}

// value is the worth of so much room: for each type that may use the node, how many more fit, times its
// weight, less a fifth of what is behind the point.
func (o *town) value(s *cluster.View, n cluster.NodeID, left []int64, devices []cluster.Device) *big.Int {
	sum := new(big.Int)
	for i := range o.worth.table.types {
		t := &o.worth.table.types[i]
		if !s.Eligible(t.set, n) {
			continue
		}
		fit := int64(1 << 26)
		for k, q := range t.demand {
			if q > 0 && !s.Kinds()[k].Devices {
				fit = min(fit, left[k]<<16/q)
			}
		}
		for _, need := range t.needs {
			shares := int64(0)
			for place, d := range devices {
				if need.Places.Has(place) {
					shares += max(d.Left(), 0) / need.Share
				}
			}
			fit = min(fit, shares<<16/int64(need.Count))
		}
		counts := fit - fit&0xffff/5
		sum.Add(sum, new(big.Int).Mul(big.NewInt(t.weight), big.NewInt(counts)))
	}
	return sum
}

// TestPricesByDefinition lets tasks come and go in small clusters.
func TestPricesByDefinition(t *testing.T) {
	renews, rounds := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "memory", PerUnit: 1000}, {Name: "gpu", PerUnit: 100, Devices: true}, {Name: "nic", PerUnit: 10, Devices: true}}
		o := &town{rt: rt, worth: New(), fresh: map[cluster.NodeID]bool{}, before: map[[2]uint32]Price{}, worthOfAll: new(big.Int), sizeOfAll: new(big.Int)}
		core, err := sched.New(cluster.NewState(kinds, nil), sched.Lane{Name: "town", Policy: o})
		if err != nil {
			rt.Fatal(err)
		}
		quantity := func(name string, most int64) int64 { return rapid.Int64Range(0, most).Draw(rt, name) }
		spec := func(n int) cluster.NodeSpec {
			return cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: cluster.Vector{quantity("cpu", 16000), quantity("memory", 16000), 100 * quantity("gpus", 3), 10 * quantity("nics", 2)}}
		}
		events := []cluster.Event{cluster.JobSubmitted{Name: "j"}, cluster.SetDefined{Set: 1}}
		nodes := rapid.IntRange(1, 4).Draw(rt, "nodes")
		for n := range nodes {
			events = append(events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: spec(n)})
		}
		shapes := rapid.IntRange(1, 6).Draw(rt, "shapes")
		for i := range shapes {
			demand := cluster.Vector{quantity("cpu", 4000), quantity("memory", 4000), rapid.SampledFrom([]int64{0, 0, 20, 50, 100, 200}).Draw(rt, "gpu"), rapid.SampledFrom([]int64{0, 0, 5, 10}).Draw(rt, "nic")}
			events = append(events, cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: demand, Eligible: cluster.SetID(quantity("set", 1))}})
		}
		tasks := 0
		for now := range cluster.Time(8) {
			for range rapid.IntRange(0, 4).Draw(rt, "come") {
				events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(tasks), Seq: cluster.Seq(tasks), Shape: cluster.ShapeID(rapid.IntRange(0, shapes-1).Draw(rt, "shape"))})
				tasks++
			}
			switch n := rapid.IntRange(0, 2*nodes).Draw(rt, "node"); {
			case n >= nodes:
			case rapid.Bool().Draw(rt, "it is changed"):
				events = append(events, cluster.NodeChanged{Node: cluster.NodeID(n), Spec: spec(n)})
			default:
				events = append(events, cluster.EligibilityChanged{Set: 1, Node: cluster.NodeID(n), Eligible: rapid.Bool().Draw(rt, "in")})
			}
			decisions, _, err := core.Step(now, events, nil)
			if err != nil {
				rt.Fatal(err)
			}
			events = nil
			for _, d := range decisions {
				if rapid.Bool().Draw(rt, "it is short") {
					events = append(events, cluster.TaskEnded{Task: d.Task, Seq: d.Seq, Finished: true})
				} else {
					events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node, Devices: d.Devices})
				}
			}
		}
		rounds, renews = rounds+o.rounds, renews+o.renews
	})
	t.Logf("in %d of %d rounds all prices were others", renews, rounds)
	if renews == 0 || renews == rounds {
		t.Error("the cases are too much alike")
	}
}

// TestKindsThatNobodyAsksFor are worth nothing: a price is the same whatever other kinds nodes have, and in whatever order
// kinds are.
func TestKindsThatNobodyAsksFor(t *testing.T) {
	want := prices(t, func(cpu, memory, _ int64) cluster.Vector { return cluster.Vector{cpu, memory} })
	got := prices(t, func(cpu, memory, other int64) cluster.Vector { return cluster.Vector{other, memory, cpu, other, other} })
	if !slices.Equal(got, want) || want[0] == want[4] {
		t.Errorf("prices %d, want %d as without the other kinds, and not all the same", got, want)
	}
}

// prices are those of two shapes on three nodes.
func prices(t *testing.T, vector func(cpu, memory, other int64) cluster.Vector) []Price {
	t.Helper()
	l := &learner{worth: New()}
	core, err := sched.New(cluster.NewState(make([]cluster.Kind, len(vector(0, 0, 0))), nil), sched.Lane{Name: "all", Policy: l})
	if err != nil {
		t.Fatal(err)
	}
	events := []cluster.Event{cluster.JobSubmitted{Name: "j"}}
	for n := range int64(3) {
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: fmt.Sprint(n), Capacity: vector(1000+700*n, 3000-450*n, 1<<20)}})
	}
	for i, demand := range []cluster.Vector{vector(300, 100, 0), vector(70, 500, 0)} {
		events = append(events, cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: demand}}, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i), Shape: cluster.ShapeID(i)})
	}
	if _, _, err := core.Step(0, events, nil); err != nil {
		t.Fatal(err)
	}
	return l.prices
}

// learner is a policy that notes prices.
type learner struct {
	worth  *Worth
	prices []Price
}

// Plan notes those of two shapes on all nodes.
func (l *learner) Plan(t *sched.Trial, c *sched.Changed, _ int64, _ *sched.Plan) {
	l.worth.Learn(t.View(), c, func(cluster.NodeID) {})
	for n := range cluster.NodeID(t.View().NodeRows()) {
		for id := range cluster.ShapeID(2) {
			price, _ := l.worth.Price(t.View(), id, n)
			l.prices = append(l.prices, price)
		}
	}
}

// Why is not asked for.
func (*learner) Why(*sched.Trial, cluster.TaskID) sched.Reason { panic("not asked") }
