package flow

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// Cost is a price in the model's own currency. Models whose prices stay below
// 2^30 are solved the fastest.
type Cost = int64

// MaxCost is the most that a price may be, and its negative the least.
const MaxCost = 1 << 40

// unreached is more than any sum of prices counts as.
const unreached = 1 << 60

// Step is a part of a Curve: Capacity units at Cost each.
type Step = mcmf.Step

// Curve is what one unit more costs, then the next, and so on. Costs never fall
// along a curve, which no flow could follow.
type Curve []Step

// Aggregator numbers a set of nodes, as the model likes.
type Aggregator uint32

// Nowhere is no aggregator.
const Nowhere Aggregator = 1<<32 - 1

// Terms is what a model says of a task.
type Terms struct {
	// Key parts tasks of equal shape into task groups: those of equal key have equal
	// arcs. Tasks that are Alone are a task group each.
	Key   uint64
	Alone bool
	// Tier says who comes first where they wait: nobody of a lower one gets what
	// somebody of a higher one could have had instead. Tiers are solved one after the
	// other; prices trade within them.
	Tier int32
	// Wait is the price of having no place until the next round. Of a place that costs exactly
	// as much nobody knows whether the task gets it: a model that cares has no such prices.
	Wait Cost
	// May is what may become of a task that runs, and Stay the price of leaving it where
	// it is: who is evicted is the worse for it by Wait less Stay.
	May  May
	Stay Cost
	// Next is when Wait or Stay changes next; Never if they do not.
	Next cluster.Time
}

// May is what may become of a task that runs.
type May uint8

const (
	// MayStay says that it stays where it is, whatever comes.
	MayStay May = iota
	// MayStop says that it may be evicted for others that come.
	MayStop
	// MayMove says that it may be placed on another node at once, too, as far as a round
	// may move tasks (Options.Moves); where it may move none this is MayStop.
	MayMove
)

// Model is a policy: what it would cost to do what. All that a method returns is
// a function of the state; the engine asks again where rows changed, and when a
// price falls due. Vectors, safety, limits per node and eligibility are not the
// model's concern.
type Model interface {
	// Terms are those of a waiting or a running task.
	Terms(s *cluster.View, t cluster.TaskID) Terms
	// Out puts down the arcs that leave the task group of the task.
	Out(s *cluster.View, t cluster.TaskID, arcs *Arcs)
	// Into is the aggregator below which the node stands, and what tasks of the
	// shape cost there, one after the other. A curve may be shorter than the node
	// has room: its last price then goes on. The engine copies it.
	Into(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (Aggregator, Curve)
}

// Tree is a Model with aggregators below aggregators.
type Tree interface {
	// Above is the aggregator above another one, and what passing costs; or Nowhere.
	Above(s *cluster.View, a Aggregator) (Aggregator, Cost)
}

// Loaded is a Model where all tasks that come to a node add to one price, whatever
// they ask for.
type Loaded interface {
	// Load is what one task more on the node costs beside its own price, then the
	// next. Its last price goes on.
	Load(s *cluster.View, n cluster.NodeID) Curve
}

// Preferrer is a Model that prices preferences for nodes (cluster.Preference), which are nothing to any other.
type Preferrer interface {
	// Preference is what a node costs more that does not meet a preference of the largest weight. Others cost in
	// proportion to their weight, and all of them together at most MostUnmet times as much. It never changes.
	Preference() Cost
}

// Ranker is a Model whose prices say who is more urgent than whom, rather than what
// something is worth. A task may evict others if it is more urgent than each of them,
// however many there are; any other Model weighs what they cost together. So tasks that
// ask for much are not starved by small ones, and no price has to outweigh many.
type Ranker interface{ Ranks() }

// Learner is a Model that keeps something of what it was shown.
type Learner interface {
	// Learn is told what changed, as a sched.Policy is, before anything is asked, and
	// reports what of its answers may be true no more.
	Learn(s *cluster.View, all bool, nodes []cluster.NodeID) Stale
}

// Stale is what of a model's answers may be true no more, beside those about what changed.
type Stale struct {
	// Tasks are Terms and Out: all tasks that take part are asked about again.
	Tasks bool
	// Nodes are Into and Load: the prices of all nodes are asked for again, once by each
	// request that somebody waits with.
	Nodes bool
}

// Explainer is a Model that can name the parts of its prices.
type Explainer interface {
	// Explain are the parts of what the task costs on the node.
	Explain(s *cluster.View, t cluster.TaskID, n cluster.NodeID) []Term
}

// WaitExplainer is a Model that can name the parts of its price of waiting.
type WaitExplainer interface {
	// ExplainWait are the parts of what it costs that the task waits; where it runs, of
	// what it costs to evict it. They add up to Terms' Wait, for which it looks at the
	// state alone.
	ExplainWait(s *cluster.View, t cluster.TaskID) []Term
}

// Term is a named part of a price.
type Term = sched.Term

// Arcs takes up the arcs that leave a task group.
type Arcs struct {
	list []outArc
}

type outArc struct {
	node       cluster.NodeID // NoNode: to the aggregator
	aggregator Aggregator
	cost       Cost
}

// Node puts down an arc straight to a node.
func (a *Arcs) Node(n cluster.NodeID, cost Cost) {
	a.list = append(a.list, outArc{node: n, aggregator: Nowhere, cost: cost})
}

// Aggregator puts down an arc to an aggregator.
func (a *Arcs) Aggregator(g Aggregator, cost Cost) {
	a.list = append(a.list, outArc{node: cluster.NoNode, aggregator: g, cost: cost})
}

// Nodes is how many arcs lead straight to nodes.
func (a *Arcs) Nodes() (count int) {
	for _, out := range a.list {
		if out.node != cluster.NoNode {
			count++
		}
	}
	return count
}

// checkCost says what is wrong with a price.
func checkCost(c Cost) error {
	if c > MaxCost || c < -MaxCost {
		return fmt.Errorf("a cost of %d, want at most %d and at least the negative of that", c, int64(MaxCost))
	}
	return nil
}

// check says what is wrong with a curve.
func (c Curve) check() error {
	for i, step := range c {
		if step.Capacity < 0 {
			return fmt.Errorf("step %d of a curve has the capacity %d, want at least 0", i, step.Capacity)
		}
		if err := checkCost(step.Cost); err != nil {
			return fmt.Errorf("step %d of a curve has %w", i, err)
		}
		if i > 0 && step.Cost < c[i-1].Cost {
			return fmt.Errorf("the cost along a curve falls from %d to %d at step %d, so that it is not convex", c[i-1].Cost, step.Cost, i)
		}
	}
	return nil
}

// first is what the first unit costs.
func (c Curve) first() Cost {
	for _, step := range c {
		if step.Capacity > 0 {
			return step.Cost
		}
	}
	return 0
}

// upTo appends the part of the curve for so many units to a list. Where it is
// too short its last price goes on.
func (c Curve) upTo(units int64, list []Step) []Step {
	last := Cost(0)
	for _, step := range c {
		last = step.Cost
		if take := min(step.Capacity, units); take > 0 {
			list = append(list, Step{Capacity: take, Cost: step.Cost})
			units -= take
		}
	}
	if units > 0 {
		if n := len(list); n > 0 && list[n-1].Cost == last {
			list[n-1].Capacity += units
		} else {
			list = append(list, Step{Capacity: units, Cost: last})
		}
	}
	return list
}
