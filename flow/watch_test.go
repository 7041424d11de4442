package flow

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// This file looks over a policy's shoulder, at each moment when it has a solution and
// has not done anything with it: the network must be what a policy without a past
// would make of the state, and the solution must cost what that policy's does.

// Watched is a policy that is watched, of a lane that owns every job.
type Watched struct {
	*Policy
	// Looks counts solutions that were looked at, and Compared those that cost what
	// the rival's did; Tried those that were compared with every assignment.
	Looks, Compared, Tried int
	// Known counts how often it was known which running tasks to look at.
	Known int
	// Err is what was wrong first.
	Err error

	model func() Model
	state *cluster.View
}

// Watch is a policy of a model, watched. Whatever else holds, a model that is made
// anew must answer as one that has seen everything.
func Watch(model func() Model, o Options) *Watched {
	w := &Watched{model: model}
	o.Solver = func(g *mcmf.Graph) Solver { return &overseer{Solver: newSolver(g), watched: w} }
	w.Policy = New(model(), o)
	return w
}

// Plan plans, and notes what was wrong.
func (w *Watched) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	w.state = t.View()
	w.Policy.Plan(t, c, budget, out)
}

// overseer is a solver that says when its solution is first looked at.
type overseer struct {
	Solver
	watched *Watched
	last    mcmf.Result
	fresh   bool
}

func (o *overseer) Solve(options mcmf.Options) mcmf.Result {
	o.last = o.Solver.Solve(options)
	o.fresh = o.last.Status == mcmf.Optimal
	return o.last
}

func (o *overseer) Flow(a mcmf.Arc) int64 {
	if o.fresh && o.watched != nil {
		o.fresh = false
		o.watched.look(o.last.Cost)
	}
	return o.Solver.Flow(a)
}

// Rerouted is the solver's, compared with a look at every task that runs.
func (o *overseer) Rerouted() (nodes []mcmf.Node, all bool) {
	nodes, all = o.Solver.(rerouter).Rerouted()
	if all || o.watched.Err != nil {
		return nodes, all
	}
	w := o.watched.net
	for _, st := range w.stays.list {
		if st.taskGroup < 0 || slices.Contains(nodes, w.group(st.taskGroup).node) || slices.Contains(o.watched.spread.placer.taskGroups, st.taskGroup) {
			continue
		}
		if f := o.Solver.Flow(st.arc); f != int64(len(st.tasks)) {
			o.watched.Err = fmt.Errorf("of tasks %v on node row %d %d stay, and they are not among those rerouted", st.tasks, st.node, f)
		}
	}
	o.watched.Known++
	return nodes, all
}

// look compares the network and the cost of its solution with a rival's.
func (w *Watched) look(cost int64) {
	if w.Err != nil {
		return
	}
	w.Looks++
	if w.Err = w.net.check(w.state); w.Err != nil || !w.net.fresh() || w.net.hasAvoided(w.state) {
		return
	}
	rival := &overseer{}
	o := w.options
	o.Solver = func(g *mcmf.Graph) Solver { rival.Solver = newSolver(g); return rival }
	fresh := New(w.model(), o)
	fresh.learn(w.state, everything(w.state))
	fresh.net.turn.tier, fresh.net.supply.isListed = w.net.turn.tier, false
	fresh.net.update(w.state)
	if status := fresh.routing.solve(w.state, 0); status != mcmf.Optimal {
		w.Err = fmt.Errorf("the rival's solve says %v", status)
		return
	}
	w.Compared++
	if rival.last.Cost != cost {
		w.Err = fmt.Errorf("the flow costs %d, that of a policy without a past %d", cost, rival.last.Cost)
		return
	}
	if least, ok := w.net.least(w.state); ok {
		w.Tried++
		if least != cost {
			w.Err = fmt.Errorf("the flow costs %d, the best of all assignments %d", cost, least)
		}
	}
}

// everything names every row in use.
func everything(s *cluster.View) *sched.Changed {
	c := &sched.Changed{All: true}
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.NodeLive(n) {
			c.Nodes = append(c.Nodes, n)
		}
	}
	for id := range cluster.ShapeID(s.ShapeRows()) {
		c.Shapes = append(c.Shapes, id)
	}
	for t := range cluster.TaskID(s.TaskRows()) {
		if task := s.Task(t); task.Phase != cluster.Absent && !s.Job(task.Job).Foreign {
			c.Tasks = append(c.Tasks, t)
		}
	}
	return c
}

// hasAvoided reports whether a node was taken out of the network for having refused a
// task, which a policy without a past does not know.
func (w *network) hasAvoided(s *cluster.View) bool {
	if slices.ContainsFunc(w.members.list, func(m member) bool { return m.apart }) {
		return true
	}
	for _, row := range w.turn.asking {
		for n, o := range w.ranking.requests[row].offers {
			if g, _ := w.answers.model.Into(s, w.ranking.requests[row].id.shape, cluster.NodeID(n)); o.group < 0 && g != Nowhere && w.room(s, row, cluster.NodeID(n)) > 0 {
				return true
			}
		}
	}
	return false
}

// check compares all that the network keeps with what the state and the model say.
func (w *network) check(s *cluster.View) error {
	for _, part := range []func(*cluster.View) error{w.checkMembers, w.checkTaskGroups, w.checkShares, w.checkStays, w.checkTenants, w.checkPorts, w.checkOffers} {
		if err := part(s); err != nil {
			return err
		}
	}
	return nil
}

func (w *network) checkMembers(s *cluster.View) error {
	for t := range cluster.TaskID(s.TaskRows()) {
		task := s.Task(t)
		counts := (task.Phase == cluster.Waiting || task.Phase == cluster.Running) && !s.Job(task.Job).Foreign
		var terms Terms
		if counts {
			terms = w.answers.terms(s, t)
			counts = task.Phase == cluster.Waiting || terms.May != MayStay
		}
		var m member
		if int(t) < len(w.members.list) {
			m = w.members.list[t]
		}
		if counts != (m.seq == task.Seq+1) || !counts && m.seq != 0 {
			return fmt.Errorf("task %s is %s, which the network has wrong: %+v", s.TaskName(t), task.Phase, m)
		}
		if !counts {
			continue
		}
		terms.Next = m.terms.Next
		node := cluster.NoNode
		if task.Phase == cluster.Running {
			node = task.Node
		}
		if m.terms != terms || m.shape != task.Shape || m.node != node || (node == cluster.NoNode || !w.isUnit(terms)) != (m.stay < 0) {
			return fmt.Errorf("task %s has %+v, on node row %d; the network says %+v", s.TaskName(t), terms, node, m)
		}
		if tenant := node != cluster.NoNode && !w.isUnit(terms); tenant != (m.share < 0) {
			return fmt.Errorf("task %s has the share %d", s.TaskName(t), m.share)
		} else if tenant {
			continue
		}
		if first, ok := w.shares.first(m.share); node == cluster.NoNode && (!ok || w.members.list[first.Task].terms.Wait < terms.Wait) {
			return fmt.Errorf("task %s pays %d for waiting, and is not the first of its share", s.TaskName(t), terms.Wait)
		}
	}
	return nil
}

// isUnit reports whether a running task is a unit of the network.
func (w *network) isUnit(t Terms) bool { return t.May == MayMove }

// tally is what is counted of a task group or a request.
type tally struct{ units, waiting, running, taskGroups, wanted int64 }

func (w *network) checkTaskGroups(*cluster.View) error {
	taskGroups, requests, given := map[int32]tally{}, map[int32]tally{}, int64(0)
	for t := range w.members.list {
		m := &w.members.list[t]
		if m.seq == 0 || m.share < 0 {
			continue
		}
		row := w.shares.list[m.share].taskGroup
		c, q := taskGroups[row], requests[w.supply.groups[row].request]
		c.units++
		if m.stay < 0 {
			c.waiting++
			if m.terms.Tier >= w.turn.tier {
				q.wanted++
			}
		} else {
			q.running++
		}
		taskGroups[row], requests[w.supply.groups[row].request] = c, q
	}
	for row := range w.supply.groups {
		c := &w.supply.groups[row]
		if !c.live {
			continue
		}
		q := requests[c.request]
		q.taskGroups++
		requests[c.request] = q
		want := taskGroups[int32(row)]
		turn := want.waiting == 0 || c.id.tier >= w.turn.tier
		supply := want.units
		if !turn {
			supply = 0
		}
		given += supply
		switch at := slices.Index(w.supply.lines, int32(row)); {
		case want.units != c.units || int32(want.waiting) != c.waiting || w.graph.Supply(c.node) != supply:
			return fmt.Errorf("task group %d has %+v; the network says %d units, %d waiting, a supply of %d", row, want, c.units, c.waiting, w.graph.Supply(c.node))
		case c.units == 0:
			return fmt.Errorf("task group %d has no units", row)
		case w.supply.rowOf[c.id] != int32(row) || w.graph.owner[c.node] != int32(row):
			return fmt.Errorf("task group %d is not found by what it is", row)
		case (c.waiting > 0) != (at >= 0) || int(c.at) != at || slices.Contains(w.turn.active, int32(row)) != (c.waiting > 0 && turn):
			return fmt.Errorf("task group %d with %d waiting stands at %d among those, says %d", row, c.waiting, at, c.at)
		}
	}
	if w.graph.given != given || w.graph.Supply(w.graph.sink) != -given {
		return fmt.Errorf("%d units are given; the network says %d, and the sink takes %d", given, w.graph.given, w.graph.Supply(w.graph.sink))
	}
	for row := range w.ranking.requests {
		q := &w.ranking.requests[row]
		want := requests[int32(row)]
		asks := slices.Contains(w.turn.asking, int32(row))
		switch {
		case !q.live:
		case asks && want.wanted != q.wanted || want.running != q.running || int(want.taskGroups) != len(q.taskGroups):
			return fmt.Errorf("request %d has %+v; the network says %d wanted, %d running, %d task groups", row, want, q.wanted, q.running, len(q.taskGroups))
		case asks != (want.wanted > 0 || w.stays.any() && want.running > 0):
			return fmt.Errorf("request %d asks: %t, with %+v", row, asks, want)
		}
	}
	return nil
}

// checkSteps compares an arc with steps of what it should let through.
func (w *network) checkSteps(a mcmf.Arc, want ...Step) error {
	want = slices.DeleteFunc(slices.Clone(want), func(s Step) bool { return s.Capacity == 0 })
	got := w.graph.Curve(a)
	if got == nil {
		e := w.graph.Arc(a)
		got = []Step{{Capacity: e.Capacity, Cost: e.Cost}}
	}
	got = slices.DeleteFunc(slices.Clone(got), func(s Step) bool { return s.Capacity == 0 })
	if !slices.Equal(joined(got), joined(want)) {
		return fmt.Errorf("arc %d says %v, want %v", a, got, want)
	}
	return nil
}

// joined joins steps of equal cost.
func joined(steps []Step) (list []Step) {
	for _, s := range steps {
		if n := len(list); n > 0 && list[n-1].Cost == s.Cost {
			list[n-1].Capacity += s.Capacity
		} else {
			list = append(list, s)
		}
	}
	return list
}

func (w *network) checkShares(s *cluster.View) error {
	levels := map[int32]map[Cost]int64{}
	for t := range w.members.list {
		if m := &w.members.list[t]; m.seq != 0 && m.share >= 0 {
			if levels[m.share] == nil {
				levels[m.share] = map[Cost]int64{}
			}
			levels[m.share][m.terms.Wait]++
		}
	}
	shares := 0
	for row, by := range levels {
		sh := &w.shares.list[row]
		var want []Step
		for _, cost := range slices.Sorted(maps.Keys(by)) {
			want = append(want, Step{Capacity: by[cost], Cost: cost})
		}
		if err := w.checkSteps(sh.arc, want...); err != nil {
			return fmt.Errorf("share %d, of job %s: %w", row, s.Job(sh.job).Name, err)
		}
		if w.shares.rowOf[shareID{sh.taskGroup, sh.job}] != row || !slices.Contains(w.supply.groups[sh.taskGroup].shares, row) || w.graph.Arc(sh.arc).To != w.shares.jobs[sh.job].node {
			return fmt.Errorf("share %d is not where it is looked for", row)
		}
		shares++
	}
	if len(w.shares.rowOf) != shares {
		return fmt.Errorf("there are %d shares; the network says %d", shares, len(w.shares.rowOf))
	}
	return nil
}

func (w *network) checkStays(s *cluster.View) error {
	on := map[stayID][]cluster.TaskID{}
	for t := range w.members.list {
		if m := &w.members.list[t]; m.seq != 0 && m.stay >= 0 {
			id := stayID{w.shares.list[m.share].taskGroup, m.node}
			on[id] = append(on[id], cluster.TaskID(t))
		}
	}
	if len(on) != len(w.stays.rowOf) {
		return fmt.Errorf("tasks stay in %d ways; the network says %d", len(on), len(w.stays.rowOf))
	}
	for id, tasks := range on {
		row, ok := w.stays.rowOf[id]
		if !ok {
			return fmt.Errorf("nobody stays of task group %d on node row %d, want %v", id.taskGroup, id.node, tasks)
		}
		st, m := &w.stays.list[row], &w.ports.nodes[id.node]
		slices.SortFunc(tasks, func(a, b cluster.TaskID) int { return int(w.members.list[a].seq) - int(w.members.list[b].seq) })
		shared := s.NodeLive(id.node) && !s.Overfull(id.node) && w.members.list[tasks[0]].terms.Tier <= w.turn.tier && w.turn.covers(s, w.ranking.requests[w.supply.groups[id.taskGroup].request].id.shape)
		to := w.graph.sink
		if shared {
			to = m.port
		}
		switch {
		case !slices.EqualFunc(tasks, st.tasks, func(t cluster.TaskID, r runner) bool { return t == r.task }) || w.stays.of(id.node)[st.at] != row:
			return fmt.Errorf("on node row %d stay %v; the network says %v", id.node, tasks, st.tasks)
		case len(w.turn.asking) > 0 && (st.shared != shared || w.graph.Arc(st.arc).To != to):
			return fmt.Errorf("what stays on node row %d shares its place: %t; the network says %t", id.node, shared, st.shared)
		}
		if err := w.checkSteps(st.arc, Step{Capacity: int64(len(tasks)), Cost: w.members.list[tasks[0]].terms.Stay}); err != nil {
			return fmt.Errorf("staying on node row %d: %w", id.node, err)
		}
	}
	return nil
}

// evictionsOn are the prices of the tenants whose place everybody could have who asks.
func (w *network) evictionsOn(s *cluster.View, n cluster.NodeID) (list []Cost) {
	if int(n) >= s.NodeRows() || !s.NodeLive(n) || s.Overfull(n) {
		return nil
	}
	for _, t := range s.TasksOn(n) {
		if terms := w.answers.terms(s, t); s.Task(t).Phase == cluster.Running && terms.May != MayStay && !w.isUnit(terms) && terms.Tier <= w.turn.tier && w.turn.covers(s, s.Task(t).Shape) && !s.Job(s.Task(t).Job).Foreign {
			list = append(list, max(0, terms.Wait-terms.Stay))
		}
	}
	slices.Sort(list)
	return list
}

func (w *network) checkTenants(s *cluster.View) error {
	on := map[cluster.NodeID][]cluster.TaskID{}
	for t := range w.members.list {
		if m := &w.members.list[t]; m.seq != 0 && m.node != cluster.NoNode {
			on[m.node] = append(on[m.node], cluster.TaskID(t))
		}
	}
	for n := range w.ports.nodes {
		m, want := &w.ports.nodes[n], on[cluster.NodeID(n)]
		var tenants []cluster.TaskID
		if n < s.NodeRows() {
			for _, t := range w.tenants.On(s, cluster.NodeID(n)) {
				tenants = append(tenants, t.Task)
				if m := w.members.of(t.Task); t.Seq != m.seq-1 || s.Task(t.Task).Shape != m.shape || t.Rank != int64(m.terms.Tier) || t.Price != evicting(&m.terms) {
					return fmt.Errorf("on node row %d is the tenant %+v, want %+v", n, t, m)
				}
			}
		}
		slices.SortFunc(tenants, func(a, b cluster.TaskID) int { return int(w.members.list[a].seq) - int(w.members.list[b].seq) })
		slices.SortFunc(want, func(a, b cluster.TaskID) int { return int(w.members.list[a].seq) - int(w.members.list[b].seq) })
		if !slices.Equal(tenants, want) {
			return fmt.Errorf("on node row %d are the tenants %v; the network says %v", n, want, tenants)
		}
		if evictions := w.evictionsOn(s, cluster.NodeID(n)); len(w.turn.asking) > 0 && !slices.Equal(m.evictions, evictions) {
			return fmt.Errorf("evicting on node row %d costs %v; the network says %v", n, evictions, m.evictions)
		}
	}
	return nil
}

func (w *network) checkPorts(s *cluster.View) error {
	for n := range w.ports.nodes {
		m := &w.ports.nodes[n]
		if m.port == mcmf.None {
			if m.leads != 0 {
				return fmt.Errorf("node row %d has no port, and %d arcs that lead there", n, m.leads)
			}
			continue
		}
		leads := 0
		for range w.graph.Entering(m.port) {
			leads++
		}
		slots, shared := int64(0), int64(0)
		if n < s.NodeRows() && s.NodeLive(cluster.NodeID(n)) {
			slots = w.ports.slots(s, cluster.NodeID(n))
		}
		for _, row := range w.stays.of(cluster.NodeID(n)) {
			if w.stays.list[row].shared {
				shared += int64(len(w.stays.list[row].tasks))
			}
		}
		evictions := w.evictionsOn(s, cluster.NodeID(n))
		shared += int64(len(evictions))
		if int(m.leads) != leads || m.slots != slots || m.shared != shared {
			return fmt.Errorf("node row %d has %d slots, %d shared, %d arcs that lead there; the network says %d, %d, %d", n, slots, shared, leads, m.slots, m.shared, m.leads)
		}
		var load Curve
		if w.answers.loaded != nil && slots+shared > 0 {
			load = w.answers.loaded.Load(s, cluster.NodeID(n))
		}
		want := load.upTo(slots+shared-int64(len(evictions)), nil)
		for _, price := range evictions {
			want = append(want, Step{Capacity: 1, Cost: load.first() + price})
		}
		slices.SortStableFunc(want, func(a, b Step) int { return int(a.Cost - b.Cost) })
		if err := w.checkSteps(m.arc, want...); err != nil {
			return fmt.Errorf("port of node row %d: %w", n, err)
		}
	}
	return nil
}

func (w *network) checkOffers(s *cluster.View) error {
	if !w.fresh() {
		return nil
	}
	for _, row := range w.turn.asking {
		q := &w.ranking.requests[row]
		for n := range cluster.NodeID(s.NodeRows()) {
			if err := w.checkOffer(s, row, n); err != nil {
				return fmt.Errorf("request %d (shape %d) of node row %d: %w", row, q.id.shape, n, err)
			}
		}
		for _, g := range q.groups {
			gr := &w.ranking.groups[g]
			for i := 1; i < len(gr.rest); i++ {
				if less(q.offers, gr.rest[i], gr.rest[(i-1)/2]) {
					return fmt.Errorf("request %d: the heap of aggregator %d is in disorder at %d", row, gr.of, i)
				}
			}
		}
	}
	for row := range w.supply.groups {
		c := &w.supply.groups[row]
		for _, o := range c.outs {
			if c.live && o.group < 0 && slices.Contains(w.turn.asking, c.request) {
				if err := w.checkSteps(o.arc, Step{Capacity: w.room(s, c.request, o.node), Cost: o.cost + w.avoids(s, c.id.request.shape, o.node) + w.ports.surcharge(s, c.id.request.shape, o.node)}); err != nil && !w.hasAvoided(s) {
					return fmt.Errorf("task group %d straight to node row %d: %w", row, o.node, err)
				}
			}
		}
	}
	return nil
}

// avoids is what tasks of the shape pay on a node that they would rather not be on, by what the model and the state say.
func (w *network) avoids(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) Cost {
	p, ok := w.answers.model.(Preferrer)
	if !ok {
		return 0
	}
	weight := int64(0)
	for _, wish := range s.Shape(shape).Prefers {
		if in := s.Eligible(wish.Set, n); in != (wish.Weight > 0) {
			weight += max(int64(wish.Weight), -int64(wish.Weight))
		}
	}
	return p.Preference() * min(weight, 1000) / 100
}

func (w *network) checkOffer(s *cluster.View, row int32, n cluster.NodeID) error {
	q := &w.ranking.requests[row]
	o, units := q.offers[n], w.room(s, row, n)
	if o.group < 0 {
		return nil // whether that is right, hasAvoided and the costs say
	}
	a, curve := w.answers.model.Into(s, q.id.shape, n)
	avoids := w.avoids(s, q.id.shape, n)
	price := curve.first() + avoids
	if w.answers.loaded != nil {
		price += w.answers.loaded.Load(s, n).first()
	}
	g, stop := &w.ranking.groups[o.group], Cost(0)
	if evictions := w.evictionsOn(s, n); len(evictions) > 0 && !s.RoomNow(q.id.shape, n) {
		stop = evictions[0]
	}
	switch {
	case units == 0:
		return fmt.Errorf("there is an offer, and no room")
	case o.at >= 0 && o.stop != stop:
		return fmt.Errorf("it costs %d to make room; the network says %d", stop, o.stop)
	case g.of != a || g.request != row || o.price != price:
		return fmt.Errorf("it costs %d below aggregator %d; the network says %d below %d", price, a, o.price, g.of)
	case o.at >= 0:
		if g.rest[o.at] != n {
			return fmt.Errorf("it is not where it is looked for")
		}
		return nil
	case g.chosen[^o.at] != n || w.graph.Arc(o.arc).To != w.ports.nodes[n].port:
		return fmt.Errorf("it is chosen, and not where it is looked for")
	}
	want := curve.upTo(units, nil)
	for i := range want {
		want[i].Cost += avoids
		if w.ports.nodes[n].slots > 0 {
			want[i].Cost += stop
		}
	}
	return w.checkSteps(o.arc, want...)
}
