package sim

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// apart keeps tasks with the tag db on racks of their own.
func apart(most int32) trace.Record {
	db := []string{"db"}
	return trace.Record{What: trace.ConstraintAdded, Constraint: cluster.Constraint{
		Name: "apart", Hard: true, Any: [][]cluster.Bound{{{Subject: db, Target: db, Max: most, Group: "rack"}}},
	}}
}

// tagged is story with a rack for every two nodes, and the tag on every task.
func tagged(nodes, tasks int) *list {
	l := story(nodes, tasks)
	for i := range l.records {
		r := &l.records[i]
		if r.What == trace.NodeAdded {
			r.Node.Groups = []cluster.Label{{Key: "rack", Value: string(rune('a' + i/2))}}
		}
		r.Task.Tags = []string{"db"}
	}
	return l
}

// Tasks arrive one a second and work for ten: on four nodes in two racks two at a time
// may run, one a rack, and so 20 of them take 100 seconds; without the constraint 29.
func TestRunHonoursConstraints(t *testing.T) {
	for _, tc := range []struct {
		constrain bool
		want      int
	}{{false, 29}, {true, 101}} {
		l := tagged(4, 20)
		if tc.constrain {
			l.records = append([]trace.Record{apart(0)}, l.records...)
		}
		r, err := Run(Config{Source: l, Lanes: lane(t, "kube")})
		if err != nil {
			t.Fatal(err)
		}
		if r.Tasks.Finished != 20 || int(r.Simulated) != tc.want {
			t.Errorf("constrained %t: %d finished after %v, want 20 after %v", tc.constrain, r.Tasks.Finished, r.Simulated, tc.want)
		}
	}
}

func TestConstraintsThatCannotBe(t *testing.T) {
	for _, tc := range []struct {
		records []trace.Record
		want    string
	}{
		{[]trace.Record{apart(0), apart(1)}, `constraint "apart" is there already`},
		{[]trace.Record{{What: trace.ConstraintRemoved, Constraint: cluster.Constraint{Name: "x"}}}, `constraint "x" is not there`},
		{[]trace.Record{{What: trace.ConstraintAdded, Constraint: cluster.Constraint{Name: "x"}}}, "no alternative"},
	} {
		l := story(1, 1)
		l.records = append(tc.records, l.records...)
		if _, err := Run(Config{Source: l, Lanes: lane(t, "kube")}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
}

// The checker is shown decisions that no core made.
func TestCheckerCountsByItself(t *testing.T) {
	for most, want := range []string{"where 1 are counted already", ""} {
		l := tagged(2, 2)
		s, err := newSimulation(Config{Source: l, Lanes: lane(t, "kube")})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range append(l.records, apart(int32(most))) {
			if err := s.replay.apply(&r); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.planner.core.Observe(0, s.outbox.events, nil); err != nil {
			t.Fatal(err)
		}
		s.outbox.events = nil
		place := func(task, node uint32) sched.Decision {
			return sched.Decision{Kind: sched.Place, Task: cluster.TaskID(task), Seq: cluster.Seq(task + 1), Attempt: 9, Node: cluster.NodeID(node)}
		}
		err = s.carryOut([]sched.Decision{place(0, 0), place(1, 1)})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("at most %d: got %v, want an error with %q", most, err, want)
		}
	}
}
