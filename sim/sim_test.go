package sim

import (
	"io"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// list is a source of records that are held in memory.
type list struct {
	kinds   []cluster.Kind
	records []trace.Record
}

func (l *list) Kinds() []cluster.Kind { return l.kinds }
func (l *list) Close() error          { return nil }
func (l *list) Next(r *trace.Record) error {
	if len(l.records) == 0 {
		return io.EOF
	}
	*r, l.records = l.records[0], l.records[1:]
	return nil
}

// story is a cluster of nodes of 4 cpu and tasks of 1 cpu that arrive one a
// second and run for ten.
func story(nodes, tasks int) *list {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1}}}
	for i := range nodes {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(i), Capacity: cluster.Vector{4}}})
	}
	for i := range tasks {
		l.records = append(l.records, trace.Record{Time: cluster.Time(i) * cluster.Second, What: trace.TaskSubmitted, Task: trace.Task{
			Job: uint64(i / 3), Index: uint32(i % 3), JobTasks: 3, User: "ann", Priority: int32(i % 11), Demand: cluster.Vector{1}, Work: 10 * cluster.Second,
		}})
	}
	return l
}

func lane(t *testing.T, name string) []sched.Lane {
	t.Helper()
	p, err := queue.New(name, queue.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return []sched.Lane{{Name: name, Policy: p}}
}

// A cluster with room for all serves every task at once; one with room for
// four of them at a time keeps the rest waiting, and still ends them all.
func TestRunServesEverybody(t *testing.T) {
	for _, planner := range []PlannerTime{Zero, Ticks} {
		for _, nodes := range []int{1, 10} {
			r, err := Run(Config{Source: story(nodes, 30), Lanes: lane(t, "kube"), Planner: Planner{Time: planner}})
			if err != nil {
				t.Fatal(err)
			}
			if want := (report.Tasks{Submitted: 30, Placed: 30, Finished: 30}); r.Tasks != want {
				t.Errorf("%d nodes: got %+v, want %+v", nodes, r.Tasks, want)
			}
			if late := r.PlacementLatency.Max > 1; late != (nodes == 1) {
				t.Errorf("%d nodes: largest latency is %v s", nodes, r.PlacementLatency.Max)
			}
		}
	}
}

// Everything goes wrong, and nothing is lost: the checkers are part of Run.
func TestRunInAHostileWorld(t *testing.T) {
	for seed := range uint64(20) {
		faults := Hostile()
		faults.NodeLoss, faults.Foreign = 10*cluster.Minute, 20*cluster.Second
		faults.BindLate, faults.BindRefused, faults.Twice = 100, 100, 200
		r, err := Run(Config{Source: story(12, 600), Lanes: lane(t, "priority"), World: World{Seed: seed, Faults: faults}, Until: 2 * cluster.Hour})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if r.Tasks.Finished != 600 {
			t.Errorf("seed %d: %+v", seed, r.Tasks)
		}
	}
}
