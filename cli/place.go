package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/outcome"
	"fairlead.dev/fairlead/constraint/request"
	"fairlead.dev/fairlead/constraint/search"
	"fairlead.dev/fairlead/ilp/highs"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/internal/unpack"
	"fairlead.dev/fairlead/setup"
)

// This file is the command place: its flags, and who finds the plan. How the plan is printed
// is in placetable.go.

// placing is what the flags ask for, as they were typed.
type placing struct {
	paths            []string
	policy, deadline string
	ticks            int64
	seed             uint64
	solver, format   string
	limit            time.Duration // of the deadline
}

// found is a plan with what is known of it.
type found struct {
	plan   constraint.Assignment
	score  int64
	ticks  int64 // of the search, or the heuristic
	bound  exact.Bounded
	solver *outcome.Solver // nil if none was asked
}

// searching is the policy that is no heuristic.
const searching = "search"

// What each step of the search is, between two looks at the clock, and how much is spent on
// each question by which the reasons for what is not placed are found; in ticks.
const (
	slice       = 50_000
	forQuestion = 100_000
)

func placePolicies() []string {
	names := []string{searching}
	for _, h := range greedy.All() {
		names = append(names, h.Name)
	}
	return names
}

func newPlace() *cobra.Command {
	var s placing
	c := &cobra.Command{
		Use:   "place FILE...",
		Short: "Place long-running applications on a cluster under constraints, once",
		Long: `Place reads a cluster and the applications that are to be placed on it, as YAML or
JSON, and prints a plan: where each container goes, which constraints it violates, a
bound that no plan can beat, and for every application that is not placed the reason.
- is the standard input; what begins like gzip is unpacked. docs/place.md describes
the file, docs/constraints.md what constraints say.

Several files, or one, may hold Kubernetes' manifests instead: nodes, pods, and
Deployments and other controllers whose pods are to be placed.

The policy search begins with what serial finds and improves it until the deadline, or
for --ticks, or until nothing can be better. After half of the time the solver HiGHS
repairs by integer programs what is left to repair, and raises the bound; where HiGHS is
missing or fails, the search goes on, and a note says so. The other policies are
heuristics, which look at each container once. Where something is not placed, finding
the reasons takes some more time. HiGHS is compiled the first time on a machine, which
takes some seconds; where the deadline comes first, the compilation is finished after the
plan is printed, and its result is kept.
Ctrl-C ends the search and prints what it has; the exit code is then 130. Otherwise it is
0 if there is a plan, whatever it violates.`,
		Example: `  fairlead place shop.yaml
  fairlead place shop.yaml -o json --deadline 5s
  kubectl get nodes,pods -A -o yaml | fairlead place - deployment.yaml
  fairlead trace generate lra --nodes 500 --lras 20 --planted --output - | fairlead place -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s.paths = args
			if err := s.check(c); err != nil {
				return usage(c, err)
			}
			ctx, stop := stoppable(c)
			defer stop()
			return s.run(ctx, c)
		},
	}
	f := c.Flags()
	f.StringVar(&s.policy, "policy", placePolicies()[0], "one of "+strings.Join(placePolicies(), ", "))
	f.StringVar(&s.deadline, "deadline", "1s", "how long to search; 0 returns the plan that the search would begin with")
	f.Int64Var(&s.ticks, "ticks", 0, "search until so many nodes have been looked at, however long that takes: every machine finds the same plan")
	f.StringVar(&s.solver, "solver", solverHighs, "what repairs the plan that the search leaves, and proves bounds: highs or none")
	f.Uint64Var(&s.seed, "seed", 1, "the seed of what the search tries")
	f.StringVarP(&s.format, "output", "o", "table", "table, json or yaml")
	_ = c.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions(placePolicies(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("solver", cobra.FixedCompletions(placeSolvers(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(placeFormats(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func placeFormats() []string { return []string{"table", "json", "yaml"} }

// check says what is wrong with each flag.
func (s *placing) check(c *cobra.Command) error {
	var errs []error
	flag := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", name, err))
		}
	}
	if !slices.Contains(placePolicies(), s.policy) {
		flag("policy", unknown("policy", s.policy, placePolicies()))
	}
	if !slices.Contains(placeSolvers(), s.solver) {
		flag("solver", unknown("solver", s.solver, placeSolvers()))
	}
	if !slices.Contains(placeFormats(), s.format) {
		flag("output", unknown("format", s.format, placeFormats()))
	}
	if s.deadline != "0" {
		limit, err := setup.ParseTime(s.deadline)
		flag("deadline", err)
		s.limit = time.Duration(limit) * time.Microsecond
	}
	if c.Flags().Changed("ticks") && s.ticks < 1 {
		flag("ticks", fmt.Errorf("want 1 or more, not %d", s.ticks))
	}
	if c.Flags().Changed("ticks") && c.Flags().Changed("deadline") {
		flag("ticks", errors.New("there is a --deadline, too; give one of both"))
	}
	return errors.Join(errs...)
}

// run reads the request, finds a plan and prints it.
func (s *placing) run(ctx context.Context, c *cobra.Command) error {
	solver := s.start(highs.Options{})
	r, notes, err := s.read(c.InOrStdin())
	if err != nil {
		return err
	}
	warnings, err := r.Contradictions()
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(c.ErrOrStderr(), "fairlead: note:", note)
	}
	for _, warning := range append(warnings, r.Warnings()...) {
		fmt.Fprintln(c.ErrOrStderr(), "fairlead: warning:", warning)
	}
	found := s.solve(ctx, &r.Problem, solver)
	interrupted := ctx.Err() != nil
	answer := outcome.Of(r, found.plan, found.bound, solver.asking(ctx, found.plan, s.question))
	answer.Policy, answer.Ticks, answer.Solver = s.policy, found.ticks, found.solver
	printNote := func(note string) { fmt.Fprintln(c.ErrOrStderr(), "fairlead: note:", note) }
	if said := solver.said(); said != "" {
		printNote(said)
	}
	if err := s.print(c.OutOrStdout(), answer); err != nil {
		return err
	}
	if interrupted {
		return fmt.Errorf("%w; the plan is the best by then", errInterrupted)
	}
	solver.finish(ctx, printNote)
	return nil
}

func (s *placing) read(stdin io.Reader) (*request.Request, []string, error) {
	var files []request.File
	for _, path := range s.paths {
		file, err := openInput(path, stdin)
		if err != nil {
			return nil, nil, err
		}
		unpacked, err := unpack.Reader(file)
		var text []byte
		if err == nil {
			text, err = document.ReadAll(unpacked)
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", inputName(path), err)
		}
		files = append(files, request.File{Name: inputName(path), Text: text})
	}
	return request.ReadAll(files)
}

// start begins to compile the solver, if it may be wanted: heuristics are judged as they are,
// and without time there is none for it.
func (s *placing) start(o highs.Options) *mender {
	if s.solver == solverNone || s.policy != searching || s.limit == 0 && s.ticks == 0 {
		return &mender{}
	}
	o.Instances = 1
	return &mender{engine: highs.Start(o), waits: s.ticks > 0}
}

// solve finds a plan within the time or the ticks.
func (s *placing) solve(ctx context.Context, p *constraint.Problem, solver *mender) *found {
	began := time.Now()
	f := &found{}
	f.bound, _ = exact.Bound(p, nil, exact.Options{}) // without a solver nothing fails
	if h, is := greedy.Named(s.policy); is {
		f.plan, f.ticks = h.Solve(p)
		return f
	}
	end := began.Add(s.limit)
	if s.ticks > 0 {
		end = began.Add(math.MaxInt64)
	}
	under := search.New(p, s.seed)
	// Half of the time is the search's, and what the solver leaves.
	s.improve(ctx, under, f, func() bool {
		now := time.Now()
		return now.Before(end) && (solver.waits || now.Sub(began) < s.limit/2 || !solver.ready())
	})
	if f.score == f.bound.Score || ctx.Err() != nil {
		return f
	}
	limited, cancel := solver.until(ctx, end)
	defer cancel()
	if solver.wait(limited) {
		solver.mend(limited, p, f)
	}
	if f.score > f.bound.Score && s.ticks == 0 {
		s.improve(ctx, under, f, func() bool { return time.Now().Before(end) })
	}
	return f
}

// improve lets the search go on while it may and there are ticks left, and takes what is better.
func (s *placing) improve(ctx context.Context, under *search.Search, f *found, more func() bool) {
	for done := false; ; {
		if r := under.Result(); f.plan == nil || r.Score < f.score {
			f.plan, f.score = r.Assignment, r.Score
		}
		f.ticks = under.Ticks()
		left := int64(math.MaxInt64)
		if s.ticks > 0 {
			left = s.ticks - f.ticks
		}
		if done || left <= 0 || f.score == f.bound.Score || ctx.Err() != nil || !more() {
			return
		}
		done = under.Run(min(slice, left))
	}
}

// question answers what is asked to find the reason for what is not placed.
func (s *placing) question(p *constraint.Problem) constraint.Assignment {
	return search.Solve(p, search.Options{Seed: s.seed, Ticks: forQuestion}).Assignment
}
