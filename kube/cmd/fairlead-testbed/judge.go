package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/kube/testbed"
)

// judge runs upstream's own tests of the scheduler against upstream's scheduler and ours.
type judge struct {
	nodes     int
	scheduler string
	only      string
	focus     string
	options   testbed.Options
}

// defaultFeatures are the tests for which a cluster with upstream's defaults is enough.
const defaultFeatures = "!/^Feature:OffByDefault/"

func newJudge() *cobra.Command {
	var j judge
	c := &cobra.Command{
		Use:   "judge",
		Short: "Run upstream's [sig-scheduling] tests against kube-scheduler and a fairlead-scheduler",
		Long: `Judge runs Kubernetes' own end-to-end tests of the scheduler, one after the other,
on a fresh cluster that kube-scheduler serves, and on one whose default-scheduler is a
fairlead-scheduler, and prints what became of each test. It fails if a test that passes with
kube-scheduler does not pass with ours.`,
		Example: `  fairlead-testbed judge --scheduler ../bin/fairlead-scheduler
  fairlead-testbed judge --scheduler ../bin/fairlead-scheduler --focus SchedulerPreemption --only fairlead`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return j.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	f := c.Flags()
	f.IntVar(&j.nodes, "nodes", 3, "fake nodes, in three zones; with six of them one test does not come to its end in time")
	f.StringVar(&j.scheduler, "scheduler", "", "the fairlead-scheduler to judge")
	f.StringVar(&j.only, "only", "", "kube-scheduler or fairlead alone")
	f.StringVar(&j.focus, "focus", `\[sig-scheduling\]`, "the tests whose names match this regular expression")
	f.StringVar(&j.options.Dir, "dir", "", "a folder for logs, which stay there (default a temporary one)")
	return c
}

// candidate is a scheduler that is judged.
type candidate struct {
	name  string
	start func(context.Context, *testbed.Bed) error
}

func (j *judge) candidates() ([]candidate, error) {
	ours := func(ctx context.Context, bed *testbed.Bed) error {
		if err := bed.Grant(ctx, testbed.Fairlead, "cluster-admin"); err != nil {
			return err
		}
		return bed.StartFairlead(ctx, j.scheduler, "{schedulerName: default-scheduler, policy: fairlead, evictions: {enabled: true}}", flatOut)
	}
	all := []candidate{
		{"kube-scheduler", func(ctx context.Context, bed *testbed.Bed) error { return bed.StartKubeScheduler(ctx, flatOut) }},
		{"fairlead", ours},
	}
	switch j.only {
	case "":
	case all[0].name:
		return all[:1], nil
	case all[1].name:
		all = all[1:]
	default:
		return nil, fmt.Errorf("--only %q: there are kube-scheduler and fairlead", j.only)
	}
	if j.scheduler == "" {
		return nil, errors.New("--scheduler: which fairlead-scheduler? Say its path, or --only kube-scheduler")
	}
	return all, nil
}

func (j *judge) run(ctx context.Context, out, log io.Writer) error {
	candidates, err := j.candidates()
	if err != nil {
		return err
	}
	program, err := testbed.BuildSuite(ctx, log)
	if err != nil {
		return err
	}
	found := make([][]testbed.Verdict, len(candidates))
	for i, c := range candidates {
		fmt.Fprintf(log, "judging %s\n", c.name)
		if found[i], err = j.judge(ctx, program, c); err != nil {
			return err
		}
	}
	switch failed := printVerdicts(out, candidates, found); {
	case failed > 0 && len(candidates) == 1:
		return fmt.Errorf("%d tests do not pass with %s", failed, candidates[0].name)
	case failed > 0:
		return fmt.Errorf("%d tests pass with %s and not with %s", failed, candidates[0].name, candidates[1].name)
	}
	return nil
}

// judge runs the suite on a fresh cluster.
func (j *judge) judge(ctx context.Context, program string, c candidate) (list []testbed.Verdict, err error) {
	options := j.options
	options.ControllerManager, options.Kwok, options.NodesAlone, options.Tmpfs = true, true, true, true
	if options.Dir != "" {
		options.Dir += "/" + c.name
	}
	bed, err := testbed.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	client, err := bed.Client(testbed.Admin)
	if err != nil {
		return nil, err
	}
	if err := testbed.AddNodes(ctx, client, testbed.NodeOptions{Count: j.nodes, CPU: "8", Memory: "32Gi"}); err != nil {
		return nil, err
	}
	if err := c.start(ctx, bed); err != nil {
		return nil, err
	}
	return testbed.RunSuite(ctx, bed, testbed.SuiteOptions{Program: program, Focus: j.focus, Labels: defaultFeatures, Name: "suite"})
}

// printVerdicts prints a table, and why tests failed or were skipped, and returns how many pass with the first alone, or fail where there
// is one.
func printVerdicts(out io.Writer, candidates []candidate, found [][]testbed.Verdict) (failed int) {
	rows, names := map[string][]testbed.Verdict{}, []string{}
	for i, list := range found {
		for _, v := range list {
			if rows[v.Test] == nil {
				rows[v.Test] = make([]testbed.Verdict, len(candidates))
				names = append(names, v.Test)
			}
			rows[v.Test][i] = v
		}
	}
	fmt.Fprint(out, "| test |")
	for _, c := range candidates {
		fmt.Fprintf(out, " %s |", c.name)
	}
	fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("---|", len(candidates)))
	for _, name := range names {
		row := rows[name]
		fmt.Fprintf(out, "| %s |", strings.ReplaceAll(name, "|", "\\|"))
		for _, v := range row {
			fmt.Fprintf(out, " %s |", strings.TrimSpace(v.State+" "+took(v)))
		}
		fmt.Fprintln(out)
		last := row[len(row)-1]
		if len(row) > 1 && row[0].State == "passed" && last.State != "passed" || len(row) == 1 && last.Failed() {
			failed++
		}
	}
	for _, name := range names {
		for i, v := range rows[name] {
			if v.State != "passed" && v.Message != "" {
				fmt.Fprintf(out, "\n%s, %s: %s: %s\n", name, candidates[i].name, v.State, v.Message)
			}
		}
	}
	return failed
}

func took(v testbed.Verdict) string {
	if v.State != "passed" && v.State != "failed" {
		return ""
	}
	return v.Took.Round(100 * time.Millisecond).String()
}
