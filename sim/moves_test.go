package sim

import (
	"math"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// mover places tasks on the first node that takes them. At second 4 it tells the only run to leave: to run on the second node, or
// just so.
type mover struct {
	grantor
	evicts, done bool
}

func (m *mover) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	m.grantor.Plan(t, c, budget, out)
	s := t.View()
	switch at := 4 * cluster.Second; {
	case m.done:
	case s.Now() < at:
		out.Wake = at
	default:
		m.done = true
		a := sched.Action{Kind: sched.Evict, Attempt: s.Task(0).Attempt}
		out.Add(a)
		if !m.evicts {
			a.Kind, a.Node = sched.Place, 1
			out.Add(a)
		}
		out.Close()
	}
}

// TestMoves is of a task that works for 10 s on two cores, and has to leave its node at second 4. What it had done by then, 8 s of a core, is
// lost by a move if it moves and its work is lost by that. If it stays, and its node is lost at second 6, 12 s are lost, and not by a move.
func TestMoves(t *testing.T) {
	stays := Faults{EvictRefused: 900}
	for _, c := range []struct {
		name                  string
		world                 World
		evicts                bool
		decided, moved        int
		lost, byMoves, endsAt float64 // core × s, s
	}{
		{"lost", World{}, false, 1, 1, 8, 8, 14},
		{"kept", World{KeepWork: true}, false, 1, 1, 0, 0, 10},
		{"evicted", World{}, true, 0, 0, 8, 0, 14},
		{"stays", World{Seed: 1, Faults: stays}, false, 1, 0, 12, 0, 16},
	} {
		source := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
			{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{2}}},
			{What: trace.NodeAdded, Node: trace.Node{ID: 2, Capacity: cluster.Vector{2}}},
			{What: trace.TaskSubmitted, Task: trace.Task{Job: 1, JobTasks: 1, Demand: cluster.Vector{2}, Work: 10 * cluster.Second}},
		}}
		if c.world.Faults == stays {
			source.records = append(source.records, trace.Record{Time: 6 * cluster.Second, What: trace.NodeLost, Node: trace.Node{ID: 1}})
		}
		r, err := Run(Config{Source: source, Lanes: []sched.Lane{{Name: "mover", Policy: &mover{evicts: c.evicts}}}, World: c.world, Planner: Planner{Time: Zero}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		decided, byMoves := 0, 0.0
		if r.Moves != nil {
			decided, byMoves = r.Moves.Decided, 3600*float64(r.Moves.Lost["cpu"])
		}
		lost, ends := 3600*float64(r.Unserved.Lost["cpu"]), float64(r.TaskResponse.Max)
		if decided != c.decided || r.Tasks.Migrated != c.moved || (r.Moves == nil) != (c.decided == 0) {
			t.Errorf("%s: %d moves were decided and %d made, want %d and %d", c.name, decided, r.Tasks.Migrated, c.decided, c.moved)
		}
		if math.Abs(lost-c.lost) > 0.01 || math.Abs(byMoves-c.byMoves) > 0.01 || math.Abs(ends-c.endsAt) > 0.01 {
			t.Errorf("%s: %v s of a core were lost, %v by moves, and the task ends at %v; want %v, %v and %v", c.name, lost, byMoves, ends, c.lost, c.byMoves, c.endsAt)
		}
	}
}
