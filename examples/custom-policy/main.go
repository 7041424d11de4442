// The command fairlead with two policies of its own: a module elsewhere needs no more than
// this file. docs/custom-policy.md explains it.
package main

import (
	"os"
	"strconv"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
)

func main() { os.Exit(cli.Main(cheapest(), cheapestFlow())) }

// cheapest places one task after the other, the more important first, on the node that costs
// least; of equally cheap ones on the fullest, so that whole nodes can be switched off.
func cheapest() policies.Info {
	return policies.Info{
		Name: "cheapest", What: "priority order; the node of the lowest price, then the fullest",
		From: "examples/custom-policy", Family: policies.Queue, Evicts: true, Options: []policies.Option{policies.TieBreak()},
		Make: func(o policies.Options) (sched.Policy, error) {
			rules := queue.Rules{Order: queue.ByPriority, Preempts: true, Score: func(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) int64 {
				return -price(s, n)<<14 + queue.BinpackScore(s, shape, n)>>16
			}}
			return rules.New(queue.Options{Ties: o.Ties, Seed: o.Seed}), nil
		},
	}
}

// cheapestFlow places all waiting tasks at once, so that their prices sum to the least.
func cheapestFlow() policies.Info {
	return policies.Info{
		Name: "cheapest-flow", What: "all waiting tasks at once, at the least price in sum",
		From: "examples/custom-policy", Family: policies.Flow,
		Options: []policies.Option{policies.Solver()},
		Make:    policies.Modelled("cheapest-flow", func(policies.Options) flow.Model { return &priced{} }, flow.Spread, flow.Pack),
	}
}

// priced is load-spreading with a price of nodes on top.
type priced struct {
	spread.Model
	curve flow.Curve
}

// Into is what one task costs on the node, and each further one.
func (m *priced) Into(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	aggregator, _ := m.Model.Into(s, shape, n)
	m.curve = append(m.curve[:0], flow.Step{Capacity: 1, Cost: flow.Cost(price(s, n)) << 10})
	return aggregator, m.curve
}

// price is the label of the node of that name, in cents an hour.
func price(s *cluster.View, n cluster.NodeID) int64 {
	for _, l := range s.NodeSpec(n).Labels {
		if l.Key == "price" {
			cents, _ := strconv.ParseInt(l.Value, 10, 16)
			return cents
		}
	}
	return 0
}
