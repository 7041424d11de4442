package book

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestZones lets nodes come, change their zones and go by chance, and compares which are in the same zone with what they say of themselves.
func TestZones(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil)
	var z Zones
	const rows, names = 12, 5
	for round := range 2000 {
		n := cluster.NodeID(r.IntN(rows))
		spec := cluster.NodeSpec{Name: fmt.Sprint("n", n, "-", round), Capacity: cluster.Vector{1}}
		label := cluster.Label{Key: zoneLabel, Value: fmt.Sprint("z", r.IntN(names)+round/100)} // all names are new ones in the end
		switch r.IntN(3) {
		case 0:
			spec.Labels = []cluster.Label{{Key: "other", Value: "x"}, label}
		case 1:
			spec.Groups = []cluster.Label{label}
		}
		var e cluster.Event = cluster.NodeAdded{Node: n, Spec: spec}
		switch live := s.NodeLive(n); {
		case live && r.IntN(2) == 0:
			e = cluster.NodeLost{Node: n}
		case live:
			spec.Name = s.NodeSpec(n).Name
			e = cluster.NodeChanged{Node: n, Spec: spec}
		}
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
		z.Learn(&s.View, []cluster.NodeID{n})
		count := map[int32]int32{}
		for a := range cluster.NodeID(s.NodeRows()) {
			if !s.NodeLive(a) {
				continue
			}
			count[z.Of(a)]++
			for b := range a {
				if s.NodeLive(b) && (z.Of(a) == z.Of(b)) != (zoneOf(&s.View, a) == zoneOf(&s.View, b)) {
					t.Fatalf("round %d: nodes of %q and %q are in %d and %d", round, zoneOf(&s.View, a), zoneOf(&s.View, b), z.Of(a), z.Of(b))
				}
			}
			if (z.Of(a) == 0) != (zoneOf(&s.View, a) == "") {
				t.Fatalf("round %d: a node of zone %q is in %d", round, zoneOf(&s.View, a), z.Of(a))
			}
		}
		for zone := range z.Numbers() {
			if z.Has(zone) != (count[zone] > 0) {
				t.Fatalf("round %d: %d nodes are in zone %d, and some: %t", round, count[zone], zone, z.Has(zone))
			}
		}
		if z.Numbers() > rows+1 {
			t.Fatalf("%d numbers for %d nodes", z.Numbers(), rows)
		}
	}
	if z.Of(rows+5) != 0 {
		t.Error("a node that nobody has heard of is in a zone")
	}
}
