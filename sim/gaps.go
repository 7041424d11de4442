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

// appraised is a policy whose gaps are counted.
type appraised struct {
	sched.Policy
	gaps *gaps
}

// Plan lets the policy plan.
func (g appraised) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	g.Policy.Plan(t, c, budget, out)
	if !out.Gap.Known() {
		return
	}
	if out.Gap.Optimal() {
		g.gaps.optimal++
	}
	g.gaps.relative.Add(cluster.Time(out.Gap.Relative()))
}

// replanning is such a policy that plans again what commit refused.
type replanning struct {
	appraised
	sched.Replanner
}

// count lets the gaps of all lanes be counted.
func (g *gaps) count(lanes []sched.Lane) []sched.Lane {
	lanes = slices.Clone(lanes)
	for i := range lanes {
		if lanes[i].Policy == nil {
			continue
		}
		watched := appraised{lanes[i].Policy, g}
		lanes[i].Policy = watched
		if replanner, replans := watched.Policy.(sched.Replanner); replans {
			lanes[i].Policy = replanning{watched, replanner}
		}
	}
	return lanes
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
