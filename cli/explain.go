package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/explain"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
	"fairlead.dev/fairlead/whatif"
)

// The command explain: flags to a moment of a simulation or of a recording, and a question about
// it, which package explain answers.

func newExplain(known policies.List) *cobra.Command {
	f := explainFlags{known: known}
	c := &cobra.Command{
		Use:   "explain",
		Short: "Say why tasks wait, what they could have, and what one more node is worth",
		Long: `Explain simulates up to a moment, or replays a recording up to it, and says what
the policy was faced with then. With --task it lists the nodes that the task could
go to with the parts of their prices, what waiting costs, and why the other nodes do
not take it; a task that has a node is treated as if it had just left it. Of a workload
or pod group it says that of all that wait, and of one of them more. Without
--task it says why tasks wait, and what one more node of each kind would be worth.

Policy fairlead says how a task stands: what it was promised and has had, who comes
before it, who would have to leave for it and why nobody does, and which nodes are
kept free for whom; its prices are in thousandths of what so much room is worth in the
mean. Policies of the flow family that have a model give prices without a unit, which
can be compared with each other, and with what waiting costs. For others it says which
nodes would take the task.

Where nodes and tasks come from, SRC, says 'fairlead help sources'.`,
		Example: `  fairlead explain --at 10m --cluster 'synthetic:google?nodes=20'
  fairlead explain --at 10m --cluster 'synthetic:google?nodes=20' --task 1/0
  fairlead explain --at 10m --cluster 'synthetic:google?nodes=20' --policy cpu-mem --task 1/0
  fairlead explain --at 13m --spec run.yaml
  fairlead explain --at 13m --workload recording:DIR --task web#17 -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := f.check(c.Flags())
			if err != nil {
				return usage(c, err)
			}
			var m *explain.Moment
			if namesRecording(c) {
				m, err = f.replay(c, at)
			} else {
				m, err = f.simulate(c, at)
			}
			if err == nil {
				err = f.answer(m, c.OutOrStdout())
			}
			if wrong, ok := errors.AsType[explain.QuestionError](err); ok {
				return fmt.Errorf("--%w", wrong)
			}
			return hinted(err)
		},
	}
	f.register(c)
	return c
}

// explainFlags are the flags of explain as they were typed.
type explainFlags struct {
	known  policies.List
	spec   string
	seed   uint64
	at     string
	task   string
	most   int
	format string

	// Of a cluster's dump, where no moment is named.
	dump   *kubernetes.Source
	policy string
	placed []whatif.Placed // that wait there and find a place
}

func (f *explainFlags) register(c *cobra.Command) {
	registerWorld(c, f.known, "fairlead", "the policy that decides; see 'fairlead policies'")
	s := c.Flags()
	s.StringVar(&f.spec, "spec", "", "explain the run of `FILE`, as 'fairlead simulate --print-spec' prints it; other flags change that")
	s.Uint64Var(&f.seed, "seed", 1, "the seed to run with")
	s.StringVar(&f.at, "at", "", "`time` that is explained, such as 90m (a cluster's dump is a moment by itself, and needs none)")
	s.StringVar(&f.task, "task", "", "the `TASK` to explain, as the source names it, or by its job and index such as 17/3, or beside:17/3 if it is of --beside; of a cluster's dump also a workload or pod group, such as shop/deployment/web (default: all that wait)")
	s.IntVar(&f.most, "lines", 10, "lines to list at most: nodes, the cheapest first; reasons; kinds of nodes. JSON has all reasons and kinds")
	s.StringVarP(&f.format, "output", "o", "text", "text or json")
	complete(c, "output", "text", "json")
}

// check says what is wrong with the flags that are explain's own.
func (f *explainFlags) check(flags *pflag.FlagSet) (at cluster.Time, err error) {
	var errs []error
	if f.at == "" {
		at = cluster.Hour // nothing happens by itself in a dump: what the policy does is done by then, as plan has it
	} else if at, err = setup.ParseUntil(f.at); err != nil {
		errs = append(errs, fmt.Errorf("--at: %w", err))
	}
	if f.most < 1 {
		errs = append(errs, fmt.Errorf("--lines: %d, want a number from 1", f.most))
	}
	if err := checkAnswer(f.format); err != nil {
		errs = append(errs, fmt.Errorf("--output: %w", err))
	}
	if policy := flags.Lookup("policy").Value.String(); strings.Contains(policy, ",") {
		errs = append(errs, fmt.Errorf("--policy: %s, want one policy", policy))
	}
	return at, errors.Join(errs...)
}

// simulate runs up to the moment.
func (f *explainFlags) simulate(c *cobra.Command, at cluster.Time) (*explain.Moment, error) {
	r := &specReader{flags: c.Flags(), known: f.known, file: f.spec, stdin: c.InOrStdin()}
	spec, err := r.read()
	if err != nil {
		return nil, usage(c, err)
	}
	if end := spec.Limits.Until; f.at == "" && end != nil {
		at = min(at, cluster.Time(*end))
	}
	if f.at == "" {
		calm(f.known, &spec, c.Flags())
		f.ofDump(r, &spec.Source)
	}
	if end := spec.Limits.Until; end != nil && at > cluster.Time(*end) {
		r.report("at", fmt.Errorf("%s is after the end of the run: limits.until of %s is %s", report.ShortTime(at), inputName(f.spec), end))
	}
	until := setup.Time(at)
	spec.Limits.Until = &until
	if f.spec == "" || c.Flags().Changed("seed") {
		spec.Seeds = setup.Seeds{f.seed}
	}
	if len(spec.Policies) > 1 {
		r.report("policy", fmt.Errorf("%s has %d policies; say which one to explain", inputName(f.spec), len(spec.Policies)))
	}
	if len(spec.Seeds) > 1 {
		r.report("seed", fmt.Errorf("%s has %d seeds; say which one to explain", inputName(f.spec), len(spec.Seeds)))
	}
	plan, err := r.plan(spec)
	if err != nil {
		return nil, usage(c, err)
	}
	ctx, stop := stoppable(c)
	defer stop()
	s := &simulation{Plan: plan, notes: &notePrinter{}}
	if f.at == "" && plan.Sources.Change(&kubernetes.Changes{}) == nil {
		beQuick()
		s.opened = func(o setup.Opened) {
			f.dump = o.Dump()
			beThrifty(11)
		}
	}
	m, end, err := momentOf(ctx, s, c.ErrOrStderr())
	if f.at == "" {
		f.policy = spec.Policies[0].Name
	}
	if err == nil && f.dump != nil {
		f.placed = whatif.Compare(standings(f.dump.Changed().Before), endings(end), nil).Placed
	}
	return m, err
}

// ofDump takes the source as a cluster's dump, which needs no --at.
func (f *explainFlags) ofDump(r *specReader, source *setup.Source) {
	err := source.AsDump()
	if errors.Is(err, setup.ErrNoDump) {
		r.report("at", errors.New("want the time that is to be explained, such as --at 90m"))
	} else {
		r.report("cluster", err)
	}
}

// momentOf runs the one run of a simulation to its end.
func momentOf(ctx context.Context, s *simulation, stderr io.Writer) (*explain.Moment, *sim.Ending, error) {
	s.compile(ctx, stderr)
	job, at := s.jobs()[0], s.Until(0)
	fresh, err := s.Lanes(&job.Run, setup.Env{Racer: racer, Programs: s.programs}, nil)
	if err != nil {
		return nil, nil, err
	}
	var lanes []explain.Lane
	for _, l := range fresh {
		lanes = append(lanes, explain.Lane{Policy: l.Name, Fresh: l.Policy})
	}
	end, err := s.runToEnd(ctx, job, stderr)
	if err != nil {
		return nil, nil, err
	}
	last := end.Core.View().Now()
	m, err := explain.New(end.Core, at, lanes, explain.Who{Names: end.Names, Owners: end.Owners, Gates: gatesOf(&end), Dump: s.opened != nil})
	if err == nil && last < at && m.Tasks() == 0 && s.opened == nil {
		err = explain.QuestionError{Part: "at", Err: fmt.Errorf("nothing is left at %s; the last thing happened at %s", report.ShortTime(at), report.ShortTime(last))}
	}
	return m, &end, err
}

// gatesOf says of tasks that are gated what by.
func gatesOf(end *sim.Ending) []string {
	gates := make([]string, len(end.Gates))
	for row, gate := range end.Gates {
		if gate != "" {
			gates[row] = sim.Gated(gate)
		}
	}
	return gates
}

// replay replays a recording up to the moment.
func (f *explainFlags) replay(c *cobra.Command, at cluster.Time) (*explain.Moment, error) {
	files, wanted, err := recordingFlags(c, "workload", "policy", "at", "task", "lines", "output")
	if err != nil {
		return nil, err
	}
	return explain.Replay(files, at, replayer{f.known, wanted}.policyOf, setup.RecordedUntil)
}

// answer explains the moment.
func (f *explainFlags) answer(m *explain.Moment, out io.Writer) error {
	answer, err := m.Answer(explain.Question{Task: f.task, Nodes: f.most})
	if err != nil {
		return err
	}
	for _, p := range f.placed {
		if f.task == "" || f.task == p.Owner || answer.Task.Name == p.Pod {
			answer.Placed = append(answer.Placed, explain.Place{Task: p.Pod, Node: p.Node})
		}
	}
	text := explain.Text{Lines: f.most, More: "--lines says how many to list", Dump: f.policy}
	return writeAnswer(f.format, out, answer, func(out io.Writer) error { return text.Write(out, answer) })
}
