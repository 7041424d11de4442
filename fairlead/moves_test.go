package fairlead

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// potential is what the cluster is worth as it stands, from scratch.
func potential(p *policy, s *cluster.View) (sum int64) {
	for n := range cluster.NodeID(s.NodeRows()) {
		if !s.NodeLive(n) {
			continue
		}
		sum += p.worth.Of(s, n)
		if p.surcharges.onPrice > 0 && len(s.TasksOn(n)) > 0 {
			sum -= p.surcharges.on(s, p.worth, n)
		}
		for _, t := range s.TasksOn(n) {
			task := s.Task(t)
			sum -= p.worth.ValueOf(s, task.Shape, p.surcharges.ofNode(s, task.Shape, p.surcharges.tierOf(&s.Classes()[task.Class]), n))
			for m := range cluster.NodeID(s.NodeRows()) {
				if !s.NodeLive(m) {
					continue
				}
				for _, other := range s.TasksOn(m) {
					o := s.Task(other)
					if other >= t || o.Job != task.Job || !alike(s, t, other) || !s.Job(task.Job).Service {
						continue
					}
					if m == n {
						sum -= p.worth.ValueOf(s, task.Shape, siblingPrice)
					}
					if zoneOf(s, n) == zoneOf(s, m) && zoneOf(s, 0) != "" {
						sum -= p.worth.ValueOf(s, task.Shape, heldPrice)
					}
				}
			}
		}
	}
	return sum
}

// zoneOf is the zone of a node; empty where it is in none.
func zoneOf(s *cluster.View, n cluster.NodeID) string {
	if labels := s.NodeSpec(n).Labels; len(labels) > 0 {
		return labels[0].Value
	}
	return ""
}

// TestMovesRaiseThePotential fills clusters, ends most of the tasks, and lets those that are left be moved: the potential rises with each move, by
// more than it loses, which can happen only so often. What is told of a move is by how much it rises.
func TestMovesRaiseThePotential(t *testing.T) {
	moved, emptied := 0, 0
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 7))
		price := int64(seed % 2 * 300)
		p := New(Options{Ties: book.Lowest, NodePrice: price}).(*policy)
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil), sched.Lane{Name: "all", Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		s := core.View()
		events := []cluster.Event{cluster.JobSubmitted{Name: "j"}, cluster.JobSubmitted{Job: 1, Name: "service", Service: true}}
		for n := range cluster.NodeID(12) {
			spec := cluster.NodeSpec{Name: fmt.Sprintf("n%d", n), Capacity: cluster.Vector{64, 64}, Tier: int32(n % 3)}
			if seed/4%2 == 1 && (seed/8%2 == 0 || n < 8) { // in half of them there are zones, and in half of these nodes that are in none
				spec.Labels = []cluster.Label{{Key: "topology.kubernetes.io/zone", Value: fmt.Sprintf("z%d", n/4)}}
			}
			events = append(events, cluster.NodeAdded{Node: n, Spec: spec})
		}
		for id := range cluster.ShapeID(6) {
			demand := cluster.Vector{1 + r.Int64N(8), 1 + r.Int64N(8)}
			demand[id%2] *= 3
			events = append(events, cluster.ShapeDefined{Shape: id, Spec: cluster.Shape{Demand: demand}})
		}
		for i := range 120 {
			job := cluster.JobID(seed / 2 % 2) // in every other pair of worlds all are one service
			events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i), Job: job, Shape: cluster.ShapeID(r.IntN(6))})
		}
		now := cluster.Time(0)
		var out []sched.Decision
		step := func() {
			t.Helper()
			if out, _, err = core.Step(now, events, out[:0]); err != nil {
				t.Fatal(err)
			}
			events = events[:0]
			for _, d := range out {
				if d.Kind == sched.Evict {
					events = append(events, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
				} else {
					events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
				}
			}
		}
		for step(); len(events) > 0; step() {
		}
		for i := range cluster.TaskID(120) { // also who waits, so that it is moves alone that are left
			if phase := s.Task(i).Phase; phase == cluster.Waiting || phase == cluster.Running && r.IntN(10) < 6 {
				events = append(events, cluster.TaskEnded{Task: i, Seq: s.Task(i).Seq})
			}
		}
		for rounds := 0; ; rounds++ {
			if rounds == 500 {
				t.Fatalf("seed %d: moving does not end", seed)
			}
			before, used := potential(p, s), busy(s)
			if len(events) > 0 { // those that end
				before = -1 << 62
			}
			p.moves.earned = movesKept * movesShare * int64(cluster.Hour) // so that it ends soon
			step()
			moves, gain := 0, int64(0)
			for len(events) > 0 {
				for _, d := range out {
					gain += d.Gain.Room
					if d.Kind == sched.Evict {
						if moves++; d.Purpose.Task != d.Task {
							t.Fatalf("seed %d: %d is evicted for %d", seed, d.Task, d.Purpose.Task)
						}
					}
				}
				step()
			}
			if after := potential(p, s); moves > 0 && after <= before {
				t.Fatalf("seed %d: %d moves let the potential fall from %d to %d", seed, moves, before, after)
			}
			if risen := p.worth.InNodes(potential(p, s) - before); moves > 0 && (gain-risen > int64(moves) || risen-gain > int64(moves)) { // rounded once each
				t.Fatalf("seed %d: of %d moves a gain of %d millionths of a node was told, and it was %d", seed, moves, gain, risen)
			}
			moved += moves
			emptied += max(used-busy(s), 0)
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
			if now = core.Wake(now); now == cluster.Never {
				break
			}
		}
	}
	if moved < 40 || emptied < 20 {
		t.Errorf("%d moves, %d nodes emptied: the worlds are too tame", moved, emptied)
	}
}

// busy is how many nodes have tasks.
func busy(s *cluster.View) (nodes int) {
	for n := range cluster.NodeID(s.NodeRows()) {
		if len(s.TasksOn(n)) > 0 {
			nodes++
		}
	}
	return nodes
}
