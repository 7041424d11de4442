package sim

import (
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// userShares is how far apart users are: by how much the one that holds most has more of the cluster than the one that holds
// least of those with tasks that wait. What a user holds counts by the kind of which that is most. While nobody waits, users that hold something
// else are only noted.
type userShares struct {
	named   map[string]int32
	users   []userShare
	changed []int32        // users whose shares are not those in most and least any more, each once
	of      cluster.Vector // what they are shares of
	most    tournament     // the shares of all
	least   tournament     // those of users with tasks that wait, below 0
	waiting int            // users with tasks that wait
	sum     float64        // of the gap × µs
	largest float64
}

// userShare is what a user holds, and how many of its tasks wait.
type userShare struct {
	holds cluster.Vector
	waits int
	noted bool // among those that have changed
}

// number is that of a user.
func (u *userShares) number(name string) int32 {
	number, known := u.named[name]
	if !known {
		if u.named == nil {
			u.named = map[string]int32{}
		}
		number = int32(len(u.users))
		u.named[name] = number
		u.users = append(u.users, userShare{})
		u.note(number)
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
	u.note(was.user)
}

// note notes that the user's share has changed.
func (u *userShares) note(user int32) {
	if !u.users[user].noted {
		u.users[user].noted = true
		u.changed = append(u.changed, user)
	}
}

func (u *userShares) advance(s *cluster.View, spent float64) {
	if u.waiting == 0 || len(u.users) < 2 {
		return
	}
	now := u.reckon(s.Totals().Capacity)
	u.sum += float64(now * spent)
	u.largest = max(u.largest, now)
}

// reckon is the gap as users stand.
func (u *userShares) reckon(of cluster.Vector) float64 {
	if !slices.Equal(u.of, of) {
		u.of = append(u.of[:0], of...)
		for user := range u.users {
			u.note(int32(user))
		}
	}
	for _, user := range u.changed {
		own, lacks := &u.users[user], math.Inf(-1)
		share := own.share(of)
		if own.waits > 0 {
			lacks = -share
		}
		u.most.set(int(user), share)
		u.least.set(int(user), lacks)
		own.noted = false
	}
	u.changed = u.changed[:0]
	return max(u.most.first()-min(-u.least.first(), 1), 0)
}

// share is what the user holds, by the kind of which that is most.
func (u *userShare) share(of cluster.Vector) float64 {
	share := 0.0
	for k, q := range u.holds {
		if of[k] > 0 {
			share = max(share, float64(q)/float64(of[k]))
		}
	}
	return share
}

// gap is nil where there is one user.
func (u *userShares) gap(simulated float64) *report.ShareGap {
	if len(u.users) < 2 {
		return nil
	}
	return &report.ShareGap{Mean: report.Ratio(u.sum/float64(cluster.Second), simulated), Largest: report.Number(u.largest)}
}

// tournament finds the largest of numbers that change one at a time. 1 is the root, and the numbers are the last half.
type tournament []float64

// first is the largest number.
func (t *tournament) first() float64 { return (*t)[1] }

// set replaces a number, and adds those before it that are not there yet, which are less than any.
func (t *tournament) set(i int, number float64) {
	for i >= len(*t)/2 {
		t.double()
	}
	at := len(*t)/2 + i
	for (*t)[at] = number; at > 1; {
		at /= 2
		(*t)[at] = max((*t)[2*at], (*t)[2*at+1])
	}
}

// double makes room for as many numbers again.
func (t *tournament) double() {
	numbers := (*t)[len(*t)/2:]
	*t = make(tournament, max(2*len(*t), 2))
	for i := range *t {
		(*t)[i] = math.Inf(-1)
	}
	for i, number := range numbers {
		t.set(i, number)
	}
}
