package experiment

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
)

// This file is the experiments of Firmament (Gog et al., OSDI 2016), but for the size
// of the cluster (scale.go) and the breaking point.

func firmament() []Experiment {
	const paper = "Firmament, OSDI 2016, figure "
	return []Experiment{
		{
			Name: "firmament-fig3", What: "how long Quincy's rounds take by the size of the cluster",
			Paper: paper + "3", Policies: []string{"quincy"}, setUp: setUpScale,
		},
		{
			Name: "firmament-fig14", What: "placement latency at 90 % of the slots, against cost scaling alone",
			Paper: paper + "14", Policies: []string{"quincy"}, setUp: setUpAgainstQuincy,
		},
		{
			Name: "firmament-fig15", What: "drawing tasks to where 2 % of their input is, not 14 %",
			Paper: paper + "15", Policies: []string{"quincy"}, setUp: setUpPreference,
		},
		{
			Name: "firmament-fig16", What: "how long rounds take while more is asked for than there is",
			Paper: paper + "16", Policies: []string{"quincy"}, setUp: setUpOversubscribed,
		},
		{
			Name: "firmament-fig17", What: "how short tasks may get before deciding takes too long",
			Paper: paper + "17", Policies: []string{"load-spreading", "kube", "sparrow"}, Free: true, setUp: setUpBreaking,
		},
		{
			Name: "firmament-fig18", What: "placement latency of a trace that is replayed 50 to 300 times as fast",
			Paper: paper + "18", Policies: []string{"quincy"}, Free: true, setUp: setUpAccelerated,
		},
	}
}

const (
	measuredHere = "The planner's time is measured on this machine, from bringing the view up to date to the end of the commit; the paper counts the algorithm alone."
	batchAlone   = "Placement latency is that of batch tasks, which is all but production priorities, submitted after the start."
	inputMadeUp  = "Tasks read input that is made up as in the paper's simulator: racks of 30 nodes, blocks of a GiB with three replicas, sizes by how long a task works."
	noConstraint = "As in the paper, tasks have no constraints, and a task takes a slot, whatever it asks for."
)

// googlePlan is a plan whose cases all run on Google's workload in slots.
func googlePlan(o *Options, slots int64, length cluster.Time) (*plan, *cell, error) {
	c, err := googleCell(o, slots, length)
	if err != nil {
		return nil, nil, err
	}
	return &plan{data: c.describe(), real: c.data != "", facts: []string{measuredHere, noConstraint, inputMadeUp, batchAlone}}, &c, nil
}

// caseOn is a case on that workload.
func caseOn(c *cell, line, policy string, options policies.Options) simulation {
	return simulation{
		line: line, policy: policy, options: options, open: c.open, source: c.name(), input: "bounded?block=1GiB", planner: sim.Measured, until: c.length, waits: true,
	}
}

// setUpAgainstQuincy is Firmament's figure 14.
func setUpAgainstQuincy(o *Options) (*plan, error) {
	p, c, err := googlePlan(o, 13, of[cluster.Time](o.Size, 18_000, 900, 600)*cluster.Second)
	if err != nil {
		return nil, err
	}
	const ours, theirs = "default solver", "cost scaling from nothing"
	p.cases = []simulation{
		caseOn(c, ours, "quincy", policies.Options{}),
		caseOn(c, theirs, "quincy", policies.Options{Solver: "cost-scaling"}),
	}
	p.conclude = func(all []outcome, r *report.Reproduction) {
		r.Figures = []report.Figure{placementFigure("Placement latency", all)}
		medians := [2]report.Number{}
		for i := range all {
			l := placement(&all[i])
			median, ok := l.Quantile(0.5)
			p90, _ := l.Quantile(0.9)
			medians[i] = median
			half, nine := report.Compared{}, report.Compared{}
			if i == 0 {
				nine.Published, nine.Note = new(report.Number(1)), "published: sub-second up to this percentile"
			} else {
				half.Published, half.Note = new(report.Number(42.5)), "published: 25 to 60 s"
			}
			half.What, half.Unit, half.Ours = "median, "+all[i].line, report.InSeconds, known(median, ok)
			nine.What, nine.Unit, nine.Ours = "90th percentile, "+all[i].line, report.InSeconds, known(p90, ok)
			r.Compared = append(r.Compared, half, nine)
		}
		times := report.Ratio(float64(medians[1]), float64(medians[0]))
		r.Compared = append(r.Compared, report.Compared{
			What: "medians, cost scaling over default", Unit: report.InFactors, Published: new(report.Number(20)), Ours: known(times, medians[0] > 0),
			Note: "published: more than this",
		})
		for i := range all {
			if reads := all[i].run.Reads; reads != nil {
				r.Compared = append(r.Compared, report.Compared{What: "input that is local, " + all[i].line, Unit: report.InShares, Ours: new(reads.Locality)})
			}
		}
	}
	return p, nil
}

// setUpPreference is Firmament's figure 15.
func setUpPreference(o *Options) (*plan, error) {
	p, c, err := googlePlan(o, 13, of[cluster.Time](o.Size, 3_600, 600, 600)*cluster.Second)
	if err != nil {
		return nil, err
	}
	for _, percent := range []int{14, 2} {
		for _, solver := range []string{"", "cost-scaling"} {
			line := fmt.Sprintf("%d %%, default solver", percent)
			if solver != "" {
				line = fmt.Sprintf("%d %%, cost scaling from nothing", percent)
			}
			p.cases = append(p.cases, caseOn(c, line, "quincy", policies.Options{Solver: solver, Preference: percent}))
		}
	}
	p.conclude = func(all []outcome, r *report.Reproduction) {
		f := roundsFigure("How long rounds take", all)
		r.Figures = []report.Figure{f, placementFigure("Placement latency", all)}
		for i := range f.Lines {
			median, ok := f.Lines[i].Quantile(0.5)
			c := report.Compared{What: "round, median, " + f.Lines[i].Name, Unit: report.InSeconds, Ours: known(median, ok)}
			switch i {
			case 1:
				c.Published, c.Note = new(report.Number(30)), "published: 20 to 40 s"
			case 3:
				c.Published, c.Note = new(report.Number(40)), "published: more than this"
			default:
				c.Published, c.Note = new(report.Number(1)), "published: sub-second"
			}
			r.Compared = append(r.Compared, c)
		}
		r.Compared = append(r.Compared, localityRows(all)...)
	}
	return p, nil
}

// localityRows are how much of the input is local, and what comes over the network,
// with the default solver: first with 14 %, then with 2 %.
func localityRows(all []outcome) []report.Compared {
	at14, at2 := all[0].run.Reads, all[2].run.Reads
	if at14 == nil || at2 == nil {
		return nil
	}
	saved := at14.Moved - at2.Moved
	return []report.Compared{
		{What: "input that is local, 14 %", Unit: report.InShares, Published: new(report.Number(0.56)), Ours: new(at14.Locality)},
		{What: "input that is local, 2 %", Unit: report.InShares, Published: new(report.Number(0.71)), Ours: new(at2.Locality)},
		{What: "moved per hour, 14 %", Unit: report.InBytes, Ours: new(at14.Moved)},
		{What: "moved per hour, 2 %", Unit: report.InBytes, Ours: new(at2.Moved)},
		{What: "share of it that 2 % saves", Unit: report.InShares, Ours: new(report.Ratio(float64(saved), float64(at14.Moved))), Note: "published: 4 TB an hour, whose whole is not"},
	}
}

// roundsFigure is the distribution of how long rounds took.
func roundsFigure(title string, all []outcome) report.Figure {
	f := report.Figure{
		Title: title, Cumulative: true,
		X: report.Axis{Label: "time of a round", Unit: report.InSeconds, Log: true},
		Y: report.Axis{Label: "share of the rounds", Unit: report.InShares},
	}
	for i := range all {
		var h report.Histogram
		for _, round := range all[i].rounds {
			h.Add(max(round.took, 1))
		}
		f.Lines = append(f.Lines, report.Line{Name: all[i].line, Points: h.Curve()})
	}
	return f
}

// setUpOversubscribed is Firmament's figure 16.
func setUpOversubscribed(o *Options) (*plan, error) {
	from := of[cluster.Time](o.Size, 1000, 100, 10) * cluster.Second
	p, c, err := googlePlan(o, 11, of[cluster.Time](o.Size, 4_000, 900, 600)*cluster.Second)
	if err != nil {
		return nil, err
	}
	p.cases = []simulation{
		caseOn(c, "default solver", "quincy", policies.Options{}),
		caseOn(c, "cost scaling", "quincy", policies.Options{Solver: "cost-scaling"}),
		caseOn(c, "relaxation", "quincy", policies.Options{Solver: "relaxation"}),
	}
	if o.Size == Quick { // on a large cluster each would take a minute
		c.nodes, c.tasks = 200, 12
		p.data = c.describe()
		for i := range p.cases {
			p.cases[i].open, p.cases[i].source = c.open, c.name()
		}
	}
	published := []struct {
		seconds report.Number
		note    string
	}{{15, "published: 10 to 15 s"}, {30, "published: about this"}, {100, "published: hundreds of seconds"}}
	p.conclude = func(all []outcome, r *report.Reproduction) {
		x := report.Axis{Label: "time in the trace", Unit: report.InSeconds}
		longest := report.Figure{Title: "Longest round in 20 s", X: x, Y: report.Axis{Label: "time of a round", Unit: report.InSeconds}}
		waiting := report.Figure{Title: "Tasks that wait", X: x, Y: report.Axis{Label: "tasks", Unit: report.InTasks}}
		for i := range all {
			l := after(timeline(all[i].line, all[i].rounds, 20*cluster.Second), report.Seconds(from))
			longest.Lines = append(longest.Lines, l)
			waiting.Lines = append(waiting.Lines, after(pending(&all[i]), report.Seconds(from)))
			worst := report.Number(0)
			for _, p := range l.Points {
				worst = max(worst, p[1])
			}
			r.Compared = append(r.Compared, report.Compared{
				What: "longest round, " + all[i].line, Unit: report.InSeconds,
				Published: new(published[i].seconds), Ours: new(worst), Note: published[i].note,
			})
		}
		r.Figures = []report.Figure{longest, waiting}
	}
	return p, nil
}

// after leaves out what comes before.
func after(l report.Line, from report.Number) report.Line {
	for len(l.Points) > 0 && l.Points[0][0] < from {
		l.Points = l.Points[1:]
	}
	return l
}

// pending is how many tasks wait, over time.
func pending(o *outcome) report.Line {
	l := report.Line{Name: o.line}
	if o.run.Series == nil {
		return l
	}
	for i, v := range o.run.Series.Columns["pending"] {
		l.Points = append(l.Points, [2]report.Number{report.Number(i+1) * o.run.Series.Step, v})
	}
	return l
}

// setUpAccelerated is Firmament's figure 18.
func setUpAccelerated(o *Options) (*plan, error) {
	p, c, err := googlePlan(o, 16, of[cluster.Time](o.Size, 86_400, 1_800, 600)*cluster.Second)
	if err != nil {
		return nil, err
	}
	p.facts = append(p.facts, "Times and work are divided by the speed-up; nodes are as full as before, and the scheduler sees so many times the events a second.")
	for _, policy := range o.Policies {
		for _, speedup := range of(o.Size, []float64{50, 100, 150, 200, 250, 300}, []float64{50, 150, 300}, []float64{50, 300}) {
			s := caseOn(c, policy, policy, policies.Options{})
			s.at, s.speedup, s.until = report.Number(speedup), speedup, cluster.Time(float64(c.length)/speedup)
			p.cases = append(p.cases, s)
		}
	}
	p.conclude = func(all []outcome, r *report.Reproduction) {
		f := report.Figure{
			Title: "Placement latency by speed-up",
			X:     report.Axis{Label: "speed-up", Unit: report.InFactors},
			Y:     report.Axis{Label: "placement latency", Unit: report.InSeconds, Log: true},
		}
		for _, share := range []report.Number{0.5, 0.75, 0.9, 0.99} {
			for _, l := range points(all, func(o *outcome) (report.Number, bool) {
				line := placement(o)
				return line.Quantile(share)
			}) {
				l.Name = fmt.Sprintf("%s, p%.0f", l.Name, 100*float64(share))
				f.Lines = append(f.Lines, l)
			}
		}
		r.Figures = []report.Figure{f}
		for _, policy := range o.Policies {
			for _, name := range []string{"p75", "p99"} {
				at300, ok := lineOf(f.Lines, policy+", "+name).At(300)
				c := report.Compared{What: fmt.Sprintf("placement latency at 300 times, %s, %s", name, policy), Unit: report.InSeconds, Ours: known(at300, ok)}
				if name == "p75" && policy == "quincy" {
					c.Published, c.Note = new(report.Number(1)), "published: sub-second"
				}
				r.Compared = append(r.Compared, c)
			}
		}
	}
	return p, nil
}
