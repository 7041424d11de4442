package cli

import (
	"context"
	"io"
	"sync"

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
const advisedPolicies = "fairlead,kube-scheduler,best-fit"

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
			r.report("cluster", spec.Source.AsDump())
			r.report("output", checkAnswer(format))
			plan, err := r.plan(spec)
			if err == nil {
				err = plan.Sources.Change(&kubernetes.Changes{})
			}
			if err != nil {
				return usage(c, err)
			}
			ctx, stop := stoppable(c)
			defer stop()
			advice, err := adviseOn(ctx, &simulation{Plan: plan, notes: &notePrinter{}}, c.ErrOrStderr())
			if err != nil {
				return err
			}
			return writeAnswer(format, c.OutOrStdout(), advice, advice.Write)
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
	s.compile(ctx, stderr)
	beQuick()
	jobs := s.jobs()
	found := &adviser{}
	s.opened = func(o setup.Opened) { found.first.Do(func() { found.dump = o.Dump(); beThrifty(14) }) }
	s.runAll(ctx, jobs, parallelRuns(s.PlannerTime()), found.add, stderr)
	for _, j := range jobs {
		if err := j.whole(); err != nil {
			return nil, err
		}
	}
	return found.advice(), nil
}

// adviser gathers outcomes, and keeps what the best of them left, as a core of each would take much memory.
type adviser struct {
	first sync.Once
	dump  *kubernetes.Source

	sync.Mutex
	outcomes map[int]advise.Outcome // by job
	before   whatif.Totals
	best     int
	end      sim.Ending
	result   report.Run
}

// add notes what came of a job.
func (a *adviser) add(i int, j *job, end *sim.Ending) {
	diff := whatif.Compare(standings(a.dump.Changed().Before), endings(end), nil)
	a.Lock()
	defer a.Unlock()
	if a.outcomes == nil {
		a.outcomes = map[int]advise.Outcome{}
	}
	o := advisedOf(j, diff)
	is, known := a.outcomes[a.best]
	if better := o.Compare(&is); !known || better < 0 || better == 0 && i < a.best {
		a.best, a.end, a.result = i, *end, j.result
	}
	a.outcomes[i], a.before = o, diff.Before
}

// advice is what all of them come to.
func (a *adviser) advice() *advise.Advice {
	advice := &advise.Advice{
		Nodes: a.result.Nodes, InUse: a.before.InUse, Running: a.before.Running, Pending: a.before.Pending, Waiting: append([]report.Pending{}, a.result.Pending...),
	}
	var outcomes []advise.Outcome
	for i := range len(a.outcomes) {
		outcomes = append(outcomes, a.outcomes[i])
	}
	advice.Rank(outcomes)
	advice.Look(&advise.Moment{Core: a.end.Core, Names: a.end.Names, Owners: a.end.Owners, Pinned: a.end.Pinned})
	return advice
}

// advisedOf is what a job came to.
func advisedOf(j *job, diff *whatif.Diff) advise.Outcome {
	o := advise.Outcome{
		Policy: j.Policy.Name, Placed: len(diff.Placed), Pending: diff.After.Pending, Evicted: len(diff.Evicted) + len(diff.Gone), Moved: len(diff.Moved), InUse: diff.After.InUse,
	}
	if c := j.result.Constraints; c != nil {
		o.Violated = c.Violated.Final
	}
	return o
}
