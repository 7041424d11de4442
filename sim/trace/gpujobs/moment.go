package gpujobs

import (
	"bytes"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file reads what several of the logs have: dates, and spans in seconds.

// wantDate is a date as logs of Slurm have it.
const wantDate = "a date such as 2020-06-09 18:41:01, perhaps with +08:00"

// Date reads a date and a time of day, perhaps with an offset from UTC, as the time since 1970.
func Date(row *trace.Row, field int) cluster.Time {
	at, ok := ParseDate(row.Text(field))
	if !ok {
		row.Fail(field, wantDate)
	}
	return at
}

// ParseDate reads 2020-06-09 18:41:01, with a T for the blank, and Z, +08:00 or a fraction of a second behind it. The fraction is left out.
func ParseDate(text []byte) (at cluster.Time, ok bool) {
	const form = "0000-00-00 00:00:00"
	if len(text) < len(form) {
		return 0, false
	}
	var n [6]int64
	part := 0
	for i, c := range text[:len(form)] {
		switch want := form[i]; {
		case want == '0' && c >= '0' && c <= '9':
			n[part] = n[part]*10 + int64(c-'0')
		case want == '0' || c != want && (want != ' ' || c != 'T'):
			return 0, false
		default:
			part++
		}
	}
	offset, ok := parseOffset(text[len(form):])
	if !ok || n[0] < 1970 || n[0] > 2200 || n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > 31 || n[3] > 23 || n[4] > 59 || n[5] > 60 {
		return 0, false
	}
	second := days(n[0], n[1], n[2])*86400 + n[3]*3600 + n[4]*60 + n[5] - offset
	return cluster.Time(second) * cluster.Second, true
}

// parseOffset reads what stands behind a time of day, in seconds east of UTC.
func parseOffset(text []byte) (seconds int64, ok bool) {
	if rest, fraction := bytes.CutPrefix(text, []byte(".")); fraction {
		text = bytes.TrimLeft(rest, "0123456789")
	}
	if len(text) == 0 || string(text) == "Z" {
		return 0, true
	}
	if len(text) != 6 || text[0] != '+' && text[0] != '-' || text[3] != ':' {
		return 0, false
	}
	for _, i := range [4]int{1, 2, 4, 5} {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
	}
	seconds = int64(text[1]-'0')*36000 + int64(text[2]-'0')*3600 + int64(text[4]-'0')*600 + int64(text[5]-'0')*60
	if text[0] == '-' {
		return -seconds, true
	}
	return seconds, true
}

// days is how many days lie between 1 January 1970 and a day of the Gregorian calendar, counted
// in years that begin with March, so that a leap day is the last.
func days(year, month, day int64) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 719_469
}

// Seconds reads a span in seconds, to the millisecond.
func Seconds(row *trace.Row, field int, want string) cluster.Time {
	const places = 3
	span := cluster.Time(row.Decimal(field, want, places, trace.Up)) * cluster.Millisecond
	if span > MostTime {
		row.Fail(field, want+", at most a hundred years")
	}
	return min(span, MostTime)
}

// Count reads a whole number up to most, such as 8 or, as tables with gaps print it, 8.0.
func Count(row *trace.Row, field int, want string, most int64) int64 {
	n := row.Decimal(field, want, 0, trace.Up)
	if n > most {
		row.Fail(field, want)
	}
	return min(n, most)
}

// State reads how a job of Slurm has ended: whether it failed, and whether it ended at all.
func State(row *trace.Row, field int) (fails, ended bool) {
	switch string(row.Text(field)) {
	case "COMPLETED", "CANCELLED":
		return false, true
	case "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY":
		return true, true
	case "SUSPENDED", "RUNNING", "PENDING":
		return false, false
	}
	row.Fail(field, "a state, such as COMPLETED, CANCELLED or FAILED")
	return false, false
}

// Share reads a number of GPUs with so many decimal places, in thousandths: a share of one, or whole ones, to which what is between
// two is rounded up.
func Share(row *trace.Row, field int, want string, places int) int64 {
	q := row.Decimal(field, want, places, trace.Up)
	if q > MostGPUs*Device {
		row.Fail(field, want)
		return 0
	}
	if q > Device {
		q = (q + Device - 1) / Device * Device
	}
	return q
}
