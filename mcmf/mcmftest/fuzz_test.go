package mcmftest

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/mcmf"
)

// tape is chance that a fuzzer decides, a byte for each decision. When it is at
// its end, a generator takes over: some generators wait for the right number.
type tape struct {
	bytes []byte
	rest  rand.PCG
}

func (t *tape) Uint64() uint64 {
	if len(t.bytes) == 0 {
		return t.rest.Uint64()
	}
	b := t.bytes[0]
	t.bytes = t.bytes[1:]
	return uint64(b) * 0x0101010101010101
}

func seeds(f *testing.F) {
	f.Helper()
	for seed := range uint64(10) {
		r := chance(97, seed)
		b := make([]byte, 20*seed)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		f.Add(b)
	}
}

// FuzzSolve lets all algorithms solve one small network.
func FuzzSolve(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		g := Oddity(rand.New(&tape{bytes: b}))
		status, cost := LeastCost(g)
		for _, algorithm := range append(mcmf.Algorithms(), mcmf.Automatic) {
			c := Clone(g)
			if err := agree(c, Named(algorithm)(c), status, cost); err != nil {
				t.Errorf("%s: %v\n%s", algorithm, err, Print(c))
			}
		}
	})
}

// FuzzChanges changes a small network again and again, and takes all back.
func FuzzChanges(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := rand.New(&tape{bytes: b})
		g := Oddity(r)
		first := Print(g)
		s := Named(mcmf.Automatic)(g)
		sequence := NewSequence(g, r)
		for batch := range 6 {
			status, cost := LeastCost(g)
			before := Print(g)
			if err := agree(g, s, status, cost); err != nil {
				t.Fatalf("batch %d: %v\n%s", batch, err, before)
			}
			if batch < 4 {
				sequence.Batch(1 + r.IntN(5))
			} else {
				sequence.Undo()
			}
		}
		if last := Print(g); first != last {
			t.Errorf("before\n%s\nafter all was taken back\n%s", first, last)
		}
	})
}
