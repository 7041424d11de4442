package experiment

import (
	"path/filepath"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
)

// This file is the rows of the acceptance table that run on other traces: GPUs, services, jobs, input,
// applications, and two workloads about who waits.

// openbLists are the lists of pods that are at hand, of the seventeen of the trace.
func openbLists() []string {
	return []string{"default", "multigpu50", "gpushare100", "gpuspec33", "cpu250"}
}

// openbSeed is the first of the seeds that the specification names.
const openbSeed = 42

// openbRows are the experiment of FGD: pods come until they have asked for 130 % of the GPUs.
func openbRows(o *Options) []row {
	var rows []row
	mean := row{
		name: "openb-mean", setting: "the mean of the lists of openb; of its other twelve lists there are no data", data: []string{"alibaba-openb"}, rival: "fgd",
		seeds: openbSeeds(o),
		// More than fgd, be it by a millionth.
		targets: []target{targetNoLess("GPUs allocated", report.InShares, 1e-6, gpusAllocated)},
	}
	for _, list := range openbLists() {
		p := specPart(shorter(o, specOf(traceSource(o, "openb", "alibaba-openb", "list="+list+"&inflate=1.3")), 40*cluster.Minute), tenWaiting)
		mean.parts = append(mean.parts, p)
		rows = append(rows, row{
			name: "openb-" + list, setting: "1,213 nodes with GPUs; pods of the list " + list + " of openb come, shuffled, until they have asked for 1.3 times the GPUs",
			data: []string{"alibaba-openb"}, rival: "fgd", parts: []part{p}, seeds: openbSeeds(o),
			targets: []target{
				targetNoLess("GPUs allocated", report.InShares, -0.002, gpusAllocated),
				targetNoLess("GPUs allocated when ten pods wait", report.InShares, -0.003, countOf(ten)),
			},
		})
	}
	return append(rows, mean)
}

// openbSeeds are the five seeds of the specification; of a small size one.
func openbSeeds(o *Options) []uint64 { return seedsFrom(o, openbSeed, 5) }

// ten is the name of what tenWaiting counts.
const ten = "ten waiting"

// tenWaiting notes what of the GPUs is allocated when ten pods wait for the first time, or at the end.
func tenWaiting(came *tried) {
	came.counts[ten] = gpusAllocated(came)
	s := came.run.Series
	if s == nil {
		return
	}
	for i, waiting := range s.Columns["pending"] {
		if waiting < 10 {
			continue
		}
		sum := 0.0
		for name, column := range s.Columns {
			if strings.HasPrefix(name, "allocation.gpu.") {
				sum += float64(column[i])
			}
		}
		came.counts[ten] = sum
		return
	}
}

// packingRows are about how many nodes are used, and how much fits.
func packingRows(o *Options) []row {
	const dlrmFile = "alibaba-dlrm/disaggregated_DLRM_trace.csv.gz"
	dlrm := row{
		name: "dlrm", setting: "31 days of Alibaba's services with limits per node; nodes with tasks cost fairlead a tenth of what their room is worth", data: []string{dlrmFile}, rival: "best-fit", chosen: map[string]string{"node_price": "10"},
		parts: []part{specPart(shorter(o, specOf(traceSource(o, "dlrm", dlrmFile, "")), 10*cluster.Day), nil)}, seeds: seedsFrom(o, 1, 1),
		targets: []target{targetAtMost("pending", report.InTasks, 0, pendingTasks), targetAtMost("nodes with a task", report.InNodes, 2_584, activeNodes)},
	}
	return []row{dlrm, vectorRow(o, "vectors-95", 95, 13_042, 0), vectorRow(o, "vectors-110", 110, 14_791, 179)}
}

// jobRows are the authors' jobs of ECSched.
func jobRows(o *Options) []row {
	const list = "ecsched/jobs-9549.txt"
	jobs := func(query string, beat cluster.Time) part {
		// All jobs have ended long before a day is over, but where fairlead without a mechanism never ends them.
		p := specPart(until(specOf(traceSource(o, "ecsched", list, query)), of(o.Size, cluster.Day, 2*cluster.Hour, 12*cluster.Minute)), nil)
		if beat > 0 {
			p.name += ", every " + beat.String()
			run := p.run
			p.run = func(o *Options, by setup.Policy, seed uint64) (*tried, error) {
				by.Heartbeat = new(setup.Time(beat))
				return run(o, by, seed)
			}
		}
		return p
	}
	return []row{
		{
			name: "ecsched-50-nodes", setting: "the 9,549 jobs of ECSched's authors on 50 equal nodes; both plan every second", data: []string{list}, rival: "ecsched-dp",
			parts: []part{jobs("nodes=50", cluster.Second)}, seeds: seedsFrom(o, 1, 1),
			targets: []target{targetAtMost("mean response", report.InSeconds, 1_220, meanResponse)},
		},
		{
			name: "ecsched-testbed", setting: "the same jobs on the 30 nodes of the test bed; both plan at once", data: []string{list}, rival: "ecsched-dp",
			parts: []part{jobs("testbed=true", 0)}, seeds: seedsFrom(o, 1, 1),
			targets: []target{targetAtMost("mean response", report.InSeconds, 2_190, meanResponse)},
		},
		{
			name: "ecsched-queue", setting: "the same jobs on 50 nodes; deciding takes no time, both plan every second, and ecsched-ml solves once, over the whole queue, by its authors' solver",
			data: []string{list}, rival: "ecsched-ml", parts: []part{wholeQueue(list)}, seeds: seedsFrom(o, 1, 1),
			targets: []target{targetAtMost("mean response", report.InSeconds, 1_206, meanResponse)},
		},
	}
}

// localityRow is tasks with input.
func localityRow(o *Options) []row {
	s := googleSpec(o, 300, 8)
	s.Source.Data = "hdfs"
	return []row{{
		name: "hdfs", setting: "300 nodes, 8 tasks a node, an hour; tasks read input that lies as in HDFS; the target was measured with the first seed", rival: "quincy", parts: []part{specPart(s, nil)}, seeds: seedsFrom(o, 1, manySeeds),
		targets: []target{targetAtLeast("input that is local", report.InShares, 0.84, localInput)},
	}}
}

// applicationRows are long-running applications under constraints.
func applicationRows(o *Options) []row {
	const file = "fairlead/lra-500x40.yaml.gz"
	s := until(specOf(traceSource(o, "place", file, "together=10&every=10s")), of(o.Size, 2*cluster.Minute, 2*cluster.Minute, 15*cluster.Second))
	s.Classes = "none" // Google's gold is promised never to be evicted, and so not to be moved either
	return []row{
		{
			name: "lra-500x40", setting: "40 applications under constraints on 500 nodes, ten every ten seconds, promised nothing", data: []string{file}, rival: withSearch,
			parts: []part{specPart(s, nil)}, seeds: seedsFrom(o, 1, 1),
			targets: []target{targetAtMost("tasks that violate a constraint at the end", report.InShares, 0.004, finalViolations)},
		},
	}
}

// fairRows are about who waits.
func fairRows(o *Options) []row {
	const users, starve = "fairlead/users.jsonl.gz", "fairlead/starve.jsonl.gz"
	at := func(file string) part {
		return userPart(shorter(o, specOf(filepath.Join(o.Data, file)), 10*cluster.Minute))
	}
	return []row{
		{
			name: "starve", setting: "tasks of whole nodes among 4,589 small ones at 97 % load", data: []string{starve}, rival: "bfd",
			parts: []part{at(starve)}, seeds: seedsFrom(o, 1, 1),
			targets: []target{
				targetAtMost("wait of large tasks, mean", report.InSeconds, 300, waitOf("large")), targetAtMost("wait of small tasks, mean", report.InSeconds, 6, waitOf("small")),
				targetAtMost("preemptions", report.InEvents, 0, preemptions),
			},
		},
		{
			name: "users", setting: "a small user beside a large one", data: []string{users}, rival: "mesos", parts: []part{at(users)}, seeds: seedsFrom(o, 1, 1),
			targets: []target{targetAtMost("wait of the small user, mean", report.InSeconds, 60, waitOf("B"))},
		},
	}
}
