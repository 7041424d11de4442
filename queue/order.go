package queue

import "fairlead.dev/fairlead/cluster"

// Order gives a waiting task its place in the queue: smaller keys first, equal
// keys in the order of submission.
type Order func(s *cluster.View, t cluster.TaskID) int64

// FirstCome is the order of submission.
func FirstCome(*cluster.View, cluster.TaskID) int64 { return 0 }

// ByPriority puts the more important first.
func ByPriority(s *cluster.View, t cluster.TaskID) int64 { return -int64(s.Task(t).Priority) }

// ByDeadline puts first whose job is due first, and last whose is not due at all.
func ByDeadline(s *cluster.View, t cluster.TaskID) int64 {
	if due := s.Job(s.Task(t).Job).Due; due > 0 {
		return int64(due)
	}
	return int64(cluster.Never)
}

// decreasing puts the larger demand first, measured in shares of the largest
// node, as first-fit decreasing and best-fit decreasing do.
func decreasing(known *offers) Order {
	return func(s *cluster.View, t cluster.TaskID) int64 {
		size := int64(0)
		for k, need := range s.Demand(t) {
			size += min(cluster.Fraction(need, known.most[k]), 1<<40)
		}
		return -size
	}
}
