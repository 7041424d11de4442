package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/dimacs"
	"fairlead.dev/fairlead/mcmf/race"
)

// algorithms are the names that --algorithm knows.
func algorithms() []string {
	names := []string{automatic, racing}
	for _, algorithm := range mcmf.Algorithms() {
		names = append(names, string(algorithm))
	}
	return names
}

const (
	automatic = "automatic" // mcmf.Automatic, which has no name
	racing    = "race"      // package race
)

// solver is *mcmf.Solver, or a race.
type solver interface {
	Solve(o mcmf.Options) mcmf.Result
	Flow(a mcmf.Arc) int64
	Certificate() error
}

// newSolver is what the flags ask for.
func (s *solve) newSolver(g *mcmf.Graph) solver {
	if s.algorithm == racing {
		return race.New(g, mcmf.CostScaling)
	}
	return mcmf.NewSolver(g)
}

func newSolve() *cobra.Command {
	var s solve
	c := &cobra.Command{
		Use:   "solve FILE",
		Short: "Find a least-cost flow, and again after each batch of changes",
		Long: `Solve reads a min-cost-flow problem in the DIMACS format (.min) and prints the
least cost, then the same after each batch of changes. - is the standard input;
what begins like gzip is unpacked.

Changes are lines, in batches with a line 'c EOI' between them:
  n ID SUPPLY          adds a node, or sets its supply
  r ID                 removes a node and its arcs
  a U V LOW CAP COST   adds an arc
  x U V LOW CAP COST   changes the first arc from U to V; with capacity 0 removes it

The algorithm race runs two at the same time, automatic and, from nothing,
cost-scaling, and takes the answer that is there first; its name is in the result.
It spends a second thread so that no problem takes long because it does not suit
one of them.

Times are those of the solve alone, without reading and writing; cpu_seconds are
of all threads. A tick is one look at an arc, the same on every machine. A problem
without a solution is a result: it says why, and the exit code is 1 at the end.`,
		Example: `  fairlead solve problem.min
  fairlead solve problem.min --changes changes.txt -o json
  fairlead solve problem.min.gz --algorithm network-simplex --certify
  fairlead solve problem.min --changes changes.txt --algorithm race
  zcat problem.min.gz | fairlead solve - --flow solution.txt`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s.path = args[0]
			if err := s.check(); err != nil {
				return usage(c, err)
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			// After the first Ctrl-C the second one kills, as if nobody listened.
			context.AfterFunc(ctx, stop)
			return s.run(ctx, c.InOrStdin(), c.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&s.changes, "changes", "", "`FILE` of changes to solve again after; - is the standard input")
	f.StringVar(&s.algorithm, "algorithm", automatic, "one of "+strings.Join(algorithms(), ", "))
	f.StringVar(&s.flow, "flow", "", "write the flow of the last solve to `FILE`, in the DIMACS format of solutions")
	f.StringVarP(&s.format, "output", "o", "table", "table, or json: a line for each solve")
	f.BoolVar(&s.certify, "certify", false, "prove each result optimal, whatever found it, or fail")
	f.IntVar(&s.repeat, "repeat", 1, "solve the file `N` times, each from nothing, and give the median time")
	_ = c.RegisterFlagCompletionFunc("algorithm", cobra.FixedCompletions(algorithms(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// solve is what the flags ask for, as they were typed.
type solve struct {
	path, changes, flow string
	algorithm, format   string
	certify             bool
	repeat              int
}

// check says what is wrong with each flag.
func (s *solve) check() error {
	var errs []error
	flag := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", name, err))
		}
	}
	if !slices.Contains(algorithms(), s.algorithm) {
		flag("algorithm", unknown("algorithm", s.algorithm, algorithms()))
	}
	if !slices.Contains([]string{"table", "json"}, s.format) {
		flag("output", unknown("format", s.format, []string{"table", "json"}))
	}
	if s.repeat < 1 {
		flag("repeat", fmt.Errorf("want 1 or more, not %d", s.repeat))
	}
	if s.path == "-" && s.changes == "-" {
		flag("changes", errors.New("the standard input is the problem already"))
	}
	switch {
	case s.flow == "":
	case s.flow == "-":
		flag("flow", errors.New("want a file; the standard output has the results"))
	case filepath.Clean(s.flow) == filepath.Clean(s.path) || filepath.Clean(s.flow) == filepath.Clean(s.changes):
		flag("flow", fmt.Errorf("%s is what is read", s.flow))
	}
	return errors.Join(errs...)
}

// solved is the result of a solve, as JSON shows it.
type solved struct {
	Batch       int     `json:"batch"`
	Changes     int     `json:"changes"`
	Status      string  `json:"status"`
	Cost        *int64  `json:"cost"` // null unless optimal
	CPUSeconds  float64 `json:"cpu_seconds"`
	WallSeconds float64 `json:"wall_seconds"`
	Ticks       int64   `json:"ticks"`
	Algorithm   string  `json:"algorithm"`
	Cut         *cut    `json:"cut,omitempty"`
	Arc         *arc    `json:"arc,omitempty"`
	Unrouted    int64   `json:"unrouted,omitempty"`
}

// cut is some nodes that are given more than can leave them.
type cut struct {
	Nodes int     `json:"nodes"`
	First []int64 `json:"first"` // ids of some of them
}

// arc is one whose bounds cross.
type arc struct {
	From     int64 `json:"from"`
	To       int64 `json:"to"`
	Lower    int64 `json:"lower"`
	Capacity int64 `json:"capacity"`
}

// run solves the problem, and again after each batch of changes.
func (s *solve) run(ctx context.Context, stdin io.Reader, stdout io.Writer) (err error) {
	var flow *os.File
	if s.flow != "" { // said before a long solve, not after it
		if flow, err = os.Create(s.flow); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, flow.Close()) }()
	}
	file, err := openInput(s.path, stdin)
	if err != nil {
		return err
	}
	problem, err := dimacs.Read(file, inputName(s.path))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	changes := io.NopCloser(io.Reader(strings.NewReader("")))
	if s.changes != "" {
		if changes, err = openInput(s.changes, stdin); err != nil {
			return err
		}
	}
	defer changes.Close() //nolint:errcheck // it was only read
	session := session{solve: s, problem: problem, solver: s.newSolver(problem.Graph), out: stdout}
	return session.run(ctx, dimacs.NewChanges(changes, inputName(s.changes), problem), flow)
}

func openInput(path string, stdin io.Reader) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(stdin), nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; want a file", path)
	}
	return os.Open(path)
}

// inputName is what errors call an input.
func inputName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// session is a problem that is solved again and again.
type session struct {
	*solve

	problem *dimacs.Problem
	solver  solver
	out     io.Writer
	last    mcmf.Result
	batches int    // solved so far
	failed  int    // of them, not optimal
	first   solved // of those
}

func (s *session) run(ctx context.Context, changes *dimacs.Changes, flow *os.File) error {
	if s.format == "table" {
		fmt.Fprintf(s.out, "%5s %8s  %-10s %20s %12s %12s %12s  %s\n", "BATCH", "CHANGES", "STATUS", "COST", "CPU", "WALL", "TICKS", "ALGORITHM")
	}
	// What is left of reading is not to be swept up at the cost of the solve.
	runtime.GC()
	err := s.step(ctx, 0)
	for err == nil {
		var made int
		if made, err = changes.Next(); err == nil {
			err = s.step(ctx, made)
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if flow != nil {
		if err := s.writeFlow(flow); err != nil {
			return err
		}
	}
	if s.failed > 0 {
		return fmt.Errorf("%d of %d solves were not optimal; the first is batch %d, %s", s.failed, s.batches, s.first.Batch, s.first.Status)
	}
	return nil
}

// step solves and prints the problem as it is after so many changes.
func (s *session) step(ctx context.Context, changes int) error {
	r := s.measure(ctx, changes)
	if s.batches == 0 {
		r = s.measureAgain(ctx, r)
	}
	if err := s.print(r); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if s.last.Status != mcmf.Optimal {
		if s.failed++; s.failed == 1 {
			s.first = r
		}
	} else if s.certify {
		if err := s.solver.Certificate(); err != nil {
			return fmt.Errorf("batch %d: this is not optimal, which is a bug: %w", s.batches, err)
		}
	}
	s.batches++
	return nil
}

// measureAgain solves the file as often as was asked for, each time from nothing,
// and is the solve of median CPU time. The last solve is what later ones start
// from, whichever that is.
func (s *session) measureAgain(ctx context.Context, first solved) solved {
	all := []solved{first}
	for len(all) < s.repeat && ctx.Err() == nil {
		s.solver = s.newSolver(s.problem.Graph)
		all = append(all, s.measure(ctx, 0))
	}
	slices.SortFunc(all, func(a, b solved) int { return cmp.Compare(a.CPUSeconds, b.CPUSeconds) })
	return all[len(all)/2]
}

// measure solves once.
func (s *session) measure(ctx context.Context, changes int) solved {
	o := mcmf.Options{Stop: func() bool { return ctx.Err() != nil }}
	if s.algorithm != automatic && s.algorithm != racing {
		o.Algorithm = mcmf.Algorithm(s.algorithm)
	}
	wall, cpu := time.Now(), cpuTime()
	s.last = s.solver.Solve(o)
	used, passed := cpuTime()-cpu, time.Since(wall)
	result := &s.last
	r := solved{
		Batch: s.batches, Changes: changes, Status: result.Status.String(), CPUSeconds: used.Seconds(), WallSeconds: passed.Seconds(),
		Ticks: result.Ticks, Algorithm: cmp.Or(string(result.Algorithm), s.algorithm), Unrouted: result.Unrouted,
	}
	switch {
	case result.Status == mcmf.Optimal:
		r.Cost = &result.Cost
	case result.Status != mcmf.Infeasible:
	case result.Arc != mcmf.None:
		e := s.problem.Graph.Arc(result.Arc)
		r.Arc = &arc{s.problem.ID(e.From), s.problem.ID(e.To), e.Lower, e.Capacity}
	default:
		const few = 10
		r.Cut = &cut{Nodes: len(result.Cut)}
		for _, v := range result.Cut[:min(few, len(result.Cut))] {
			r.Cut.First = append(r.Cut.First, s.problem.ID(v))
		}
	}
	return r
}

// print prints a result at once: the next one may take long.
func (s *session) print(r solved) error {
	if s.format == "json" {
		return json.NewEncoder(s.out).Encode(r)
	}
	cost := "-"
	if r.Cost != nil {
		cost = fmt.Sprint(*r.Cost)
	}
	duration := func(seconds float64) string {
		return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond).String()
	}
	_, err := fmt.Fprintf(s.out, "%5d %8d  %-10s %20s %12s %12s %12d  %s\n%s", r.Batch, r.Changes, r.Status, cost,
		duration(r.CPUSeconds), duration(r.WallSeconds), r.Ticks, r.Algorithm, r.why())
	return err
}

// why is a line that says what stands in the way, or nothing.
func (r *solved) why() string {
	switch {
	case r.Arc != nil:
		return fmt.Sprintf("      the arc from %d to %d has the lower bound %d, above its capacity %d\n", r.Arc.From, r.Arc.To, r.Arc.Lower, r.Arc.Capacity)
	case r.Cut != nil:
		more := ""
		if len(r.Cut.First) < r.Cut.Nodes {
			more = fmt.Sprintf(" … (%d in all)", r.Cut.Nodes)
		}
		ids := strings.Trim(fmt.Sprint(r.Cut.First), "[]")
		return fmt.Sprintf("      more is given than can leave these nodes: %s%s\n", ids, more)
	case r.Unrouted > 0:
		return fmt.Sprintf("      %d units have no way yet\n", r.Unrouted)
	}
	return ""
}

// writeFlow writes the last flow, or a comment that there is none.
func (s *session) writeFlow(w io.Writer) error {
	if s.last.Status != mcmf.Optimal {
		_, err := fmt.Fprintf(w, "c no flow: %s\n", s.last.Status)
		return err
	}
	return s.problem.WriteFlow(w, s.last.Cost, s.solver.Flow)
}
