package policies_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// This file holds policies to their word in small worlds where little happens: one thing at
// a time, under hard constraints that come and go. Once all is quiet, nobody may wait for
// whom there is room that no constraint forbids; and it must become quiet.

// hamlet is such a world.
type hamlet struct {
	chance *rand.Rand
	core   *sched.Core
	now    cluster.Time
	mail   []cluster.Event
	story  []string
	view   bool // rounds see a view
	tasks  int
	nodes  [4]bool
	rules  [3]bool
	placed int
}

// townTags are the tags of shapes; every other shape asks for twice as much.
func townTags() [][]string {
	return [][]string{nil, {"a"}, {"b"}, {"a", "b"}, {"c"}, {"a", "c"}}
}

func newHamlet(p policies.Info, seed uint64) (*hamlet, error) {
	h := &hamlet{chance: rand.New(rand.NewPCG(seed, 0x4a31e7)), view: seed%2 == 0}
	policy, err := policies.New(p.Name, policies.Options{Seed: seed})
	if err != nil {
		return nil, err
	}
	h.core, err = sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, []cluster.Class{{Name: "all"}}), sched.Lane{Name: "all", Policy: policy})
	for i := range h.nodes {
		h.flipNode(i)
	}
	for i, tags := range townTags() {
		h.emit(cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: cluster.Vector{int64(1 + i%2)}, Tags: tags}})
	}
	return h, err
}

func (h *hamlet) emit(e cluster.Event) {
	h.mail = append(h.mail, e)
	h.story = append(h.story, fmt.Sprintf("%v %T %+v", h.now, e, e))
}

// spec is a node in one of two racks, or in none.
func (h *hamlet) spec(i int, cpu int64) cluster.NodeSpec {
	s := cluster.NodeSpec{Name: fmt.Sprint("n", i), Capacity: cluster.Vector{cpu}}
	if rack := h.chance.IntN(4); rack < 3 {
		s.Groups = []cluster.Label{{Key: "rack", Value: fmt.Sprint("r", rack%2)}}
	}
	return s
}

func (h *hamlet) flipNode(i int) {
	if h.nodes[i] = !h.nodes[i]; h.nodes[i] {
		h.emit(cluster.NodeAdded{Node: cluster.NodeID(i), Spec: h.spec(i, 1+h.chance.Int64N(5))})
		return
	}
	h.emit(cluster.NodeLost{Node: cluster.NodeID(i)})
}

// flipRule makes a hard constraint, or takes it away.
func (h *hamlet) flipRule(row int) {
	id := cluster.ConstraintID(row)
	if h.rules[row] = !h.rules[row]; !h.rules[row] {
		h.emit(cluster.ConstraintForgotten{Constraint: id})
		return
	}
	c := cluster.Constraint{Name: fmt.Sprint("c", row), Hard: true}
	for range 1 + h.chance.IntN(5)/4 {
		var bounds []cluster.Bound
		for range 1 + h.chance.IntN(4)/3 {
			bounds = append(bounds, h.bound())
		}
		c.Any = append(c.Any, bounds)
	}
	h.emit(cluster.ConstraintDefined{Constraint: id, Spec: c})
}

func (h *hamlet) bound() cluster.Bound {
	tag := func() []string { return []string{[]string{"a", "b", "c"}[h.chance.IntN(3)]} }
	b := cluster.Bound{Subject: tag(), Target: tag(), Max: int32(h.chance.IntN(3)), Group: []string{cluster.EachNode, "rack"}[h.chance.IntN(2)]}
	if h.chance.IntN(2) == 0 {
		b.Min, b.Max = int32(1+h.chance.IntN(2)), cluster.Unbounded
	}
	if h.chance.IntN(8) == 0 {
		b.Subject = nil
	}
	return b
}

// happen lets something happen.
func (h *hamlet) happen() {
	s, i := h.core.View(), h.chance.IntN(len(h.nodes))
	switch what := h.chance.IntN(16); {
	case what < 6:
		h.submit()
	case what < 10 && h.tasks > 0:
		t := cluster.TaskID(h.chance.IntN(h.tasks))
		task := s.Task(t)
		switch {
		case task.Phase == cluster.Absent:
		case what < 9:
			h.emit(cluster.TaskEnded{Task: t, Seq: task.Seq, Finished: true})
		default:
			h.emit(cluster.TaskReshaped{Task: t, Seq: task.Seq, Shape: h.shape(), Priority: task.Priority})
		}
	case what < 13:
		h.flipRule(h.chance.IntN(len(h.rules)))
	case what < 14:
		h.flipNode(i)
	case h.nodes[i]:
		h.emit(cluster.NodeChanged{Node: cluster.NodeID(i), Spec: h.spec(i, s.NodeSpec(cluster.NodeID(i)).Capacity[0])})
	}
}

func (h *hamlet) shape() cluster.ShapeID { return cluster.ShapeID(h.chance.IntN(len(townTags()))) }

func (h *hamlet) submit() {
	job, shape := cluster.JobID(h.tasks), h.shape()
	h.emit(cluster.JobSubmitted{Job: job, Name: fmt.Sprint("j", job)})
	for range 1 + h.chance.IntN(3) {
		h.emit(cluster.TaskSubmitted{Task: cluster.TaskID(h.tasks), Seq: cluster.Seq(h.tasks), Job: job, Shape: shape, Priority: int32(h.chance.IntN(2))})
		h.tasks++
	}
}

// settle lets time pass until nothing more happens by itself.
func (h *hamlet) settle() error {
	for range 300 {
		out, err := h.decide()
		if err == nil {
			err = h.core.View().Check()
		}
		if err != nil {
			return err
		}
		for _, d := range out {
			h.story = append(h.story, fmt.Sprintf("  %v %s task %d, node %d", h.now, d.Kind, d.Task, d.Node))
			switch d.Kind {
			case sched.Place:
				h.placed++
				h.mail = append(h.mail, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node, Devices: d.Devices, Grant: d.Grant})
			case sched.Evict:
				h.mail = append(h.mail, cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt})
			case sched.Resize, sched.End:
			}
		}
		switch wake := h.core.Wake(h.now); {
		case len(h.mail) > 0:
			h.now += cluster.Second / 100
		case wake == cluster.Never:
			return nil
		default:
			h.now = wake
		}
	}
	return fmt.Errorf("never quiet: %+v", h.core.Counts())
}

func (h *hamlet) decide() ([]sched.Decision, error) {
	mail := h.mail
	h.mail = nil
	if !h.view {
		out, _, err := h.core.Step(h.now, mail, nil)
		return out, err
	}
	out, err := h.core.Observe(h.now, mail, nil)
	if lane, due := h.core.Due(h.now); err == nil && due {
		r := h.core.Begin(lane, h.now)
		r.Run(0)
		out, err = h.core.Finish(r, h.now, out), r.Err()
	}
	return out, err
}

// asleep names a task that waits although a node would take it.
func (h *hamlet) asleep() error {
	s := h.core.View()
	for t := range cluster.TaskID(s.TaskRows()) {
		for n := range cluster.NodeID(s.NodeRows()) {
			if s.Task(t).Phase == cluster.Waiting && !s.Admits(t, n).Refused() && s.RoomNow(s.Task(t).Shape, n) {
				return fmt.Errorf("all is quiet, and task %d waits, which node %d would take", t, n)
			}
		}
	}
	return nil
}

// live lets some things happen, one after the other.
func (h *hamlet) live() error {
	for range 30 {
		if err := h.settle(); err != nil {
			return err
		}
		if err := h.asleep(); err != nil {
			return err
		}
		h.now += cluster.Second
		h.happen()
	}
	return nil
}

// TestNobodySleepsUnderConstraints asks this of every policy that places task by task.
// Applications are placed whole or not at all, so that those policies may leave room.
func TestNobodySleepsUnderConstraints(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = 20
	}
	for _, p := range slices.Concat(policies.All().Of(policies.Queue).Names(), policies.All().Of(policies.Flow).Names()) {
		t.Run(p, func(t *testing.T) {
			info, err := policies.Find(p)
			if err != nil {
				t.Fatal(err)
			}
			placed := 0
			for seed := range seeds {
				h, err := newHamlet(info, seed)
				if err == nil {
					err = h.live()
				}
				if err != nil {
					t.Fatalf("seed %d: %v, after\n%s", seed, err, strings.Join(h.story, "\n"))
				}
				placed += h.placed
			}
			if least := 5 * int(seeds); placed < least {
				t.Errorf("placed %d tasks, want at least %d: such a world shows nothing", placed, least)
			}
		})
	}
}
