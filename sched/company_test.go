package sched_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// simple places each waiting task on the first node that takes it alone, in every round, and has company
// do the rest.
type simple struct {
	company sched.Company
	idle    bool           // it places none of them
	evict   []sched.Action // to be done first, once
	ticks   int64          // of company, in the last round
}

func (p *simple) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	for _, a := range p.evict {
		if !t.Try(a).Refused() {
			out.Add(a)
			out.Close()
		}
	}
	p.evict = nil
	for task := range cluster.TaskID(s.TaskRows()) {
		if p.idle {
			break
		}
		for n := cluster.NodeID(0); s.Task(task).Phase == cluster.Waiting && n < cluster.NodeID(s.NodeRows()); n++ {
			a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
			if s.RoomNow(s.Task(task).Shape, n) && !t.Try(a).Refused() {
				out.Add(a)
				out.Close()
			}
		}
	}
	p.company.Plan(t, c, budget, out)
	p.ticks = out.Ticks
}

func (*simple) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// party is a core with that policy and nodes of four cpu, two in a rack.
type party struct {
	t      *testing.T
	policy *simple
	core   *sched.Core
	now    cluster.Time
	tasks  cluster.TaskID
}

func newParty(t *testing.T, nodes int) *party {
	t.Helper()
	p := &party{t: t, policy: &simple{}}
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: p.policy})
	if err != nil {
		t.Fatal(err)
	}
	p.core = core
	for n := range nodes {
		p.step(cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{
			Name: fmt.Sprintf("n%d", n), Capacity: cluster.Vector{4}, Groups: []cluster.Label{{Key: "rack", Value: fmt.Sprintf("r%d", n/2)}},
		}})
	}
	p.step(cluster.JobSubmitted{Name: "job"})
	return p
}

// step gives the core these events, and returns what it decides.
func (p *party) step(events ...cluster.Event) []sched.Decision {
	p.t.Helper()
	p.now++
	p.policy.ticks = 0
	out, _, err := p.core.Step(p.now, events, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.core.View().Check(); err != nil {
		p.t.Fatal(err)
	}
	return out
}

// shape defines a shape.
func (p *party) shape(row cluster.ShapeID, cpu int64, tags ...string) {
	p.t.Helper()
	p.step(cluster.ShapeDefined{Shape: row, Spec: cluster.Shape{Demand: cluster.Vector{cpu}, Tags: tags}})
}

// rule defines a hard constraint.
func (p *party) rule(row cluster.ConstraintID, alternatives ...[]cluster.Bound) {
	p.t.Helper()
	p.step(cluster.ConstraintDefined{Constraint: row, Spec: cluster.Constraint{Name: fmt.Sprint(row), Hard: true, Any: alternatives}})
}

// come submits tasks of a shape, and says on which nodes how many are placed.
func (p *party) come(shape cluster.ShapeID, tasks int) string {
	p.t.Helper()
	var events []cluster.Event
	for range tasks {
		events = append(events, cluster.TaskSubmitted{Task: p.tasks, Seq: cluster.Seq(p.tasks), Shape: shape})
		p.tasks++
	}
	return where(p.step(events...))
}

func where(out []sched.Decision) string {
	text := ""
	for _, d := range out {
		text += fmt.Sprintf("%d on n%d ", d.Task, d.Node)
	}
	return text
}

func (p *party) want(got, want string) {
	p.t.Helper()
	if got != want {
		p.t.Errorf("decided %q, want %q, in\n%s", got, want, p.core.View().Picture())
	}
}

// beside wants so many others with the tag in a set of the group.
func beside(tag string, least int32, group string) cluster.Bound {
	return cluster.Bound{Subject: []string{"web"}, Target: []string{tag}, Min: least, Max: cluster.Unbounded, Group: group}
}

// TestCompanySleeps tries those that found no room in no round in which nothing has changed that they could
// use, and then at once: a node that has room for two, and a second one of theirs.
func TestCompanySleeps(t *testing.T) {
	p := newParty(t, 4)
	p.shape(0, 2, "web")
	p.shape(1, 3)
	p.rule(0, []cluster.Bound{beside("web", 1, cluster.EachNode)})
	p.want(p.come(1, 4), "0 on n0 1 on n1 2 on n2 3 on n3 ")
	p.want(p.come(0, 1), "")
	p.want(p.come(0, 1), "")
	p.shape(2, 1)
	p.want(p.come(2, 1), "6 on n0 ")
	if p.policy.ticks != 0 {
		t.Errorf("%d ticks for a node that changed and has no room", p.policy.ticks)
	}
	p.want(where(p.step(cluster.TaskEnded{Task: 2, Seq: 2})), "4 on n2 5 on n2 ")
	p.want(where(p.step(cluster.TaskEnded{Task: 3, Seq: 3})), "")
	p.want(p.come(0, 1), "") // where the two are there is no room
	p.want(p.come(0, 1), "7 on n3 8 on n3 ")
}

// TestCompanyFillsSets goes on with the next two where a node is full with two, in the same round.
func TestCompanyFillsSets(t *testing.T) {
	p := newParty(t, 3)
	p.shape(0, 2, "web")
	p.rule(0, []cluster.Bound{beside("web", 1, cluster.EachNode)})
	p.want(p.come(0, 5), "0 on n0 1 on n0 2 on n1 3 on n1 ")
	p.want(p.come(0, 1), "4 on n2 5 on n2 ")
}

// TestCompanyOfOtherShapes has two of different sizes come together, and prefers others of the same: then such as
// ask for no other company, and only then who asks for more.
func TestCompanyOfOtherShapes(t *testing.T) {
	other := beside("b", 1, cluster.EachNode)
	other.Subject = []string{"b"}
	for _, story := range []struct {
		come [][2]int // shape and number, in order
		want string
	}{
		{[][2]int{{0, 1}, {1, 1}}, "0 on n0 1 on n0 "},
		{[][2]int{{1, 1}, {0, 1}}, "0 on n0 1 on n0 "},
		{[][2]int{{2, 1}, {0, 1}}, ""}, // who wants another b does not come alone
		{[][2]int{{2, 1}, {0, 1}, {1, 1}}, "1 on n0 2 on n0 "},
		{[][2]int{{0, 1}, {2, 1}, {1, 1}}, "0 on n0 2 on n0 "},
		{[][2]int{{1, 1}, {2, 2}}, "1 on n0 2 on n0 0 on n0 "},
		{[][2]int{{3, 1}, {0, 1}}, ""}, // there is no room for both
		{[][2]int{{3, 1}, {0, 2}}, "1 on n0 2 on n0 "},
	} {
		p := newParty(t, 2)
		p.shape(0, 1, "web")
		p.shape(1, 2, "web")
		p.shape(2, 1, "b", "web")
		p.shape(3, 4, "web")
		p.rule(0, []cluster.Bound{beside("web", 1, cluster.EachNode)})
		p.rule(1, []cluster.Bound{other})
		var events []cluster.Event
		for _, some := range story.come {
			for range some[1] {
				events = append(events, cluster.TaskSubmitted{Task: p.tasks, Seq: cluster.Seq(p.tasks), Shape: cluster.ShapeID(some[0])})
				p.tasks++
			}
		}
		p.want(where(p.step(events...))+where(p.step()), story.want)
	}
	p := newParty(t, 2) // one after the other
	p.shape(0, 1, "web")
	p.shape(1, 2, "web")
	p.rule(0, []cluster.Bound{beside("web", 1, cluster.EachNode)})
	p.want(p.come(1, 1), "")
	p.want(p.come(0, 1), "0 on n0 1 on n0 ")
}

// TestCompanyCountsOnLeaving reserves what is leaving for two, where there is no room for them now.
func TestCompanyCountsOnLeaving(t *testing.T) {
	for _, room := range []int64{2, 4} { // of the other node
		p := newParty(t, 2)
		p.shape(0, 2, "web")
		p.shape(1, 2)
		p.rule(0, []cluster.Bound{beside("web", 1, cluster.EachNode)})
		p.want(p.come(1, 1), "0 on n0 ")
		p.step(cluster.TaskStarted{Task: 0, Attempt: 1, Node: 0}, cluster.NodeChanged{Node: 1, Spec: cluster.NodeSpec{Name: "n1", Capacity: cluster.Vector{room}}})
		p.policy.evict = []sched.Action{{Kind: sched.Evict, Task: 0, Attempt: 1}}
		if got := p.come(0, 2); room == 4 {
			p.want(got, "0 on n0 1 on n1 2 on n1 ")
			continue
		}
		s := p.core.View()
		if s.Task(1).Phase != cluster.Starting || s.Task(2).Phase != cluster.Reserved || s.Task(1).Node != 0 || s.Task(2).Node != 0 {
			t.Errorf("no room is reserved, in\n%s", s.Picture())
		}
		p.want(where(p.step(cluster.TaskEnded{Task: 0, Seq: 0})), "2 on n0 ")
	}
}

// TestCompanyTakesTurns goes through all shapes under the smallest budget, also where the policy does not place the
// tasks that it could place, and comes to rest.
func TestCompanyTakesTurns(t *testing.T) {
	p := newParty(t, 2)
	p.policy.idle = true
	for i, tag := range []string{"a", "b", "c"} {
		bound := beside(tag, 1, cluster.EachNode)
		bound.Subject = bound.Target
		p.rule(cluster.ConstraintID(i), []cluster.Bound{bound})
		p.shape(cluster.ShapeID(i), 1, tag)
	}
	var events []cluster.Event
	come := func(shape cluster.ShapeID, found bool) {
		events = append(events, cluster.TaskSubmitted{Task: p.tasks, Seq: cluster.Seq(p.tasks), Shape: shape, Gated: found})
		if found {
			events = append(events, cluster.TaskFound{Task: p.tasks, Seq: cluster.Seq(p.tasks), Node: 0})
		}
		p.tasks++
	}
	come(0, true)
	for range 2 {
		for shape := range cluster.ShapeID(3) {
			come(shape, false)
		}
	}
	p.now++
	if _, err := p.core.Observe(p.now, events, nil); err != nil {
		t.Fatal(err)
	}
	rounds, decided := 0, ""
	for ; rounds < 100; rounds++ {
		lane, due := p.core.Due(p.now)
		if !due {
			break
		}
		r := p.core.Begin(lane, p.now)
		r.Run(1)
		decided += where(p.core.Finish(r, p.now, nil))
	}
	p.want(decided, "2 on n0 5 on n0 3 on n1 6 on n1 ")
	if rounds > 10 {
		t.Errorf("%d rounds at one instant", rounds)
	}
}

// TestCompanyHonoursOtherBounds puts the two on different nodes of a rack where they must not share one, and
// together with two more on one node where the node has to hold as many.
func TestCompanyHonoursOtherBounds(t *testing.T) {
	p := newParty(t, 4)
	p.shape(0, 1, "web")
	apart := cluster.Bound{Subject: []string{"web"}, Target: []string{"web"}, Group: cluster.EachNode}
	p.rule(0, []cluster.Bound{beside("web", 1, "rack"), apart})
	p.want(p.come(0, 3), "0 on n0 1 on n1 ")

	p = newParty(t, 4)
	p.shape(0, 2, "web")
	p.rule(0, []cluster.Bound{beside("web", 3, "rack")})
	p.rule(1, []cluster.Bound{beside("web", 1, cluster.EachNode)})
	p.want(p.come(0, 5), "0 on n0 1 on n0 2 on n1 3 on n1 ")
}

// TestCompanyOfFew takes the set in which the fewest have to come.
func TestCompanyOfFew(t *testing.T) {
	p := newParty(t, 4)
	p.shape(0, 1, "web")
	p.shape(1, 1, "other", "web")
	p.rule(0, []cluster.Bound{beside("web", 2, cluster.EachNode)})
	p.step(cluster.JobSubmitted{Job: 1, Name: "foreign", Foreign: true}, cluster.TaskSubmitted{Task: 9, Seq: 9, Job: 1, Shape: 1},
		cluster.TaskFound{Task: 9, Seq: 9, Node: 2})
	p.want(p.come(0, 3), "0 on n2 1 on n2 ")
}

// TestCompanyKnowsLateRules looks at tasks that wait already when a constraint comes, and leaves them alone
// when it goes.
func TestCompanyKnowsLateRules(t *testing.T) {
	p := newParty(t, 2)
	p.shape(0, 2, "web")
	p.rule(0, []cluster.Bound{beside("nobody", 1, cluster.EachNode)})
	p.want(p.come(0, 2), "")
	p.rule(1, []cluster.Bound{beside("web", 1, cluster.EachNode)})
	p.want(where(p.step(cluster.ConstraintForgotten{Constraint: 0})), "0 on n0 1 on n0 ")
}

// TestCompanyLeavesOthers has nothing to do where a constraint lets the first be alone, as by alternatives
// that say how many there are in all, where it counts itself, and of jobs that are not to be touched.
func TestCompanyLeavesOthers(t *testing.T) {
	self := beside("web", 1, cluster.EachNode)
	self.SelfCounted = true
	one := cluster.Bound{Target: []string{"web"}, Max: 1, Group: "rack"}
	for i, alternatives := range [][][]cluster.Bound{{{self}}, {{one}, {beside("web", 1, "rack")}}, {{beside("nobody", 1, "rack")}}} {
		p := newParty(t, 2)
		p.shape(0, 3, "web")
		p.shape(1, 2)
		p.rule(0, alternatives...)
		p.come(1, 2)
		p.want(p.come(0, 2), []string{"2 on n1 ", "2 on n1 ", ""}[i])
		if p.policy.ticks != 0 {
			t.Errorf("%d ticks under %v", p.policy.ticks, alternatives)
		}
	}
	p := newParty(t, 2)
	p.policy.company.Not = func(j *cluster.Job) bool { return j.Name == "job" }
	p.shape(0, 1, "web")
	p.rule(0, []cluster.Bound{beside("web", 1, cluster.EachNode)})
	p.want(p.come(0, 2), "")
}

// TestCompanyFindsRoom compares with what there is: tasks come if some set has room for as many as the bound asks
// for, and there are as many, and none comes otherwise.
func TestCompanyFindsRoom(t *testing.T) {
	came, stayed := 0, 0
	for seed := range uint64(500) {
		chance := rand.New(rand.NewPCG(seed, 7))
		nodes, cpu, tasks := 1+chance.IntN(6), 1+chance.Int64N(3), 1+chance.IntN(6)
		p := newParty(t, nodes)
		bound := beside("web", int32(1+chance.IntN(3)), []string{cluster.EachNode, "rack"}[chance.IntN(2)])
		need := int(bound.Min) + 1
		if bound.SelfCounted = chance.IntN(3) == 0; bound.SelfCounted {
			need--
		}
		p.shape(0, cpu, "web")
		p.rule(0, []cluster.Bound{bound})
		room := map[int]int64{}
		for n := range nodes {
			taken := chance.Int64N(5)
			set := n
			if bound.Group != cluster.EachNode {
				set = n / 2
			}
			room[set] += (4 - taken) / cpu
			p.step(cluster.NodeChanged{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{
				Name: fmt.Sprintf("n%d", n), Capacity: cluster.Vector{4 - taken}, Groups: []cluster.Label{{Key: "rack", Value: fmt.Sprintf("r%d", n/2)}},
			}})
		}
		most := int64(0)
		for _, r := range room {
			most = max(most, r)
		}
		p.come(0, tasks)
		p.step()
		s := p.core.View()
		want := tasks >= need && most >= int64(need)
		if got := s.InPhase(cluster.Starting); (got >= need) != want || !want && got > 0 {
			t.Fatalf("seed %d: %d of %d tasks of %d cpu came, where there is room for %d in a %s, and %d are needed\n%s", seed, got, tasks, cpu, most, bound.Group, need, s.Picture())
		}
		if standing := s.Standing(0, 1, 0); standing.Violating > 0 {
			t.Fatalf("seed %d: %d violate the bound", seed, standing.Violating)
		}
		if want && need > 1 {
			came++
		} else {
			stayed++
		}
	}
	if came < 100 || stayed < 100 {
		t.Errorf("tasks came %d times and stayed %d times: it shows too little", came, stayed)
	}
}
