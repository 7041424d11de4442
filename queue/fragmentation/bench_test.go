package fragmentation_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
)

// BenchmarkWaste measures a node of eight GPUs by as many typical shapes as openb has.
func BenchmarkWaste(b *testing.B) {
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "gpu", PerUnit: 1000, Devices: true}}
	var typical []fragmentation.Typical
	var admits []bool
	for i := range int64(60) {
		typical = append(typical, fragmentation.Typical{Demand: cluster.Vector{1000 * (i % 13), 100 * (i % 11) * (1 + i%2*9)}, Tasks: int(60 - i)})
		admits = append(admits, i%9 > 0)
	}
	mix, left := fragmentation.NewMix(kinds, typical), &fragmentation.Left{CPU: 20_000, Devices: [][]int64{{1000, 1000, 400, 0, 300, 1000, 650, 0}}}
	for b.Loop() {
		mix.Waste(admits, left)
	}
}
