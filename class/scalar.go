package class

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/document"
)

// This file reads single values: shares, times with units, levels, numbers. Shares and
// times are whole numbers of millionths and microseconds, and are read exactly: what
// is finer is refused, and nothing is rounded.

// share reads a share, from so many millionths to the most.
func (d *decoder) share(v document.Value, least, most cluster.Share) cluster.Share {
	text := d.Text(v)
	want := fmt.Sprintf("want 0 to %v", most)
	if least > 0 {
		want = fmt.Sprintf("want more than 0 and at most %v", most)
	}
	digits, percent := strings.CutSuffix(text, "%")
	share, ok := document.ParseDecimal(strings.TrimSpace(digits))
	if !ok {
		if text != "" {
			d.Complain(v, "%q is no share, want a number such as 0.9 or 90%%", text)
		}
		return least
	}
	if percent {
		share.Quo(share, big.NewRat(100, 1))
	}
	n, whole := millionths(share)
	switch {
	case share.Sign() < 0, n < int64(least) && whole, n > int64(most):
		d.Complain(v, "%s, %s", text, want)
	case !whole:
		d.Complain(v, "%s is finer than a millionth; round it to six digits behind the point", text)
	default:
		return cluster.Share(n)
	}
	return least
}

// money reads an amount.
func (d *decoder) money(v document.Value) Money {
	text := d.Text(v)
	amount, ok := document.ParseDecimal(text)
	if !ok {
		if text != "" {
			d.Complain(v, "%q is no amount, want a number such as 0.25", text)
		}
		return 0
	}
	switch n, whole := millionths(amount); {
	case amount.Sign() < 0, n > int64(mostPrice):
		d.Complain(v, "%s, want 0 to %d", text, mostPrice/One)
	case !whole:
		d.Complain(v, "%s is finer than a millionth; round it to six digits behind the point", text)
	default:
		return Money(n)
	}
	return 0
}

// millionths is a number in millionths, rounded down, and whether they are all of it; the
// largest there is if it is too large.
func millionths(r *big.Rat) (int64, bool) {
	scaled := new(big.Rat).Mul(r, big.NewRat(1_000_000, 1))
	n := new(big.Int).Quo(scaled.Num(), scaled.Denom())
	if !n.IsInt64() {
		return math.MaxInt64, true
	}
	return n.Int64(), scaled.IsInt()
}

// time reads a time with a unit.
func (d *decoder) time(v document.Value) cluster.Time {
	text := d.Text(v)
	t, err := parseTime(text)
	if err != nil && text != "" {
		d.Complain(v, "%q %v", text, err)
	}
	return t
}

// unit is a unit of time.
type unit struct {
	name string
	is   cluster.Time
}

// units are the units of time, the largest first.
func units() []unit {
	return []unit{
		{"d", cluster.Day},
		{"h", cluster.Hour},
		{"m", cluster.Minute},
		{"s", cluster.Second},
		{"ms", cluster.Millisecond},
		{"us", cluster.Microsecond},
		{"µs", cluster.Microsecond},
	}
}

// parseTime reads 90s, 1.5h or 1h30m. Its errors go behind the text.
func parseTime(text string) (cluster.Time, error) {
	if _, ok := document.ParseDecimal(text); ok {
		return 0, errors.New("has no unit, want a time such as 30s")
	}
	if joined := strings.Join(strings.Fields(text), ""); joined != text {
		if _, err := parseTime(joined); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("has a space in it; write %s", joined)
	}
	total := new(big.Rat)
	for rest := text; rest != "" || text == ""; {
		end := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if end <= 0 {
			return 0, errors.New("is no time, want one such as 30s, 10m or 1h30m")
		}
		number, ok := document.ParseDecimal(rest[:end])
		if !ok {
			return 0, errors.New("is no time, want one such as 30s, 10m or 1h30m")
		}
		rest = rest[end:]
		if end = strings.IndexFunc(rest, func(r rune) bool { return r >= '0' && r <= '9' || r == '.' }); end < 0 {
			end = len(rest)
		}
		size := cluster.Time(0)
		for _, u := range units() {
			if u.name == rest[:end] {
				size = u.is
			}
		}
		if size == 0 {
			return 0, fmt.Errorf("has an unknown unit %s; there are d, h, m, s, ms, us", rest[:end])
		}
		rest = rest[end:]
		total.Add(total, number.Mul(number, big.NewRat(int64(size), 1)))
	}
	switch {
	case total.Cmp(big.NewRat(int64(mostTime), 1)) > 0:
		return 0, fmt.Errorf("is more than %s", formatTime(mostTime))
	case !total.IsInt():
		return 0, errors.New("is finer than a microsecond")
	}
	return cluster.Time(total.Num().Int64()), nil
}

// mostTime is the longest time that a class may name, as in cluster.CheckClasses.
const mostTime = 1000 * 365 * cluster.Day

// formatTime writes a time so that parseTime reads the same.
func formatTime(t cluster.Time) string {
	if t == 0 {
		return "0s"
	}
	for _, u := range units() {
		if u.is == cluster.Second && t > u.is { // 2.4s, not 2400ms
			digits := strings.TrimRight(fmt.Sprintf("%d.%06d", t/u.is, t%u.is), "0")
			return strings.TrimSuffix(digits, ".") + u.name
		}
		if t%u.is == 0 {
			return strconv.FormatInt(int64(t/u.is), 10) + u.name
		}
	}
	return ""
}

// level reads a level, by its name or number.
func (d *decoder) level(v document.Value, names []string) cluster.Level {
	text := d.Text(v)
	for i, name := range names {
		if text == name || i < cluster.Levels && text == strconv.Itoa(i+1) {
			return cluster.Level(i%cluster.Levels + 1)
		}
	}
	if _, err := strconv.Atoi(text); err == nil {
		d.Complain(v, "%s, want a level from 1 to %d", text, cluster.Levels)
	} else if text != "" {
		d.Complain(v, "%q is no level; %s", text, document.Meant(text, names))
	}
	return 0
}

// kept reads what becomes of the work of a task that is evicted.
func (d *decoder) kept(v document.Value) bool {
	text := d.Text(v)
	if text != "lost" && text != "kept" && text != "" {
		d.Complain(v, "%q is not what becomes of work; %s", text, document.Meant(text, []string{"lost", "kept"}))
	}
	return text == "kept"
}

// number reads a number of at least 0.
func (d *decoder) number(v document.Value) float64 {
	text := d.Text(v)
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
	case err != nil || !(n >= 0 && n <= mostWeight):
		d.Complain(v, "%q, want a number from 0 to %d", text, int64(mostWeight))
	default:
		return n
	}
	return 1
}

// mostWeight keeps a slip of the finger from drowning all other weights.
const mostWeight = 1_000_000
