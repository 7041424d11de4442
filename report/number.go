package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// Number is a measured value. In JSON it has at most six decimals, the
// microseconds of a duration, so that the last bits of a sum of floats do not
// show as differences between files.
type Number float64

// Seconds returns t as a Number.
func Seconds(t cluster.Time) Number { return Number(t.Seconds()) }

// Ratio returns part/whole, or 0 where whole is 0: the share held of a
// resource that no node has.
func Ratio(part, whole float64) Number {
	if whole == 0 {
		return 0
	}
	return Number(part / whole)
}

// MarshalJSON prints n as described at Number. NaN and infinities are errors,
// since JSON has no word for them.
func (n Number) MarshalJSON() ([]byte, error) {
	x := float64(n)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("report: a measured value is %v", x)
	}
	text := strconv.FormatFloat(x, 'f', 6, 64)
	text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	if text == "-0" {
		text = "0"
	}
	return []byte(text), nil
}
