package setup

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
)

// This file checks a spec. Nothing is opened but the table of classes and samples of overheads, where
// they are files, and the beginning of a source of which nobody names the format (guess.go).

// Plan is a spec that was checked.
type Plan struct {
	Spec    Spec // with all that was left out
	Sources Sources

	known  policies.List
	data   Data
	tiers  []int
	config sim.Config // without source, lanes and output; its setup is what all runs share
}

// SpecError is what is wrong with a spec, and where: source.cluster, policies[1].options.solver.
type SpecError struct {
	Path string
	Err  error
}

// Error says both.
func (m SpecError) Error() string { return m.Path + ": " + m.Err.Error() }

// SpecErrors is all that is wrong with a spec.
type SpecErrors []SpecError

// Error has a line for each.
func (m SpecErrors) Error() string {
	var lines []string
	for _, mistake := range m {
		lines = append(lines, mistake.Error())
	}
	return strings.Join(lines, "\n")
}

// planner makes a plan.
type planner struct {
	*Plan
	wrong SpecErrors
}

// report notes what is wrong at a place, if anything is.
func (p *planner) report(path string, err error) {
	if err != nil {
		p.wrong = append(p.wrong, SpecError{path, err})
	}
}

// Plan checks the spec; the policies are those that there are. The error is SpecErrors, and
// the plan then only as much as could be understood.
func (s *Spec) Plan(known policies.List) (*Plan, error) {
	p := &planner{Plan: &Plan{Spec: *s, known: known}}
	p.Spec.Policies = slices.Clone(s.Policies)
	p.sources()
	p.until()
	p.policies()
	p.world()
	p.report("limits.planner_time", choose(s.Limits.PlannerTime, &p.config.Planner.Time, map[string]sim.PlannerTime{"ticks": sim.Ticks, "zero": sim.Zero, "measured": sim.Measured}))
	if !(s.Source.Speedup >= minSpeedup && s.Source.Speedup <= maxSpeedup) {
		p.report("source.speedup", fmt.Errorf("%g, want a number from %g to %g", s.Source.Speedup, minSpeedup, maxSpeedup))
	}
	p.config.Beside = s.Source.Beside != ""
	p.config.Setup = p.setup()
	if len(p.wrong) > 0 {
		return p.Plan, p.wrong
	}
	return p.Plan, nil
}

// Input is a file or a folder that runs read, and the field of the spec that names it, such as workload.
type Input struct{ Field, File string }

// Named are the files and folders that its runs read, by the fields that name them, in an order that is always the same. What two
// fields name is there twice.
func (p *Plan) Named() []Input {
	var of []Input
	add := func(field string, files ...string) {
		for _, file := range files {
			if file != "" {
				of = append(of, Input{field, file})
			}
		}
	}
	add("cluster", p.Sources.Cluster.File(), throughputs(p.Sources.Cluster))
	add("workload", p.Sources.Workload.File(), throughputs(p.Sources.Workload))
	add("beside", p.Sources.Beside.File(), throughputs(p.Sources.Beside))
	add("overheads", p.Spec.World.Overheads.File)
	add("power", p.Spec.World.Power.file())
	if !slices.Contains(class.PresetNames(), p.Spec.Classes) {
		add("classes", p.Spec.Classes)
	}
	return of
}

// Inputs are the files and folders that its runs read, each once.
func (p *Plan) Inputs() []string {
	var files []string
	for _, input := range p.Named() {
		if !slices.Contains(files, input.File) {
			files = append(files, input.File)
		}
	}
	return files
}

// A speed-up within these leaves times that can be told from each other, and
// that do not overflow.
const (
	minSpeedup = 1e-3
	maxSpeedup = 1e6
)

func (p *planner) sources() {
	from := &p.Spec.Source
	asked := *from
	from.Cluster = cmp.Or(from.Cluster, from.Workload, DefaultSource)
	from.Workload = cmp.Or(from.Workload, from.Cluster)
	from.Cluster, from.Workload = Guess(from.Cluster), Guess(from.Workload)
	nodes, err := ParseURL(from.Cluster)
	if asked.Cluster == "" {
		p.report("source.workload", err)
	} else {
		p.report("source.cluster", err)
	}
	var tasks, beside URL
	if from.Workload != from.Cluster || err == nil {
		tasks, err = ParseURL(from.Workload)
		p.report("source.workload", err)
	}
	if from.Beside != "" {
		beside, err = ParseURL(from.Beside)
		p.report("source.beside", err)
	}
	if from.Workload == from.Cluster {
		from.Workload = ""
	}
	p.Sources = NewSources(nodes, tasks, beside, from.Lenient)
	if p.Sources.stdin() && len(p.Spec.Policies)*len(p.Spec.Seeds) > 1 {
		p.report("source.cluster", errors.New("the standard input can be read once, and there are several runs; want one policy and one seed, or a file"))
	}
	p.data, err = ParseData(from.Data)
	p.report("source.data", err)
}

func (p *planner) until() {
	until := &p.Spec.Limits.Until
	if *until == nil && p.Sources.endless() {
		*until = new(Time)
		p.report("limits.until", (*until).UnmarshalText([]byte(DefaultUntil)))
	}
	if *until == nil {
		return
	}
	if **until <= 0 {
		p.report("limits.until", errors.New("want a time after the start"))
	}
	p.config.Until = cluster.Time(**until)
	p.Sources.Until = p.config.Until
}

func (p *planner) policies() {
	if len(p.Spec.Policies) == 0 {
		p.report("policies", errors.New("there is none; name one, such as {name: kube}"))
	}
	if len(p.Spec.Seeds) == 0 {
		p.report("seeds", errors.New("there is none; name one, such as 1"))
	}
	for i := range p.Spec.Policies {
		q := &p.Spec.Policies[i]
		path := fmt.Sprintf("policies[%d]", i)
		if slices.ContainsFunc(p.Spec.Policies[:i], func(other Policy) bool { return other.Name == q.Name }) {
			p.report(path+".name", fmt.Errorf("%s is named twice", q.Name))
		}
		p.policy(path, q)
	}
	if p.Spec.LongRunning != nil {
		long := *p.Spec.LongRunning
		p.Spec.LongRunning = &long
		p.longRunning(&long)
	}
}

// policy checks a policy, and has it say all that it is made of.
func (p *planner) policy(path string, q *Policy) {
	for _, m := range q.Check(p.known) {
		p.report(path+"."+m.Field, m.Err)
	}
}

func (p *planner) longRunning(q *Policy) {
	may := p.known.Of(policies.Constraint)
	info, err := p.known.Find(q.Name)
	switch {
	case err != nil:
		p.report("long_running.name", nearest.Unknown("policy", q.Name, may.Names()))
	case info.Family != policies.Constraint:
		p.report("long_running.name", fmt.Errorf("%s is of the family %s, want one of the family %s: %s", q.Name, info.Family, policies.Constraint, strings.Join(may.Names(), ", ")))
	default:
		p.policy("long_running", q)
	}
}

func (p *planner) world() {
	w := &p.Spec.World
	p.config.Overcommit = map[string]int64{}
	for _, kind := range slices.Sorted(maps.Keys(w.Overcommit)) {
		p.config.Overcommit[kind] = factorOf(w.Overcommit[kind])
		if p.config.Overcommit[kind] == 0 {
			p.report("world.overcommit."+kind, fmt.Errorf("%g, want a factor from 0.001 to 1000000, such as 1.6", w.Overcommit[kind]))
		}
	}
	to := &p.config.World
	p.report("world.initial", choose(w.Initial, &p.config.Initial, map[string]sim.Initial{"keep": sim.Keep, "place": sim.PlaceAnew}))
	p.report("world.evicted_work", choose(w.EvictedWork, &to.KeepWork, map[string]bool{"lost": false, "kept": true}))
	var err error
	to.Overheads, err = w.Overheads.samples()
	p.report("world.overheads", err)
	to.Usage, err = w.Usage.sim()
	p.report("world.usage", err)
	to.Faults, err = w.Faults.sim()
	p.report("world.faults", err)
	to.Power, to.Switches, err = w.Power.sim()
	p.report("world.power", err)
	to.Prices, err = parsePrices(w.NodePrices)
	p.report("world.node_prices", err)
	if p.Spec.Classes == "" {
		p.Spec.Classes = p.Sources.classes()
	}
	p.config.Classes, err = class.Load(p.Spec.Classes)
	p.report("classes", err)
	p.tiers, err = parseTiers(w.Tiers)
	p.report("world.tiers", err)
}

// choose sets the value of that name.
func choose[T any](name string, to *T, values map[string]T) error {
	v, ok := values[name]
	if !ok {
		return nearest.Unknown("value", name, slices.Sorted(maps.Keys(values)))
	}
	*to = v
	return nil
}

// setup is what results say of all runs. The policy, the seed and when it ended are each
// run's own.
func (p *Plan) setup() report.Setup {
	s := &p.Spec
	classes := s.Classes
	if p.config.Classes != nil { // else it is a mistake
		classes = p.config.Classes.Title(s.Classes)
	}
	if classes == "google" {
		classes = ""
	}
	setup := report.Setup{
		Cluster: p.Sources.Cluster.Text, Workload: p.Sources.TasksFrom(), Data: p.data.Text, Speedup: report.Number(s.Source.Speedup),
		Overcommit: overcommit(p.config.Overcommit), Initial: s.World.Initial, Overheads: s.World.Overheads.String(), EvictedWork: s.World.EvictedWork,
		PlannerTime: s.Limits.PlannerTime, Usage: s.World.Usage.String(), Classes: classes, Tiers: s.World.Tiers, Power: s.World.Power.title(p.config.World.Power),
		NodePrices: s.World.NodePrices, Faults: s.World.Faults.String(),
	}
	setup.Certain = p.Sources.certain() && s.World.Faults == (Faults{}) && s.World.Usage == (Usage{})
	if s.LongRunning != nil {
		setup.LongRunning = s.LongRunning.Name
	}
	return setup
}
