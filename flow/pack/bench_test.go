package pack_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/flow/pack"
)

// BenchmarkPack packs about twelve tasks onto each of 12,500 nodes, of which each
// has something else left or all are empty.
func BenchmarkPack(b *testing.B) {
	for _, taskGroups := range []int{16, 100, 1000} {
		for _, equal := range []bool{false, true} {
			b.Run(fmt.Sprintf("nodes=12500/groups=%d/equal=%v", taskGroups, equal), func(b *testing.B) {
				in := manyNodes(12500, taskGroups, equal)
				var p pack.Packer
				var out pack.Packing
				run(&p, in, &out)
				for b.Loop() {
					run(&p, in, &out)
				}
				tasks := 0
				for c, left := range out.Left() {
					tasks += int(in.Count[c] - left)
				}
				b.ReportMetric(float64(tasks), "tasks")
				b.ReportMetric(float64(out.Types()), "types")
				b.ReportMetric(float64(out.Ticks), "ticks")
			})
		}
	}
}

// manyNodes is an input of three kinds in which not all tasks fit.
func manyNodes(nodes, taskGroups int, equal bool) *pack.Input {
	random := rand.New(rand.NewPCG(1, 2))
	in := &pack.Input{Kinds: 3}
	for range nodes {
		for range in.Kinds {
			room := int64(64_000)
			if !equal {
				room = room * (250 + random.Int64N(751)) / 1000
			}
			in.Room = append(in.Room, room)
		}
	}
	for range taskGroups {
		for range in.Kinds {
			in.Demand = append(in.Demand, 500<<random.IntN(5)+random.Int64N(500))
		}
		in.Count = append(in.Count, int32(20*nodes/taskGroups))
		in.Price = append(in.Price, 4000)
	}
	return in
}
