package request

import (
	"math/big"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/document"
)

// This file reads and writes quantities: numbers in the unit of their kind, such as 0.5 cores
// or 1.5 GiB, or with a suffix as Kubernetes has them, 500m and 512Mi.

const gpu = "gpu"

// usualKinds are those of a file that names none. The last one is left out where nobody has or
// asks for any.
func usualKinds() []cluster.Kind {
	return []cluster.Kind{
		{Name: "cpu", Unit: "cores", PerUnit: 1000},
		{Name: "memory", Unit: "GiB", PerUnit: 1 << 30},
		{Name: gpu, Unit: "devices", PerUnit: 1000, Devices: true},
	}
}

// readKinds reads the kinds of a file that has its own.
func (r *reading) readKinds(v document.Value) {
	var kinds []cluster.Kind
	r.List(v, "kinds", func(v document.Value) {
		k := cluster.Kind{PerUnit: 1}
		given := r.Fields(v, []document.Field{
			{Name: "name", Read: func(v document.Value) { k.Name = r.Text(v) }},
			{Name: "unit", Read: func(v document.Value) { k.Unit = r.Text(v) }},
			{Name: "per_unit", Read: func(v document.Value) { k.PerUnit = r.Whole(v, 1, cluster.MaxQuantity) }},
			{Name: "devices", Read: func(v document.Value) { k.Devices = r.Bool(v) }},
		})
		if !given["name"] {
			r.Complain(v, "has no name")
		}
		if slices.ContainsFunc(kinds, func(other cluster.Kind) bool { return other.Name == k.Name }) {
			r.Complain(v, "there is a kind %s already", k.Name)
		}
		kinds = append(kinds, k)
	})
	if err := cluster.CheckKinds(kinds); err != nil {
		r.Complain(v, "%v", err)
	}
	if len(kinds) > 0 {
		r.Problem.Kinds = kinds
		r.ownKinds = true
	}
}

// vector reads quantities by kind; what is finer than a kind counts is rounded up or
// down.
func (r *reading) vector(v document.Value, up bool) cluster.Vector {
	kinds := r.Problem.Kinds
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	vector := make(cluster.Vector, len(kinds))
	r.Pairs(v, names[0], func(key, quantity document.Value) {
		k := slices.Index(names, key.Node.Value)
		if k < 0 {
			r.Complain(key, "unknown kind%s; %s", r.replaced(key.Node.Value), document.Meant(key.Node.Value, names))
			return
		}
		vector[k] = r.quantity(quantity, kinds[k], up)
		r.mentions[k] = true
	})
	return vector
}

// replaced says why a usual kind is unknown: the file has kinds of its own.
func (r *reading) replaced(name string) string {
	if !r.ownKinds || !slices.ContainsFunc(usualKinds(), func(k cluster.Kind) bool { return k.Name == name }) {
		return ""
	}
	return ", as \"kinds:\" replaces cpu, memory and gpu, and does not list it"
}

// suffixes are the parts and multiples that a quantity may be in, as shares of a unit; those
// of bytes go with kinds in GiB alone.
func suffixes() []suffix {
	return []suffix{
		{"m", big.NewRat(1, 1000), false},
		{"Ki", big.NewRat(1, 1<<20), true},
		{"Mi", big.NewRat(1, 1<<10), true},
		{"Gi", big.NewRat(1, 1), true},
		{"Ti", big.NewRat(1<<10, 1), true},
	}
}

type suffix struct {
	name  string
	unit  *big.Rat
	bytes bool
}

// quantity reads one quantity.
func (r *reading) quantity(v document.Value, kind cluster.Kind, up bool) int64 {
	text := r.Text(v)
	scale := big.NewRat(kind.PerUnit, 1)
	digits := text
	for _, s := range suffixes() {
		if rest, found := strings.CutSuffix(text, s.name); found && s.bytes == (kind.Unit == "GiB") {
			digits = strings.TrimSpace(rest)
			scale.Mul(scale, s.unit)
		}
	}
	number, ok := document.ParseDecimal(digits)
	if text == "" {
		return 0
	}
	if !ok || number.Sign() < 0 {
		r.Complain(v, "%q is not a quantity of %s, want a number%s such as 2 or 0.5", text, kind.Name, ofUnit(kind))
		return 0
	}
	number.Mul(number, scale)
	q, rest := new(big.Int).QuoRem(number.Num(), number.Denom(), new(big.Int))
	if up && rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() || q.Int64() > cluster.MaxQuantity {
		r.Complain(v, "%s is more %s than can be counted, %s%s", text, kind.Name, kind.Format(cluster.MaxQuantity), ofUnit(kind))
		return 0
	}
	return q.Int64()
}

// ofUnit is the unit with a word before it; empty if the kind has none.
func ofUnit(kind cluster.Kind) string {
	if kind.Unit == "" {
		return ""
	}
	return " of " + kind.Unit
}
