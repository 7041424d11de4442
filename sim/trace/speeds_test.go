package trace_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// on is a speed on GPUs of a model.
func on(model string, rate int64) trace.Speed {
	return trace.Speed{On: cluster.Label{Key: "gpu", Value: model}, Rate: rate}
}

func TestCheckSpeeds(t *testing.T) {
	var many []trace.Speed
	for i := range trace.MostSpeeds + 1 {
		many = append(many, on(strings.Repeat("v", i+1), 1))
	}
	for _, c := range []struct {
		speeds []trace.Speed
		want   string // of the error; empty: there is none
	}{
		{nil, ""},
		{many[1:], ""},
		{[]trace.Speed{on("a", 1), on("b", trace.MostSpeed)}, ""},
		{many, "65 speeds, want at most 64"},
		{[]trace.Speed{on("a", 0)}, "the speed 0 with gpu=a, want 1 to 1000000000"},
		{[]trace.Speed{on("a", trace.MostSpeed+1)}, "want 1 to 1000000000"},
		{[]trace.Speed{on("a|b", 1)}, "gpu=a|b, want a value without |"},
		{[]trace.Speed{on("", 1)}, "want a value"},
		{[]trace.Speed{{Rate: 1}}, "want one key"},
		{[]trace.Speed{on("a", 1), {On: cluster.Label{Key: "disk", Value: "b"}, Rate: 1}}, "want one key"},
		{[]trace.Speed{on("a", 1), on("b", 1), on("a", 2)}, "two speeds with gpu=a"},
	} {
		err := trace.CheckSpeeds(c.speeds)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.speeds, err, c.want)
		}
	}
}

// Weights are shares of the fastest, and nodes that no speed names count as those with the unit.
func TestFastFirst(t *testing.T) {
	is := func(op cluster.Op, value string, weight int32) trace.Preference {
		return trace.Preference{Requirements: []cluster.Requirement{{Key: "gpu", Op: op, Value: value}}, Weight: weight}
	}
	for _, c := range []struct {
		speeds []trace.Speed
		want   []trace.Preference
	}{
		{nil, nil},
		{[]trace.Speed{on("v100", trace.SpeedUnit)}, nil},
		{[]trace.Speed{on("v100", trace.SpeedUnit), on("k80", 114_000)}, []trace.Preference{is(cluster.NotEqual, "v100|k80", 100), is(cluster.Equal, "v100", 100), is(cluster.Equal, "k80", 11)}},
		{[]trace.Speed{on("p100", 2*trace.SpeedUnit), on("k80", 1)}, []trace.Preference{is(cluster.NotEqual, "p100|k80", 50), is(cluster.Equal, "p100", 100), is(cluster.Equal, "k80", 1)}},
	} {
		if diff := gocmp.Diff(c.want, trace.FastFirst(c.speeds)); diff != "" {
			t.Errorf("%v: %s", c.speeds, diff)
		}
	}
}

// Of two nodes, the one on which a task is faster by more than a weight's rounding meets more of what it prefers; and all weights may be given.
func TestFasterNodesAreDearer(t *testing.T) {
	models := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		var speeds []trace.Speed
		for _, model := range models[:rapid.IntRange(1, 3).Draw(t, "models")] {
			speeds = append(speeds, on(model, rapid.Int64Range(1, trace.MostSpeed).Draw(t, model)))
		}
		if err := trace.CheckSpeeds(speeds); err != nil {
			t.Fatal(err)
		}
		prefers, fastest := trace.FastFirst(speeds), int64(trace.SpeedUnit)
		for _, s := range speeds {
			fastest = max(fastest, s.Rate)
		}
		at := func(model string) (met int32, rate int64) {
			labels := []cluster.Label{{Key: "gpu", Value: model}}
			for _, p := range prefers {
				if p.Weight < 1 || p.Weight > cluster.MostPreference {
					t.Fatalf("a weight of %d", p.Weight)
				}
				if !slices.ContainsFunc(p.Requirements, func(r cluster.Requirement) bool { return !r.Matches(labels) }) {
					met += p.Weight
				}
			}
			return met, trace.SpeedOn(speeds, labels)
		}
		for _, a := range models {
			for _, b := range models {
				metA, fast := at(a)
				metB, slow := at(b)
				if fast-slow > fastest/cluster.MostPreference+1 && slow > fastest/cluster.MostPreference && metA <= metB {
					t.Fatalf("%s with %d of %d meets %d, %s with %d meets %d", a, fast, fastest, metA, b, slow, metB)
				}
			}
		}
	})
}
