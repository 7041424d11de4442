package experiment

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/sim/trace"
)

// The moment of the most tasks: who leaves at the moment at which another comes is not counted
// with it.
func TestMoment(t *testing.T) {
	arrival := func(job uint64, at, work cluster.Time) trace.Record {
		return trace.Record{Time: at, What: trace.TaskSubmitted, Task: trace.Task{Job: job, Work: work}}
	}
	s := &snapshot{}
	s.most([]trace.Record{arrival(1, 0, 10), arrival(2, 2, 3), arrival(3, 5, cluster.Never), arrival(4, 6, 3), arrival(5, 10, 90)})
	var jobs []uint64
	for _, task := range s.tasks {
		jobs = append(jobs, task.Job)
		if task.Work != cluster.Never {
			t.Errorf("job %d still ends", task.Job)
		}
	}
	if !slices.Equal(jobs, []uint64{1, 3, 4}) {
		t.Errorf("jobs %v, want 1, 3 and 4", jobs)
	}
}

// What is posed is what was made up, and no placement that holds takes fewer nodes than the
// bound says.
func TestSnapshotAsProblem(t *testing.T) {
	limited := 0
	for seed := range uint64(8) {
		s := drawServices(40, seed)
		p := s.problem()
		a, _ := greedy.Serial().Solve(p)
		if err := constraint.Check(p, a); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		judged := constraint.Evaluate(p, a)
		if len(p.Containers) != len(s.tasks) || judged.Parts.Unplaced > 0 {
			t.Errorf("seed %d: %d containers of %d tasks, %d jobs are not placed", seed, len(p.Containers), len(s.tasks), judged.Parts.Unplaced)
		}
		if least := fewest(p); least < 1 || judged.Violated == 0 && judged.Parts.Used < int64(least) {
			t.Errorf("seed %d: %d nodes are in use, and the bound is %d", seed, judged.Parts.Used, least)
		}
		over, full := crowdedNodes(s, a)
		if (over > 0) != (judged.Violated > 0) {
			t.Errorf("seed %d: %d pairs of a node and a job over its limit, %d containers violate it", seed, over, judged.Violated)
		}
		limited += full
	}
	if limited == 0 {
		t.Error("no node is filled up to a limit, so this shows nothing")
	}
}

// crowdedNodes counts from the tasks, which stand in the order of the containers, on how many
// nodes there is more of a job than the strictest of its tasks there allows, and on how many there
// is as much.
func crowdedNodes(s *snapshot, a constraint.Assignment) (over, full int) {
	type pair struct {
		job  uint64
		node int32
	}
	on, limits := map[pair]int{}, map[pair]int{}
	for c, task := range slices.Concat(s.jobs()...) {
		at := pair{task.Job, a[c]}
		on[at]++
		if limit := int(task.PerNode); limit > 0 && (limits[at] == 0 || limit < limits[at]) {
			limits[at] = limit
		}
	}
	for at, count := range on {
		switch limit := limits[at]; {
		case limit > 0 && count > limit:
			over++
		case limit > 0 && count == limit:
			full++
		}
	}
	return over, full
}

// Room and limits bound the nodes, set by set where classes are confined to sets that do not
// overlap.
func TestFewest(t *testing.T) {
	s := &snapshot{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}}
	for n := range 10 {
		role := []string{"a", "b"}[n/5]
		s.nodes = append(s.nodes, trace.Node{ID: uint64(n), Name: string(rune('A' + n)), Capacity: cluster.Vector{8}, Labels: []cluster.Label{{Key: "role", Value: role}}})
	}
	add := func(job uint64, count int, demand int64, perNode int32, role string) {
		for i := range count {
			task := trace.Task{Job: job, Index: uint32(i), Demand: cluster.Vector{demand}, PerNode: perNode}
			if role != "" {
				task.Requirements = []cluster.Requirement{{Key: "role", Op: cluster.Equal, Value: role}}
			}
			s.tasks = append(s.tasks, task)
		}
	}
	add(1, 5, 4, 0, "a") // 20 of 8: three nodes
	add(2, 7, 1, 2, "b") // two on a node: four
	if got := fewest(s.problem()); got != 7 {
		t.Errorf("two sets: %d, want 3 and 4", got)
	}
	add(3, 1, 1, 0, "") // anywhere: 28 of 8 on the whole, and four for the limit
	if got := fewest(s.problem()); got != 4 {
		t.Errorf("sets that overlap: %d, want 4", got)
	}
}

// TestDLRMPlaced places the moment of the most instances of Alibaba's trace, and counts
// again that no node holds more of a service than an instance there allows; and it takes fewer
// nodes than best-fit does.
func TestDLRMPlaced(t *testing.T) {
	if testing.Short() {
		t.Skip("8,983 instances on 2,912 nodes take some seconds")
	}
	s := &snapshot{name: "DLRM"}
	if err := s.take(openDLRM(t)); err != nil {
		t.Fatal(err)
	}
	p := s.problem()
	a, _ := greedy.Serial().Solve(p)
	if err := constraint.Check(p, a); err != nil {
		t.Fatal(err)
	}
	judged := constraint.Evaluate(p, a)
	over, full := crowdedNodes(s, a)
	t.Logf("%d instances on %d nodes; no fewer than %d could do", len(a), judged.Parts.Used, fewest(p))
	if over > 0 || full < 100 {
		t.Errorf("%d times more of a service on a node than one of them allows, %d times as many; want 0 times, and often", over, full)
	}
	if len(a) != 8983 || judged.Violated > 0 || judged.Parts.Unplaced > 0 || judged.Parts.Used > 2600 || judged.Constrained < 1000 {
		t.Errorf("%d instances, %d under limits; %d violate, %d services are not placed, on %d nodes",
			len(a), judged.Constrained, judged.Violated, judged.Parts.Unplaced, judged.Parts.Used)
	}
}
