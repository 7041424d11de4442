package world

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// Pods are of one shape if the core need not tell them apart: each of these differs from all others.
func TestShapesDiffer(t *testing.T) {
	all := []shape{
		{demand: cluster.Vector{1}},
		{demand: cluster.Vector{2}},
		{demand: cluster.Vector{1}, most: cluster.Vector{2}},
		{demand: cluster.Vector{1}, apart: 1},
		{demand: cluster.Vector{1}, apart: 2},
		{demand: cluster.Vector{1}, never: true},
		{demand: cluster.Vector{1}, tags: []string{"a"}},
		{demand: cluster.Vector{1}, tags: []string{"a", "b"}},
		{demand: cluster.Vector{1}, tags: []string{`a"#"b`}},
	}
	known := map[string]int{}
	for i := range all {
		for set := range cluster.SetID(2) {
			key := shapeKey(set, &all[i])
			if other, is := known[key]; is {
				t.Errorf("shapes %d and %d have the key %s", other, i, key)
			}
			known[key] = i
		}
	}
}
