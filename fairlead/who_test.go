package fairlead

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// TestHalves compares half octaves with logarithms.
func TestHalves(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fraction := rapid.Int64Range(1<<cluster.FractionBits, math.MaxInt64>>8).Draw(rt, "fraction")
		got, want := float64(halves(fraction)), 2*math.Log2(float64(fraction)/(1<<cluster.FractionBits))
		if got < want-1-1e-4 || got > want+1e-4 {
			rt.Fatalf("%d is %v half octaves, want %.5f rounded down", fraction, got, want)
		}
	})
	if halves(0) != 0 || halves(1<<cluster.FractionBits-1) != 0 {
		t.Error("less than one is not 0")
	}
}

// crowd is a job with a task of each class.
func crowd(tb rapid.TB, classes []cluster.Class) *cluster.State {
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, classes)
	events := []cluster.Event{
		cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1000}}},
		cluster.JobSubmitted{Name: "j"},
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}},
	}
	for i := range classes {
		events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i), Class: cluster.ClassID(i), Priority: int32(i)})
	}
	for _, e := range events {
		if err := s.Apply(0, e); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// pass lets time pass.
func pass(tb rapid.TB, s *cluster.State, now cluster.Time) {
	if err := s.Apply(now, cluster.UsageReported{Usage: cluster.Vector{0}}); err != nil {
		tb.Fatal(err)
	}
}

// TestRanksStay holds a rank to what who.go says of it: while a task waits its rank stays what it is, but for the
// moment when it becomes critical. Then it is the higher, the more important its class.
func TestRanksStay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var classes []cluster.Class
		for i := range 3 {
			classes = append(classes, cluster.Class{
				Name: string(rune('a' + i)), Importance: int32(i),
				Availability: rapid.SampledFrom([]cluster.Share{cluster.Whole / 2, cluster.Whole * 9 / 10, cluster.Whole}).Draw(rt, "availability"),
				Margin:       cluster.Time(rapid.IntRange(0, 100).Draw(rt, "margin")) * cluster.Second,
			})
		}
		classes = append(classes, cluster.Class{Name: "none"}, cluster.Class{Name: "more"})
		s := crowd(rt, classes)
		var w who
		w.learn(&s.View)
		ranks := func() (list []rank) {
			for i := range classes {
				list = append(list, w.waiting(&s.View, s.Task(cluster.TaskID(i))))
			}
			return list
		}
		before := ranks()
		for now := cluster.Time(0); now < 20*cluster.Minute; {
			now += cluster.Time(rapid.IntRange(1, 300).Draw(rt, "seconds")) * cluster.Second
			pass(rt, s, now)
			after := ranks()
			for i := range classes {
				switch was, is := before[i]>>bandBits, after[i]>>bandBits; {
				case was == is && before[i] != after[i]:
					rt.Fatalf("the rank of %d went from %x to %x at %v", i, before[i], after[i], now)
				case was != is && (was != promised>>bandBits || is != critical>>bandBits):
					rt.Fatalf("the band of %d went from %d to %d at %v", i, was, is, now)
				}
			}
			if a, b := after[0], after[1]; a < promised && b < promised && a > b {
				rt.Fatalf("the less important is of a higher rank: %x, %x", a, b)
			}
			if after[4] >= after[3] {
				rt.Fatalf("the lower priority is of a higher rank: %x, %x", after[4], after[3])
			}
			before = after
		}
	})
}

// TestNobodyEvictsEquals: who runs with the priority with which another one waits, or was promised as much and
// has begun, is not of a lower rank.
func TestNobodyEvictsEquals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		class := cluster.Class{Name: "a", Availability: cluster.Share(rapid.Int64Range(0, int64(cluster.Whole)).Draw(rt, "availability"))}
		s := crowd(rt, []cluster.Class{class, class})
		var w who
		w.learn(&s.View)
		begun := cluster.Time(rapid.IntRange(0, 3600).Draw(rt, "begun")) * cluster.Second
		for _, e := range []cluster.Event{cluster.TaskReshaped{Task: 1, Seq: 1}, cluster.TaskFound{Task: 0, Seq: 0}} {
			if err := s.Apply(begun, e); err != nil {
				rt.Fatal(err)
			}
		}
		pass(rt, s, begun+cluster.Time(rapid.IntRange(0, 3600).Draw(rt, "now"))*cluster.Second)
		runs, _ := w.running(&s.View, s.Task(0))
		if waits := w.waiting(&s.View, s.Task(1)); class.Availability == 0 && waits < runs {
			rt.Fatalf("who waits is of rank %x, who runs of %x", waits, runs)
		}
	})
}
