package report

import (
	"math"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

func TestHumanDuration(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    string
	}{
		{0, "0s"},
		{1e-7, "0s"},
		{0.000001, "1µs"},
		{0.00025, "250µs"},
		{0.000999, "999µs"},
		{0.001, "1.0ms"},
		{0.0042, "4.2ms"},
		{0.009949, "9.9ms"},
		{0.00995, "10ms"},
		{0.34, "340ms"},
		{0.999499, "999ms"},
		{0.9995, "1.0s"},
		{1.2, "1.2s"},
		{59.94, "59.9s"},
		{59.95, "1m00s"},
		{125, "2m05s"},
		{3599.4, "59m59s"},
		{3599.5, "1h00m"},
		{3*3600 + 7*60, "3h07m"},
		{86369, "23h59m"},
		{86370, "1d00h"},
		{51 * 3600, "2d03h"},
		{86400 * 29, "29d00h"},
	} {
		if got := humanDuration(c.seconds); got != c.want {
			t.Errorf("%v seconds print as %q, want %q", c.seconds, got, c.want)
		}
	}
}

func TestHumanNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{humanCount(0), "0"},
		{humanCount(999), "999"},
		{humanCount(1000), "1,000"},
		{humanCount(13204), "13,204"},
		{humanCount(1234567.5), "1,234,568"},
		{humanCount(-13204), "-13,204"},
		{humanCount(-0.2), "0"},
		{humanRate(0), "-"},
		{humanRate(3.42), "3.4"},
		{humanRate(9.97), "10"},
		{humanRate(48210.3), "48,210"},
		{humanShare(0.6317), "63.2%"},
		{humanBytes(0), "0 B"},
		{humanBytes(999.4), "999 B"},
		{humanBytes(999.6), "1.0 kB"},
		{humanBytes(9.94e6), "9.9 MB"},
		{humanBytes(9.96e6), "10 MB"},
		{humanBytes(999.6e9), "1.0 TB"},
		{humanBytes(4e12), "4.0 TB"},
		{humanBytes(1234e15), "1,234 PB"},
		{humanShare(0), "0.0%"},
		{humanShare(1), "100.0%"},
	} {
		if c.got != c.want {
			t.Errorf("printed %q, want %q", c.got, c.want)
		}
	}
}

func TestNumberInJSON(t *testing.T) {
	for _, c := range []struct {
		n    Number
		want string
	}{
		{0, "0"},
		{Number(math.Copysign(0, -1)), "0"},
		{-1e-9, "0"},
		{1, "1"},
		{100, "100"},
		{0.1 + 0.2, "0.3"},
		{1.0 / 3, "0.333333"},
		{-2.5, "-2.5"},
		{1e-6, "0.000001"},
		{1e21, "1000000000000000000000"},
	} {
		got, err := c.n.MarshalJSON()
		if err != nil || string(got) != c.want {
			t.Errorf("%v is %q in JSON, error %v; want %q", float64(c.n), got, err, c.want)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if text, err := Number(x).MarshalJSON(); err == nil {
			t.Errorf("%v is %q in JSON, want an error", x, text)
		}
	}
}

func TestAvailability(t *testing.T) {
	var tasks Availabilities
	tasks.Add(0, 0)
	if tasks.Summary() != nil {
		t.Error("no tasks have an availability")
	}
	for _, running := range []cluster.Time{10, 5, 9, 8} {
		tasks.Add(running, 10)
	}
	if got, want := *tasks.Summary(), (Availability{Mean: 0.8, Min: 0.5, P50: 0.8, Max: 1}); !alike(got, want, 0.002) {
		t.Errorf("availability is %+v, want %+v", got, want)
	}
}

// Promises are made about the third nine, and must not be lost in a bucket.
func TestAvailabilityTellsNines(t *testing.T) {
	for _, running := range []cluster.Time{0, 500_000, 997_000, 999_000, 999_900, 999_999, 1_000_000} {
		var tasks Availabilities
		for range 3 {
			tasks.Add(running, cluster.Second)
		}
		a := Number(running.Seconds())
		away := float64(1 - a)
		if got, want := *tasks.Summary(), (Availability{Mean: a, Min: a, P50: a, Max: a}); !alike(got, want, 0.005*away+1e-9) {
			t.Errorf("availability is %+v, want %+v", got, want)
		}
	}
}

// alike reports whether two summaries are within some distance of each other.
func alike(a, b Availability, within float64) bool {
	near := func(x, y Number) bool { return math.Abs(float64(x-y)) <= within }
	return near(a.Mean, b.Mean) && near(a.Min, b.Min) && near(a.P50, b.P50) && near(a.Max, b.Max)
}

// The rate is over measured time if there is any, else over charged time.
func TestPlannerRate(t *testing.T) {
	for _, c := range []struct {
		got, want Planner
	}{
		{NewPlanner(3, 10, 2e6, 0.5), Planner{Rounds: 3, Decisions: 10, Seconds: 2, Wall: 0.5, DecisionsPerSecond: 20}},
		{NewPlanner(3, 10, 2e6, 0), Planner{Rounds: 3, Decisions: 10, Seconds: 2, DecisionsPerSecond: 5}},
		{NewPlanner(3, 10, 0, 0), Planner{Rounds: 3, Decisions: 10}},
	} {
		if c.got != c.want {
			t.Errorf("planner is %+v, want %+v", c.got, c.want)
		}
	}
}

// TestLongTimesStaySeconds wants no minutes among published times and ours.
func TestLongTimesStaySeconds(t *testing.T) {
	for v, want := range map[Number]string{59.9: "59.9s", 59.97: "59.97s", 61: "61.00s", 1416.36: "1416.36s"} {
		if got := InSeconds.Show(v); got != want {
			t.Errorf("%v seconds print as %q, want %q", v, got, want)
		}
	}
}
