package ecsched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestGangs lets jobs that want to stand together come, grow and end in a small
// and crowded world whose nodes come and go. A gang never stands on two nodes,
// each solve is the best there is (as in TestOptimum), and when all that ran has
// ended, whoever still waits fits on no empty node, and is told so.
func TestGangs(t *testing.T) {
	for _, solver := range []string{"", Literal} {
		placed, stuck, lost := 0, 0, 0
		for seed := range uint64(300) {
			w := newGangWorld(t, seed, solver)
			for range 40 {
				w.step()
			}
			w.drain()
			placed, stuck, lost = placed+w.placed, stuck+w.stuck, lost+w.lost
		}
		if placed < 2000 || stuck < 50 || lost < 200 {
			t.Errorf("%q: %d gangs of two and more were placed, %d lost to others, %d tasks fit nowhere: too few to tell", solver, placed, lost, stuck)
		}
	}
}

type gangWorld struct {
	t      *testing.T
	seed   uint64
	chance *rand.Rand
	core   *sched.Core
	s      *cluster.State
	events []cluster.Event
	rows   cluster.Rows
	seq    cluster.Seq
	shapes int
	nodes  int
	placed int // gangs
	lost   int // gangs, to other requests
	stuck  int // tasks
}

func newGangWorld(t *testing.T, seed uint64, solver string) *gangWorld {
	t.Helper()
	w := &gangWorld{t: t, seed: seed, chance: rand.New(rand.NewPCG(seed, 5))}
	p := newPolicy(t, Options{Score: Score(seed % 2), Solver: solver, Window: 6, Solves: 1 + int(seed%3)}).(*policy)
	inner := p.solve
	p.solve = func(r *round) {
		inner(r)
		if got, best := r.value(solver == Literal), r.best(solver == Literal); got != best {
			t.Fatalf("seed %d: the flow has %+v, the best is %+v, of %+v", seed, got, best, r.requests)
		}
		for _, q := range r.requests {
			switch {
			case q.last-q.first == 1 || !q.fits:
			case q.node == cluster.NoNode:
				w.lost++
			default:
				w.placed++
			}
		}
	}
	w.s = cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil)
	core, err := sched.New(w.s, sched.Lane{Name: "ecsched", Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	w.core = core
	w.emit(cluster.SetDefined{Set: 1})
	for range 1 + w.chance.IntN(5) {
		w.addNode()
	}
	for range 8 {
		shape := cluster.Shape{Demand: cluster.Vector{1 + w.chance.Int64N(4), w.chance.Int64N(5)}}
		if w.chance.IntN(5) == 0 {
			shape.Eligible = 1
		}
		w.emit(cluster.ShapeDefined{Shape: cluster.ShapeID(w.shapes), Spec: shape})
		w.shapes++
	}
	return w
}

func (w *gangWorld) emit(e cluster.Event) { w.events = append(w.events, e) }

func (w *gangWorld) addNode() {
	n := cluster.NodeID(w.nodes)
	w.nodes++
	w.emit(cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: cluster.Vector{4 + w.chance.Int64N(8), 4 + w.chance.Int64N(8)}}})
	w.emit(cluster.EligibilityChanged{Set: 1, Node: n, Eligible: w.chance.IntN(2) == 0})
}

// step lets something happen and the core decide.
func (w *gangWorld) step() {
	for range w.chance.IntN(4) {
		job := cluster.JobID(max(w.s.JobRows()-max(w.chance.IntN(8)-5, 0), 0))
		if int(job) == w.s.JobRows() {
			w.emit(cluster.JobSubmitted{Job: job, Name: fmt.Sprint("j", job), Together: w.chance.IntN(3) > 0})
		}
		for range 1 + w.chance.IntN(3) {
			w.seq++
			w.emit(cluster.TaskSubmitted{Task: cluster.TaskID(w.rows.Take()), Seq: w.seq, Job: job, Shape: cluster.ShapeID(w.chance.IntN(w.shapes))})
		}
		w.decide()
	}
	for i := range w.s.TaskRows() {
		if task := w.s.Task(cluster.TaskID(i)); task.Phase == cluster.Running && w.chance.IntN(4) == 0 {
			w.end(cluster.TaskID(i))
		}
	}
	if n := cluster.NodeID(w.chance.IntN(4 * w.nodes)); int(n) < w.s.NodeRows() && w.s.NodeLive(n) && w.s.Totals().Nodes > 1 {
		w.emit(cluster.NodeLost{Node: n})
		w.addNode()
	}
	w.decide()
}

func (w *gangWorld) end(t cluster.TaskID) {
	w.emit(cluster.TaskEnded{Task: t, Seq: w.s.Task(t).Seq})
	w.rows.Give(uint32(t))
}

// decide tells what happened, and lets what is placed begin. It goes on for as
// long as the core wants to. It returns how many tasks were placed.
func (w *gangWorld) decide() (placed int) {
	w.t.Helper()
	for range 1000 {
		out, wake, err := w.core.Step(w.s.Now(), w.events, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		w.events = w.events[:0]
		for _, d := range out {
			w.emit(cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		}
		placed += len(out)
		w.checkTogether()
		if wake == cluster.Never {
			if len(out) > 0 {
				continue
			}
			return placed
		}
		w.s.Advance(wake)
	}
	w.t.Fatalf("seed %d: the core wants round after round", w.seed)
	return placed
}

// checkTogether wants each gang on one node.
func (w *gangWorld) checkTogether() {
	w.t.Helper()
	home := map[cluster.JobID]cluster.NodeID{}
	for i := range w.s.TaskRows() {
		task := w.s.Task(cluster.TaskID(i))
		if task.Phase == cluster.Absent || !task.Placed() || !w.s.Job(task.Job).Together {
			continue
		}
		if n, known := home[task.Job]; known && n != task.Node {
			w.t.Fatalf("seed %d: the gang of %s stands on node rows %d and %d:\n%s", w.seed, w.s.TaskName(cluster.TaskID(i)), n, task.Node, w.s.Picture())
		}
		home[task.Job] = task.Node
	}
}

// drain ends whatever runs, again and again, until nothing more is placed.
func (w *gangWorld) drain() {
	w.t.Helper()
	for ran := true; ran; {
		ran = w.decide() > 0
		for i := range w.s.TaskRows() {
			if w.s.Task(cluster.TaskID(i)).Phase == cluster.Running {
				w.end(cluster.TaskID(i))
				ran = true
			}
		}
	}
	for i := range w.s.TaskRows() {
		t := cluster.TaskID(i)
		if w.s.Task(t).Phase != cluster.Waiting {
			continue
		}
		w.stuck++
		why := w.core.Why(t)
		if fits := w.fitsEmpty(w.s.Task(t)); fits || !why.Unplaceable() {
			w.t.Fatalf("seed %d: %s waits, although it fits: %v; the policy says %s\n%s", w.seed, w.s.TaskName(t), fits, why.Text(w.s.Kinds()), w.s.Picture())
		}
	}
}

// fitsEmpty reports whether some node would hold the task, or all tasks of its
// gang.
func (w *gangWorld) fitsEmpty(task *cluster.Task) bool {
	gang := []cluster.ShapeID{task.Shape}
	if w.s.Job(task.Job).Together {
		gang = gang[:0]
		for i := range w.s.TaskRows() {
			if other := w.s.Task(cluster.TaskID(i)); other.Phase == cluster.Waiting && other.Job == task.Job {
				gang = append(gang, other.Shape)
			}
		}
	}
	return slices.ContainsFunc(w.liveNodes(), func(n cluster.NodeID) bool {
		left := slices.Clone(w.s.Limit(n))
		for _, id := range gang {
			shape := w.s.Shape(id)
			if !w.s.Eligible(shape.Eligible, n) {
				return false
			}
			for k, q := range shape.Demand {
				left[k] -= q
			}
		}
		return !slices.ContainsFunc(left, func(q int64) bool { return q < 0 })
	})
}

func (w *gangWorld) liveNodes() (list []cluster.NodeID) {
	for i := range w.s.NodeRows() {
		if w.s.NodeLive(cluster.NodeID(i)) {
			list = append(list, cluster.NodeID(i))
		}
	}
	return list
}
