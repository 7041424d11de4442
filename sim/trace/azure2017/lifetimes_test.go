package azure2017

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Of 10 VMs 2 end in the first bin and 2 are seen there last: the share 2/(10 − 1) ends there. Of the
// 6 that are left 3 end in the second and 1 is seen there last, 3/(6 − 1/2); the last two are not seen to end.
func TestLifeTable(t *testing.T) {
	got := tableOf([]int64{2, 3, 0, 0}, []int64{2, 1, 2, 0})
	want := []float64{7. / 9, 7. / 9 * (1 - 3/5.5), 7. / 9 * (1 - 3/5.5)}
	if len(got) != len(want) {
		t.Fatalf("%d bins, want %d: nobody was seen in the last", len(got), len(want))
	}
	for b := range want {
		if share := float64(got[b]) / one; math.Abs(share-want[b]) > 1e-8 {
			t.Errorf("past bin %d live %.9f, want %.9f", b, share, want[b])
		}
	}
}

// Where all are seen to end, the table is the plain share of those that do.
func TestLifeTableOfWholeLives(t *testing.T) {
	got := tableOf([]int64{50, 30, 20}, []int64{0, 0, 0})
	for b, want := range []float64{.5, .2, 0} {
		if share := float64(got[b]) / one; math.Abs(share-want) > 1e-8 {
			t.Errorf("past bin %d live %.9f, want %.1f", b, share, want)
		}
	}
}

// Lives that are drawn are shared as the table says, from the start as well as from an age on, which may
// lie within a bin.
func TestLivesAreThoseOfTheTable(t *testing.T) {
	l := &lifetimes{bins: bins{0, 100, 300, 1000}, of: []table{{one / 2, one / 4, one / 10}}}
	chance := rand.New(rand.NewPCG(1, 2))
	const draws = 200_000
	for _, c := range []struct {
		age  int64
		want map[int64]float64 // share of those that live longer, by seconds
	}{
		{0, map[int64]float64{50: .75, 100: .5, 200: .375, 300: .25, 1000: .1}},
		{100, map[int64]float64{100: 1, 200: .75, 300: .5, 1000: .2}},
		{200, map[int64]float64{200: 1, 300: .25 / .375, 650: .175 / .375, 1000: .1 / .375}},
		{999, map[int64]float64{1000: .1 / (.1 + .15/700)}},
		{1000, map[int64]float64{1 << 40: 1}},
	} {
		longer := map[int64]int{}
		for range draws {
			seconds, ends := l.beyond(0, c.age, chance.Uint32(), chance)
			if ends && seconds < max(c.age, 1) {
				t.Fatalf("of age %d, and ends at %d", c.age, seconds)
			}
			for at := range c.want {
				if !ends || seconds >= at {
					longer[at]++
				}
			}
		}
		for at, want := range c.want {
			if got := float64(longer[at]) / draws; math.Abs(got-want) > .005 {
				t.Errorf("from age %d on, %.3f live for %d s, want %.3f", c.age, got, at, want)
			}
		}
	}
}

// A flavour of which few were seen goes by the table of all.
func TestFewGoByAll(t *testing.T) {
	seen := newTally(2, 2)
	for range fewest {
		seen.add(&vm{flavour: 0, fate: ended, bin: 0})
	}
	for range fewest - 1 {
		seen.add(&vm{flavour: 1, fate: going, bin: 1})
	}
	l := seen.lifetimes(bins{0, 1, 2})
	if own, all := l.of[0][0], l.of[1][0]; own != 0 || all == 0 || all == one {
		t.Errorf("past the first bin live %d of the flavour with many, and %d of all", own, all)
	}
}
