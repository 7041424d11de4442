package chosen

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// Time is a time as specs and flags have it, in the largest unit that leaves it whole.
type Time cluster.Time

// units of times, the largest first.
func units() []unit {
	return []unit{{"d", cluster.Day}, {"h", cluster.Hour}, {"m", cluster.Minute}, {"s", cluster.Second}, {"ms", cluster.Millisecond}, {"us", cluster.Microsecond}}
}

type unit struct {
	name string
	size cluster.Time
}

// String is the time as ParseTime reads it.
func (t Time) String() string {
	for _, u := range units() {
		if t != 0 && cluster.Time(t)%u.size == 0 {
			return strconv.FormatInt(int64(cluster.Time(t)/u.size), 10) + u.name
		}
	}
	return "0s"
}

// MarshalText is String.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what ParseTime does.
func (t *Time) UnmarshalText(text []byte) error {
	parsed, err := ParseTime(string(text))
	*t = Time(parsed)
	return err
}

// ParseTime reads a duration such as 90s, 10m, 2h, 29d or 1d12h.
func ParseTime(text string) (cluster.Time, error) {
	units := map[string]cluster.Time{"us": cluster.Microsecond, "µs": cluster.Microsecond, "ms": cluster.Millisecond, "s": cluster.Second, "m": cluster.Minute, "h": cluster.Hour, "d": cluster.Day}
	total, rest := 0.0, text
	for rest != "" {
		digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if digits <= 0 {
			return 0, fmt.Errorf("%q is not a time; write 90s, 10m, 2h, 29d or 1h30m", text)
		}
		value, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a time: %w", text, err)
		}
		rest = rest[digits:]
		end := strings.IndexFunc(rest, func(r rune) bool { return r >= '0' && r <= '9' })
		if end < 0 {
			end = len(rest)
		}
		unit, ok := units[rest[:end]]
		if !ok {
			return 0, fmt.Errorf("%q: unknown unit %q; there are us, ms, s, m, h, d", text, rest[:end])
		}
		total += value * float64(unit)
		rest = rest[end:]
	}
	if text == "" || total > float64(1<<60) {
		return 0, fmt.Errorf("%q is not a time; write 90s, 10m, 2h, 29d or 1h30m", text)
	}
	if total > 0 && total < 1 {
		return 0, fmt.Errorf("%q is less than a microsecond", text)
	}
	return cluster.Time(math.Round(total)), nil
}
