package worth

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestFitIsExact compares the fit of one kind with a division: as many as fit are whole, and with one
// quantity less there is not room for as many.
func TestFitIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		demand := rapid.Int64Range(1, 1<<45).Draw(rt, "demand")
		d := divisorOf(demand)
		check := func(left int64) {
			want := new(big.Int).Lsh(big.NewInt(left), fitBits)
			if want.Quo(want, big.NewInt(demand)); want.Cmp(new(big.Int).SetUint64(d.fit(left))) != 0 {
				rt.Fatalf("%d of %d: %d, want %v", demand, left, d.fit(left), want)
			}
		}
		check(rapid.Int64Range(0, 1<<46-1).Draw(rt, "left"))
		count := rapid.Int64Range(1, (1<<46-1)/demand).Draw(rt, "count")
		check(count * demand)
		check(count*demand - 1)
		if fit := d.fit(count*demand) >> fitBits; fit != uint64(count) {
			rt.Fatalf("%d times %d: %d", count, demand, fit)
		}
		if fit := d.fit(count*demand-1) >> fitBits; fit != uint64(count-1) {
			rt.Fatalf("not quite %d times %d: %d", count, demand, fit)
		}
	})
}
