package flow

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// This file says what one more node of each kind would be worth, by the prices of the
// solution alone, without a solve for each.
//
// A new node is a port with arcs from the aggregators above it and one to the sink. A
// unit that now gets to an aggregator and on, or stays waiting, would go to that port
// instead if its way costs more than the new one. What it saves is the shortest path
// from the sink back to the aggregator, less what the new node costs. Filling the new
// slots one by one with those that save the most, as if each were the first, is what
// all of them save at most: prices are a solution of the dual problem, and stay one
// when a node is added, at this cost (weak duality). What the first slot saves is
// exact, and is saved at least.

// NodeWorth is what one more node of a kind would be worth. Of a kind are nodes that
// have equal limits and may be used by the same tasks that wait.
type NodeWorth struct {
	// Like is a node of the kind: where nodes of the kind are priced differently, as
	// for their racks, one where another would be worth the most.
	Like cluster.NodeID
	// Nodes counts those of the kind.
	Nodes int
	// Least and Most are bounds of what the cheapest flow would cost less if there
	// were one more such node, empty. Most counts all tasks that it would hold, though
	// it takes several solves to place them.
	Least, Most Cost
	// Tasks is how many tasks that wait, and fit on no node now, would fit on it
	// together, the dearest to leave waiting first.
	Tasks int
}

// Worth lists the kinds of nodes, the one first of which one more would be worth the
// most. For what all is and for what becomes of the policy see Explain.
func (p *Policy) Worth(s *cluster.View, all *sched.Changed) ([]NodeWorth, error) {
	own := sched.Copied(s)
	s = &own.View
	p.relearn(s, all)
	p.turnOfAll()
	if err := p.settleAll(s, noTask); err != nil {
		return nil, err
	}
	v := valuer{net: p.net, s: own, row: cluster.NodeID(s.NodeRows()), from: p.routing.distances(fromSink), waiting: p.routing.unplaced(s)}
	var list []NodeWorth
	for _, k := range v.kinds() {
		best := NodeWorth{Like: k.like[0]}
		for _, like := range k.like {
			worth, err := v.one(like)
			if err != nil {
				return nil, fmt.Errorf("one more node like %s: %w", s.NodeSpec(like).Name, err)
			}
			if best.less(worth) {
				best = worth
			}
		}
		best.Nodes = k.nodes
		list = append(list, best)
	}
	slices.SortFunc(list, func(a, b NodeWorth) int {
		return cmp.Or(cmp.Compare(b.Most, a.Most), cmp.Compare(b.Tasks, a.Tasks), cmp.Compare(a.Like, b.Like))
	})
	return list, nil
}

// turnOfAll lets the task groups of all tiers take part.
func (p *Policy) turnOfAll() {
	supply := &p.net.supply
	supply.settle()
	if n := len(supply.tiers); n > 0 {
		supply.serve(int32(-supply.tiers[n-1].Cost))
	}
}

// less reports whether the other is worth more.
func (n NodeWorth) less(o NodeWorth) bool {
	return cmp.Or(cmp.Compare(n.Most, o.Most), cmp.Compare(n.Least, o.Least), cmp.Compare(n.Tasks, o.Tasks)) < 0
}

// unplaced lists the tasks that the solution leaves waiting and that fit on no node,
// the dearest to leave waiting first.
func (r *routing) unplaced(s *cluster.View) []cluster.TaskID {
	w := r.net
	var list []book.Entry
	for _, row := range w.turn.asking {
		if admitted(s, w.request(row).id) {
			continue
		}
		places := map[int32]int64{} // by share: how many get one
		for _, e := range w.supply.line(row) {
			sh := w.members.of(e.Task).share
			if _, known := places[sh]; !known {
				places[sh] = w.shares.list[sh].units() - r.solver.Flow(w.shares.list[sh].arc)
			}
			if places[sh]--; places[sh] < 0 {
				list = append(list, e)
			}
		}
	}
	slices.SortFunc(list, func(a, b book.Entry) int { return a.Compare(b.Place) })
	tasks := make([]cluster.TaskID, len(list))
	for i, e := range list {
		tasks[i] = e.Task
	}
	return tasks
}

// admitted reports whether some node would take a task with the request now.
func admitted(s *cluster.View, id requestID) bool {
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if s.NodeLive(n) && !s.AdmitsShape(id.shape, n).Refused() && (id.job == noJob || beside(s, id, n) > 0) {
			return true
		}
	}
	return false
}

// valuer prices nodes that are not there.
type valuer struct {
	net     *network
	s       *cluster.State // where they come and go
	row     cluster.NodeID // theirs
	from    []Cost         // distances from the sink
	waiting []cluster.TaskID
}

// kind is nodes that are of a kind.
type kind struct {
	nodes int
	like  []cluster.NodeID // one for each way in which they stand below aggregators, and meet what is preferred
}

// kinds lists the kinds of nodes there are, in the order of their first nodes.
func (v *valuer) kinds() []kind {
	var list []kind
	var key []byte
	kindOf, seen := map[string]int{}, map[string]bool{}
	for i := range v.s.NodeRows() {
		n := cluster.NodeID(i)
		if !v.s.NodeLive(n) {
			continue
		}
		key = key[:0]
		for _, q := range v.s.Limit(n) {
			key = binary.AppendVarint(key, q)
		}
		for _, row := range v.net.turn.asking {
			bit := byte(0)
			if v.s.Eligible(v.shape(row).Eligible, n) {
				bit = 1
			}
			key = append(key, bit)
		}
		at, known := kindOf[string(key)]
		if !known {
			at = len(list)
			kindOf[string(key)] = at
			list = append(list, kind{})
		}
		list[at].nodes++
		for _, row := range v.net.turn.asking {
			id := v.net.request(row).id.shape
			a, _ := v.net.answers.model.Into(&v.s.View, id, n)
			key = binary.AppendUvarint(key, uint64(a))
			key = binary.AppendVarint(key, v.net.answers.unmet(&v.s.View, id, n))
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			list[at].like = append(list[at].like, n)
		}
	}
	return list
}

// sets are those that requests name: of the nodes that admit them, and that they prefer or avoid.
func (v *valuer) sets() (list []cluster.SetID) {
	for _, row := range v.net.turn.asking {
		shape := v.shape(row)
		if shape.Eligible != cluster.AllNodes {
			list = append(list, shape.Eligible)
		}
		for _, p := range shape.Prefers {
			list = append(list, p.Set)
		}
	}
	return list
}

func (v *valuer) shape(request int32) *cluster.Shape {
	return v.s.Shape(v.net.request(request).id.shape)
}

// one is what a node more like the given one would be worth, and how many tasks it
// would let run. The node is there only meanwhile.
func (v *valuer) one(like cluster.NodeID) (worth NodeWorth, err error) {
	spec := *v.s.NodeSpec(like)
	spec.Name = "one more like " + spec.Name
	if err := v.s.Apply(v.s.Now(), cluster.NodeAdded{Node: v.row, Spec: spec}); err != nil {
		return worth, err
	}
	for _, set := range v.sets() {
		e := cluster.EligibilityChanged{Set: set, Node: v.row, Eligible: v.s.Eligible(set, like)}
		if err := v.s.Apply(v.s.Now(), e); err != nil {
			return worth, err
		}
	}
	if l, ok := v.net.answers.model.(Learner); ok {
		l.Learn(&v.s.View, false, []cluster.NodeID{v.row})
	}
	worth.Like = like
	worth.Tasks = v.hold()
	worth.Least, worth.Most = v.price(int64(worth.Tasks))
	return worth, v.s.Apply(v.s.Now(), cluster.NodeLost{Node: v.row})
}

// price is what the slots of the node save: its first alone, and all of them at most.
// Slots are as large as the largest request. Where more tasks fit, which further
// solves of a round find out, there are as many slots.
func (v *valuer) price(tasks int64) (least, most Cost) {
	w := v.net
	w.ports.node(v.row)
	slots := max(tasks, w.ports.slots(&v.s.View, v.row))
	var saved []Cost
	for _, row := range w.turn.asking {
		q := w.request(row)
		units := min(slots, w.room(&v.s.View, row, v.row), q.wanted+q.running)
		if units <= 0 {
			continue
		}
		a, curve := w.answers.model.Into(&v.s.View, q.id.shape, v.row)
		value, ok := v.value(q, a)
		if !ok {
			continue
		}
		for _, step := range w.answers.withUnmet(&v.s.View, q.id.shape, v.row, curve).upTo(units, nil) {
			for range step.Capacity {
				saved = append(saved, value-step.Cost)
			}
		}
	}
	slices.SortFunc(saved, func(a, b Cost) int { return cmp.Compare(b, a) })
	if int64(len(saved)) > slots {
		saved = saved[:slots]
	}
	load, ok := w.answers.load(&v.s.View, v.row)
	if !ok {
		return 0, 0
	}
	at := 0
	for _, step := range load.upTo(int64(len(saved)), nil) {
		for range step.Capacity {
			saved[at] -= step.Cost
			at++
		}
	}
	for i, one := range saved {
		if one <= 0 {
			break // the rest save no more, and cost no less
		}
		if i == 0 {
			least = one
		}
		most += one
	}
	return least, most
}

// value is what it saves to take a unit from an aggregator of a request, and false if
// no unit can be had there.
func (v *valuer) value(q *request, a Aggregator) (Cost, bool) {
	w, down := v.net, Cost(0)
	for {
		if g, known := q.groupOf[a]; known {
			d := v.from[w.ranking.groups[g].node]
			return -d - down, d != nowhere
		}
		above, cost := w.answers.above(&v.s.View, a)
		if above == Nowhere {
			return 0, false
		}
		a, down = above, down+cost
	}
}

// hold is how many of the tasks that have no place the node would hold together.
func (v *valuer) hold() int {
	held, full := 0, map[cluster.ShapeID]bool{}
	v.s.Begin(cluster.NoLane)
	defer v.s.End()
	for _, t := range v.waiting {
		shape := v.s.Task(t).Shape
		if full[shape] {
			continue
		}
		switch v.s.Place(t, v.row, 0).Code {
		case cluster.Allowed:
			held++
		case cluster.NotApart: // another job's may still stand there
		default:
			full[shape] = true
		}
	}
	return held
}
