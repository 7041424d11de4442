package fairlead_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// crowded is a cluster in which small tasks come and go all the time, and a few large ones want a node each.
type crowded struct {
	core    *sched.Core
	now     cluster.Time
	rows    cluster.Rows
	seq     cluster.Seq
	ends    map[cluster.TaskID]cluster.Time // of who runs
	runs    map[cluster.TaskID]cluster.Time // how long a task will
	large   map[cluster.TaskID]bool
	longest cluster.Time   // run of a small task
	waits   []cluster.Time // of large ones that have begun
	came    cluster.Time   // when those came
	pending []cluster.Event
}

// submit submits a task.
func (w *crowded) submit(shape cluster.ShapeID, run cluster.Time) cluster.TaskID {
	t := cluster.TaskID(w.rows.Take())
	w.seq++
	w.runs[t] = run
	w.pending = append(w.pending, cluster.TaskSubmitted{Task: t, Seq: w.seq, Shape: shape})
	return t
}

// step hands over what happens now, and does what is decided at once.
func (w *crowded) step(t *testing.T) {
	t.Helper()
	for first := true; first || len(w.pending) > 0; first = false {
		out, _, err := w.core.Step(w.now, w.pending, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.pending = w.pending[:0]
		for _, d := range out {
			if d.Kind == sched.Evict {
				delete(w.ends, d.Task)
				w.pending = append(w.pending, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
				continue
			}
			w.pending = append(w.pending, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
			w.ends[d.Task] = w.now + w.runs[d.Task]
			if w.large[d.Task] {
				w.waits = append(w.waits, w.now-w.came)
				delete(w.large, d.Task)
			}
		}
	}
}

// TestLargeTasksGetTheirTurn holds random worlds below nine tenths of their load to the bound of claims: of tasks of one standing that all want a
// whole node, the k-th waits for patience and ⌈k/c⌉ times the longest run at most, where c nodes may be claimed at a time.
func TestLargeTasksGetTheirTurn(t *testing.T) {
	const worlds = 1000
	late := 0
	for seed := range uint64(worlds) {
		r := rand.New(rand.NewPCG(seed, 5))
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest, Without: []fairlead.Without{0, fairlead.WithoutMoves}[seed%2]})})
		if err != nil {
			t.Fatal(err)
		}
		nodes, size := 3+r.IntN(10), 8+r.Int64N(9)
		w := &crowded{core: core, ends: map[cluster.TaskID]cluster.Time{}, runs: map[cluster.TaskID]cluster.Time{}, large: map[cluster.TaskID]bool{}, longest: cluster.Time(60+r.IntN(240)) * cluster.Second}
		w.pending = append(w.pending, cluster.JobSubmitted{Name: "j"}, cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{size}}},
			cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1}}}, cluster.ShapeDefined{Shape: 2, Spec: cluster.Shape{Demand: cluster.Vector{2}}})
		for n := range nodes {
			w.pending = append(w.pending, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: string(rune('a' + n)), Capacity: cluster.Vector{size}}})
		}
		// So many come a second that they fill so much of the cluster in the mean: a small task asks for 1.5 and runs for half of the longest time.
		load := 0.7 + 0.15*r.Float64()
		gap := cluster.Time(1.5 * float64(w.longest) / 2 / (load * float64(size) * float64(nodes)))
		count, next := 1+r.IntN(3), cluster.Time(0)
		w.came = 2 * w.longest
		for end := w.came + 4*cluster.Hour; w.now < end && (w.now <= w.came || len(w.large) > 0); {
			if next <= w.now {
				w.submit(cluster.ShapeID(1+r.IntN(2)), 1+cluster.Time(r.Int64N(int64(w.longest))))
				next = w.now + 1 + cluster.Time(r.Int64N(int64(2*gap)))
			}
			if w.now == w.came {
				for range count {
					w.large[w.submit(0, 20*cluster.Second)] = true
				}
			}
			var over []cluster.TaskID
			for task, at := range w.ends {
				if at <= w.now {
					over = append(over, task)
				}
			}
			slices.Sort(over)
			for _, task := range over {
				delete(w.ends, task)
				w.pending = append(w.pending, cluster.TaskEnded{Task: task, Seq: core.View().Task(task).Seq})
				w.rows.Give(uint32(task))
			}
			w.step(t)
			then := min(next, core.Wake(w.now))
			for _, at := range w.ends {
				then = min(then, at)
			}
			if w.now < w.came {
				then = min(then, w.came)
			}
			w.now = max(then, w.now+1)
		}
		for k, wait := range w.waits {
			claims := max(nodes/50, 1)
			bound := fairlead.Patience + cluster.Time((k+claims)/claims)*w.longest
			if wait > bound {
				t.Errorf("seed %d, %d nodes: task %d of %d waited for %v, want %v at most", seed, nodes, k+1, count, wait, bound)
			}
			if wait > fairlead.Patience {
				late++
			}
		}
		if len(w.waits) != count {
			t.Errorf("seed %d: %d of %d large tasks have begun", seed, len(w.waits), count)
		}
	}
	if late < worlds/4 {
		t.Errorf("%d tasks had to claim a node: the worlds are too tame", late)
	}
}

// TestEqualsDoNotTakeTurns lets tasks of one class, twice as many as there is room for, evict each other for two hours: nobody who was evicted for another one comes
// back by evicting that one before it has lost as much slack as runs are to gain, or that one has gained as much: of the switching time the share
// that was not promised passes until then, or the one that was.
func TestEqualsDoNotTakeTurns(t *testing.T) {
	type pair struct{ evicted, served cluster.TaskID }
	evictions := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 6))
		class := cluster.Class{Name: "half", Availability: cluster.Whole * cluster.Share(40+r.IntN(30)) / 100, Budget: cluster.Whole / 2, Margin: 10 * cluster.Second, Restart: 2 * cluster.Second, KeepsWork: seed%2 == 0}
		promised := cluster.Time(class.Availability * 100 / cluster.Whole)
		gain := sched.SwitchTimeOf(&class) * min(100-promised, promised) / 100
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, []cluster.Class{class}), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest, Without: fairlead.WithoutBound})})
		if err != nil {
			t.Fatal(err)
		}
		slots := 1 + r.IntN(4)
		pending := []cluster.Event{cluster.JobSubmitted{Name: "j"}, cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}}}
		for n := range slots {
			pending = append(pending, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: string(rune('a' + n)), Capacity: cluster.Vector{1}}})
		}
		tasks, came := 2*slots, 0
		last := map[pair]cluster.Time{}
		for now := cluster.Time(0); now < 2*cluster.Hour; {
			if came < tasks {
				pending = append(pending, cluster.TaskSubmitted{Task: cluster.TaskID(came), Seq: cluster.Seq(came)})
				came++
			}
			for first := true; first || len(pending) > 0; first = false {
				out, _, err := core.Step(now, pending, nil)
				if err != nil {
					t.Fatal(err)
				}
				pending = pending[:0]
				for _, d := range out {
					if d.Kind == sched.Place {
						pending = append(pending, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
						continue
					}
					pending = append(pending, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
					evictions++
					last[pair{d.Task, d.Purpose.Task}] = now
					if before, turns := last[pair{d.Purpose.Task, d.Task}]; turns && now-before < gain {
						t.Fatalf("seed %d: %d is evicted for %d at %v, which was evicted for it at %v: want %v between these at least", seed, d.Task, d.Purpose.Task, now, before, gain)
					}
				}
			}
			now = min(max(core.Wake(now), now+1), now+cluster.Time(1+r.IntN(60))*cluster.Second)
		}
	}
	if evictions < 200 {
		t.Errorf("%d evictions: the worlds are too tame", evictions)
	}
}
