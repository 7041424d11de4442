package queue

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// checkedSparrow recomputes after every round what sparrow keeps.
type checkedSparrow struct {
	*sparrow
	t      *testing.T
	placed int
}

func (p *checkedSparrow) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	p.sparrow.Plan(t, c, budget, out)
	p.placed += out.Bundles()
	if err := p.check(t.View(), out); err != nil {
		p.t.Fatalf("%v, in\n%s", err, t.View().Picture())
	}
}

func (p *checkedSparrow) check(s *cluster.View, out *sched.Plan) error {
	queued := map[*batch]int{}
	for i := range p.workers {
		w := &p.workers[i]
		n := cluster.NodeID(i)
		queue := w.queue[w.head:]
		for _, b := range queue {
			queued[b]++
		}
		switch {
		case w.dirty:
			return fmt.Errorf("node row %d is still to be looked at", i)
		case len(queue) == 0:
		case !s.NodeLive(n):
			return fmt.Errorf("node row %d is gone, and has a queue", i)
		case queue[0].Len() == 0:
			return fmt.Errorf("node row %d has a probe first whose job has no task left", i)
		case s.RoomNow(queue[0].Shape, n):
			return fmt.Errorf("node row %d has room for its first probe", i)
		}
	}
	waiting := map[*batch]int{}
	for i := range s.TaskRows() {
		task := s.Task(cluster.TaskID(i))
		if task.Phase != cluster.Waiting || s.Job(task.Job).Foreign || !ours(s.Job(task.Job)) {
			continue
		}
		b := p.waiting.Of(cluster.TaskID(i))
		if b == nil {
			return fmt.Errorf("%s waits in no batch", s.TaskName(cluster.TaskID(i)))
		}
		waiting[b]++
		for n := range s.NodeRows() {
			if n := cluster.NodeID(n); s.RoomNow(task.Shape, n) && !s.Admits(cluster.TaskID(i), n).Refused() && out.Wake > s.Now()+patience {
				return fmt.Errorf("%s fits on node row %d, and nothing will happen before %v", s.TaskName(cluster.TaskID(i)), n, out.Wake)
			}
		}
	}
	for _, b := range p.waiting.Groups() {
		if b.Own.queued != queued[b] || b.Len() != waiting[b] || b.Own.fresh != 0 {
			return fmt.Errorf("batch of job %d counts %d probes, %d waiting and %d fresh; there are %d and %d", b.Job, b.Own.queued, b.Len(), b.Own.fresh, queued[b], waiting[b])
		}
	}
	return nil
}

// TestSparrowKeepsItsBooks checks queues and counts after every round of
// random histories.
func TestSparrowKeepsItsBooks(t *testing.T) {
	placed := 0
	for seed := range histories(t) {
		p := &checkedSparrow{sparrow: newSparrow(Options{Seed: seed}), t: t}
		w := newWorld(t, p, seed)
		for range 60 {
			w.step()
		}
		placed += p.placed
	}
	if placed < 300 {
		t.Fatalf("only %d placed", placed)
	}
}

// TestCalm lets random histories come to rest: with faults off, nothing waits
// that fits somewhere.
func TestCalm(t *testing.T) {
	for _, p := range Policies() {
		t.Run(p.Name, func(t *testing.T) {
			for seed := range histories(t) / 3 {
				policy, err := New(p.Name, Options{Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				w := newWorld(t, policy, seed)
				for range 60 {
					w.step()
				}
				w.calm()
				for i := range w.s.TaskRows() {
					task := w.s.Task(cluster.TaskID(i))
					for n := range w.s.NodeRows() {
						if n := cluster.NodeID(n); task.Phase == cluster.Waiting && w.s.RoomNow(task.Shape, n) && !w.s.Admits(cluster.TaskID(i), n).Refused() {
							t.Fatalf("seed %d: %s waits, and fits on node row %d, in\n%s", seed, w.s.TaskName(cluster.TaskID(i)), n, w.s.Picture())
						}
					}
				}
			}
		})
	}
}

// calm answers every decision as it should be, and sleeps only as long as the
// core asks.
func (w *world) calm() {
	var wake cluster.Time
	for range 300 {
		out := w.out
		w.out = nil
		for _, d := range out {
			w.observeQuietly(w.outcome(d, 9))
		}
		var err error
		w.out, wake, err = w.core.Step(w.now, nil, w.out)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(w.out) == 0 && wake == cluster.Never {
			return
		}
		if wake != cluster.Never {
			w.now = max(w.now, wake)
		}
	}
	w.t.Fatalf("still busy, in\n%s", w.s.Picture())
}
