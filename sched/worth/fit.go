package worth

import (
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file counts how many more tasks of a type there is room for.

const (
	// fitBits are the binary digits behind the point of a fit.
	fitBits = 16
	// mostFit bounds fits: more than 2¹⁰ tasks of a type on a node are as good as 2¹⁰.
	mostFit = 1 << (10 + fitBits)
	// whole is by how much one that is whole is better than one that is not: of what is behind
	// the point of a fit a fifth does not count.
	whole = 5
)

// divisor divides what is left of a kind by what a type asks for. A division takes ten times as long
// as this, and there is one for each kind of each type whenever a node is priced.
type divisor struct {
	by    uint64
	none  uint64 // all digits of a type that does not ask for the kind: so many fit
	shift uint8
}

// divisorOf divides by a demand.
func divisorOf(demand int64) divisor {
	if demand == 0 {
		return divisor{none: 1<<64 - 1}
	}
	// The quotient of q·2¹⁶ and the demand is that of q·2¹⁷ and twice the demand, which is
	// between two powers of two, 2ⁿ⁻¹ and 2ⁿ. Multiplied by 2⁶³⁺ⁿ over that, rounded up, it is
	// exact for q below 2⁴⁶: the error is less than what is missing to the next number.
	double := 2 * uint64(demand)
	n := bits.Len64(double - 1)
	by, rest := bits.Div64(1<<(n-1), 0, double)
	if rest > 0 {
		by++
	}
	return divisor{by: by, shift: uint8(n - 1)}
}

// fit is how often the demand is in so much, which is at least 0.
func (d *divisor) fit(left int64) uint64 {
	high, _ := bits.Mul64(shifted(left), d.by)
	return high>>(d.shift&63) | d.none
}

// shifted is a quantity as divisors take it.
func shifted(left int64) uint64 {
	const most = 1<<46 - 1
	return uint64(min(left, most)) << (fitBits + 1)
}

// table is the types as prices are worked out by them: kind by kind, type by type.
type table struct {
	types     []typical
	weights   []uint64 // by type
	columns   []column
	onDevices []int32 // types that ask for devices
	smallest  int64   // size of a type; 0 if there is none
	scratch   fits    // of worth
}

// column is the divisors of a kind that does not come in devices, by type.
type column struct {
	kind     int
	divisors []divisor
}

// newTable is a table of types that have no weight yet.
func newTable(kinds []cluster.Kind, types []typical) table {
	t := table{types: types, weights: make([]uint64, len(types))}
	for k := range kinds {
		if kinds[k].Devices {
			continue
		}
		column := column{kind: k}
		for i := range types {
			column.divisors = append(column.divisors, divisorOf(types[i].demand[k]))
		}
		t.columns = append(t.columns, column)
	}
	for i := range types {
		if t.smallest == 0 || types[i].size < t.smallest {
			t.smallest = types[i].size
		}
		if len(types[i].needs) > 0 {
			t.onDevices = append(t.onDevices, int32(i))
		}
	}
	return t
}

// asks reports whether some type asks for the kind.
func (t *table) asks(kind int) bool {
	return slices.ContainsFunc(t.types, func(a typical) bool { return a.demand[kind] > 0 })
}

// room is what is left on a node.
type room struct {
	left []int64 // by kind, at least 0; of kinds that come in devices it does not count
	free []int64 // of each device, by place, at least 0
}

// fits is by type how many more tasks have room on a node.
type fits [mostTypes]uint64

// fit fills in how many more tasks of each type have room there.
func (t *table) fit(r *room, fits *fits) {
	fitColumns(t.columns, r, fits[:len(t.types)])
	for _, i := range t.onDevices {
		for k := range t.types[i].needs {
			fits[i] = min(fits[i], devicesFit(&t.types[i].needs[k], r.free))
		}
	}
}

// fitColumns fills in how many more tasks of each type have room by these kinds.
func fitColumns(columns []column, r *room, fits []uint64) {
	for i := range fits {
		fits[i] = mostFit
	}
	for c := range columns {
		left := shifted(r.left[columns[c].kind])
		divisors := columns[c].divisors[:len(fits)]
		for i := range divisors {
			d := &divisors[i]
			high, _ := bits.Mul64(left, d.by)
			fits[i] = min(fits[i], high>>(d.shift&63)|d.none)
		}
	}
}

// devicesFit is for how many more tasks there are devices. Shares that are left of several devices
// are not one.
func devicesFit(need *cluster.DeviceNeed, free []int64) uint64 {
	shares := int64(0)
	for place, q := range free {
		if q >= need.Share && need.Places.Has(place) {
			shares += q / need.Share
		}
	}
	return uint64(shares) << fitBits / uint64(need.Count)
}

// worth is what so much room is worth on a node that takes tasks of these types.
func (t *table) worth(admits uint64, r *room) uint64 {
	if len(t.onDevices) > 0 || len(t.columns) == 0 {
		t.fit(r, &t.scratch)
		sum := uint64(0)
		for i, weight := range t.weights {
			sum += (weight & -(admits >> i & 1)) * counts(t.scratch[i])
		}
		return sum
	}
	// The sum is made while the last kind is looked at: this is what most of a decision consists of.
	last := &t.columns[len(t.columns)-1]
	weights := t.weights
	fits := t.scratch[:len(weights)]
	fitColumns(t.columns[:len(t.columns)-1], r, fits)
	divisors := last.divisors[:len(weights)]
	left, sum := shifted(r.left[last.kind]), uint64(0)
	for i, weight := range weights {
		d := &divisors[i]
		high, _ := bits.Mul64(left, d.by)
		fit := min(fits[i], high>>(d.shift&63)|d.none)
		sum += (weight & -(admits & 1)) * counts(fit)
		admits >>= 1
	}
	return sum
}

// counts is what of a fit counts: less a fifth of what is behind the point.
func counts(fit uint64) uint64 { return fit - uint64(uint16(fit)/whole) }

// worthOf is what room for so many tasks of one type is worth on such a node.
func (t *table) worthOf(i int, admits, fit uint64) uint64 {
	return (t.weights[i] & -(admits >> i & 1)) * counts(fit)
}
