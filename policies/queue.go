package policies

import (
	"cmp"
	"fmt"
	"strconv"

	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
)

// This file lists the policies of the family queue.

// queues are the policies that place one task at a time. The rows are in
// package queue.
func queues() []Info {
	var all []Info
	for _, p := range queue.Policies() {
		options := []Option{TieBreak()}
		if p.WeighsPower {
			options = append(options, powerWeight())
		}
		all = append(all, Info{
			Name: p.Name, What: p.What, From: p.From, Family: Queue, Ties: p.Ties, Evicts: p.Evicts, TakesTurns: p.TakesTurns, PricesNodes: p.PricesNodes, PricesCompany: p.PricesCompany, When: p.When,
			Options: options,
			Make: func(o Options) (sched.Policy, error) {
				weight, _ := strconv.ParseInt(cmp.Or(o.Own[powerWeightName], powerWeight().Default), 10, 64)
				if p.WeighsPower && weight > queue.MostPowerWeight {
					return nil, fmt.Errorf("%d, want thousandths, from 0 to %d", weight, queue.MostPowerWeight)
				}
				return queue.New(p.Name, queue.Options{
					Seed: o.Seed, Ties: o.Ties, Typical: o.Typical,
					SLA: o.SLA, PowerWeight: weight,
					ECSched: queue.ECSched{Window: o.Batch.Window, Placements: o.Batch.Placements, Keep: o.Batch.Keep},
				})
			},
		})
	}
	return all
}

const powerWeightName = "power_weight"

// powerWeight is the option of how much watts count for beside fragmentation.
func powerWeight() Option {
	return Option{
		Name: powerWeightName, Default: "100", Useless: "weighs watts; pwr-fgd does",
		Help: "what watts count for with pwr-fgd, in thousandths; fragmentation has the rest",
	}
}
