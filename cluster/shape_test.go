package cluster_test

import (
	"math"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestNegativePerNode: such a limit would keep the tasks off every node, since each
// already holds more than so many of them. It is refused with what would be accepted.
func TestNegativePerNode(t *testing.T) {
	for _, most := range []int32{-1, math.MinInt32} {
		s := newCluster(t)
		spec := cluster.Shape{Demand: cluster.Vector{2, 1}, PerNode: most}
		err := s.Apply(0, cluster.ShapeDefined{Shape: 7, Spec: spec})
		if err == nil || !strings.Contains(err.Error(), "shape row 7: at most") || !strings.Contains(err.Error(), "want 1 or more, or 0 for no limit") {
			t.Errorf("%d a node: %v", most, err)
		}
		spec.PerNode = 0
		apply(t, s, 0, cluster.ShapeDefined{Shape: 7, Spec: spec}) // the row is still free
	}
}
