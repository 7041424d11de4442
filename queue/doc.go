// Package queue holds the policies that place one task at a time, each made of
// an order of the queue, a filter (sched.Trial.Try), a score of nodes and,
// where it preempts, a choice of victims; and two schedulers that decide by
// other means, sparrow and mesos. Policies lists them by name.
//
// The best node for a shape is found through an index that lives as long as
// the shape is used, and is brought up to date by changed nodes alone. Waiting
// tasks that are the same to the policy stand in one group; a group that fits
// nowhere sleeps until a node changes so that it fits.
package queue
