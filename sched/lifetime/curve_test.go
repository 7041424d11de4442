package lifetime

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// observed is a run as the slow rival of a curve remembers it.
type observed struct {
	age   cluster.Time
	ended bool
}

// slowHazards are the hazards of runs, by looking at each run for each bin.
func slowHazards(runs []observed, above func(b int) float64) func(b int) float64 {
	var list [Bins]float64
	for b := range Bins {
		entered, ended := 0.0, 0.0
		for _, r := range runs {
			if Bin(r.age) >= b {
				entered++
			}
			if r.ended && Bin(r.age) == b {
				ended++
			}
		}
		list[b] = (ended + prior*above(b)) / (entered + prior)
	}
	return func(b int) float64 { return list[b] }
}

// slowRemaining is the expectation by the sum over all ages at which a run may end.
func slowRemaining(hazard func(b int) float64, age cluster.Time) float64 {
	end := func(b int) float64 {
		if b == Bins-1 {
			return 2 * float64(Start(b))
		}
		return float64(Start(b + 1))
	}
	sum, alive, from := 0.0, 1.0, float64(age)
	for b := Bin(age); b < Bins; b++ {
		h := hazard(b)
		if b == Bin(age) { // on condition that it has come so far
			left := max((end(b)-from)/(end(b)-float64(Start(b))), 0)
			h = h * left / (1 - h*(1-left))
		} else {
			from = float64(Start(b))
		}
		sum += alive * h * ((from+max(end(b), from))/2 - float64(age))
		alive *= 1 - h
	}
	return sum + alive*(max(end(Bins-1), float64(age))+float64(Start(Bins-1))-float64(age))
}

// TestCurveAgainstRival holds what a curve says against what follows from the runs themselves.
func TestCurveAgainstRival(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		run := rapid.Custom(func(rt *rapid.T) observed {
			minutes := math.Exp2(rapid.Float64Range(-3, 18).Draw(rt, "minutes, as a power of two"))
			return observed{cluster.Time(minutes * float64(cluster.Minute)), rapid.IntRange(0, 3).Draw(rt, "ended") > 0}
		})
		all := &curve{}
		own := &curve{next: all}
		runs, others := rapid.SliceOfN(run, 0, 60).Draw(rt, "runs"), rapid.SliceOfN(run, 0, 60).Draw(rt, "others")
		add := func(r observed, to ...*curve) {
			for _, c := range to {
				for b := range Bin(r.age) + 1 {
					c.entered[b]++
				}
				if r.ended {
					c.end(r.age)
				}
			}
		}
		for _, r := range runs {
			add(r, own, all)
		}
		for _, r := range others {
			add(r, all)
		}
		above := slowHazards(append(append([]observed{}, runs...), others...), func(int) float64 { return 1 - math.Exp2(-0.25) })
		slow := slowHazards(runs, above)
		for range 20 {
			age := cluster.Time(math.Exp2(rapid.Float64Range(-3, 18).Draw(rt, "age")) * float64(cluster.Minute))
			got, want := float64(own.at(1).remaining(age)), slowRemaining(slow, age)
			if math.Abs(got-want) > 0.02*want+float64(cluster.Second) {
				rt.Fatalf("at %v: %.1f s are left, want %.1f", age, got/1e6, want/1e6)
			}
		}
	})
}

// TestNothingKnown: of runs that nothing is known of, those that have lived longer live on longer.
func TestNothingKnown(t *testing.T) {
	last := cluster.Time(0)
	for _, age := range []cluster.Time{cluster.Minute, 10 * cluster.Minute, cluster.Hour, 10 * cluster.Hour, 10 * cluster.Day} {
		left := (&curve{}).at(0).remaining(age)
		if left <= last || left < age/2 {
			t.Errorf("at %v %v are left, before %v", age, left, last)
		}
		last = left
	}
}
