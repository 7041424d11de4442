package sched_test

import (
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// thief is a policy that plans an action for every task that it sees in the state, whoever
// owns it.
type thief struct {
	idle
	wants func(*cluster.View, cluster.TaskID) (sched.Action, bool)
}

func (p *thief) Plan(t *sched.Trial, _ *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	for row := range s.TaskRows() {
		if a, ok := p.wants(s, cluster.TaskID(row)); ok {
			a.Task, a.Attempt = cluster.TaskID(row), s.Task(cluster.TaskID(row)).Attempt
			out.Add(a)
			out.Close()
		}
	}
}

// TestLaneLeavesOthersTasksAlone: a lane places and resizes its own tasks alone, whatever its
// policy plans, in a step and beside the world; it may evict those of other lanes. Tasks of
// no lane are nobody's, and foreign ones too.
func TestLaneLeavesOthersTasksAlone(t *testing.T) {
	place := func(s *cluster.View, row cluster.TaskID) (sched.Action, bool) {
		return sched.Action{Kind: sched.Place, Node: 1}, s.Task(row).Phase == cluster.Waiting
	}
	resize := func(s *cluster.View, row cluster.TaskID) (sched.Action, bool) {
		return sched.Action{Kind: sched.Resize, Grant: cluster.Vector{2}}, s.Task(row).Phase == cluster.Running
	}
	evict := func(s *cluster.View, row cluster.TaskID) (sched.Action, bool) {
		return sched.Action{Kind: sched.Evict}, s.Task(row).Phase == cluster.Running
	}
	for _, beside := range []bool{false, true} {
		// Rows 0 to 3 wait and 4 to 7 run: of the thief's lane, of the other, of no lane, foreign.
		for _, tc := range []struct {
			name  string
			wants func(*cluster.View, cluster.TaskID) (sched.Action, bool)
			want  []cluster.TaskID
		}{{"place", place, []cluster.TaskID{0}}, {"resize", resize, []cluster.TaskID{4}}, {"evict", evict, []cluster.TaskID{4, 5}}} {
			t.Run(fmt.Sprintf("%s/beside=%v", tc.name, beside), func(t *testing.T) {
				core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil),
					sched.Lane{Name: "thief", Policy: &thief{wants: tc.wants}, Owns: func(j *cluster.Job) bool { return j.User == "thief" }},
					sched.Lane{Name: "rest", Policy: idle{}, Owns: func(j *cluster.Job) bool { return j.User != "nobody" }})
				if err != nil {
					t.Fatal(err)
				}
				events := []cluster.Event{
					cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n1", Capacity: cluster.Vector{9}}},
					cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "n2", Capacity: cluster.Vector{9}}},
					cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}, Max: cluster.Vector{3}}},
				}
				for j := range cluster.JobID(4) {
					events = append(events, cluster.JobSubmitted{Job: j, User: []string{"thief", "ann", "nobody", "system"}[j], Foreign: j == 3})
				}
				for row := range cluster.TaskID(8) {
					events = append(events, cluster.TaskSubmitted{Task: row, Seq: cluster.Seq(row), Job: cluster.JobID(row % 4)})
					if row >= 4 {
						events = append(events, cluster.TaskFound{Task: row, Seq: cluster.Seq(row)})
					}
				}
				var decisions []sched.Decision
				if beside {
					if _, err := core.Observe(0, events, nil); err != nil {
						t.Fatal(err)
					}
					r := core.Begin(0, 0)
					r.Run(0)
					decisions = core.Finish(r, 0, nil)
				} else if decisions, _, err = core.Step(0, events, nil); err != nil {
					t.Fatal(err)
				}
				var got []cluster.TaskID
				for _, d := range decisions {
					got = append(got, d.Task)
				}
				if !slices.Equal(got, tc.want) || core.Counts().Refused != int64(4-len(tc.want)) {
					t.Errorf("task rows %v, %d bundles refused; want %v and all others refused", got, core.Counts().Refused, tc.want)
				}
				if got := core.View().Task(1); got.Phase != cluster.Waiting {
					t.Errorf("the other lane's task is %v on node row %d", got.Phase, got.Node)
				}
				for i, tasks := range [][]cluster.TaskID{{0, 4}, {1, 5}} {
					if shown := core.Everything(i).Tasks; !slices.Equal(shown, tasks) {
						t.Errorf("lane %d is shown task rows %v, want its own %v", i, shown, tasks)
					}
				}
			})
		}
	}
}

// looker is a policy that notes whether it sees the solver ready.
type looker struct {
	idle
	saw []bool
}

func (p *looker) Plan(t *sched.Trial, _ *sched.Changed, _ int64, _ *sched.Plan) {
	p.saw = append(p.saw, t.View().SolverReady())
}

// TestViewKnowsTheSolver: a round beside the world sees the solver ready from the first round
// after it became so, be its view new or brought up to date.
func TestViewKnowsTheSolver(t *testing.T) {
	early, late := &looker{}, &looker{}
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "early", Policy: early}, sched.Lane{Name: "late", Policy: late})
	if err != nil {
		t.Fatal(err)
	}
	round := func(lane int) {
		r := core.Begin(lane, 0)
		r.Run(0)
		core.Finish(r, 0, nil)
	}
	round(0)
	if _, err := core.Observe(0, []cluster.Event{cluster.SolverReady{}}, nil); err != nil {
		t.Fatal(err)
	}
	round(0)
	round(1)
	if !slices.Equal(early.saw, []bool{false, true}) || !slices.Equal(late.saw, []bool{true}) {
		t.Errorf("ready as seen by the lane that ran before %v, by the other %v; want [false true] and [true]", early.saw, late.saw)
	}
}

// TestDecisionsDifferInAnyField: two decisions are the same if all is the same, the grant too.
func TestDecisionsDifferInAnyField(t *testing.T) {
	one := sched.Decision{Kind: sched.Place, Task: 1, Seq: 2, Attempt: 3, Node: 4, Devices: 5, Grant: cluster.Vector{6, 7}}
	for name, change := range map[string]func(*sched.Decision){
		"kind": func(d *sched.Decision) { d.Kind = sched.Resize }, "task": func(d *sched.Decision) { d.Task = 0 },
		"seq": func(d *sched.Decision) { d.Seq = 0 }, "attempt": func(d *sched.Decision) { d.Attempt = 0 },
		"node": func(d *sched.Decision) { d.Node = 0 }, "devices": func(d *sched.Decision) { d.Devices = 0 },
		"grant": func(d *sched.Decision) { d.Grant = cluster.Vector{6, 8} }, "no grant": func(d *sched.Decision) { d.Grant = nil },
	} {
		other := one
		if change(&other); one.Equal(other) || other.Equal(one) {
			t.Errorf("another %s, and the decisions are the same", name)
		}
	}
	same := one
	same.Grant = slices.Clone(one.Grant)
	if !one.Equal(same) {
		t.Error("a copy is not the same")
	}
}
