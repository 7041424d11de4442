package setup

import (
	"errors"
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/acme"
	"fairlead.dev/fairlead/sim/trace/chronus"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
	"fairlead.dev/fairlead/sim/trace/helios"
	"fairlead.dev/fairlead/sim/trace/philly"
)

// This file is the logs of GPU clusters that are one table of jobs. What they have in common is what
// nodes are made up for them, and how a job is spread over these.

// lacksOfJobs is what a list of jobs could not hold.
const lacksOfJobs = "nodes, requirements, kills, services, or tasks that run at the start"

// jobsFormat is a format of a list of jobs.
func jobsFormat(name, help string, defaults func() gpujobs.Options, open func(string, gpujobs.Options) (*gpujobs.Source, error)) Format {
	options := []string{"nodes", "gpus", "pod", "gangs"}
	if defaults().Cores > 0 {
		options = append(options, "cores")
	}
	if defaults().Memory > 0 {
		options = append(options, "memory")
	}
	return Format{
		Name: name, Help: help, Lacks: lacksOfJobs, options: options,
		check: func(s URL) error { _, err := s.gpuJobs(defaults()); return err },
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o, err := s.gpuJobs(defaults())
			if err != nil {
				return nil, err
			}
			o.Lenient = lenient
			return open(s.Path, o)
		},
	}
}

// gpuJobs are the options of a list of jobs.
func (s URL) gpuJobs(o gpujobs.Options) (gpujobs.Options, error) {
	o.TasksOnly = s.Role == TasksAlone
	const most = cluster.MaxQuantity / gpujobs.GiB
	err := errors.Join(
		s.whole("nodes", 1, 1_000_000, func(v int64) { o.Nodes = int(v) }),
		s.whole("gpus", 1, cluster.MaxDevices, func(v int64) { o.GPUs = v }),
		s.whole("pod", 1, cluster.MaxDevices, func(v int64) { o.Pod = v }),
		s.number("cores", most, func(v float64) { o.Cores = max(int64(math.Round(v*gpujobs.Core)), 1) }),
		s.number("memory", most, func(v float64) { o.Memory = max(int64(math.Round(v*gpujobs.GiB)), 1) }),
		s.truth("gangs", func(v bool) { o.Loose = !v }),
	)
	return o, err
}

func phillyFormat() Format {
	return jobsFormat("philly", `  philly:FILE?nodes=N&gpus=8&pod=8&gangs=true
                   Microsoft's Philly trace of 2017: training jobs, in pods of up to
                   pod GPUs that begin together; gangs=false: each by itself. The trace
                   has no nodes: these are made up, enough for all that asks at once
`, philly.Default, philly.Open)
}

func chronusFormat() Format {
	return jobsFormat("chronus", `  chronus:FILE?nodes=N&gpus=8&pod=8&gangs=true
                   jobs of Philly with the deadlines of Chronus, strict, soft or none
`, chronus.Default, chronus.Open)
}

func heliosFormat() Format {
	return jobsFormat("helios", `  helios:FILE?nodes=N&gpus=8&cores=64&gangs=true
                   SenseTime's Helios traces of 2020, a cluster_log.csv: jobs with and
                   without GPUs, a pod on each of their nodes
`, helios.Default, helios.Open)
}

func acmeFormat() Format {
	return jobsFormat("acme", `  acme:FILE?nodes=N&gpus=8&cores=128&memory=2048&gangs=true
                   traces of large language models at the Shanghai AI Laboratory, 2023,
                   trace_seren.csv or trace_kalos.csv: as helios
`, acme.Default, acme.Open)
}
