package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
	"fairlead.dev/fairlead/sim/trace/philly"
)

// This file is spot capacity with promised durations, after GFS (Duan et al., ASPLOS 2026): jobs of high priority evict spot
// jobs, but none of which the run has not lasted yet as its class promises. GFS foresees the demand of the former, and admits spot
// jobs by that; here nothing is foreseen. Its cluster and labels are not at hand: those of the jobs of Philly are drawn.

const (
	// gfsSpot is the share of jobs that are spot.
	gfsSpot = 0.3
	// gfsNodes is how many nodes of eight GPUs there are: fewer than what is asked for needs in the busiest weeks.
	gfsNodes = 110
	// firstCome is the policy that serves each class first come, first served, and evicts lower priorities.
	firstCome = "priority"
)

func gfsExperiment() Experiment {
	return Experiment{
		Name: "gfs", What: "evictions and waiting of spot jobs whose runs are promised to last",
		Paper: "GFS, ASPLOS 2026, abstract", Policies: []string{unitedName, firstCome}, setUp: setUpGFS,
	}
}

// labelled are jobs of which some, drawn job by job, are spot, and the others of high priority.
type labelled struct {
	trace.Source
	seed uint64
}

// Next is the next record, with the priority of its class.
func (l *labelled) Next(r *trace.Record) error {
	err := l.Source.Next(r)
	if err == nil && r.What == trace.TaskSubmitted {
		const stream = 0x6766730000000000 // "gfs": apart from other uses of the seed
		r.Task.Priority = 1
		if rand.New(rand.NewPCG(l.seed, stream^r.Task.Job)).Float64() < gfsSpot { //nolint:gosec // chance is wanted, not secrecy
			r.Task.Priority = 0
		}
	}
	return err
}

// madeUp are jobs somewhat like Philly's, for so long: most have one GPU, and half of them take less than a quarter of an hour.
func madeUp(seed uint64, nodes int, length cluster.Time) trace.Source {
	random := rand.New(rand.NewPCG(seed, 0x9f5)) //nolint:gosec // chance is wanted, not secrecy
	o := philly.Default()
	o.Nodes, o.Loose = nodes, true
	l := gpujobs.NewList(false)
	for at := cluster.Time(0); at < length; at += cluster.Time(random.ExpFloat64() * float64(4*cluster.Minute)) {
		gpus := [...]int64{1, 1, 1, 1, 1, 2, 4, 8, 8, 16}[random.IntN(10)]
		work := cluster.Time(math.Exp(2*random.NormFloat64()) * float64(15*cluster.Minute))
		l.Add(gpujobs.Job{At: at, User: fmt.Sprintf("team-%d", random.IntN(5)), Pods: o.Whole(gpujobs.Pods{GPU: gpus * gpujobs.Device, Work: min(work, cluster.Day)})})
	}
	return l.Source(o)
}

// gfsJobs is what the experiment runs on.
func gfsJobs(o *Options) (open func() (trace.Source, error), p *plan, err error) {
	file := filepath.Join(o.Data, "philly", "philly.csv.gz")
	if o.Data == "" || o.Size == tiny {
		nodes, length := of(o.Size, gfsNodes, 20, 4), of(o.Size, 60*cluster.Day, 20*cluster.Day, 2*cluster.Day)
		p = &plan{data: fmt.Sprintf("generator: jobs of GPUs for %v on %d nodes of 8 GPUs, seed %d", length, nodes, o.Seed)}
		return func() (trace.Source, error) { return &labelled{madeUp(o.Seed, nodes, length), o.Seed}, nil }, p, nil
	}
	if _, err := os.Stat(file); err != nil {
		return nil, nil, fmt.Errorf("the data: %w; the folder philly holds the jobs of Microsoft's Philly", err)
	}
	p = &plan{data: fmt.Sprintf("Microsoft's Philly trace of 2017 on %d nodes of 8 GPUs, spot labels drawn with the seed %d", gfsNodes, o.Seed), real: true}
	return func() (trace.Source, error) {
		options := philly.Default()
		options.Nodes, options.Loose = gfsNodes, true
		src, err := philly.Open(file, options)
		if err != nil {
			return nil, err
		}
		return &labelled{src, o.Seed}, nil
	}, p, nil
}

// setUpGFS runs both policies at promises of several lengths.
func setUpGFS(o *Options) (*plan, error) {
	open, p, err := gfsJobs(o)
	if err != nil {
		return nil, err
	}
	p.facts = []string{
		fmt.Sprintf("%.0f %% of the jobs are spot, drawn job by job; the others come first, and may evict them when their runs have lasted as promised. What an evicted run had done is lost.", 100*gfsSpot),
		"First come is " + firstCome + ": each class in the order of submission, and who has no place evicts a lower priority. Both policies keep the same promises, and nothing is foreseen: GFS foresees what jobs of high priority will ask for.",
		unitedName + " moves nobody, as a move of a job that trains is an eviction; the pods of a job are placed each by itself, as first come evicts nobody for a gang.",
		"What GFS published is beside it for orientation alone: other jobs, real labels, another cluster, and another rival.",
	}
	for _, least := range of(o.Size, []cluster.Time{10 * cluster.Minute, cluster.Hour, 4 * cluster.Hour}, []cluster.Time{cluster.Hour}, []cluster.Time{10 * cluster.Minute, cluster.Hour}) {
		table := class.Spot()
		table.Classes[1].LeastRun = least
		for _, name := range o.Policies {
			by, err := policies.Find(name)
			if err != nil {
				return nil, err
			}
			var options policies.Options
			if name == unitedName {
				options.Own = policies.Settings{"without": "moves"}
			}
			p.cases = append(p.cases, simulation{
				options: options,
				line:    name, at: report.Number(least / cluster.Minute), policy: name, open: open, source: "jobs of GPUs", planner: sim.Zero, trigger: by.When,
				until:   of(o.Size, 0, 45*cluster.Day, 0),
				promise: &promise{classes: table, table: "spot, least run " + least.String(), world: sim.World{Seed: o.Seed}},
			})
		}
	}
	p.conclude = concludeGFS
	return p, nil
}

// spotOf is what became of the spot jobs of a run.
func spotOf(o *outcome) report.Lasting {
	if l := o.run.Classes["spot"].Lasting; l != nil {
		return *l
	}
	return report.Lasting{}
}

// evictedRuns is the share of the runs of spot jobs that were evicted.
func evictedRuns(o *outcome) float64 {
	evicted := spotOf(o).EvictedRuns
	return float64(report.Ratio(float64(evicted), float64(evicted+o.run.Classes["spot"].Placed)))
}

// concludeGFS holds the first policy against the other, promise by promise.
func concludeGFS(all []outcome, r *report.Reproduction) {
	value := func(of func(*outcome) float64) func(*outcome) (report.Number, bool) {
		return func(o *outcome) (report.Number, bool) { return report.Number(of(o)), true }
	}
	waited := func(o *outcome) float64 { return float64(spotOf(o).MeanWait) }
	axis := report.Axis{Label: "promised, in minutes", Unit: report.InUnits, Log: true}
	r.Figures = []report.Figure{
		{Title: "Runs of spot jobs that were evicted", X: axis, Y: report.Axis{Label: "share of the runs", Unit: report.InShares}, Lines: points(all, value(evictedRuns))},
		{Title: "How long spot jobs waited", X: axis, Y: report.Axis{Label: "mean of all times together", Unit: report.InSeconds}, Lines: points(all, value(waited))},
	}
	const orientation = "published of GFS over first come; not comparable"
	for _, o := range all {
		if o.policy != unitedName {
			continue
		}
		other := &all[slices.IndexFunc(all, func(c outcome) bool { return c.at == o.at && c.policy == firstCome })]
		promise := fmt.Sprintf(", promised %.0f min", float64(o.at))
		for _, row := range []struct {
			what      string
			of        func(*outcome) float64
			published report.Number
		}{{evictedRow, evictedRuns, 1 - 0.33}, {waitedRow, waited, 1 - 0.441}} {
			ours, theirs := row.of(&o), row.of(other)
			r.Compared = append(r.Compared,
				report.Compared{What: row.what + ", " + unitedName + " over first come" + promise, Unit: report.InFactors, Published: new(row.published), Ours: known(report.Ratio(ours, theirs), theirs > 0), Note: orientation},
				report.Compared{What: row.what + ", " + unitedName + promise, Unit: unitOf(row.what), Ours: new(report.Number(ours))},
				report.Compared{What: row.what + ", first come" + promise, Unit: unitOf(row.what), Ours: new(report.Number(theirs))},
			)
		}
		for _, c := range []*outcome{&o, other} {
			r.Compared = append(r.Compared,
				report.Compared{What: "runs evicted before they had lasted, " + c.policy + promise, Unit: report.InEvents, Ours: new(report.Number(spotOf(c).EvictedEarly))},
				report.Compared{What: "GPU hours of spot jobs lost, " + c.policy + promise, Unit: report.InUnits, Ours: new(lostGPUs(c))},
				report.Compared{What: "jobs of high priority wait for their first place, " + c.policy + promise, Unit: report.InSeconds, Ours: new(report.Number(meanSeconds(c.run.Classes["hp"].PlacementLatency)))},
			)
		}
	}
}

// The rows that have a published number.
const (
	evictedRow = "evicted runs of spot jobs"
	waitedRow  = "waiting of spot jobs"
)

// lostGPUs is what runs of spot jobs had done when they were evicted, in hours of a GPU.
func lostGPUs(o *outcome) report.Number {
	if s := o.run.Classes["spot"].Shortfall; s != nil {
		return s.Lost["gpu"]
	}
	return 0
}

// unitOf is the unit of what is compared.
func unitOf(what string) report.Unit {
	if what == evictedRow {
		return report.InShares
	}
	return report.InSeconds
}
