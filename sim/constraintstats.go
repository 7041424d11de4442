package sim

import (
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/report"
)

// This file measures over time how constraints are kept: report.Constraints. The core's
// state counts along who violates which bound; who violates any of those that bind it is
// looked up task by task, among those that are bound. So that is done no more than once a
// step of the series: before time goes by to the end of a step, or beyond, since the last
// look. What is seen then stands until the next look. Where nothing happens for a step
// between two moments, as in short runs, nothing is missed.

// constraintStats are the sums over time.
type constraintStats struct {
	every  func() cluster.Time   // how long what was seen stands: a step of the series
	rows   []*cluster.Constraint // by row; nil if it is free
	broken []bool                // by row: it is hard, and was violated
	chosen []int32               // by row: the alternative
	tasks  []subject             // by task row
	bound  []cluster.TaskID      // those that take room and are bound
	prices constraint.Objective
	looked cluster.Time // until when what was seen last was to stand

	of  report.Constraints
	now struct{ bound, violated, cost int64 } // cost in thousandths
	sum struct{ bound, violated, cost wide.Number }
}

// subject is what is known of a task that a bound speaks of.
type subject struct {
	seq cluster.Seq // of the last one on this row that was counted
	at  int         // one more than its place in bound; 0 if it is not there
}

func newConstraintStats() constraintStats { return constraintStats{prices: constraint.Standard()} }

// follow sees what has changed in the core.
func (c *constraintStats) follow(s *span) {
	for len(c.rows) < s.state.ConstraintRows() {
		c.rows, c.broken, c.chosen = append(c.rows, nil), append(c.broken, false), append(c.chosen, 0)
	}
	if len(c.rows) == 0 {
		return // nobody is bound
	}
	for row := range s.constraints() {
		c.lookAtConstraint(s.state, row)
	}
	for t := range s.tasks() {
		c.lookAtTask(s.state, t)
	}
}

// lookAtConstraint counts the constraint if it is new.
func (c *constraintStats) lookAtConstraint(s *cluster.View, row cluster.ConstraintID) {
	spec := s.Constraint(row)
	if spec == c.rows[row] {
		return
	}
	c.rows[row], c.broken[row], c.chosen[row] = spec, false, 0
	if spec == nil {
		return
	}
	c.of.Count++
	if spec.Hard {
		c.of.Hard++
	}
}

// lookAtTask keeps the task among those that are bound, or out of them.
func (c *constraintStats) lookAtTask(s *cluster.View, row cluster.TaskID) {
	c.tasks = grown(c.tasks, row, subject{})
	task, known := s.Task(row), &c.tasks[row]
	bound := false
	if task.Placed() {
		bound, _ = s.Bound(row, c.chosen)
	}
	if bound && known.seq != task.Seq {
		known.seq = task.Seq
		c.of.Subjects++
	}
	switch {
	case bound && known.at == 0:
		c.bound = append(c.bound, row)
		known.at = len(c.bound)
	case !bound && known.at > 0:
		end := len(c.bound) - 1
		moved := c.bound[end]
		c.bound[known.at-1], c.tasks[moved].at = moved, known.at
		known.at, c.bound = 0, c.bound[:end]
	}
}

func (c *constraintStats) advance(s *span) {
	c.follow(s)
	if c.of.Count == 0 || s.from == s.to {
		return
	}
	if s.to-c.looked >= c.every() {
		c.looked = s.to
		c.look(s.state)
	}
	spent := int64(s.to - s.from)
	c.sum.bound = c.sum.bound.Plus(wide.Product(c.now.bound, spent))
	c.sum.violated = c.sum.violated.Plus(wide.Product(c.now.violated, spent))
	c.sum.cost = c.sum.cost.Plus(wide.Product(c.now.cost, spent))
}

// look sees how all constraints stand, and which tasks violate any.
func (c *constraintStats) look(s *cluster.View) {
	c.now.cost = 0
	for row, spec := range c.rows {
		if spec != nil {
			c.lookUp(s, cluster.ConstraintID(row), spec)
		}
	}
	c.now.bound, c.now.violated = int64(len(c.bound)), 0
	for _, t := range c.bound {
		if _, violated := s.Bound(t, c.chosen); violated {
			c.now.violated++
		}
	}
}

// lookUp sees how one constraint stands. Of a hard one the alternative that the fewest
// violate is chosen.
func (c *constraintStats) lookUp(s *cluster.View, row cluster.ConstraintID, spec *cluster.Constraint) {
	if spec.Hard {
		standing := s.Standing(row, 1, 0)
		c.chosen[row] = int32(standing.Alternative)
		if standing.Violating > 0 && !c.broken[row] {
			c.broken[row] = true
			c.of.HardViolated++
		}
		return
	}
	standing := s.Standing(row, c.prices.Violation, c.prices.Extent)
	c.chosen[row] = int32(standing.Alternative)
	cost := wide.Of(1000*c.prices.Violation*standing.Violating+c.prices.Extent*standing.Misses).Scaled([]int64{spec.Weight}, 1_000_000)
	c.now.cost += min(cost, math.MaxInt64-c.now.cost)
}

// result says nothing where there were no constraints.
func (c *constraintStats) result(s *span, r *report.Run) {
	if c.of.Count == 0 {
		return
	}
	c.look(s.state)
	of := c.of
	of.Violated = report.Level{
		Mean:  report.Ratio(c.sum.violated.Float(), c.sum.bound.Float()),
		Final: report.Ratio(float64(c.now.violated), float64(c.now.bound)),
	}
	of.Cost = report.Level{
		Mean:  report.Ratio(c.sum.cost.Float(), float64(1000*float64(s.to))),
		Final: report.Ratio(float64(c.now.cost), 1000),
	}
	r.Constraints = &of
}
