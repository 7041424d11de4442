package exact

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
	"fairlead.dev/fairlead/ilp"
)

// This file mends what search left. A model of everything is solved where it is small enough, and
// proves what it finds. Else an application that is violated, not placed or lacks a container is
// set free with those to whom the violated bounds tie it, on a few candidate nodes, and all others
// stay; what the solver finds is taken if the judge says that it is strictly better. Where nothing
// is found more is set free, on more nodes. In the end a model of everything without whole
// numbers, where that is small enough, says what nothing costs less than.

// Repaired is what a repair came to.
type Repaired struct {
	Assignment constraint.Assignment
	Score      int64
	// Bound is what no assignment costs less than, and Proof what says so; Optimal says that this
	// one costs no more.
	Bound   int64
	Proof   Proof
	Optimal bool
	// Models counts those that were solved, Better those that made the assignment better.
	Models, Better int
	Ticks          int64
	// Limit is what the last solving stopped for.
	Limit ilp.Limit
}

// Defaults are the sizes at which HiGHS takes some tenths of a second for a model.
func Defaults() Options {
	return Options{Columns: 1500, Relaxed: 10_000, Nodes: 90, Each: ilp.Limits{Ticks: 20_000}}
}

// modelTicks is what a model costs beside its solving: to be built, and copied into an instance of the solver that begins anew, some 10 ms where a tick is 100 µs.
// Without it a thousand small models, of which each is solved at once, were for nothing.
const modelTicks = 100

// widest is how much wider than the first a repair becomes: half the sizes, and then the whole.
const widest = 2

// Repair makes the incumbent better, which has to be one that may be carried out. What it
// returns is good, and never worse than the incumbent, when the solver fails, too.
func Repair(p *constraint.Problem, incumbent constraint.Assignment, solver ilp.Solver, o Options) (Repaired, error) {
	r := &repairer{p: p, solver: solver, o: o}
	r.Assignment = slices.Clone(incumbent)
	if err := constraint.Check(p, incumbent); err != nil {
		return r.Repaired, fmt.Errorf("repairing what cannot be carried out: %w", err)
	}
	r.Score, r.Bound = constraint.Evaluate(p, incumbent).Score, board.New(p, constraint.FindRoles(p)).Floor()
	err := r.run()
	r.Optimal = r.Score == r.Bound
	return r.Repaired, err
}

// run does what there is to do.
func (r *repairer) run() error {
	if r.done() || !countable(r.p) {
		return nil
	}
	all, proof := everything(r.p, r.Assignment, &r.o)
	if proof == Whole {
		solution, err := r.solve(all)
		if err != nil {
			return err
		}
		r.raise(all.proven(&solution), proof)
		if solution.Status == ilp.Optimal && !all.Cut {
			return nil
		}
	}
	if !r.done() {
		r.roles = constraint.FindRoles(r.p)
		r.relate()
		if err := r.parts(); err != nil {
			return err
		}
	}
	if proof == Relaxation && !r.done() {
		solution, err := r.solveModel(all) // its values are parts of containers
		if err != nil {
			return err
		}
		r.raise(all.proven(&solution), proof)
	}
	return nil
}

// repairer is a repair under way.
type repairer struct {
	Repaired
	p      *constraint.Problem
	roles  *constraint.Roles
	solver ilp.Solver
	o      Options
	// member says which applications have a role in a bound and a container that may be placed or
	// moved, by bound and application.
	member []bool
}

// done reports whether there is nothing to mend, or no effort left.
func (r *repairer) done() bool {
	return r.Score == r.Bound || r.o.Ticks > 0 && r.Ticks >= r.o.Ticks || r.Limit == ilp.Time || r.Limit == ilp.Memory
}

// solve solves the model and takes what is better.
func (r *repairer) solve(m *Model) (ilp.Solution, error) {
	solution, err := r.solveModel(m)
	if err != nil || solution.Values == nil {
		return solution, err
	}
	found := m.Decode(solution.Values)
	if score := constraint.Evaluate(r.p, found).Score; score < r.Score && constraint.Check(r.p, found) == nil {
		r.Assignment, r.Score = found, score
		r.Better++
	}
	return solution, nil
}

// solveModel calls the solver, and counts the effort.
func (r *repairer) solveModel(m *Model) (ilp.Solution, error) {
	start, err := m.Encode(r.Assignment)
	if err != nil {
		start = nil // for want of devices that could be found; the solver begins with nothing
	}
	solution, err := r.solver.Solve(&m.Model, start, r.o.limits(r.Ticks))
	if err != nil {
		return solution, err
	}
	r.Models++
	r.Ticks += solution.Ticks + modelTicks
	r.Limit = solution.Limit
	return solution, nil
}

// raise takes the bound of a model of everything, if it says more.
func (r *repairer) raise(bound int64, proof Proof) {
	if bound > r.Bound {
		r.Bound, r.Proof = bound, proof
	}
}

// parts mends one violated application after the other.
func (r *repairer) parts() error {
	width, tried := 1, make([]bool, len(r.p.Applications))
	for !r.done() {
		seed, free := r.pick(tried, width)
		if seed == absent {
			if width *= 2; width > widest {
				return nil
			}
			clear(tried)
			continue
		}
		for i := range tried {
			tried[i] = tried[i] || r.alike(int32(i), seed)
		}
		before := r.Score
		if m := r.part(free, width); m != nil {
			if _, err := r.solve(m); err != nil {
				return err
			}
		}
		if r.Score < before {
			width = 1
			clear(tried)
		}
	}
	return nil
}

// alike reports whether the applications differ in nothing but their names and stand nowhere, so that what finds no place for one finds none for the other.
func (r *repairer) alike(a, b int32) bool {
	if a == b {
		return true
	}
	x, y := &r.p.Applications[a], &r.p.Applications[b]
	if x.End-x.First != y.End-y.First || x.Deployed != y.Deployed {
		return false
	}
	for i := range x.End - x.First {
		c, d := x.First+i, y.First+i
		if r.Assignment[c] != constraint.Nowhere || r.Assignment[d] != constraint.Nowhere ||
			!r.sameShape(r.p.Containers[c].Shape, r.p.Containers[d].Shape) {
			return false
		}
	}
	return true
}

// sameShape reports whether the shapes ask for the same, whoever's they are.
func (r *repairer) sameShape(x, y int32) bool {
	a, b := &r.p.Shapes[x], &r.p.Shapes[y]
	return a.PerNode == b.PerNode && slices.Equal(a.Demand, b.Demand) && slices.Equal(a.Needs, b.Needs) &&
		slices.Equal(r.roles.Of[x], r.roles.Of[y]) && slices.Equal(a.Eligible, b.Eligible)
}

// part is the model of what is free, on as many candidates as make it small enough; nil if that
// leaves none but those on which the free ones are. At first only the first step of what is
// missed counts, which makes smaller models, and is all that matters to most.
func (r *repairer) part(free []bool, width int) *Model {
	nodes, needed := candidates(r.p, r.roles, r.Assignment, free, width)
	nodes = nodes[:min(len(nodes), max(r.o.Nodes*width/widest, needed))]
	scope, most := Scope{Base: r.Assignment, Free: free, Levels: 1}, r.o.Columns*width/widest
	if width == widest {
		scope.Levels = allLevels
	}
	for {
		scope.Nodes = slices.Sorted(slices.Values(nodes))
		m := Aggregated(r.p, scope)
		if m.Columns() <= most {
			return m
		}
		less := min(len(nodes)*most/m.Columns(), len(nodes)-1)
		if less <= needed {
			return nil
		}
		nodes = nodes[:less]
	}
}

// relate finds which applications have a role in which bound.
func (r *repairer) relate() {
	r.member = make([]bool, len(r.roles.Bounds)*len(r.p.Applications))
	for i := range r.p.Containers {
		if c := &r.p.Containers[i]; !c.Fixed {
			for _, role := range r.roles.Of[c.Shape] {
				r.member[int(role.Bound)*len(r.p.Applications)+int(r.p.Shapes[c.Shape].Application)] = true
			}
		}
	}
}

// pick chooses an application that has not been tried, one that is not placed or lacks a container,
// else the one with the most to do with what is violated, and says what is to be free: it, and
// those that have the most to do with the bounds that are violated and concern it, or with any
// that do.
func (r *repairer) pick(tried []bool, width int) (seed int32, free []bool) {
	violated := make([]int64, len(r.roles.Bounds))
	for _, v := range constraint.Evaluate(r.p, r.Assignment).Violations {
		violated[v.Bound]++
	}
	worth := r.count(violated)
	for i := range r.p.Applications {
		app := &r.p.Applications[i]
		if slices.Contains(r.Assignment[app.First:app.End], constraint.Nowhere) {
			worth[i] += int64(len(r.p.Containers))
		}
	}
	seed = absent
	for i, w := range worth {
		if w > 0 && !tried[i] && (seed == absent || w > worth[seed]) {
			seed = int32(i)
		}
	}
	if seed == absent {
		return absent, nil
	}
	shared := make([]int64, len(r.roles.Bounds))
	for b := range shared {
		if r.member[b*len(r.p.Applications)+int(seed)] {
			shared[b] = 1 + violated[b]*int64(len(r.roles.Bounds))
		}
	}
	ties := r.count(shared)
	var others []int32
	for i, t := range ties {
		if t > 0 && int32(i) != seed {
			others = append(others, int32(i))
		}
	}
	slices.SortStableFunc(others, func(x, y int32) int { return cmp.Compare(ties[y], ties[x]) })
	free = make([]bool, len(r.p.Containers))
	for _, i := range append([]int32{seed}, others[:min(width, len(others))]...) {
		for c := r.p.Applications[i].First; c < r.p.Applications[i].End; c++ {
			free[c] = !r.p.Containers[c].Fixed
		}
	}
	return seed, free
}

// count sums the bounds' numbers for each application that has a role in them.
func (r *repairer) count(of []int64) []int64 {
	sum := make([]int64, len(r.p.Applications))
	for b, q := range of {
		if q == 0 {
			continue
		}
		for i := range sum {
			if r.member[b*len(sum)+i] {
				sum[i] += q
			}
		}
	}
	return sum
}
