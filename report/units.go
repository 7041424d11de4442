package report

import (
	"fmt"
	"math"
	"strconv"

	"fairlead.dev/fairlead/cluster"
)

// Numbers for people: two or three digits that matter, in the unit that fits.
// Limits between units lie half a step of the smaller unit below the larger
// one, so that rounding never prints "60.0s" or "1000ms".

// humanDuration prints seconds: "250µs", "4.2ms", "340ms", "1.2s", "2m05s",
// "3h07m", "2d03h".
func humanDuration(seconds float64) string {
	t := cluster.Time(math.Round(seconds * float64(cluster.Second)))
	switch {
	case t == 0:
		return "0s"
	case t < cluster.Millisecond:
		return fmt.Sprintf("%dµs", int64(t))
	case t < 9950*cluster.Microsecond:
		return fmt.Sprintf("%.1fms", float64(t)/float64(cluster.Millisecond))
	case t < cluster.Second-cluster.Millisecond/2:
		return fmt.Sprintf("%.0fms", float64(t)/float64(cluster.Millisecond))
	case t < cluster.Minute-50*cluster.Millisecond:
		return fmt.Sprintf("%.1fs", t.Seconds())
	case t < cluster.Hour-cluster.Second/2:
		return pairOf(t, cluster.Minute, cluster.Second, "%dm%02ds")
	case t < cluster.Day-cluster.Minute/2:
		return pairOf(t, cluster.Hour, cluster.Minute, "%dh%02dm")
	default:
		return pairOf(t, cluster.Day, cluster.Hour, "%dd%02dh")
	}
}

// pairOf rounds t to the small unit and prints how many large and small units
// it has.
func pairOf(t, large, small cluster.Time, format string) string {
	n := (t + small/2) / small
	per := large / small
	return fmt.Sprintf(format, int64(n/per), int64(n%per))
}

// humanCount prints a whole number: "13,204".
func humanCount(x float64) string {
	text := strconv.FormatFloat(math.Abs(math.Round(x)), 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if math.Round(x) < 0 {
		text = "-" + text
	}
	return text
}

// Grouped prints a whole number with commas between its thousands: "13,204".
func Grouped[N int | int64](n N) string { return humanCount(float64(n)) }

// ShortTime prints a time in the largest unit that leaves it at least 1: "1.167m".
func ShortTime(t cluster.Time) string {
	for _, u := range []struct {
		size cluster.Time
		name string
	}{{cluster.Day, "d"}, {cluster.Hour, "h"}, {cluster.Minute, "m"}, {cluster.Second, "s"}, {cluster.Millisecond, "ms"}} {
		if t >= u.size {
			return fmt.Sprintf("%.4g%s", float64(t)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%dus", int64(t))
}

// humanRate prints events per second: "48,210", "3.4", and "-" for none.
func humanRate(x float64) string {
	switch {
	case x == 0:
		return "-"
	case x < 9.95:
		return fmt.Sprintf("%.1f", x)
	}
	return humanCount(x)
}

// humanBytes prints bytes in thousands of thousands: "512 B", "6.4 GB".
func humanBytes(x float64) string {
	if x < 999.5 {
		return fmt.Sprintf("%.0f B", x)
	}
	for _, unit := range []string{"kB", "MB", "GB", "TB", "PB"} {
		x /= 1000
		switch {
		case x < 9.95:
			return fmt.Sprintf("%.1f %s", x, unit)
		case x < 999.5 || unit == "PB":
			return humanCount(x) + " " + unit
		}
	}
	panic("report: bytes beyond all units")
}

// humanShare prints a fraction of 1 in percent: "63.2%".
func humanShare(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }
