package wide

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// exact is the number as math/big has it.
func (a Number) exact() *big.Int {
	n := new(big.Int).SetUint64(a.high)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(a.low))
}

// capped is the number as an int64, at most the largest.
func capped(n *big.Int) int64 {
	if n.IsInt64() {
		return n.Int64()
	}
	return math.MaxInt64
}

// TestNumbers compares with math/big.
func TestNumbers(t *testing.T) {
	from := func(least int64) *rapid.Generator[int64] {
		return rapid.OneOf(rapid.Int64Range(least, 9), rapid.Int64Range(least, math.MaxInt64), rapid.Int64Range(math.MaxInt64-9, math.MaxInt64))
	}
	rapid.Check(t, func(t *rapid.T) {
		x, y, z := from(0).Draw(t, "x"), from(0).Draw(t, "y"), from(0).Draw(t, "z")
		by, over := from(1).Draw(t, "by"), from(1).Draw(t, "over")
		a, b := Product(x, y), Product(y, z).Plus(Of(z))
		if want := new(big.Int).Mul(big.NewInt(x), big.NewInt(y)); a.exact().Cmp(want) != 0 {
			t.Fatalf("%d × %d = %v, want %v", x, y, a.exact(), want)
		}
		if want := new(big.Int).Add(a.exact(), b.exact()); a.Plus(b).exact().Cmp(want) != 0 {
			t.Fatalf("%v + %v = %v", a.exact(), b.exact(), a.Plus(b).exact())
		}
		difference := new(big.Int).Sub(a.exact(), b.exact())
		if difference.Sign() < 0 {
			difference.SetInt64(0)
		}
		if got := a.Minus(b).exact(); got.Cmp(difference) != 0 {
			t.Fatalf("%v − %v = %v, want %v", a.exact(), b.exact(), got, difference)
		}
		quotient, rest := new(big.Int).QuoRem(a.exact(), big.NewInt(by), new(big.Int))
		if got, _ := a.Over(by); got != capped(quotient) {
			t.Fatalf("%v / %d = %d, want %v", a.exact(), by, got, quotient)
		}
		if rest.Sign() > 0 {
			quotient.Add(quotient, big.NewInt(1))
		}
		if got := a.OverUp(by); got != capped(quotient) {
			t.Fatalf("%v / %d = %d rounded up, want %v", a.exact(), by, got, quotient)
		}
		twice, rest := new(big.Int).QuoRem(a.exact(), new(big.Int).Mul(big.NewInt(by), big.NewInt(over)), new(big.Int))
		if rest.Sign() > 0 {
			twice.Add(twice, big.NewInt(1))
		}
		if got := a.OverUp(by, over); got != capped(twice) {
			t.Fatalf("%v / %d / %d = %d rounded up, want %v", a.exact(), by, over, got, twice)
		}
		times := new(big.Int).Mul(b.exact(), big.NewInt(x))
		if times.BitLen() > 128 {
			times.Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
		}
		if got := b.Times(x); got.exact().Cmp(times) != 0 {
			t.Fatalf("%v × %d = %v, want %v", b.exact(), x, got.exact(), times)
		}
		scaled, factors := a.exact(), rapid.SliceOfN(from(0), 0, 4).Draw(t, "factors")
		for _, factor := range factors {
			scaled.Mul(scaled, big.NewInt(factor))
		}
		scaled.Quo(scaled, new(big.Int).Mul(big.NewInt(by), big.NewInt(over)))
		if got := a.Scaled(factors, by, over); got != capped(scaled) {
			t.Fatalf("%v × %v / %d / %d = %d, want %v", a.exact(), factors, by, over, got, scaled)
		}
		if want, _ := new(big.Float).SetInt(a.exact()).Float64(); math.Abs(a.Float()-want) > want*1e-15 {
			t.Fatalf("%v is about %v", a.exact(), a.Float())
		}
	})
}
