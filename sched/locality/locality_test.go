package locality_test

import (
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/locality"
)

// TestFrom holds what a node, its rack and others have of an input against a count of each block by itself.
func TestFrom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil)
		apply := func(e cluster.Event) {
			if err := s.Apply(s.Now(), e); err != nil {
				rt.Fatal(err)
			}
		}
		nodes := rapid.IntRange(1, 6).Draw(rt, "nodes")
		racks := make([]string, nodes)
		var all []cluster.NodeID
		for n := range nodes {
			racks[n] = rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "rack")
			var groups []cluster.Label
			if racks[n] != "" {
				groups = []cluster.Label{{Key: "rack", Value: racks[n]}}
			}
			apply(cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: string(rune('m' + n)), Capacity: cluster.Vector{1}, Groups: groups}})
			all = append(all, cluster.NodeID(n))
		}
		var input []cluster.Block
		total := int64(0)
		for range rapid.IntRange(0, 4).Draw(rt, "blocks") {
			b := cluster.Block{Bytes: rapid.Int64Range(1, 9).Draw(rt, "bytes")}
			for i := range b.Replicas {
				b.Replicas[i] = cluster.NoNode
				if n := rapid.IntRange(0, nodes).Draw(rt, "replica"); n < nodes && (i == 0 || b.Replicas[0] != cluster.NodeID(n)) && (i < 2 || b.Replicas[1] != cluster.NodeID(n)) {
					b.Replicas[i] = cluster.NodeID(n)
				}
			}
			input, total = append(input, b), total+b.Bytes
		}
		apply(cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}})
		apply(cluster.JobSubmitted{Name: "j"})
		apply(cluster.TaskSubmitted{Input: input})
		var l locality.Locality
		l.Learn(&s.View, true, all)
		if got := l.Locate(&s.View, 0); got != total {
			rt.Fatalf("the input has %d bytes, want %d", got, total)
		}
		for n := range nodes {
			here, near := int64(0), int64(0)
			for _, b := range input {
				own, beside := false, false
				for _, r := range b.Replicas {
					own = own || r == cluster.NodeID(n)
					beside = beside || r != cluster.NoNode && racks[n] != "" && racks[r] == racks[n]
				}
				if own {
					here += b.Bytes
				}
				if own || beside {
					near += b.Bytes
				}
			}
			if rack, elsewhere := l.From(cluster.NodeID(n)); rack != near-here || elsewhere != total-near {
				rt.Fatalf("node %d fetches %d from its rack and %d from elsewhere, want %d and %d", n, rack, elsewhere, near-here, total-near)
			}
		}
	})
}
