package sim

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// The core never errs in these ways as far as we know, so that the checkers
// are shown decisions that no core made. Each must be found out.
func TestCheckersFindWhatTheCoreMustNotDo(t *testing.T) {
	place := func(task, node uint32) sched.Decision {
		return sched.Decision{Kind: sched.Place, Task: cluster.TaskID(task), Seq: cluster.Seq(task + 1), Attempt: 9, Node: cluster.NodeID(node)}
	}
	for _, c := range []struct {
		name string
		do   func(*simulation) []sched.Decision
		want string
	}{
		{"nothing wrong", func(*simulation) []sched.Decision { return []sched.Decision{place(0, 0), place(1, 1)} }, ""},
		{"twice", func(*simulation) []sched.Decision { return []sched.Decision{place(0, 0), place(0, 1)} }, "while it has a run"},
		{"too much", func(*simulation) []sched.Decision { return []sched.Decision{place(0, 0), place(2, 0)} }, "over its limit"},
		{"not apart", func(*simulation) []sched.Decision { return []sched.Decision{place(0, 0), place(1, 0)} }, "the node may hold at most"},
		{"wrong label", func(*simulation) []sched.Decision { return []sched.Decision{place(3, 0)} }, "requirements"},
		{"wrong tier", func(s *simulation) []sched.Decision {
			for i := range s.tasks.classes.Classes {
				s.tasks.classes.Classes[i].Tier = cluster.Advanced
			}
			return []sched.Decision{place(0, 0)}
		}, "on node 1 of tier 0, and its class bronze was promised tier 2"},
		{"lost node", func(s *simulation) []sched.Decision {
			s.runs.loseNode(1)
			return []sched.Decision{place(0, 1)}
		}, "which is lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fourTasks(t)
			err := s.carryOut(c.do(s))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// fourTasks is a world of two nodes of 3 cpu, the second in zone b, and four
// tasks of 1, 1, 3 and 1 cpu; the first two are of one job, at most one a node, the
// last wants zone b.
func fourTasks(t *testing.T) *simulation {
	t.Helper()
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}}
	s, err := newSimulation(Config{Source: l, Lanes: lane(t, "kube")})
	if err != nil {
		t.Fatal(err)
	}
	node := func(id uint64, zone string) trace.Record {
		return trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: id, Capacity: cluster.Vector{3}, Labels: []cluster.Label{{Key: "zone", Value: zone}}}}
	}
	task := func(job uint64, index uint32, cpu int64, perNode int32, zone ...cluster.Requirement) trace.Record {
		return trace.Record{What: trace.TaskSubmitted, Task: trace.Task{Job: job, Index: index, Demand: cluster.Vector{cpu}, Work: 10, PerNode: perNode, Requirements: zone}}
	}
	for _, r := range []trace.Record{
		node(1, "a"), node(2, "b"), task(1, 0, 1, 1), task(1, 1, 1, 1), task(2, 0, 3, 0),
		task(3, 0, 1, 0, cluster.Requirement{Key: "zone", Op: cluster.Equal, Value: "b"}),
	} {
		if err := s.replay.apply(&r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.planner.core.Observe(0, s.outbox.events, nil); err != nil {
		t.Fatal(err)
	}
	s.outbox.events = nil
	return s
}

// A task that vanishes, and a node on which the core believes what is not so,
// are found at the end.
func TestAuditFindsWhatIsLost(t *testing.T) {
	s := fourTasks(t)
	if err := s.audit(&report.Run{Tasks: report.Tasks{Submitted: 4, Pending: 3}}); err == nil || !strings.Contains(err.Error(), "accounted") {
		t.Errorf("a lost task: got %v", err)
	}
	s.nodes.arrive(0, 0, room{demand: cluster.Vector{1}})
	if err := s.audit(&report.Run{Tasks: report.Tasks{Submitted: 4, Pending: 4}}); err == nil || !strings.Contains(err.Error(), "believes") {
		t.Errorf("a run that nobody knows of: got %v", err)
	}
}
