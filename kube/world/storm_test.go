package world

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/cluster"
)

// TestStorm: evictions stop where more than 20 in a minute are in vain, and more than half; for a minute, and then twice as long each time, until an
// hour has passed without.
func TestStorm(t *testing.T) {
	var s Storm
	now, total := cluster.Hour, int64(0)
	leave := func(n int) {
		for range n {
			s.leaves(now, 0, false)
		}
	}
	vain := func(n int64) { total += n; s.LeftForNobody(total, now) }
	expect := func(when string, left cluster.Time, times int) {
		t.Helper()
		if l, n := s.Stopped(now); l != left || n != times {
			t.Errorf("%s: stopped for %v, %d times, want %v and %d", when, l, n, left, times)
		}
	}
	leave(100)
	vain(50)
	expect("half in vain", 0, 0)
	now += stormLooks + 1
	vain(20)
	expect("a minute later, 20 in vain", 0, 0)
	vain(1)
	expect("21 in vain", shortestStop, 1)
	vain(100)
	expect("while it is stopped", shortestStop, 1)
	now += shortestStop // what came to nothing meanwhile is no reason to stop again
	expect("when it is over", 0, 1)
	leave(1)
	expect("and one leaves", 0, 1)
	for range mostInVain + 1 { // of pods for which others were told to leave four minutes ago
		s.leaves(now, now-4*cluster.Minute, false)
	}
	expect("in turns", 2*shortestStop, 2)
	now += 10 * cluster.Minute
	for range mostInVain + 1 {
		s.leaves(now, now-shortly, false)
	}
	expect("of pods for which others were told to leave long ago", 0, 2)
	now += stormLooks + 1
	for want := 4 * shortestStop; want < 4*longestStop; want *= 2 {
		now += longestStop
		vain(mostInVain + 1)
		left, _ := s.Stopped(now)
		if left != min(want, longestStop) {
			t.Errorf("stopped for %v, want %v", left, min(want, longestStop))
		}
	}
	now += longestStop + stopsAnew
	s.begin()
	total = 0
	vain(mostInVain + 1)
	if left, _ := s.Stopped(now); left != shortestStop {
		t.Errorf("after an hour, under a new core: stopped for %v, want %v", left, shortestStop)
	}
}

// TestTurnsAreNotInVain: that a pod leaves for which others have just left is in vain, but where the policy has pods take turns.
func TestTurnsAreNotInVain(t *testing.T) {
	for _, turns := range []bool{false, true} {
		x := &Exits{journal: &journal{now: cluster.Hour}, budgets: map[string]*budget{ours: {Evictions: Evictions{TakesTurns: turns}}}}
		for range mostInVain + 1 {
			p := &Pod{sight: sight{object: &v1.Pod{Spec: v1.PodSpec{SchedulerName: ours}}}, Ours: true}
			p.exit.requested, p.exit.others = true, x.journal.now
			x.departed(p)
		}
		if _, times := x.storm.Stopped(x.journal.now); times > 0 == turns {
			t.Errorf("where pods take turns (%v), evictions were stopped %d times", turns, times)
		}
	}
	var s Storm // those who take turns are not counted beside those who leave in vain
	for range mostInVain + 1 {
		s.leaves(cluster.Hour, cluster.Hour, true)
		s.leaves(cluster.Hour, cluster.Hour, true)
		s.leaves(cluster.Hour, cluster.Hour, false)
	}
	if _, times := s.Stopped(cluster.Hour); times != 1 {
		t.Errorf("evictions were stopped %d times beside others that take turns, want once", times)
	}
}
