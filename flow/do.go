package flow

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// try tries a bundle, but for one move: evictions, then placements. It says which move is
// refused, if one is.
func (w *network) try(t *sched.Trial, bundle []move, but int) (at int, r cluster.Refusal) {
	s := t.View()
	w.tried = w.tried[:0]
	for _, kind := range [2]sched.Kind{sched.Evict, sched.Place} {
		for i, m := range bundle {
			a := sched.Action{Kind: kind, Task: m.task, Attempt: s.Task(m.task).Attempt}
			n := m.from
			if kind == sched.Place {
				a.Node, n = m.to, m.to
			}
			if i == but || n == cluster.NoNode {
				continue
			}
			if r := t.Try(a); r.Refused() {
				return i, r
			}
			w.tried = append(w.tried, a)
		}
	}
	return -1, cluster.Refusal{}
}

// do does a bundle. What is refused is left out of the network until its node changes,
// unless it is refused as the flow is not whole: who was to leave first is still there.
func (w *network) do(r *round, bundle []move, whole bool) bool {
	s, mark := r.trial.View(), r.trial.Mark()
	at, refusal := w.try(r.trial, bundle, -1)
	switch {
	case !refusal.Refused():
	case !whole:
		r.trial.Rollback(mark)
		return false
	default:
		r.trial.Rollback(mark)
		r.undone = true
		for i, m := range bundle {
			// One that has to stay, as constraints count it: nobody may come for it.
			if i == at && m.to != cluster.NoNode || bundle[at].to == cluster.NoNode && m.to != cluster.NoNode {
				w.avoid(s, m.task, m.to, refusal)
			}
		}
		return false
	}
	for _, a := range w.tried {
		r.out.Add(a)
	}
	r.out.Close()
	for _, m := range bundle {
		if m.from != cluster.NoNode && m.to == cluster.NoNode {
			r.evicted = min(r.evicted+evicting(&w.members.of(m.task).terms), unreached)
		}
		w.members.update(s, m.task)
		for _, n := range [2]cluster.NodeID{m.from, m.to} {
			if n != cluster.NoNode {
				w.note(n)
			}
		}
	}
	return true
}

// avoid closes the way by which a task came to a node that refuses it, until the
// node changes. A task that may not be beside others of its job, although its shape
// does not say so (Shape.PerNode), gets a request of its own job.
func (w *network) avoid(s *cluster.View, t cluster.TaskID, to cluster.NodeID, r cluster.Refusal) {
	if r.Code == cluster.NotApart && s.Shape(s.Task(t).Shape).PerNode == 0 && !w.members.of(t).apart {
		w.members.split(s, t)
		return
	}
	if to == cluster.NoNode {
		return
	}
	c := w.group(w.members.group(t))
	for _, o := range c.outs {
		if o.group < 0 && o.node == to {
			w.graph.SetArc(o.arc, 0, 0, o.cost)
		}
	}
	q := w.request(c.request)
	if int(to) < len(q.offers) && q.offers[to].group >= 0 {
		w.ranking.withdraw(q, to)
	}
}
