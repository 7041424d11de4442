package ecsched

import (
	"math/big"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// TestPrice compares prices with exact fractions, rounded to a millionth: they
// are equal, but for fractions next to the middle of two millionths.
func TestPrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.IntRange(1, 4).Draw(t, "kinds")
		digits := rapid.IntRange(1, bits.Len64(cluster.MaxQuantity-1)).Draw(t, "digits")
		quantity := func(low, high int64, name string) int64 { return rapid.Int64Range(low, high).Draw(t, name) }
		names := []string{"a", "b", "c", "d"}
		list := make([]cluster.Kind, kinds)
		for k := range list {
			list[k].Name = names[k]
		}
		s := cluster.NewState(list, nil)
		large, small := make(cluster.Vector, kinds), make(cluster.Vector, kinds)
		demand, used := make(cluster.Vector, kinds), make(cluster.Vector, kinds)
		for k := range kinds {
			large[k] = quantity(0, 1<<digits-1, "large")
			small[k] = quantity(0, large[k], "small")
			used[k] = quantity(0, small[k], "used")
			demand[k] = quantity(0, small[k]-used[k], "demand")
		}
		for _, e := range []cluster.Event{
			cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "large", Capacity: large}},
			cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "small", Capacity: small}},
			cluster.JobSubmitted{},
			cluster.ShapeDefined{Spec: cluster.Shape{Demand: used}},
			cluster.TaskSubmitted{Seq: 1},
			cluster.TaskFound{Seq: 1, Node: 1},
		} {
			if err := s.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
		for _, score := range []Score{DotProduct, MostLoaded} {
			var p prices
			p.measure(&s.View, score)
			weights, possible := p.weigh(demand, nil)
			if !possible || !p.fits(demand, 1) {
				t.Fatalf("%v does not fit where %v of %v is used", demand, used, small)
			}
			exact := new(big.Rat)
			for k, d := range demand {
				left, term := small[k]-used[k], new(big.Rat)
				switch {
				case d == 0:
				case score == DotProduct:
					term.Mul(big.NewRat(d, large[k]), big.NewRat(left, large[k]))
				default:
					term.SetFrac64(d, left)
				}
				exact.Add(exact, term)
			}
			exact.Mul(exact, big.NewRat(unit, 1))
			if got, want := -p.of(weights, 1), toNearest(exact); got != want && !nearMiddle(exact) {
				t.Fatalf("score %d: demand %v, left of %v used %v, largest %v: price %d, exactly %s millionths", score, demand, small, used, large, got, exact.FloatString(12))
			}
		}
	})
}

// toNearest rounds to the nearest whole number, the middle up.
func toNearest(x *big.Rat) int64 {
	twice := new(big.Int).Add(new(big.Int).Lsh(x.Num(), 1), x.Denom())
	return twice.Div(twice, new(big.Int).Lsh(x.Denom(), 1)).Int64()
}

// nearMiddle reports whether the number is within 2⁻²⁷ below the middle of two
// whole numbers.
func nearMiddle(x *big.Rat) bool {
	shifted := new(big.Rat).Add(x, big.NewRat(1, 1<<27))
	return toNearest(shifted) != toNearest(x) || toNearest(x) != toNearest(new(big.Rat).Sub(x, big.NewRat(1, 1<<27)))
}
