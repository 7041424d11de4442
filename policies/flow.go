package policies

import (
	"fmt"
	"strconv"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/bandwidth"
	"fairlead.dev/fairlead/flow/cpumem"
	"fairlead.dev/fairlead/flow/ecsched"
	"fairlead.dev/fairlead/flow/quincy"
	"fairlead.dev/fairlead/flow/slack"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// This file lists the policies of the family flow.

// flows are the policies that place all tasks at once.
func flows() []Info {
	return []Info{
		{
			Name: "load-spreading", What: "all waiting tasks at once; nodes with the fewest tasks",
			From: "Firmament, OSDI 2016", Family: Flow, PricesNodes: true,
			Options: []Option{Solver()}, Make: Modelled("load-spreading", func(Options) flow.Model { return &spread.Model{} }, flow.Spread, flow.Pack),
		},
		{
			Name: "cpu-mem", What: "all waiting tasks at once; the emptiest and best balanced nodes",
			From: "Poseidon's model for Firmament, made safe", Family: Flow, PricesNodes: true,
			Options: []Option{Solver()}, Make: Modelled("cpu-mem", func(Options) flow.Model { return &cpumem.Model{} }, flow.Spread, flow.Pack),
		},
		{
			Name: "network-aware", What: "all waiting tasks at once; nodes with the most bandwidth left, as requested and measured",
			From: "Firmament, OSDI 2016", Family: Flow, PricesNodes: true,
			Options: []Option{Solver()}, Make: Modelled("network-aware", func(Options) flow.Model { return &bandwidth.Model{} }, flow.Spread, flow.Pack),
		},
		{
			Name: "quincy", What: "all tasks at once; near their data, services first; evicts what has just begun",
			From: "Quincy, SOSP 2009, as in Firmament", Family: Flow, PricesNodes: true, Evicts: true,
			Options: []Option{Solver(), migrations()}, Make: Modelled("quincy", drawn, flow.Spread, flow.Preempt),
		},
		{
			Name: "qos-flow", What: "all waiting tasks at once, by slack to what was promised and importance; evicts the less urgent, but nobody who has just come",
			From: "QoS-driven scheduling, JISA 2020, as prices of a flow", Family: Flow, PricesNodes: true, Evicts: true, TakesTurns: true,
			Options: []Option{Solver()}, Make: Modelled("qos-flow", func(Options) flow.Model { return slack.New(slack.Standard()) }, flow.Spread, flow.Preempt),
		},
		{
			Name: "ecsched-dp", What: "the first 100 of the queue at once; nodes that have left most of what a task wants",
			From: "ECSched, FGCS 102 (2020): dot product", Family: Flow, PricesNodes: true, Options: []Option{Solver()}, Make: windowed("ecsched-dp", ecsched.DotProduct),
		},
		{
			Name: "ecsched-ml", What: "the first 100 of the queue at once; nodes that a task loads the most",
			From: "ECSched, FGCS 102 (2020): most loaded", Family: Flow, PricesNodes: true, Options: []Option{Solver()}, Make: windowed("ecsched-ml", ecsched.MostLoaded),
		},
	}
}

// migrations lets a policy move running tasks.
func migrations() Option {
	return Option{
		Name: "migrations", Help: "running tasks that a round may move to another node, for policies that move any: quincy",
		Useless: "moves running tasks; quincy does",
		get:     func(o *Options) string { return numeral(o.Migrations) },
		set:     func(o *Options, text string) { o.Migrations, _ = strconv.Atoi(text) },
	}
}

// numeral writes a number, and nothing for 0.
func numeral(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// windowed makes ECSched with a score.
func windowed(name string, score ecsched.Score) func(Options) (sched.Policy, error) {
	return func(o Options) (sched.Policy, error) {
		if o.Solver == Race {
			return nil, fmt.Errorf("policy %s: the solver %s is that of the other flow policies alone", name, Race)
		}
		return ecsched.New(ecsched.Options{Score: score, Window: o.Batch.Window, Solves: o.Batch.Solves, Keep: o.Batch.Keep, Solver: o.Solver, Stop: o.Stop})
	}
}

// drawn is quincy, with the preference that the options ask for.
func drawn(o Options) flow.Model {
	q := quincy.Standard()
	if o.Preference > 0 {
		q.Threshold = 10 * int64(o.Preference) // thousandths
	}
	return quincy.New(q)
}

// Modelled makes flow policies of a model and the stages of their rounds, with the solver and the
// migrations that the options ask for.
func Modelled(name string, model func(Options) flow.Model, stages ...flow.Stage) func(Options) (sched.Policy, error) {
	return func(o Options) (sched.Policy, error) {
		f := flow.Options{Name: name, Moves: o.Migrations, Stages: stages, Stop: o.Stop}
		switch o.Solver {
		case "", Automatic:
		case Race:
			if o.Racer == nil {
				return nil, fmt.Errorf("policy %s: the solver race cannot be had here", name)
			}
			f.Solver = o.Racer
		case Literal:
			return nil, fmt.Errorf("policy %s: the solver %s is that of ecsched policies alone", name, o.Solver)
		default:
			f.Algorithm = mcmf.Algorithm(o.Solver)
		}
		return flow.New(model(o), f), nil
	}
}
