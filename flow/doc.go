// Package flow decides for all waiting tasks at once: a Model prices what a task
// could have, and the cheapest flow through a network of those prices is the
// plan, as in Quincy (Isard et al., SOSP 2009) and Firmament (Gog et al., OSDI
// 2016).
//
//	task group ──▶ aggregator ──▶ aggregator ──▶ port of a node ──▶ sink
//	  │  ╲__________ an arc of its own ___________▶ port              ▲
//	  ╰───────────────▶ unscheduled, one a job ───────────────────────╯
//
// What stands in the network:
//
//   - A *task group* is tasks that are interchangeable: a supply of as many units. Not
//     tasks but task groups are nodes of the network, unless a task has arcs of its own.
//   - A *request* is what a task asks of a node, its shape; and its job, where a node
//     may have only so many tasks of the job. Each request has aggregators of its
//     own, so that an arc into a node can say whether that request fits there.
//   - An *aggregator* stands for a set of nodes: the cluster, a rack, or what else
//     the model says. Aggregators are a tree, with nodes below them.
//   - The *port* of a node lets through as many units as the node has safe slots:
//     what flows through them fits the node in every dimension (slots.go, with the
//     one exception).
//   - *Unscheduled*, one for each job: what stays without a place goes there, and
//     pays the price of waiting.
//   - A running task that the model lets go is a *tenant* (tenants.go): beyond the free
//     slots its port lets one unit through for each, at the price of evicting it. Only
//     one that may move to other nodes is a unit, with an arc to the port where it
//     runs that costs what staying costs. All others just take room.
//
// A round is a list of *stages* (stage.go), each of which adds bundles to what those before
// it have planned: spread follows the flow, pack plans again where shapes compete, and
// preempt evicts several for one. No stage excludes another.
//
// The network lives as long as the policy. Rows that changed are looked at again,
// and nothing else: the model is asked anew about a task that changed, and about
// the price of a node that changed. Of the many nodes below an aggregator only the
// cheapest are in the network (ranking.go); what is left out is compared with the
// prices of the solution, and put in if it could improve it.
//
// Each part of the network is a type that owns its data, above those that it goes by
// (network.go wires them):
//
//	members ──▶ supply ──▶ ranking ──▶ ports ──▶ tenants ──▶ journal
//	   │           ╰─▶ shares            ▲          │
//	   ╰───────────────▶ stays ──────────╯          ╰─▶ members, by whose terms they are ranked
//
// All of them go by graph, turn and answers.
//
// Files: model.go (what a policy says) · answers.go (asking it) · prefer.go (what preferences for nodes add) · effort.go (what is counted as work) ·
// policy.go (a round) · stage.go (its steps) · asleep.go (rounds with a budget that go on where the last was cut).
// The network: members.go (which task is in which task group, and when its prices change) ·
// supply.go (task groups) · shares.go (who waits, in line) · stays.go (who may move) ·
// tenants.go (who may be stopped for one that comes) · ranking.go, groups.go, requests.go and
// columns.go (what nodes offer to a request, and which of them are in the network) · slots.go and
// refresh.go (what a node lets through), kinds.go (whose ports to look at when others ask) · turn.go (whose turn it is) · journal.go (which nodes changed) · graph.go.
// The plan: routing.go and first.go (solving) · spread.go, placement.go, walks.go, components.go
// and do.go (from flow to plan) · evict.go (who leaves for whom) · packing.go,
// contention.go and market.go (rounds planned again by packing) · victims.go and chooser.go (several evicted for one) ·
// bound.go, boundgains.go, boundplaces.go, boundplan.go and boundroom.go (what any plan costs at least).
// Questions: explain.go (what a task could have) · explainworth.go (what a node more is worth) ·
// explaindistance.go (what a unit more costs).
package flow
