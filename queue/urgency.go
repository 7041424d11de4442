package queue

import (
	"cmp"

	"fairlead.dev/fairlead/cluster"
)

// urgency is the place of a task in the order of the QoS paper, at one moment:
// critical tasks first, those of the more important class first among them, then
// by least slack. Among those that are not critical classes count for nothing
// (specification §2). The same order says who is served first and who may evict
// whom; for the latter, equals do not.
type urgency struct {
	rank  int64 // the importance of a critical task's class; calm of others
	slack cluster.Time
}

// calm is the rank of tasks that are not critical, behind every importance.
const calm = int64(1) << 32

// urgencyOf is the urgency of the task as the account stands at the moment now.
func urgencyOf(s *cluster.View, t *cluster.Task) urgency {
	class := &s.Classes()[t.Class]
	u := urgency{rank: calm, slack: class.Slack(t.Account.At(s.Now(), t.Phase))}
	if u.slack < 0 {
		u.rank = int64(class.Importance)
	}
	return u
}

// compare is negative where a is more urgent than b.
func (a urgency) compare(b urgency) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.slack, b.slack))
}

// before reports whether a is more urgent than b, and may evict it.
func (a urgency) before(b urgency) bool { return a.compare(b) < 0 }

// saturated adds slacks, of which some are for ever.
func saturated(a, b cluster.Time) cluster.Time {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return cluster.Never
	case a < 0 && b < 0 && sum >= 0:
		return -cluster.Never
	}
	return sum
}
