package worth

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// BenchmarkWorth measures what room on a node is worth, with as many types as there may be.
func BenchmarkWorth(b *testing.B) {
	for _, kinds := range []int{2, 4} {
		b.Run(fmt.Sprintf("kinds=%d", kinds), func(b *testing.B) {
			source := rand.New(rand.NewPCG(1, 2))
			var types []typical
			for range mostTypes {
				var demand cluster.Vector
				for range kinds {
					demand = append(demand, 1+source.Int64N(1000))
				}
				types = append(types, typical{ask: ask{demand: demand}})
			}
			t := newTable(make([]cluster.Kind, kinds), types)
			for i := range t.weights {
				t.weights[i] = 1 + source.Uint64N(1<<16)
			}
			r, sum := room{left: make([]int64, kinds)}, uint64(0)
			for b.Loop() {
				for k := range r.left {
					r.left[k] = source.Int64N(2000)
				}
				sum += t.worth(1<<mostTypes-1, &r)
			}
			if sum == 0 {
				b.Fatal("nothing is worth anything")
			}
		})
	}
}
