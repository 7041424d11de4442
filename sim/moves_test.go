package sim

import (
	"math"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// mover places tasks on the first node that takes them. At second 4 it tells the runs of some to move to a node, all together, and
// those of others just to leave. Of the moves it says what they gain.
type mover struct {
	grantor
	moves, leave []cluster.TaskID
	to           cluster.NodeID
	done         bool
	gains        sched.Gain // of these moves
}

func (m *mover) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	m.grantor.Plan(t, c, budget, out)
	s := t.View()
	if at := 4 * cluster.Second; m.done || s.Now() < at {
		if !m.done {
			out.Wake = at
		}
		return
	}
	m.done = true
	for _, task := range m.moves {
		a := sched.Action{Kind: sched.Evict, Task: task, Attempt: s.Task(task).Attempt}
		out.Add(a)
		a.Kind, a.Node = sched.Place, m.to
		out.Add(a)
	}
	out.Gains(m.gains)
	out.Close()
	for _, task := range m.leave {
		out.Add(sched.Action{Kind: sched.Evict, Task: task, Attempt: s.Task(task).Attempt})
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
		policy := &mover{moves: []cluster.TaskID{0}, to: 1}
		if c.evicts {
			policy.moves, policy.leave = nil, policy.moves
		}
		r, err := Run(Config{Source: source, Lanes: []sched.Lane{{Name: "mover", Policy: policy}}, World: c.world, Planner: Planner{Time: Zero}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		decided, byMoves := 0, 0.0
		if r.Moves != nil {
			decided, byMoves = r.Moves.Decided, 3600*float64(r.Moves.Lost["cpu"])
		}
		lost, ends := 3600*float64(r.Unserved.Lost["cpu"]), float64(r.TaskResponse.Max)
		if r.Moves != nil && r.Moves.Gain != nil {
			t.Errorf("%s: a policy that says nothing of gains has %+v", c.name, r.Moves.Gain)
		}
		if decided != c.decided || r.Tasks.Migrated != c.moved || (r.Moves == nil) != (c.decided == 0) {
			t.Errorf("%s: %d moves were decided and %d made, want %d and %d", c.name, decided, r.Tasks.Migrated, c.decided, c.moved)
		}
		if math.Abs(lost-c.lost) > 0.01 || math.Abs(byMoves-c.byMoves) > 0.01 || math.Abs(ends-c.endsAt) > 0.01 {
			t.Errorf("%s: %v s of a core were lost, %v by moves, and the task ends at %v; want %v, %v and %v", c.name, lost, byMoves, ends, c.lost, c.byMoves, c.endsAt)
		}
	}
}

// TestMovesFreeNodes is of three nodes of four cores. Two tasks of two cores have the first, of which one ends at second 3, and two of one core the
// second. When these two move at second 4, they free a node if they go to the first, and open another one if they go to the third, or to the first when
// who was there has just left, without moving.
func TestMovesFreeNodes(t *testing.T) {
	for _, c := range []struct {
		to    cluster.NodeID
		leave []cluster.TaskID
		want  int
	}{{0, nil, 1}, {2, nil, 0}, {0, []cluster.TaskID{0}, 0}} {
		source := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}}
		for i := range uint64(3) {
			source.records = append(source.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: i, Capacity: cluster.Vector{4}}})
		}
		for i, works := range []cluster.Time{20, 3, 20, 20} {
			source.records = append(source.records, trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
				Job: uint64(i), JobTasks: 1, Demand: cluster.Vector{2 - int64(i/2)}, Work: works * cluster.Second,
			}})
		}
		policy := &mover{moves: []cluster.TaskID{2, 3}, leave: c.leave, to: c.to, gains: sched.Gain{Room: -2_500_000, Violations: 2, Served: 1}}
		r, err := Run(Config{Source: source, Lanes: []sched.Lane{{Name: "mover", Policy: policy}}, Planner: Planner{Time: Zero}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Moves == nil || r.Moves.Decided != 2 || r.Tasks.Migrated != 2 || r.Moves.Freed != c.want {
			t.Errorf("to node %d, while %v leave: %+v, %d moved, want two moves that free %d nodes", c.to, c.leave, r.Moves, r.Tasks.Migrated, c.want)
		}
		if want := (report.Gain{Nodes: -2.5, Violations: 2, Served: 1}); r.Moves.Gain == nil || *r.Moves.Gain != want {
			t.Errorf("to node %d: the gain of both is %+v, want that of their bundle, once: %+v", c.to, r.Moves.Gain, want)
		}
	}
}
