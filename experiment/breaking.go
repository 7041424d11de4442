package experiment

import (
	"fmt"
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the breaking point: how short tasks may get until deciding where
// they go takes longer than they do.

// breakingPoint is one cluster of the experiment.
type breakingPoint struct {
	nodes     int
	durations []cluster.Time // of tasks, falling
	published report.Number  // the shortest duration near the ideal, in seconds; 0 if unknown
}

func breakingPoints(s Size) []breakingPoint {
	ms := func(all ...cluster.Time) []cluster.Time {
		for i := range all {
			all[i] *= cluster.Millisecond
		}
		return all
	}
	return of(s,
		[]breakingPoint{
			{100, ms(5000, 2500, 1000, 500, 250, 100, 50, 25, 10, 5), 0.005},
			{1000, ms(5000, 2500, 1000, 750, 500, 375, 350, 200), 0.375},
		},
		[]breakingPoint{{100, ms(1000, 100, 25, 10, 5), 0.005}, {1000, ms(1000, 375, 200), 0.375}},
		[]breakingPoint{{20, ms(100, 10), 0}},
	)
}

// nearIdeal is how much longer than its tasks a job may take.
const nearIdeal = 1.1

// setUpBreaking is Firmament's figure 17.
func setUpBreaking(o *Options) (*plan, error) {
	const slots, tasks, load = 12, 10, 0.8
	// The cluster holds so many jobs at once; the run lasts for so many times that.
	generations := of(o.Size, 30, 10, 3)
	p := &plan{
		data:  fmt.Sprintf("generator: jobs of %d equal tasks at random moments that keep %.0f %% of %d slots a node busy, seed %d; the paper's was made up, too", tasks, 100*load, slots, o.Seed),
		facts: []string{measuredHere},
	}
	points := breakingPoints(o.Size)
	for _, b := range points {
		for _, policy := range o.Policies {
			for _, work := range b.durations {
				count := generations * int(load*float64(b.nodes*slots)) / tasks
				p.cases = append(p.cases, simulation{
					line: lineName(policy, b.nodes), at: report.Seconds(work), policy: policy, planner: sim.Measured,
					source: fmt.Sprintf("jobs of %d tasks of %gs, %d nodes of %d slots", tasks, work.Seconds(), b.nodes, slots),
					open: func() (trace.Source, error) {
						return &equalJobs{
							nodes: b.nodes, slots: slots, tasks: tasks, work: work, load: load, count: count,
							chance: rand.New(rand.NewPCG(o.Seed, uint64(b.nodes))), //nolint:gosec // no secret
						}, nil
					},
				})
			}
		}
	}
	p.conclude = func(all []outcome, r *report.Reproduction) { concludeBreaking(points, o.Policies, all, r) }
	return p, nil
}

func lineName(policy string, nodes int) string { return fmt.Sprintf("%s, %d nodes", policy, nodes) }

// concludeBreaking draws the response time of jobs over that of their tasks.
func concludeBreaking(clusters []breakingPoint, policies []string, all []outcome, r *report.Reproduction) {
	ratio := func(of func(*report.Distribution) report.Number) []report.Line {
		return points(all, func(o *outcome) (report.Number, bool) {
			if o.run.JobResponse == nil {
				return 0, false
			}
			return of(o.run.JobResponse) / o.at, true
		})
	}
	mean := ratio(func(d *report.Distribution) report.Number { return d.Mean })
	x := report.Axis{Label: "duration of a task", Unit: report.InSeconds, Log: true}
	y := report.Axis{Label: "response time of a job over the duration of its tasks", Unit: report.InFactors, Log: true}
	r.Figures = []report.Figure{
		{Title: "Job response over the ideal, mean", X: x, Y: y, Lines: mean},
		{Title: "Job response over the ideal, 99th percentile", X: x, Y: y, Lines: ratio(func(d *report.Distribution) report.Number { return d.P99 })},
	}
	for _, b := range clusters {
		for _, policy := range policies {
			c := report.Compared{What: fmt.Sprintf("shortest tasks near the ideal, %d nodes, %s", b.nodes, policy), Unit: report.InSeconds}
			if policy == "load-spreading" && b.published > 0 {
				c.Published = new(b.published)
			}
			c.Ours = known(shortest(lineOf(mean, lineName(policy, b.nodes))))
			r.Compared = append(r.Compared, c)
		}
	}
}

// shortest is the smallest x down to which the line stays near the ideal.
func shortest(l *report.Line) (least report.Number, ok bool) {
	for i := len(l.Points) - 1; i >= 0 && l.Points[i][1] <= nearIdeal; i-- {
		least, ok = l.Points[i][0], true
	}
	return least, ok
}
