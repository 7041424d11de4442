package recording_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// world drives a recorder with whatever may happen, and much that may not:
// events name rows at random, so that some make no sense.
type world struct {
	chance *rand.Rand
	core   *recording.Recorder
	now    cluster.Time
	seq    cluster.Seq
	flying [2]*recording.Round
	orders []sched.Decision // to be answered
	seen   map[string]int   // calls and events
}

func header(policy string, seed uint64) recording.Header {
	return recording.Header{
		Comment: "a made-up world",
		Kinds:   []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: "memory"}},
		Classes: []cluster.Class{{Name: "gold", Importance: 1}, {Name: "silver", Importance: 2}},
		Lanes: []recording.Lane{
			{Name: "odd", Policy: policy, Seed: seed, Options: map[string]string{"tie_break": "random"}, User: "odd"},
			{Name: "rest", Policy: policy, Seed: seed + 1, Options: map[string]string{"tie_break": "fixed"}, Watchdog: 3 * cluster.Second, IgnoreOutcomes: true},
		},
	}
}

// build makes the policy of a lane of header.
func build(l recording.Lane) (sched.Policy, error) {
	ties, ok := book.ParseTies(l.Options["tie_break"])
	if !ok {
		return nil, fmt.Errorf("unknown tie-break %q", l.Options["tie_break"])
	}
	p, err := policies.New(l.Policy, policies.Options{Seed: l.Seed, Ties: ties})
	return stretching{p}, err
}

// stretching is a policy that lets a task that runs take as much as it may, where there
// is room, and otherwise the least.
type stretching struct{ sched.Policy }

func (p stretching) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	p.Policy.Plan(t, c, budget, out)
	s := t.View()
	for i := range s.TaskRows() {
		id := cluster.TaskID(i)
		task := s.Task(id)
		if task.Phase != cluster.Running || s.Shape(task.Shape).Max == nil || s.Now()/cluster.Second%2 == 0 {
			continue
		}
		a := sched.Action{Kind: sched.Resize, Task: id, Attempt: task.Attempt}
		if task.Grant() == nil {
			a.Grant = s.Shape(task.Shape).Max
		}
		if !t.Try(a).Refused() {
			out.Add(a)
			out.Close()
		}
	}
}

func newCore(tb testing.TB, h recording.Header) *sched.Core {
	tb.Helper()
	var lanes []sched.Lane
	for _, l := range h.Lanes {
		policy, err := build(l)
		if err != nil {
			tb.Fatal(err)
		}
		lanes = append(lanes, sched.Lane{
			Name: l.Name, Owns: l.Owns(), Policy: policy, When: sched.Trigger{Heartbeat: l.Heartbeat, Watchdog: l.Watchdog, IgnoreOutcomes: l.IgnoreOutcomes},
		})
	}
	core, err := sched.New(cluster.NewState(h.Kinds, h.Classes), lanes...)
	if err != nil {
		tb.Fatal(err)
	}
	return core
}

func newWorld(tb testing.TB, h recording.Header, to *recording.Writer, seed uint64) *world {
	tb.Helper()
	w := &world{chance: rand.New(rand.NewPCG(seed, 7)), core: recording.NewRecorder(newCore(tb, h), to), seen: map[string]int{}}
	var snapshot []cluster.Event
	for n := range cluster.NodeID(4) {
		snapshot = append(snapshot, cluster.NodeAdded{Node: n, Spec: w.spec()})
	}
	snapshot = append(snapshot, cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{0, 2}})
	for id := range cluster.ShapeID(4) {
		spec := cluster.Shape{Demand: w.vector(3), Eligible: cluster.SetID(id % 2), Usual: cluster.SetID(id / 2), PerNode: int32(id % 4), Tags: []string{"a", "b"}[:id%3], NeverPreempts: id%5 == 4}
		spec.Max = cluster.Vector{spec.Demand[0] + 1, spec.Demand[1] + int64(id)}
		snapshot = append(snapshot, cluster.ShapeDefined{Shape: id, Spec: spec})
	}
	snapshot = append(snapshot, w.constraint(0))
	for j := range cluster.JobID(3) {
		snapshot = append(snapshot, cluster.JobSubmitted{Job: j, Name: fmt.Sprintf("j<%d>", j), User: []string{"odd", "even"}[j%2], Foreign: j == 2, FirstEnds: j == 1})
	}
	out, err := w.core.Snapshot(0, snapshot, nil)
	if err != nil {
		tb.Fatal(err)
	}
	w.orders = out
	return w
}

func (w *world) row(n uint32) uint32 { return w.chance.Uint32N(n) }

func (w *world) vector(most int64) cluster.Vector {
	return cluster.Vector{w.chance.Int64N(most), w.chance.Int64N(most)}
}

func (w *world) spec() cluster.NodeSpec {
	return cluster.NodeSpec{
		Name: fmt.Sprintf("n%d", w.row(100)), Capacity: cluster.Vector{6 + w.chance.Int64N(12), 6 + w.chance.Int64N(12)}, Overcommit: cluster.Vector{1500, 1000},
		Labels: []cluster.Label{{Key: "zone", Value: "a\"é\\"}}, Groups: []cluster.Label{{Key: "rack", Value: "r1"}}, Tier: -1,
	}
}

// constraint is one that keeps tasks apart, or a wish.
func (w *world) constraint(row cluster.ConstraintID) cluster.ConstraintDefined {
	spec := cluster.Constraint{Name: "apart", Hard: true, Any: [][]cluster.Bound{{{Subject: []string{"b"}, Target: []string{"a"}, Max: 2, Group: cluster.EachNode}}}}
	if row > 0 {
		spec.Hard, spec.Weight = false, 700
	}
	return cluster.ConstraintDefined{Constraint: row, Spec: spec}
}

// turn lets something happen, and the core be called in one way or the other.
func (w *world) turn() {
	w.now += cluster.Time(w.row(900)) * cluster.Millisecond
	var in []cluster.Event
	for range w.row(6) {
		in = append(in, w.event())
	}
	kept := w.orders[:0]
	for _, d := range w.orders {
		if d.Kind == sched.Resize { // holds at once
			w.seen["resize"]++
			continue
		}
		if w.row(3) == 0 {
			kept = append(kept, d)
			continue
		}
		in = append(in, w.outcome(d))
	}
	w.orders = kept
	for _, e := range in {
		w.seen[fmt.Sprintf("%T", e)]++
	}
	switch lane := int(w.row(2)); {
	case w.row(3) == 0:
		w.seen["step"]++
		w.orders, _, _ = w.core.Step(w.now, in, w.orders)
	case w.flying[lane] != nil:
		w.seen["finish"]++
		w.orders, _ = w.core.Observe(w.now, in, w.orders)
		w.flying[lane].Run(int64(w.row(3) * w.row(40)))
		w.orders = w.core.Finish(w.flying[lane], w.now, w.orders)
		w.flying[lane] = nil
	default:
		w.seen["observe"]++
		w.orders, _ = w.core.Observe(w.now, in, w.orders)
		if lane, due := w.core.Due(w.now); due {
			w.flying[lane] = w.core.Begin(lane, w.now)
		}
	}
}

func (w *world) outcome(d sched.Decision) cluster.Event {
	w.seen[d.Kind.String()]++
	if d.Kind == sched.End {
		return cluster.TaskEnded{Task: d.Task, Seq: d.Seq}
	}
	switch bad := w.row(5) == 0; {
	case d.Kind == sched.Place && bad:
		return cluster.BindRefused{Task: d.Task, Attempt: d.Attempt}
	case d.Kind == sched.Place:
		return cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node}
	case bad:
		return cluster.EvictRefused{Task: d.Task, Attempt: d.Attempt}
	}
	return cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt}
}

// classEvent changes what a class promises, or forgets it.
func (w *world) classEvent() cluster.Event {
	row := cluster.ClassID(w.row(3))
	if w.row(2) == 0 {
		return cluster.ClassForgotten{Class: row}
	}
	return cluster.ClassDefined{Class: row, Spec: cluster.Class{Name: "anew", Importance: int32(w.row(3)), Availability: cluster.Whole / cluster.Share(1+w.row(3))}}
}

// event is something that happens; now and then it cannot.
func (w *world) event() cluster.Event {
	node, set, shape := cluster.NodeID(w.row(8)), cluster.SetID(1+w.row(3)), cluster.ShapeID(w.row(6))
	switch w.row(16) {
	case 0:
		return cluster.NodeAdded{Node: node, Spec: w.spec()}
	case 1:
		if w.row(2) == 0 {
			return cluster.UsageReported{Node: node, Usage: w.vector(9)}
		}
		return cluster.NodeChanged{Node: node, Spec: w.spec()}
	case 2:
		if w.row(3) == 0 {
			return cluster.NodeLost{Node: node}
		}
		return cluster.SetDefined{Set: set, Nodes: []cluster.NodeID{node, 1}}
	case 3:
		switch row := cluster.ConstraintID(w.row(3)); w.row(6) {
		case 0:
			return w.constraint(row)
		case 1:
			return cluster.ConstraintForgotten{Constraint: row}
		}
		return cluster.EligibilityChanged{Set: set, Node: node, Eligible: w.row(2) == 0}
	case 4:
		return cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: w.vector(4), Eligible: set, Tags: []string{"a", "b"}[:w.row(3)]}}
	case 5:
		return []cluster.Event{cluster.ShapeForgotten{Shape: shape}, cluster.SetForgotten{Set: set}, cluster.JobForgotten{Job: cluster.JobID(w.row(4))}, cluster.SolverReady{}, w.classEvent(), cluster.RoomComing{Shape: shape, Coming: w.row(2) == 0}, cluster.JobChanged{Job: cluster.JobID(w.row(5)), Disruption: cluster.Disruption(w.row(3)), Gang: int32(w.row(4))}}[w.row(7)]
	case 6:
		return cluster.JobSubmitted{Job: cluster.JobID(w.row(5)), Name: "j", User: "odd", Together: w.row(2) == 0, FirstEnds: w.row(4) == 0, LongRunning: w.row(2) == 0, Loose: w.row(5) == 0, Service: w.row(3) == 0, Disruption: cluster.Disruption(max(w.row(8), 5) - 5), Gang: int32(w.row(12) / 9), Due: cluster.Time(w.row(3))}
	case 7, 8, 9, 10:
		return w.taskEvent()
	}
	w.seq++
	return cluster.TaskSubmitted{
		Task: cluster.TaskID(w.row(20)), Seq: w.seq, Job: cluster.JobID(w.row(4)), Shape: shape,
		Class: cluster.ClassID(w.row(2)), Priority: int32(w.row(5)) - 2, Gated: w.row(8) == 0, Input: w.input(), Lasts: cluster.Time(w.seq%3) * cluster.Minute, Displaced: w.seq%7 == 0,
	}
}

// input is what a task reads: mostly nothing, and now and then what cannot be.
func (w *world) input() []cluster.Block {
	var blocks []cluster.Block
	for range w.row(12) / 10 {
		blocks = append(blocks, cluster.Block{
			Bytes: int64(w.row(1000)) - 20, Replicas: [3]cluster.NodeID{cluster.NodeID(w.row(8)), cluster.NoNode, cluster.NodeID(8 + w.row(8))},
		})
	}
	return blocks
}

// taskEvent is something that happens to a task.
func (w *world) taskEvent() cluster.Event {
	t := cluster.TaskID(w.row(20))
	var task cluster.Task
	if s := w.core.View(); int(t) < s.TaskRows() {
		task = *s.Task(t)
	}
	switch w.row(8) {
	case 5:
		if w.row(2) == 0 {
			return cluster.TaskLeaving{Task: t, Attempt: task.Attempt}
		}
		return cluster.TaskProtected{Task: t, Attempt: task.Attempt, Until: w.now + cluster.Time(w.row(3))*cluster.Second, Reason: "a budget"}
	case 0:
		return cluster.TaskUngated{Task: t, Seq: task.Seq, Waited: cluster.Time(task.Seq%5) - 1}
	case 1:
		return cluster.TaskGated{Task: t, Seq: task.Seq}
	case 2:
		return cluster.TaskReshaped{Task: t, Seq: task.Seq, Shape: cluster.ShapeID(w.row(6)), Priority: int32(w.row(4))}
	case 3:
		return cluster.TaskFound{Task: t, Seq: task.Seq, Node: cluster.NodeID(w.row(6)), Grant: w.vector(9)}
	case 4:
		return cluster.TaskLeft{Task: t, Attempt: task.Attempt}
	case 6:
		if w.row(2) == 0 {
			return cluster.BudgetChanged{Budget: cluster.BudgetID(w.row(2)), Spare: int32(w.row(3))}
		}
		return cluster.TaskGuarded{Task: t, Attempt: task.Attempt, Budgets: []cluster.BudgetID{0, 1}[:w.row(3)]}
	}
	return cluster.TaskEnded{Task: t, Seq: task.Seq, Finished: w.row(2) == 0}
}
