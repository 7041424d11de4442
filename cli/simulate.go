package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
)

// simulateFlags are flags of simulate that say what is done with its runs.
type simulateFlags struct {
	files
	known     policies.List
	spec      string
	printSpec bool
	format    string
	failOn    []string
	parallel  int
}

// files are what is written of each run; what is empty is not.
type files struct {
	placements, tasks, invoices, timeline string
	report                                string // the page of them all
	record                                string // the folder of recordings
}

// ofSeveral says what outputPath does.
const ofSeveral = "where there are several runs, each has a file of its own, FILE.POLICY.SEED, such as a.kube.1.csv where FILE is a.csv"

// asParquet says what output.as does.
const asParquet = "as CSV, or as Parquet if FILE ends in .parquet; "

func newSimulate(known policies.List) *cobra.Command {
	f := simulateFlags{known: known}
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Replay a workload on a simulated cluster under several policies",
		Long: `Simulate replays a workload on a simulated cluster, once for each policy and
seed, and compares what came of it. Without arguments it makes up a cluster of
1,000 nodes like Google's and two hours of work for it.

--print-spec prints what the flags ask for as one value, a spec, and --spec FILE runs it; a
flag beside that changes what the file says. Files that it names are sought from where the
command runs. Of a recording of a simulated run --print-spec prints what that was made of.

Where nodes and tasks come from, SRC, says 'fairlead help sources'.`,
		Example: `  fairlead simulate
  fairlead simulate --policy kube,swarm-binpack --seeds 1,2,3
  fairlead simulate --cluster google2011:DIR --workload google2011:DIR --overcommit cpu=1.6,memory=2
  fairlead simulate --cluster 'synthetic:google?nodes=12500&tasks-per-node=8' --until 1d --policy kube -o json
  fairlead simulate --data hdfs --report report.html
  fairlead simulate --faults hostile --tasks tasks.csv
  fairlead simulate --workload 'place:lra.yaml?together=10&every=10s' --long-running medea --policy kube --until 2m \
      --beside 'synthetic:google?nodes=500&tasks-per-node=0&cores=32&memory=128'
  fairlead simulate --policy quincy --migrations 8 --data hdfs --print-spec > run.yaml
  fairlead simulate --spec run.yaml --seeds 1-10
  fairlead simulate --workload recording:DIR`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if namesRecording(c) {
				return f.replay(c)
			}
			plan, err := f.plan(c)
			if err != nil {
				return usage(c, err)
			}
			if f.printSpec {
				return f.print(&plan.Spec, c.OutOrStdout())
			}
			ctx, stop := stoppable(c)
			defer stop()
			return plan.run(ctx, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.register(c)
	return c
}

func (f *simulateFlags) register(c *cobra.Command) {
	registerWorld(c, f.known, setup.DefaultPolicies, "policies to compare, with commas between them; see 'fairlead policies'")
	register(c, runFlags())
	s := c.Flags()
	s.StringVar(&f.spec, "spec", "", "run what `FILE` says, as --print-spec prints it; other flags change that")
	s.BoolVar(&f.printSpec, "print-spec", false, "print what would be run, as a file for --spec, and run nothing")
	s.StringVarP(&f.format, "output", "o", "table", "table, json or csv")
	s.StringVar(&f.placements, "placements", "", "write a line per decision to `FILE`, in the columns of Google's task_events; "+asParquet+ofSeveral)
	s.StringVar(&f.tasks, "tasks", "", "write a line per task to `FILE`; "+asParquet+ofSeveral)
	s.StringVar(&f.invoices, "invoices", "", "write what each user owes to `FILE`, item by item; "+asParquet+ofSeveral)
	s.StringVar(&f.timeline, "timeline", "", "draw the run as a trace in `FILE` that ui.perfetto.dev opens: nodes with their tasks, rounds, evictions, waiting; "+ofSeveral+"; of a recording, too")
	s.StringVar(&f.record, "record", "", "record the run in the folder `DIR`, so that --workload recording:DIR replays it, races of solvers included; where there are several runs, each has a folder of its own, DIR.POLICY.SEED")
	s.StringVar(&f.report, "report", "", "draw the results on a page of HTML, `FILE`")
	s.StringSliceVar(&f.failOn, "fail-on", nil, "fail with exit code 3 if a result has any of this `LIST`: pending, unplaced, violations")
	s.IntVar(&f.parallel, "parallel", 0, "how many runs go on at the same time (default: one for each processor)")
	complete(c, "output", "table", "json", "csv")
	complete(c, "long-running", f.known.Of(policies.Constraint).Names()...)
}

// plan turns the flags into a simulation, or says what is wrong with each.
func (f *simulateFlags) plan(c *cobra.Command) (*simulation, error) {
	r := &specReader{flags: c.Flags(), known: f.known, file: f.spec, stdin: c.InOrStdin()}
	spec, err := r.read()
	if err != nil {
		return nil, err
	}
	if f.parallel < 0 {
		r.report("parallel", fmt.Errorf("%d, want a number from 1", f.parallel))
	}
	r.report("fail-on", checkFailOn(f.failOn))
	format, err := report.ParseFormat(f.format)
	r.report("output", errors.Join(err, f.checkPrint()))
	plan, err := r.plan(spec)
	s := &simulation{Plan: plan, files: f.files, format: format, failOn: f.failOn, parallel: f.parallel, notes: &notePrinter{}}
	r.report("record", s.checkRecord())
	for _, o := range s.named() {
		if o.path == "-" {
			r.report(o.flag, errors.New("want a file; the standard output has the results"))
		}
	}
	if err := errors.Join(append(r.wrong, s.checkFiles(c.Flags()))...); err != nil {
		return nil, err
	}
	if s.parallel == 0 {
		s.parallel = parallelRuns(plan.PlannerTime())
	}
	return s, err
}

// checkPrint says why a spec cannot be printed so, if it is to be.
func (f *simulateFlags) checkPrint() error {
	if f.printSpec && f.format == string(report.CSV) {
		return errors.New("csv, but --print-spec prints YAML, or JSON with -o json")
	}
	return nil
}

// print prints the spec, as JSON if that is asked for.
func (f *simulateFlags) print(spec *setup.Spec, out io.Writer) error {
	text, err := spec.YAML()
	if f.format == "json" {
		if text, err = spec.JSON(); err == nil {
			text = append(text, '\n')
		}
	}
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}

// namesRecording reports whether a flag names a recording instead of a source.
func namesRecording(c *cobra.Command) bool {
	return slices.ContainsFunc([]string{"workload", "cluster"}, func(flag string) bool {
		return strings.HasPrefix(c.Flags().Lookup(flag).Value.String(), "recording:")
	})
}

// replay replays a recording instead of simulating, or prints its spec, if the flags allow it.
func (f *simulateFlags) replay(c *cobra.Command) error {
	sensible := []string{"workload", "policy", "timeline"}
	if f.printSpec {
		sensible = []string{"workload", "print-spec", "output"}
	}
	files, wanted, err := recordingFlags(c, sensible...)
	if err != nil {
		return err
	}
	if f.timeline != "" {
		return drawRecording(f.timeline, files)
	}
	if !f.printSpec {
		return replayAll(c.OutOrStdout(), files, replayer{f.known, wanted})
	}
	if _, err := report.ParseFormat(f.format); err != nil {
		return usage(c, fmt.Errorf("--output: %w", err))
	}
	if err := f.checkPrint(); err != nil {
		return usage(c, fmt.Errorf("--output: %w", err))
	}
	spec, err := recordedSpec(files)
	if err != nil {
		return err
	}
	return f.print(spec, c.OutOrStdout())
}

// simulation is what the flags asked for: runs, and what is done with them.
type simulation struct {
	*setup.Plan
	files

	format   report.Format
	failOn   []string
	parallel int
	programs ilp.Solver // of policies that have a use for it; nil: there is none
	notes    *notePrinter
	opened   func(setup.Opened) // is shown the source of each run; nil: nobody looks
	// wholeOnly says that what is known of a run that failed is of no use, and is not shown.
	wholeOnly bool
}

// job is one run: a policy with a seed.
type job struct {
	setup.Run

	result report.Run
	err    error
}

// jobs are the runs to be done, in order.
func (s *simulation) jobs() []*job {
	var jobs []*job
	for _, run := range s.Runs() {
		jobs = append(jobs, &job{Run: run})
	}
	return jobs
}

// knownByThen says, after what stopped a run, what the results of it are.
const knownByThen = "the results above are what was known by then"

// run runs every policy with every seed, and prints the results of all that
// got anywhere.
func (s *simulation) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := s.check(); err != nil {
		return err
	}
	var drawn *output
	if s.report != "" { // said before long runs, not after them
		var err error
		if drawn, err = createOutput(s.report, stdout); err != nil {
			return err
		}
	}
	s.compile(ctx, stderr)
	jobs := s.jobs()
	s.runAll(ctx, jobs, s.parallel, nil, stderr)
	err := s.conclude(jobs, stdout, drawn)
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; %s", errInterrupted, knownByThen)
	}
	return err
}

// check says, before the first run, which files cannot be written.
func (s *simulation) check() error {
	var errs []error
	for _, path := range []string{s.placements, s.tasks, s.invoices, s.timeline, s.report} {
		if path != "" {
			_, err := os.Stat(filepath.Dir(path) + string(filepath.Separator)) // it has to be a folder
			errs = append(errs, (&output{path: path}).named(err))
		}
	}
	return errors.Join(errs...)
}

// conclude prints the results, draws them if they are to be, and says what went
// wrong.
func (s *simulation) conclude(jobs []*job, stdout io.Writer, drawn *output) error {
	var results report.Results
	var errs []error
	stopped := map[string]int{} // what stopped one run often stopped them all
	for _, j := range jobs {
		if j.err != nil {
			stopped[j.err.Error()]++
		}
	}
	for _, j := range jobs {
		if j.err != nil && stopped[j.err.Error()] == len(jobs) {
			errs = []error{j.err}
		} else if j.err != nil && stopped[j.err.Error()] > 0 {
			stopped[j.err.Error()] = 0
			errs = append(errs, fmt.Errorf("policy %s, seed %d: %w", j.Policy.Name, j.Seed, j.err))
		}
		if j.result.Policy != "" {
			results.Runs = append(results.Runs, j.result)
		}
	}
	if len(results.Runs) > 0 {
		var err error
		results.Spec, err = s.Spec.JSON()
		errs = append(errs, err, report.Write(stdout, s.format, results))
	}
	switch {
	case drawn == nil:
	case len(results.Runs) > 0:
		errs = append(errs, writePage(drawn, []report.File{{Runs: results.Runs}}))
	default:
		errs = append(errs, drawn.Discard())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return failOn(s.failOn, results.Runs)
}

// runOne is one run from its own source to its own result. Who wants to see how it ended says so.
func (s *simulation) runOne(ctx context.Context, j *job, progress func(sim.Progress), finished func(sim.Ending), stderr io.Writer) (report.Run, error) {
	source, err := interruptible(ctx, func() (setup.Opened, error) { return s.Sources.Open(j.Seed) })
	if err != nil {
		return report.Run{}, err
	}
	defer source.Close() //nolint:errcheck // it was only read
	if s.opened != nil {
		s.opened(source)
	}
	recorded := &recorded{stop: func() bool { return ctx.Err() != nil }}
	s.notes.print(stderr, s.raceNotes(j))
	config, err := s.Config(j.Run, source, setup.Env{
		Racer: recorded.racer, Programs: s.programs, Stop: recorded.stop, Note: func(notes []string) { s.notes.print(stderr, notes) },
	})
	if err != nil {
		return report.Run{}, err
	}
	config.Progress, config.Finished = progress, finished
	start := time.Now()
	config.Planner.Clock = func() cluster.Time { return cluster.Time(time.Since(start).Microseconds()) }
	if err := s.beginRecord(j, &config, recorded); err != nil {
		return report.Run{}, err
	}
	files, endTimeline, err := s.outputs(j, &config)
	if err != nil {
		return report.Run{}, errors.Join(err, recorded.close())
	}
	result, err := until(ctx, grace, func() (report.Run, error) { return sim.Run(config) })
	if errors.Is(err, errInterrupted) { // in the midst of a round, of which nothing can be kept
		return report.Run{Setup: s.Setup(&j.Run, s.Until(0)), Interrupted: true}, keep(files, false, nil)
	}
	err = errors.Join(err, recorded.close(), endTimeline())
	result.Notes = s.raceNotes(j)
	s.notes.print(stderr, source.Notes())
	return result, keep(files, result.Policy != "" && !s.wholeOnly, err)
}

// keep ends the files of a run of which something is known, or nothing, and says with what
// stopped the run what went wrong.
func keep(files []*output, known bool, err error) error {
	for _, file := range files {
		if known { // what is known of a run is kept, if it was stopped too
			err = errors.Join(err, file.Commit())
		} else {
			err = errors.Join(err, file.Discard())
		}
	}
	if err != nil && known {
		err = fmt.Errorf("%w; %s", err, knownByThen)
	}
	return err
}

// outputs creates the files for records of the run.
func (s *simulation) outputs(j *job, config *sim.Config) (files []*output, endTimeline func() error, err error) {
	o := &config.Output
	var drawn io.Writer
	endTimeline = func() error { return nil }
	for _, want := range []struct {
		flag, path string
		set        *io.Writer
	}{{"placements", s.placements, &o.Placements}, {"tasks", s.tasks, &o.Tasks}, {"invoices", s.invoices, &o.Invoices}, {"timeline", s.timeline, &drawn}} {
		if want.path == "" {
			continue
		}
		file, err := createOutput(s.outputPath(want.path, j), nil)
		if err != nil {
			for _, file := range files {
				err = errors.Join(err, file.Discard())
			}
			return nil, nil, err
		}
		file.as(tableOf(want.flag))
		files = append(files, file)
		*want.set = file
	}
	if drawn != nil {
		endTimeline = drawTimeline(drawn, config)
	}
	return files, endTimeline, nil
}

// outputPath puts policy and seed before the ending of the path where several
// runs would write to it.
func (s *simulation) outputPath(path string, j *job) string {
	if len(s.Spec.Policies)*len(s.Spec.Seeds) == 1 {
		return path
	}
	end := filepath.Ext(path)
	return strings.TrimSuffix(path, end) + "." + j.Policy.Name + "." + strconv.FormatUint(j.Seed, 10) + end
}

// parallelRuns is how many runs go on at once unless the user says so: as many
// as there are processors, but one where time is measured.
func parallelRuns(p sim.PlannerTime) int {
	if p == sim.Measured {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// named are the files that are written of all runs, by flag.
func (f *files) named() []named {
	return []named{{"placements", f.placements}, {"tasks", f.tasks}, {"invoices", f.invoices}, {"timeline", f.timeline}, {"record", f.record}, {"report", f.report}}
}

// checkFiles says whether an output, of any run, would replace what is read or an output
// of another flag. Who named what is read says the flag, or the spec.
func (s *simulation) checkFiles(flags *pflag.FlagSet) error {
	spec := flags.Lookup("spec").Value.String()
	inputs := []named{{"spec", spec}}
	for _, input := range s.Named() {
		switch {
		case flags.Changed(input.Field):
			inputs = append(inputs, named{input.Field, input.File})
		case spec != "":
			inputs = append(inputs, named{"spec", input.File})
		} // else another flag says it, as --workload does for --cluster
	}
	var outputs []named
	for _, o := range s.named() {
		outputs = append(outputs, o)
		for _, j := range s.jobs() {
			if o.path != "" && o.path != "-" && o.flag != "report" {
				outputs = append(outputs, named{o.flag, s.outputPath(o.path, j)})
			}
		}
	}
	return checkOutputs(inputs, outputs)
}
