package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// world is a small hostile cluster: nodes come, go and change size, rows are
// used again, and decisions are answered late or refused.
type world struct {
	t       *testing.T
	core    *sched.Core
	s       *cluster.View
	source  *rand.Rand
	now     cluster.Time
	seq     cluster.Seq
	nodes   cluster.Rows
	tasks   cluster.Rows
	jobs    cluster.Rows
	names   int
	out     []sched.Decision // not answered yet
	answers int
	// promises says that there are classes of all levels, ranges and copies.
	promises bool
	cards    *rand.Rand // where network cards are drawn from; nil in a world without
}

const (
	worldShapes = 6
	worldSets   = 2
)

func newWorld(t *testing.T, policy sched.Policy, seed uint64) *world {
	t.Helper()
	return newWorldOf(t, policy, seed, []cluster.Class{{Name: "free", Importance: 3}, {Name: "prod", Importance: 1}, {Name: "batch", Importance: 2}}, false)
}

// newWorldOf is a world with these classes, and if so asked with ranges and copies.
func newWorldOf(t *testing.T, policy sched.Policy, seed uint64, classes []cluster.Class, promises bool) *world {
	t.Helper()
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1 + int64(seed%2)}, {Name: "mem"}, {Name: "gpu", PerUnit: 4, Devices: true}}
	var cards *rand.Rand
	if seed%4 == 3 {
		cards, kinds = rand.New(rand.NewPCG(seed, 8)), append(kinds, cluster.Kind{Name: "nic", PerUnit: 2, Devices: true})
	}
	s := cluster.NewState(kinds, classes)
	other := Rules{}.New(Options{Ties: book.Lowest})
	core, err := sched.New(s,
		sched.Lane{Name: "ours", Owns: ours, Policy: policy},
		sched.Lane{Name: "other", Policy: other})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, core: core, s: &s.View, source: rand.New(rand.NewPCG(seed, 7)), cards: cards, promises: promises}
	for set := range worldSets {
		w.observe(cluster.SetDefined{Set: cluster.SetID(set + 1)})
	}
	for shape := range worldShapes {
		w.observe(w.newShape(cluster.ShapeID(shape)))
	}
	for range 1 + w.source.IntN(6) {
		w.observe(w.addNode())
	}
	return w
}

func ours(j *cluster.Job) bool { return j.User != "other" }

// observe applies an event without starting a round.
func (w *world) observe(e cluster.Event) {
	if e == nil {
		return
	}
	var err error
	w.out, err = w.core.Observe(w.now, []cluster.Event{e}, w.out)
	if err != nil {
		w.t.Fatal(err)
	}
	switch e := e.(type) {
	case cluster.NodeLost:
		w.nodes.Give(uint32(e.Node))
	case cluster.TaskEnded:
		w.tasks.Give(uint32(e.Task))
	case cluster.JobForgotten:
		w.jobs.Give(uint32(e.Job))
	default: // gives no row back
	}
}

// step lets a moment pass: some events, some answers, and the rounds that are
// due, some of which decide on what is no longer true.
func (w *world) step() {
	w.now += cluster.Time(w.source.IntN(3)) * cluster.Second
	for range w.source.IntN(4) {
		w.observe(w.random())
	}
	w.answer()
	if w.source.IntN(3) > 0 {
		var err error
		w.out, _, err = w.core.Step(w.now, nil, w.out)
		if err != nil {
			w.t.Fatal(err)
		}
	} else {
		for {
			lane, due := w.core.Due(w.now)
			if !due {
				break
			}
			r := w.core.Begin(lane, w.now)
			r.Run(0)
			for range w.source.IntN(3) {
				w.observe(w.random())
			}
			w.out = w.core.Finish(r, w.now, w.out)
			w.now += cluster.Millisecond
		}
	}
	if err := w.s.Check(); err != nil {
		w.t.Fatal(err)
	}
}

// answer lets the world report the outcome of some decisions.
func (w *world) answer() {
	kept := w.out[:0]
	for _, d := range w.out {
		run := w.source.IntN(10)
		if run < 3 {
			kept = append(kept, d)
			continue
		}
		w.answers++
		w.observeQuietly(w.outcome(d, run))
	}
	w.out = append(kept, w.out[len(w.out):]...)
}

// observeQuietly applies an answer, which makes decisions of its own only by
// letting reserved tasks start.
func (w *world) observeQuietly(e cluster.Event) {
	out, err := w.core.Observe(w.now, []cluster.Event{e}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range out {
		if d.Kind == sched.Evict {
			_, _ = w.core.Observe(w.now, []cluster.Event{cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt}}, nil)
			continue
		}
		w.observeQuietly(w.outcome(d, 9))
	}
}

func (w *world) outcome(d sched.Decision, dice int) cluster.Event {
	switch {
	case d.Kind == sched.Place && dice == 3:
		return cluster.BindRefused{Task: d.Task, Attempt: d.Attempt}
	case d.Kind == sched.Place:
		return cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node}
	case dice == 3:
		return cluster.EvictRefused{Task: d.Task, Attempt: d.Attempt}
	}
	return cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt}
}

func (w *world) vector(most int, gpu ...int64) cluster.Vector {
	return cluster.Vector{int64(w.source.IntN(most + 1)), int64(w.source.IntN(most + 1)), gpu[w.source.IntN(len(gpu))]}
}

// withCards ends a vector in one of the quantities of network cards, if the world has such.
func (w *world) withCards(v cluster.Vector, quantities ...int64) cluster.Vector {
	if w.cards == nil {
		return v
	}
	return append(v, quantities[w.cards.IntN(len(quantities))])
}

func (w *world) newShape(id cluster.ShapeID) cluster.Event {
	spec := cluster.Shape{Demand: w.withCards(w.vector(4, 0, 0, 0, 1, 3, 4, 8), 0, 0, 1, 2, 4), PerNode: int32(max(w.source.IntN(8)-4, 0))}
	if w.source.IntN(3) == 0 {
		spec.Eligible = cluster.SetID(1 + w.source.IntN(worldSets))
	}
	if w.promises && w.source.IntN(2) == 0 {
		spec.Max = slices.Clone(spec.Demand)
		spec.Max[w.source.IntN(8)/7] += int64(w.source.IntN(6))
	}
	return cluster.ShapeDefined{Shape: id, Spec: spec}
}

func (w *world) nodeSpec() cluster.NodeSpec {
	w.names++
	spec := cluster.NodeSpec{Name: fmt.Sprintf("n%d", w.names), Capacity: w.withCards(w.vector(9, 0, 4, 8, 12), 0, 2, 4, 6)}
	if w.source.IntN(5) == 0 {
		spec.Overcommit = cluster.Vector{1500, 1000, 1500, 1500}[:len(spec.Capacity)]
	}
	return spec
}

func (w *world) addNode() cluster.Event {
	if w.s.Totals().Nodes > 12 {
		return nil
	}
	return cluster.NodeAdded{Node: cluster.NodeID(w.nodes.Take()), Spec: w.nodeSpec()}
}

// anyNode returns a live node, and false if the one that was drawn is not.
func (w *world) anyNode() (cluster.NodeID, bool) {
	if w.s.NodeRows() == 0 {
		return 0, false
	}
	n := cluster.NodeID(w.source.IntN(w.s.NodeRows()))
	return n, w.s.NodeLive(n)
}

// anyTask returns a task in one of the phases, and false if the one that was
// drawn is in another.
func (w *world) anyTask(phases ...cluster.Phase) (cluster.TaskID, *cluster.Task, bool) {
	if w.s.TaskRows() == 0 {
		return 0, nil, false
	}
	t := cluster.TaskID(w.source.IntN(w.s.TaskRows()))
	for _, p := range phases {
		if w.s.Task(t).Phase == p {
			return t, w.s.Task(t), true
		}
	}
	return t, nil, false
}

// random is something that may happen now; nil is nothing.
func (w *world) random() cluster.Event {
	switch w.source.IntN(16) {
	case 0:
		return w.addNode()
	case 1:
		if n, ok := w.anyNode(); ok && w.source.IntN(2) == 0 {
			return cluster.NodeLost{Node: n}
		}
	case 2:
		if n, ok := w.anyNode(); ok {
			return cluster.NodeChanged{Node: n, Spec: w.nodeSpec()}
		}
	case 3:
		if n, ok := w.anyNode(); ok {
			return cluster.EligibilityChanged{Set: cluster.SetID(1 + w.source.IntN(worldSets)), Node: n, Eligible: w.source.IntN(3) > 0}
		}
	case 4, 5, 6, 7:
		if t, task, ok := w.anyTask(cluster.Running, cluster.Running, cluster.Waiting, cluster.Starting, cluster.Leaving, cluster.Gated); ok {
			return cluster.TaskEnded{Task: t, Seq: task.Seq}
		}
	case 8:
		return w.otherChange()
	default:
		return w.submit()
	}
	return nil
}

// otherChange is one of the rarer events.
func (w *world) otherChange() cluster.Event {
	switch w.source.IntN(8) {
	case 0:
		if t, task, ok := w.anyTask(cluster.Gated); ok {
			return cluster.TaskUngated{Task: t, Seq: task.Seq}
		}
	case 1:
		if t, task, ok := w.anyTask(cluster.Running); ok {
			return cluster.TaskLeft{Task: t, Attempt: task.Attempt}
		}
	case 2:
		if t, task, ok := w.anyTask(cluster.Waiting); ok {
			if n, live := w.anyNode(); live {
				return cluster.TaskFound{Task: t, Seq: task.Seq, Node: n}
			}
		}
	case 3:
		if w.s.JobRows() > 0 {
			if j := cluster.JobID(w.source.IntN(w.s.JobRows())); w.s.Job(j).Live && w.s.Job(j).Tasks == 0 {
				return cluster.JobForgotten{Job: j}
			}
		}
	case 4:
		id := cluster.ShapeID(w.source.IntN(worldShapes))
		for t := range w.s.TaskRows() {
			if task := w.s.Task(cluster.TaskID(t)); task.Phase != cluster.Absent && task.Shape == id {
				return nil
			}
		}
		w.observe(cluster.ShapeForgotten{Shape: id})
		return w.newShape(id)
	case 5:
		if t, task, ok := w.anyTask(cluster.Waiting, cluster.Reserved); ok {
			return cluster.TaskGated{Task: t, Seq: task.Seq}
		}
	case 6:
		if t, task, ok := w.anyTask(cluster.Gated, cluster.Waiting, cluster.Reserved, cluster.Starting, cluster.Running, cluster.Leaving); ok {
			return cluster.TaskReshaped{Task: t, Seq: task.Seq, Shape: cluster.ShapeID(w.source.IntN(worldShapes)), Priority: int32(w.source.IntN(4))}
		}
	case 7:
		return w.redefine()
	}
	return nil
}

// redefine replaces the members of a set.
func (w *world) redefine() cluster.Event {
	e := cluster.SetDefined{Set: cluster.SetID(1 + w.source.IntN(worldSets))}
	for n := range w.s.NodeRows() {
		if id := cluster.NodeID(n); w.s.NodeLive(id) && w.source.IntN(5) > 0 == w.s.Eligible(e.Set, id) {
			e.Nodes = append(e.Nodes, id)
		}
	}
	return e
}

// submit makes a task, of a new job or of one that is there.
func (w *world) submit() cluster.Event {
	j := cluster.JobID(w.source.IntN(w.s.JobRows() + 1))
	if int(j) >= w.s.JobRows() || !w.s.Job(j).Live {
		j = cluster.JobID(w.jobs.Take())
		user := []string{"a", "b", "c", "other"}[w.source.IntN(4)]
		job := cluster.JobSubmitted{Job: j, Name: fmt.Sprintf("j%d", w.seq), User: user, Foreign: w.source.IntN(10) == 0}
		job.FirstEnds = w.promises && !job.Foreign && w.source.IntN(2) == 0
		w.observe(job)
		if job.FirstEnds {
			return w.submitCopies(j)
		}
	}
	w.seq++
	return cluster.TaskSubmitted{
		Task: cluster.TaskID(w.tasks.Take()), Seq: w.seq, Job: j,
		Shape: cluster.ShapeID(w.source.IntN(worldShapes)), Class: cluster.ClassID(w.source.IntN(len(w.s.Classes()))),
		Priority: int32(w.source.IntN(4)), Gated: w.source.IntN(10) == 0,
	}
}

// submitCopies makes up to three tasks of one job that are the same, and returns the
// last of them.
func (w *world) submitCopies(j cluster.JobID) cluster.Event {
	e := cluster.TaskSubmitted{Job: j, Shape: cluster.ShapeID(w.source.IntN(worldShapes)), Class: cluster.ClassID(w.source.IntN(len(w.s.Classes())))}
	for more := w.source.IntN(3); ; more-- {
		w.seq++
		e.Task, e.Seq = cluster.TaskID(w.tasks.Take()), w.seq
		if more == 0 {
			return e
		}
		w.observe(e)
	}
}
