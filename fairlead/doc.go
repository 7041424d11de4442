// Package fairlead is the policy that the project is named after: what five papers bring, as one
// (specification of the unified policy). It is who comes first, what a place costs, and stages that
// turn both into bundles, over what all policies keep of a cluster (sched/book, sched/evict,
// sched/worth).
//
//	policy.go   what it keeps, and a round
//	who.go      the order of those who wait, and the rank of those who run
//	users.go    what each user holds
//	price.go    what a place costs beside the worth of its room
//	siblings.go the tasks of a service apart from each other
//	apps.go     stage apps: long-running applications whole, by a policy of their own
//	appsroom.go evictions for applications
//	place.go    stage place: each task on the node where it costs least
//	gangs.go    gangs: as many of a job as are to run, in one bundle
//	refine.go   stage refine: a batch anew, by exchanges; input
//	fill.go     the same for who was left over
//	gap.go      how many a round has left over, and how many any would
//	claims.go   nodes that are kept free for who has waited long
//	without.go  what may be switched off
//	grants.go   stages shrink and grow: ranges, of which the least is sure
//	preempt.go  stage preempt: those of a lower rank leave for whom no node has room
//	moves.go    stage rebalance: runs to nodes where they take less from others
//	displace.go stage displace: others out of the way of who has waited long
//	explain.go  how a task stands, and what it could have
package fairlead
