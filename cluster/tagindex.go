package cluster

import "slices"

// This file finds which shapes a bound affects, and which constraints speak of a shape, by
// tags: applications come in lots with constraints of their own, and neither looks at
// all others. The index is made when it is first asked, and views have none.

// tagIndex lists shapes under each of their tags, and constraints under the first tag of each side
// of their bounds. Lists are in no order.
type tagIndex struct {
	shapes      map[string][]ShapeID
	constraints map[string][]ConstraintID
}

// tags is the index of what is defined now.
func (v *View) tags() *tagIndex {
	t := v.constraints
	if t.index != nil {
		return t.index
	}
	t.index = &tagIndex{map[string][]ShapeID{}, map[string][]ConstraintID{}}
	for i := range v.shape {
		if v.shape[i].live {
			t.index.addShape(ShapeID(i), v.shape[i].Tags)
		}
	}
	for c := range t.row {
		if t.row[c].live() {
			t.index.addConstraint(ConstraintID(c), t.row[c].bound)
		}
	}
	return t.index
}

func (x *tagIndex) addShape(id ShapeID, tags []string) {
	for _, tag := range tags {
		x.shapes[tag] = append(x.shapes[tag], id)
	}
}

func (x *tagIndex) dropShape(id ShapeID, tags []string) {
	for _, tag := range tags {
		drop(x.shapes, tag, id)
	}
}

func (x *tagIndex) addConstraint(c ConstraintID, bounds []boundRow) {
	for _, tag := range keysOf(bounds) {
		x.constraints[tag] = append(x.constraints[tag], c)
	}
}

func (x *tagIndex) dropConstraint(c ConstraintID, bounds []boundRow) {
	for _, tag := range keysOf(bounds) {
		drop(x.constraints, tag, c)
	}
}

// keysOf are the tags under which a constraint with the bounds is listed: who has none of them it
// does not affect.
func keysOf(bounds []boundRow) []string {
	var keys []string
	for i := range bounds {
		if !bounds[i].whole() {
			keys = append(keys, bounds[i].Subject[0])
		}
		keys = append(keys, bounds[i].Target[0])
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// drop takes the row off its tag's list, and the tag with the last.
func drop[T comparable](lists map[string][]T, tag string, row T) {
	list := lists[tag]
	at := slices.Index(list, row)
	list[at] = list[len(list)-1]
	if lists[tag] = list[:len(list)-1]; len(list) == 1 {
		delete(lists, tag)
	}
}

// affected are shapes, ascending, among which are all that the bounds affect.
func (x *tagIndex) affected(bounds []boundRow) []ShapeID {
	var found []ShapeID
	for i := range bounds {
		for _, side := range [][]string{bounds[i].Subject, bounds[i].Target} {
			if len(side) == 0 {
				continue
			}
			fewest := x.shapes[side[0]]
			for _, tag := range side[1:] {
				if list := x.shapes[tag]; len(list) < len(fewest) {
					fewest = list
				}
			}
			found = append(found, fewest...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// affecting are constraints, ascending, among which are all that affect who has the tags.
func (x *tagIndex) affecting(tags []string) []ConstraintID {
	var found []ConstraintID
	for _, tag := range tags {
		found = append(found, x.constraints[tag]...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}
