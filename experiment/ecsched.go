package experiment

import (
	"fmt"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/ecsched"
	"fairlead.dev/fairlead/sim/workload"
)

// This file is the experiments of ECSched (Hu et al., FGCS 102, 2020).
//
// In the authors' code a flow places up to a container a node each second, and
// their baselines place one in the whole cluster. Most of the published gain comes
// from that. So each comparison is made twice: as published, and with equal
// throughput, where the baselines may place all that the flow looks at.

func ecschedExperiments() []Experiment {
	const paper = "ECSched, FGCS 102 (2020), "
	all := []string{"ecsched-dp", "ecsched-ml", "ecsched-kube", "ecsched-swarm"}
	return []Experiment{
		{
			Name: "ecsched-fig4", What: "by how much containers are done sooner than under other scores",
			Paper: paper + "figure 4", Policies: []string{"ecsched-dp", "ecsched-kube", "ecsched-swarm"}, setUp: setUpCompletion,
		},
		{
			Name: "ecsched-fig5", What: "how long it takes to place 100 to 300 containers",
			Paper: paper + "figure 5", Policies: []string{"ecsched-dp", "ecsched-ml"}, setUp: setUpRuntime,
		},
		{
			Name: "ecsched-table1", What: "mean completion time and use of the nodes",
			Paper: paper + "table 1", Policies: all, setUp: setUpTable,
		},
	}
}

// second is the heartbeat of the authors' code.
func second() sched.Trigger { return sched.Trigger{Heartbeat: cluster.Second} }

// The two ways to hold the flow and the baselines against each other.
const (
	wayPublished = "as published"
	wayEqual     = "equal throughput"
)

// batchOf is how much a policy may do in a second. It is the authors' window of
// 100, in which what fits nowhere stays, and one solve, as in their stored results.
// Their baselines place one container in that time.
func batchOf(policy, way string) policies.Batch {
	b := policies.Batch{Window: 100, Keep: true}
	switch flow := policy == "ecsched-dp" || policy == "ecsched-ml"; {
	case flow && way == wayPublished:
		b.Solves = 1
	case flow:
		b.Solves = 5
	case way == wayPublished:
		b.Placements = 1
	default:
		b.Placements = b.Window
	}
	return b
}

// onBed is a case for each policy and way.
func onBed(b bed, names []string, options func(policy, way string) policies.Options) []simulation {
	var cases []simulation
	for _, way := range []string{wayPublished, wayEqual} {
		for _, policy := range names {
			cases = append(cases, simulation{
				line: way, policy: policy, options: options(policy, way), open: b.open, source: b.name,
				trigger: second(), planner: sim.Zero,
			})
		}
	}
	return cases
}

// factsOfBed are said of every comparison.
func factsOfBed() []string {
	return []string{
		"As published, a baseline places one container a second in the whole cluster, and the flow one a node. With equal throughput a baseline may place 100 a second, the window of the flow, and the flow solves up to five times.",
		"Deciding takes no time, as in the authors' simulation.",
	}
}

// find is the outcome of a policy in one of the ways.
func find(all []outcome, policy, way string) *outcome {
	i := slices.IndexFunc(all, func(o outcome) bool { return o.policy == policy && o.line == way })
	return &all[i]
}

// setUpCompletion is ECSched's figure 4.
func setUpCompletion(o *Options) (*plan, error) {
	b, err := onTestbed(o)
	if err != nil {
		return nil, err
	}
	p := &plan{data: b.describe, real: b.real, facts: factsOfBed()}
	p.cases = onBed(b, o.Policies, func(policy, way string) policies.Options {
		return policies.Options{Ties: policies.Lowest, Batch: batchOf(policy, way)}
	})
	p.conclude = func(all []outcome, r *report.Reproduction) {
		f := report.Figure{
			Title: "Completion time of the baseline over that of ecsched-dp, container by container", Cumulative: true,
			X: report.Axis{Label: "times as fast", Unit: report.InFactors, Log: true},
			Y: report.Axis{Label: "share of the containers", Unit: report.InShares},
		}
		for _, way := range []string{wayPublished, wayEqual} {
			for _, baseline := range []string{"ecsched-kube", "ecsched-swarm"} {
				dp, base := find(all, "ecsched-dp", way), find(all, baseline, way)
				rising := factors(&base.run, &dp.run)
				l := distribution(baseline+", "+way, rising)
				f.Lines = append(f.Lines, l)
				r.Compared = append(r.Compared, completionRows(&l, rising, baseline, way)...)
				r.Compared = append(r.Compared, report.Compared{
					What: "ratio of the means, " + l.Name, Unit: report.InFactors, Ours: known(ratioOfMeans(base, dp)),
					Published: publishedOnly(way, 1.3), Note: noteFor(way, "published: up to this"),
				})
			}
		}
		r.Figures = []report.Figure{f}
	}
	return p, nil
}

// completionRows are what the paper says of a baseline.
func completionRows(l *report.Line, rising []float64, baseline, way string) []report.Compared {
	quantiles := map[string][3]report.Number{"ecsched-kube": {1.2, 1.28, 1.5}, "ecsched-swarm": {1.21, 1.3, 1.57}}[baseline]
	var rows []report.Compared
	for i, share := range []report.Number{0.5, 0.6, 0.8} {
		v, ok := l.Quantile(share)
		rows = append(rows, report.Compared{
			What: fmt.Sprintf("p%.0f, %s", 100*float64(share), l.Name), Unit: report.InFactors, Published: publishedOnly(way, quantiles[i]), Ours: known(v, ok),
		})
	}
	const alike = 1.01 // a container is as fast as before within 1 %
	better, worse := above(rising, alike), 1-above(rising, math.Nextafter(1/alike, 0))
	if len(rising) == 0 {
		worse = 0
	}
	return append(rows,
		report.Compared{What: "done sooner, " + l.Name, Unit: report.InShares, Published: publishedOnly(way, 0.68), Ours: new(better), Note: noteFor(way, "published: more than this")},
		report.Compared{What: "done later, " + l.Name, Unit: report.InShares, Published: publishedOnly(way, 0.1), Ours: new(worse)},
	)
}

// publishedOnly is a number that belongs to the comparison as it was published.
func publishedOnly(way string, v report.Number) *report.Number {
	if way != wayPublished {
		return nil
	}
	return &v
}

func noteFor(way, note string) string {
	if way != wayPublished {
		return ""
	}
	return note
}

// ratioOfMeans is the mean completion time of the base over that of the other.
func ratioOfMeans(base, other *outcome) (report.Number, bool) {
	if base.run.TaskResponse == nil || other.run.TaskResponse == nil || other.run.TaskResponse.Mean == 0 {
		return 0, false
	}
	return base.run.TaskResponse.Mean / other.run.TaskResponse.Mean, true
}

// setUpTable is ECSched's table 1, whose numbers are lost; what the text says of
// it is not. Where the authors' job list is at hand, their stored results are
// repeated too.
func setUpTable(o *Options) (*plan, error) {
	b, err := onTestbed(o)
	if err != nil {
		return nil, err
	}
	p := &plan{data: b.describe, real: b.real, facts: factsOfBed()}
	p.cases = onBed(b, o.Policies, func(policy, way string) policies.Options {
		return policies.Options{Ties: policies.Lowest, Batch: batchOf(policy, way)}
	})
	bedCases := len(p.cases)
	if b.real {
		stored := authorsList(o, ecsched.Default(), "nodes=50")
		p.data += "; " + stored.describe
		p.facts = append(p.facts, "The stored set is run with its authors' settings: in both ways the flow solves once a heartbeat, by their solver, ssp-literal.")
		p.cases = append(p.cases, onBed(stored, o.Policies, storedOptions)...)
	}
	p.conclude = func(all []outcome, r *report.Reproduction) {
		tableRows("test bed", all[:bedCases], nil, r)
		if b.real {
			tableRows("stored set", all[bedCases:], map[string]report.Number{
				"ecsched-dp": 1416.36, "ecsched-ml": 1368.18, "ecsched-swarm": 1773.02, "ecsched-kube": 1801.77,
			}, r)
		}
	}
	return p, nil
}

// storedOptions are the settings of the authors' stored results: one solve, by
// their own solver.
func storedOptions(policy, way string) policies.Options {
	o := policies.Options{Ties: policies.Lowest, Batch: batchOf(policy, way)}
	if p, err := policies.Find(policy); err == nil && p.Family == policies.Flow {
		o.Solver, o.Batch.Solves = "ssp-literal", 1
	}
	return o
}

// tableRows holds what was published of one workload against ours.
func tableRows(name string, all []outcome, published map[string]report.Number, r *report.Reproduction) {
	mean := report.Figure{
		Title: "Completion time, " + name, Cumulative: true,
		X: report.Axis{Label: "completion time", Unit: report.InSeconds, Log: true},
		Y: report.Axis{Label: "share of the containers", Unit: report.InShares},
	}
	for i := range all {
		o := &all[i]
		what := fmt.Sprintf("%s, %s, %s", name, o.policy, o.line)
		row := report.Compared{What: "mean completion, " + what, Unit: report.InSeconds}
		if v, ok := published[o.policy]; ok {
			row.Published = publishedOnly(o.line, v)
		}
		if o.run.TaskResponse != nil {
			row.Ours = new(o.run.TaskResponse.Mean)
		}
		r.Compared = append(r.Compared, row, report.Compared{
			What: "cpu in use, " + what, Unit: report.InShares, Ours: new(o.run.Utilisation["cpu"].Mean),
		})
		if o.run.Sample != nil {
			rising := make([]float64, len(o.run.Sample.Response))
			for i, v := range o.run.Sample.Response {
				rising[i] = float64(v)
			}
			slices.Sort(rising)
			mean.Lines = append(mean.Lines, distribution(o.policy+", "+o.line, rising))
		}
	}
	for _, way := range []string{wayPublished, wayEqual} {
		kube, dp := find(all, "ecsched-kube", way), find(all, "ecsched-dp", way)
		used := report.Ratio(float64(dp.run.Utilisation["cpu"].Mean), float64(kube.run.Utilisation["cpu"].Mean))
		r.Compared = append(r.Compared, report.Compared{
			What: fmt.Sprintf("cpu in use, ecsched-dp over ecsched-kube, %s, %s", name, way), Unit: report.InFactors,
			Published: publishedOnly(way, 1.1), Ours: known(used, used > 0), Note: noteFor(way, "published: resource efficiency"),
		})
	}
	r.Figures = append(r.Figures, mean)
}

// setUpRuntime is ECSched's figure 5.
func setUpRuntime(o *Options) (*plan, error) {
	p := &plan{
		data: fmt.Sprintf("generator: half-loaded nodes of 19 types of Amazon's EC2, requests like Google's that come at once, seeds from %d; the paper's was made up, too", o.Seed),
		facts: []string{
			"The time is measured on this machine, from the arrival of the requests to the commit of the last of them, all rounds together; the paper's is of a program in Python.",
		},
	}
	seeds := of[uint64](o.Size, 5, 2, 1)
	for _, nodes := range of(o.Size, []int{1_000, 5_000}, []int{1_000, 5_000}, []int{50}) {
		for _, policy := range o.Policies {
			for _, requests := range of(o.Size, []int{100, 200, 300}, []int{100, 300}, []int{10, 20}) {
				for seed := range seeds {
					e := workload.EC2{Nodes: nodes, Tasks: requests, Load: 0.5, Seed: o.Seed + seed}
					p.cases = append(p.cases, simulation{
						line: lineName(policy, nodes), at: report.Number(requests), policy: policy,
						open:    func() (trace.Source, error) { return workload.NewEC2(e) },
						source:  fmt.Sprintf("synthetic:ec2?nodes=%d&tasks=%d&seed=%d", nodes, requests, e.Seed),
						trigger: second(), planner: sim.Zero, until: 10 * cluster.Second,
					})
				}
			}
		}
	}
	p.conclude = concludeRuntime
	return p, nil
}

// concludeRuntime takes the median over the seeds.
func concludeRuntime(all []outcome, r *report.Reproduction) {
	var lines []report.Line
	for i := 0; i < len(all); {
		o, took := &all[i], []report.Number{}
		for ; i < len(all) && all[i].line == o.line && all[i].at == o.at; i++ {
			took = append(took, deciding(&all[i]))
		}
		slices.Sort(took)
		if len(lines) == 0 || lines[len(lines)-1].Name != o.line {
			lines = append(lines, report.Line{Name: o.line})
		}
		l := &lines[len(lines)-1]
		l.Points = append(l.Points, [2]report.Number{o.at, took[len(took)/2]})
	}
	r.Figures = []report.Figure{{
		Title: "Time to decide", Lines: lines,
		X: report.Axis{Label: "containers that ask", Unit: report.InTasks}, Y: report.Axis{Label: "time", Unit: report.InSeconds},
	}}
	for _, l := range lines {
		for _, p := range l.Points {
			c := report.Compared{What: fmt.Sprintf("%.0f requests, %s", float64(p[0]), l.Name), Unit: report.InSeconds, Ours: new(p[1])}
			switch {
			case p[0] == 300 && l.Name == lineName("ecsched-dp", 1000):
				c.Published = new(report.Number(1.8))
			case p[0] == 300 && l.Name == lineName("ecsched-dp", 5000):
				c.Published = new(report.Number(3.4))
			case p[0] == 100 && l.Name == lineName("ecsched-dp", 1000):
				c.Published, c.Note = new(report.Number(1)), "published: less than this"
			}
			r.Compared = append(r.Compared, c)
		}
	}
}

// deciding is how long the rounds took that saw the requests, which come after a
// second. Little else happens in the few seconds that the run lasts.
func deciding(o *outcome) report.Number {
	sum := cluster.Time(0)
	for _, round := range o.rounds {
		if round.at >= cluster.Second {
			sum += round.took
		}
	}
	return report.Seconds(sum)
}
