package schedtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// OptimumReport says how far a policy was from leaving as few tasks waiting as can
// be.
type OptimumReport struct {
	Cases   int
	Tasks   int   // of all cases
	Waiting int   // that the policy left
	Least   int   // that have to wait, whatever places them
	Beyond  []int // Beyond[i] is in how many cases i tasks more waited than had to
}

// String is the report in a line.
func (r OptimumReport) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d cases, %d tasks: %d wait, %d have to;", r.Cases, r.Tasks, r.Waiting, r.Least)
	for more, cases := range r.Beyond {
		fmt.Fprintf(&text, " %d more in %.1f %%,", more, 100*float64(cases)/float64(r.Cases))
	}
	return strings.TrimSuffix(text.String(), ",")
}

// Optimum compares how many tasks a policy leaves waiting with the fewest that any
// placement leaves, in thousands of small cases: up to 8 tasks of up to 4 shapes, of
// 1 to 3 kinds, come at once to up to 4 nodes on which something runs already, and
// ask for nearly as much as there is. Some shapes may use some nodes only. It fails if
//
//   - a task waits that fits on some node as things stand when the policy wants no
//     more: at first, and again after some of the tasks have ended;
//   - the policy moves tasks without end;
//   - fewer tasks wait than have to: the core let through what does not fit.
//
// With FAIRLEAD_LONG set it tries ten times as many.
func Optimum(t *testing.T, newPolicy func(seed uint64) sched.Policy) OptimumReport {
	t.Helper()
	cases := uint64(2000)
	if os.Getenv("FAIRLEAD_LONG") != "" {
		cases *= 10
	}
	r, err := optimum(newPolicy, cases)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// optimum is Optimum without the test.
func optimum(newPolicy func(seed uint64) sched.Policy, cases uint64) (OptimumReport, error) {
	r := OptimumReport{}
	for seed := range cases {
		c := newSmallCase(seed)
		waiting, err := c.play(newPolicy(seed))
		least := c.least()
		if err == nil && waiting < least {
			err = fmt.Errorf("%d tasks wait, but %d have to", waiting, least)
		}
		if err != nil {
			return r, fmt.Errorf("seed %d: %w\n%s", seed, err, c)
		}
		r.Cases++
		r.Tasks += len(c.tasks)
		r.Waiting += waiting
		r.Least += least
		for len(r.Beyond) <= waiting-least {
			r.Beyond = append(r.Beyond, 0)
		}
		r.Beyond[waiting-least]++
	}
	return r, nil
}

// smallCase is a cluster so small that every placement can be tried.
type smallCase struct {
	chance     *rand.Rand
	kinds      int
	size, room []cluster.Vector // per node: its capacity, and what is left of it
	shapes     []smallShape
	tasks      []int // their shapes, in the order of submission
}

type smallShape struct {
	demand   cluster.Vector
	eligible []bool // per node
}

func newSmallCase(seed uint64) *smallCase {
	c := &smallCase{chance: rand.New(rand.NewPCG(seed, 0x0b71))}
	c.kinds = 1 + c.chance.IntN(3)
	nodes, shapes, tasks := 1+c.chance.IntN(4), 1+c.chance.IntN(4), 3+c.chance.IntN(6)
	for range nodes {
		size, room := make(cluster.Vector, c.kinds), make(cluster.Vector, c.kinds)
		for k := range size {
			size[k] = 8 + c.chance.Int64N(9)
			room[k] = size[k] - c.chance.Int64N(5)
		}
		c.size, c.room = append(c.size, size), append(c.room, room)
	}
	// The tasks ask on average for nearly as much as there is, with a wide spread, but
	// none for more than a node has.
	most := min(int64(16*nodes/tasks), 10)
	choosy := c.chance.IntN(3) == 0
	for range shapes {
		s := smallShape{demand: make(cluster.Vector, c.kinds), eligible: make([]bool, nodes)}
		for k := range s.demand {
			s.demand[k] = c.chance.Int64N(most + 1)
		}
		for n := range s.eligible {
			s.eligible[n] = !choosy || c.chance.IntN(3) > 0
		}
		c.shapes = append(c.shapes, s)
	}
	for range tasks {
		c.tasks = append(c.tasks, c.chance.IntN(shapes))
	}
	return c
}

// String draws the case.
func (c *smallCase) String() string {
	var text strings.Builder
	for n := range c.size {
		fmt.Fprintf(&text, "n%d has %d left of %d\n", n, c.room[n], c.size[n])
	}
	for i, s := range c.shapes {
		fmt.Fprintf(&text, "shape %d needs %d, may use %v\n", i, s.demand, s.eligible)
	}
	return text.String() + fmt.Sprintf("tasks of shapes %d", c.tasks)
}

// least is the fewest tasks that any placement leaves waiting: it tries them all,
// but for those that differ in which of two equal tasks goes where, or cannot leave
// fewer than the best so far.
func (c *smallCase) least() int {
	tasks := slices.Clone(c.tasks)
	slices.Sort(tasks)
	room := make([]cluster.Vector, len(c.room))
	for n := range room {
		room[n] = slices.Clone(c.room[n])
	}
	best := len(tasks)
	// try decides about task i; equal tasks go to nodes in ascending order, and
	// those that wait come last.
	var try func(i, from, waiting int)
	try = func(i, from, waiting int) {
		if waiting >= best {
			return
		}
		if i == len(tasks) {
			best = waiting
			return
		}
		if i > 0 && tasks[i] != tasks[i-1] {
			from = 0
		}
		s := c.shapes[tasks[i]]
		for n := from; n < len(room); n++ {
			if s.eligible[n] && s.demand.Fits(room[n]) {
				for k, q := range s.demand {
					room[n][k] -= q
				}
				try(i+1, n, waiting)
				for k, q := range s.demand {
					room[n][k] += q
				}
			}
		}
		try(i+1, len(room), waiting+1)
	}
	try(0, 0, 0)
	return best
}

// play lets a policy place the tasks, and returns how many wait.
func (c *smallCase) play(policy sched.Policy) (waiting int, err error) {
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "memory"}, {Name: "ports"}}[:c.kinds]
	core, err := sched.New(cluster.NewState(kinds, nil), sched.Lane{Name: "all", Policy: policy})
	if err != nil {
		return 0, err
	}
	now := cluster.Time(0)
	if now, err = c.settle(core, now, c.events()); err != nil {
		return 0, err
	}
	waiting = core.View().InPhase(cluster.Waiting)
	var ends []cluster.Event
	for i := range c.tasks {
		id := cluster.TaskID(len(c.room) + i)
		if task := core.View().Task(id); task.Placed() && c.chance.IntN(2) == 0 {
			ends = append(ends, cluster.TaskEnded{Task: id, Seq: task.Seq})
		}
	}
	if _, err = c.settle(core, now, ends); err != nil {
		return 0, fmt.Errorf("after some have ended: %w", err)
	}
	return waiting, nil
}

// events are the nodes with what runs there already, a foreign task each, and then
// all tasks at once.
func (c *smallCase) events() []cluster.Event {
	events := []cluster.Event{cluster.JobSubmitted{Job: 0, Name: "others", Foreign: true}, cluster.JobSubmitted{Job: 1, Name: "job"}}
	for n, size := range c.size {
		used := slices.Clone(size)
		for k, q := range c.room[n] {
			used[k] -= q
		}
		id, row, shape := cluster.TaskID(n), cluster.NodeID(n), cluster.ShapeID(len(c.shapes)+n)
		events = append(events,
			cluster.NodeAdded{Node: row, Spec: cluster.NodeSpec{Name: fmt.Sprintf("n%d", n), Capacity: size}},
			cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: used}},
			cluster.TaskSubmitted{Task: id, Seq: cluster.Seq(n + 1), Job: 0, Shape: shape},
			cluster.TaskFound{Task: id, Seq: cluster.Seq(n + 1), Node: row})
	}
	for i, s := range c.shapes {
		var nodes []cluster.NodeID
		for n, eligible := range s.eligible {
			if eligible {
				nodes = append(nodes, cluster.NodeID(n))
			}
		}
		events = append(events,
			cluster.SetDefined{Set: cluster.SetID(i + 1), Nodes: nodes},
			cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: s.demand, Eligible: cluster.SetID(i + 1)}})
	}
	for i, shape := range c.tasks {
		row := len(c.room) + i
		events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(row), Seq: cluster.Seq(row + 1), Job: 1, Shape: cluster.ShapeID(shape)})
	}
	return events
}

// settle tells the core what happened and does what it decides at once, until it wants
// no more: five calls in a row, at times of its choice, or never again. Then no task
// that waits fits anywhere.
func (c *smallCase) settle(core *sched.Core, now cluster.Time, events []cluster.Event) (cluster.Time, error) {
	idle := 0
	for range 100 {
		decisions, wake, err := core.Step(now, events, nil)
		if err != nil {
			return now, err
		}
		events = nil
		for _, d := range decisions {
			if d.Kind == sched.Place {
				events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
			} else {
				events = append(events, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
			}
		}
		if idle++; len(events) > 0 {
			idle = 0
		}
		if len(events) == 0 && (wake == cluster.Never || idle == 5) {
			return now, c.nothingFits(core.View())
		}
		if now++; len(events) == 0 {
			now = max(now, wake)
		}
	}
	return now, fmt.Errorf("still moves tasks after 100 steps:\n%s", core.View().Picture())
}

// nothingFits names a waiting task that fits on some node.
func (c *smallCase) nothingFits(s *cluster.View) error {
	for i := range c.tasks {
		id := cluster.TaskID(len(c.room) + i)
		for n := range c.room {
			if s.Task(id).Phase == cluster.Waiting && !s.Admits(id, cluster.NodeID(n)).Refused() {
				return fmt.Errorf("%s waits, but fits on n%d:\n%s", s.TaskName(id), n, s.Picture())
			}
		}
	}
	return nil
}
