package cluster

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Time is a moment or a duration in microseconds; moments count from the
// start of the run.
type Time int64

// Units of Time.
const (
	Microsecond Time = 1
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute
	Day              = 24 * Hour

	// Never is later than every event.
	Never Time = math.MaxInt64
)

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// String prints t in seconds with only the digits it needs: "90.5s".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) + "s"
}

// Kind is one resource of a cluster: cpu, memory, slots, ports. The set of
// kinds is open and registered per cluster.
type Kind struct {
	Name string
	// Unit is what a person measures the kind in, such as "cores", "GiB" or
	// "of the largest node".
	Unit string
	// PerUnit is how many integer quantities make one Unit.
	PerUnit int64
	// Devices says that the kind comes in devices of one Unit each, such as
	// GPUs. A node has whole devices. A demand of at most a Unit is a share of
	// one device, a larger one is whole devices; see DeviceSet. Several kinds may.
	Devices bool
}

// MaxKinds is how many kinds a recording can hold. A world whose kinds are
// whatever somebody offers keeps within it.
const MaxKinds = 1000

// CheckKinds says why no cluster can have these kinds.
func CheckKinds(kinds []Kind) error {
	for _, k := range kinds {
		if k.Devices && k.PerUnit < 1 {
			return fmt.Errorf("kind %s comes in devices of %d, want at least 1", k.Name, k.PerUnit)
		}
	}
	if count := len(DeviceKinds(kinds)); count > MaxDevices {
		return fmt.Errorf("%d kinds come in devices, of which a node may have %d: want at most as many kinds", count, MaxDevices)
	}
	return nil
}

// ExclusiveUnit is the unit of kinds of which a node has one, and who takes it has it alone, such as a port of its.
const ExclusiveUnit = "ports"

// Exclusive reports whether the kind is such: how much is left of it is no number for people.
func (k Kind) Exclusive() bool { return k.Unit == ExclusiveUnit }

// Format prints the quantity q in the kind's unit, without the unit's name.
func (k Kind) Format(q int64) string {
	if k.PerUnit <= 1 {
		return strconv.FormatInt(q, 10)
	}
	return strconv.FormatFloat(float64(q)/float64(k.PerUnit), 'f', -1, 64)
}

// Rounded is Format for people: with three digits behind the point at most, but for what is small.
func (k Kind) Rounded(q int64) string {
	text := k.Format(q)
	if _, fraction, _ := strings.Cut(text, "."); len(fraction) <= 3 {
		return text
	}
	units := float64(q) / float64(k.PerUnit)
	if math.Abs(units) < 0.1 { // a mebibyte is not nothing
		return strconv.FormatFloat(units, 'g', 2, 64)
	}
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(units, 'f', 3, 64), "0"), ".")
}

// Amount is Rounded with the unit, where a number alone does not say what it is: bytes are counted in more than one.
func (k Kind) Amount(q int64) string {
	if unit := k.SaidUnit(); unit != "" {
		return k.Rounded(q) + " " + unit
	}
	return k.Rounded(q)
}

// SaidUnit is the unit that people are told with a number; empty where the name of the kind says it, as of cores and devices.
func (k Kind) SaidUnit() string {
	if k.Unit == "GiB" {
		return k.Unit
	}
	return ""
}

// MaxQuantity is the largest quantity of one kind on one node or in one task.
// It leaves room for sums over a hundred thousand nodes.
const MaxQuantity = 1 << 45

// Vector holds a quantity for each kind of a cluster, in the order in which
// the kinds were registered. Quantities are integers: readers round demand up
// and capacity down.
type Vector []int64

// Fits reports whether v is at most room in every kind.
func (v Vector) Fits(room Vector) bool {
	for k, q := range v {
		if q > room[k] {
			return false
		}
	}
	return true
}

// FractionBits is the number of binary digits behind the point of a Fraction.
const FractionBits = 28

// Fraction returns part/whole in fixed point with FractionBits binary digits,
// rounded down; it is 0 where whole is 0 and negative parts count as 0. It is
// exact integer arithmetic, so that scores are the same on every machine.
func Fraction(part, whole int64) int64 {
	if whole <= 0 || part <= 0 {
		return 0
	}
	if part < 1<<(63-FractionBits) {
		return (part << FractionBits) / whole
	}
	hi, lo := bits.Mul64(uint64(part), 1<<FractionBits)
	if hi >= uint64(whole) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(min(q, math.MaxInt64))
}
