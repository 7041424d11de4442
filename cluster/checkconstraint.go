package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// This file counts for constraints anew what tally.go keeps: by tags and names, task by
// task, for State.Check.

// recounted is what a bound counts, from scratch.
type recounted struct {
	subjects, misses int64
	violating        [tenses]int64
	sets             *counts // valid until the next bound is counted
	arrivals         arrivals
}

// likely lists, by a tag that they ask for, the constraints that may concern who has it, and the shapes that have it, so that
// not each constraint is held against each shape. The constraints under no tag may concern everybody.
type likely struct {
	constraints map[string][]ConstraintID
	shapes      map[string][]ShapeID
	tasks       [][]TaskID // placed ones, by shape
	sets        counts     // scratch, for the bound that is counted
}

func (v checker) likely() likely {
	l := likely{constraints: map[string][]ConstraintID{}, shapes: map[string][]ShapeID{}, tasks: make([][]TaskID, len(v.shape))}
	for c := range v.constraints.row {
		for i := range v.constraints.row[c].bound {
			b := &v.constraints.row[c].bound[i]
			for _, tag := range b.asks() {
				if list := l.constraints[tag]; len(list) == 0 || list[len(list)-1] != ConstraintID(c) {
					l.constraints[tag] = append(list, ConstraintID(c))
				}
			}
		}
	}
	for i := range v.shape {
		for _, tag := range v.shape[i].Tags {
			l.shapes[tag] = append(l.shapes[tag], ShapeID(i))
		}
		l.shapes[""] = append(l.shapes[""], ShapeID(i))
	}
	for i := range v.task {
		if t := &v.task[i]; t.Placed() {
			l.tasks[t.Shape] = append(l.tasks[t.Shape], TaskID(i))
		}
	}
	return l
}

// asks are tags of which a subject or a target has one; the empty one where anybody may be.
func (b *Bound) asks() (tags []string) {
	if len(b.Subject) > 0 {
		tags = append(tags, b.Subject[0])
	}
	if len(b.Target) == 0 {
		return append(tags, "")
	}
	return append(tags, b.Target[0])
}

// ofShape are the constraints that may concern a shape with these tags, in order.
func (l *likely) ofShape(tags []string) (all []ConstraintID) {
	all = slices.Clone(l.constraints[""])
	for _, tag := range tags {
		all = append(all, l.constraints[tag]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ofBound are the shapes that a bound may concern, in order.
func (l *likely) ofBound(b *Bound) (all []ShapeID) {
	for _, tag := range b.asks() {
		all = append(all, l.shapes[tag]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (v checker) checkConstraints() error {
	if v.constraints == nil {
		return nil
	}
	l := v.likely()
	var roles []role // without the index
	for i := range v.shape {
		if !v.shape[i].live {
			continue
		}
		roles = roles[:0]
		for _, c := range l.ofShape(v.shape[i].Tags) {
			roles = appendRoles(roles, c, v.constraints.row[c].bound, v.shape[i].Tags)
		}
		if !slices.Equal(v.shape[i].roles, roles) {
			return fmt.Errorf("shape row %d: roles are %v, its tags have %v", i, v.shape[i].roles, roles)
		}
	}
	if err := v.checkIndex(); err != nil {
		return err
	}
	for i, st := range v.constraints.stances {
		if want := v.stanceOf(TaskID(i)); st != want {
			return fmt.Errorf("task row %d: stance is %v, want %v", i, st, want)
		}
	}
	for i := range v.constraints.group {
		if err := v.checkGroup(&v.constraints.group[i]); err != nil {
			return err
		}
	}
	for c := range v.constraints.row {
		row := &v.constraints.row[c]
		for i := range row.bound {
			if err := v.checkCounts(&l, &row.bound[i]); err != nil {
				return fmt.Errorf("constraint row %d, bound %d: %w", c, i, err)
			}
		}
	}
	return nil
}

// checkIndex holds the index of tags to one that is made anew.
func (v checker) checkIndex() error {
	has := v.constraints.index
	if has == nil {
		return nil
	}
	v.constraints.index = nil
	fresh := v.tags()
	v.constraints.index = has
	if err := checkLists("shapes", has.shapes, fresh.shapes); err != nil {
		return err
	}
	return checkLists("constraints", has.constraints, fresh.constraints)
}

// checkLists holds lists by tag to others that are in order.
func checkLists[T cmp.Ordered](what string, has, want map[string][]T) error {
	if len(has) != len(want) {
		return fmt.Errorf("index: %s have %d tags, want %d", what, len(has), len(want))
	}
	for tag, list := range want {
		if !slices.Equal(slices.Sorted(slices.Values(has[tag])), list) {
			return fmt.Errorf("index: %s of tag %s are %v, want %v", what, tag, has[tag], list)
		}
	}
	return nil
}

// checkGroup checks that each node is in the set of its name, and none that is gone.
func (v checker) checkGroup(g *nodeGroup) error {
	sizes := make([]int32, len(g.nodes))
	for i := range v.node {
		n, want := NodeID(i), outside
		switch {
		case !v.live[i]:
		case g.key == EachNode:
			want = int32(i) + 1
		default:
			for _, l := range v.node[i].spec.Groups {
				if l.Key == g.key {
					want = g.number[l.Value]
				}
			}
		}
		if g.setOf(n) != want {
			return fmt.Errorf("node row %d: in set %d of group %q, want %d", i, g.setOf(n), g.key, want)
		}
		if want != outside {
			sizes[want]++
		}
	}
	for set, size := range sizes {
		if g.nodes[set] != size {
			return fmt.Errorf("group %q: set %d has %d nodes, counted %d", g.key, set, g.nodes[set], size)
		}
	}
	return nil
}

// checkCounts compares what a bound counts.
func (v checker) checkCounts(l *likely, b *boundRow) error {
	want := v.countAnew(l, b)
	g := &v.constraints.group[b.group]
	var wrong error
	compare := func(set int32, counts [tenses]Count) {
		if sum := want.sets.at(set); counts != sum && wrong == nil {
			wrong = fmt.Errorf("set %d of group %q counts %v, its tasks sum to %v", set, g.key, counts, sum)
		}
	}
	b.sets.each(compare)
	want.sets.each(func(set int32, _ [tenses]Count) { compare(set, b.sets.at(set)) })
	if wrong != nil {
		return wrong
	}
	if b.subjects != want.subjects || b.violating != want.violating || b.misses != want.misses {
		return fmt.Errorf("%d subjects, %v violate it and miss %d; counted %d, %v and %d",
			b.subjects, b.violating, b.misses, want.subjects, want.violating, want.misses)
	}
	if !b.arrivals.equals(&want.arrivals) {
		return fmt.Errorf("of who comes it knows %v, counted %v", b.arrivals, want.arrivals)
	}
	return nil
}

func (v checker) countAnew(l *likely, b *boundRow) recounted {
	g := &v.constraints.group[b.group]
	l.sets.clear()
	r := recounted{sets: &l.sets}
	add := func(set int32, t tense, subject, target bool) {
		sum := &r.sets.of(set)[t]
		*sum = sum.plus(role{subject: subject, target: target}.once(1))
	}
	for _, id := range l.ofBound(b.Bound) {
		subject, target := b.Affects(v.shape[id].Tags)
		if !subject && !target {
			continue
		}
		for _, t := range l.tasks[id] {
			task := &v.task[t]
			at := g.setOf(task.Node)
			add(at, present, subject, target)
			if task.Phase != Leaving {
				add(at, settled, subject, target)
			}
			if task.Next == NoNode {
				continue
			}
			next := g.setOf(task.Next)
			add(next, settled, subject, target)
			if next != at {
				add(next, present, subject, target)
			}
		}
	}
	if b.arriving {
		r.arrive(b, g)
	}
	if len(b.Subject) == 0 { // of whole sets, also those that count nothing
		for set := range g.nodes {
			r.judge(b, int32(set), r.sets.at(int32(set)), g.size(int32(set)))
		}
		return r
	}
	r.sets.each(func(set int32, sum [tenses]Count) { r.judge(b, set, sum, g.size(set)) })
	return r
}

// arrive is what is kept of a bound that binds who comes.
func (r *recounted) arrive(b *boundRow, g *nodeGroup) {
	r.sets.each(func(set int32, sum [tenses]Count) {
		for t := range tenses {
			if set != outside {
				r.arrivals.targets[t] += int64(sum[t].Targets)
			}
		}
	})
	if !b.OverFewest {
		return
	}
	r.arrivals.fewest = math.MaxInt32
	for set, nodes := range g.nodes {
		if int32(set) != outside && nodes > 0 {
			targets := r.sets.at(int32(set))[settled].Targets
			r.arrivals.sets++
			r.arrivals.levels = grown(r.arrivals.levels, int(targets))
			r.arrivals.levels[targets]++
			r.arrivals.fewest = min(r.arrivals.fewest, targets)
		}
	}
	if r.arrivals.sets == 0 {
		r.arrivals.fewest = 0
	}
}

// judge adds what violates the bound in a set, subject by subject.
func (r *recounted) judge(b *boundRow, set int32, counts [tenses]Count, nodes int32) {
	for t, c := range counts {
		if len(b.Subject) == 0 {
			if set != outside && nodes > 0 {
				r.one(b, tense(t), c.Targets)
			}
			continue
		}
		for subject := range c.Subjects {
			others := c.Targets
			if subject < c.Both && !b.SelfCounted {
				others--
			}
			if set == outside {
				others = 0
			}
			r.one(b, tense(t), others)
		}
	}
}

// one is a subject that counts so many.
func (r *recounted) one(b *boundRow, t tense, count int32) {
	misses := int64(0)
	if !b.arriving {
		misses = b.Misses(count)
	}
	if misses > 0 {
		r.violating[t]++
	}
	if t == present {
		r.subjects++
		r.misses += misses
	}
}
