package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// The newcomer's run.
const (
	defaultSource   = "synthetic:google?nodes=1000&tasks-per-node=8"
	defaultPolicies = "kube,priority,best-fit,sparrow"
	defaultUntil    = "2h"
)

func newSimulate() *cobra.Command {
	var f simulateFlags
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Replay a workload on a simulated cluster under several policies",
		Long: `Simulate replays a workload on a simulated cluster, once for each policy and
seed, and compares what came of it. Without arguments it makes up a cluster of
1,000 nodes like Google's and two hours of work for it.

` + sourceHelp(),
		Example: `  fairlead simulate
  fairlead simulate --policy kube,swarm-binpack --seeds 1,2,3
  fairlead simulate --cluster google2011:DIR --workload google2011:DIR --overcommit cpu=1.6,memory=2
  fairlead simulate --cluster 'synthetic:google?nodes=12500&tasks-per-node=8' --until 1d --policy kube -o json
  fairlead simulate --data hdfs --report report.html
  fairlead simulate --faults hostile --tasks tasks.csv
  fairlead simulate --workload 'place:lra.yaml?together=10&every=10s' --long-running medea --policy kube --until 2m \
      --beside 'synthetic:google?nodes=500&tasks-per-node=0&cores=32&memory=128'
  fairlead simulate --workload recording:DIR`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if strings.HasPrefix(f.workload, "recording:") || strings.HasPrefix(f.cluster, "recording:") {
				return f.replay(c)
			}
			plan, err := f.plan()
			if err != nil {
				return usage(c, err)
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			// After the first Ctrl-C the second one kills, as if nobody listened.
			context.AfterFunc(ctx, stop)
			return plan.run(ctx, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.register(c)
	return c
}

// replay replays a recording instead of simulating, if the flags allow it.
func (f *simulateFlags) replay(c *cobra.Command) error {
	if f.cluster != "" && f.cluster != f.workload {
		return usage(c, errors.New("--cluster: a recording holds both nodes and tasks; name it as --workload alone"))
	}
	if err := checkRecordingFlags(c, "workload", "policy"); err != nil {
		return usage(c, err)
	}
	named := ""
	if c.Flags().Changed("policy") {
		named = f.policies
	}
	files, _, err := recordingFiles(f.workload)
	if err != nil {
		return err
	}
	return replayAll(c.OutOrStdout(), files, named)
}

// simulation is what the flags asked for: the same world for each policy and
// seed.
type simulation struct {
	cluster, workload sourceSpec
	beside            sourceSpec // the zero value: nothing
	data              dataSpec
	policies          []string
	seeds             []uint64
	options           policies.Options // without what is each run's own
	longRunning       string           // the policy of a lane of their own; empty: they have none
	heartbeat         *cluster.Time    // nil: the policy's own
	watchdog          *cluster.Time    // nil: the policy's own
	speedup           float64
	classes           string
	tiers             []int // how many nodes in turn get each tier, the highest first; nil gives none
	lenient           bool
	parallel          int
	format            report.Format
	placements, tasks string
	invoices          string
	notes             *notePrinter
	report            string     // the file of the page, or empty
	record            string     // the folder of recordings, or empty
	config            sim.Config // without source, lanes and output; the setup is what all runs share
}

// tasksFrom says where all tasks come from.
func (s *simulation) tasksFrom() string {
	if s.beside.text == "" {
		return s.workload.text
	}
	return s.workload.text + " + " + s.beside.text
}

// job is one run: a policy with a seed.
type job struct {
	policy string
	seed   uint64
	result report.Run
	err    error
}

// jobs are the runs to be done, in order.
func (s *simulation) jobs() []*job {
	var jobs []*job
	for _, policy := range s.policies {
		for _, seed := range s.seeds {
			jobs = append(jobs, &job{policy: policy, seed: seed})
		}
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
	bar := newBar(stderr, len(jobs))
	slots := make(chan struct{}, s.parallel)
	var group sync.WaitGroup
	for i, j := range jobs {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			j.err = errInterrupted
			if ctx.Err() == nil {
				j.result, j.err = s.runOne(ctx, j, func(p sim.Progress) { bar.note(i, j.policy, p) }, stderr)
			}
			if errors.Is(j.err, errInterrupted) { // before it began
				j.result, j.err = report.Run{Setup: s.setup(j, s.until(0)), Interrupted: true}, nil
			}
			bar.done(i)
		})
	}
	group.Wait()
	bar.close()
	err := s.conclude(jobs, stdout, drawn)
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; %s", errInterrupted, knownByThen)
	}
	return err
}

// check says, before the first run, which files are not there and which cannot
// be written.
func (s *simulation) check() error {
	var errs []error
	sources := []sourceSpec{s.cluster, s.workload, s.beside}
	if s.cluster.text == s.workload.text {
		sources = sources[1:]
	}
	for _, source := range sources {
		if source.format == "synthetic" || source.text == "" {
			continue
		}
		_, err := os.Stat(source.path)
		errs = append(errs, err)
	}
	for _, path := range []string{s.placements, s.tasks, s.invoices, s.report} {
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
			errs = append(errs, fmt.Errorf("policy %s, seed %d: %w", j.policy, j.seed, j.err))
		}
		if j.result.Policy != "" {
			results.Runs = append(results.Runs, j.result)
		}
	}
	if len(results.Runs) > 0 {
		errs = append(errs, report.Write(stdout, s.format, results))
	}
	switch {
	case drawn == nil:
	case len(results.Runs) > 0:
		errs = append(errs, writePage(drawn, []report.File{{Runs: results.Runs}}))
	default:
		errs = append(errs, drawn.Discard())
	}
	return errors.Join(errs...)
}

// setup is what went into a run that ends at the moment until.
func (s *simulation) setup(j *job, until cluster.Time) report.Setup {
	setup := s.config.Setup
	setup.Policy, setup.Seed = j.policy, j.seed
	if p, err := policies.Find(j.policy); err == nil {
		honoured := p.Honoured(s.options)
		setup.TieBreak, setup.Solver, setup.Migrations = p.TieBreak(s.options), honoured.Solver, report.Number(honoured.Migrations)
	}
	setup.Until = report.Seconds(until)
	when := s.trigger(j.policy)
	setup.Heartbeat, setup.Watchdog = report.Seconds(when.Heartbeat), report.Seconds(when.Watchdog)
	return setup
}

// trigger is what starts the rounds of a policy.
func (s *simulation) trigger(policy string) sched.Trigger {
	p, err := policies.Find(policy)
	if err != nil {
		return sched.Trigger{}
	}
	return p.Trigger(s.heartbeat, s.watchdog)
}

// until is the moment at which a run stops, in its own time; 0 is when its
// workload is done. A source may have an end of its own.
func (s *simulation) until(end cluster.Time) cluster.Time {
	until := cmp.Or(s.config.Until, end)
	if until == 0 || s.speedup == 1 {
		return until
	}
	scaled := math.Round(float64(until) / s.speedup)
	return cluster.Time(min(max(scaled, 1), 1<<60))
}

// runOne is one run from its own source to its own result.
func (s *simulation) runOne(ctx context.Context, j *job, progress func(sim.Progress), stderr io.Writer) (report.Run, error) {
	source, err := interruptible(ctx, func() (opened, error) { return s.openAll(j.seed) })
	if err != nil {
		return report.Run{}, err
	}
	defer source.Close() //nolint:errcheck // it was only read
	options := s.options
	options.Seed, options.Typical = j.seed, source.Typical()
	options.Stop = func() bool { return ctx.Err() != nil }
	recorded := &recorded{stop: options.Stop}
	options.Racer = recorded.racer
	s.notes.print(stderr, s.raceNotes(j))
	if s.config.Classes != nil {
		options.SLA.Criteria = s.config.Classes.Criteria
		if _, err := s.config.Classes.PricedKind(source.Kinds()); err != nil {
			return report.Run{}, fmt.Errorf("--classes %s: %w", s.classes, err)
		}
	}
	config := s.config
	if config.Lanes, err = s.lanes(j, options); err != nil {
		return report.Run{}, err
	}
	config.Planner.Solver = s.programs(j)
	config.Typical = source.Typical()
	if config.Source, err = s.data.on(source, j.seed); err != nil {
		return report.Run{}, err
	}
	if s.speedup != 1 {
		config.Source = trace.Speedup(config.Source, s.speedup)
	}
	if config.Source, err = s.promised(config.Source, stderr); err != nil {
		return report.Run{}, err
	}
	config.Until = s.until(source.end)
	config.Setup = s.setup(j, config.Until)
	config.World.Seed = j.seed
	config.Progress = progress
	config.Stop = options.Stop
	start := time.Now()
	config.Planner.Clock = func() cluster.Time { return cluster.Time(time.Since(start).Microseconds()) }
	if err := s.beginRecord(j, &config, recorded); err != nil {
		return report.Run{}, err
	}
	files, err := s.outputs(j, &config.Output)
	if err != nil {
		return report.Run{}, errors.Join(err, recorded.close())
	}
	result, err := sim.Run(config)
	err = errors.Join(err, recorded.close())
	result.Notes = s.raceNotes(j)
	s.notes.print(stderr, source.notes())
	return result, keep(files, result.Policy != "", err)
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

// lanes are who decides: the run's policy, and before it, where they have one of their own,
// the one of long-running applications, which gathers them for as long as it wants to itself.
func (s *simulation) lanes(j *job, options policies.Options) ([]sched.Lane, error) {
	policy, err := policies.New(j.policy, options)
	if err != nil {
		return nil, err
	}
	lanes := []sched.Lane{{Name: j.policy, Policy: policy, When: s.trigger(j.policy)}}
	if s.longRunning == "" {
		return lanes, nil
	}
	p, err := policies.Find(s.longRunning)
	if err != nil {
		return nil, err
	}
	long, err := policies.New(s.longRunning, options)
	if err != nil {
		return nil, err
	}
	own := sched.Lane{Name: s.longRunning, Policy: long, When: p.Trigger(nil, nil), Owns: func(j *cluster.Job) bool { return j.LongRunning }}
	return append([]sched.Lane{own}, lanes...), nil
}

// outputs creates the files for records of the run.
func (s *simulation) outputs(j *job, o *sim.Output) ([]*output, error) {
	var files []*output
	for _, want := range []struct {
		path string
		set  *io.Writer
	}{{s.placements, &o.Placements}, {s.tasks, &o.Tasks}, {s.invoices, &o.Invoices}} {
		if want.path == "" {
			continue
		}
		file, err := createOutput(s.outputPath(want.path, j), nil)
		if err != nil {
			for _, file := range files {
				err = errors.Join(err, file.Discard())
			}
			return nil, err
		}
		files = append(files, file)
		*want.set = file
	}
	return files, nil
}

// outputPath puts policy and seed before the ending of the path where several
// runs would write to it.
func (s *simulation) outputPath(path string, j *job) string {
	if len(s.policies)*len(s.seeds) == 1 {
		return path
	}
	end := filepath.Ext(path)
	return strings.TrimSuffix(path, end) + "." + j.policy + "." + strconv.FormatUint(j.seed, 10) + end
}

// parallelRuns is how many runs go on at once unless the user says so: as many
// as there are processors, but one where time is measured.
func parallelRuns(p sim.PlannerTime) int {
	if p == sim.Measured {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}
