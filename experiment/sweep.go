package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/report"
)

// This file is planted problems along an axis, each solved by every contender from the same
// seeds.

// sweep is such an axis, and what came of it.
type sweep struct {
	axis       report.Axis
	points     []problems
	seeds      uint64
	ticks      int64          // of the search
	least      cluster.Vector // that shall be left of each node; nil is nothing
	contenders []contender
	all        []placed
}

// problems are those of one place on the axis.
type problems struct {
	at      report.Number
	options planted.Options
}

// steps are the problems, a step each.
func (s *sweep) steps(o *Options) []step {
	var list []step
	for _, p := range s.points {
		for seed := range s.seeds {
			p.options.Seed = o.Seed + seed
			list = append(list, step{
				name: fmt.Sprintf("%s %s, seed %d", s.axis.Label, s.axis.Unit.Show(p.at), p.options.Seed),
				do:   func() error { return s.solve(p) },
			})
		}
	}
	return list
}

// solve lets each contender solve a problem.
func (s *sweep) solve(of problems) error {
	instance, err := drawPlanted(of.options)
	if err != nil {
		return err
	}
	instance.Problem.Objective.Least = s.least
	for i := range s.contenders {
		out, err := s.contenders[i].solve(&instance.Problem, of.options.Seed, s.ticks)
		if err != nil {
			return err
		}
		out.at = of.at
		s.all = append(s.all, out)
	}
	return nil
}

// figure draws a number over the axis, a line for each contender.
func (s *sweep) figure(title string, y report.Axis, of func([]*placed) report.Number) report.Figure {
	f := report.Figure{Title: title, X: s.axis, Y: y}
	for i := range s.contenders {
		l := report.Line{Name: s.contenders[i].line}
		for _, p := range s.points {
			l.Points = append(l.Points, [2]report.Number{p.at, of(s.at(l.Name, p.at))})
		}
		f.Lines = append(f.Lines, l)
	}
	return f
}

// at are the contender's plans at a place on the axis, by seed.
func (s *sweep) at(line string, at report.Number) []*placed {
	var list []*placed
	for i := range s.all {
		if out := &s.all[i]; out.line == line && out.at == at {
			list = append(list, out)
		}
	}
	return list
}

// meanAt is the mean of a number of plans.
func meanAt(of func(*placed) report.Number) func([]*placed) report.Number {
	return func(list []*placed) report.Number {
		var values []report.Number
		for _, out := range list {
			values = append(values, of(out))
		}
		return meanOf(values)
	}
}

// medianAt is the median of a number of plans: of an even number the upper one.
func medianAt(of func(*placed) report.Number) func([]*placed) report.Number {
	return func(list []*placed) report.Number {
		var values []report.Number
		for _, out := range list {
			values = append(values, of(out))
		}
		slices.SortFunc(values, cmp.Compare[report.Number])
		return values[len(values)/2]
	}
}

// compared are the ends of the lines, for those who read no figures.
func compared(what string, f *report.Figure) []report.Compared {
	var rows []report.Compared
	for _, l := range f.Lines {
		last := l.Points[len(l.Points)-1]
		rows = append(rows, report.Compared{
			What: fmt.Sprintf("%s, %s %s, %s", what, f.X.Label, f.X.Unit.Show(last[0]), l.Name), Unit: f.Y.Unit, Ours: new(last[1]),
		})
	}
	return rows
}
