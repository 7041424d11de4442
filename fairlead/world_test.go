package fairlead

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file is a small world for properties of the policy over time: nodes, and tasks of which it is known how long
// they run. Time is virtual, and the world keeps its own record of who runs where and until when.

// world plays nodes and tasks around a core in which the policy decides.
type world struct {
	chance *rand.Rand
	policy *policy
	core   *sched.Core
	now    cluster.Time
	mail   []letter
	posted int
	tasks  []*job // by row
	seq    cluster.Seq
	shapes map[string]cluster.ShapeID
	watch  func() // is called after each step
	// The longest that things take in this world: until a run begins, has left, or its end is reported.
	delay cluster.Time
	done  []sched.Decision // of the last step
}

// letter is what happens at a moment.
type letter struct {
	at    cluster.Time
	place int
	event func() cluster.Event // nil where it came to nothing
}

// job is a task, and its run if it has one.
type job struct {
	row     cluster.TaskID
	lasts   cluster.Time
	came    cluster.Time
	attempt uint32       // of the run; 0 where it has none
	ends    cluster.Time // when that will be over; Never before it has begun
	gone    bool
}

// newWorld is a world with nodes of these sizes, which tasks of the first set may use.
func newWorld(seed uint64, o Options, classes []cluster.Class, sizes []cluster.Vector) *world {
	w := &world{chance: rand.New(rand.NewPCG(seed, 0x11fe)), policy: New(o).(*policy), shapes: map[string]cluster.ShapeID{}, watch: func() {}}
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "memory"}, {Name: "storage"}}[:len(sizes[0])]
	var err error
	if w.core, err = sched.New(cluster.NewState(kinds, classes), sched.Lane{Name: "all", Policy: w.policy}); err != nil {
		panic(err)
	}
	set := cluster.SetDefined{Set: 1}
	for i, size := range sizes {
		n := cluster.NodeID(i)
		set.Nodes = append(set.Nodes, n)
		w.post(0, func() cluster.Event {
			return cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: size}}
		})
	}
	w.post(0, func() cluster.Event { return set })
	return w
}

// post lets something happen later.
func (w *world) post(delay cluster.Time, event func() cluster.Event) {
	w.posted++
	l := letter{w.now + delay, w.posted, event}
	at, _ := slices.BinarySearchFunc(w.mail, l, func(a, b letter) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.place, b.place)) })
	w.mail = slices.Insert(w.mail, at, l)
}

// soon is some part of the longest delay.
func (w *world) soon() cluster.Time { return cluster.Time(w.chance.Int64N(int64(w.delay) + 1)) }

// comes lets a task come then, in a job of its own. It runs so long.
func (w *world) comes(at cluster.Time, user string, demand cluster.Vector, lasts cluster.Time, spec cluster.TaskSubmitted) *job {
	t := &job{row: cluster.TaskID(len(w.tasks)), lasts: lasts, came: at, ends: cluster.Never}
	w.tasks = append(w.tasks, t)
	shape, known := w.shapes[fmt.Sprint(demand)]
	if !known {
		shape = cluster.ShapeID(len(w.shapes))
		w.shapes[fmt.Sprint(demand)] = shape
		w.post(0, func() cluster.Event {
			return cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: demand, Eligible: 1}}
		})
	}
	spec.Task, spec.Job, spec.Shape = t.row, cluster.JobID(t.row), shape
	w.post(at-w.now, func() cluster.Event { return cluster.JobSubmitted{Job: spec.Job, User: user} })
	w.post(at-w.now, func() cluster.Event {
		w.seq++ // in the order in which they come
		spec.Seq = w.seq
		return spec
	})
	return t
}

// loses loses a node for a while, and every run on it.
func (w *world) loses(at, away cluster.Time, n cluster.NodeID, size cluster.Vector) {
	w.post(at-w.now, func() cluster.Event {
		for _, t := range w.core.View().TasksOn(n) {
			w.tasks[t].attempt, w.tasks[t].ends = 0, cluster.Never
		}
		return cluster.NodeLost{Node: n}
	})
	w.post(at+away-w.now, func() cluster.Event {
		return cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: size}}
	})
	w.post(at+away-w.now, func() cluster.Event { return cluster.EligibilityChanged{Set: 1, Node: n, Eligible: true} })
}

// cordons keeps new tasks off a node for a while.
func (w *world) cordons(at, away cluster.Time, n cluster.NodeID) {
	for i, eligible := range []bool{false, true} {
		w.post(at+cluster.Time(i)*away-w.now, func() cluster.Event {
			return cluster.EligibilityChanged{Set: 1, Node: n, Eligible: eligible}
		})
	}
}

// run lets time pass until then, or until nothing happens any more.
func (w *world) run(until cluster.Time) error {
	for same := 0; ; {
		next := w.core.Wake(w.now)
		if len(w.mail) > 0 {
			next = min(next, w.mail[0].at)
		}
		if next > until {
			return nil
		}
		if same++; next > w.now {
			same = 0
		}
		if same > 1000 {
			return fmt.Errorf("at %v there is round after round without end", w.now)
		}
		w.now = max(w.now, next)
		if err := w.step(); err != nil {
			return err
		}
	}
}

// step delivers the mail of the moment, lets the core decide, and does what it decides.
func (w *world) step() error {
	var events []cluster.Event
	for len(w.mail) > 0 && w.mail[0].at <= w.now {
		l := w.mail[0]
		w.mail = w.mail[1:]
		if e := l.event(); e != nil {
			events = append(events, e)
		}
	}
	decisions, _, err := w.core.Step(w.now, events, w.done[:0])
	if err != nil {
		return err
	}
	w.done = decisions
	for _, d := range decisions {
		t := w.tasks[d.Task]
		switch d.Kind {
		case sched.Place:
			w.begin(t, d)
		case sched.Evict:
			t.attempt, t.ends = 0, cluster.Never
			w.post(w.soon(), func() cluster.Event { return cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt} })
		case sched.Resize, sched.End:
		}
	}
	w.watch()
	return nil
}

// begin begins a run, which will end unless it is evicted or lost before.
func (w *world) begin(t *job, d sched.Decision) {
	t.attempt, t.ends = d.Attempt, cluster.Never
	begins := w.soon()
	w.post(begins, func() cluster.Event {
		if t.attempt != d.Attempt {
			return nil
		}
		t.ends = w.now + t.lasts
		w.post(t.lasts+w.soon(), func() cluster.Event {
			if t.attempt != d.Attempt {
				return nil
			}
			t.gone = true
			return cluster.TaskEnded{Task: d.Task, Seq: d.Seq, Finished: true}
		})
		return cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node}
	})
}

// drained is when the last run on the node will have ended, as it is reported at the latest.
func (w *world) drained(n cluster.NodeID) cluster.Time {
	last := w.now
	for _, id := range w.core.View().TasksOn(n) {
		switch t := w.tasks[id]; {
		case w.core.View().Task(id).Phase == cluster.Leaving:
			last = max(last, w.now+w.delay)
		case t.ends < cluster.Never:
			last = max(last, t.ends+w.delay)
		default: // it is to begin, and perhaps waits for another one to leave
			last = max(last, w.now+2*w.delay+t.lasts+w.delay)
		}
	}
	return last
}
