package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/dimacs"
)

// This file is the command solve: its flags, and the files that it reads and
// writes. What it does with them is in solvesession.go.

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
cost-scaling, and takes the result that is there first; the result names its algorithm.
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
			ctx, stop := stoppable(c)
			defer stop()
			return s.run(ctx, c.InOrStdin(), c.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&s.changes, "changes", "", "`FILE` of changes; the problem is solved again after each batch; - is the standard input")
	f.StringVar(&s.algorithm, "algorithm", automatic, "one of "+strings.Join(algorithms(), ", "))
	f.StringVar(&s.flow, "flow", "", "write the flow of the last solve to `FILE`, in the DIMACS format of solutions, compressed if it ends in .gz")
	f.StringVarP(&s.format, "output", "o", "table", "table, or json: a line for each solve")
	f.BoolVar(&s.certify, "certify", false, "prove that each result is optimal, and fail if one is not")
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
	if s.flow == "-" {
		flag("flow", errors.New("want a file; the standard output has the results"))
	}
	errs = append(errs, checkOutputs([]named{{path: s.path}, {"changes", s.changes}}, []named{{"flow", s.flow}}))
	return errors.Join(errs...)
}

// run solves the problem, and again after each batch of changes.
func (s *solve) run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
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
	var flow *output
	if s.flow != "" { // said before a long solve, not after it
		if flow, err = createOutput(s.flow, nil); err != nil {
			return err
		}
	}
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
