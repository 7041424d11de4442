package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// userShares is how far apart users are: by how much the one that holds most has more of the cluster than the one that holds
// least of those with tasks that wait. What a user holds counts by the kind of which that is most.
type userShares struct {
	named   map[string]int32
	users   []userShare
	waiting int     // users with tasks that wait
	changed bool    // since now was reckoned
	now     float64 // the gap
	sum     float64 // × µs
	largest float64
}

// userShare is what a user holds, and how many of its tasks wait.
type userShare struct {
	holds cluster.Vector
	waits int
}

// of is the number of a user.
func (u *userShares) of(name string) int32 {
	number, known := u.named[name]
	if !known {
		if u.named == nil {
			u.named = map[string]int32{}
		}
		number = int32(len(u.users))
		u.named[name] = number
		u.users = append(u.users, userShare{})
	}
	return number
}

// stand takes in that a task of the user waits or not, and holds something else.
func (u *userShares) stand(was *stance, waits bool, holds cluster.Vector) {
	if was.waits == nil && len(was.holds) == 0 && !waits && holds == nil {
		return
	}
	own := &u.users[was.user]
	if was.waits != nil {
		if own.waits--; own.waits == 0 {
			u.waiting--
		}
	}
	if waits {
		if own.waits++; own.waits == 1 {
			u.waiting++
		}
	}
	for k, q := range was.holds {
		own.holds[k] -= q
	}
	if len(own.holds) == 0 {
		own.holds = make(cluster.Vector, len(holds))
	}
	for k, q := range holds {
		own.holds[k] += q
	}
	u.changed = true
}

func (u *userShares) advance(s *cluster.View, spent float64) {
	if u.changed {
		u.now, u.changed = u.reckon(s.Totals().Capacity), false
	}
	u.sum += float64(u.now * spent)
	u.largest = max(u.largest, u.now)
}

// reckon is the gap as users stand.
func (u *userShares) reckon(of cluster.Vector) float64 {
	if u.waiting == 0 || len(u.users) < 2 {
		return 0
	}
	most, least := 0.0, 1.0
	for i := range u.users {
		share := 0.0
		for k, q := range u.users[i].holds {
			if of[k] > 0 {
				share = max(share, float64(q)/float64(of[k]))
			}
		}
		most = max(most, share)
		if u.users[i].waits > 0 {
			least = min(least, share)
		}
	}
	return max(most-least, 0)
}

// gap is nil where there is one user.
func (u *userShares) gap(simulated float64) *report.ShareGap {
	if len(u.users) < 2 {
		return nil
	}
	return &report.ShareGap{Mean: report.Ratio(u.sum/float64(cluster.Second), simulated), Largest: report.Number(u.largest)}
}
