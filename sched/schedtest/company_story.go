package schedtest

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file is the story of tasks that must stand beside others of their own job. The first of them
// would stand alone, and no policy may place it so; as many as keep each other company can come
// together.

// companyStory is a job on four nodes of six cpu, two in a rack.
type companyStory struct {
	bound       cluster.Bound
	tasks       int
	cpu         int64 // of each task
	shapes      int   // of the tasks, which take turns
	placed, one int   // how many have a place in the end, and on how many sets of the group
}

func companyStories() []companyStory {
	web := []string{"web"}
	beside := func(least int32, group string) cluster.Bound {
		return cluster.Bound{Subject: web, Target: web, Min: least, Max: cluster.Unbounded, Group: group}
	}
	counted := beside(3, cluster.EachNode)
	counted.SelfCounted = true
	return []companyStory{
		{beside(1, cluster.EachNode), 3, 2, 1, 3, 1},
		{beside(1, "rack"), 3, 4, 1, 2, 1}, // a rack has room for two, and the third would stand alone
		{beside(2, "rack"), 5, 2, 1, 5, 1},
		{counted, 3, 2, 1, 3, 1},
		{beside(1, cluster.EachNode), 2, 4, 1, 0, 0}, // there is no room for two
		{beside(3, cluster.EachNode), 4, 2, 1, 0, 0},
		{beside(1, cluster.EachNode), 1, 2, 1, 0, 0}, // there is no other
		{beside(1, cluster.EachNode), 7, 3, 1, 6, 3}, // a node is full with two
		{beside(1, "rack"), 4, 6, 1, 4, 2},
		{beside(1, cluster.EachNode), 2, 2, 2, 2, 1}, // they are of one kind, and not of one size
		{beside(2, "rack"), 5, 2, 3, 5, 1},
	}
}

// keepCompany plays the stories to the policy, and says what it did wrong. One that places jobs
// whole has stories of its own.
func keepCompany(newPolicy func(seed uint64) sched.Policy) error {
	for i, story := range companyStories() {
		policy := newPolicy(uint64(i))
		if _, whole := policy.(placesWhole); whole {
			return nil
		}
		if err := story.play(policy); err != nil {
			return fmt.Errorf("%d tasks of %d cpu and %d shapes, each with %d others in its %s: %w", story.tasks, story.cpu, story.shapes, story.bound.Min, story.bound.Group, err)
		}
	}
	return nil
}

// play lets all that is decided happen, for as long as the policy wants rounds, or ten minutes.
func (c *companyStory) play(policy sched.Policy) error {
	lane := sched.Lane{Name: "all", Policy: policy}
	if own, ok := policy.(Triggered); ok {
		lane.When = own.When
	}
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, promises()), lane)
	if err != nil {
		return err
	}
	in, s := c.events(), core.View()
	for now := cluster.Time(0); now < 10*cluster.Minute; {
		out, wake, err := core.Step(now, in, nil)
		if err != nil {
			return err
		}
		if err := s.Check(); err != nil {
			return err
		}
		if standing := s.Standing(0, 1, 0); standing.Violating > 0 {
			return fmt.Errorf("%d violate what is hard, in\n%s", standing.Violating, s.Picture())
		}
		in = in[:0]
		for _, d := range out {
			if d.Kind == sched.Place {
				in = append(in, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
			}
		}
		if now++; len(in) == 0 {
			now = max(now, wake)
		}
	}
	placed, sets := 0, map[string]bool{}
	for t := range cluster.TaskID(c.tasks) {
		if task := s.Task(t); task.Placed() {
			placed++
			set := s.NodeSpec(task.Node).Name
			if c.bound.Group != cluster.EachNode {
				set = s.NodeSpec(task.Node).Groups[0].Value
			}
			sets[set] = true
		}
	}
	if placed != c.placed || len(sets) != c.one {
		return fmt.Errorf("%d are placed, on %d, want %d on %d, in\n%s", placed, len(sets), c.placed, c.one, s.Picture())
	}
	return nil
}

// events are what there is.
func (c *companyStory) events() []cluster.Event {
	var events []cluster.Event
	for n := range cluster.NodeID(4) {
		events = append(events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{
			Name: fmt.Sprintf("n%d", n), Capacity: cluster.Vector{6, 20}, Groups: []cluster.Label{{Key: "rack", Value: fmt.Sprintf("r%d", n%2)}},
		}})
	}
	events = append(events,
		cluster.ConstraintDefined{Spec: cluster.Constraint{Name: "company", Hard: true, Any: [][]cluster.Bound{{c.bound}}}},
		cluster.JobSubmitted{Name: "web", User: "even"})
	for i := range cluster.ShapeID(c.shapes) {
		events = append(events, cluster.ShapeDefined{Shape: i, Spec: cluster.Shape{Demand: cluster.Vector{c.cpu, 1 + int64(i)}, Tags: []string{"web"}}})
	}
	for t := range cluster.TaskID(c.tasks) {
		events = append(events, cluster.TaskSubmitted{Task: t, Seq: cluster.Seq(t), Shape: cluster.ShapeID(int(t) % c.shapes)})
	}
	return events
}
