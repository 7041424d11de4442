package experiment

import (
	"fmt"
	"sync"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/ecsched"
	"fairlead.dev/fairlead/sim/workload"
)

// This file is the rows of the acceptance table that are set up as experiments of the papers are.

// wholeQueue is the authors' jobs of ECSched where the flow sees all of the queue, by their settings.
func wholeQueue(list string) part {
	return casePart("ecsched, whole queue", func(o *Options, _ string, _ uint64) (simulation, error) {
		return simulation{
			line: "whole queue", source: "ecsched:" + list + "?nodes=50",
			options: policies.Options{Ties: policies.Lowest, Solver: "ssp-literal", Batch: policies.Batch{Window: 9_549, Solves: 1, Keep: true}},
			open: func() (trace.Source, error) {
				return ecsched.Open(jobList(o), ecsched.Options{Nodes: ecsched.Default()})
			},
			trigger: second(), planner: sim.Zero, until: of(o.Size, 0, cluster.Hour, cluster.Minute),
		}, nil
	})
}

// promiseRows are the validations of QoS-driven scheduling, and its study.
func promiseRows(o *Options) []row {
	orders := seedsFrom(o, 1, 20)
	shortfall := func(c *tried) float64 { return c.shortfall("bronze") }
	return []row{
		{
			name: "qos-v1", setting: "256 requests of gold, silver and bronze on 200 slots, in random orders", rival: withFlow, parts: []part{validationPart(firstTest())}, seeds: orders,
			targets: []target{
				targetAtMost("preemptions", report.InEvents, 1_428, preemptions), targetAtMost("bronze shortfall", report.InShares, 0.0051, shortfall),
				targetAtLeast("gold kept", report.InShares, 1, keptInEnd("gold")),
			},
		},
		{
			name: "qos-v2", setting: "221 requests of silver on 200 slots, in random orders", rival: withFlow, parts: []part{validationPart(secondTest())}, seeds: orders,
			targets: []target{targetAtMost("preemptions", report.InEvents, 1_604, preemptions), targetAtLeast("silver kept", report.InShares, 0.88, keptInEnd("silver"))},
		},
		studyRow(o),
	}
}

// validationPart is a validation in which each policy plans when it wants to.
func validationPart(v validation) part {
	s := setting{test: v}
	return casePart(s.String(), func(_ *Options, by string, seed uint64) (simulation, error) {
		info, err := policies.Find(by)
		return simulation{
			line: s.String(), open: func() (trace.Source, error) { return s.open(seed), nil }, source: fmt.Sprintf("qos %v, seed %d", &s, seed),
			trigger: info.When, planner: sim.Zero, until: validationLength, promise: promiseOf(asStored, seed),
		}, err
	})
}

// keptInEnd is the share of a class that has what was promised at the end of a run that nobody leaves.
func keptInEnd(name string) func(*tried) float64 {
	return func(came *tried) float64 {
		for _, k := range came.kept() {
			if k.name == name {
				return k.fulfilled
			}
		}
		return 1
	}
}

// studyRow is the study of that paper on clusters as large as the samples need.
func studyRow(o *Options) row {
	size := studySize(o)
	users := sync.OnceValues(func() ([]workload.User, error) { return workload.UsersOf(size.google) })
	r := row{
		name: "qos-study", setting: fmt.Sprintf("%d samples of the users of Google's workload, each on the hosts that it needs, %v", size.samples, size.google.Length), rival: withFlow,
		seeds: seedsFrom(o, 1, 1), targets: []target{targetNoMore("penalties", report.InMoney, 0, penaltiesOf)},
	}
	for i := range size.samples {
		r.parts = append(r.parts, casePart(fmt.Sprintf("qos-study, sample %d", i+1), func(_ *Options, by string, _ uint64) (simulation, error) {
			all, err := users()
			if err != nil {
				return simulation{}, err
			}
			s, err := workload.Sample(size.google, all, workload.PublishedSample(uint64(i+1)))
			if err != nil {
				return simulation{}, err
			}
			return studySimulation(s, studyCase{i + 1, 1}, by, size.google), nil
		}))
	}
	return r
}

// tierRows are the patterns of the SLA classes.
func tierRows(o *Options) []row {
	var rows []row
	for _, from := range []struct {
		name string
		pattern
	}{{"sla-same-time", sameTime()}, {"sla-online", online()}, {"sla-google", likeGoogle()}, {"sla-prezi", likePrezi()}} {
		r := row{
			name: from.name, setting: "90 containers on 15 nodes of three tiers: " + from.pattern.name + "; with tiers and one copy, with copies, and without tiers", rival: "sla", seeds: seedsFrom(o, 1, manySeeds),
			targets: []target{targetAtMost("variants in which a lower class has as many cores", report.InEvents, 0, countOf(disorder))},
		}
		for _, variant := range []string{oneCopy, copies, noTiers} {
			p := tierPart(from.name, from.pattern, variant)
			done := targetNoMore("time until all are done, "+variant, report.InSeconds, 0, func(c *tried) float64 { return float64(c.run.Simulated) })
			done.part = p.name
			r.parts, r.targets = append(r.parts, p), append(r.targets, done)
		}
		rows = append(rows, r)
	}
	return rows
}

// disorder is the name of what tierPart counts: 1 where a class has no more cores in the mean than the one below.
const disorder = "disorder"

// tierPart is a pattern in a variant.
func tierPart(name string, from pattern, variant string) part {
	p := casePart(name+", "+variant, func(_ *Options, _ string, seed uint64) (simulation, error) { return slaCase(from, variant, seed), nil })
	run := p.run
	p.run = func(o *Options, by setup.Policy, seed uint64) (*tried, error) {
		came, err := run(o, by, seed)
		if err != nil {
			return nil, err
		}
		before := report.Number(2 * slaCores)
		for _, class := range class.SLA().Names() {
			if cores, known := came.watch.cores(class); known {
				if cores >= before {
					came.counts[disorder] = 1
				}
				before = cores
			}
		}
		return came, nil
	}
	return p
}

// latencyRows are how long batch tasks wait for a place, by the clock.
func latencyRows(o *Options) []row {
	cellPart := func(name string, slots int64, length cluster.Time, speedup float64) part {
		return casePart(name, func(o *Options, by string, _ uint64) (simulation, error) {
			c, err := googleCell(o, slots, length)
			if err != nil {
				return simulation{}, err
			}
			s := caseOn(&c, name, by, policies.Options{})
			if speedup > 1 {
				s.speedup, s.until = speedup, cluster.Time(float64(c.length)/speedup)
			}
			return s, nil
		})
	}
	fig14 := of[cluster.Time](o.Size, 18_000, 300, 60) * cluster.Second
	fig18 := of[cluster.Time](o.Size, 86_400, 900, 300) * cluster.Second
	p99 := func(most float64) []target {
		return []target{targetAtMost("placement latency of batch tasks, p99", report.InSeconds, most, batchPlacementP99)}
	}
	data := of(o.Size, []string{"google2011"}, nil, nil)
	return []row{
		{
			name: "firmament-fig14", setting: "Google's workload with 13 slots a node, measured by the clock", data: data, rival: "quincy",
			parts: []part{cellPart("firmament-fig14", 13, fig14, 1)}, seeds: seedsFrom(o, 1, 1), targets: p99(0.229),
		},
		{
			name: "firmament-fig18", setting: "Google's workload with 16 slots a node, 300 times as fast, measured by the clock", data: data, rival: "quincy",
			parts: []part{cellPart("firmament-fig18", 16, fig18, 300)}, seeds: seedsFrom(o, 1, 1), targets: p99(0.55),
		},
	}
}
