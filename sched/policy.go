package sched

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Policy decides what one lane wants. All that it keeps between rounds is a
// function of what it was shown since it was made.
type Policy interface {
	// Plan fills in the plan for the trial's state. Changed names the rows
	// that differ from what the last round left: on nodes of every lane, of
	// tasks only the lane's own. What the policy tries in the trial is undone
	// after the round; what commit accepted of its plan, and what it refused,
	// comes back as changed rows. A budget above 0 limits Plan.Ticks.
	Plan(t *Trial, c *Changed, budget int64, out *Plan)
	// Why says why the task is not placed. It is computed when asked.
	Why(t *Trial, task cluster.TaskID) Reason
}

// Replanner is a policy whose rounds are long, so that others take what it planned with, again
// and again.
type Replanner interface {
	// Replan may plan anew for a bundle that commit has just refused, on the state as
	// it is: nothing happens between that and the commit of this plan. It decides at once,
	// as all others wait for it.
	Replan(t *Trial, refused []Action, out *Plan)
}

// Changed names the rows that a policy has to look at again, each once.
type Changed struct {
	// All says that the policy must forget what it derived from earlier
	// rounds: the lists then name every row in use.
	All    bool
	Nodes  []cluster.NodeID
	Shapes []cluster.ShapeID
	// Members names the nodes that came into a set or left it, in the order of
	// sets and nodes. Only the shapes of that set look at such a node anew.
	Members []Member
	// Gone names rows whose task, shown before, has ended. Such a row may hold
	// another task by now, which Tasks names if it is the lane's own.
	Gone  []cluster.TaskID
	Tasks []cluster.TaskID
	// Gangs are waiting tasks of gangs that have fewer than their number: none of them can be placed alone.
	// Whoever does not look at them is not troubled with them: they come among Tasks when
	// the gang has its number. A task that was among Tasks, and no more, is among Gone.
	Gangs []cluster.TaskID
	// Constrained names shapes that nodes may admit now, or not any more, although the
	// nodes have not changed: a hard constraint counts otherwise than it did, or has come
	// or gone, or others may be evicted for them again (cluster.RoomComing). They are in order, each once.
	Constrained []cluster.ShapeID
}

// Member is a node and a set that it has come into or left.
type Member struct {
	Set  cluster.SetID
	Node cluster.NodeID
}

// compare orders members by set, then by node.
func (m Member) compare(o Member) int {
	return cmp.Or(cmp.Compare(m.Set, o.Set), cmp.Compare(m.Node, o.Node))
}

// MembersOf returns the part of Members that is about the set.
func (c *Changed) MembersOf(set cluster.SetID) []Member {
	from, _ := slices.BinarySearchFunc(c.Members, Member{Set: set}, Member.compare)
	to := from
	for to < len(c.Members) && c.Members[to].Set == set {
		to++
	}
	return c.Members[from:to]
}

// reset empties the lists and keeps their memory.
func (c *Changed) reset() {
	*c = Changed{Nodes: c.Nodes[:0], Shapes: c.Shapes[:0], Members: c.Members[:0], Gone: c.Gone[:0], Tasks: c.Tasks[:0], Gangs: c.Gangs[:0], Constrained: c.Constrained[:0]}
}

// Trial is a state on which a policy tries what it plans. Everything is undone
// after the round.
type Trial struct {
	state    *cluster.State
	before   []cluster.Violation // scratch
	gathered bool                // one action after the other is tried of a bundle, which may leave no gang short in the end
}

// View is the cluster as it would be after what was tried so far.
func (t *Trial) View() *cluster.View { return &t.state.View }

// Try does one action, or says why it cannot be done. It is the same check
// that commit makes, and as strict for a bundle as action by action: what it does violates
// no hard constraint by itself, be it that a placement breaks one or that a victim is
// whom somebody must stand beside.
func (t *Trial) Try(a Action) cluster.Refusal {
	if r := alone(t.View(), a); r.Refused() {
		return r
	}
	mark := t.state.Mark()
	r := try(t.state, a)
	if !r.Refused() && !t.gathered && t.View().Task(a.Task).Phase != cluster.Leaving { // who was told to leave before moves
		if r = partial(t.View(), []Action{a}); r.Refused() {
			t.state.Rollback(mark)
		}
	}
	return r
}

// TryTogether does actions that hold together, or none of them: a hard constraint may be
// violated on the way, as of two tasks that want to stand together one comes first, and
// must not be any more at the end.
func (t *Trial) TryTogether(bundle []Action) cluster.Refusal {
	mark := t.state.Mark()
	t.before = violations(t.View(), bundle, t.before[:0])
	for _, a := range bundle {
		if r := try(t.state, a); r.Refused() {
			t.state.Rollback(mark)
			return r
		}
	}
	r := t.state.Worse(t.before)
	if !r.Refused() && !t.gathered {
		r = partial(t.View(), bundle)
	}
	if r.Refused() {
		t.state.Rollback(mark)
	}
	return r
}

// Mark is a point to which Rollback can return.
func (t *Trial) Mark() int { return t.state.Mark() }

// Rollback undoes what was tried since the mark.
func (t *Trial) Rollback(mark int) { t.state.Rollback(mark) }

// alone says which hard constraint the action would violate by itself.
func alone(s *cluster.View, a Action) cluster.Refusal {
	if int(a.Task) >= s.TaskRows() || !s.Constrained(s.Task(a.Task).Shape) || s.Task(a.Task).Attempt != a.Attempt {
		return cluster.Refusal{}
	}
	switch a.Kind {
	case Place:
		return cluster.Keeps(s, a.Task, a.Node)
	case Evict:
		return s.Releases(a.Task)
	case Resize, End:
	}
	return cluster.Refusal{}
}

// violations is how the hard constraints stand that concern the bundle's tasks.
func violations(s *cluster.View, bundle []Action, to []cluster.Violation) []cluster.Violation {
	for _, a := range bundle { // who moves is placed as well
		to = s.Violations(a.Task, a.Kind == Evict, to)
	}
	return to
}

// try is the one implementation of "fits and holds", but for hard constraints, to which
// bundles are held as a whole.
func try(s *cluster.State, a Action) cluster.Refusal {
	if int(a.Task) >= s.TaskRows() || s.Task(a.Task).Attempt != a.Attempt {
		return cluster.Refusal{Code: cluster.Outdated}
	}
	switch a.Kind {
	case Place:
		return s.PlaceWith(a.Task, a.Node, cluster.Allotment{Grant: a.Grant, Devices: a.Devices})
	case Evict:
		return s.Evict(a.Task)
	case Resize:
		return s.Resize(a.Task, a.Grant)
	case End:
		panic("sched: no policy ends a task")
	}
	panic("sched: action of unknown kind")
}
