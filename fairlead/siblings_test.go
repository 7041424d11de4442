package fairlead

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// TestSiblingsCheapest lets services come to clusters by chance, task by task, and looks at all nodes for each of them: where it went it
// costs least, counted from scratch, with the price for each of its siblings there, and in its zone: half of the clusters have three, and a node
// in none.
func TestSiblingsCheapest(t *testing.T) {
	apart, together, moved, zoned := 0, 0, 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 11))
		p := New(Options{Ties: book.Lowest, Without: WithoutMoves}).(*policy)
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil), sched.Lane{Name: "all", Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		s, nodes := core.View(), cluster.NodeID(2+r.IntN(12))
		var events []cluster.Event
		for n := range nodes {
			spec := cluster.NodeSpec{Name: fmt.Sprintf("n%d", n), Capacity: cluster.Vector{20 + r.Int64N(40), 20 + r.Int64N(40)}}
			if seed%2 == 1 && n > 0 {
				spec.Labels = []cluster.Label{{Key: "topology.kubernetes.io/zone", Value: fmt.Sprintf("z%d", n%3)}}
			}
			events = append(events, cluster.NodeAdded{Node: n, Spec: spec})
		}
		const jobs, shapes = 5, 3
		for j := range cluster.JobID(jobs) {
			events = append(events, cluster.JobSubmitted{Job: j, Name: fmt.Sprintf("j%d", j), Service: j > 0})
		}
		for id := range cluster.ShapeID(shapes) {
			events = append(events, cluster.ShapeDefined{Shape: id, Spec: cluster.Shape{Demand: cluster.Vector{1 + r.Int64N(6), 1 + r.Int64N(6)}}})
		}
		for i := range cluster.TaskID(60) {
			events = append(events, cluster.TaskSubmitted{Task: i, Seq: cluster.Seq(i), Job: cluster.JobID(r.IntN(jobs)), Shape: cluster.ShapeID(r.IntN(shapes))})
			out, _, err := core.Step(cluster.Time(i), events, nil)
			if err != nil {
				t.Fatal(err)
			}
			events = events[:0]
			for _, d := range out {
				events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
			}
			if found := &p.surcharges.siblings; len(found.inZone) > 0 && fewestInZone(found) != 0 {
				t.Fatalf("seed %d: of task %d the zone with the fewest siblings counts as %d, as of %v", seed, i, fewestInZone(found), found.inZone)
			}
			if len(out) != 1 || out[0].Task != i {
				continue // it found no place
			}
			before, err := sched.Without(s, i)
			if err != nil {
				t.Fatal(err)
			}
			price := func(n cluster.NodeID) int64 {
				base := p.surcharges.ofPlace(&before.View, p.worth, s.Task(i).Shape, 0, n)
				return base + siblingPrice*scratchSiblings(&before.View, i, n) + zonePrice*cube(scratchZone(&before.View, i, n))
			}
			taken := price(out[0].Node)
			for n := range nodes {
				if before.Admits(i, n).Refused() {
					continue
				}
				if other := price(n); other < taken {
					t.Fatalf("seed %d: task %d of job %d went to node %d for %d, and node %d costs %d", seed, i, s.Task(i).Job, out[0].Node, taken, n, other)
				}
			}
			if scratchZone(&before.View, i, out[0].Node) == 0 && scratchSiblings(&before.View, i, cluster.NoNode) > 0 && seed%2 == 1 {
				zoned++
			}
			switch own := scratchSiblings(&before.View, i, out[0].Node); {
			case own > 0:
				together++
			case scratchSiblings(&before.View, i, cluster.NoNode) > 0:
				apart++
			}
			if r.IntN(4) == 0 { // somebody ends
				if ends := cluster.TaskID(r.IntN(int(i) + 1)); s.Task(ends).Phase == cluster.Running {
					events = append(events, cluster.TaskEnded{Task: ends, Seq: s.Task(ends).Seq})
					moved++
				}
			}
		}
	}
	if apart < 500 || together < 50 || moved < 200 || zoned < 200 {
		t.Errorf("%d tasks apart from siblings, %d beside some, %d ended, %d in the zone with the fewest: the worlds are too tame", apart, together, moved, zoned)
	}
}

// fewestInZone is how many count in the zone that has the fewest.
func fewestInZone(b *siblings) int64 {
	fewest := int64(mostSiblings)
	for zone := range b.zones.Numbers() {
		if b.zones.Has(zone) {
			fewest = min(fewest, b.inZone[zone])
		}
	}
	return fewest
}

// scratchSiblings counts the tasks of the same service on the node; on all of them for NoNode.
func scratchSiblings(s *cluster.View, t cluster.TaskID, on cluster.NodeID) (count int64) {
	for n := range cluster.NodeID(s.NodeRows()) {
		if on != cluster.NoNode && n != on || !s.Job(s.Task(t).Job).Service {
			continue
		}
		for _, other := range s.TasksOn(n) {
			if o := s.Task(other); other != t && o.Job == s.Task(t).Job && o.Shape == s.Task(t).Shape {
				count++
			}
		}
	}
	return count
}

// scratchZone is how many more tasks of the same service are in the node's zone than in the one with the fewest; 0 where there are no two. Nodes
// in none are one.
func scratchZone(s *cluster.View, t cluster.TaskID, on cluster.NodeID) int64 {
	count := map[string]int64{}
	for n := range cluster.NodeID(s.NodeRows()) {
		count[zoneOf(s, n)] += scratchSiblings(s, t, n)
	}
	least := count[zoneOf(s, on)]
	for _, c := range count {
		least = min(least, c)
	}
	return count[zoneOf(s, on)] - least
}
