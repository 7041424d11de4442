package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Ticks: which values an axis names, and how. page.js has the same rules, for
// the part that a reader zooms into.

// tick is a place on an axis, with its name or none.
type tick struct {
	value float64
	name  string
}

// ticks returns about n ticks of an axis, rising.
func (a *axis) ticks(n int) []tick {
	if a.Log {
		return logTicks(a, n)
	}
	step := stepOf(a.Unit, (a.High-a.Low)/float64(n))
	var all []tick
	for i := math.Ceil(a.Low / step); i*step <= a.High*(1+1e-9); i++ {
		v := i * step
		all = append(all, tick{v, nameOf(a.Unit, v, step)})
	}
	return all
}

// logTicks returns every power of ten, and names at most n of them.
func logTicks(a *axis, n int) []tick {
	first := int(math.Ceil(math.Log10(a.Low) - 1e-9))
	last := int(math.Floor(math.Log10(a.High) + 1e-9))
	every := (last - first + n) / n
	var all []tick
	for p := first; p <= last; p++ {
		v, err := strconv.ParseFloat("1e"+strconv.Itoa(p), 64)
		if err != nil {
			panic("page: no number is 1e" + strconv.Itoa(p))
		}
		t := tick{value: v}
		if (p-first)%every == 0 {
			t.name = nameOf(a.Unit, v, v)
			if a.Unit == seconds && v >= 1 {
				t.name = thousands(strconv.FormatFloat(v, 'f', 0, 64)) + "s" // 100s, not 1m40s
			}
		}
		all = append(all, t)
	}
	return all
}

// The steps of clocks and calendars, in seconds.
const (
	minute = 60.0
	hour   = 60 * minute
	day    = 24 * hour
)

// stepOf returns the smallest round step that is at least raw.
func stepOf(u unit, raw float64) float64 {
	if u == seconds && raw > 1 {
		for _, s := range []float64{
			2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
			hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 5 * day,
		} {
			if s >= raw {
				return s
			}
		}
		return day * roundStep(raw/day)
	}
	if u == count {
		return math.Max(roundStep(raw), 1)
	}
	return roundStep(raw)
}

// roundStep returns the smallest of 1, 2, 5 × 10^k that is at least raw, which
// is positive.
func roundStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// ceiling returns the smallest round number that is at least v: where an axis
// from 0 that shows v may end. It is positive.
func ceiling(u unit, v float64) float64 {
	if v <= 0 {
		return 1
	}
	step := stepOf(u, v/5)
	return step * math.Ceil(v/step*(1-1e-9))
}

// nameOf prints v as one of the ticks that lie step apart.
func nameOf(u unit, v, step float64) string {
	switch u {
	case seconds:
		return nameOfSeconds(v)
	case share:
		return strconv.FormatFloat(100*v, 'f', decimals(100*step), 64) + "%"
	case count, rate:
		return thousands(strconv.FormatFloat(v, 'f', decimals(step), 64))
	}
	panic(fmt.Sprintf("page: there is no unit %q", u))
}

// decimals returns how many decimals tell multiples of step apart.
func decimals(step float64) int {
	return max(0, int(-math.Floor(math.Log10(step)+1e-9)))
}

// nameOfSeconds prints a duration in the one or two units that matter, to three
// digits below a minute: "250ms", "1h30m", "5d". Zero is "0".
func nameOfSeconds(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.9995e-3:
		return short(v*1e6) + "µs"
	case v < 0.9995:
		return short(v*1e3) + "ms"
	case v < 59.95:
		return short(v) + "s"
	case v < hour-0.5:
		return twoUnits(v, minute, "m", 1, "s")
	case v < day-minute/2:
		return twoUnits(v, hour, "h", minute, "m")
	}
	return twoUnits(v, day, "d", hour, "h")
}

// twoUnits prints v in large and small units, and leaves the small ones out
// where there are none.
func twoUnits(v, large float64, largeName string, small float64, smallName string) string {
	n, per := math.Round(v/small), large/small
	text := thousands(strconv.FormatFloat(math.Floor(n/per), 'f', 0, 64)) + largeName
	if rest := math.Mod(n, per); rest > 0 {
		text += strconv.FormatFloat(rest, 'f', 0, 64) + smallName
	}
	return text
}

// short prints v in at most three digits.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// thousands puts commas into the whole part of a printed number.
func thousands(text string) string {
	whole, fraction, found := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if found {
		return whole + "." + fraction
	}
	return whole
}
