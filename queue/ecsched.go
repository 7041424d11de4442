package queue

import (
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// The baselines that ECSched was compared with (see package flow/ecsched), by
// the scores of that paper's code, which are not those of the schedulers that
// they are named after. Tasks are placed one after the other in the order of the
// queue, of which the first 100 are seen; those that fit nowhere are passed over.
//
// In the paper each of them places one task a heartbeat, where ECSched places a
// hundred, and most of what it gains comes from that. The throttled ones do as
// published; the others may place all that they see, as ECSched may.
//
// Ours: a task that fits nowhere goes to the end of the queue, as it would hold
// up those behind the window for ever. ECSched.Keep is the published order.

// ECSched is what a run may choose about the baselines of ECSched.
type ECSched struct {
	Window     int // how many waiting tasks are seen in a round; 0 is 100
	Placements int // at most, in a round; 0 is as many as are seen. Those named throttled place one
	// Keep leaves tasks that fit nowhere at the front of the queue, where enough
	// of them hold up all others.
	Keep bool
}

// windowed is a greedy that sees so many tasks of the queue.
type windowed struct {
	*greedy
	ECSched
	queue book.Window
	back  []cluster.TaskID // scratch: of the window, to be put back
}

// ofECSched makes a baseline of a score.
func ofECSched(score Score, throttled bool) func(Options) sched.Policy {
	return func(o Options) sched.Policy {
		w := &windowed{greedy: Rules{Score: score}.greedy(o, nil), ECSched: o.ECSched}
		if w.Window <= 0 {
			w.Window = 100
		}
		if w.Placements <= 0 {
			w.Placements = w.Window
		}
		if throttled {
			w.Placements = 1
		}
		return w
	}
}

// Plan is one pass over the window. However small the budget, it tries a task.
func (w *windowed) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	if c.All {
		w.table.Reset()
	}
	w.table.Learn(s, c)
	w.queue.Learn(s, c)
	placed := 0
	w.back = w.back[:0]
	for seen := 0; seen < w.Window && placed < w.Placements && (seen == 0 || !w.spent(budget)); seen++ {
		task, ok := w.queue.Take(s)
		if !ok {
			break
		}
		x := w.index(s, s.Task(task).Shape)
		if ok, _ := w.put(t, x, task, out); ok {
			placed++
		} else {
			w.back = append(w.back, task)
		}
		w.table.Unhide(x)
	}
	for _, task := range w.back {
		if w.Keep {
			w.queue.Return(s, task)
		} else {
			w.queue.Last(s, task)
		}
	}
	if w.queue.Len() > 0 && (placed > 0 || !w.Keep && !w.queue.Settled()) {
		out.Wake = s.Now() + cluster.Microsecond // the next heartbeat, not this one again
	}
	out.Ticks, w.table.Ticks = w.table.Ticks, 0
	w.company.Plan(t, c, budget, out)
}

// Of nodes that are equally good the first is taken, and sums of fractions that
// are equal need not be so in floats: which of two nodes wins depends on how the
// authors' code adds, and their figures on that. So these two scores are sums of
// floats in that order, each step rounded by itself, as no machine may do
// otherwise. They are not negative, and such floats compare as their bits do.

// ecschedKubeScore prefers the node of which the task takes little, and as much
// of each kind: with f = demand/free, the sum of 1−f over kinds and of 2(1−|f−g|)
// over pairs of kinds.
func ecschedKubeScore(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	limit, used := s.Limit(n), s.Used(n)
	sum := 0.0
	for k, need := range shape.Demand {
		f := share(need, limit[k]-used[k])
		sum = float64(sum + float64(1-f))
		for other := k + 1; other < len(limit); other++ {
			g := share(shape.Demand[other], limit[other]-used[other])
			sum = float64(sum + float64(2*float64(1-math.Abs(float64(f-g)))))
		}
	}
	return int64(math.Float64bits(sum))
}

// ecschedSwarmScore prefers the fullest node: the sum over kinds of
// (used+demand)/limit.
func ecschedSwarmScore(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
	limit, used := s.Limit(n), s.Used(n)
	sum := 0.0
	for k, need := range shape.Demand {
		sum = float64(sum + share(used[k]+need, limit[k]))
	}
	return int64(math.Float64bits(sum))
}

// share is part/whole; 0 where there is nothing.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(float64(part) / float64(whole))
}
