package cluster

import (
	"fmt"
	"math"
	"slices"
)

// This file is what a placement constraint is: data, as State, the language in
// package constraint and every solver share it (Medea §4.1–4.2; constraints over tags and
// groups of nodes).

// Unbounded is the Max of a bound that has none.
const Unbounded int32 = math.MaxInt32

// EachNode is the group in which every node is a set by itself. Other groups are the
// keys of NodeSpec.Groups.
const EachNode = "node"

// MaxBound is the largest Min, and Max but for Unbounded, of a bound: no cluster holds more
// tasks.
const MaxBound int32 = 1 << 30

// DefaultWeight is the weight of a soft constraint that names none: weights are in
// thousandths.
const DefaultWeight int64 = 1000

// MaxWeight is the largest weight, a million times the default.
const MaxWeight = 1_000_000 * DefaultWeight

// AppTag is the tag that every task of the application has, by which a constraint may
// name one application.
func AppTag(application string) string { return "app:" + application }

// Bound says how many tasks with the target's tags there shall be beside each task
// with the subject's: for every task that has all of Subject, on a node of a set S of the
// group, from Min to Max others in S have all of Target. Affinity is 1 to Unbounded,
// anti-affinity 0 to 0.
type Bound struct {
	// Subject are the tags that a task must all have to be bound; sorted. Without any,
	// every set of the group is itself bound, whether or not a task stands in it.
	Subject []string
	// Target are the tags that a task must all have to be counted; sorted, at least
	// one.
	Target   []string
	Min, Max int32
	// Group is a family of node sets: EachNode or a key of NodeSpec.Groups. On a node
	// that is in none of its sets a subject counts nobody, and nobody counts it.
	Group string
	// SelfCounted says that a subject which has the target's tags counts itself, as in
	// Medea's text; else only others count, as in YARN.
	SelfCounted bool
	// OrFirst says of a bound that binds who comes, and has a Min, that a subject which has the target's tags may go to any set of
	// the group while none of these counts anybody.
	OrFirst bool
	// OverFewest says of a bound that binds who comes that Max is how many more there may be than in the set of the group that
	// counts the fewest of those who stay. Who comes has to come into a set.
	OverFewest bool
	// LeastSets is, of OverFewest, how many sets of the group must have nodes, or the fewest are none.
	LeastSets int32
}

// Constraint is what an application's owner, or the operator, asks of placement: at least
// one of the alternatives shall hold, in all of its bounds.
type Constraint struct {
	// Name is how messages call it: the text that it was written as, or a name from its
	// file.
	Name string
	// Owner is the application that brought it; empty: the operator.
	Owner string
	// Any are the alternatives, each of which is a conjunction of bounds; one is chosen
	// for all subjects together.
	Any [][]Bound
	// Hard constraints are never violated by a placement; of soft ones each violation
	// costs the Weight, in thousandths.
	Hard   bool
	Weight int64
	// Lenient constraints hold what is placed, and what is moved, but nobody who leaves to make room for others.
	Lenient bool
	// Arriving constraints bind who comes, when it does, as Kubernetes' filters do, and soft ones as its scores do; see arrive.go.
	Arriving bool
}

// Affects reports whether a task with these sorted tags is a subject of the bound, and
// whether it is a target.
func (b *Bound) Affects(tags []string) (subject, target bool) {
	return len(b.Subject) > 0 && hasAll(tags, b.Subject), hasAll(tags, b.Target)
}

// hasAll reports whether the sorted tags hold all of those wanted, which are sorted, too.
func hasAll(tags, wanted []string) bool {
	for _, w := range wanted {
		if _, found := slices.BinarySearch(tags, w); !found {
			return false
		}
	}
	return true
}

// Misses is by how much the bound is violated where a subject counts so many: 0 where it
// holds, else the part of the bound that is missing or too much, in thousandths, rounded
// up: (Min−count)/Min or (count−Max)/max(Max, 1) (Medea's extent of a violation).
func (b *Bound) Misses(count int32) int64 {
	switch {
	case count < b.Min:
		return (1000*int64(b.Min-count) + int64(b.Min) - 1) / int64(b.Min)
	case count > b.Max:
		most := max(int64(b.Max), 1)
		return (1000*int64(count-b.Max) + most - 1) / most
	}
	return 0
}

// CheckConstraint says why no cluster can have the constraint.
func CheckConstraint(c *Constraint) error {
	if len(c.Any) == 0 {
		return fmt.Errorf("constraint %q has no alternative", c.Name)
	}
	if c.Hard != (c.Weight == 0) || c.Weight < 0 || c.Weight > MaxWeight {
		return fmt.Errorf("constraint %q: weight is %d thousandths, want 1 to %d, or none of a hard one", c.Name, c.Weight, MaxWeight)
	}
	for _, bounds := range c.Any {
		if len(bounds) == 0 {
			return fmt.Errorf("constraint %q has an alternative without a bound", c.Name)
		}
		for i := range bounds {
			err := checkBound(&bounds[i])
			if err == nil {
				err = checkArriving(c, &bounds[i])
			}
			if err != nil {
				return fmt.Errorf("constraint %q: %w", c.Name, err)
			}
		}
	}
	return nil
}

func checkBound(b *Bound) error {
	switch {
	case b.Group == "":
		return fmt.Errorf("names no group")
	case len(b.Target) == 0:
		return fmt.Errorf("counts no tag")
	case b.Min < 0 || b.Min > MaxBound:
		return fmt.Errorf("min is %d, want 0 to %d", b.Min, MaxBound)
	case b.Max != Unbounded && b.Max > MaxBound:
		return fmt.Errorf("max is %d, want at most %d", b.Max, MaxBound)
	case b.Max < b.Min:
		return fmt.Errorf("max is %d, want at least the min %d", b.Max, b.Min)
	case b.SelfCounted && len(b.Subject) == 0:
		return fmt.Errorf("a bound of whole sets has no self to count")
	}
	for _, tags := range [][]string{b.Subject, b.Target} {
		if err := CheckTags(tags); err != nil {
			return err
		}
	}
	return nil
}

// checkArriving says why a bound of the constraint cannot bind who comes, or cannot be without that.
func checkArriving(c *Constraint, b *Bound) error {
	switch {
	case !c.Arriving && (b.OrFirst || b.OverFewest || b.LeastSets != 0):
		return fmt.Errorf("a bound that speaks of the first, or of the fewest, binds who comes alone")
	case !c.Arriving:
	case len(c.Any) > 1:
		return fmt.Errorf("a constraint that binds who comes has one alternative")
	case len(b.Subject) == 0:
		return fmt.Errorf("a bound of whole sets does not bind who comes")
	case b.OrFirst && b.Min == 0:
		return fmt.Errorf("a bound without a min needs no first")
	case b.OverFewest && (b.Min > 0 || b.Max == Unbounded) || !b.OverFewest && b.LeastSets != 0:
		return fmt.Errorf("a bound over the fewest has a max and no min, and it alone a least number of sets")
	case b.LeastSets < 0 || b.LeastSets > MaxBound:
		return fmt.Errorf("the least number of sets is %d, want 0 to %d", b.LeastSets, MaxBound)
	}
	return nil
}

// CheckTags says why these cannot be the tags of a task or of a bound: they are sorted, each
// stands once, none is empty.
func CheckTags(tags []string) error {
	for i, tag := range tags {
		if tag == "" || i > 0 && tag <= tags[i-1] {
			return fmt.Errorf("tags %q are not sorted, each once and none empty", tags)
		}
	}
	return nil
}

// Clone is a copy that shares nothing with c.
func (c *Constraint) Clone() Constraint {
	own := *c
	own.Any = make([][]Bound, len(c.Any))
	for i, bounds := range c.Any {
		own.Any[i] = slices.Clone(bounds)
		for j := range own.Any[i] {
			b := &own.Any[i][j]
			b.Subject, b.Target = slices.Clone(b.Subject), slices.Clone(b.Target)
		}
	}
	return own
}
