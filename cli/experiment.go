package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fairlead.dev/fairlead/experiment"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/report/page"
)

// This file is the command experiment.

// experimentFlags are the flags of experiment as they were typed.
type experimentFlags struct {
	quick    bool
	seed     uint64
	traces   string
	policies string
	rows     []string
	format   string
	report   string
}

// newExperiment is fairlead experiment: what the papers measured, measured again.
func newExperiment() *cobra.Command {
	var f experimentFlags
	c := &cobra.Command{
		Use:   "experiment NAME",
		Short: "Run an experiment of a paper again, and compare with what it published",
		Long: `Experiment runs what a paper measured at the size of the paper, which may take
hours, and prints the data of its figures, with the published numbers beside ours.
'fairlead experiment list' lists the names. With --quick it runs at a small size in
less than a minute; its numbers then are not those of the paper.

Where --traces, or else the variable FAIRLEAD_DATA, names the folder of the real
traces, experiments run on these; otherwise, and with --quick, they run on a generated
workload. The output says which. Planning times are measured on this machine.`,
		Example: `  fairlead experiment list
  fairlead experiment fairlead --row simulate,starve
  fairlead experiment firmament-fig17 --quick
  fairlead experiment firmament-fig18 --traces DIR --report fig18.html
  fairlead experiment ecsched-table1 -o json`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"list"},
		RunE: func(c *cobra.Command, args []string) error {
			if args[0] == "list" {
				if c.Flags().NFlag() > 0 {
					return usage(c, errors.New("list takes no flags"))
				}
				return listExperiments(c.OutOrStdout())
			}
			e, err := experiment.Find(args[0])
			if err != nil {
				return usage(c, err)
			}
			return f.run(c, e)
		},
	}
	for _, e := range experiment.All() {
		c.ValidArgs = append(c.ValidArgs, e.Name)
	}
	s := c.Flags()
	s.BoolVar(&f.quick, "quick", false, "run at a small size, in less than a minute")
	s.Uint64Var(&f.seed, "seed", 1, "where random numbers start")
	s.StringVar(&f.traces, "traces", os.Getenv("FAIRLEAD_DATA"), "`DIR` with the real traces, google2011, ecsched, qos, alibaba-dlrm and alibaba-openb (default: FAIRLEAD_DATA)")
	s.StringVar(&f.policies, "policy", "", "run these policies, with commas between them, where the experiment can run others")
	s.StringSliceVar(&f.rows, "row", nil, "run these rows, with commas between their names, of an experiment that has rows")
	s.StringVarP(&f.format, "output", "o", "table", "table, json or csv")
	s.StringVar(&f.report, "report", "", "draw the figures on a page of HTML, `FILE`")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "csv"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("row", cobra.FixedCompletions(rowsOfExperiments(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions(policies.All().Names(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// listExperiments prints a line for each experiment.
func listExperiments(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tWHAT IT MEASURES\tFROM\tLACKS")
	for _, e := range experiment.All() {
		lacks := strings.Join(e.Missing(), ", ")
		if lacks == "" {
			lacks = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.Name, e.What, e.Paper, lacks)
	}
	return w.Flush()
}

// rowsOfExperiments are the names of all rows, for a shell to complete.
func rowsOfExperiments() []string {
	var names []string
	for _, e := range experiment.All() {
		names = append(names, e.Rows...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// read reads the flags that say what is run.
func (f *experimentFlags) read(c *cobra.Command, e *experiment.Experiment) (options experiment.Options, format report.Format, err error) {
	options = experiment.Options{Seed: f.seed, Data: f.traces, Rows: f.rows, Progress: steps(c.ErrOrStderr())}
	if f.quick {
		options.Size = experiment.Quick
		if c.Flags().Changed("traces") && e.Rows == nil {
			return options, format, errors.New("--traces: with --quick an experiment runs on a generator; leave one of the two out")
		}
	}
	if format, err = report.ParseFormat(f.format); err != nil {
		return options, format, fmt.Errorf("--output: %w", err)
	}
	if len(f.rows) > 0 {
		if err := e.CheckRows(f.rows); err != nil {
			return options, format, fmt.Errorf("--row: %w", err)
		}
	}
	if f.policies != "" {
		if options.Policies, err = splitPolicies(f.policies); err == nil && !e.Free {
			err = fmt.Errorf("%s compares the policies of its paper: %s", e.Name, strings.Join(e.Policies, ", "))
		}
		if err != nil {
			return options, format, fmt.Errorf("--policy: %w", err)
		}
	}
	return options, format, nil
}

// run runs the experiment, prints what came of it, and draws it if it is to be.
func (f *experimentFlags) run(c *cobra.Command, e *experiment.Experiment) error {
	options, format, err := f.read(c, e)
	if err != nil {
		return usage(c, err)
	}
	var drawn *output
	if f.report != "" { // said before a long run, not after it
		if f.report == "-" {
			return usage(c, errors.New("--report: want a file; the standard output has the results"))
		}
		if err := checkOutputs([]named{{"traces", f.traces}}, []named{{"report", f.report}}); err != nil {
			return usage(c, err)
		}
		if drawn, err = createOutput(f.report, nil); err != nil {
			return err
		}
	}
	ctx, stop := stoppable(c)
	defer stop()
	options.Stop = func() bool { return ctx.Err() != nil }
	results, err := e.Run(options)
	if errors.Is(err, experiment.ErrStopped) {
		err = errInterrupted
	}
	if err != nil && len(results.Runs) > 0 {
		err = fmt.Errorf("%w; %s", err, knownByThen)
	}
	if len(results.Runs) > 0 || results.Experiment != nil {
		err = errors.Join(err, report.Write(c.OutOrStdout(), format, results))
	}
	switch {
	case drawn == nil:
	case results.Experiment == nil:
		err = errors.Join(err, drawn.Discard())
	default:
		if failed := page.WriteExperiment(drawn, results.Experiment); failed != nil {
			return errors.Join(err, failed, drawn.Discard())
		}
		err = errors.Join(err, drawn.Commit())
	}
	return err
}

// splitPolicies reads names of policies with commas between them.
func splitPolicies(text string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if _, err := policies.Find(name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// steps says on a terminal which run of the experiment has begun.
func steps(out io.Writer) func(done, all int, what string) {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return func(done, all int, what string) { fmt.Fprintf(out, "%d of %d: %s\n", done+1, all, what) }
}
