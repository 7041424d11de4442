package sim

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// gaps counts how much better the rounds of a run might have been.
type gaps struct {
	bystander
	optimal  int
	relative report.Histogram // in millionths, as if they were microseconds
}

// count lets the gaps of all lanes be counted.
func (g *gaps) count(lanes []sched.Lane) []sched.Lane {
	lanes = slices.Clone(lanes)
	for i := range lanes {
		lanes[i].Planned = g.planned
	}
	return lanes
}

// planned takes in the gap of a plan, if it has one.
func (g *gaps) planned(p *sched.Plan) {
	if !p.Gap.Known() {
		return
	}
	if p.Gap.Optimal() {
		g.optimal++
	}
	g.relative.Add(cluster.Time(p.Gap.Relative()))
}

// result says nothing where no round had a bound.
func (g *gaps) result(_ *span, r *report.Run) {
	rounds := g.relative.Count()
	if rounds == 0 {
		return
	}
	d := g.relative.Distribution()
	r.Planner.Gap = &report.Gaps{Rounds: rounds, Optimal: report.Ratio(float64(g.optimal), float64(rounds)), Mean: d.Mean, P50: d.P50, P99: d.P99}
}
