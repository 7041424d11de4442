package sim

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// threefold is classes of which the first has three copies of each task.
func threefold() *class.Table {
	t := class.Google()
	t.Classes[0].Replicas = 3
	return t
}

// replicated is nodes of one cpu, and a task of gold that wants to run for 10 s.
func replicated(nodes int, more ...trace.Record) *list {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}}
	for i := range nodes {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(i + 1), Capacity: cluster.Vector{1}}})
	}
	l.records = append(l.records, trace.Record{What: trace.TaskSubmitted, Task: trace.Task{Job: 17, Index: 3, JobTasks: 9, Priority: 11, Demand: cluster.Vector{1}, Work: 10 * cluster.Second}})
	l.records = append(l.records, more...)
	slices.SortStableFunc(l.records, func(a, b trace.Record) int { return int(a.Time - b.Time) })
	return l
}

// The copies of a task stand on nodes of their own, and the first that finishes ends
// the others, whatever they do.
func TestFirstFinisherEndsTheOthers(t *testing.T) {
	s := cluster.Second
	lose := func(node uint64, at cluster.Time) trace.Record {
		return trace.Record{Time: at, What: trace.NodeLost, Node: trace.Node{ID: node}}
	}
	back := func(node uint64, at cluster.Time) trace.Record {
		return trace.Record{Time: at, What: trace.NodeAdded, Node: trace.Node{ID: node, Capacity: cluster.Vector{1}}}
	}
	for _, c := range []struct {
		name     string
		nodes    int
		more     []trace.Record
		want     report.Tasks
		response report.Number // of the job
		ends     string        // how the copies ended, by name
	}{
		{"at the same moment", 3, nil, report.Tasks{Submitted: 3, Placed: 3, Finished: 1, Superseded: 2}, 10, "17/3#1 finish 17/3#2 superseded 17/3#3 superseded"},
		{"two wait, as they may not stand together", 1, nil, report.Tasks{Submitted: 3, Placed: 1, Finished: 1, Superseded: 2}, 10, "17/3#1 finish 17/3#2 superseded 17/3#3 superseded"},
		// Copy 1 begins anew at 6 s, and would need until 16 s.
		{"a node is lost", 2, []trace.Record{lose(1, 5*s), back(1, 6*s)}, report.Tasks{Submitted: 3, Placed: 2, Finished: 1, Superseded: 2, Evicted: 1}, 10, "17/3#1 superseded 17/3#2 finish 17/3#3 superseded"},
		{"both are lost", 2, []trace.Record{lose(1, 5*s), lose(2, 5*s), back(2, 7*s)}, report.Tasks{Submitted: 3, Placed: 2, Finished: 1, Superseded: 2, Evicted: 2}, 17, ""},
		{"its user ends it", 2, []trace.Record{{Time: 5 * s, What: trace.TaskKilled, Task: trace.Task{Job: 17, Index: 3}}}, report.Tasks{Submitted: 3, Placed: 2, Killed: 3}, 0, "17/3#1 kill 17/3#2 kill 17/3#3 kill"},
		{"and ends it when it is done", 2, []trace.Record{{Time: 10*s + cluster.Millisecond, What: trace.TaskKilled, Task: trace.Task{Job: 17, Index: 3}}}, report.Tasks{Submitted: 3, Placed: 2, Finished: 1, Superseded: 2}, 10, ""},
	} {
		for _, planner := range []PlannerTime{Zero, Ticks} {
			var tasks bytes.Buffer
			r, err := Run(Config{Source: replicated(c.nodes, c.more...), Lanes: lane(t, "kube"), Classes: threefold(), Planner: Planner{Time: planner}, Output: Output{Tasks: &tasks}})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if r.Tasks != c.want {
				t.Errorf("%s: %+v, want %+v", c.name, r.Tasks, c.want)
			}
			if c.response > 0 && (r.JobResponse == nil || r.JobResponse.Max < c.response || r.JobResponse.Max > c.response+0.001) {
				t.Errorf("%s: the job's response is %+v, want %v", c.name, r.JobResponse, c.response)
			}
			if got := endsOf(t, &tasks); c.ends != "" && got != c.ends {
				t.Errorf("%s: %s, want %s", c.name, got, c.ends)
			}
		}
	}
}

// Once all copies of a task have ended, its shape is unused, and may be forgotten.
func TestShapeOfCopiesIsReleased(t *testing.T) {
	s, err := newSimulation(Config{Source: replicated(3), Lanes: lane(t, "kube"), Classes: threefold(), Planner: Planner{Time: Zero}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.play(); err != nil {
		t.Fatal(err)
	}
	if got := s.measures.outcomes.tasks.Superseded; got != 2 {
		t.Fatalf("%d copies were superseded, want 2", got)
	}
	if named, unused := len(s.tasks.named), s.tasks.unused.Len(); named != 1 || unused != 1 {
		t.Errorf("all have ended, and of %d shapes %d are unused, want one of one", named, unused)
	}
}

// endsOf lists how tasks ended, by name.
func endsOf(t *testing.T, tasks *bytes.Buffer) string {
	t.Helper()
	rows, err := csv.NewReader(tasks).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var ends []string
	for _, row := range rows[1:] {
		ends = append(ends, row[13]+" "+row[7])
	}
	slices.Sort(ends)
	return strings.Join(ends, " ")
}

// Copies and ranges in a world in which everything goes wrong: the checkers find
// nothing, whatever the policy, and every copy is accounted for.
func TestCopiesAndRangesInAHostileWorld(t *testing.T) {
	superseded, resized := 0, int64(0)
	for _, seed := range []uint64{0, 1, 2, 3, 36} { // 36: a run that came late with a grant that had been changed
		for _, name := range []string{"kube", "priority", "fairlead", "elastic"} {
			l := story(12, 400)
			for i := range l.records {
				if task := &l.records[i].Task; l.records[i].What == trace.TaskSubmitted && i%2 == 0 {
					task.Max, task.Work = cluster.Vector{3}, 30*cluster.Second
				}
			}
			lanes := []sched.Lane{{Name: name, Policy: &swinging{}}}
			if name != "elastic" {
				p, err := policies.New(name, policies.Options{Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				lanes[0].Policy = p
			}
			faults := Hostile()
			faults.NodeLoss, faults.Foreign, faults.BindLate, faults.Twice = 20*cluster.Minute, 20*cluster.Second, 100, 200
			r, err := Run(Config{Source: l, Lanes: lanes, Classes: threefold(), World: World{Seed: seed, Faults: faults, KeepWork: seed%2 == 0}, Finished: func(e Ending) { resized += e.Core.Counts().Resized }})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
			superseded += r.Tasks.Superseded
			if r.Tasks.Finished+r.Tasks.Superseded != r.Tasks.Submitted {
				t.Errorf("seed %d, %s: %+v", seed, name, r.Tasks)
			}
		}
	}
	if superseded < 500 || resized < 1000 {
		t.Errorf("only %d copies were superseded and %d grants changed", superseded, resized)
	}
}

// swinging is grantor with the largest grant that a node has room for, and lets tasks
// that run take the least and the most in turn.
type swinging struct {
	grantor
	turn int
}

func (p *swinging) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	p.turn++
	p.grants = map[cluster.Seq]cluster.Vector{}
	for i := range s.TaskRows() {
		task := s.Task(cluster.TaskID(i))
		if task.Phase == cluster.Absent || s.Shape(task.Shape).Max == nil {
			continue
		}
		grant := cluster.Vector{int64(1 + (i+p.turn)%3)}
		p.grants[task.Seq] = grant
		a := sched.Action{Kind: sched.Resize, Task: cluster.TaskID(i), Attempt: task.Attempt, Grant: grant}
		if (i+p.turn)%4 == 0 && !t.Try(a).Refused() {
			out.Add(a)
			out.Close()
		}
	}
	p.grantor.Plan(t, c, budget, out)
}
