package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/setup"
)

// This file translates flags to a spec of the run. A flag says what a field of the same name does,
// with _ for -; nothing is judged here that the spec judges itself.

// specFlag is a flag that changes a spec.
type specFlag struct {
	name, help string
	usual      any // a text, number or truth; its type is that of the flag
	set        func(s *setup.Spec, text string) error
}

// into sets a field to the text.
func into(field func(*setup.Spec) *string) func(*setup.Spec, string) error {
	return func(s *setup.Spec, text string) error {
		*field(s) = text
		return nil
	}
}

// worldFlags say what world it is that tasks are placed in.
func worldFlags() []specFlag {
	return []specFlag{
		{"cluster", "`SRC` of the nodes (default: the workload's, or " + setup.DefaultSource + ")", "", into(func(s *setup.Spec) *string { return &s.Source.Cluster })},
		{"workload", "`SRC` of the tasks (default: the cluster's)", "", into(func(s *setup.Spec) *string { return &s.Source.Workload })},
		{"beside", "`SRC` of further tasks, which are submitted beside the workload's (default: none)", "", into(func(s *setup.Spec) *string { return &s.Source.Beside })},
		{"data", setup.DataHelp + " (default: what the source says)", "", into(func(s *setup.Spec) *string { return &s.Source.Data })},
		{"speedup", "divide all times of the source by this", 1.0, func(s *setup.Spec, text string) (err error) {
			s.Source.Speedup, err = strconv.ParseFloat(text, 64)
			return err
		}},
		{"overcommit", "multiply capacities by kind, such as cpu=1.6,memory=2", "", func(s *setup.Spec, text string) (err error) {
			s.World.Overcommit, err = setup.ParseOvercommit(text)
			return err
		}},
		{"initial", "what runs at the start: keep it where it is, or place it anew", "keep", into(func(s *setup.Spec) *string { return &s.World.Initial })},
		{"overheads", "how long a run takes to begin: hot=2s,cold=8s,first=0s (first is for the first run of a task, where that differs from cold), or a `FILE` of lines 'hot SECONDS', 'cold SECONDS', 'first SECONDS' or 'SECONDS' to draw from", "", func(s *setup.Spec, text string) error {
			return s.World.Overheads.Parse(text)
		}},
		{"evicted-work", "what an evicted task has done is lost or kept", "lost", into(func(s *setup.Spec) *string { return &s.World.EvictedWork })},
		{"heartbeat", "gather events and plan at multiples of this `time`; 0s plans at once (default: 10s for the family constraint, 0s for others)", "", func(s *setup.Spec, text string) error {
			return forEach(s, text, func(p *setup.Policy, t *setup.Time) { p.Heartbeat = t })
		}},
		{"watchdog", "plan at least this often while tasks wait; 0s plans only when something has happened (default: 30s for qos, 0s for others)", "", func(s *setup.Spec, text string) error {
			return forEach(s, text, func(p *setup.Policy, t *setup.Time) { p.Watchdog = t })
		}},
		{"planner-time", "what planning costs in the simulation: ticks (the same on every machine), zero, or measured", "ticks", into(func(s *setup.Spec) *string { return &s.Limits.PlannerTime })},
		{"usage", "let nodes measure what is in use, for policies that look at it: a list such as every=30s,least=100,most=1000,noise=50 (a run uses from least to most of what it asks for, and measurements are off by up to noise, in thousandths)", "", func(s *setup.Spec, text string) error {
			return s.World.Usage.Parse(text)
		}},
		{"faults", "none, hostile, or a list such as node-loss=10d,down=20m,bind-refused=20,bind-late=10,evict-late=500,evict-refused=50,grace=30s,twice=50,late=50,foreign=5m (times between faults, or chances in thousandths)", "none", func(s *setup.Spec, text string) error {
			return s.World.Faults.Parse(text)
		}},
		{"power", setup.PowerHelp(), "", func(s *setup.Spec, text string) error {
			return s.World.Power.Parse(text)
		}},
		{"node-prices", "measure what nodes cost, by the price of an hour of those with a label or of a group: a `LIST` such as provider=aws:0.192,provider=gcp:0.17,other:0.1, of which the first counts that is of a node (default: none)", "", into(func(s *setup.Spec) *string { return &s.World.NodePrices })},
		{"classes", "`TABLE` of what was promised to whom: " + strings.Join(class.PresetNames(), ", ") + ", or a file; see 'fairlead classes' (default: google; none for a cluster's dump)", "", into(func(s *setup.Spec) *string { return &s.Classes })},
		{"tiers", "give a tier to each node that has none, in the order in which they join: `HIGH/AVERAGE/LOW`, such as 5/5/5, and so on in turn", "", into(func(s *setup.Spec) *string { return &s.World.Tiers })},
		{"lenient", "count broken lines of the source and leave them out", false, func(s *setup.Spec, text string) (err error) {
			s.Source.Lenient, err = strconv.ParseBool(text)
			return err
		}},
	}
}

// runFlags say which runs there are in that world.
func runFlags() []specFlag {
	return []specFlag{
		{"long-running", "`POLICY` of the family constraint that places long-running applications in a lane of their own, beside each of --policy (default: those place them too)", "", func(s *setup.Spec, text string) error {
			switch was := s.LongRunning; {
			case text == "":
				s.LongRunning = nil
			case was == nil || was.Name != text: // else it keeps what is chosen about it
				s.LongRunning = &setup.Policy{Name: text}
			}
			return nil
		}},
		{"seeds", "seeds to run each policy with, such as 7 or 1-10 or 1,5,9", "1", func(s *setup.Spec, text string) error { return s.Seeds.UnmarshalText([]byte(text)) }},
		{"until", "`time` at which to stop, such as 90m or 29d (default: " + setup.DefaultUntil + " for sources without end, else the end)", "", func(s *setup.Spec, text string) (err error) {
			s.Limits.Until, err = optional(text)
			return err
		}},
	}
}

// optional is a time that may be left out: nil then.
func optional(text string) (*setup.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // left out, and that is fine
	}
	t := new(setup.Time)
	return t, t.UnmarshalText([]byte(text))
}

// forEach sets a time of every policy.
func forEach(s *setup.Spec, text string, set func(*setup.Policy, *setup.Time)) error {
	t, err := optional(text)
	for i := range s.Policies {
		set(&s.Policies[i], t)
	}
	return err
}

// register makes flags of the command.
func register(c *cobra.Command, flags []specFlag) {
	s := c.Flags()
	for _, f := range flags {
		switch usual := f.usual.(type) {
		case string:
			s.String(f.name, usual, f.help)
		case float64:
			s.Float64(f.name, usual, f.help)
		case bool:
			s.Bool(f.name, usual, f.help)
		}
	}
}

// registerWorld registers the flags that say what world it is that tasks are placed in, and by which
// policy, with its options.
func registerWorld(c *cobra.Command, known policies.List, policy, help string) {
	c.Flags().String("policy", policy, help)
	complete(c, "policy", known.Names()...)
	register(c, worldFlags())
	for _, x := range known.Options() {
		if x.Values == nil {
			usual, _ := strconv.Atoi(x.Default) // 0 where it has none
			c.Flags().Int(x.Flag(), usual, x.Help)
			continue
		}
		c.Flags().String(x.Flag(), x.Default, x.Help)
		complete(c, x.Flag(), x.Values...)
	}
	complete(c, "data", "hdfs", "bounded", "uniform", "skewed")
	complete(c, "initial", "keep", "place")
	complete(c, "evicted-work", "lost", "kept")
	complete(c, "planner-time", "ticks", "zero", "measured")
	complete(c, "faults", "none", "hostile")
	_ = c.RegisterFlagCompletionFunc("classes", cobra.FixedCompletions(class.PresetNames(), cobra.ShellCompDirectiveDefault)) // or a file
}

// complete lets a shell complete the values of a flag.
func complete(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// specReader reads a spec off the flags.
type specReader struct {
	flags *pflag.FlagSet
	known policies.List
	file  string // which the flags change, or - for the standard input; empty: they change the newcomer's run
	stdin io.Reader
	wrong []error
}

// report notes what is wrong with a flag, if anything is.
func (r *specReader) report(flag string, err error) {
	if err != nil {
		r.wrong = append(r.wrong, fmt.Errorf("--%s: %w", flag, err))
	}
}

// read is the spec of the file or the newcomer's, changed by the flags that were given. An error is one of
// the file.
func (r *specReader) read() (s setup.Spec, err error) {
	s = setup.Default()
	if r.file != "" {
		in, err := openInput(r.file, r.stdin)
		if err != nil {
			return s, fmt.Errorf("--spec: %w", err)
		}
		text, err := document.ReadAll(in)
		if err := errors.Join(err, in.Close()); err != nil {
			return s, fmt.Errorf("--spec: %s: %w", inputName(r.file), err)
		}
		if s, err = setup.Read(inputName(r.file), text); err != nil {
			return s, err
		}
	}
	if r.file == "" || r.flags.Changed("policy") {
		choosePolicies(&s, r.text("policy"))
	}
	for _, x := range r.known.Options() {
		if r.flags.Changed(x.Flag()) {
			r.report(x.Flag(), r.choose(&s, &x, r.text(x.Flag())))
		}
	}
	for _, f := range append(worldFlags(), runFlags()...) {
		if r.flags.Changed(f.name) {
			r.report(f.name, f.set(&s, r.text(f.name)))
		}
	}
	return s, nil
}

// text is what was typed for a flag.
func (r *specReader) text(flag string) string { return r.flags.Lookup(flag).Value.String() }

// plan checks the spec. What is wrong is said by flag, but for what the file says.
func (r *specReader) plan(s setup.Spec) (*setup.Plan, error) {
	plan, err := s.Plan(r.known)
	if err == nil && len(r.wrong) == 0 {
		err = plan.Sources.Check()
	}
	mistakes, _ := errors.AsType[setup.SpecErrors](err)
	for _, m := range mistakes {
		r.wrong = append(r.wrong, r.inFlags(m))
	}
	return plan, errors.Join(r.wrong...)
}

// inFlags is a mistake as one of the flag that says so, or of the file.
func (r *specReader) inFlags(m setup.SpecError) error {
	parts := strings.FieldsFunc(m.Path, func(c rune) bool { return strings.ContainsRune(".[]", c) })
	for i, part := range slices.Backward(parts) {
		if i == 0 && ofPolicy(parts) {
			break // who names the policy does not choose that
		}
		name := strings.ReplaceAll(part, "_", "-")
		if name == "policies" {
			name = "policy"
		}
		if flag := r.flags.Lookup(name); flag == nil || r.file != "" && !flag.Changed {
			continue
		}
		if kind := strings.Join(parts[i+1:], "."); name == "overcommit" && kind != "" {
			return fmt.Errorf("--%s: %s: %w", name, kind, m.Err)
		}
		return fmt.Errorf("--%s: %w", name, m.Err)
	}
	if r.file == "" {
		return m
	}
	return fmt.Errorf("%s: %w", inputName(r.file), m)
}

// ofPolicy reports whether the path is of something that is chosen about a policy, and not its name:
// policies[0].options.solver.
func ofPolicy(path []string) bool {
	field := map[string]int{"policies": 2, "long_running": 1}[path[0]]
	return field > 0 && field < len(path) && path[field] != "name"
}

// choosePolicies replaces the policies. Those that stay keep what is chosen about them.
func choosePolicies(s *setup.Spec, names string) {
	were := s.Policies
	s.Policies = nil
	for name := range strings.SplitSeq(names, ",") {
		policy := setup.Policy{Name: strings.TrimSpace(name)}
		if at := slices.IndexFunc(were, func(p setup.Policy) bool { return p.Name == policy.Name }); at >= 0 {
			policy = were[at]
		}
		s.Policies = append(s.Policies, policy)
	}
}

// choose chooses an option of every policy that takes it.
func (r *specReader) choose(s *setup.Spec, x *policies.Option, text string) error {
	if err := x.Check(text); err != nil {
		return err
	}
	taken := text == "" || text == "0" || x.Useless == ""
	var names []string
	for i := range s.Policies {
		p := &s.Policies[i]
		names = append(names, p.Name)
		info, err := r.known.Find(p.Name)
		taken = taken || err != nil || info.Takes(x.Name)
		if err == nil && info.Takes(x.Name) {
			p.Options = info.With(p.Options, x, text)
		}
	}
	if !taken {
		return fmt.Errorf("none of the policies %s %s", strings.Join(names, ", "), x.Useless)
	}
	return nil
}
