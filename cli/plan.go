package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
	"fairlead.dev/fairlead/whatif"
)

// This file is the command plan: flags to what is to be different about a cluster, a simulation of that, and what
// package whatif makes of it.

// exitChanges says that something would change, as the help says.
const exitChanges = 3

// errChanges is that exit code, of which nothing is printed.
var errChanges = errors.New("something changes")

// planFlags are the flags of plan that are its own, as they were typed.
type planFlags struct {
	known              policies.List
	add, drain, remove []string
	scale, files       []string
	format, spec       string
	offers, namespace  string

	prices map[string]float64 // an hour, by kind of node
}

func newPlan(known policies.List) *cobra.Command {
	f := planFlags{known: known}
	c := &cobra.Command{
		Use:   "plan",
		Short: "Say what would change: nodes added, drained or removed, workloads scaled or applied",
		Long: `Plan reads a cluster as kubectl prints it, makes the changes that are asked for, and lets
the policy decide until nothing more happens. It prints who would be placed, moved,
evicted or left waiting, and why, beside the numbers before and after. Nothing is done
to any cluster. Without changes it says what the policy would do by itself.

Pods of a node that is drained or removed wait, as their controllers make them again, and
those of DaemonSets stay or go with their node; a node that is added brings those of the
node that it is like. A workload is scaled by pods like its own. Manifests take the place of
the workloads of their names. Running pods are not moved, though they may be evicted for
those of higher priority; --without none lets the policy move them as well.

Exit codes: 0 means that nothing changes, 3 that something does.`,
		Example: `  fairlead plan --cluster kubernetes:me.json --drain node-7,node-8
  fairlead plan --cluster kubernetes:me.json --add-nodes 10:like=node-7
  fairlead plan --cluster kubernetes:me.json --scale deploy/web=30
  fairlead plan --cluster kubernetes:me.json -f app.yaml -o json
  fairlead plan --cluster kubernetes:me.json --remove node-7 --policy kube`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			plan, err := f.plan(c)
			if err != nil {
				return usage(c, err)
			}
			ctx, stop := stoppable(c)
			defer stop()
			return f.run(ctx, plan, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	registerWorld(c, known, "fairlead", "the policy that decides; see 'fairlead policies'")
	register(c, runFlags())
	s := c.Flags()
	s.StringVar(&f.spec, "spec", "", "the run of `FILE`, as 'fairlead simulate --print-spec' prints it; other flags change that")
	s.StringArrayVar(&f.add, "add-nodes", nil, "add so many nodes like one that is there: `COUNT:like=NODE`; may be given several times")
	s.StringSliceVar(&f.drain, "drain", nil, "drain the `NODES`, with commas between them: they take no pods, and keep only their own")
	s.StringSliceVar(&f.remove, "remove", nil, "remove the `NODES`, with commas between them")
	s.StringArrayVar(&f.scale, "scale", nil, "give a workload so many pods: `[NAMESPACE/]KIND/NAME=PODS`, such as deploy/web=30; may be given several times")
	s.StringArrayVarP(&f.files, "filename", "f", nil, "apply the manifests of `FILE`, or - for the standard input; may be given several times")
	s.StringVarP(&f.namespace, "namespace", "n", "", "the namespace of manifests, and of workloads of --scale, that name none (default: default; a workload is looked for in all)")
	s.StringVar(&f.offers, "offers", "", "`FILE` with what kinds of nodes cost, as of 'fairlead capacity nodes': a node is of the kind that its label node.kubernetes.io/instance-type names")
	s.StringVarP(&f.format, "output", "o", "text", "text or json")
	complete(c, "output", "text", "json")
	return c
}

// plan turns the flags into a simulation, or says what is wrong with each.
func (f *planFlags) plan(c *cobra.Command) (*simulation, error) {
	r := &specReader{flags: c.Flags(), known: f.known, file: f.spec, stdin: c.InOrStdin()}
	spec, err := r.read()
	if err != nil {
		return nil, err
	}
	calm(f.known, &spec, c.Flags())
	r.report("cluster", spec.Source.AsDump())
	if len(spec.Policies) > 1 {
		r.report("policy", fmt.Errorf("there are %d, want one", len(spec.Policies)))
	}
	if len(spec.Seeds) > 1 {
		r.report("seeds", fmt.Errorf("there are %d, want one", len(spec.Seeds)))
	}
	r.report("output", checkAnswer(f.format))
	if url, err := setup.ParseURL(spec.Source.Cluster); err == nil && url.File() == trace.Stdin && slices.Contains(f.files, trace.Stdin) {
		r.report("filename", errors.New("- is the standard input, which --cluster reads"))
	}
	if f.offers != "" {
		offers, err := readOffersFile(f.offers, c.InOrStdin())
		if err != nil {
			return nil, err
		}
		f.prices = map[string]float64{}
		for i := range offers {
			f.prices[offers[i].Name] = offers[i].Price
		}
	}
	changes, errs := f.changes()
	r.wrong = append(r.wrong, errs...)
	plan, err := r.plan(spec)
	if err != nil {
		return nil, err
	}
	if err := plan.Sources.Change(changes); err != nil {
		return nil, fmt.Errorf("--cluster: %w", err)
	}
	return &simulation{Plan: plan, notes: &notePrinter{}}, nil
}

// calm has policies move nobody, unless somebody says what they are to do without.
func calm(known policies.List, spec *setup.Spec, flags *pflag.FlagSet) {
	if without := flags.Lookup("without"); without == nil || without.Changed {
		return
	}
	for i := range spec.Policies {
		p := &spec.Policies[i]
		info, err := known.Find(p.Name)
		if err != nil {
			continue
		}
		for _, x := range info.Options {
			if x.Name == "without" {
				p.Options = info.With(p.Options, &x, "moves")
			}
		}
	}
}

// changes are those that the flags ask for.
func (f *planFlags) changes() (*kubernetes.Changes, []error) {
	c := &kubernetes.Changes{Drain: trimmed(f.drain), Remove: trimmed(f.remove), Apply: f.files, Namespace: f.namespace}
	var errs []error
	for _, text := range f.add {
		count, like, ok := strings.Cut(text, ":like=")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || n < 1 || like == "" {
			errs = append(errs, fmt.Errorf("--add-nodes: %q, want a number and a node that is there, such as 10:like=node-7", text))
		}
		c.Add = append(c.Add, kubernetes.Copies{Count: n, Like: like})
	}
	for _, text := range f.scale {
		at := strings.LastIndex(text, "=")
		n, err := strconv.Atoi(text[at+1:])
		if at < 1 || err != nil || n < 0 {
			errs = append(errs, fmt.Errorf("--scale: %q, want a workload and its number of pods, such as deploy/web=30", text))
			continue
		}
		owner := text[:at]
		if f.namespace != "" && strings.Count(owner, "/") < 2 {
			owner = f.namespace + "/" + owner
		}
		c.Scale = append(c.Scale, kubernetes.Size{Owner: owner, Pods: n})
	}
	for _, of := range []struct {
		flag  string
		names []string
	}{{"drain", f.drain}, {"remove", f.remove}, {"filename", f.files}} {
		for _, name := range of.names {
			if strings.TrimSpace(name) == "" {
				errs = append(errs, fmt.Errorf("--%s: a name that is empty", of.flag))
			}
		}
	}
	return c, errs
}

// trimmed are the names of a list without the spaces behind its commas.
func trimmed(names []string) (list []string) {
	for _, name := range names {
		list = append(list, strings.TrimSpace(name))
	}
	return list
}

// run simulates and prints what is different.
func (f *planFlags) run(ctx context.Context, s *simulation, stdout, stderr io.Writer) error {
	s.compile(ctx, stderr)
	beQuick()
	job := s.jobs()[0]
	var dump *kubernetes.Source
	was := make(chan asItWas, 1)
	s.opened = func(o setup.Opened) {
		dump = o.Dump()
		beThrifty(6)
		go func() { was <- s.unchanged(ctx, o, f.prices) }()
	}
	end, err := s.runToEnd(ctx, job, stderr)
	if err != nil {
		return err
	}
	before := <-was
	if before.err != nil {
		return before.err
	}
	changed := dump.Changed()
	diff := whatif.Compare(standings(changed.Before), endings(&end), standings(changed.Gone))
	diff.Policy, diff.Pending = job.Policy.Name, job.result.Pending
	if diff.Pending == nil {
		diff.Pending = []report.Pending{}
	}
	diff.Budgets = append(diff.Budgets, budgetsOf(&before, diff)...)
	diff.Keep(before.kept, keptIn(&end))
	diff.Before.Cost, diff.After.Cost = before.cost, costOf(&end, f.prices)
	diff.Before.Nodes, diff.After.Nodes = changed.Nodes, job.result.Nodes
	for _, s := range changed.Before {
		if s.Pinned && slices.Contains(trimmed(f.drain), s.Node) {
			diff.Stay++
		}
	}
	if err := writeAnswer(f.format, stdout, diff, diff.Write); err != nil {
		return err
	}
	if diff.Changes() {
		return errChanges
	}
	return nil
}

// asItWas is the cluster without the changes: how it keeps what it was asked for, and its budgets.
type asItWas struct {
	kept   whatif.Kept
	cost   whatif.Cost
	names  []string // of tasks, by row
	guards sim.Guards
	err    error
}

// unchanged looks at the cluster as it was, which takes as long as to decide about it as it would be, and so beside that.
func (s *simulation) unchanged(ctx context.Context, o setup.Opened, prices map[string]float64) asItWas {
	before, err := o.Unchanged()
	if err != nil {
		return asItWas{err: err}
	}
	end, err := s.Snapshot(before, 0, setup.Env{Stop: func() bool { return ctx.Err() != nil }})
	if err != nil {
		return asItWas{err: err}
	}
	return asItWas{kept: keptIn(&end), cost: costOf(&end, prices), names: end.Names, guards: end.Guards}
}

// keptIn is how constraints and promises are kept at the end of a run.
func keptIn(end *sim.Ending) whatif.Kept {
	kept, view := whatif.Kept{Violations: map[string]int{}, Waiting: map[string]int{}}, end.Core.View()
	for row := range cluster.ConstraintID(view.ConstraintRows()) {
		if c := view.Constraint(row); c != nil {
			kept.Violations[c.Name] += int(view.Standing(row, 1, 0).Violating)
		}
	}
	for row, name := range end.Names {
		if name == "" {
			continue
		}
		task := view.Task(cluster.TaskID(row))
		if class := &view.Classes()[task.Class]; class.Promises() && !task.Placed() {
			kept.Waiting[class.Name]++
		}
	}
	return kept
}

// costOf is what the nodes cost an hour; nothing without prices.
func costOf(end *sim.Ending, prices map[string]float64) (c whatif.Cost) {
	if prices == nil {
		return c
	}
	view := end.Core.View()
	for n := range cluster.NodeID(view.NodeRows()) {
		if !view.NodeLive(n) {
			continue
		}
		kind, _ := typeOf(view.NodeSpec(n))
		price, known := prices[kind]
		if !known {
			c.Unpriced++
			continue
		}
		c.Price += price
		if slices.ContainsFunc(view.TasksOn(n), func(t cluster.TaskID) bool { return !end.Pinned[t] }) {
			c.InUsePrice += price
		}
	}
	return c
}

// budgetsOf are the budgets of pods that leave, as they stood before anything happened, by name.
func budgetsOf(before *asItWas, diff *whatif.Diff) (list []whatif.BudgetUse) {
	leave, uses := diff.Leave(), map[string]*whatif.BudgetUse{}
	for row, name := range before.names {
		if !leave[name] {
			continue
		}
		of := before.guards.Of[row]
		_, refused := before.guards.Refuses(of, before.guards.Available[row])
		for _, budget := range of {
			use := uses[budget]
			if use == nil {
				use = &whatif.BudgetUse{Name: budget, AtOnce: int(before.guards.Spare(budget))}
				uses[budget] = use
			}
			use.Pods++
			if refused {
				use.Refused++
			}
			use.Several = use.Several || len(of) > 1
		}
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		use := uses[name]
		if use.Refused == use.Pods {
			use.AtOnce = 0
		}
		list = append(list, *use)
	}
	return list
}

// standings are those of a dump.
func standings(list []kubernetes.Standing) []whatif.Standing {
	all := make([]whatif.Standing, len(list))
	for i, s := range list {
		all[i] = whatif.Standing(s)
	}
	return all
}

// endings are where tasks stand at the end of a run.
func endings(end *sim.Ending) []whatif.Standing {
	var all []whatif.Standing
	view := end.Core.View()
	for row, name := range end.Names {
		if name == "" {
			continue
		}
		task := view.Task(cluster.TaskID(row))
		s := whatif.Standing{Pod: name, Owner: end.Owners[row], Pinned: end.Pinned[row]}
		if task.Placed() {
			s.Node = view.NodeSpec(task.Node).Name
		}
		all = append(all, s)
	}
	return all
}
