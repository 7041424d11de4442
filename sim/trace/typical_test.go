package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// Shapes differ by cpu, devices and requirements, not by memory. The most
// frequent come first, of equals the one seen first, and the last is the one
// with which the share is reached.
func TestTypicalOf(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "memory"}, {Name: "gpu", PerUnit: 1000, Devices: true}}
	t4 := []cluster.Requirement{{Key: "gpu-model", Value: "T4"}}
	tasks := []Task{
		{Demand: cluster.Vector{1, 1, 500}},
		{Demand: cluster.Vector{2, 7, 0}},
		{Demand: cluster.Vector{2, 8, 0}, Requirements: t4},
		{Demand: cluster.Vector{4, 7, 0}},
		{Demand: cluster.Vector{2, 9, 0}},
	}
	for _, c := range []struct {
		percent int
		want    string
	}{
		{0, "2×[2 0 0][]"},
		{40, "2×[2 0 0][]"},
		{41, "2×[2 0 0][] 1×[1 0 500][]"},
		{80, "2×[2 0 0][] 1×[1 0 500][] 1×[2 0 0][gpu-model=T4]"},
		{100, "2×[2 0 0][] 1×[1 0 500][] 1×[2 0 0][gpu-model=T4] 1×[4 0 0][]"},
	} {
		var got []string
		for _, s := range TypicalOf(kinds, slices.Values(tasks), c.percent) {
			got = append(got, fmt.Sprintf("%d×%v%v", s.Tasks, s.Demand, s.Requirements))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%d %%: got %s, want %s", c.percent, text, c.want)
		}
	}
	if got := TypicalOf(kinds, slices.Values([]Task(nil)), 95); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
