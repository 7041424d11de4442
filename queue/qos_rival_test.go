package queue

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// plainQoS is qos as it is defined: everything is sorted, and every node looked at.
type plainQoS struct {
	ties book.Ties
	seed uint64

	keys   []urgency // by task, frozen for the pass
	placed []bool    // by task, in this pass
	line   []cluster.TaskID
}

func (q *plainQoS) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

func (q *plainQoS) Plan(t *sched.Trial, _ *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	rank := book.NewOrder(s.NodeRows(), q.ties, q.seed).Rank
	q.freeze(s)
	for _, task := range q.line {
		if n, ok := q.best(s, task, rank); ok {
			a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
			mustTry(t, a)
			out.Add(a)
			out.Close()
			q.placed[task] = true
			continue
		}
		q.preempt(t, task, rank, out)
	}
}

// freeze computes every key, and the line of who waits.
func (q *plainQoS) freeze(s *cluster.View) {
	q.keys = make([]urgency, s.TaskRows())
	q.placed = make([]bool, s.TaskRows())
	q.line = nil
	for i := range s.TaskRows() {
		t := cluster.TaskID(i)
		task := s.Task(t)
		if task.Phase == cluster.Absent {
			continue
		}
		q.keys[t] = urgencyOf(s, task)
		if task.Phase == cluster.Waiting && !s.Job(task.Job).Foreign && ours(s.Job(task.Job)) {
			q.line = append(q.line, t)
		}
	}
	slices.SortFunc(q.line, func(a, b cluster.TaskID) int {
		return cmp.Or(q.keys[a].compare(q.keys[b]), cmp.Compare(s.Task(a).Seq, s.Task(b).Seq))
	})
}

// best is the node with the highest score of those with room once all that leaves has left.
func (q *plainQoS) best(s *cluster.View, task cluster.TaskID, rank []int32) (best cluster.NodeID, found bool) {
	most := int64(0)
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if !s.NodeLive(n) || s.Admits(task, n).Refused() {
			continue
		}
		score := kubeScoreLess(s, s.Shape(s.Task(task).Shape), n, s.LeavingDemand(n))
		if !found || score > most || score == most && rank[n] < rank[best] {
			best, most, found = n, score, true
		}
	}
	return best, found
}

// bid is what preempting on a node costs.
type plainBid struct {
	node    cluster.NodeID
	victims []cluster.TaskID
	slacks  []cluster.Time // negative ones by importance, then all
	score   int64
}

func (q *plainQoS) preempt(t *sched.Trial, task cluster.TaskID, rank []int32, out *sched.Plan) {
	s := t.View()
	var bids []plainBid
	for i := range s.NodeRows() {
		if b, ok := q.bid(s, task, cluster.NodeID(i)); ok {
			bids = append(bids, b)
		}
	}
	slices.SortFunc(bids, func(a, b plainBid) int {
		return cmp.Or(slices.Compare(b.slacks, a.slacks), cmp.Compare(b.score, a.score), cmp.Compare(rank[a.node], rank[b.node]))
	})
	for _, b := range bids {
		if replace(t, b.victims, task, b.node, out) {
			q.placed[task] = true
			return
		}
	}
}

// bid applies the rule to one node.
func (q *plainQoS) bid(s *cluster.View, task cluster.TaskID, n cluster.NodeID) (plainBid, bool) {
	row := s.Task(task)
	shape := s.Shape(row.Shape)
	b := plainBid{node: n}
	if !s.NodeLive(n) || !s.Eligible(shape.Eligible, n) {
		return b, false
	}
	var may []cluster.TaskID
	for i := range s.TaskRows() {
		t := cluster.TaskID(i)
		if s.Task(t).Node == n && q.may(s, task, t) {
			may = append(may, t)
		}
	}
	slices.SortFunc(may, func(a, b cluster.TaskID) int {
		return cmp.Or(q.keys[b].compare(q.keys[a]), cmp.Compare(s.Task(b).Seq, s.Task(a).Seq))
	})
	var enough bool
	if b.victims, enough = fewest(s, task, n, may); !enough {
		return b, false
	}
	q.price(s, &b, shape)
	return b, true
}

// may reports whether the waiting task may evict the other.
func (q *plainQoS) may(s *cluster.View, task, other cluster.TaskID) bool {
	o := s.Task(other)
	if o.Phase != cluster.Running && o.Phase != cluster.Starting {
		return false
	}
	return !q.placed[other] && !s.Releases(other).Refused() && !s.Job(o.Job).Foreign && q.keys[task].before(q.keys[other]) &&
		s.Classes()[o.Class].MayLeave(o.Account.At(s.Now(), o.Phase))
}

// price fills in what the victims cost.
func (q *plainQoS) price(s *cluster.View, b *plainBid, shape *cluster.Shape) {
	var levels []int32
	for _, c := range s.Classes() {
		levels = append(levels, c.Importance)
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	b.slacks = make([]cluster.Time, len(levels)+1)
	less := slices.Clone(s.LeavingDemand(b.node))
	for _, t := range b.victims {
		slack := q.keys[t].slack
		if slack < 0 {
			at := slices.Index(levels, s.Classes()[s.Task(t).Class].Importance)
			b.slacks[at] = saturated(b.slacks[at], slack)
		}
		b.slacks[len(levels)] = saturated(b.slacks[len(levels)], slack)
		for k, d := range s.Demand(t) {
			less[k] += d
		}
	}
	b.score = kubeScoreLess(s, shape, b.node, less)
}
