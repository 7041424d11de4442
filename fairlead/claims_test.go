package fairlead

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// This file holds claims to the bound that claims.go states, in worlds below 90 % load in which small tasks come all
// the time, take every gap, and end; and in which now and then some come that want a node for themselves.

// bounded is a task of which it is known when it is placed at the latest.
type bounded struct {
	*job
	ahead  int // how many wait that may claim before it, when it comes
	from   cluster.Time
	placed cluster.Time
	own    int          // claims that were made for it
	until  cluster.Time // when the node of the last of these has drained
	// Of the claims, its own too, that there are while it waits, of those of whom it does not come before: how many, and
	// for how long they wait for runs in all and at most.
	claims       int
	sum, longest cluster.Time
}

// liveness is a world in which somebody looks at who claims what.
type liveness struct {
	*world
	sizes []cluster.Vector
	large []*bounded
	made  map[claim]cluster.Time // until its node drains, from when it was made
	lost  map[claim]bool         // those that were given up although their task waits
}

// watchClaims looks, after each step, at who has come, who has claimed and who has a place.
func (l *liveness) watchClaims() {
	s := l.core.View()
	for _, b := range l.large {
		if b.came > l.now || b.placed != 0 {
			continue
		}
		if b.from == 0 {
			b.from, b.ahead = s.Task(b.row).Account.Since, l.before(b)
			for c, drains := range l.made {
				if slices.Contains(l.policy.claims.list, c) {
					l.waitsFor(b, c, drains)
				}
			}
		}
	}
	for _, c := range l.policy.claims.list {
		if _, known := l.made[c]; known {
			continue
		}
		l.made[c] = l.drained(c.node) - l.now
		for _, b := range l.large {
			if b.from != 0 && b.placed == 0 {
				l.waitsFor(b, c, l.made[c])
			}
		}
	}
	for _, b := range l.large {
		if b.from != 0 && b.placed == 0 && s.Task(b.row).Phase != cluster.Waiting {
			b.placed = l.now
		}
	}
	for c := range l.made {
		if s.Task(c.task).Phase == cluster.Waiting && !slices.Contains(l.policy.claims.list, c) {
			l.lost[c] = true
		}
	}
}

// waitsFor takes in a claim for which the task may have to wait, or which is its own.
func (l *liveness) waitsFor(b *bounded, c claim, drains cluster.Time) {
	if c.above > standing(l.policy.who.waiting(l.core.View(), l.core.View().Task(b.row))) {
		return
	}
	b.claims, b.sum, b.longest = b.claims+1, b.sum+drains, max(b.longest, drains)
	if c.task == b.row {
		b.own, b.until = b.own+1, l.now+drains
	}
}

// before counts who waits and may claim a node before the task does.
func (l *liveness) before(b *bounded) (ahead int) {
	s := l.core.View()
	key := func(t cluster.TaskID) (rank, cluster.Time, cluster.Seq) {
		task := s.Task(t)
		return standing(l.policy.who.waiting(s, task)), task.Account.Since, task.Seq
	}
	r, since, seq := key(b.row)
	for row := range s.TaskRows() {
		t := cluster.TaskID(row)
		if s.Task(t).Phase != cluster.Waiting {
			continue
		}
		if r2, since2, seq2 := key(t); cmp.Or(cmp.Compare(r2, r), cmp.Compare(since2, since), cmp.Compare(seq2, seq)) < 0 {
			ahead++
		}
	}
	return ahead
}

// newLiveness draws a world below 90 % load, of so many nodes or, where that is 0, of few. No task is evicted for another one:
// in every other world all have one priority, and in the others nobody is evicted. Where it is hostile, all but the first node are lost or
// cordoned again and again, and everything takes its time.
func newLiveness(seed uint64, nodes int, hostile bool) *liveness {
	chance := rand.New(rand.NewPCG(seed, 0x11))
	l := &liveness{made: map[claim]cluster.Time{}, lost: map[claim]bool{}}
	if nodes == 0 {
		nodes = 1 + chance.IntN(6)
	}
	l.sizes = []cluster.Vector{{16, 32}}
	total := int64(16)
	for range nodes - 1 {
		size := cluster.Vector{8 + chance.Int64N(9), 16 + chance.Int64N(17)}
		l.sizes, total = append(l.sizes, size), total+size[0]
	}
	o, lower := Options{Seed: seed}, 0
	if seed%2 == 1 {
		o.Without, lower = WithoutEvictions, 2
	}
	l.world = newWorld(seed, o, nil, l.sizes)
	if l.watch = l.watchClaims; hostile {
		l.delay = 2 * cluster.Second
	}
	const lasts = 20 * cluster.Minute
	// Small tasks take 1 to 4 cores for 10 s to 5 minutes: 2.5 × 155 core seconds, of 80 to 88 % of what there is.
	every := cluster.Time(float64(cluster.Second) * 2.5 * 155 / (float64(total) * (0.80 + 0.08*chance.Float64())))
	for at := cluster.Time(0); at < lasts; at += cluster.Time(chance.ExpFloat64() * float64(every)) {
		cores := 1 + chance.Int64N(4)
		l.comes(at, "small", cluster.Vector{cores, cores + chance.Int64N(cores+1)}, cluster.Time(10+chance.IntN(290))*cluster.Second, cluster.TaskSubmitted{Priority: int32(-chance.IntN(lower + 1))})
	}
	burst := cluster.Time(2+chance.IntN(10)) * cluster.Minute
	// Tasks that are the same claim one after the other, as they would in any case where one node may be claimed. And
	// who has lost its node comes before its like, and waits anew.
	same := nodes < 2*claimsShare && !hostile && seed%4 < 2
	for i := range 1 + chance.IntN(4+nodes/10) {
		at := burst + cluster.Time(chance.Int64N(int64(2*cluster.Minute)))*cluster.Time(chance.IntN(2))
		user, cores := "large", int64(12)
		if !same {
			user, cores = fmt.Sprint("large ", i), 12+2*chance.Int64N(3)
		}
		t := l.comes(at, user, cluster.Vector{cores, 24 + min(6, int64(nodes/10))}, cluster.Time(10+chance.IntN(60))*cluster.Second, cluster.TaskSubmitted{})
		l.large = append(l.large, &bounded{job: t})
	}
	for n := 1; n < nodes && hostile; n++ {
		for at := burst; at < burst+15*cluster.Minute; {
			at += cluster.Time(chance.Int64N(int64(5 * cluster.Minute)))
			away := cluster.Time(10+chance.IntN(100)) * cluster.Second
			if chance.IntN(2) == 0 {
				l.loses(at, away, cluster.NodeID(n), l.sizes[n])
			} else {
				l.cordons(at, away, cluster.NodeID(n))
			}
			at += away + cluster.Second
		}
	}
	return l
}

// TestClaimsKeepTheirBound: the first of its standing has its place within the patience and the time that the runs take which
// are on the node when it claims that; a node that is lost, or closed to it, begins that time anew. The k-th, where c nodes
// may be claimed at a time, waits for ⌈k/c⌉ such times at most, and the patience once.
func TestClaimsKeepTheirBound(t *testing.T) {
	worlds := uint64(1000)
	if testing.Short() {
		worlds = 100
	}
	for _, of := range []struct {
		worlds  uint64
		nodes   int
		hostile bool
	}{{worlds, 0, false}, {worlds, 0, true}, {worlds / 50, 120, false}, {worlds / 50, 120, true}} {
		worlds, hostile := of.worlds, of.hostile
		t.Run(fmt.Sprintf("nodes=%d/hostile=%v", of.nodes, hostile), func(t *testing.T) {
			t.Parallel()
			claims, later, lost, longest := 0, 0, 0, cluster.Time(0)
			for seed := range worlds {
				l := newLiveness(seed, of.nodes, hostile)
				if err := l.run(cluster.Hour); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for i, b := range l.large {
					if err := l.keeps(b); err != nil {
						t.Errorf("seed %d, large task %d of %d, %d ahead: %v", seed, i, len(l.large), b.ahead, err)
					}
					longest = max(longest, b.placed-b.from)
					claims += b.own
					if b.own > 0 && b.ahead > 0 {
						later++
					}
				}
				lost += len(l.lost)
			}
			t.Logf("%d claims in %d worlds, %d of tasks behind others, %d lost and made again; the longest wait was %v", claims, worlds, later, lost, longest)
			if claims < int(worlds)/2 || later < int(worlds)/10 || hostile && lost < int(worlds)/30 {
				t.Error("too few claims: the worlds are too easy")
			}
		})
	}
}

// keeps says how a task was placed later than it may be.
func (l *liveness) keeps(b *bounded) error {
	if b.placed == 0 {
		return fmt.Errorf("never placed")
	}
	c, bound := max(len(l.sizes)/claimsShare, 1), b.from+Patience
	turns := b.ahead + 1 + len(l.lost)
	switch {
	case b.ahead == 0 && b.own > 0:
		bound = max(bound, b.until)
	case b.ahead > 0 && c == 1: // one claim after the other
		bound += b.sum
	case b.ahead > 0:
		bound += cluster.Time((turns+c-1)/c) * b.longest
	}
	if b.placed > bound {
		return fmt.Errorf("it waits from %v to %v, the bound was %v (%d claims)", b.from, b.placed, bound, b.own)
	}
	if c == 1 && b.claims > turns {
		return fmt.Errorf("%d others claimed nodes while it waited, of whom it was to come before some", b.claims)
	}
	return nil
}

// TestLowestClaimGivesWay: where no further node may be claimed, the claim of the lowest standing gives way to a higher one; of equals
// that which ends last, and then the task that came last. To one as low none gives way.
func TestLowestClaimGivesWay(t *testing.T) {
	low, later, last := claim{node: 0, seq: 1, above: 7, until: 10}, claim{node: 1, seq: 2, above: 5, until: 30}, claim{node: 2, seq: 3, above: 5, until: 30}
	sooner := claim{node: 3, seq: 4, above: 5, until: 20}
	for _, tc := range []struct {
		list []claim
		to   rank
		left []claim
	}{
		{[]claim{later, low, sooner}, 6, []claim{later, sooner}},
		{[]claim{sooner, later}, 4, []claim{sooner}},
		{[]claim{later, sooner, last}, 4, []claim{later, sooner}},
		{[]claim{low, later}, 7, []claim{low, later}},
		{nil, 0, nil},
	} {
		c := claims{list: slices.Clone(tc.list), byNode: make([]int32, 4)}
		for i, own := range c.list {
			c.byNode[own.node] = int32(i + 1)
		}
		if gave := c.giveWay(tc.to); gave != (len(tc.left) < len(tc.list)) || !slices.Equal(c.list, tc.left) {
			t.Errorf("of %+v to standing %d: %v, and there are %+v, want %+v", tc.list, tc.to, gave, c.list, tc.left)
		}
	}
}
