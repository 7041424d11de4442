package experiment

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gavel"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// This file is jobs on GPUs of three kinds, on which they are not equally fast, after Gavel (Narayanan et al., OSDI 2020): its traces
// continuous-single and continuous-multiple, drawn as its code draws them from a table of throughputs, and how long jobs take, by how many come in
// an hour. Policies that know nothing of kinds are held against those that prefer for each job the nodes on which it is fast.
//
// Gavel's simulator knows no servers: the GPUs of a kind are one pool, of which a job has some. So there is one node a kind here.

const (
	// gavelGPUs is how many GPUs of each kind there are.
	gavelGPUs = 36
	// gavelFirst and gavelLast are the jobs whose times count, and gavelJobs how many come in all: others come while those are there.
	gavelFirst, gavelLast, gavelJobs = 4000, 5000, 6500
	gavelSeeds                       = 3
	// mostGavelGPUs is how many GPUs the largest jobs have; others have a half, a quarter or an eighth.
	mostGavelGPUs = 8
)

// gavelKinds are the kinds of GPU. Work is counted by the first.
func gavelKinds() []string { return []string{"v100", "p100", "k80"} }

func gavelExperiment() Experiment {
	return Experiment{
		Name: "gavel", What: "how long jobs take on three kinds of GPUs, known to policies and not", Paper: "Gavel, OSDI 2020, figures of FIFO",
		Policies: []string{"first-fit", "random", "kube-scheduler", unitedName}, setUp: setUpGavel,
	}
}

// gavelVariant is a policy, and whether jobs prefer nodes on which they are faster.
type gavelVariant struct {
	line, policy string
	prefers      bool
	without      string // mechanisms of the policy
}

// gavelVariants are those that are run. The first is held against the agnostic FIFO that was published, the last against the aware one.
func gavelVariants() []gavelVariant {
	return []gavelVariant{
		{line: "first-fit, agnostic", policy: "first-fit"},
		{line: "random, agnostic", policy: "random"},
		{line: unitedName + ", agnostic", policy: unitedName},
		{line: "kube-scheduler, aware", policy: "kube-scheduler", prefers: true},
		{line: unitedName + " without moves, aware", policy: unitedName, prefers: true, without: "moves"},
		{line: unitedName + ", aware", policy: unitedName, prefers: true},
	}
}

// gavelPoint is a published point: jobs an hour, and hours that they took in the mean, under FIFO that knows nothing of kinds, and under
// Gavel's.
type gavelPoint struct{ rate, agnostic, aware float64 }

// gavelTrace is one of the two traces, with what its authors' notebooks print (stanford-futuredata/gavel at c4fa400, continuous_jobs.ipynb and
// continuous_jobs_multigpu.ipynb: fifo and fifo_perf). Rates beyond, at which times grow without end, are left out.
type gavelTrace struct {
	name      string
	several   bool // jobs have several GPUs
	published []gavelPoint
}

func gavelTraces() []gavelTrace {
	return []gavelTrace{
		{name: "single", published: []gavelPoint{
			{0.4, 17.58, 15.31},
			{0.8, 17.64, 15.38},
			{1.2, 17.70, 15.42},
			{1.6, 17.71, 15.43},
			{2.0, 18.32, 15.45},
			{2.4, 18.63, 15.52},
			{2.8, 18.62, 15.68},
			{3.2, 22.21, 15.95},
			{3.6, 24.25, 16.39},
			{4.0, 25.38, 17.08},
			{4.4, 44.28, 18.19},
			{4.8, 99.19, 22.24},
			{5.2, 151.67, 56.69},
		}},
		{name: "multiple", several: true, published: []gavelPoint{
			{0.2, 18.56, 16.91},
			{0.4, 18.61, 16.96},
			{0.6, 18.95, 17.01},
			{0.8, 19.21, 17.10},
			{1.0, 19.92, 17.34},
			{1.2, 22.20, 17.65},
			{1.4, 23.70, 18.29},
			{1.6, 30.82, 20.02},
			{1.8, 31.54, 23.71},
			{2.0, 37.56, 27.68},
			{2.2, 65.45, 33.05},
			{2.4, 129.27, 43.94},
			{2.6, 304.76, 93.60},
		}},
	}
}

// gavelRuns are what came of the runs.
type gavelRuns struct {
	table  gavel.Table
	traces []gavelTrace
	seeds  uint64
	shrink int64 // by how much the cluster, the rate and the jobs are smaller than published
	hours  map[gavelRun]float64
}

// gavelRun is a trace at a rate under a variant; its hours are summed over seeds.
type gavelRun struct {
	trace   string
	rate    float64
	variant string
}

func setUpGavel(o *Options) (*plan, error) {
	s := &gavelRuns{traces: gavelTraces(), seeds: of[uint64](o.Size, gavelSeeds, 1, 1), shrink: of[int64](o.Size, 1, 4, 12), hours: map[gavelRun]float64{}, table: madeUpTable()}
	p := &plan{facts: []string{
		"Jobs of the table's types come at random; 80 % take 10^1.5 to 10^3 minutes on V100s, the others up to 10^4. In the trace multiple 70 % have one GPU, 10 % two, 15 % four and 5 % eight. Counted is the mean time from submission to the end, of jobs 4,000 to 4,999.",
		"Aware: jobs prefer nodes by how fast they are there. Agnostic: nothing says it. Work that a job has done is kept where it moves, and deciding takes no time.",
		"Published are the numbers of FIFO in the authors' notebooks. Gavel assigns all jobs anew every six minutes and whenever one comes or ends, at no cost in its simulation; here a job stays, but under " + unitedName + ", which moves few. In Gavel nobody passes the first of the queue; here who fits passes who does not, which matters in the trace multiple alone.",
		"Their agnostic FIFO draws a kind by chance and then takes another: V100 while there are any, else P100, else K80; first-fit does that, random what was meant. Jobs are drawn alike, but by other random numbers.",
		"Of the paper's words, \"up to 3.5×\" is of all its policies. Those that share GPUs over time (LAS, finish-time fairness) have nothing here to be held against.",
	}}
	where := "types of jobs and throughputs made up, as no table of throughputs is at hand"
	if o.Data != "" && o.Size == Full {
		file := filepath.Join(o.Data, "gavel", "simulation_throughputs.json")
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("the data: %w; the folder gavel holds Gavel's table of throughputs, simulation_throughputs.json of stanford-futuredata/gavel", err)
		}
		table, err := gavel.ReadTable(file, gavelKinds()...)
		if err != nil {
			return nil, err
		}
		for gpus := int64(1); gpus <= mostGavelGPUs; gpus *= 2 {
			if len(table.Types(gavelKinds()[0], gpus)) == 0 {
				return nil, fmt.Errorf("the data: %s has no type of job with %d GPUs on %s, want some with 1, 2, 4 and 8", file, gpus, gavelKinds()[0])
			}
		}
		s.table, p.real, where = table, true, "Gavel's table of throughputs"
	}
	gpus := gavelGPUs / s.shrink
	p.data = fmt.Sprintf("jobs drawn as by Gavel, with %s, on %d V100, %d P100 and %d K80; seeds %d to %d", where, gpus, gpus, gpus, o.Seed, o.Seed+s.seeds-1)
	for i := range s.traces {
		t := &s.traces[i]
		if every := of(o.Size, 1, 3, 12); every > 1 { // the rates at which policies differ most are the last
			t.published = slices.DeleteFunc(slices.Clone(t.published), func(p gavelPoint) bool {
				return (len(t.published)-2-slices.Index(t.published, p))%every != 0
			})
		}
		for _, point := range t.published {
			for _, v := range gavelVariants() {
				for seed := o.Seed; seed < o.Seed+s.seeds; seed++ {
					p.steps = append(p.steps, step{fmt.Sprintf("%s, %.1f jobs an hour, %s, seed %d", t.name, point.rate, v.line, seed), func() error {
						return s.run(t, point.rate, v, seed)
					}})
				}
			}
		}
	}
	p.conclude = func(_ []outcome, r *report.Reproduction) { s.conclude(r) }
	return p, nil
}

// madeUpTable is throughputs somewhat like those that were measured: most types are fastest on a V100, one on a P100, and two have one GPU only.
func madeUpTable() gavel.Table {
	table := gavel.Table{}
	for at, kind := range gavelKinds() {
		table[kind] = map[gavel.Setup]float64{}
		for name, steps := range map[string][3]float64{
			"image": {10, 7, 1}, "language": {60, 50, 15}, "translation": {8, 5, 2}, "recommendation": {5, 11, 7}, "game": {7, 5.5, 3.5},
		} {
			for gpus := int64(1); gpus <= 8; gpus *= 2 {
				if gpus == 1 || name != "recommendation" && name != "game" {
					table[kind][gavel.Setup{Type: name, GPUs: gpus}] = steps[at] * math.Sqrt(float64(gpus))
				}
			}
		}
	}
	return table
}

// draw are the nodes and jobs of a trace, as Gavel's generate_job draws them.
func (s *gavelRuns) draw(t *gavelTrace, rate float64, prefers bool, seed uint64) *recorded {
	l := &recorded{kinds: []cluster.Kind{{Name: "gpu", Unit: "GPUs", PerUnit: gpujobs.Device, Devices: true}}}
	for i, kind := range gavelKinds() {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{
			ID: uint64(i + 1), Name: kind, Capacity: cluster.Vector{gavelGPUs / s.shrink * gpujobs.Device}, Labels: []cluster.Label{{Key: gpujobs.ModelLabel, Value: kind}},
		}})
	}
	random := rand.New(rand.NewPCG(seed, 0x6761)) //nolint:gosec // no secret
	types := map[int64][]string{}
	for gpus := int64(1); gpus <= mostGavelGPUs; gpus *= 2 {
		types[gpus] = s.table.Types(gavelKinds()[0], gpus)
	}
	between := float64(cluster.Hour) / rate * float64(s.shrink)
	at := 0.0
	for job := range uint64(gavelJobs / s.shrink) {
		gpus, minutes := gavelScale(random), gavelMinutes(random)
		if !t.several || gpus > gavelGPUs/s.shrink {
			gpus = 1
		}
		of := types[gpus]
		pace := s.table.Pace(gavel.Setup{Type: of[random.IntN(len(of))], GPUs: gpus}, gavelKinds())
		task := trace.Task{
			Job: job, JobTasks: 1, Demand: cluster.Vector{gpus * gpujobs.Device}, Work: cluster.Time(minutes * float64(cluster.Minute)), Speeds: pace.Speeds,
		}
		if pace.Model != "" {
			task.Requirements = []cluster.Requirement{{Key: gpujobs.ModelLabel, Op: cluster.Equal, Value: pace.Model}}
		}
		if prefers {
			task.Prefers = trace.FastFirst(pace.Speeds)
		}
		l.records = append(l.records, trace.Record{Time: cluster.Time(at), What: trace.TaskSubmitted, Task: task})
		at += float64(random.ExpFloat64() * between) // one rounding an operation, on every machine
	}
	return l
}

// gavelScale is how many GPUs a job has.
func gavelScale(random *rand.Rand) int64 {
	switch r := random.Float64(); {
	case r < 0.7:
		return 1
	case r < 0.8:
		return 2
	case r < 0.95:
		return 4
	}
	return 8
}

// gavelMinutes is how long a job takes on V100s.
func gavelMinutes(random *rand.Rand) float64 {
	from, to := 1.5, 3.0
	if random.Float64() >= 0.8 {
		from, to = 3, 4
	}
	return math.Pow(10, from+float64((to-from)*random.Float64()))
}

// run simulates, and adds how many hours the jobs took that count.
func (s *gavelRuns) run(t *gavelTrace, rate float64, v gavelVariant, seed uint64) error {
	options := policies.Options{Seed: seed, Ties: policies.Lowest} // V100 is the first node
	if v.without != "" {
		options.Own = policies.Settings{"without": v.without}
	}
	by, err := policies.Find(v.policy)
	if err != nil {
		return err
	}
	policy, err := policies.New(v.policy, options)
	if err != nil {
		return err
	}
	var tasks bytes.Buffer
	_, err = sim.Run(sim.Config{
		Source: s.draw(t, rate, v.prefers, seed), Lanes: []sched.Lane{{Name: v.policy, Policy: policy, When: by.When}},
		Classes: gavelClasses(), World: sim.World{Seed: seed}, Planner: sim.Planner{Time: sim.Zero}, Output: sim.Output{Tasks: &tasks},
	})
	if err != nil {
		return err
	}
	hours, err := meanHours(&tasks, gavelFirst/uint64(s.shrink), gavelLast/uint64(s.shrink))
	s.hours[gavelRun{t.name, rate, v.line}] += hours
	return err
}

// gavelClasses promises nothing, so that nobody is evicted for who waits; and a run that moves goes on where it was, which policies see.
func gavelClasses() *class.Table {
	job := cluster.Class{Name: "job", KeepsWork: true}
	return &class.Table{Credits: class.Credits(), Classes: []class.Class{{Class: job, From: math.MinInt32, Price: class.PriceOf(&job)}}}
}

// meanHours is how long jobs of these numbers took from submission to their end, by lines of tasks.
func meanHours(tasks *bytes.Buffer, from, to uint64) (float64, error) {
	header := strings.Split(sim.TasksHeader, ",")
	job, submit, end, how := slices.Index(header, "job"), slices.Index(header, "submit_s"), slices.Index(header, "end_s"), slices.Index(header, "end")
	lines, err := csv.NewReader(tasks).ReadAll()
	if err != nil {
		return 0, err
	}
	sum, count := 0.0, uint64(0)
	for _, line := range lines[1:] {
		number, err := strconv.ParseUint(line[job], 10, 64)
		submitted, err1 := strconv.ParseFloat(line[submit], 64)
		ended, err2 := strconv.ParseFloat(line[end], 64)
		if err := errors.Join(err, err1, err2); err != nil {
			return 0, err
		}
		if number >= from && number < to && line[how] == "finish" {
			sum, count = sum+ended-submitted, count+1
		}
	}
	if count != to-from {
		return 0, fmt.Errorf("of the jobs %d to %d only %d have ended", from, to, count)
	}
	return sum / float64(count) / cluster.Hour.Seconds(), nil
}

// mean is how many hours jobs took, over seeds.
func (s *gavelRuns) mean(t *gavelTrace, rate float64, v gavelVariant) float64 {
	return s.hours[gavelRun{t.name, rate, v.line}] / float64(s.seeds)
}

// conclude puts what was published beside ours, rate by rate.
func (s *gavelRuns) conclude(r *report.Reproduction) {
	seconds := func(hours float64) report.Number { return report.Number(hours * cluster.Hour.Seconds()) }
	all := gavelVariants()
	for i := range s.traces {
		t := &s.traces[i]
		f := report.Figure{
			Title: "How long jobs take, trace " + t.name, X: report.Axis{Label: "jobs an hour on 108 GPUs", Unit: report.InUnits}, Y: report.Axis{Label: "mean time from submission to the end", Unit: report.InSeconds},
			Lines: []report.Line{{Name: "published, FIFO, agnostic"}, {Name: "published, FIFO of Gavel, aware"}},
		}
		for _, v := range all {
			f.Lines = append(f.Lines, report.Line{Name: v.line})
		}
		theirs, ours := report.Number(0), report.Number(0)
		for _, p := range t.published {
			values := []report.Number{seconds(p.agnostic), seconds(p.aware)}
			for _, v := range all {
				values = append(values, seconds(s.mean(t, p.rate, v)))
			}
			for at, value := range values {
				f.Lines[at].Points = append(f.Lines[at].Points, [2]report.Number{report.Number(p.rate), value})
			}
			agnostic, aware := values[2], values[len(values)-1]
			at := fmt.Sprintf(", %s, %.1f jobs an hour", t.name, p.rate)
			r.Compared = append(r.Compared,
				report.Compared{What: "time of jobs, agnostic" + at, Unit: report.InSeconds, Published: &values[0], Ours: &agnostic, Note: "FIFO; ours " + all[0].line},
				report.Compared{What: "time of jobs, aware" + at, Unit: report.InSeconds, Published: &values[1], Ours: &aware, Note: "FIFO of Gavel; ours " + all[len(all)-1].line},
			)
			theirs, ours = max(theirs, values[0]/values[1]), max(ours, agnostic/aware)
		}
		r.Compared = append(r.Compared, report.Compared{
			What: "agnostic over aware, at most, " + t.name, Unit: report.InFactors, Published: &theirs, Ours: &ours, Note: "the rate at which that is need not be the same",
		})
		r.Figures = append(r.Figures, f)
	}
}
