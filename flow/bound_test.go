package flow_test

import (
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/sched"
)

// drawn is a model whose prices are drawn: by job for waiting and ways, by shape and
// node for curves. Its aggregators are racks, 1 and 2, below 0.
type drawn struct {
	wait   []flow.Cost    // by task
	ways   [][]flow.Cost  // by job: to aggregators 0, 1, 2; 99 is none
	direct [][2]flow.Cost // by job: node and cost
	curve  [][]flow.Curve // by shape and node
	prefer flow.Cost      // of a preference
}

func (m *drawn) Preference() flow.Cost { return m.prefer }

func (m *drawn) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	return flow.Terms{Key: uint64(s.Task(t).Job), Wait: m.wait[int(t)%len(m.wait)], Next: cluster.Never}
}

func (m *drawn) Out(s *cluster.View, t cluster.TaskID, arcs *flow.Arcs) {
	job := s.Task(t).Job
	for a, cost := range m.ways[job] {
		if cost < 99 {
			arcs.Aggregator(flow.Aggregator(a), cost)
		}
	}
	if d := m.direct[job]; d[0] >= 0 && int(d[0]) < s.NodeRows() {
		arcs.Node(cluster.NodeID(d[0]), d[1])
	}
}

func (m *drawn) Into(_ *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	return flow.Aggregator(1 + n%2), m.curve[shape][n]
}

func (m *drawn) Above(_ *cluster.View, a flow.Aggregator) (flow.Aggregator, flow.Cost) {
	if a == 0 {
		return flow.Nowhere, 0
	}
	return 0, flow.Cost(a)
}

// laden is drawn with a load, too.
type laden struct{ *drawn }

func (laden) Load(s *cluster.View, n cluster.NodeID) flow.Curve {
	there := flow.Cost(len(s.TasksOn(n)))
	return flow.Curve{{Capacity: 1, Cost: 2 * there}, {Capacity: 2, Cost: 2*there + 3}, {Capacity: 1, Cost: 2*there + 9}}
}

// judged is a policy whose gaps are compared with the best of all plans.
type judged struct {
	*flow.Policy
	model  flow.Model
	counts [5]int // of rounds, by what their bounds omit
	tight  int    // rounds whose bound is the optimum
	best   int    // rounds whose plan is
	wrong  func(format string, args ...any)
}

func (j *judged) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	e := everyPlan{t: t, model: j.model, best: 1 << 60}
	for i := range cluster.TaskID(s.TaskRows()) {
		if s.Task(i).Phase == cluster.Waiting && e.hasPlace(i) {
			e.tasks = append(e.tasks, i)
		}
	}
	if len(e.tasks) <= 6 {
		e.on = make([]cluster.NodeID, len(e.tasks))
		mark := t.Mark()
		e.try(0)
		t.Rollback(mark)
	}
	before := s.Picture()
	j.Policy.Plan(t, c, budget, out)
	g := out.Gap
	j.counts[g.Omits]++
	if !g.Known() || len(e.tasks) > 6 {
		return
	}
	if g.Bound > e.best || g.Value < e.best || g.Omits == sched.OmitsNothing && g.Bound != e.best {
		j.wrong("%+v, where the best of all plans costs %d\n%s", g, e.best, before)
	}
	if g.Bound == e.best {
		j.tight++
	}
	if g.Value == e.best {
		j.best++
	}
}

// everyPlan tries every plan, the slow way.
type everyPlan struct {
	t     *sched.Trial
	model flow.Model
	tasks []cluster.TaskID
	on    []cluster.NodeID
	best  flow.Cost
}

func (e *everyPlan) put(task cluster.TaskID, n cluster.NodeID) bool {
	return !e.t.Try(sched.Action{Kind: sched.Place, Task: task, Attempt: e.t.View().Task(task).Attempt, Node: n}).Refused()
}

func (e *everyPlan) hasPlace(task cluster.TaskID) bool {
	mark := e.t.Mark()
	for n := range cluster.NodeID(e.t.View().NodeRows()) {
		if e.put(task, n) {
			e.t.Rollback(mark)
			return len(e.ways(task, n)) > 0 || e.hasWay(task)
		}
	}
	return false
}

// hasWay reports whether there is a way to some node where there is room.
func (e *everyPlan) hasWay(task cluster.TaskID) bool {
	for n := range cluster.NodeID(e.t.View().NodeRows()) {
		mark := e.t.Mark()
		ok := e.put(task, n)
		e.t.Rollback(mark)
		if ok && len(e.ways(task, n)) > 0 {
			return true
		}
	}
	return false
}

// way is what it costs a task to get to a node, and whether that is straight.
type way struct {
	cost     flow.Cost
	straight bool
}

func (e *everyPlan) ways(task cluster.TaskID, n cluster.NodeID) (list []way) {
	s := e.t.View()
	m, ok := e.model.(*drawn)
	if !ok {
		m = e.model.(laden).drawn
	}
	job, rack := s.Task(task).Job, int(1+n%2)
	unmet := m.prefer * cluster.Unmet(s, s.Task(task).Shape, n) / cluster.MostPreference
	if d := m.direct[job]; d[0] == flow.Cost(n) {
		list = append(list, way{d[1] + unmet, true})
	}
	if c := m.ways[job][rack]; c < 99 {
		list = append(list, way{c + unmet, false})
	}
	if c := m.ways[job][0]; c < 99 {
		list = append(list, way{c + flow.Cost(rack) + unmet, false})
	}
	return list
}

func (e *everyPlan) try(i int) {
	if i == len(e.tasks) {
		mark := e.t.Mark()
		on := append([]cluster.NodeID(nil), e.on...)
		e.t.Rollback(0) // prices are those of the beginning
		e.best = min(e.best, e.price(0, map[[3]uint32]int64{}, map[cluster.NodeID]int64{}))
		for k, n := range on {
			if n != cluster.NoNode && !e.put(e.tasks[k], n) {
				panic("what was possible is not")
			}
		}
		if e.t.Mark() != mark {
			panic("the trial is not what it was")
		}
		return
	}
	e.on[i] = cluster.NoNode
	e.try(i + 1)
	for n := range cluster.NodeID(e.t.View().NodeRows()) {
		mark := e.t.Mark()
		if e.put(e.tasks[i], n) {
			e.on[i] = n
			e.try(i + 1)
		}
		e.t.Rollback(mark)
	}
}

// price is what the cheapest ways of the tasks from i on cost, to the nodes where they
// are put.
func (e *everyPlan) price(i int, through map[[3]uint32]int64, there map[cluster.NodeID]int64) flow.Cost {
	if i == len(e.tasks) {
		return 0
	}
	s, task, n := e.t.View(), e.tasks[i], e.on[i]
	if n == cluster.NoNode {
		return e.model.Terms(s, task).Wait + e.price(i+1, through, there)
	}
	load := flow.Cost(0)
	if l, ok := e.model.(flow.Loaded); ok {
		load = unitOf(l.Load(s, n), there[n])
	}
	there[n]++
	best := flow.Cost(1 << 60)
	shape := s.Task(task).Shape
	key := [3]uint32{uint32(shape), uint32(n), 0}
	if s.Shape(shape).PerNode > 0 {
		key[2] = 1 + uint32(s.Task(task).Job)
	}
	for _, w := range e.ways(task, n) {
		if w.straight {
			best = min(best, w.cost+load+e.price(i+1, through, there))
			continue
		}
		_, curve := e.model.Into(s, shape, n)
		into := unitOf(curve, through[key])
		through[key]++
		best = min(best, w.cost+load+into+e.price(i+1, through, there))
		through[key]--
	}
	there[n]--
	return best
}

func unitOf(c flow.Curve, unit int64) (cost flow.Cost) {
	for _, step := range c {
		cost = step.Cost
		if unit -= step.Capacity; unit < 0 {
			break
		}
	}
	return cost
}

// TestGapIsProven compares bounds with the best of all plans of small rounds.
func TestGapIsProven(t *testing.T) {
	var sum judged
	check := func(t *rapid.T) {
		number := func(least, most int) int64 { return int64(rapid.IntRange(least, most).Draw(t, "n")) }
		nodes, shapes, jobs := int(number(1, 3)), int(number(1, 3)), int(number(1, 3))
		m := &drawn{prefer: 3 * number(0, 5)}
		for range 9 {
			m.wait = append(m.wait, number(-3, 60))
		}
		for range jobs {
			ways := []flow.Cost{number(-5, 20), number(0, 20), 99}
			if number(0, 2) == 0 {
				ways[0] = 99
			}
			m.ways = append(m.ways, ways)
			m.direct = append(m.direct, [2]flow.Cost{number(-6, nodes-1), number(-5, 20)})
		}
		for s := range shapes {
			m.curve = append(m.curve, nil)
			for range nodes {
				cost := number(-4, 10)
				m.curve[s] = append(m.curve[s], flow.Curve{{Capacity: 1, Cost: cost}, {Capacity: number(0, 2), Cost: cost + number(0, 5)}})
			}
		}
		for s := range m.curve {
			for _, c := range m.curve[s] {
				c[1].Cost = max(c[1].Cost, c[0].Cost)
			}
		}
		j := &judged{model: m, wrong: t.Fatalf}
		if number(0, 1) == 1 {
			j.model = laden{m}
		}
		j.Policy = flow.New(j.model, flow.Options{Name: "drawn"})
		st := newStage(t, j)
		for range nodes {
			st.node(cluster.Vector{number(1, 9), number(1, 9), 0})
		}
		st.events = append(st.events, cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{0}})
		for i := range shapes {
			shape := cluster.Shape{Demand: cluster.Vector{number(0, 4), number(1, 4), 0}}
			if weight := int32(50 * number(-2, 2)); weight != 0 {
				shape.Prefers = []cluster.Preference{{Set: 1, Weight: weight}}
			}
			if i == 2 {
				shape.PerNode = 1
			}
			st.shape(shape)
		}
		for range jobs {
			st.job()
		}
		st.mustStep()
		for range 3 {
			for range number(1, 5) {
				shape := number(0, shapes-1)
				// Tasks of which a node may have one only have a job without others.
				job := number(0, jobs-1)
				if shape == 2 && jobs == 3 {
					job = 2
				} else if jobs == 3 {
					job = number(0, 1)
				} else if shape == 2 {
					shape = 0
				}
				st.task(cluster.JobID(job), cluster.ShapeID(shape))
			}
			st.mustStep()
		}
		for i, n := range j.counts {
			sum.counts[i] += n
		}
		sum.tight += j.tight
		sum.best += j.best
	}
	times := 20 // what is planned by packing is rare, and there are to be some
	if testing.Short() {
		times = 1
	}
	for range times {
		rapid.Check(t, check)
	}
	t.Logf("rounds by omission %v, %d bounds that are the optimum, %d plans", sum.counts, sum.tight, sum.best)
	if testing.Short() {
		return // with few cases chance decides what is met
	}
	if known := sum.counts[1] + sum.counts[2] + sum.counts[3]; sum.counts[1] == 0 || sum.counts[2] == 0 || sum.counts[3] == 0 || sum.tight < known/2 {
		t.Errorf("bounds are too few or too low: %v, of which %d are the optimum", sum.counts, sum.tight)
	}
}

// TestValueSharesCurves lets tasks of two jobs come to a node that is the dearer for each further one of
// their shape: they are counted together, but for tasks of which a node may have only so many of a job.
func TestValueSharesCurves(t *testing.T) {
	for perNode, want := range []flow.Cost{10, 0} {
		dearer, flat := flow.Curve{{Capacity: 1, Cost: 0}, {Capacity: 1, Cost: 10}}, flow.Curve{{Capacity: 9, Cost: 0}}
		m := &drawn{wait: []flow.Cost{50}, curve: [][]flow.Curve{{dearer}, {flat}}}
		st := newStage(t, flow.New(m, flow.Options{Name: "drawn"}))
		st.node(cluster.Vector{9, 9, 0})
		twice := st.shape(cluster.Shape{Demand: cluster.Vector{1, 1, 0}, PerNode: int32(perNode)})
		other := st.shape(cluster.Shape{Demand: cluster.Vector{2, 1, 0}}) // a single request would need no sum
		for _, shape := range []cluster.ShapeID{twice, twice, other} {
			m.ways, m.direct = append(m.ways, []flow.Cost{99, 0, 99}), append(m.direct, [2]flow.Cost{-1, 0})
			st.task(st.job(), shape)
		}
		if _, err := st.core.Observe(0, st.events, nil); err != nil {
			t.Fatal(err)
		}
		r := st.core.Begin(0, 0)
		r.Run(0)
		if g := r.Gap(); !g.Known() || g.Value != want {
			t.Errorf("with at most %d of a job on a node (0: any number) the plan costs %+v, want %d", perNode, g, want)
		}
	}
}
