package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
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
	gates     string
	focus     string
	seed      int64
	options   testbed.Options
}

// everyTest matches the names of all tests of the scheduler.
const everyTest = `\[sig-scheduling\]`

// groupGate is the feature gate of pod groups, and a part of the names of the tests that need it.
const groupGate = "GenericWorkload"

// setting is what the bed of a run has beside upstream's defaults, and which tests apply to it.
type setting struct {
	name, words  string
	gates, serve string // as --feature-gates and --runtime-config have them
	labels       string // in Ginkgo's language
	groups       bool   // tests of pod groups are among them
}

// settings are with upstream's defaults, and with pod groups and all that Kubernetes 1.37 has for them.
func settings() []setting {
	const byDefault = "!/^Feature:OffByDefault/"
	return []setting{
		{name: "defaults", words: "upstream's defaults", labels: byDefault},
		{
			name: "workloads", words: "pod groups",
			gates:  groupGate + "=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true,PodGroupPreemptionPolicy=true",
			serve:  "scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true",
			labels: byDefault + " || /^FeatureGate:" + groupGate + "$/", groups: true,
		},
	}
}

func newJudge() *cobra.Command {
	var j judge
	c := &cobra.Command{
		Use:   "judge",
		Short: "Run upstream's [sig-scheduling] tests against kube-scheduler and a fairlead-scheduler",
		Long: `Judge runs Kubernetes' own end-to-end tests of the scheduler, one after the other,
on a fresh cluster that kube-scheduler serves, and on one whose default-scheduler is a
fairlead-scheduler with the roles that it is shipped with, and prints what became of each test:
once with upstream's defaults, and once with pod groups and the feature gates that belong to them.
It fails if a test that passes with kube-scheduler does not pass with ours, or if one of pod groups
is skipped.`,
		Example: `  fairlead-testbed judge --scheduler ../bin/fairlead-scheduler
  fairlead-testbed judge --scheduler ../bin/fairlead-scheduler --focus SchedulerPreemption --only fairlead --gates defaults`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return j.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	f := c.Flags()
	f.IntVar(&j.nodes, "nodes", 3, "fake nodes, in three zones; with six of them one test does not come to its end in time")
	f.StringVar(&j.scheduler, "scheduler", "", "the fairlead-scheduler to judge")
	f.StringVar(&j.only, "only", "", "kube-scheduler or fairlead alone")
	f.StringVar(&j.gates, "gates", "", "defaults or workloads alone: feature gates as upstream has them, or with pod groups")
	f.StringVar(&j.focus, "focus", everyTest, "the tests whose names match this regular expression")
	f.Int64Var(&j.seed, "seed", 0, "of the order of the tests; 0 takes one by chance, and says which")
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
		if err := testbed.GrantRoles(ctx, bed); err != nil {
			return err
		}
		return bed.StartFairlead(ctx, j.scheduler, "{schedulerName: default-scheduler, policy: fairlead}", flatOut)
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
	all := settings()
	chosen := slices.DeleteFunc(slices.Clone(all), func(s setting) bool { return j.gates != "" && j.gates != s.name })
	if len(chosen) == 0 {
		return fmt.Errorf("--gates %q: there are %s and %s", j.gates, all[0].name, all[1].name)
	}
	if j.seed == 0 {
		j.seed = 1 + rand.Int64N(1_000_000)
	}
	program, err := testbed.BuildSuite(ctx, log)
	if err != nil {
		return err
	}
	var failed error
	for _, s := range chosen {
		found := make([][]testbed.Verdict, len(candidates))
		for i, c := range candidates {
			fmt.Fprintf(log, "judging %s with %s, --seed %d\n", c.name, s.words, j.seed)
			if found[i], err = j.judge(ctx, program, s, c); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "\nWith %s:\n\n", s.words)
		leftOut := takeOut(found)
		printVerdicts(out, candidates, found)
		if !j.focused() {
			printLeftOut(out, leftOut)
		}
		if err := complaint(s, j.focused(), candidates, found); err != nil {
			failed = errors.Join(failed, fmt.Errorf("with %s %w", s.words, err))
		}
	}
	return failed
}

// focused reports whether not all of the tests were to run.
func (j *judge) focused() bool { return j.focus != everyTest }

// judge runs the suite on a fresh cluster.
func (j *judge) judge(ctx context.Context, program string, s setting, c candidate) (list []testbed.Verdict, err error) {
	options := j.options
	options.ControllerManager, options.Kwok, options.NodesAlone, options.Tmpfs = true, true, true, true
	options.FeatureGates = s.gates
	if s.serve != "" {
		options.APIServerFlags = append(slices.Clone(options.APIServerFlags), "--runtime-config="+s.serve)
	}
	if options.Dir != "" {
		options.Dir += "/" + s.name + "-" + c.name
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
	return testbed.RunSuite(ctx, bed, testbed.SuiteOptions{Program: program, Focus: j.focus, Labels: s.labels, Seed: j.seed, Name: "suite"})
}

// byTest are the verdicts of one test after the other, one for each candidate.
func byTest(candidates []candidate, found [][]testbed.Verdict) (names []string, rows map[string][]testbed.Verdict) {
	rows = map[string][]testbed.Verdict{}
	for i, list := range found {
		for _, v := range list {
			if rows[v.Test] == nil {
				rows[v.Test] = make([]testbed.Verdict, len(candidates))
				names = append(names, v.Test)
			}
			rows[v.Test][i] = v
		}
	}
	return names, rows
}

// complaint says how many tests pass with the first candidate alone, or fail where there is one; and whether those of pod groups were skipped,
// or none of them was there.
func complaint(s setting, focused bool, candidates []candidate, found [][]testbed.Verdict) error {
	names, rows := byTest(candidates, found)
	failed, skipped, groups, unlisted := 0, 0, 0, 0
	for _, name := range names {
		row := rows[name]
		last := row[len(row)-1]
		if len(row) > 1 && row[0].State == "passed" && last.State != "passed" || len(row) == 1 && last.Failed() {
			failed++
		}
		if slices.ContainsFunc(row, func(v testbed.Verdict) bool { return v.State == "skipped" }) {
			unlisted++
		}
		if s.groups && strings.Contains(name, "[FeatureGate:"+groupGate+"]") {
			groups++
			if slices.ContainsFunc(row, func(v testbed.Verdict) bool { return v.State == "skipped" }) {
				skipped++
			}
		}
	}
	switch last := candidates[len(candidates)-1].name; {
	case failed > 0 && len(candidates) == 1:
		return fmt.Errorf("%d tests do not pass with %s", failed, last)
	case failed > 0:
		return fmt.Errorf("%d tests pass with %s and not with %s", failed, candidates[0].name, last)
	case skipped > 0:
		return fmt.Errorf("%d tests of pod groups are skipped, although their gates are on", skipped)
	case unlisted > 0:
		return fmt.Errorf("%d tests skip themselves: none of the reasons why a test may be left out", unlisted)
	case s.groups && groups == 0 && !focused:
		return errors.New("no test of pod groups ran")
	}
	return nil
}

// printVerdicts prints a table, and why tests failed or were skipped.
func printVerdicts(out io.Writer, candidates []candidate, found [][]testbed.Verdict) {
	names, rows := byTest(candidates, found)
	fmt.Fprint(out, "| test |")
	for _, c := range candidates {
		fmt.Fprintf(out, " %s |", c.name)
	}
	fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("---|", len(candidates)))
	for _, name := range names {
		fmt.Fprintf(out, "| %s |", strings.ReplaceAll(name, "|", "\\|"))
		for _, v := range rows[name] {
			fmt.Fprintf(out, " %s |", strings.TrimSpace(v.State+" "+took(v)))
		}
		fmt.Fprintln(out)
	}
	for _, name := range names {
		for i, v := range rows[name] {
			if v.State != "passed" && v.Message != "" {
				fmt.Fprintf(out, "\n%s, %s: %s: %s\n", name, candidates[i].name, v.State, v.Message)
			}
		}
	}
}

// takeOut takes the tests that do not apply out of the verdicts, and returns those of the first candidate: they are the same for all.
func takeOut(found [][]testbed.Verdict) (leftOut []testbed.Verdict) {
	for i, list := range found {
		found[i] = slices.DeleteFunc(list, func(v testbed.Verdict) bool {
			is := v.State == testbed.LeftOut
			if is && i == 0 {
				leftOut = append(leftOut, v)
			}
			return is
		})
	}
	return leftOut
}

// printLeftOut prints which tests do not apply, and why.
func printLeftOut(out io.Writer, list []testbed.Verdict) {
	fmt.Fprintf(out, "\nLeft out: %d tests.\n", len(list))
	for _, v := range list {
		fmt.Fprintf(out, "- %s: %s\n", v.Test, v.Message)
	}
}

func took(v testbed.Verdict) string {
	if v.State != "passed" && v.State != "failed" {
		return ""
	}
	return v.Took.Round(100 * time.Millisecond).String()
}
