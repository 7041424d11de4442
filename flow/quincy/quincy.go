// Package quincy is the policy of Quincy (Isard et al., SOSP 2009), as Firmament
// evaluates it (Gog et al., OSDI 2016): data that a task has to fetch cost, waiting
// costs more the longer it lasts, and a running task may be stopped in favour of
// another, the less likely the longer it has run.
//
// A task prefers the nodes and racks that hold a part of its input; it may also go
// anywhere, which is priced as if all its input had to come from another rack.
//
// Preferences for nodes, which neither paper has, are worth gigabytes: one of the largest weight as much as four of them from another rack,
// which is what policy fairlead takes it for. So data decide where there are many, and the published prices are as they were
// where nobody prefers anything. A task that is to wait for its data (Options.Delay) waits as long for a node that it prefers.
package quincy

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/sched/locality"
)

// Options are what Quincy's evaluations vary.
type Options struct {
	// Threshold is the least part of a task's input, in thousandths, for which it
	// prefers a node or a rack. Quincy has 140, Firmament tries 20.
	Threshold int64
	// Rack and Core are the prices of a gigabyte from within the rack, and from
	// another one, in thousandths: 1000 and 2000, or 20,000 where the core of the
	// network is scarce.
	Rack, Core flow.Cost
	// Delay lets a task wait for a place near its input for as long as waiting is
	// cheaper than fetching, as Quincy does. Otherwise it waits only where no slot is
	// to be had.
	Delay bool
	// Hold is how long a task has to have run, on top of what it has, for its worth
	// to count: a running task is moved or stopped only for what is worth that much
	// more. With 0, as in the papers, tasks of a crowded cluster stop each other in
	// turns, and most of what they do is lost.
	Hold cluster.Time
	// Service is the least priority of tasks that serve users: they come before all
	// others, and are not stopped for them.
	Service int32
}

// Standard are the options of Quincy, and Google's production priorities for
// services, in Firmament's setting: no task waits while there is a slot.
func Standard() Options {
	return Options{Threshold: 140, Rack: 1000, Core: 2000, Hold: cluster.Minute, Service: 9}
}

// Model prices tasks by their input.
type Model struct {
	options Options
	input   locality.Locality
	inputs  bool // some task has had input
}

// New is the policy with these options.
func New(o Options) *Model { return &Model{options: o} }

// everywhere is the aggregator above the racks, which come after it.
const everywhere flow.Aggregator = 0

const (
	gigabyte = 1_000_000_000
	// second is the price of a second of work, as of one of waiting twice.
	second flow.Cost = 1000
	// undelayed is more than any input costs to fetch, and service more than that and
	// any waiting.
	undelayed flow.Cost = 1 << 21
	service   flow.Cost = 1 << 28
	// longest bounds what waiting and working add up to, so that prices stay below
	// service.
	longest = 100_000 * cluster.Second
	// preferred is a preference in gigabytes, and mostPreferred the most that one costs, so that all that count leave half
	// of undelayed to input.
	preferred               = 4
	mostPreferred flow.Cost = undelayed / 2 / flow.MostUnmet
)

// Learn notes the racks of nodes that changed. A node that comes, goes or stands in
// another rack may hold a part of anybody's input, if there is any.
func (m *Model) Learn(s *cluster.View, all bool, nodes []cluster.NodeID) flow.Stale {
	moved := m.input.Learn(s, all, nodes)
	return flow.Stale{Tasks: m.inputs && moved}
}

// rackOf is the aggregator of a node: its rack, or the cluster; Nowhere if it is not there.
func (m *Model) rackOf(n cluster.NodeID) flow.Aggregator { return aggregator(m.input.RackOf(n)) }

// aggregator is that of a rack.
func aggregator(r locality.Rack) flow.Aggregator {
	if r == locality.Lost {
		return flow.Nowhere
	}
	return everywhere + flow.Aggregator(r)
}

// Terms are what waiting costs so far, and for a running task what it had to fetch
// less what it has worked: that would be lost. Both go in steps that grow with time.
func (m *Model) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	task := s.Task(t)
	account := task.Account.At(s.Now(), task.Phase)
	waited, next := step(account.Waiting)
	alone := len(s.Input(t)) > 0
	m.inputs = m.inputs || alone
	terms := flow.Terms{Alone: alone, Wait: second / 2 * waited, Next: cluster.Never}
	if m.options.Delay {
		terms.Wait++ // so that a place that costs as much is taken, and not by the luck of the solver
	} else {
		terms.Wait += undelayed
	}
	if task.Priority >= m.options.Service {
		terms.Wait += service
		terms.Key = 1
	}
	if task.Phase == cluster.Waiting {
		terms.Next = later(s.Now(), next, account.Waiting)
		return terms
	}
	worked := account.Running + m.options.Hold
	worth, next := step(worked)
	terms.May = flow.MayMove
	terms.Stay = m.fetch(s, t, task.Node) - second*worth
	terms.Next = later(s.Now(), next, worked)
	return terms
}

// later is when what has lasted so long by now will have lasted as long as is said.
func later(now, lasts, lasted cluster.Time) cluster.Time {
	if lasts == cluster.Never {
		return cluster.Never
	}
	return now + lasts - lasted
}

// step rounds a duration down to a number of seconds such as 1, 2, 3, 4, 6, 8, 12, 16,
// and says when the next of them is reached; Never after the longest.
func step(d cluster.Time) (seconds int64, next cluster.Time) {
	if d >= longest {
		return int64(longest / cluster.Second), cluster.Never
	}
	from := int64(0)
	for power := int64(1); ; power *= 2 {
		for _, at := range [2]int64{power, power + power/2} {
			if at <= from {
				continue
			}
			if then := min(cluster.Time(at)*cluster.Second, longest); then > d {
				return from, then
			}
			from = at
		}
	}
}

// Out prefers the nodes and racks that hold much of the input; anywhere is as dear as
// the farthest place.
func (m *Model) Out(s *cluster.View, t cluster.TaskID, arcs *flow.Arcs) {
	total, most := m.input.Locate(s, t), m.dearest(s, t)
	arcs.Aggregator(everywhere, min(price(total, m.options.Core), most))
	if total == 0 {
		return
	}
	for _, h := range m.input.Nodes {
		if h.Bytes*1000 >= total*m.options.Threshold {
			arcs.Node(h.Node, min(m.cost(h.Bytes, m.input.InRackOf(h.Node), total), most))
		}
	}
	for _, h := range m.input.Racks {
		if h.Bytes*1000 >= total*m.options.Threshold && h.Rack != locality.None {
			arcs.Aggregator(aggregator(h.Rack), min(m.cost(0, h.Bytes, total), most))
		}
	}
}

// fetch is what it costs the task to fetch its input to a node.
func (m *Model) fetch(s *cluster.View, t cluster.TaskID, n cluster.NodeID) flow.Cost {
	m.input.Locate(s, t)
	rack, elsewhere := m.input.From(n)
	return min(price(rack, m.options.Rack)+price(elsewhere, m.options.Core), m.dearest(s, t))
}

// dearest is the most that input costs the task to fetch: less than waiting does, with what it prefers on top.
func (m *Model) dearest(s *cluster.View, t cluster.TaskID) flow.Cost {
	if len(s.Shape(s.Task(t).Shape).Prefers) == 0 {
		return undelayed - 1
	}
	return undelayed - 1 - flow.MostUnmet*m.Preference()
}

// Preference is what it costs to fetch four gigabytes from another rack.
func (m *Model) Preference() flow.Cost { return min(preferred*m.options.Core, mostPreferred) }

// cost is what it costs to fetch an input of which so much is on the node, and so much
// in its rack, that on the node included.
func (m *Model) cost(node, rack, total int64) flow.Cost {
	rack = max(node, rack)
	return min(price(rack-node, m.options.Rack)+price(total-rack, m.options.Core), undelayed-1)
}

// price is that of so many bytes at a price a gigabyte, rounded up.
func price(bytes int64, gb flow.Cost) flow.Cost {
	whole, part := bytes/gigabyte, bytes%gigabyte
	return min(whole*gb+(part*gb+gigabyte-1)/gigabyte, undelayed-1)
}

// Into costs nothing: what a place costs is known when a task sets out for it.
func (m *Model) Into(_ *cluster.View, _ cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	return m.rackOf(n), nil
}

// Above racks is the cluster.
func (*Model) Above(_ *cluster.View, a flow.Aggregator) (flow.Aggregator, flow.Cost) {
	if a == everywhere {
		return flow.Nowhere, 0
	}
	return everywhere, 0
}

// Explain is what has to be fetched.
func (m *Model) Explain(s *cluster.View, t cluster.TaskID, n cluster.NodeID) []flow.Term {
	m.input.Locate(s, t)
	rack, elsewhere := m.input.From(n)
	return []flow.Term{
		{Name: "from the rack", Cost: price(rack, m.options.Rack)},
		{Name: "from other racks", Cost: price(elsewhere, m.options.Core)},
	}
}
