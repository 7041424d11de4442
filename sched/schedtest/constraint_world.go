package schedtest

import (
	"fmt"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is what the world knows of constraints: it makes them up, and looks by
// itself, task by task, at whether a decision added to what violates a hard one.

// racks are the sets of the only group besides single nodes. Some nodes are in none.
const racks = 4

// groups puts a node into a rack.
func (w *world) groups() []cluster.Label {
	rack := w.chance.IntN(racks + 1)
	if rack == racks {
		return nil
	}
	return []cluster.Label{{Key: "rack", Value: fmt.Sprintf("r%d", rack)}}
}

// tags are some of three, often none.
func (w *world) tags() []string {
	var tags []string
	for _, tag := range []string{"a", "b", "c"} {
		if w.chance.IntN(3) == 0 {
			tags = append(tags, tag)
		}
	}
	return tags
}

// constraintCount is how many rows of constraints there are.
const constraintCount = 4

// constrain makes a constraint for the row, or takes it away.
func (w *world) constrain(row int) {
	if w.constraints[row] != nil {
		w.constraints[row] = nil
		w.count["constraint forgotten"]++
		w.post(0, func() cluster.Event { return cluster.ConstraintForgotten{Constraint: cluster.ConstraintID(row)} }, nil)
		return
	}
	c := &cluster.Constraint{Name: fmt.Sprintf("c%d", row), Hard: w.chance.IntN(4) > 0}
	if !c.Hard {
		c.Weight = cluster.DefaultWeight
	}
	for range 1 + w.chance.IntN(5)/4 {
		var bounds []cluster.Bound
		for range 1 + w.chance.IntN(4)/3 {
			bounds = append(bounds, w.bound())
		}
		c.Any = append(c.Any, bounds)
	}
	if c.Hard && w.chance.IntN(4) == 0 || !c.Hard && w.chance.IntN(2) == 0 {
		arriving(w, c)
	}
	w.constraints[row] = c
	w.post(0, func() cluster.Event {
		return cluster.ConstraintDefined{Constraint: cluster.ConstraintID(row), Spec: *c}
	}, nil)
}

// bound keeps tasks apart more often than it wants them together.
func (w *world) bound() cluster.Bound {
	one := func() []string { return []string{[]string{"a", "b", "c"}[w.chance.IntN(3)]} }
	b := cluster.Bound{Subject: one(), Target: one(), Max: int32(w.chance.IntN(3)), Group: []string{cluster.EachNode, "rack"}[w.chance.IntN(2)]}
	if w.chance.IntN(4) == 0 {
		b.Min, b.Max = 1, cluster.Unbounded
	}
	b.SelfCounted = b.Min == 0 && b.Max > 0 && w.chance.IntN(3) == 0
	return b
}

// arriving makes the constraint one that binds who comes.
func arriving(w *world, c *cluster.Constraint) {
	c.Arriving, c.Any = true, c.Any[:1]
	for i := range c.Any[0] {
		b := &c.Any[0][i]
		switch {
		case b.Min > 0:
			b.OrFirst = w.chance.IntN(2) == 0
		case w.chance.IntN(2) == 0:
			b.Max, b.OverFewest, b.SelfCounted, b.LeastSets = 1+b.Max, true, true, int32(w.chance.IntN(4))
		}
	}
}

// settledToo are the two ways to look: with those that are leaving, and without them.
const settledToo = 2

// violations is how many subjects violate each hard constraint that the core knows, in
// the alternative with the fewest; with those that are leaving, and without.
func (w *world) violations() (all [constraintCount][settledToo]int) {
	s := w.core.View()
	for row := range all {
		c := s.Constraint(cluster.ConstraintID(row))
		if c == nil || !c.Hard || c.Arriving {
			continue
		}
		for settled := range settledToo {
			all[row][settled] = math.MaxInt
			for _, bounds := range c.Any {
				sum := 0
				for i := range bounds {
					sum += w.violating(&bounds[i], settled == 1)
				}
				all[row][settled] = min(all[row][settled], sum)
			}
		}
	}
	return all
}

// member is a subject, a target or both in a set.
type member struct {
	set             string
	subject, target bool
}

// rules are the constraints of the world, and what their members are counted with, as that is done for each bound in each step.
type rules struct {
	constraints [constraintCount]*cluster.Constraint // those that are there, by row

	byShape, members []member
	counts           map[string]int32 // by set
}

// violating counts the subjects that the bound does not hold for.
func (w *world) violating(b *cluster.Bound, settled bool) (violating int) {
	members, counts := w.members(b, settled), w.counts
	clear(counts)
	for _, at := range members {
		if at.target && at.set != "" {
			counts[at.set]++
		}
	}
	for _, at := range members {
		count := counts[at.set]
		if at.target && at.set != "" && !b.SelfCounted {
			count--
		}
		if at.subject && (count < b.Min || count > b.Max) {
			violating++
		}
	}
	return violating
}

// members are those of whom the bound speaks, until it is asked again. A task that moves has one on each of its nodes, and
// one alone if these are in the same set.
func (w *world) members(b *cluster.Bound, settled bool) []member {
	s := w.core.View()
	byShape := slices.Grow(w.byShape[:0], s.ShapeRows())[:s.ShapeRows()]
	members := w.rules.members[:0]
	for i := range byShape {
		byShape[i].subject, byShape[i].target = b.Affects(s.Shape(cluster.ShapeID(i)).Tags)
	}
	for i := range s.TaskRows() {
		task := s.Task(cluster.TaskID(i))
		if !task.Placed() {
			continue
		}
		at := byShape[task.Shape]
		if !at.subject && !at.target {
			continue
		}
		from, counted := setOf(s.NodeSpec(task.Node), b.Group), !settled || task.Phase != cluster.Leaving
		if at.set = from; counted {
			members = append(members, at)
		}
		if task.Next == cluster.NoNode {
			continue
		}
		if at.set = setOf(s.NodeSpec(task.Next), b.Group); !counted || at.set != from {
			members = append(members, at)
		}
	}
	w.byShape, w.rules.members = byShape, members
	return members
}

// setOf names the set of the group that the node is in; "" if in none.
func setOf(spec *cluster.NodeSpec, group string) string {
	if group == cluster.EachNode {
		return spec.Name
	}
	at := slices.IndexFunc(spec.Groups, func(l cluster.Label) bool { return l.Key == group })
	if at < 0 {
		return ""
	}
	return spec.Groups[at].Value
}

// heldTo says which hard constraint is violated more than before.
func (w *world) heldTo(before [constraintCount][settledToo]int) error {
	for row, now := range w.violations() {
		for settled, was := range before[row] {
			if now[settled] > was {
				return fmt.Errorf("decisions let %d subjects violate %+v, %d did before (those leaving left out: %t)",
					now[settled], *w.core.View().Constraint(cluster.ConstraintID(row)), was, settled == 1)
			}
		}
	}
	return nil
}

// barred reports whether a constraint alone keeps the task from each node that would take
// it. Copies that a policy places together may be barred by one another, which nobody
// looks at here.
func (w *world) barred(t *wTask) bool {
	s := w.core.View()
	if int(t.row) >= s.TaskRows() || s.Task(t.row).Seq != t.seq || s.Task(t.row).Phase != cluster.Waiting || !s.Constrained(t.shape) {
		return false
	}
	for _, n := range w.nodes {
		if t.job.copies {
			break
		}
		if n.known && w.takes(n, []*wTask{t}) && s.Admits(t.row, n.row).Code != cluster.Violates {
			return false
		}
	}
	w.count["barred"]++
	return true
}
