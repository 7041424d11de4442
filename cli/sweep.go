package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sweep"
)

// The command sweep: what is asked for, and where it is kept. sweeprun.go does the runs.

// Stores open what a URL such as s3://bucket/folder names, by its scheme.
type Stores map[string]func(ctx context.Context, url string) (sweep.Store, error)

// open opens a folder, or what a URL names.
func (s Stores) open(ctx context.Context, path string) (sweep.Store, error) {
	scheme, _, is := strings.Cut(path, "://")
	if !is {
		return sweep.Folder{Dir: path}, nil
	}
	open, known := s[scheme]
	if !known {
		return nil, fmt.Errorf("%s: this program keeps sweeps in folders; one that knows buckets is built of the module buckets: see docs/sweep.md", path)
	}
	return open(ctx, path)
}

// sweepFlags are the flags of sweep as they were typed.
type sweepFlags struct {
	known    policies.List
	stores   Stores
	dir      string
	shard    string
	shards   int
	parallel int
	list     bool
	table    string
}

func newSweep(known policies.List, stores Stores) *cobra.Command {
	f := sweepFlags{known: known, stores: stores}
	c := &cobra.Command{
		Use:   "sweep SPEC",
		Short: "Run policies × parameters × seeds as one experiment, which may be killed and goes on",
		Long: `Sweep does all runs that the file SPEC says: each policy with each combination of values
and with each seed. What came of each is kept in a folder at once, so that the same command
goes on where it was killed, and what is the same in a changed SPEC is not done again. At the
end results.jsonl in that folder has a line for each run, and the means over the seeds are
printed; 'compare' and 'report' read the folder.

SPEC names a spec, as 'fairlead simulate --print-spec' prints it, and what is to vary:

  spec: {source: {cluster: 'synthetic:google?nodes=50'}, limits: {until: 10m}}   # or a file
  policies: [kube, best-fit]
  seeds: 1-5
  vary:
    source.speedup: [1, 2]

More than one machine does a sweep in shards: each does every n-th run with --shard I/N, or with
--shards N and an index from JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID; 'sweep merge' gathers
what they have kept. 'sweep manifests' prints an Indexed Job of Kubernetes or a script for Slurm.`,
		Example: `  fairlead sweep study.yaml
  fairlead sweep study.yaml --list
  fairlead sweep study.yaml --shard 0/4 --dir /shared/study
  fairlead sweep merge /shared/study
  fairlead compare study`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := stoppable(c)
			defer stop()
			w, err := f.prepare(ctx, c, args[0])
			if err != nil {
				return usage(c, err)
			}
			if f.list {
				return w.printList(ctx, c.OutOrStdout())
			}
			return w.run(ctx, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	s := c.Flags()
	s.StringVar(&f.dir, "dir", "", "keep what comes of the runs in the folder `DIR` (default: SPEC without its ending)")
	s.StringVar(&f.shard, "shard", "", "do one of N shards alone, `I/N`: every N-th run, from the I-th on, which is 0 for the first")
	s.IntVar(&f.shards, "shards", 0, "do one of so many shards, whose index JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID says; --shard wins")
	s.IntVar(&f.parallel, "parallel", 0, "how many runs go on at the same time (default: one for each processor)")
	s.StringVar(&f.table, "table", "", tableHelp)
	s.BoolVar(&f.list, "list", false, "print the runs and which of them are done, and do none")
	c.AddCommand(newSweepMerge(stores), newSweepManifests())
	return c
}

// prepare reads the sweep and says what is wrong with it, or with the flags.
func (f *sweepFlags) prepare(ctx context.Context, c *cobra.Command, path string) (*sweeper, error) {
	s, err := readSweep(c, path)
	if err != nil {
		return nil, err
	}
	w := &sweeper{known: f.known, parallel: f.parallel, table: f.table, notes: &notePrinter{}}
	var errs []error
	if w.shard, w.why, err = f.part(os.Getenv); err != nil {
		errs = append(errs, err)
	}
	if f.parallel < 0 {
		errs = append(errs, fmt.Errorf("--parallel: %d, want a number from 1", f.parallel))
	}
	if f.shards < 0 {
		errs = append(errs, fmt.Errorf("--shards: %d, want a number from 1", f.shards))
	}
	if w.dir = f.dir; w.dir == "" {
		if w.dir, err = sweepDir(path); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	id, err := program()
	if err != nil {
		return nil, err
	}
	if w.list, err = until(ctx, 0, func() (*sweep.List, error) { return s.Plan(f.known, id) }); err != nil { // it reads all inputs
		return nil, err
	}
	if w.parallel == 0 {
		w.parallel = w.usualParallel()
	}
	if w.store, err = f.stores.open(ctx, w.dir); err == nil {
		err = w.checkDir()
	}
	if err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	if w.table != "" && f.list {
		return nil, errors.New("--table: --list does no run, and there is nothing to write; leave one of them out")
	}
	if w.table != "" && w.shard.Of > 1 {
		return nil, errors.New("--table: a shard is a part of the runs; give it to 'fairlead sweep merge', which has all")
	}
	return w, checkTable(w.table, slices.Concat(w.list.Inputs, []string{path}), "dir", w.store)
}

// readSweep reads the file of a sweep, or the standard input.
func readSweep(c *cobra.Command, path string) (*sweep.Sweep, error) {
	in, err := openInput(path, c.InOrStdin())
	if err != nil {
		return nil, err
	}
	text, err := document.ReadAll(in)
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(path), err)
	}
	return sweep.Read(inputName(path), text, document.ReadFile)
}

// sweepDir is the folder of a sweep that was not told another one: beside the file, and called as it is.
func sweepDir(path string) (string, error) {
	dir := strings.TrimSuffix(path, filepath.Ext(path))
	if path == "-" || dir == path || dir == "" {
		return "", fmt.Errorf("--dir: want a folder for what comes of the runs, as %s has no ending to be without", inputName(path))
	}
	return dir, nil
}

// Variables of the environment that say the index of a shard.
const (
	jobIndex   = "JOB_COMPLETION_INDEX" // of a pod of an Indexed Job
	arrayIndex = "SLURM_ARRAY_TASK_ID"  // of a task of an array
)

// part is the shard that is to be done, and in words why that one; empty where all is done.
func (f *sweepFlags) part(env func(string) string) (sweep.Shard, string, error) {
	var set []string
	for _, name := range []string{jobIndex, arrayIndex} {
		if env(name) != "" {
			set = append(set, name)
		}
	}
	switch {
	case f.shard != "":
		s, err := sweep.ParseShard(f.shard)
		if err != nil {
			return s, "", fmt.Errorf("--shard: %w", err)
		}
		return s, "--shard", nil
	case f.shards <= 0 && len(set) > 0:
		return sweep.Whole(), fmt.Sprintf("%s is set, but without --shards nobody says how many shards there are: all runs are done here", set[0]), nil
	case f.shards <= 0:
		return sweep.Whole(), "", nil
	case len(set) != 1:
		return sweep.Whole(), "", fmt.Errorf("--shards: want the index in one of %s and %s, and %d are set; or write --shard 0/%d", jobIndex, arrayIndex, len(set), f.shards)
	}
	index, err := strconv.Atoi(env(set[0]))
	s := sweep.Shard{Index: index, Of: f.shards}
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return s, "", fmt.Errorf("--shards, with %s=%s: %w", set[0], report.Printable(env(set[0])), err)
	}
	return s, set[0], nil
}

// usualParallel is how many runs go on at once unless the user says so, as in simulate.
func (w *sweeper) usualParallel() int {
	for i := range w.list.Runs {
		if w.list.Runs[i].Spec.Limits.PlannerTime == "measured" {
			return parallelRuns(sim.Measured)
		}
	}
	return runtime.GOMAXPROCS(0)
}

// checkDir says why the runs cannot be kept in the folder: it holds something else, or is read by the runs.
func (w *sweeper) checkDir() error {
	folder, is := w.store.(sweep.Folder)
	if !is {
		return nil
	}
	var inputs []named
	for _, path := range w.list.Inputs {
		inputs = append(inputs, named{path: path})
	}
	list := filepath.Join(folder.Dir, sweep.ListFile)
	if err := checkOutputs(inputs, []named{{"dir", list}}); err != nil {
		return fmt.Errorf("%s: it lies in what the runs read; name another folder", folder.Dir)
	}
	entries, err := os.ReadDir(folder.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(list); err != nil && len(entries) > 0 && !onlyRuns(entries) {
		return fmt.Errorf("%s holds files, and they are of no sweep; name another folder", folder.Dir)
	}
	return nil
}

// onlyRuns reports whether a folder looks as a sweep leaves it that was killed before it had written its list.
func onlyRuns(entries []os.DirEntry) bool {
	for _, entry := range entries {
		if entry.Name() != "runs" && !strings.HasPrefix(entry.Name(), sweep.ListFile+".") {
			return false
		}
	}
	return true
}
