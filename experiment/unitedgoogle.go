package experiment

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
)

// This file is the rows of the acceptance table that run on Google's workload, from the generator and
// from the trace.

// googleSpec is so many nodes that are given so many tasks each, for an hour.
func googleSpec(o *Options, nodes int, tasks float64) setup.Spec {
	nodes = min(nodes, of(o.Size, nodes, 150, 40))
	return until(specOf(fmt.Sprintf("synthetic:google?nodes=%d&tasks-per-node=%g", nodes, tasks)), of(o.Size, cluster.Hour, cluster.Hour/2, 5*cluster.Minute))
}

// keptWork is the spec where evicted tasks keep what they had done.
func keptWork(s setup.Spec) setup.Spec {
	s.World.EvictedWork = "kept"
	return s
}

// namedSeeds is how many seeds the specification names for the generator.
const namedSeeds = 3

// manySeeds is how many there are where it names none.
const manySeeds = 10

func generatedRows(o *Options) []row {
	three := seedsFrom(o, 1, namedSeeds)
	newcomer := specOf(setup.DefaultSource)
	if o.Size != Full {
		newcomer = googleSpec(o, 1_000, 8)
	}
	loaded := func(tasks float64) setup.Spec { return googleSpec(o, 500, tasks) }
	return []row{
		{
			name: "simulate", setting: "the newcomer's run: 1,000 nodes, 8 tasks a node, two hours", rival: "priority",
			parts: []part{specPart(newcomer, nil)}, seeds: seedsFrom(o, 1, 1),
			targets: []target{
				targetAtMost("pending", report.InTasks, 0, pendingTasks), targetAtMost("preemptions", report.InEvents, 20, preemptions),
				targetAtMost("placement latency, p99", report.InSeconds, 0.015, placementP99),
			},
		},
		{
			name: "google-500x8", setting: "500 nodes, 8 tasks a node, an hour", rival: "qos-flow", parts: []part{specPart(loaded(8), nil)}, seeds: three,
			targets: []target{
				targetAtLeast("cpu allocated", report.InShares, 0.911, cpuAllocated), targetAtMost("penalties", report.InMoney, 0.1, penaltiesOf),
				targetAtMost("preemptions", report.InEvents, 600, preemptions),
			},
		},
		{
			name: "google-500x9", setting: "500 nodes, 9 tasks a node, an hour", rival: "qos-flow", parts: []part{specPart(loaded(9), nil)}, seeds: three,
			targets: append(keptTargets(0.999), targetAtMost("preemptions", report.InEvents, 1_200, preemptions), targetAtLeast("cpu allocated", report.InShares, 0.967, cpuAllocated)),
		},
		{
			name: "google-500x9.5", setting: "500 nodes, 9.5 tasks a node, an hour: more is asked for than there is", rival: "priority",
			parts: []part{specPart(loaded(9.5), nil)}, seeds: three,
			targets: []target{
				targetAtLeast("bronze kept", report.InShares, 0.83, keptBy("bronze")), targetAtMost("penalties", report.InMoney, 4.7, penaltiesOf),
				targetAtMost("preemptions", report.InEvents, 4_600, preemptions),
			},
		},
		{
			name: "google-500x9.5-kept", setting: "the same, and evicted work is kept", rival: "qos-flow", parts: []part{specPart(keptWork(loaded(9.5)), nil)}, seeds: three,
			targets: []target{targetAtLeast("bronze kept", report.InShares, 0.95, keptBy("bronze")), targetAtMost("preemptions", report.InEvents, 9_000, preemptions)},
		},
		{
			name: "google-4000x8", setting: "4,000 nodes, 8 tasks a node, an hour; the target was measured with the first seed", rival: "cpu-mem",
			parts: []part{specPart(googleSpec(o, 4_000, 8), nil)}, seeds: seedsFrom(o, 1, manySeeds),
			targets: []target{targetAtMost("pending", report.InTasks, 0, pendingTasks), targetAtLeast("cpu allocated", report.InShares, 0.96, cpuAllocated)},
		},
		promisesRow(o),
	}
}

// keptTargets are that so many tasks of each class have what was promised.
func keptTargets(least float64) []target {
	var list []target
	for _, class := range serviceClasses() {
		list = append(list, targetAtLeast(class+" kept", report.InShares, least, keptBy(class)))
	}
	return list
}

// promisesRow is the example of promises in the README.
func promisesRow(o *Options) row {
	s := keptWork(googleSpec(o, 200, 9))
	two := setup.Time(2 * cluster.Second)
	s.World.Overheads = setup.Overheads{Hot: &two, Cold: &two, First: new(setup.Time(0))}
	p := specPart(s, nil)
	p.name += ", runs begin anew in 2 s"
	return row{
		name: "readme-promises", setting: "200 nodes, 9 tasks a node, an hour; evicted work is kept, and to begin anew takes 2 s", rival: "qos-flow",
		parts: []part{p}, seeds: seedsFrom(o, 1, 1),
		targets: append(keptTargets(1), targetAtMost("preemptions", report.InEvents, 1_500, preemptions)),
	}
}

// googleRows are on the trace of 2011.
func googleRows(o *Options) []row {
	over := func(cpu, memory float64) setup.Spec {
		s := specOf(traceSource(o, "google2011", "google2011", ""))
		s.World.Overcommit = map[string]float64{"cpu": cpu, "memory": memory}
		return shorter(o, s, 11*cluster.Minute)
	}
	// A tie is no worse in what was printed of both.
	const tie = 0.0005
	return []row{
		{
			name: "google2011-roomy", setting: "Google's trace of 2011, 1.6 times the cpu and twice the memory", data: []string{"google2011"}, rival: "kube",
			parts: []part{specPart(over(1.6, 2), nil)}, seeds: seedsFrom(o, 1, 1),
			targets: []target{
				targetNoMore("pending", report.InTasks, 0, pendingTasks), targetNoLess("cpu allocated", report.InShares, -tie, cpuAllocated),
				targetAtMost("placement latency, p99", report.InSeconds, 0.02, placementP99),
			},
		},
		{
			name: "google2011-tight", setting: "Google's trace of 2011, 1.27 times the cpu and 1.15 times the memory", data: []string{"google2011"}, rival: "priority",
			parts: []part{specPart(over(1.27, 1.15), nil)}, seeds: seedsFrom(o, 1, 1),
			targets: []target{targetAtMost("pending", report.InTasks, 2_232, pendingTasks), targetAtMost("preemptions", report.InEvents, 20_000, preemptions)},
		},
	}
}
