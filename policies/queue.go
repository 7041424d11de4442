package policies

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/lifetime"
)

// This file lists the policies of the family queue.

// queues are the policies that place one task at a time. The rows are in
// package queue.
func queues() []Info {
	var all []Info
	for _, p := range queue.Policies() {
		options := []Option{TieBreak()}
		if p.AsksLifetimes {
			options = append(options, lifetimes())
		}
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
					SLA: o.SLA, Lifetimes: o.Own[lifetimesName], PowerWeight: weight,
					ECSched: queue.ECSched{Window: o.Batch.Window, Placements: o.Batch.Placements, Keep: o.Batch.Keep},
				})
			},
		})
	}
	return all
}

const lifetimesName = "lifetimes"

// lifetimes is the option of who says how long tasks will run.
func lifetimes() Option {
	return Option{
		Name: lifetimesName, Values: lifetime.Names(), Useless: "asks how long tasks will run; nilas, lava and fairlead do",
		Help: "place tasks beside those that leave no sooner, going by " + strings.Join(lifetime.Names(), ", ") + ": how long those like them live on, read anew as they do; their mean; or the truth. Unless given fairlead does not, and nilas and lava go by the first",
	}
}

// Foretold reports whether a policy of these settings is to be told how long tasks will run.
func Foretold(s Settings) bool { return s[lifetimesName] == lifetime.Truth }

const powerWeightName = "power_weight"

// powerWeight is the option of how much watts count for beside fragmentation.
func powerWeight() Option {
	return Option{
		Name: powerWeightName, Default: "100", Useless: "weighs watts; pwr-fgd does",
		Help: "what watts count for with pwr-fgd, in thousandths; fragmentation has the rest",
	}
}
