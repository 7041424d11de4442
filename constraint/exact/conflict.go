package exact

import (
	"math"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/ilp"
)

// This file says why an application cannot be placed: the smallest set of hard constraints that
// leaves it no place, with everything else where it is. A set leaves none if and only if it has a
// constraint in common with every set of constraints whose breaking would make a place. So two
// programs take turns (implicit hitting sets; Ignatiev, Previti, Liffiton and Marques-Silva,
// CP 2015): one chooses the smallest set that has something in common with all that are known, the
// other places the application so that this set holds and as few others as can be are broken,
// which is another set to hit; when it cannot, the set is the answer.

// Cause says why an application cannot be placed.
type Cause uint8

const (
	// Unclear says that the solver stopped before it knew, or that the model is too large for it.
	Unclear Cause = iota
	// Placeable says that it can.
	Placeable
	// NoRoom says that it cannot, whatever the constraints are: for want of room, of devices
	// or of nodes that it may use.
	NoRoom
	// Constraints says that hard constraints leave it no place.
	Constraints
)

func (c Cause) String() string {
	return [...]string{"unclear", "placeable", "no room", "constraints"}[c]
}

// Conflicting is why an application cannot be placed.
type Conflicting struct {
	Cause Cause
	// Constraints are the smallest set that leaves it no place, ascending.
	Constraints []int32
	Ticks       int64
}

// Conflict says why the application cannot be placed while all others stay where the base has them.
func Conflict(p *constraint.Problem, base constraint.Assignment, application int32, solver ilp.Solver, o Options) (Conflicting, error) {
	c := conflict{solver: solver, o: o, m: place(p, base, application)}
	if c.m.Columns() > max(o.Columns, o.Relaxed) {
		return c.Conflicting, nil
	}
	for q, column := range c.m.Broken {
		if column != absent {
			c.hard = append(c.hard, int32(q))
		}
	}
	for {
		held, err := c.hit()
		if err != nil || held == nil {
			return c.Conflicting, err
		}
		broken, err := c.breaks(held)
		if err != nil || broken == nil {
			return c.Conflicting, err
		}
		c.sets = append(c.sets, broken)
	}
}

// place is the model in which the application is placed and hard constraints may be broken, for
// a price of 1 each.
func place(p *constraint.Problem, base constraint.Assignment, application int32) *Model {
	hard := *p
	hard.Objective = constraint.Objective{}
	scope := Scope{Base: base, Free: make([]bool, len(p.Containers)), Relaxed: make([]bool, len(p.Constraints))}
	for i := p.Applications[application].First; i < p.Applications[application].End; i++ {
		scope.Free[i] = true
	}
	for q := range p.Constraints {
		scope.Relaxed[q] = p.Constraints[q].Hard
	}
	m := Aggregated(&hard, scope)
	if placed := m.placed[application]; placed != absent {
		m.Lower[placed] = 1
	}
	return m
}

// conflict is the search for one.
type conflict struct {
	Conflicting
	solver ilp.Solver
	o      Options
	m      *Model
	hard   []int32   // the constraints that may be broken
	sets   [][]int32 // sets of them, by their places there, whose breaking makes a place
}

// hit chooses the least of the hard constraints that have one in common with every known set; nil
// if the solver stopped.
func (c *conflict) hit() ([]bool, error) {
	held := make([]bool, len(c.hard))
	if len(c.sets) == 0 {
		return held, nil
	}
	var m ilp.Model
	for range c.hard {
		m.AddColumn(0, 1, 1, ilp.Integer)
	}
	for _, set := range c.sets {
		var terms []ilp.Term
		for _, i := range set {
			terms = append(terms, ilp.Term{Column: i, Value: 1})
		}
		m.AddRow(1, math.Inf(1), terms...)
	}
	solution, err := c.solve(&m)
	if err != nil || solution.Status != ilp.Optimal {
		return nil, err
	}
	for i, v := range solution.Values {
		held[i] = math.Round(v) == 1
	}
	return held, nil
}

// breaks places the application so that the held constraints hold, and returns those that are broken
// for it; nil if the answer is known, or the solver stopped.
func (c *conflict) breaks(held []bool) ([]int32, error) {
	for i, q := range c.hard {
		c.m.Upper[c.m.Broken[q]] = 1
		if held[i] {
			c.m.Upper[c.m.Broken[q]] = 0
		}
	}
	solution, err := c.solve(&c.m.Model)
	if err != nil {
		return nil, err
	}
	switch {
	case solution.Status == ilp.Infeasible && len(c.sets) == 0:
		c.Cause = NoRoom
	case solution.Status == ilp.Infeasible:
		c.Cause = Constraints
		for i, q := range c.hard {
			if held[i] {
				c.Constraints = append(c.Constraints, q)
			}
		}
	case solution.Values != nil:
		var broken []int32
		for i, q := range c.hard {
			if math.Round(solution.Values[c.m.Broken[q]]) == 1 {
				broken = append(broken, int32(i))
			}
		}
		if broken == nil {
			c.Cause = Placeable
		}
		return broken, nil
	}
	return nil, nil
}

// solve counts the effort.
func (c *conflict) solve(m *ilp.Model) (ilp.Solution, error) {
	if c.o.Ticks > 0 && c.Ticks >= c.o.Ticks {
		return ilp.Solution{}, nil
	}
	solution, err := c.solver.Solve(m, nil, c.o.limits(c.Ticks))
	c.Ticks += solution.Ticks
	return solution, err
}
