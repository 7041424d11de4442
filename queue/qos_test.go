package queue

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// promises are three classes, or nine of as many levels, for a world whose tasks live for seconds. They differ from
// seed to seed: one may promise nothing, two may matter as much as each other, and
// what a task may spend on beginning anew may be little.
func promises(seed uint64) []cluster.Class {
	classes := []cluster.Class{
		{Name: "bronze", Importance: 3, Availability: cluster.Whole / 2, Margin: 2 * cluster.Second, Budget: cluster.Whole / 2},
		{Name: "gold", Importance: 1, Availability: cluster.Whole, Margin: cluster.Second},
		{Name: "silver", Importance: 2, Availability: cluster.Whole * 9 / 10, Restart: cluster.Second / 3, Budget: cluster.Whole / 10},
	}
	if seed%3 == 1 {
		classes[0].Availability = 0
	}
	if seed%5 == 1 {
		classes[0].Importance = 2
	}
	if seed%7 == 1 {
		classes[1].Budget = cluster.Whole / 3
	}
	for i := int32(4); i < 10 && seed%4 == 2; i++ {
		share := cluster.Share(10-i) * cluster.Whole / 10
		classes = append(classes, cluster.Class{Name: fmt.Sprint("copper", i), Importance: i, Availability: share, Margin: cluster.Second, Budget: cluster.Whole - share})
	}
	return classes
}

// TestQoSAgainstRival compares qos with its definition, over random histories.
func TestQoSAgainstRival(t *testing.T) {
	for _, ties := range []book.Ties{book.Fixed, book.Lowest} {
		t.Run(ties.String(), func(t *testing.T) {
			t.Parallel()
			bundles, evictions := 0, 0
			seeds := []uint64{365, 487, 2323, 6507} // what an eviction left over was forgotten beside apart tasks
			for seed := range histories(t) {
				seeds = append(seeds, seed)
			}
			for _, seed := range seeds {
				both := &twin{t: t, seed: seed, fast: newQoS(Options{Seed: seed, Ties: ties}), slow: &plainQoS{seed: seed, ties: ties}}
				w := newWorldOf(t, both, seed, promises(seed), false)
				for range 80 {
					w.step()
				}
				bundles += both.bundles
				evictions += both.evictions
			}
			if least := int(histories(t)); bundles < least || evictions < least {
				t.Fatalf("only %d bundles with %d evictions", bundles, evictions)
			}
		})
	}
}

// TestQoSCountsWhoWakes: each group that an eviction of the pass wakes, as it leaves something over, is
// effort of that pass. Of those here one takes all of it, and the others fail without a look.
func TestQoSCountsWhoWakes(t *testing.T) {
	ticks := func(groups int64) int64 {
		l := newLabOf(t, policyNamed(t, "qos"), []cluster.Class{
			{Name: "gold", Importance: 1, Availability: cluster.Whole},
			{Name: "bronze", Importance: 2, Availability: cluster.Whole / 2, Budget: cluster.Whole / 2},
			{Name: "none", Importance: 3},
		}, sched.Trigger{IgnoreOutcomes: true})
		l.node(10, 1000)
		bronze := l.task(work{user: "bronze", cpu: 10, mem: 1, class: 1})
		for i := range groups {
			l.task(work{user: "none", cpu: 9, mem: 1 + i, class: 2})
		}
		l.settle()
		l.wantOn(bronze, 0)
		l.now = 10 * cluster.Second
		gold := l.task(work{user: "gold", cpu: 1, mem: 1})
		before := l.core.Counts().Ticks
		l.now += cluster.Second
		l.step()
		l.wantOn(gold, 0)
		return l.core.Counts().Ticks - before
	}
	few, many := ticks(2), ticks(102)
	if many < few+100 {
		t.Errorf("beside 2 groups that wake a pass takes %d ticks, and beside 102 it takes %d, want 100 more", few, many)
	}
}
