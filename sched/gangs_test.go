package sched_test

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestGangsFindWhatThereIs: the stage places nearly every gang that can be placed, and no other.
func TestGangsFindWhatThereIs(t *testing.T) {
	found, possible := schedtest.GangsFound(t, 4000, func() sched.Policy { return &simple{idle: true} })
	t.Logf("%d of %d gangs that could be placed are", found, possible)
	if possible < 1000 || found < possible*97/100 {
		t.Errorf("of %d gangs that could be placed %d are, want 97 %%", possible, found)
	}
}

// TestGangsFindOneDomain: the stage places nearly every gang that fits into one rack, and none elsewhere.
func TestGangsFindOneDomain(t *testing.T) {
	found, possible := schedtest.GangsFoundInDomains(t, 4000, func() sched.Policy { return &simple{idle: true} })
	t.Logf("%d of %d gangs that could be placed are", found, possible)
	if possible < 300 || found < possible*97/100 {
		t.Errorf("of %d gangs that could be placed %d are, want 97 %%", possible, found)
	}
}

// TestGangsStandNear: a gang that would rather stand in one domain stands in one of the narrowest that hold it.
func TestGangsStandNear(t *testing.T) {
	counts := schedtest.GangsStandNear(t, 3000, func() sched.Policy { return &simple{idle: true} })
	if slices.Min(counts[:]) < 200 {
		t.Errorf("%d gangs stand below a switch, %d below a spine, %d wider: this says little", counts[0], counts[1], counts[2])
	}
}

// TestGangsWakeWhereThereIsRoom: no gang sleeps on where there has come to be room for it.
func TestGangsWakeWhereThereIsRoom(t *testing.T) {
	if woken := schedtest.GangsWake(t, 300, func() sched.Policy { return &simple{idle: true} }); woken < 300 {
		t.Errorf("%d gangs began that had waited: this says little", woken)
	}
}

// gangOf submits a gang and so many tasks of it, of one cpu each.
func gangOf(job cluster.JobID, least int32, first cluster.TaskID, tasks int) []cluster.Event {
	events := []cluster.Event{cluster.JobSubmitted{Job: job, Name: "gang", Gang: least}}
	for i := range tasks {
		t := first + cluster.TaskID(i)
		events = append(events, cluster.TaskSubmitted{Task: t, Seq: cluster.Seq(t), Job: job})
	}
	return events
}

// TestSleepingGangCostsNothing: a gang that failed is not tried again until something has changed by which one of its tasks could
// find a place.
func TestSleepingGangCostsNothing(t *testing.T) {
	p := newParty(t, 2)
	p.policy.idle = true
	p.step(cluster.NodeAdded{Node: 2, Spec: cluster.NodeSpec{Name: "small", Capacity: cluster.Vector{2}}}) // in all there is room for three
	p.shape(0, 3)
	p.step(gangOf(1, 3, 0, 3)...)
	if p.policy.ticks == 0 {
		t.Error("a new gang is not tried")
	}
	p.step(cluster.UsageReported{Node: 0, Usage: cluster.Vector{1}}) // a change, with room for one of them
	if p.policy.ticks == 0 {
		t.Error("a gang is not tried again when a node with room for it has changed")
	}
	p.step(cluster.NodeAdded{Node: 3, Spec: cluster.NodeSpec{Name: "small", Capacity: cluster.Vector{2}}})
	p.step(cluster.JobSubmitted{Job: 2, Name: "other"})
	if p.policy.ticks != 0 {
		t.Errorf("a gang is tried again though nothing has changed that helps it: %d ticks", p.policy.ticks)
	}
	if got := where(p.step(cluster.NodeAdded{Node: 4, Spec: cluster.NodeSpec{Name: "large", Capacity: cluster.Vector{4}}})); got != "0 on n0 1 on n1 2 on n4 " {
		t.Errorf("with a third node %q", got)
	}
}

// TestGangsWithoutRoomInAllAreNotTried: where all nodes together have less room than a gang asks for, a node with room for one of its tasks
// has no gang looked for, however many wait.
func TestGangsWithoutRoomInAllAreNotTried(t *testing.T) {
	p := newParty(t, 2)
	p.policy.idle = true
	p.shape(0, 3)
	for j := range cluster.JobID(20) {
		p.step(gangOf(1+j, 3, cluster.TaskID(3*j), 3)...)
	}
	if p.step(cluster.UsageReported{Node: 0, Usage: cluster.Vector{1}}); p.policy.ticks != 0 {
		t.Errorf("gangs are tried that cannot be placed: %d ticks", p.policy.ticks)
	}
	if got := where(p.step(cluster.NodeAdded{Node: 2, Spec: cluster.NodeSpec{Name: "third", Capacity: cluster.Vector{3}}})); got != "0 on n2 1 on n0 2 on n1 " {
		t.Errorf("with a third node %q", got)
	}
}

// TestPolicyIsNotShownShortGangs: tasks of a gang that lacks some are among Gangs; among Tasks when it has its number; and among Gone when it
// falls below.
func TestPolicyIsNotShownShortGangs(t *testing.T) {
	p := &shown{}
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	now := cluster.Time(0)
	step := func(events ...cluster.Event) {
		t.Helper()
		now++
		if _, _, err := core.Step(now, events, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, got []cluster.TaskID, want ...cluster.TaskID) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("at %d %s are %v, want %v", now, what, got, want)
		}
	}
	step(append([]cluster.Event{cluster.NodeAdded{Spec: cluster.NodeSpec{Capacity: cluster.Vector{9}}}, cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}}}, gangOf(0, 2, 0, 1)...)...)
	want("gangs", p.gangs, 0)
	want("tasks", p.tasks)
	step(cluster.TaskSubmitted{Task: 1, Seq: 1}, cluster.TaskSubmitted{Task: 2, Seq: 2})
	want("gangs", p.gangs, 0, 1, 2)
	step(cluster.TaskFound{Task: 0, Seq: 0}, cluster.TaskFound{Task: 1, Seq: 1})
	want("gangs", p.gangs)
	want("tasks", p.tasks, 0, 1, 2)
	want("gone", p.gone)
	step(cluster.TaskLeft{Task: 0, Attempt: 1})
	want("gangs", p.gangs, 0, 2)
	want("tasks", p.tasks)
	want("gone", p.gone, 0, 2)
	step(cluster.TaskEnded{Task: 1, Seq: 1, Finished: true}) // it leaves nobody behind, and one more is enough
	want("gangs", p.gangs, 0, 2)
	want("gone", p.gone, 1)
	step(cluster.TaskEnded{Task: 0, Seq: 0}, cluster.UsageReported{Usage: cluster.Vector{1}}) // nor does it, as it has run
	want("gangs", p.gangs)
	want("tasks", p.tasks, 2)
	want("gone", p.gone, 0)
}

// shown does nothing, and remembers what it was shown last.
type shown struct{ gangs, tasks, gone []cluster.TaskID }

func (p *shown) Plan(_ *sched.Trial, c *sched.Changed, _ int64, _ *sched.Plan) {
	p.gangs, p.tasks, p.gone = slices.Clone(c.Gangs), slices.Clone(c.Tasks), slices.Clone(c.Gone)
	slices.Sort(p.gangs)
	slices.Sort(p.tasks)
	slices.Sort(p.gone)
}

func (*shown) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// TestGangsFindADomainForEachPart: the stage places nearly every gang of which each part fits into one rack, within one zone for all of them or anywhere, and none elsewhere.
func TestGangsFindADomainForEachPart(t *testing.T) {
	found, possible := schedtest.GangsFoundInParts(t, 4000, func() sched.Policy { return &simple{idle: true} })
	t.Logf("%d of %d gangs that could be placed are", found, possible)
	if possible < 600 || found < possible*97/100 {
		t.Errorf("of %d gangs that could be placed %d are, want 97 %%", possible, found)
	}
}
