// Package worth prices room: what a placement takes away from those who may come
// (specification of the unified policy, §1). It says where a task goes, for all policies that
// want to lose as little as they can of what others will ask for.
//
// What is asked for is learned: a few types, each a demand that many tasks have had (types.go).
// The worth of what a node has left is how many more tasks of each type it has room for, weighted by
// how many want such room over how much of it there is in the cluster. The price of a task on a node
// is the worth that the node loses by it, as a multiple of what so much room is worth in the mean of
// the cluster.
//
// So a price is high where a task takes what is scarce: the memory of nodes whose cpu is gone
// already costs nothing, the last whole device of a node costs much, and room on nodes that only few
// tasks may use is dear for those who may go elsewhere.
//
//	types.go   what tasks typically ask for
//	fit.go     for how many more of each type there is room, and what that is worth
//	worth.go   weights, and prices
//	parts.go   what a price owes to each type
//	value.go   what room is worth, whoever takes it
//
// All is integers, and a function of the changed rows that it is shown, in their order.
package worth
