// Mutants measures what the tests notice. It changes the source of a package in one place at
// a time, as a slip of the hand would, runs the package's own tests on the changed source,
// and counts how many of these mutants the tests kill (DeMillo, Lipton, Sayward: Hints on
// test data selection, IEEE Computer 1978).
//
// Which mutants are made depends on the seed and the source alone: each place has a number
// that PCG draws from the seed and from what stands there, and those with the least numbers
// are taken, one operator after the other. A change elsewhere leaves them as they are.
//
// The changed file is laid over the true one (go test -overlay), so that nothing in the
// repository is touched. A mutant on which the tests do not end in time is killed. Survivors
// that no test can kill, as they do the same as the original, are named in equivalent.txt,
// each with its reason; any other survivor is a test that is missing.
//
// Run it by "make mutants".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// target is a package whose tests are measured.
type target struct {
	module string   // folder of its module, from the root of the repository
	name   string   // the package's folder, from there
	beside []string // folders whose tests are about this package, too
	skip   []string // files that these tests do not reach, and why is said in targets
	make   int      // how many mutants
}

func (t target) String() string { return filepath.ToSlash(filepath.Join(t.module, t.name)) }

// targets are the packages that decide, simulate, record and face Kubernetes.
func targets() []target {
	return []target{
		{name: "cluster", make: 28},
		// The language of its scenarios and what it is held to are a package of their own.
		{name: "sched", beside: []string{"sched/schedtest"}, make: 20},
		{name: "sched/book", make: 8},
		{name: "sched/evict", make: 8},
		{name: "sched/keeper", make: 8},
		{name: "queue", make: 16},
		{name: "fairlead", make: 16},
		{name: "flow", make: 26},
		// What all algorithms must pass is a package of its own, too. The code of the file that is
		// left out runs only with the build tag invariants.
		{name: "mcmf", beside: []string{"mcmf/mcmftest"}, skip: []string{"invariants.go"}, make: 26},
		{name: "constraint", make: 20},
		{name: "sim", make: 26},
		{name: "recording", make: 18},
		{module: "kube", name: "world", make: 14},
		{module: "kube", name: "scheduler", make: 10},
	}
}

// options are what the command line says.
type options struct {
	seed    uint64
	budget  time.Duration
	workers int
	only    string
	make    int
	list    bool
}

// The goals of the whole run.
const (
	leastMade   = 200
	leastKilled = 85 // per cent of those that are not equivalent
)

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 21, "draw the mutants from this number")
	flag.DurationVar(&o.budget, "budget", 30*time.Minute, "begin no mutant after this time; fewer than 200 are a failure all the same")
	flag.IntVar(&o.workers, "workers", 2, "how many mutants to run at a time")
	flag.StringVar(&o.only, "only", "", "these packages alone, as in cluster,kube/world; then 200 are not asked for")
	flag.IntVar(&o.make, "make", 0, "so many mutants of each package, not as many as the table in main.go says; then 200 are not asked for")
	flag.BoolVar(&o.list, "list", false, "list the mutants, check what equivalent.txt names, and run none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run makes the mutants, runs the tests on them, and prints what came of it.
func run(ctx context.Context, o options, out io.Writer) error {
	deadline := time.Now().Add(o.budget)
	wanted, err := chosen(o)
	if err != nil {
		return err
	}
	known, err := readEquivalents("internal/mutants/equivalent.txt")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	var all []*mutant
	for _, t := range wanted {
		p, err := load(ctx, ".", t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		all = append(all, p.draw(o.seed, t.make)...)
		known.seen(t, p)
	}
	if o.list {
		for _, m := range all {
			fmt.Fprint(out, m)
		}
		return known.check()
	}
	tester := &tester{dir: dir, deadline: deadline, least: 20 * time.Second, log: os.Stderr}
	if err := tester.judge(ctx, wanted, all, o.workers); err != nil {
		return err
	}
	return report(out, wanted, all, known, o.only == "" && o.make == 0)
}

// chosen are the targets that the options name.
func chosen(o options) ([]target, error) {
	all := targets()
	if o.make > 0 {
		for i := range all {
			all[i].make = o.make
		}
	}
	if o.only == "" {
		return all, nil
	}
	var some []target
	var wrong []error
	for name := range strings.SplitSeq(o.only, ",") {
		found := false
		for _, t := range all {
			if t.String() == name {
				some, found = append(some, t), true
			}
		}
		if !found {
			wrong = append(wrong, fmt.Errorf("-only: there is no target %q; they are %v", name, all))
		}
	}
	return some, errors.Join(wrong...)
}
