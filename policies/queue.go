package policies

import (
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
)

// This file lists the policies of the family queue.

// queues are the policies that place one task at a time. The rows are in
// package queue.
func queues() []Info {
	var all []Info
	for _, p := range queue.Policies() {
		all = append(all, Info{
			Name: p.Name, What: p.What, From: p.From, Family: Queue, Ties: p.Ties, Evicts: p.Evicts, TakesTurns: p.TakesTurns, PricesNodes: p.PricesNodes, PricesCompany: p.PricesCompany, When: p.When,
			Options: []Option{TieBreak()},
			Make: func(o Options) (sched.Policy, error) {
				return queue.New(p.Name, queue.Options{
					Seed: o.Seed, Ties: o.Ties, Typical: o.Typical,
					SLA:     o.SLA,
					ECSched: queue.ECSched{Window: o.Batch.Window, Placements: o.Batch.Placements, Keep: o.Batch.Keep},
				})
			},
		})
	}
	return all
}
