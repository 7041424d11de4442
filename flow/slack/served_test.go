package slack

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/sched"
)

// clinic is a cluster of equal slots for tasks that never end, in a prompt world.
type clinic struct {
	t       *rapid.T
	core    *sched.Core
	slots   int
	now     cluster.Time
	next    cluster.TaskID
	events  []cluster.Event
	decided []sched.Decision
}

func newClinic(t *rapid.T, m *Model, classes []cluster.Class) *clinic {
	c := &clinic{t: t}
	var err error
	c.core, err = sched.New(cluster.NewState([]cluster.Kind{{Name: "slots", PerUnit: 1}}, classes), sched.Lane{
		Policy: flow.New(m, flow.Options{Name: "qos-flow", Stages: []flow.Stage{flow.Spread, flow.Preempt}}),
		When:   sched.Trigger{Watchdog: cluster.Second}, // who has just begun is not known before the next round
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range cluster.NodeID(rapid.IntRange(1, 4).Draw(t, "nodes")) {
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		c.slots += slots
		c.events = append(c.events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: cluster.Vector{int64(slots)}}})
	}
	c.events = append(c.events, cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}}, cluster.JobSubmitted{Job: 0, Name: "j"})
	return c
}

// submit lets a task come.
func (c *clinic) submit(class cluster.ClassID) {
	c.events = append(c.events, cluster.TaskSubmitted{Task: c.next, Seq: cluster.Seq(c.next), Job: 0, Class: class})
	c.next++
}

// round lets time pass and the core decide, and what it decides come true.
func (c *clinic) round(after cluster.Time) {
	c.now += after
	var err error
	if c.decided, _, err = c.core.Step(c.now, c.events, c.decided[:0]); err != nil {
		c.t.Fatal(err)
	}
	c.events = c.events[:0]
	for _, d := range c.decided {
		if d.Kind == sched.Place {
			c.events = append(c.events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		} else {
			c.events = append(c.events, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
		}
	}
}

// settle lets all that was decided come true, at once.
func (c *clinic) settle() {
	for range 5 {
		c.round(0)
	}
}

// served reports whether the task has a place, or has been given one.
func served(p cluster.Phase) bool {
	return p == cluster.Running || p == cluster.Reserved || p == cluster.Starting
}

// TestServesTheSmallestKeys is the unified specification's §5 (1): where containers are
// of equal size and of one resource, and switching costs nothing, the flow serves the
// same set as the algorithm of the paper, the tasks with the K smallest keys. Keys whose
// slacks are of the same step count as equal, and who may not be evicted keeps its place, as
// does who runs on a node where others are just leaving for more urgent ones: it is looked
// at when they have left.
func TestServesTheSmallestKeys(t *testing.T) {
	evicted, pinned, waits := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		classes := table(t, 0)
		m := New(Options{})
		c := newClinic(t, m, classes)
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			for range rapid.IntRange(0, 8).Draw(t, "tasks") {
				c.submit(cluster.ClassID(rapid.IntRange(0, len(classes)-1).Draw(t, "class")))
			}
			c.round(cluster.Second * cluster.Time(rapid.Int64Range(1, 200).Draw(t, "seconds")))
			for _, d := range c.decided {
				if d.Kind == sched.Evict {
					evicted++
				}
			}
			p, w := compare(t, m, c.core.View())
			pinned, waits = pinned+p, waits+w
			c.settle()
		}
	})
	t.Logf("%d evicted, %d times one that waits would have had the place of one that may not leave, %d waited", evicted, pinned, waits)
	if !testing.Short() && (evicted < 100 || waits < 100 || pinned == 0) {
		t.Errorf("%d evicted, %d may not leave, %d waited: too few", evicted, pinned, waits)
	}
}

// compare wants nobody to wait while somebody with a greater key is served.
func compare(t *rapid.T, m *Model, s *cluster.View) (pinned, waits int) {
	t.Helper()
	free := int64(0)
	for n := range cluster.NodeID(s.NodeRows()) {
		free += max(0, s.Limit(n)[0]-s.Used(n)[0])
	}
	for w := range cluster.TaskID(s.TaskRows()) {
		if phase := s.Task(w).Phase; phase != cluster.Waiting {
			continue
		}
		waits++
		if free > 0 {
			t.Fatalf("task %d waits, and there is room:\n%s", w, s.Picture())
		}
		for r := range cluster.TaskID(s.TaskRows()) {
			task := s.Task(r)
			class := &s.Classes()[task.Class]
			if !served(task.Phase) || m.price(task.Class, keyOf(s, r).slack) >= m.price(s.Task(w).Class, keyOf(s, w).slack) {
				continue
			}
			if keyOf(s, w).slack == cluster.Never || keyOf(s, w).compare(keyOf(s, r)) > 0 {
				continue
			}
			if task.Phase == cluster.Running && !class.MayLeave(task.Account.At(s.Now(), task.Phase)) {
				pinned++
				continue
			}
			if s.Overfull(task.Node) {
				continue
			}
			t.Fatalf("task %d waits with %+v, and %d is served with %+v:\n%s", w, keyOf(s, w), r, keyOf(s, r), s.Picture())
		}
	}
	return pinned, waits
}

// TestGoldIsNoVictim lets gold wait at first, so that it comes before all gold that runs
// for ever after: "never preempted — needed, because a waiting gold is always ≺ a running
// gold" (specification of QoS-driven scheduling, §6).
func TestGoldIsNoVictim(t *testing.T) {
	bronze, urged := 0, 0 // who was evicted, and how often gold waited while gold ran
	rapid.Check(t, func(t *rapid.T) {
		classes := []cluster.Class{
			{Name: "gold", Availability: cluster.Whole, Margin: 30 * cluster.Second},
			{Name: "bronze", Importance: 1, Availability: cluster.Whole / 2, Budget: cluster.Whole / 2},
		}
		c := newClinic(t, New(Standard()), classes)
		for range rapid.IntRange(2, 10).Draw(t, "rounds") {
			for range rapid.IntRange(0, 6).Draw(t, "tasks") {
				c.submit(cluster.ClassID(rapid.IntRange(0, 1).Draw(t, "class")))
			}
			c.round(cluster.Second * cluster.Time(rapid.Int64Range(1, 3600).Draw(t, "seconds")))
			for _, d := range c.decided {
				if d.Kind != sched.Evict {
					continue
				}
				if c.core.View().Task(d.Task).Class == 0 {
					t.Fatalf("gold is evicted:\n%s", c.core.View().Picture())
				}
				bronze++
			}
			c.settle()
			urged += goldWaits(c.core.View())
		}
	})
	if !testing.Short() && (bronze == 0 || urged == 0) {
		t.Errorf("bronze was evicted %d times, and gold waited beside gold %d times: want both", bronze, urged)
	}
}

// goldWaits is 1 where gold waits while other gold runs.
func goldWaits(s *cluster.View) int {
	waits, runs := 0, 0
	for id := range cluster.TaskID(s.TaskRows()) {
		switch task := s.Task(id); {
		case task.Class == 0 && task.Phase == cluster.Waiting:
			waits = 1
		case task.Class == 0 && task.Phase == cluster.Running:
			runs = 1
		}
	}
	return waits * runs
}
