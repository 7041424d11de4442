package page

import (
	"strings"
	"testing"
)

// names prints the ticks of an axis in a line, nameless ones as a dot.
func names(a axis, n int) string {
	var all []string
	for _, t := range a.ticks(n) {
		if t.name == "" {
			t.name = "."
		}
		all = append(all, t.name)
	}
	return strings.Join(all, " ")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis axis
		want string
	}{
		{axis{Unit: share, High: 1}, "0% 20% 40% 60% 80% 100%"},
		{axis{Unit: share, Low: 0.7, High: 1.2}, "70% 80% 90% 100% 110% 120%"},
		{axis{Unit: share, High: 0.02}, "0.0% 0.5% 1.0% 1.5% 2.0%"},
		{axis{Unit: count, High: 3}, "0 1 2 3"},
		{axis{Unit: count, High: 12_500}, "0 5,000 10,000"},
		{axis{Unit: rate, High: 0.2}, "0.00 0.05 0.10 0.15 0.20"},
		{axis{Unit: seconds, High: 7200}, "0 30m 1h 1h30m 2h"},
		{axis{Unit: seconds, High: 29 * day}, "0 10d 20d"},
		{axis{Unit: seconds, High: 0.5}, "0 100ms 200ms 300ms 400ms 500ms"},
		{axis{Unit: seconds, Log: true, Low: 1e-3, High: 10}, "1ms 10ms 100ms 1s 10s"},
		{axis{Unit: seconds, Log: true, Low: 1e-4, High: 1e3}, "100µs . 10ms . 1s . 100s ."},
	} {
		if got := names(c.axis, 5); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.axis, got, c.want)
		}
	}
}

func TestCeiling(t *testing.T) {
	for _, c := range []struct {
		unit     unit
		top, end float64
	}{
		{count, 0, 1},
		{count, 1, 1},
		{count, 7, 8},
		{count, 100, 100},
		{count, 101, 150},
		{count, 9_690, 10_000},
		{share, 0.93, 1},
		{share, 1.04, 1.5},
		{rate, 0.0301, 0.04},
	} {
		if got := ceiling(c.unit, c.top); got < c.end*(1-1e-9) || got > c.end*(1+1e-9) {
			t.Errorf("%s: the axis of %g ends at %g, want %g", c.unit, c.top, got, c.end)
		}
	}
}

func TestNamesOfSeconds(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 2.5e-7: "0.25µs", 1e-6: "1µs", 0.00025: "250µs", 0.0009999: "1ms", 0.0042: "4.2ms", 0.9996: "1s", 1.234: "1.23s",
		59.96: "1m", 125.3: "2m5s", 3599.7: "1h", 5400: "1h30m", 86399: "1d", 183_600: "2d3h", 86400 * 1234: "1,234d",
	} {
		if got := nameOfSeconds(v); got != want {
			t.Errorf("%g s is called %q, want %q", v, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for text, want := range map[string]string{"1": "1", "999": "999", "1000": "1,000", "-100": "-100", "-1234567.25": "-1,234,567.25"} {
		if got := thousands(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestAxis(t *testing.T) {
	linear, log := axis{Low: 2, High: 4}, axis{Low: 1e-3, High: 10, Log: true}
	for _, c := range []struct {
		axis  axis
		value float64
		want  float64
	}{{linear, 2, 0}, {linear, 3, 0.5}, {linear, 4, 1}, {log, 1e-3, 0}, {log, 0.1, 0.5}, {log, 10, 1}, {log, 0, 0}} {
		if got := c.axis.at(c.value); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%g lies at %g, want %g", c.value, got, c.want)
		}
	}
}
