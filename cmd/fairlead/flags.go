package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
)

// simulateFlags are the flags of simulate as they were typed.
type simulateFlags struct {
	cluster, workload   string
	beside              string
	data                string
	policies, seeds     string
	longRunning         string
	until               string
	speedup             float64
	overcommit          string
	ties                string
	solver              string
	migrations          int
	initial             string
	overheads           string
	evicted             string
	heartbeat, watchdog string
	planner             string
	usage               string
	faults              string
	classes, tiers      string
	format              string
	placements, tasks   string
	invoices            string
	report              string
	record              string
	lenient             bool
	parallel            int
}

func (f *simulateFlags) register(c *cobra.Command) {
	f.registerWorld(c)
	s := c.Flags()
	s.StringVar(&f.policies, "policy", defaultPolicies, "policies to compare, with commas between them; see 'fairlead policies'")
	s.StringVar(&f.longRunning, "long-running", "", "`POLICY` of the family constraint that places long-running applications in a lane of their own, beside each of --policy (default: those place them too)")
	s.StringVar(&f.seeds, "seeds", "1", "seeds to run each policy with, such as 7 or 1-10 or 1,5,9")
	s.StringVar(&f.until, "until", "", "`time` at which to stop, such as 90m or 29d (default: "+defaultUntil+" for sources without end, else the end)")
	s.StringVarP(&f.format, "output", "o", "table", "table, json or csv")
	s.StringVar(&f.placements, "placements", "", "write a line per decision to `FILE`, in the columns of Google's task_events; "+ofSeveral)
	s.StringVar(&f.tasks, "tasks", "", "write a line per task to `FILE`; "+ofSeveral)
	s.StringVar(&f.invoices, "invoices", "", "write what each user owes to `FILE`, item by item; "+ofSeveral)
	s.StringVar(&f.record, "record", "", "record the run in the folder `DIR`, so that --workload recording:DIR replays it, races of solvers included; where there are several runs, each has a folder of its own, DIR.POLICY.SEED")
	s.StringVar(&f.report, "report", "", "draw the results on a page of HTML, `FILE`")
	s.IntVar(&f.parallel, "parallel", 0, "how many runs go on at the same time (default: one for each processor)")
	complete(c, "output", "table", "json", "csv")
	complete(c, "policy", policies.Names()...)
	complete(c, "long-running", policies.NamesOf(policies.Constraint)...)
}

// ofSeveral says what outputPath does.
const ofSeveral = "where there are several runs, each has a file of its own, FILE.POLICY.SEED, such as a.kube.1.csv where FILE is a.csv"

// registerWorld registers the flags that say what world it is that tasks are placed in.
func (f *simulateFlags) registerWorld(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.cluster, "cluster", "", "`SRC` of the nodes (default: the workload's, or "+defaultSource+")")
	s.StringVar(&f.workload, "workload", "", "`SRC` of the tasks (default: the cluster's)")
	s.StringVar(&f.beside, "beside", "", "`SRC` of further tasks, which are submitted beside the workload's (default: none)")
	s.StringVar(&f.data, "data", "", dataHelp+" (default: what the source says)")
	s.Float64Var(&f.speedup, "speedup", 1, "divide all times of the source by this")
	s.StringVar(&f.overcommit, "overcommit", "", "multiply capacities by kind, such as cpu=1.6,memory=2")
	s.StringVar(&f.ties, "tie-break", "fixed", "among equally good nodes take fixed (one random order a run), lowest or random")
	s.StringVar(&f.solver, "solver", "", "`NAME` of what solves the flow, for policies of that family: "+strings.Join(policies.Solvers(), ", ")+" (default: "+policies.Automatic+")")
	s.IntVar(&f.migrations, "migrations", 0, "running tasks that a round may move to another node, for policies that move any: quincy")
	s.StringVar(&f.initial, "initial", "keep", "what runs at the start: keep it where it is, or place it anew")
	s.StringVar(&f.overheads, "overheads", "", "how long a run takes to begin: hot=2s,cold=8s,first=0s (first is for the first run of a task, where that differs from cold), or a `FILE` of lines 'hot SECONDS', 'cold SECONDS', 'first SECONDS' or 'SECONDS' to draw from")
	s.StringVar(&f.evicted, "evicted-work", "lost", "what an evicted task has done is lost or kept")
	s.StringVar(&f.heartbeat, "heartbeat", "", "gather events and plan at multiples of this `time`; 0s plans at once (default: 10s for the family constraint, 0s for others)")
	s.StringVar(&f.watchdog, "watchdog", "", "plan at least this often while tasks wait; 0s plans only when something has happened (default: 30s for qos, 0s for others)")
	s.StringVar(&f.planner, "planner-time", "ticks", "what planning costs in the simulation: ticks (the same on every machine), zero, or measured")
	s.StringVar(&f.usage, "usage", "", "let nodes measure what is in use, for policies that look at it: a list such as every=30s,least=100,most=1000,noise=50 (a run uses from least to most of what it asks for, and measurements are off by up to noise, in thousandths)")
	s.StringVar(&f.faults, "faults", "none", "none, hostile, or a list such as node-loss=10d,down=20m,bind-refused=20,bind-late=10,evict-late=500,evict-refused=50,grace=30s,twice=50,late=50,foreign=5m (times between faults, or chances in thousandths)")
	s.StringVar(&f.classes, "classes", "google", "`TABLE` of what was promised to whom: "+strings.Join(class.PresetNames(), ", ")+", or a file; see 'fairlead classes'")
	s.StringVar(&f.tiers, "tiers", "", "give a tier to each node that has none, in the order in which they join: `HIGH/AVERAGE/LOW`, such as 5/5/5, and so on in turn")
	s.BoolVar(&f.lenient, "lenient", false, "count broken lines of the source and leave them out")
	complete(c, "tie-break", policies.TieBreaks()...)
	complete(c, "solver", policies.Solvers()...)
	complete(c, "data", "hdfs", "bounded", "uniform", "skewed")
	complete(c, "initial", "keep", "place")
	complete(c, "evicted-work", "lost", "kept")
	complete(c, "planner-time", "ticks", "zero", "measured")
	complete(c, "faults", "none", "hostile")
	_ = c.RegisterFlagCompletionFunc("classes", cobra.FixedCompletions(class.PresetNames(), cobra.ShellCompDirectiveDefault)) // or a file
}

// complete lets a shell complete the values of a flag.
func complete(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// A speed-up within these leaves times that can be told from each other, and
// that do not overflow.
const (
	minSpeedup = 1e-3
	maxSpeedup = 1e6
)

// plan turns the flags into a simulation, or says what is wrong with each.
func (f *simulateFlags) plan() (*simulation, error) {
	s := &simulation{
		notes: &notePrinter{}, speedup: f.speedup, lenient: f.lenient, placements: f.placements, tasks: f.tasks, invoices: f.invoices, report: f.report, parallel: f.parallel, classes: f.classes,
	}
	var errs []error
	flag := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", name, err))
		}
	}
	f.planSources(s, flag)
	f.planPolicies(s, flag)
	f.planWorld(s, flag)
	var err error
	s.format, err = report.ParseFormat(f.format)
	flag("output", err)
	if !(f.speedup >= minSpeedup && f.speedup <= maxSpeedup) {
		flag("speedup", fmt.Errorf("%g, want a number from %g to %g", f.speedup, minSpeedup, maxSpeedup))
	}
	errs = append(errs, f.checkFiles(s, flag))
	s.record = f.record
	flag("record", s.checkRecord())
	s.heartbeat, err = parseOptionalTime(f.heartbeat)
	flag("heartbeat", err)
	s.watchdog, err = parseOptionalTime(f.watchdog)
	flag("watchdog", err)
	s.config.Planner.Time, err = choose(f.planner, map[string]sim.PlannerTime{"ticks": sim.Ticks, "zero": sim.Zero, "measured": sim.Measured})
	flag("planner-time", err)
	if s.parallel < 0 {
		flag("parallel", fmt.Errorf("%d, want a number from 1", s.parallel))
	}
	if s.parallel == 0 {
		s.parallel = parallelRuns(s.config.Planner.Time)
	}
	s.config.Beside = f.beside != ""
	s.config.Setup = f.setup(s)
	return s, errors.Join(errs...)
}

// setup is what the result says of the flags. The policy, the seed and when it
// ended are each run's own.
func (f *simulateFlags) setup(s *simulation) report.Setup {
	var overcommit []string
	for _, kind := range slices.Sorted(maps.Keys(s.config.Overcommit)) {
		overcommit = append(overcommit, fmt.Sprintf("%s=%g", kind, float64(s.config.Overcommit[kind])/1000))
	}
	classes := f.classes
	if s.config.Classes != nil { // else the plan says what is wrong with it
		classes = unlessDefault(s.config.Classes.Title(f.classes), "google")
	}
	return report.Setup{
		Cluster: s.cluster.text, Workload: s.tasksFrom(), Data: s.data.text, Speedup: report.Number(f.speedup),
		Overcommit: strings.Join(overcommit, ","), Initial: f.initial, Overheads: f.overheads, EvictedWork: f.evicted,
		LongRunning: f.longRunning, PlannerTime: f.planner, Usage: f.usage, Classes: classes, Tiers: f.tiers, Faults: cmp.Or(f.faults, "none"),
	}
}

func (f *simulateFlags) planSources(s *simulation, flag func(string, error)) {
	nodes, tasks := f.cluster, f.workload
	if nodes == "" {
		nodes = tasks
	}
	if nodes == "" {
		nodes = defaultSource
	}
	if tasks == "" {
		tasks = nodes
	}
	var err error
	s.cluster, err = parseSource(nodes)
	if f.cluster == "" {
		flag("workload", err)
	} else {
		flag("cluster", err)
	}
	if tasks != nodes || err == nil {
		s.workload, err = parseSource(tasks)
		flag("workload", err)
	}
	if tasks != nodes {
		s.cluster.role, s.workload.role = nodesAlone, tasksAlone
	}
	if f.beside != "" {
		s.beside, err = parseSource(f.beside)
		s.beside.role = tasksAlone
		flag("beside", err)
	}
	s.data, err = parseData(f.data)
	flag("data", err)
	until := f.until
	// Google's trace says itself when it ends.
	if until == "" && (s.workload.endless() || s.beside.endless() || s.cluster.endless() && s.workload.format != "google2011") {
		until = defaultUntil
	}
	if until != "" {
		s.config.Until, err = parseUntil(until)
		flag("until", err)
	}
}

func (f *simulateFlags) planPolicies(s *simulation, flag func(string, error)) {
	for name := range strings.SplitSeq(f.policies, ",") {
		name = strings.TrimSpace(name)
		if slices.Contains(s.policies, name) {
			flag("policy", fmt.Errorf("%s is named twice", name))
		}
		s.policies = append(s.policies, name)
	}
	var err error
	s.seeds, err = parseSeeds(f.seeds)
	flag("seeds", err)
	s.options.Ties, err = policies.ParseTies(f.ties)
	flag("tie-break", err)
	if f.migrations < 0 {
		flag("migrations", fmt.Errorf("%d, want a number from 0", f.migrations))
	}
	s.options.Solver, s.options.Migrations, s.options.Racer = f.solver, f.migrations, racer
	f.checkFamilies(s, flag)
	if s.longRunning = f.longRunning; s.longRunning != "" {
		may := policies.NamesOf(policies.Constraint)
		p, err := policies.Find(s.longRunning)
		switch {
		case err != nil:
			err = unknown("policy", s.longRunning, may)
		case p.Family != policies.Constraint:
			err = fmt.Errorf("%s is of the family %s, want one of the family %s: %s", s.longRunning, p.Family, policies.Constraint, strings.Join(may, ", "))
		}
		flag("long-running", err)
	}
}

// parseOptionalTime is parseTime of a flag that may be left out: nil then.
func parseOptionalTime(text string) (*cluster.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // left out, and that is fine
	}
	asked, err := parseTime(text)
	return &asked, err
}

// checkFamilies says which policies there are not or cannot do what the flags
// want, and which flags no policy has a use for.
func (f *simulateFlags) checkFamilies(s *simulation, flag func(string, error)) {
	solver := policies.CheckSolver(f.solver)
	flag("solver", solver)
	flow, moves := false, false
	for _, name := range s.policies {
		p, err := policies.Find(name)
		flag("policy", err)
		if err == nil && solver == nil {
			_, refused := policies.New(name, s.options)
			flag("solver", refused) // no other option can be one that it refuses
		}
		flow = flow || err != nil || p.Family == policies.Flow
		moves = moves || err != nil || p.Moves
	}
	if f.migrations > 0 && !moves {
		flag("migrations", fmt.Errorf("none of the policies %s moves running tasks; quincy does", strings.Join(s.policies, ", ")))
	}
	if flow {
		return
	}
	useless := fmt.Errorf("none of the policies %s is of the flow family; 'fairlead policies' says which are", strings.Join(s.policies, ", "))
	if f.solver != "" && solver == nil {
		flag("solver", useless)
	}
}

func (f *simulateFlags) planWorld(s *simulation, flag func(string, error)) {
	var err error
	s.config.Overcommit, err = parseOvercommit(f.overcommit)
	flag("overcommit", err)
	s.config.Initial, err = choose(f.initial, map[string]sim.Initial{"keep": sim.Keep, "place": sim.PlaceAnew})
	flag("initial", err)
	s.config.World.KeepWork, err = choose(f.evicted, map[string]bool{"lost": false, "kept": true})
	flag("evicted-work", err)
	s.config.World.Overheads, err = parseOverheads(f.overheads)
	flag("overheads", err)
	s.config.World.Usage, err = parseUsage(f.usage)
	flag("usage", err)
	s.config.World.Faults, err = parseFaults(f.faults)
	flag("faults", err)
	s.config.Classes, err = class.Load(f.classes)
	flag("classes", err)
	s.tiers, err = parseTiers(f.tiers)
	flag("tiers", err)
}

// checkFiles says whether an output, of any run, would replace what is read or an output
// of another flag.
func (f *simulateFlags) checkFiles(s *simulation, flag func(string, error)) error {
	inputs := []named{namedSource("beside", s.beside)}
	if f.cluster != "" {
		inputs = append(inputs, namedSource("cluster", s.cluster))
	}
	if f.workload != "" {
		inputs = append(inputs, namedSource("workload", s.workload))
	}
	if f.overheads != "" && !strings.Contains(f.overheads, "=") {
		inputs = append(inputs, named{"overheads", f.overheads})
	}
	if !slices.Contains(class.PresetNames(), f.classes) {
		inputs = append(inputs, named{"classes", f.classes})
	}
	var outputs []named
	for _, o := range []named{{"placements", f.placements}, {"tasks", f.tasks}, {"invoices", f.invoices}, {"record", f.record}, {"report", f.report}} {
		if o.path == "-" {
			flag(o.flag, errors.New("want a file; the standard output has the results"))
		}
		outputs = append(outputs, o)
		for _, j := range s.jobs() {
			if o.path != "" && o.path != "-" && o.flag != "report" {
				outputs = append(outputs, named{o.flag, s.outputPath(o.path, j)})
			}
		}
	}
	return checkOutputs(inputs, outputs)
}

// choose returns the value of that name.
func choose[T any](name string, values map[string]T) (T, error) {
	v, ok := values[name]
	if !ok {
		var names []string
		for n := range values {
			names = append(names, n)
		}
		return v, unknown("value", name, sorted(names))
	}
	return v, nil
}

// pairs reads a list such as the example, in which each key stands once.
func pairs(text, example string, each func(key, value string) error) error {
	if text == "" {
		return nil
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || key == "" || value == "" {
			return fmt.Errorf("%q, want a list such as %s", text, example)
		}
		if seen[key] {
			return fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		if err := each(key, value); err != nil {
			return err
		}
	}
	return nil
}

// parseOvercommit reads factors by kind, and returns them in thousandths.
func parseOvercommit(text string) (map[string]int64, error) {
	factors := map[string]int64{}
	err := pairs(text, "cpu=1.6,memory=2", func(kind, value string) error {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0.001 && v <= 1e6) {
			return fmt.Errorf("%s=%s, want a factor from 0.001 to 1000000, such as 1.6", kind, value)
		}
		factors[kind] = int64(math.Round(v * 1000))
		return nil
	})
	return factors, err
}

// parseOverheads reads hot=2s,cold=8s, or a file of samples.
func parseOverheads(text string) (sim.Overheads, error) {
	var o sim.Overheads
	if !strings.Contains(text, "=") && text != "" {
		return readOverheads(text)
	}
	err := pairs(text, "hot=2s,cold=8s", func(key, value string) error {
		t, err := parseTime(value)
		if err != nil {
			return err
		}
		return o.Add(key, t)
	})
	return o, err
}

// readOverheads reads a file with one sample a line.
func readOverheads(path string) (o sim.Overheads, err error) {
	file, err := os.Open(path)
	if err != nil {
		return o, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		seconds, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil || !(seconds >= 0 && seconds <= 1e9) || len(fields) > 2 {
			return o, fmt.Errorf("%s:%d: want 'hot SECONDS', 'cold SECONDS' or 'SECONDS', got %q", path, number, lines.Text())
		}
		keys := []string{"hot", "cold"}
		if len(fields) == 2 {
			keys = fields[:1]
		}
		for _, key := range keys {
			if err := o.Add(key, cluster.Time(math.Round(seconds*1e6))); err != nil {
				return o, fmt.Errorf("%s:%d: %w", path, number, err)
			}
		}
	}
	return o, lines.Err()
}

// parseFaults reads none, hostile, or a list of faults.
func parseFaults(text string) (sim.Faults, error) {
	switch text {
	case "none", "":
		return sim.Faults{}, nil
	case "hostile":
		return sim.Hostile(), nil
	}
	var f sim.Faults
	times := map[string]*cluster.Time{"node-loss": &f.NodeLoss, "down": &f.Down, "grace": &f.Grace, "foreign": &f.Foreign}
	chances := map[string]*int{"bind-refused": &f.BindRefused, "bind-late": &f.BindLate, "evict-late": &f.EvictLate, "evict-refused": &f.EvictRefused, "twice": &f.Twice, "late": &f.Late}
	err := pairs(text, "node-loss=10d,down=20m", func(key, value string) (err error) {
		switch {
		case times[key] != nil:
			*times[key], err = parseTime(value)
		case chances[key] != nil:
			*chances[key], err = strconv.Atoi(value)
			if err != nil || *chances[key] < 0 || *chances[key] > 900 {
				err = fmt.Errorf("%s=%s, want a number from 0 to 900", key, value)
			}
		default:
			err = unknown("fault", key, []string{"node-loss", "down", "grace", "foreign", "bind-refused", "bind-late", "evict-late", "evict-refused", "twice", "late"})
		}
		return err
	})
	if err != nil {
		return f, err
	}
	return f, f.Validate()
}

// parseUsage reads a list such as every=30s,least=100,most=1000,noise=50; what it
// leaves out is as in sim.DefaultUsage.
func parseUsage(text string) (sim.Usage, error) {
	if text == "" {
		return sim.Usage{}, nil
	}
	u := sim.DefaultUsage()
	parts := map[string]*int{"least": &u.Least, "most": &u.Most, "noise": &u.Noise}
	err := pairs(text, "every=30s,noise=50", func(key, value string) (err error) {
		switch {
		case key == "every":
			u.Every, err = parseTime(value)
			if err == nil && u.Every == 0 {
				err = errors.New("every=0, want a time such as 30s")
			}
		case parts[key] != nil:
			if *parts[key], err = strconv.Atoi(value); err != nil {
				err = fmt.Errorf("%s=%s, want thousandths, a whole number", key, value)
			}
		default:
			err = unknown("part", key, []string{"every", "least", "most", "noise"})
		}
		return err
	})
	if err != nil {
		return u, err
	}
	return u, u.Validate()
}

// mostSeeds keeps a slip of the finger from being a run without end.
const mostSeeds = 10_000

// parseSeeds reads numbers with commas between them, and spans such as 1-10.
func parseSeeds(text string) (seeds []uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		low, high, span := strings.Cut(strings.TrimSpace(part), "-")
		if !span {
			high = low
		}
		from, errFrom := strconv.ParseUint(low, 10, 64)
		to, errTo := strconv.ParseUint(high, 10, 64)
		if errFrom != nil || errTo != nil || from > to {
			return nil, fmt.Errorf("%q, want numbers from 0, or spans such as 1-10, with commas between them", text)
		}
		if to-from >= mostSeeds {
			return nil, fmt.Errorf("%s are more than %d seeds", part, mostSeeds)
		}
		for i := range to - from + 1 {
			if slices.Contains(seeds, from+i) {
				return nil, fmt.Errorf("%d is named twice", from+i)
			}
			seeds = append(seeds, from+i)
		}
	}
	return seeds, nil
}
