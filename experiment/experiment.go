// Package experiment runs the papers' experiments again: for each the set-up, what
// was published, and what comes of it here.
//
// An experiment is a list of cases, each one simulation, or of steps, where nothing is
// simulated, and a conclusion, which turns the results into figures and puts the published
// numbers beside ours. The
// tests of this package hold other papers' results against what we get on the
// same data.
//
// What 'fairlead simulate' could run is a setup.Spec here, too (unitedspec.go, ablation.go). The papers' cases
// (case.go), the two lanes of medeatwo.go, the gang of knavigator.go and the runs of gavel.go and power.go fill in a
// sim.Config themselves, as no spec can say what they are made of:
//   - sources that are values of this program: planted problems, drawn vectors, the authors' test beds, a stored order
//     that is shuffled, a cluster of switches (knavigator.go), jobs drawn at a rate (gavel.go), and what stands in for
//     Alibaba's GPU trace where there is no data (power.go), so that its runs with the data go the same way;
//   - worlds with overheads in the frequencies that were measured, and classes with a margin and a restart of a
//     certain test (qosworld.go), or whose class promises nothing (gavel.go);
//   - triggers that ignore outcomes, as the authors' schedulers did, and policies behind a stopwatch or a counter.
//
// What the result says of such a run, simulation.setup puts together, by the same words.
//
// This package may read a clock: how long decisions take is what several of the
// experiments are about.
package experiment

import (
	"errors"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
)

// Experiment is one that can be run by its name.
type Experiment struct {
	Name  string
	What  string // one line
	Paper string // which, and what of it
	// Policies are those that it runs, the paper's own first. Free says that
	// others may be run in their place.
	Policies []string
	Free     bool
	// Rows are the names of its rows, of which a run may choose some; nil: it has none.
	Rows  []string
	setUp func(*Options) (*plan, error)
}

// Options are what a run may choose.
type Options struct {
	Size Size
	Seed uint64
	// Data is the folder that holds the real traces, a folder each: google2011,
	// ecsched, qos. Without it the workload comes from a generator.
	Data string
	// Policies are run in place of the experiment's own, if it is free to.
	Policies []string
	// Rows are those that are run, of an experiment that has any; nil: all.
	Rows []string
	// Progress is called with what is to be run next; it may be nil.
	Progress func(done, all int, what string)
	// Stop is asked now and then whether to end early; it may be nil.
	Stop func() bool
}

// reportProgress says what is run next.
func (o *Options) reportProgress(done, all int, what string) {
	if o.Progress != nil {
		o.Progress(done, all, what)
	}
}

// Size is how much of a paper's experiment is run.
type Size uint8

// The sizes.
const (
	Full  Size = iota // as in the paper
	Quick             // in less than a minute
	tiny              // in about a second, for the tests
)

// of chooses the value for the size.
func of[T any](s Size, full, quick, smallest T) T { return [...]T{full, quick, smallest}[s] }

// All lists the experiments in the order in which people should meet them.
func All() []Experiment {
	return slices.Concat(unitedExperiments(), firmament(), ecschedExperiments(), validations(), []Experiment{qosStudy()}, switchings(), slaExperiments(), medeaExperiments(), medeaTwo(), lifetimeExperiments(), []Experiment{gfsExperiment(), gavelExperiment()}, scored())
}

// Find returns the named experiment. The error about a name that there is not
// says which one is near it.
func Find(name string) (*Experiment, error) {
	var names []string
	for _, e := range All() {
		if e.Name == name {
			return &e, nil
		}
		names = append(names, e.Name)
	}
	return nil, nearest.Unknown("experiment", name, names)
}

// Missing lists the policies that the experiment runs and that there are not.
func (e *Experiment) Missing() []string {
	return slices.DeleteFunc(slices.Clone(e.Policies), func(name string) bool {
		_, err := policies.Find(name)
		return err == nil
	})
}

// CheckRows says which of the names is no row of the experiment, and what is near it.
func (e *Experiment) CheckRows(names []string) error {
	if len(names) > 0 && e.Rows == nil {
		return fmt.Errorf("%s has no rows to choose from", e.Name)
	}
	for _, name := range names {
		if !slices.Contains(e.Rows, name) {
			return nearest.Unknown("row", name, e.Rows)
		}
	}
	return nil
}

// ErrStopped is returned, with what is known by then, when Options.Stop says so.
var ErrStopped = errors.New("stopped before its end")

// errLacking says of a policy that it is not there.
var errLacking = errors.New("this version does not have it; 'fairlead experiment list' says what each lacks, 'fairlead policies' what there is")

// Run runs the experiment. Beside an error the results hold the runs that were
// done; what they say together is there only if all are.
func (e *Experiment) Run(o Options) (report.Results, error) {
	chosen := *e
	if len(o.Policies) > 0 {
		if !e.Free {
			return report.Results{}, fmt.Errorf("%s compares the policies of its paper; none can be run in their place", e.Name)
		}
		chosen.Policies = o.Policies
	}
	for _, name := range chosen.Policies {
		if _, err := policies.Find(name); err != nil {
			return report.Results{}, fmt.Errorf("%s needs the policy %s: %w", e.Name, name, errLacking)
		}
	}
	if err := e.CheckRows(o.Rows); err != nil {
		return report.Results{}, err
	}
	o.Policies = chosen.Policies
	p, err := e.setUp(&o)
	if err != nil {
		return report.Results{}, fmt.Errorf("%s: %w", e.Name, err)
	}
	return e.carryOut(p, &o)
}

// carryOut runs the cases of a plan, and concludes.
func (e *Experiment) carryOut(p *plan, o *Options) (report.Results, error) {
	var results report.Results
	outcomes := make([]outcome, 0, len(p.cases))
	all := len(p.cases) + len(p.steps)
	for i := range p.cases {
		c := &p.cases[i]
		o.reportProgress(i, all, c.name())
		out, err := c.run(o)
		if err != nil {
			return results, fmt.Errorf("%s, %s: %w", e.Name, c.name(), err)
		}
		results.Runs = append(results.Runs, out.run)
		if out.run.Interrupted {
			return results, ErrStopped
		}
		outcomes = append(outcomes, out)
	}
	stopped := func() bool { return o.Stop != nil && o.Stop() }
	for i, step := range p.steps {
		if stopped() {
			break
		}
		o.reportProgress(len(p.cases)+i, all, step.name)
		if err := step.do(); err != nil && !stopped() {
			return results, fmt.Errorf("%s, %s: %w", e.Name, step.name, err)
		}
	}
	end := error(nil)
	if len(p.steps) > 0 && stopped() { // what the last step has come to means nothing
		if !p.partial {
			return results, ErrStopped
		}
		end = ErrStopped
	}
	r := &report.Reproduction{
		Name: e.Name, What: e.What, Paper: e.Paper, Quick: o.Size != Full && !p.whole,
		Data: p.data, Real: p.real, Facts: p.facts,
	}
	p.conclude(outcomes, r)
	results.Experiment = r
	return results, end
}
