package mcmf

import "slices"

// curves are the steps of those arcs of a graph that have more than one. Solvers ask of each arc that
// they pass whether it has any, so that this is no map.
type curves struct {
	steps [][]Step
	row   []int32 // by arc, of steps: 0 of those that have none, as have all behind its end
	free  []int32 // rows that are not in use
}

// any reports whether some arc has a curve.
func (c *curves) any() bool { return len(c.steps) > len(c.free)+1 }

// has reports whether the arc has one.
func (c *curves) has(a Arc) bool { return int(a) < len(c.row) && c.row[a] != 0 }

// of is the steps of the arc's curve, or nil.
func (c *curves) of(a Arc) []Step {
	if int(a) >= len(c.row) {
		return nil
	}
	return c.steps[c.row[a]]
}

// set gives the arc a copy of the steps if they are several, else no curve. What was given out of the last
// ones stays as it was.
func (c *curves) set(a Arc, steps []Step) {
	if len(steps) <= 1 {
		if c.has(a) {
			c.steps[c.row[a]] = nil
			c.free = append(c.free, c.row[a])
			c.row[a] = 0
		}
		return
	}
	for int(a) >= len(c.row) {
		c.row = append(c.row, 0)
	}
	row := &c.row[a]
	switch {
	case *row != 0:
	case len(c.free) > 0:
		*row = c.free[len(c.free)-1]
		c.free = c.free[:len(c.free)-1]
	default:
		*row = int32(len(c.steps))
		c.steps = append(c.steps, nil)
	}
	c.steps[*row] = slices.Clone(steps)
}
