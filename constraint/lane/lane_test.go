package lane_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/lane"
	"fairlead.dev/fairlead/constraint/search"
	"fairlead.dev/fairlead/sched"
)

// bed is a core with the constraint scheduler in one lane, and first fit for the others' tasks in
// another.
type bed struct {
	t    *testing.T
	core *sched.Core
	now  cluster.Time
	jobs, tasks,
	shapes, constraints int
	out []sched.Decision
}

func newBed(t *testing.T, o lane.Options) *bed {
	t.Helper()
	if o.Solve == nil {
		o.Solve = serial
	}
	o.Quick = serial
	if o.Objective.Unplaced == 0 {
		o.Objective = constraint.Standard()
	}
	b := &bed{t: t}
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil),
		sched.Lane{Name: "long", Policy: lane.New(o), Owns: func(j *cluster.Job) bool { return strings.HasPrefix(j.Name, "app") }},
		sched.Lane{Name: "short", Policy: firstFit{}})
	if err != nil {
		t.Fatal(err)
	}
	b.core = core
	for i := range 4 {
		rack := fmt.Sprintf("r%d", i/2)
		b.observe(cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{Name: fmt.Sprintf("n%d", i), Capacity: cluster.Vector{4}, Groups: []cluster.Label{{Key: "rack", Value: rack}}}})
	}
	return b
}

// serial places by Medea's simplest heuristic.
func serial(p *constraint.Problem, _ int64) (constraint.Assignment, int64) {
	return greedy.Serial().Solve(p)
}

// searched places by search.
func searched(p *constraint.Problem, _ int64) (constraint.Assignment, int64) {
	r := search.Solve(p, search.Options{Seed: 1, Ticks: 2_000})
	return r.Assignment, r.Ticks
}

// firstFit places each short task on the first node that admits it.
type firstFit struct{}

func (firstFit) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	for _, task := range c.Tasks {
		if s.Task(task).Phase != cluster.Waiting {
			continue
		}
		for n := range cluster.NodeID(s.NodeRows()) {
			a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
			if !t.Try(a).Refused() {
				out.Add(a)
				out.Close()
				break
			}
		}
	}
}

func (firstFit) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// observe applies events without a round.
func (b *bed) observe(events ...cluster.Event) {
	b.t.Helper()
	var err error
	b.out, err = b.core.Observe(b.now, events, b.out)
	if err != nil {
		b.t.Fatal(err)
	}
}

// rule defines a constraint.
func (b *bed) rule(text string) {
	b.t.Helper()
	b.ruleOf(constraint.Parse, text)
}

// ruleOf defines one in the words that are read so.
func (b *bed) ruleOf(parse func(string) (cluster.Constraint, error), text string) {
	b.t.Helper()
	c, err := parse(text)
	if err != nil {
		b.t.Fatal(err)
	}
	b.observe(cluster.ConstraintDefined{Constraint: cluster.ConstraintID(b.constraints), Spec: c})
	b.constraints++
}

// job submits a job of so many tasks that take so much each.
func (b *bed) job(name string, tasks int, cpu int64, tags ...string) {
	b.t.Helper()
	tags = append(tags, cluster.AppTag(name))
	slices.Sort(tags)
	b.observe(cluster.ShapeDefined{Shape: cluster.ShapeID(b.shapes), Spec: cluster.Shape{Demand: cluster.Vector{cpu}, Tags: tags}},
		cluster.JobSubmitted{Job: cluster.JobID(b.jobs), Name: name})
	for range tasks {
		b.observe(cluster.TaskSubmitted{Task: cluster.TaskID(b.tasks), Seq: cluster.Seq(b.tasks), Job: cluster.JobID(b.jobs), Shape: cluster.ShapeID(b.shapes)})
		b.tasks++
	}
	b.shapes++
	b.jobs++
}

// step runs what is due.
func (b *bed) step() {
	b.t.Helper()
	b.now += cluster.Second
	var err error
	if b.out, _, err = b.core.Step(b.now, nil, b.out); err != nil {
		b.t.Fatal(err)
	}
}

// where says which node each job's tasks are on: "app1: n0 n1 -".
func (b *bed) where(job string) string {
	s := b.core.View()
	text := job + ":"
	for row := range s.TaskRows() {
		task := s.Task(cluster.TaskID(row))
		switch {
		case task.Phase == cluster.Absent || s.Job(task.Job).Name != job:
		case task.Node == cluster.NoNode:
			text += " -"
		default:
			text += " " + s.NodeSpec(task.Node).Name
		}
	}
	return text
}

func (b *bed) want(lines ...string) {
	b.t.Helper()
	for _, line := range lines {
		job, _, _ := strings.Cut(line, ":")
		if got := b.where(job); got != line {
			b.t.Errorf("got %q, want %q\n%s", got, line, b.core.View().Picture())
		}
	}
	if err := b.core.View().Check(); err != nil {
		b.t.Error(err)
	}
}

// TestApplicationsAreWholeAndApart: constraints between two applications that came at once
// and one that runs hold, and short tasks go their own way meanwhile.
func TestApplicationsAreWholeAndApart(t *testing.T) {
	b := newBed(t, lane.Options{})
	b.rule("{app:app1, {app:app1, 0, 0}, node}")
	b.rule("{app:app2, {app:app1, 1, inf}, node}")
	b.rule("{app:app3, {app:app1, 0, 0}, rack}")
	b.job("app1", 2, 2)
	b.job("app2", 2, 2)
	b.job("batch", 1, 1)
	b.step()
	b.want("app1: n0 n1", "app2: n0 n1", "batch: n2")
	b.job("app3", 1, 1)
	b.step()
	b.want("app3: n2")
}

// TestOnlyWhatMayChangeIsPosed: a plan knows of those who run only whom a constraint of its own may
// name, and of their constraints only those. One of an application that lost a container is known.
func TestOnlyWhatMayChangeIsPosed(t *testing.T) {
	var posed string
	solve := func(p *constraint.Problem, _ int64) (constraint.Assignment, int64) {
		posed = ""
		for i := range p.Applications {
			posed += fmt.Sprintf("%s %d, ", p.Applications[i].Name, p.Applications[i].End-p.Applications[i].First)
		}
		for i := range p.Constraints {
			posed += constraint.Title(&p.Constraints[i]) + "; "
		}
		return greedy.Serial().Solve(p)
	}
	b := newBed(t, lane.Options{Solve: solve})
	b.rule("{app:app1, {app:app1, 0, 0}, node}")
	b.rule("{app:app2, {app:app2, 0, 0}, node}")
	b.rule("{app:app3, {app:app1, 0, 0}, rack}")
	b.job("app1", 2, 1)
	b.job("app2", 2, 1)
	b.step()
	for _, tc := range []struct {
		then func()
		want string
	}{
		{func() { b.job("app3", 1, 1) }, "app1 2, app3 1, {app:app3, {app:app1, 0, 0}, rack}; "},
		{func() { b.job("app4", 1, 1) }, "app4 1, "},
		{func() { b.observe(cluster.NodeLost{Node: 1}) }, "app1 2, app2 2, app3 1, {app:app1, {app:app1, 0, 0}, node}; {app:app2, {app:app2, 0, 0}, node}; {app:app3, {app:app1, 0, 0}, rack}; "},
	} {
		tc.then()
		if b.step(); posed != tc.want {
			t.Errorf("posed are %q, want %q\n%s", posed, tc.want, b.core.View().Picture())
		}
	}
}

// TestNodesInUseAreKnown: where these are weighed an application comes to a node of others that it has nothing
// to do with, or else to the first.
func TestNodesInUseAreKnown(t *testing.T) {
	for used, want := range map[int64]string{0: "app2: n0", 1000: "app2: n1"} {
		o := lane.Options{Objective: constraint.Standard()}
		o.Objective.Used = used
		b := newBed(t, o)
		b.job("batch", 1, 4)
		b.step()
		b.job("app1", 1, 1)
		b.step()
		b.want("batch: n0", "app1: n1")
		b.observe(cluster.TaskEnded{Task: 0, Seq: 0})
		b.job("app2", 1, 1)
		b.step()
		b.want(want)
	}
}

// TestAllOrNothing: an application that does not fit whole waits whole, and is placed once
// it does.
func TestAllOrNothing(t *testing.T) {
	b := newBed(t, lane.Options{})
	b.job("batch", 3, 4)
	b.step()
	b.job("app1", 2, 3)
	b.step()
	b.want("batch: n0 n1 n2", "app1: - -")
	b.observe(cluster.TaskStarted{Task: 1, Attempt: 1, Node: 1}, cluster.TaskEnded{Task: 1, Seq: 1, Finished: true})
	b.step()
	b.want("app1: n1 n3")
}

// TestContainerComesBack: a container that an application has lost is placed by itself,
// beside the others.
func TestContainerComesBack(t *testing.T) {
	b := newBed(t, lane.Options{})
	b.rule("{app:app1, {app:app1, 0, 0}, node}")
	b.job("app1", 2, 1)
	b.step()
	b.observe(cluster.NodeLost{Node: 1})
	b.step()
	b.want("app1: n0 n2")
}

// TestContainersComeBackTogether: two that an application has lost, and that must stand together,
// come together, as neither may come before the other.
func TestContainersComeBackTogether(t *testing.T) {
	b := newBed(t, lane.Options{Solve: searched})
	b.rule("{twin, {twin, 1, inf}, node}: hard")
	b.job("app1", 4, 2, "twin")
	b.step()
	b.want("app1: n0 n0 n1 n1")
	b.observe(cluster.NodeLost{Node: 1})
	b.step()
	b.want("app1: n0 n0 n2 n2")
}

// TestShortTasksDoNotWait: while the long plan is under way on its view, short tasks are
// placed. Where one takes the room that the plan counted on, that application alone is planned
// again.
func TestShortTasksDoNotWait(t *testing.T) {
	b := newBed(t, lane.Options{})
	b.job("app1", 1, 4)
	b.job("app2", 1, 4)
	r := b.core.Begin(0, b.now)
	r.Run(0)
	b.job("batch", 1, 1) // first fit: n0, where app1 is to go
	b.out = b.core.Finish(r, b.now, b.out)
	b.want("app1: n0", "app2: n1")
	b.step()
	b.want("batch: n2")

	b.job("app3", 1, 4)
	b.job("app4", 1, 1)
	r = b.core.Begin(0, b.now)
	r.Run(0)
	b.job("batch2", 1, 4) // n3, where app3 is to go
	short := b.core.Begin(1, b.now)
	short.Run(0)
	b.out = b.core.Finish(short, b.now, b.out)
	b.out = b.core.Finish(r, b.now, b.out)
	b.want("batch2: n3", "app3: -", "app4: n2")
}

// TestRefusedTooOftenIsPlannedAtCommit: whoever is refused again and again is planned where
// nobody can come between, without those of its tasks that were killed meanwhile.
func TestRefusedTooOftenIsPlannedAtCommit(t *testing.T) {
	b := newBed(t, lane.Options{})
	b.observe(cluster.NodeAdded{Node: 4, Spec: cluster.NodeSpec{Name: "n4", Capacity: cluster.Vector{4}}})
	b.job("app1", 2, 2)
	for round := range lane.MostRefusals + 1 {
		b.now += cluster.Second
		r := b.core.Begin(0, b.now)
		r.Run(0)
		b.want("app1: - -")
		batch := fmt.Sprintf("batch%d", round)
		b.job(batch, 1, 4) // takes the node that app1 is to have
		short := b.core.Begin(1, b.now)
		short.Run(0)
		b.out = b.core.Finish(short, b.now, b.out)
		if round == lane.MostRefusals {
			b.observe(cluster.TaskEnded{Task: 0, Seq: 0})
		}
		b.out = b.core.Finish(r, b.now, b.out)
		b.want(fmt.Sprintf("%s: n%d", batch, round))
	}
	b.want("app1: n4")
}

// TestHardConstraintsHoldAsAWhole: two that must stand together come together, though the first
// of them stands alone for a moment; one that cannot stays out.
func TestHardConstraintsHoldAsAWhole(t *testing.T) {
	b := newBed(t, lane.Options{})
	b.rule("{twin, {twin, 1, inf}, node}: hard")
	b.job("app1", 2, 2, "twin")
	b.job("app2", 2, 3, "twin")
	b.step()
	b.want("app1: n0 n0", "app2: - -")
}

// together checks that all tasks of the jobs are on nodes of one set of the group.
func (b *bed) together(group string, jobs ...string) {
	b.t.Helper()
	s := b.core.View()
	sets := map[string]bool{}
	for row := range s.TaskRows() {
		task := s.Task(cluster.TaskID(row))
		if task.Phase == cluster.Absent || !slices.Contains(jobs, s.Job(task.Job).Name) {
			continue
		}
		set := "nowhere"
		if task.Placed() {
			set = s.NodeSpec(task.Node).Name
			if group != cluster.EachNode {
				set = s.NodeSpec(task.Node).Groups[0].Value
			}
		}
		sets[set] = true
	}
	if len(sets) != 1 || sets["nowhere"] {
		b.t.Errorf("tasks of %v are on %v, want one %s\n%s", jobs, sets, group, s.Picture())
	}
	if err := s.Check(); err != nil {
		b.t.Error(err)
	}
}

// TestApplicationsThatNeedEachOther: two of which each must stand beside the other come together, as
// neither can come first.
func TestApplicationsThatNeedEachOther(t *testing.T) {
	b := newBed(t, lane.Options{Solve: searched})
	b.rule("{app:app1, {app:app2, 1, inf}, node}: hard")
	b.rule("{app:app2, {app:app1, 1, inf}, node}: hard")
	b.job("app1", 2, 1)
	b.job("app2", 1, 1)
	b.step()
	b.together("node", "app1", "app2")
}

// TestRingOfApplications: of five in a rack one needs the others, who do not need it, three need each other in
// a ring, and one stands for itself. By the same plan the three come though the first is gone by commit.
func TestRingOfApplications(t *testing.T) {
	plan := func(p *constraint.Problem, _ int64) (constraint.Assignment, int64) {
		a := p.Start()
		for c := range a {
			a[c] = int32(c % 2)
		}
		return a, 1
	}
	b := newBed(t, lane.Options{Solve: plan})
	b.rule("{app:app1, {app:app3, 1, inf}, rack}: hard")
	b.rule("{app:app2, {app:app3, 1, inf}, rack}: hard")
	b.rule("{app:app3, {app:app4, 1, inf}, rack}: hard")
	b.rule("{app:app4, {app:app2, 1, inf}, rack}: hard")
	for i := range 5 {
		b.job(fmt.Sprintf("app%d", i+1), 1+i%2, 1)
	}
	r := b.core.Begin(0, b.now)
	r.Run(0)
	b.observe(cluster.TaskEnded{Task: 0, Seq: 0})
	b.out = b.core.Finish(r, b.now, b.out)
	b.want("app1:", "app2: n1 n0", "app3: n1", "app4: n0 n1", "app5: n0")
}

// TestContainersOfTwoComeBackTogether: of two running applications each has lost a container, which
// must stand beside that of the other.
func TestContainersOfTwoComeBackTogether(t *testing.T) {
	b := newBed(t, lane.Options{Solve: searched})
	b.rule("{app:app1, {app:app1, 0, 0}, node} & {app:app1, {app:app2, 1, 1}, node}: hard")
	b.rule("{app:app2, {app:app1, 1, 1}, node}: hard")
	b.job("app1", 2, 2)
	b.job("app2", 2, 2)
	b.step()
	b.observe(cluster.NodeLost{Node: b.core.View().Task(0).Node})
	b.step()
	b.step()
	s := b.core.View()
	for task := range cluster.TaskID(2) {
		if !s.Task(task).Placed() || s.Task(task).Node != s.Task(task+2).Node && s.Task(task).Node != s.Task(3-task).Node {
			t.Errorf("%s, %s\n%s", b.where("app1"), b.where("app2"), s.Picture())
		}
	}
}

// TestWhyAnApplicationWaits: it waits as a whole, and the reason names what it is that all of
// them together cannot have; by another policy or by itself a task would find a node.
func TestWhyAnApplicationWaits(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1}}
	for _, tc := range []struct {
		story      func(*bed)
		code, want string
	}{
		{func(b *bed) {
			b.rule("{app:app1, {app:app1, 0, 0}, rack}: hard")
			b.rule("{app:other, {app:app1, 0, 0}, rack}: hard")
			b.job("app1", 3, 1)
		}, "application", "its application is placed whole, and 2 of its 3 tasks would find a node: no place was found for all under {app:app1, {app:app1, 0, 0}, rack}: hard. Of 4 nodes, 4 take this task by itself"},
		{func(b *bed) { b.job("app1", 5, 3) }, "application", "its application is placed whole, and 4 of its 5 tasks would find a node: no place was found for all under room. Of 4 nodes, 4 take this task by itself"},
		{func(b *bed) {
			b.rule("{app:app1, {app:app1, 0, 0}, rack}: hard")
			b.job("batch", 2, 4)
			b.step()
			b.job("app1", 2, 3)
		}, "application", "its application is placed whole, and 1 of its 2 tasks would find a node: no place was found for all under room; {app:app1, {app:app1, 0, 0}, rack}: hard. Of 4 nodes, 2 take this task by itself: 2 lack cpu (needs 3, left at most 0)"},
		{func(b *bed) { b.job("app1", 2, 5) }, "unplaceable by cpu", "unplaceable on any of 4 nodes, even empty: 4 are too small: cpu (needs 5, the largest has 4); it would fit on a node that has 5 cpu"},
		// Of two that want each other no node takes one alone, but all nodes take both.
		{func(b *bed) { b.rule("{app:app1, {app:app1, 1, inf}, node}: hard"); b.job("app1", 2, 1) }, "turn", "waits for its turn: all 2 tasks of its application would be placed"},
	} {
		b := newBed(t, lane.Options{})
		tc.story(b)
		s := b.core.View()
		last := cluster.TaskID(b.tasks - 1)
		if got := b.core.Why(last); got.Code(kinds) != tc.code || got.Text(kinds) != tc.want {
			t.Errorf("got %s: %s\nwant %s: %s\n%s", got.Code(kinds), got.Text(kinds), tc.code, tc.want, s.Picture())
		}
		b.step()
		if placed := s.Task(last).Placed(); placed != (tc.code == "turn") {
			t.Errorf("%s: it is placed after all: %t", tc.want, placed)
		}
		if got := b.core.Why(last); tc.code == "turn" && ofApplication(&got) || tc.code != "turn" && got.Text(kinds) != tc.want {
			t.Errorf("after a round: %s\nwant %s", got.Text(kinds), tc.want)
		}
	}
}

// cause runs a round of every lane: a node changes.
func (b *bed) cause() {
	b.t.Helper()
	b.observe(cluster.NodeChanged{Node: 0, Spec: *b.core.View().NodeSpec(0)})
	b.step()
}

// TestWhoIsGoneIsForgotten: a row whose task has ended waits no more, be it empty or another lane's
// by now. The solver is not asked when nobody of the lane's own waits, and never for another's.
func TestWhoIsGoneIsForgotten(t *testing.T) {
	posed := ""
	b := newBed(t, lane.Options{Solve: func(p *constraint.Problem, _ int64) (constraint.Assignment, int64) {
		posed += " |"
		for i := range p.Applications {
			posed += fmt.Sprintf(" %s %d", p.Applications[i].Name, p.Applications[i].End-p.Applications[i].First)
		}
		return greedy.Serial().Solve(p)
	}})
	b.job("app1", 2, 5) // larger than any node
	b.job("app2", 1, 5)
	b.step()
	b.observe(cluster.TaskEnded{Task: 0, Seq: 0}, cluster.TaskEnded{Task: 1, Seq: 1},
		cluster.JobSubmitted{Job: 9, Name: "batch"}, cluster.TaskSubmitted{Task: 0, Seq: 10, Job: 9})
	b.cause()
	b.observe(cluster.TaskEnded{Task: 2, Seq: 2}, cluster.TaskSubmitted{Task: 3, Seq: 11, Job: 9})
	b.cause()
	if want := " | app1 2 app2 1 | app2 1"; posed != want {
		t.Errorf("posed were%s, want%s", posed, want)
	}
	if got := b.core.Counts().Refused; got != 0 {
		t.Errorf("%d bundles were refused, want none", got)
	}
	b.want("batch: - -")
}

// ofApplication reports whether an application that is placed whole is among the causes.
func ofApplication(r *sched.Reason) bool {
	_, is := sched.Find[sched.Whole](r)
	return is
}

// TestRunningContainersMove: two that would rather be on different nodes came when there was room on one node alone. Once the
// other node is free, one of them moves there, within a minute of the last thing that was done; it leaves first, and then
// nobody moves any more. Without Moves they stay, as does who may not move.
func TestRunningContainersMove(t *testing.T) {
	nobody := func(*cluster.View, cluster.TaskID) bool { return false }
	objective := constraint.Standard()
	objective.Moved = 1000 // two violations are worth a move
	for _, tc := range []struct {
		options lane.Options
		want    string
	}{
		{lane.Options{Moves: true}, "app1: n0 n1"},
		{lane.Options{}, "app1: n0 n0"},
		{lane.Options{Moves: true, MayMove: nobody}, "app1: n0 n0"},
	} {
		tc.options.Solve, tc.options.Objective = searched, objective
		b := newBed(t, tc.options)
		b.rule("{web, {web, 0, 0}, node}")
		b.job("batch", 3, 4)
		b.step()
		b.observe(cluster.TaskStarted{Task: 0, Attempt: 1, Node: 0}, cluster.TaskEnded{Task: 0, Seq: 0, Finished: true})
		b.job("app1", 2, 2, "web")
		b.observe(cluster.NodeLost{Node: 3})
		b.step()
		b.want("app1: n0 n0", "batch: n1 n2")
		for _, task := range []cluster.TaskID{3, 4} {
			b.observe(cluster.TaskStarted{Task: task, Attempt: 1, Node: 0})
		}
		b.observe(cluster.TaskStarted{Task: 1, Attempt: 1, Node: 1}, cluster.TaskEnded{Task: 1, Seq: 1, Finished: true})
		gain := sched.Gain{}
		for range 70 {
			b.step()
			for _, d := range b.out {
				if d.Kind == sched.Evict {
					gain = d.Gain
					b.observe(cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
				}
				if d.Kind == sched.Place {
					b.observe(cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
				}
			}
			b.out = b.out[:0]
		}
		b.want(tc.want)
		c := b.core.Counts()
		if c.Evicted > 1 {
			t.Errorf("%d moves", c.Evicted)
		}
		if want := (sched.Gain{Violations: 2 * int32(c.Evicted)}); gain != want {
			t.Errorf("%s: %d moves gain%v, want%v: neither violates anything any more", tc.want, c.Evicted, gain, want)
		}
	}
}

// Two webs must stand beside a db, which is on a node that has no room for them. It moves to where there is, and they come when it is there: before, they would stand alone.
func TestWhoComesAwaitsCompanyThatMoves(t *testing.T) {
	b := newBed(t, lane.Options{Moves: true, Solve: func(p *constraint.Problem, _ int64) (constraint.Assignment, int64) {
		r := search.Solve(p, search.Options{Seed: 1, Ticks: 50_000})
		return r.Assignment, r.Ticks
	}})
	b.rule("{web, {db, 1, inf}, node}: hard")
	b.observe(cluster.NodeLost{Node: 2}, cluster.NodeLost{Node: 3})
	b.job("app1", 1, 1, "db")
	b.step()
	b.observe(cluster.TaskStarted{Task: 0, Attempt: 1, Node: 0})
	b.job("batch", 1, 3)
	b.step()
	b.want("app1: n0", "batch: n0")
	b.observe(cluster.TaskStarted{Task: 1, Attempt: 1, Node: 0})
	b.now += lane.RepairAfter // from when on what runs may move
	b.job("app2", 2, 1, "web")
	b.out = b.out[:0]
	leaves := uint32(0)
	for range 200 {
		b.step()
		for _, d := range b.out {
			switch {
			case d.Kind == sched.Evict:
				leaves = d.Attempt
			case d.Task != 0 && b.core.View().Task(0).Phase != cluster.Running:
				t.Fatalf("%v: task %d is placed before the db, of which it is to have company, runs on its node", b.now, d.Task)
			case d.Kind == sched.Place:
				b.observe(cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
			}
		}
		if b.out = b.out[:0]; leaves != 0 && b.now%(20*cluster.Second) == 0 {
			b.observe(cluster.TaskLeft{Task: 0, Attempt: leaves})
			leaves = 0
		}
	}
	b.want("app1: n1", "app2: n1 n1")
}

// TestContainersMoveTwiceInAnHour: a solver would have a container change its node in each round, of which there is one every minute as others
// come and go. It moves at once, and once more; then it stays until an hour has gone by since the first of these moves.
func TestContainersMoveTwiceInAnHour(t *testing.T) {
	restless := func(p *constraint.Problem, budget int64) (constraint.Assignment, int64) {
		a, ticks := serial(p, budget)
		for c := range p.Containers {
			if at := p.Containers[c].At; at != constraint.Nowhere && !p.Containers[c].Fixed {
				a[c] = 1 - at
			}
		}
		return a, ticks
	}
	b := newBed(t, lane.Options{Moves: true, Solve: restless})
	b.rule("{web, {web, 0, 0}, rack}") // so that it is looked at
	b.job("app1", 1, 2, "web")
	var moves []cluster.Time
	for range 130 {
		b.job(fmt.Sprintf("app%d", b.jobs+1), 1, 1, "web")
		b.step()
		for len(b.out) > 0 {
			out := b.out
			b.out = nil
			for _, d := range out {
				switch d.Kind {
				case sched.Evict:
					if d.Task == 0 {
						moves = append(moves, b.now)
					}
					b.observe(cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
				case sched.Place:
					b.observe(cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
				case sched.Resize, sched.End:
				}
			}
		}
		last := cluster.TaskID(b.tasks - 1)
		b.observe(cluster.TaskEnded{Task: last, Seq: cluster.Seq(last)})
		b.now += cluster.Minute - cluster.Second
	}
	if len(moves) != 6 {
		t.Fatalf("it moves at %v, want six moves in 130 minutes", moves)
	}
	for i := range moves[2:] {
		if between := moves[i+2] - moves[i]; between < cluster.Hour {
			t.Errorf("three moves within %v: %v", between, moves)
		}
	}
}

// TestWhoFindsNoPlaceIsNotPlannedAtEachEvent: with Every a round that only saw nodes change plans who waits once in so long, and
// one that saw somebody come at once.
func TestWhoFindsNoPlaceIsNotPlannedAtEachEvent(t *testing.T) {
	solved := 0
	b := newBed(t, lane.Options{Every: 10 * cluster.Second, Solve: func(p *constraint.Problem, budget int64) (constraint.Assignment, int64) {
		solved++
		return serial(p, budget)
	}})
	b.job("app1", 1, 9)
	for i := range 25 {
		b.observe(cluster.NodeChanged{Node: 3, Spec: cluster.NodeSpec{Name: "n3", Capacity: cluster.Vector{int64(4 + i%2)}}})
		if i == 4 {
			b.job("app2", 1, 2)
		}
		b.step()
	}
	if b.want("app1: -", "app2: n0"); solved < 3 || solved > 5 {
		t.Errorf("planned %d times in 25 s", solved)
	}
}
