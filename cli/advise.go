package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/advise"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
	"fairlead.dev/fairlead/whatif"
)

// This file is the command advise: every policy decides about a cluster as it stands, and package advise says which
// serves it best and what else is to be seen there.

// advisedPolicies are those that are compared unless somebody says which.
const advisedPolicies = "fairlead,kube,best-fit"

func newAdvise(known policies.List) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "advise",
		Short: "Say which policy serves a cluster best, and what to change first",
		Long: `Advise lets each policy decide about a cluster as it stands, and says on one screen which
serves it best and why, which nodes could be switched off, what keeps pods waiting and what
would change that, how much of what is free is of no use, and which nodes are out of use.
Nothing is done to any cluster.`,
		Example: `  fairlead advise --cluster kubernetes:me.json
  fairlead advise --cluster kubernetes:me.json --policy fairlead,kube -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r := &specReader{flags: c.Flags(), known: known, stdin: c.InOrStdin()}
			spec, err := r.read()
			if err != nil {
				return usage(c, err)
			}
			calm(known, &spec, c.Flags())
			if format != "text" && format != "json" {
				r.say("output", unknown("format", format, []string{"text", "json"}))
			}
			plan, err := r.plan(spec)
			if err == nil {
				err = plan.Sources.Change(&kubernetes.Changes{})
			}
			if err != nil {
				return usage(c, err)
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop)
			advice, err := adviseOn(ctx, &simulation{Plan: plan, notes: &notePrinter{}}, c.ErrOrStderr())
			if err != nil {
				return err
			}
			return writeAdvice(advice, format, c.OutOrStdout())
		},
	}
	registerWorld(c, known, advisedPolicies, "policies to compare, with commas between them; see 'fairlead policies'")
	register(c, runFlags())
	c.Flags().StringVarP(&format, "output", "o", "text", "text or json")
	complete(c, "output", "text", "json")
	return c
}

// adviseOn simulates under each policy, and looks at what the best of them left.
func adviseOn(ctx context.Context, s *simulation, stderr io.Writer) (*advise.Advice, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	s.compile(ctx, stderr)
	jobs := s.jobs()
	ends := make([]sim.Ending, len(jobs))
	bar := newBar(stderr, len(jobs))
	var group sync.WaitGroup
	var dump *kubernetes.Source
	var first sync.Once
	s.opened = func(o setup.Opened) { first.Do(func() { dump = o.Dump() }) }
	for i, j := range jobs {
		group.Go(func() {
			j.result, j.err = s.runOne(ctx, j, func(p sim.Progress) { bar.note(i, j.Policy.Name, p) }, func(e sim.Ending) { ends[i] = e }, stderr)
			bar.done(i)
		})
	}
	group.Wait()
	bar.close()
	advice := &advise.Advice{Waiting: []report.Pending{}}
	var outcomes []advise.Outcome
	for i, j := range jobs {
		switch {
		case j.err != nil:
			return nil, j.err
		case j.result.Interrupted:
			return nil, errInterrupted
		}
		diff := whatif.Compare(standings(dump.Changed().Before), endings(&ends[i]), nil)
		advice.Nodes, advice.InUse = j.result.Nodes, diff.Before.InUse
		advice.Running, advice.Pending = diff.Before.Running, diff.Before.Pending
		outcomes = append(outcomes, advisedOf(j, diff))
	}
	advice.Rank(outcomes)
	for i, j := range jobs {
		if j.Policy.Name == advice.Policies[0].Policy {
			advice.Waiting = append(advice.Waiting, j.result.Pending...)
			end := &ends[i]
			advice.Look(&advise.Moment{Core: end.Core, Names: end.Names, Owners: end.Owners, Pinned: end.Pinned})
		}
	}
	return advice, nil
}

func advisedOf(j *job, diff *whatif.Diff) advise.Outcome {
	o := advise.Outcome{
		Policy: j.Policy.Name, Placed: len(diff.Placed), Pending: diff.After.Pending, Evicted: len(diff.Evicted), Moved: len(diff.Moved), InUse: diff.After.InUse,
	}
	if c := j.result.Constraints; c != nil {
		o.Violated = c.Violated.Final
	}
	return o
}

func writeAdvice(a *advise.Advice, format string, out io.Writer) error {
	if format == "text" {
		return a.Write(out)
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(a)
}
