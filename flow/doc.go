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
//     where tasks may move to other nodes is it a unit, with an arc to the port where it
//     runs that costs what staying costs. All others just take room.
//
// The network lives as long as the policy. Rows that changed are looked at again,
// and nothing else: the model is asked anew about a task that changed, and about
// the price of a node that changed. Of the many nodes below an aggregator only the
// cheapest are in the network (ranking.go); what is left out is compared with the
// prices of the solution, and put in if it could improve it.
//
// Files: model.go (what a policy says) · policy.go (a round) · asleep.go (rounds with a budget
// that go on where the last was cut) · members.go (which task is in which task group) ·
// network.go (the graph) · slots.go · tenants.go (who may be
// stopped for one that comes) · ranking.go ·
// placement.go (from flow to plan) · evict.go (who leaves for whom) · contention.go (rounds planned again by packing) ·
// bound.go, boundplan.go and boundroom.go (what any plan costs at least) ·
// victims.go and chooser.go (several evicted for one) · due.go (prices that change with time) ·
// explain.go (what a task could have) · explainworth.go (what a node more is worth) ·
// explaindistance.go (what a unit more costs).
package flow
