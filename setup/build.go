package setup

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// This file builds runs of a plan.

// Run is one run of a plan.
type Run struct {
	Policy Policy
	Seed   uint64
}

// Runs are those of the plan, in order.
func (p *Plan) Runs() []Run {
	var runs []Run
	for _, policy := range p.Spec.Policies {
		for _, seed := range p.Spec.Seeds {
			runs = append(runs, Run{policy, seed})
		}
	}
	return runs
}

// Of is the spec of the run alone.
func (p *Plan) Of(r *Run) Spec {
	s := p.Spec
	s.Policies, s.Seeds = []Policy{r.Policy}, Seeds{r.Seed}
	return s
}

// Env is what comes from outside; each may be nil.
type Env struct {
	// Racer makes solvers that race, which takes goroutines; without it no policy can.
	Racer func(*mcmf.Graph) flow.Solver
	// Programs solves integer programs; without it policies go by what they find themselves.
	Programs ilp.Solver
	// Stop is asked now and then whether to end the run early.
	Stop func() bool
	// Note is given sentences that people should read.
	Note func([]string)
}

// Programs reports whether a policy of the plan has a use for Env.Programs.
func (p *Plan) Programs() bool {
	return slices.ContainsFunc(p.Spec.Policies, func(q Policy) bool { return p.programs(&q) }) || p.programs(p.Spec.LongRunning)
}

func (p *Plan) programs(q *Policy) bool {
	if q == nil {
		return false
	}
	info, err := p.known.Find(q.Name)
	return err == nil && info.Programs
}

// PlannerTime is what planning costs.
func (p *Plan) PlannerTime() sim.PlannerTime { return p.config.Planner.Time }

// Classes is the table of what was promised.
func (p *Plan) Classes() *class.Table { return p.config.Classes }

// Lanes are who decides: the run's policy, and before it, where they have one of their own,
// the one of long-running applications, which gathers them for as long as it wants to itself.
func (p *Plan) Lanes(r *Run, e Env, typical []fragmentation.Typical) ([]sched.Lane, error) {
	recorded, err := p.lanes(r)
	if err != nil {
		return nil, err
	}
	var lanes []sched.Lane
	for _, l := range recorded {
		policy, err := chosen.Make(p.known, &l, policies.Options{Typical: typical, Racer: e.Racer, Programs: e.Programs, Stop: e.Stop})
		if err != nil {
			return nil, err
		}
		lanes = append(lanes, l.Of(policy))
	}
	return lanes, nil
}

// deciding are the policies of the lanes.
func (p *Plan) deciding(r *Run) []*Policy {
	if p.Spec.LongRunning != nil {
		return []*Policy{p.Spec.LongRunning, &r.Policy}
	}
	return []*Policy{&r.Policy}
}

// Setup is what results say of a run that ends at the moment until.
func (p *Plan) Setup(r *Run, until cluster.Time) report.Setup {
	setup := p.config.Setup
	setup.Policy, setup.Seed, setup.Until = r.Policy.Name, r.Seed, report.Seconds(until)
	report.Choose(&setup, r.Policy.Options)
	when := r.Policy.Trigger(p.known)
	setup.Heartbeat, setup.Watchdog = report.Seconds(when.Heartbeat), report.Seconds(when.Watchdog)
	return setup
}

// Until is the moment at which a run stops, in its own time; 0 is when its
// workload is done. A source may have an end of its own.
func (p *Plan) Until(end cluster.Time) cluster.Time {
	return p.Spec.ownTime(cmp.Or(p.config.Until, end))
}

// ownTime is a time of the source in that of the run.
func (s *Spec) ownTime(at cluster.Time) cluster.Time {
	if at == 0 || s.Source.Speedup == 1 {
		return at
	}
	scaled := math.Round(float64(at) / s.Source.Speedup)
	return cluster.Time(min(max(scaled, 1), 1<<60))
}

// Config is what the simulator is to be told of a run, whose source Sources.Open has opened. Where
// records go is left to whoever runs it.
func (p *Plan) Config(r Run, source Opened, e Env) (sim.Config, error) {
	config := p.config
	if _, err := config.Classes.PricedKind(source.Kinds()); err != nil {
		return config, p.classesError(err)
	}
	var err error
	config.Typical = source.Typical()
	if config.Lanes, err = p.Lanes(&r, e, config.Typical); err != nil {
		return config, err
	}
	config.Planner.Solver = e.Programs != nil && (p.programs(&r.Policy) || p.programs(p.Spec.LongRunning))
	if config.Source, err = p.data.On(source, r.Seed); err != nil {
		return config, err
	}
	if p.Spec.Source.Speedup != 1 {
		config.Source = trace.Speedup(config.Source, p.Spec.Source.Speedup)
	}
	if config.Source, err = p.promised(config.Source, e); err != nil {
		return config, err
	}
	config.Until = p.Until(source.End)
	config.Setup = p.Setup(&r, config.Until)
	config.World.Seed = r.Seed
	config.World.Foretells = slices.ContainsFunc(p.deciding(&r), func(q *Policy) bool { return policies.Foretold(q.Options) })
	config.Stop = e.Stop
	return config, nil
}

func (p *Plan) classesError(err error) error {
	return fmt.Errorf("--classes %s: %w", p.Spec.Classes, err)
}

// promised gives the nodes of a source their tiers, and holds the table of classes
// against those that are there at the start. Of what comes later nothing is known; a
// task that no node can take waits then, and the result says why.
func (p *Plan) promised(src trace.Source, e Env) (trace.Source, error) {
	if p.tiers != nil {
		src = trace.Tiers(src, p.tiers)
	}
	table, kind := p.config.Classes, src.Kinds()[0]
	if p.Spec.Classes == noClasses {
		return &unpromised{Source: src, note: e.Note}, nil
	}
	if !table.Wants() {
		return src, nil
	}
	if err := table.CheckKind(kind); err != nil {
		return nil, p.classesError(err)
	}
	head, err := atStart(src, mostAhead)
	if err != nil || !head.all && head.mixed { // of nodes that may still come at the start nothing is said
		return head, err
	}
	var nodes []class.Node
	for _, n := range head.standing() { // in any order: they are counted
		nodes = append(nodes, class.Node{Tier: n.Tier, Size: p.limit(kind, n.Capacity[0])})
	}
	if err := table.CheckNodes(nodes, kind); err != nil && len(nodes) > 0 {
		if p.tiers == nil && !slices.ContainsFunc(nodes, func(n class.Node) bool { return n.Tier > 0 }) {
			err = fmt.Errorf("%w\n--tiers gives nodes tiers, such as --tiers 5/5/5", err)
		}
		return nil, p.classesError(err)
	}
	var notes []string
	for _, note := range table.NodeNotes(nodes, kind) {
		notes = append(notes, fmt.Sprintf("--classes %s: %s", p.Spec.Classes, note))
	}
	if e.Note != nil {
		e.Note(notes)
	}
	return head, nil
}

// limit is how much of the kind may be placed on a node that has so much: that times the
// over-commit.
func (p *Plan) limit(kind cluster.Kind, capacity int64) int64 {
	factor, given := p.config.Overcommit[kind.Name]
	if !given {
		return capacity
	}
	limit, _ := wide.Product(capacity, factor).Over(1000)
	return min(limit, cluster.MaxQuantity)
}
