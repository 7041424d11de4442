// Package slack is the policy qos-flow: what was promised to a task decides what it is
// worth to serve it, as in QoS-driven scheduling (J Internet Serv Appl 2020), but as
// prices of a flow (specification of the unified policy, §3.1 and §3.2).
//
// The slack of a task is how much longer it may be without running before it is
// critical (cluster.Class.Slack). It falls while the task waits and rises while it
// runs. The paper serves the smallest keys: critical tasks first, by importance and
// then by slack; then all others by slack alone. Here the order of the keys is a price
// of waiting that rises in steps, one range of prices for each kind of key:
//
//	no promise < not critical, by slack < critical of the least importance, by slack < … < of the most
//
// What it costs to evict a task is the price that it would have if its slack were
// smaller by the switching cost: what it takes to begin anew, ō/σ, and a gain on top.
// So a task that became critical, and was let in, is not evicted by its equals, nor by
// critical ones of less importance, before it has gained that slack; and of two that
// are worth the same none is ever evicted for the other. With a switching cost of 0, and
// requests of one size, the policy is the paper's order.
//
// Of those who are as urgent the larger is served first, by a part of the price that is
// less than a step of slack: it has fewer places to go to, and gold that is small and came
// first, which nobody evicts, would keep it out for good.
//
// Where one task asks for more than another, pairs decide and not sums (flow.Ranker):
// who evicts several is more urgent than each of them. Otherwise large tasks would
// starve beside small ones, or small beside large. So no price has to be a thousand
// times another one, and the order between classes is strict.
//
// What differs from the paper, beside the switching cost: rounds come when a price
// changes and not every so many seconds; all that wait are served at once.
package slack

import (
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/sched/book"
)

// Options are what a run may choose.
type Options struct {
	// Gain is the slack that a task that runs has to gain, beyond what beginning anew
	// costs it, before its equal evicts it.
	Gain cluster.Time
	// Period asks for a gain on top that is in proportion to the share of its time that
	// the task may wait: what it gains in a period in which it runs the share that it was
	// promised without a break. So tasks of all classes begin anew once a period, and
	// spend the same share of their time on it.
	Period cluster.Time
}

// Standard are the options that the measurements in docs/bench/qos-flow.md favour.
func Standard() Options { return Options{Period: 400 * cluster.Second} }

// Model prices tasks by slack and importance, and nodes as cpu-mem does.
type Model struct {
	options Options
	place   cpumem.Model
	curve   flow.Curve // scratch of Into
	edges   []cluster.Time
	ranked  []cluster.Class // those that ranks are of
	ranks   book.ClassRanks // of those that promise something
}

// New is the policy with these options.
func New(o Options) *Model { return &Model{options: o, edges: edges()} }

// everywhere is the one aggregator.
const everywhere flow.Aggregator = 0

const (
	// step is the difference of two prices of waiting, more than size, the dearest node and all
	// preferences together: who is more urgent is served, wherever there is a place.
	step flow.Cost = 1 << 16
	// dearest is the most that a node costs above the cheapest, and placeBits is by how
	// much a price of cpu-mem is shortened for that. A demand twice as large is worth more.
	dearest   flow.Cost = 1 << 8
	placeBits           = 13
	// levels is how many priorities are told apart where nothing is promised.
	levels = 16
	// promised is the least price where something is.
	promised = step * (1 + levels + 1)
	// fine is the width of the first steps, and even how many there are of that width;
	// each of the others ends by a quarter later than it begins, up to the longest.
	fine    = 5 * cluster.Second
	even    = 12
	longest = 2 * cluster.Hour
)

// edges are slacks, or the negatives of slacks, at which the price changes.
func edges() []cluster.Time {
	var list []cluster.Time
	for e := fine; e < longest; {
		if list = append(list, e); len(list) < even {
			e += fine
		} else {
			e += e / 4
		}
	}
	return append(list, longest)
}

// Ranks says that pairs decide who is evicted for whom.
func (*Model) Ranks() {}

// Terms are the prices that slack and importance make.
func (m *Model) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	m.rank(s)
	task := s.Task(t)
	class := &s.Classes()[task.Class]
	account := task.Account.At(s.Now(), task.Phase)
	runs := task.Phase == cluster.Running
	if !class.Promises() {
		return flow.Terms{Tier: -1, Wait: unpromised(task), May: flow.MayStop, Next: cluster.Never}
	}
	left, size := class.Slack(account), sizeOf(s.Demand(t))
	if !runs {
		at := m.at(left)
		return flow.Terms{Tier: m.tier(task.Class, left), Wait: m.price(task.Class, left) + size, Next: later(s.Now(), at.falls(left))}
	}
	held := left - m.switching(class)
	terms := flow.Terms{Tier: m.tier(task.Class, held), Wait: m.price(task.Class, held) + size, May: flow.MayStop, Next: cluster.Never}
	if next := m.at(held).above; next != cluster.Never {
		terms.Next = later(s.Now(), reaches(class, account, next-held))
	}
	if !class.MayLeave(account) {
		terms.Wait = m.highest()
		terms.Next = min(terms.Next, later(s.Now(), leavable(class, account)))
	}
	return terms
}

// unpromised is what it is worth to serve a task that was promised nothing: the more the
// higher its priority, and less than any other. One that runs is evicted for none of them.
func unpromised(t *cluster.Task) flow.Cost {
	if t.Phase == cluster.Running {
		return promised - step
	}
	return step * (1 + flow.Cost(min(max(t.Priority, 0), levels-1)))
}

// switching is what it costs a task of the class to leave and come back, in slack.
func (m *Model) switching(c *cluster.Class) cluster.Time {
	gain := m.options.Gain + share(m.options.Period, cluster.Whole-c.Availability, cluster.Whole)
	return gain + share(c.Restart, cluster.Whole, c.Availability)
}

// share is a part of a time: so many shares by so many; at most longest.
func share(t cluster.Time, by, of cluster.Share) cluster.Time {
	hi, lo := bits.Mul64(uint64(t), uint64(by))
	if hi >= uint64(of) {
		return longest
	}
	part, _ := bits.Div64(hi, lo, uint64(of))
	return min(cluster.Time(min(part, uint64(longest))), longest)
}

// rank ranks the classes that promise something.
func (m *Model) rank(s *cluster.View) {
	if classes := s.Classes(); !slices.Equal(m.ranked, classes) {
		m.ranked = append(m.ranked[:0], classes...)
		m.ranks = book.RankClasses(s, (*cluster.Class).Promises)
	}
}

// matters is the rank of a class that promises something, the more the higher; 0 is the least important.
func (m *Model) matters(c cluster.ClassID) int { return m.ranks.Count - 1 - int(m.ranks.Of[c]) }

// tier says whose turn it is: the critical before the others, the important first.
func (m *Model) tier(c cluster.ClassID, slack cluster.Time) int32 {
	if slack < 0 {
		return 1 + int32(m.matters(c))
	}
	return 0
}

// price is what it is worth to serve a task of the class with that slack.
func (m *Model) price(c cluster.ClassID, slack cluster.Time) flow.Cost {
	return promised + m.urgency(slack) + m.importance(c, slack)
}

// sizeOf is what a demand adds to a price: the more the larger it is, by the logarithm of
// the product of its quantities, which knows no units; at most half a step. Of tasks
// that are as urgent the larger goes first, as it has fewer places to go to.
func sizeOf(demand cluster.Vector) flow.Cost {
	const most = 46 // binary digits of a quantity
	digits := 0
	for _, q := range demand {
		digits += bits.Len64(uint64(q))
	}
	return step / 2 * flow.Cost(digits) / flow.Cost(most*max(len(demand), 1))
}

// steps is how many steps there are of the slacks of one sign.
func (m *Model) steps() flow.Cost { return flow.Cost(len(m.edges) + 1) }

// urgency is the part of a price that slack makes: it rises as slack falls, through 0.
func (m *Model) urgency(slack cluster.Time) flow.Cost {
	at := flow.Cost(m.at(slack).step)
	if slack >= 0 {
		return step * (m.steps() - 1 - at)
	}
	return step * (m.steps() + at)
}

// importance is the part of a price that the class makes, of tasks that are critical.
func (m *Model) importance(c cluster.ClassID, slack cluster.Time) flow.Cost {
	if slack >= 0 {
		return 0
	}
	return step * m.steps() * flow.Cost(m.matters(c))
}

// highest is more than anybody pays.
func (m *Model) highest() flow.Cost {
	return promised + step*m.steps()*flow.Cost(max(m.ranks.Count, 1)+1)
}

// span is a step of slack: from from, which may be lowest, up to less than above, which
// may be Never.
type span struct {
	step        int
	from, above cluster.Time
}

// lowest is less than any slack.
const lowest = -cluster.Never

// at finds the step of a slack, counted from 0.
func (m *Model) at(slack cluster.Time) span {
	if slack >= 0 {
		i, found := slices.BinarySearch(m.edges, slack)
		if found {
			i++
		}
		at := span{step: i, above: cluster.Never}
		if i > 0 {
			at.from = m.edges[i-1]
		}
		if i < len(m.edges) {
			at.above = m.edges[i]
		}
		return at
	}
	i, _ := slices.BinarySearch(m.edges, -slack)
	at := span{step: i, from: lowest}
	if i < len(m.edges) {
		at.from = -m.edges[i]
	}
	if i > 0 {
		at.above = -m.edges[i-1]
	}
	return at // above is 0 in the first step
}

// falls is how long a slack of the step has until it is below it, where it falls by a
// second each second.
func (at span) falls(slack cluster.Time) cluster.Time {
	if at.from == lowest {
		return cluster.Never
	}
	return slack - at.from + 1
}

// later is so long after now.
func later(now, after cluster.Time) cluster.Time {
	if after == cluster.Never {
		return cluster.Never
	}
	return now + after
}

// reaches is for how long a task of the class with that account has to run for its slack
// to be so much more; Never if it does not rise. With R the time that it has run by
// then, that is the first moment at which ⌊R/σ⌋ has gained as much on its age.
func reaches(c *cluster.Class, a cluster.Account, more cluster.Time) cluster.Time {
	rise := uint64(cluster.Whole - c.Availability)
	if rise == 0 {
		return cluster.Never
	}
	part := uint64(c.Availability)
	hi, lo := bits.Mul64(uint64(a.Running), uint64(cluster.Whole))
	rest := bits.Rem64(hi, lo, part) // what rounding R/σ down left out
	hi, lo = bits.Mul64(uint64(more), part)
	lo, borrow := bits.Sub64(lo, rest, 0)
	hi -= borrow
	lo, carry := bits.Add64(lo, rise-1, 0)
	if hi += carry; hi >= rise {
		return cluster.Never
	}
	after, _ := bits.Div64(hi, lo, rise)
	return cluster.Time(min(after, uint64(cluster.Never/2)))
}

// leavable is when a task of the class with that account, which may not be evicted, may
// be: when what it spent on beginning anew is less than the budget of its age.
func leavable(c *cluster.Class, a cluster.Account) cluster.Time {
	if c.Budget == 0 {
		return cluster.Never
	}
	hi, lo := bits.Mul64(uint64(a.Restarting), uint64(cluster.Whole))
	if hi >= uint64(c.Budget) {
		return cluster.Never
	}
	age, _ := bits.Div64(hi, lo, uint64(c.Budget))
	return cluster.Time(age) + 1 - a.Age()
}

// Out lets tasks go anywhere.
func (*Model) Out(_ *cluster.View, _ cluster.TaskID, arcs *flow.Arcs) {
	arcs.Aggregator(everywhere, 0)
}

// Into is what the node costs by cpu-mem, in units so large that it never decides who is
// served.
func (m *Model) Into(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	_, curve := m.place.Into(s, shape, n)
	m.curve = m.curve[:0]
	for _, c := range curve {
		m.curve = append(m.curve, flow.Step{Capacity: c.Capacity, Cost: min(c.Cost>>placeBits, dearest)})
	}
	return everywhere, m.curve
}

// Preference is as much as nodes differ by, as in cpu-mem. All that count come to less than a step together with the size and
// the dearest node, so that nobody waits, or is evicted, for the sake of a node that somebody only prefers.
func (*Model) Preference() flow.Cost { return dearest }

// Explain names the parts of the price of a node.
func (m *Model) Explain(s *cluster.View, t cluster.TaskID, n cluster.NodeID) []flow.Term {
	_, curve := m.Into(s, s.Task(t).Shape, n)
	return []flow.Term{{Name: "load", Cost: curve[0].Cost}}
}

// ExplainWait names the parts of the price of serving a task: what it was promised at
// all, how much slack it would have without its class's margin, what the margin makes of
// that, for one that runs what switching costs, and how important its class is, which
// counts for those that are critical. Who has spent its overhead budget pays for that.
func (m *Model) ExplainWait(s *cluster.View, t cluster.TaskID) []flow.Term {
	m.rank(s)
	task := s.Task(t)
	class := &s.Classes()[task.Class]
	if !class.Promises() {
		return []flow.Term{{Name: "priority", Cost: unpromised(task)}}
	}
	account := task.Account.At(s.Now(), task.Phase)
	left := class.Slack(account)
	held := left
	if task.Phase == cluster.Running {
		held -= m.switching(class)
	}
	whole := m.urgency(left + class.Margin + class.Restart)
	list := []flow.Term{
		{Name: "promise", Cost: promised},
		{Name: "slack", Cost: whole},
		{Name: "margin", Cost: m.urgency(left) - whole},
		{Name: "switching", Cost: m.urgency(held) - m.urgency(left)},
		{Name: "importance", Cost: m.importance(task.Class, held)},
		{Name: "size", Cost: sizeOf(s.Demand(t))},
	}
	if task.Phase == cluster.Running && !class.MayLeave(account) {
		list = append(list, flow.Term{Name: "overhead budget", Cost: m.highest() - m.price(task.Class, held) - sizeOf(s.Demand(t))})
	}
	return slices.DeleteFunc(list, func(t flow.Term) bool { return t.Cost == 0 })
}
