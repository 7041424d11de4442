package sim

import (
	"reflect"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// contests is 40 times the same contest on two nodes of one slot, one after the other: a task
// of low priority that wants 10 s, and 4 s later two of high priority, one of which needs its
// place.
func contests() *list {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}}
	for n := range uint64(2) {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: n, Capacity: cluster.Vector{1}}})
	}
	for i := range uint64(40) {
		for task := range uint32(3) {
			r := trace.Record{Time: cluster.Time(i) * cluster.Minute, What: trace.TaskSubmitted, Task: trace.Task{
				Job: i, Index: task, JobTasks: 3, Demand: cluster.Vector{1}, Work: 10 * cluster.Second,
			}}
			if task > 0 {
				r.Time += 4 * cluster.Second
				r.Task.Priority = 9
			}
			l.records = append(l.records, r)
		}
	}
	return l
}

// evidence is what faults leave behind.
type evidence struct {
	stale, orphans int64        // events that came late or twice, runs that began after they were given up
	again          int64        // placements beyond one a task and one after each loss of a place
	stayed         int64        // victims that were told to leave and did not
	lost           int          // places lost otherwise than to another task
	waited         cluster.Time // the longest time from submission to the first run
	foreign        int          // tasks that somebody else started
	down           int          // nodes that are not there at the end
	forNobody      int          // evictions without a placement
}

// suffer plays the contests in a world with these faults.
func suffer(t *testing.T, f Faults) evidence {
	t.Helper()
	s, err := newSimulation(Config{Source: contests(), Lanes: lane(t, "priority"), World: World{Seed: 1, Faults: f}, Planner: Planner{Time: Zero}, Until: cluster.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.play(); err != nil {
		t.Fatal(err)
	}
	s.conclude()
	c, tasks, state := s.planner.core.Counts(), &s.measures.outcomes.tasks, s.planner.view()
	var result report.Run
	s.measures.outcomes.result(nil, &result)
	return evidence{
		stale: c.Stale, orphans: c.Orphans, again: c.Placed - int64(tasks.Submitted) - int64(tasks.Evicted), stayed: c.Evicted - int64(tasks.Preempted),
		lost: tasks.Evicted - tasks.Preempted, waited: cluster.Time(float64(result.PlacementLatency.Max) * float64(cluster.Second)),
		foreign: int(s.tasks.seq) - tasks.Submitted, down: 2 - state.Totals().Nodes,
		forNobody: int(c.WithoutPlacement),
	}
}

// TestEveryFaultIsInjected: each fault alone leaves what only it can leave, and a world without
// faults leaves nothing.
func TestEveryFaultIsInjected(t *testing.T) {
	if got := suffer(t, Faults{}); got != (evidence{}) {
		t.Errorf("without faults: %+v", got)
	}
	second := cluster.Second
	injected := map[string]struct {
		faults Faults
		left   func(evidence) bool
	}{
		"NodeLoss":     {Faults{NodeLoss: 5 * cluster.Minute}, func(e evidence) bool { return e.lost > 0 }},
		"Down":         {Faults{NodeLoss: 5 * cluster.Minute, Down: 100 * cluster.Hour}, func(e evidence) bool { return e.lost > 0 && e.down == 2 }},
		"BindRefused":  {Faults{BindRefused: 500}, func(e evidence) bool { return e.again > 0 && e.orphans == 0 && e.forNobody > 0 }},
		"BindLate":     {Faults{BindLate: 500}, func(e evidence) bool { return e.again > 0 && e.orphans > 0 }},
		"EvictLate":    {Faults{EvictLate: 500}, func(e evidence) bool { return e.waited > 0 && e.stayed == 0 }},
		"Grace":        {Faults{EvictLate: 500, Grace: 3 * second}, func(e evidence) bool { return e.waited > 3*second }},
		"EvictRefused": {Faults{EvictRefused: 500}, func(e evidence) bool { return e.stayed > 0 }},
		"Twice":        {Faults{Twice: 500}, func(e evidence) bool { return e.stale > 0 && e.waited == 0 }},
		"Late":         {Faults{Late: 500}, func(e evidence) bool { return e.waited > 0 && e.again == 0 }},
		"Foreign":      {Faults{Foreign: 5 * cluster.Minute}, func(e evidence) bool { return e.foreign > 3 }},
	}
	all := reflect.TypeFor[Faults]()
	for i := range all.NumField() {
		name := all.Field(i).Name
		fault, ok := injected[name]
		if !ok {
			t.Errorf("nobody looks for the fault %s", name)
			continue
		}
		if reflect.ValueOf(fault.faults).Field(i).IsZero() {
			t.Errorf("%s: the fault is not set", name)
		}
		if got := suffer(t, fault.faults); !fault.left(got) {
			t.Errorf("%s was not injected: %+v", name, got)
		}
	}
}

// TestEvictionsForNobodyAreReported: victims of tasks whose binds are refused leave for nobody.
func TestEvictionsForNobodyAreReported(t *testing.T) {
	for refused, want := range map[int]bool{0: false, 500: true} {
		r, err := Run(Config{Source: contests(), Lanes: lane(t, "priority"), World: World{Seed: 1, Faults: Faults{BindRefused: refused}}, Planner: Planner{Time: Zero}, Until: cluster.Hour})
		if err != nil || r.Tasks.Preempted == 0 || r.Tasks.WithoutPlacement > 0 != want {
			t.Errorf("%d binds of 1000 are refused: of %d preempted runs %d left for nobody, %v", refused, r.Tasks.Preempted, r.Tasks.WithoutPlacement, err)
		}
	}
}
