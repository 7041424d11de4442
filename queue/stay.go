package queue

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/lifetime"
)

// This file is the policies nilas and lava, which place tasks beside those that leave at about the same time, so that nodes
// come to be empty as wholes (Ling et al., MLSys 2025, arXiv 2412.09840). Tasks come first, first served. Of the nodes that fit, the
// best is the one
//
//	nilas  whose last task leaves the least too early for the comer: the time by which the node would be kept in use
//	       beyond what is thought of it now, in bins; and of equal ones the one that best-fit takes;
//	lava   of which the comer is a good part by its class of lifetime (phase.go), and then as for nilas.
//
// What stands in the index depends on bins alone, of the node and of the comer, and lifetime.Nodes says which nodes came into another one. There
// is an index for each shape and bin, of which few are in use.
//
// Ours: the paper says what a placement costs in a fixed list of buckets of time; here they are four to each doubling.

// staying is a greedy whose scores depend on how long the task will run.
type staying struct {
	*greedy
	known *stays
}

// newStaying makes nilas, or lava.
func newStaying(phased bool) func(Options) sched.Policy {
	return func(o Options) sched.Policy {
		by, ok := lifetime.Named(o.Lifetimes)
		if !ok {
			panic("queue: there is no predictor of lifetimes called " + o.Lifetimes)
		}
		known := &stays{nodes: lifetime.Nodes{By: by}}
		known.fit = bestFit(&known.offers)
		if phased {
			known.phases = &phases{nodes: &known.nodes}
			known.nodes.Watch = known.phases.look
		}
		return &staying{Rules{}.greedy(o, known), known}
	}
}

// Plan is one pass over the queue. However small the budget, it tries a task.
func (p *staying) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	p.learn(t.View(), c)
	p.plan(p, t, c, budget, out)
}

// serve places tasks of the group, each by an index of its own.
func (p *staying) serve(t *sched.Trial, group *book.Group[none], budget int64, out *sched.Plan) {
	p.serveGroup(p, t, group, budget, out)
}

// placeOne places the first task of the group on the best node for one that runs so long.
func (p *staying) placeOne(t *sched.Trial, group *book.Group[none], out *sched.Plan) (placed, beside bool) {
	s, task := t.View(), p.waiting.First(group)
	stay := lifetime.Bin(p.known.nodes.By.Remaining(s, task))
	x := p.table.Sync(s, book.IndexID{Shape: group.Shape, Stay: int32(stay)}, func(n cluster.NodeID) int64 {
		if !s.RoomNow(group.Shape, n) {
			return book.None
		}
		return p.known.score(s, s.Shape(group.Shape), stay, n)
	})
	n, ok, beside := p.table.Find(s, x, task)
	if ok {
		place(t, sched.Action{Task: task, Node: n}, out)
		p.known.nodes.Look(s, n)
		p.table.Update(x, n)
	}
	p.table.Unhide(x)
	return ok, beside
}

// stays is what such a policy measures by.
type stays struct {
	offers offers
	fit    Score // best-fit's
	nodes  lifetime.Nodes
	phases *phases // of lava; nil for nilas
}

// learn takes in what changed, and notes nodes of which something else is thought although they have not changed.
func (k *stays) learn(s *cluster.View, c *sched.Changed, note func(cluster.NodeID)) bool {
	anew := k.offers.learn(s, c, note)
	if k.phases != nil {
		k.phases.learn(s, c)
	}
	k.nodes.Learn(s, c, note)
	return anew
}

// scoreBits is how many digits of a score are best-fit's.
const scoreBits = 16

// score is the node for a task of the shape that stays for so many bins.
func (k *stays) score(s *cluster.View, shape *cluster.Shape, stay int, n cluster.NodeID) int64 {
	cost := k.nodes.Extends(stay, n)
	if k.phases != nil {
		cost += lifetime.Bins * k.phases.node[n].rank(stay)
	}
	fit := k.fit(s, shape, n) >> (cluster.FractionBits - scoreBits)
	return fit - int64(cost)<<(scoreBits+1)
}
