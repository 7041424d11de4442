// Package acme reads the logs of the Acme datacentre of the Shanghai AI Laboratory (Hu et
// al., NSDI'24), March to August 2023: large language models on the clusters Seren and Kalos.
//
// The file is trace_seren.csv or trace_kalos.csv, a table with a first line that names the columns:
//
//	job_id      the job's name; each stands once
//	user        who submitted it
//	node_num, gpu_num, cpu_num
//	            on how many nodes it is, and how many GPUs and cores it has in all: a pod on each node, evenly
//	mem_per_pod_GB
//	            of Kalos alone: memory of each pod
//	state       as in Helios: COMPLETED, CANCELLED by its user, FAILED, TIMEOUT or NODE_FAIL
//	submit_time when it was submitted, such as 2023-03-01 00:18:22+08:00
//	duration    how long it ran, in seconds
//	start_time, end_time, fail_time, stop_time, queue, gpu_time
//	            outcomes of their scheduler; not read
//	type        what it was for, such as Pretrain; not read, as is shared_mem_per_pod
//
// Half of the jobs have no GPU; they are read, too.
package acme

import (
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// Default is nodes of eight GPUs, 128 cores and 2 TiB, as those of Kalos, as many as the jobs need.
func Default() gpujobs.Options {
	return gpujobs.Options{GPUs: 8, Cores: 128 * gpujobs.Core, Memory: 2048 * gpujobs.GiB}
}

// Open reads the whole file.
func Open(file string, o gpujobs.Options) (*gpujobs.Source, error) {
	l := gpujobs.NewList(o.Lenient)
	header := trace.Header{
		Needed:   []string{"job_id", "user", "node_num", "gpu_num", "cpu_num", "state", "submit_time", "duration"},
		Optional: []string{"mem_per_pod_GB", "shared_mem_per_pod", "type", "start_time", "end_time", "fail_time", "stop_time", "queue", "gpu_time"},
	}
	err := trace.ReadTable(file, &l.Skips, header, func(c trace.Columns, row *trace.Row) error {
		j := gpujobs.Job{Name: l.Name(row, c["job_id"]), User: l.Text(row, c["user"]), At: gpujobs.Date(row, c["submit_time"])}
		fails, ended := gpujobs.State(row, c["state"])
		pods := gpujobs.Pods{
			Count: max(gpujobs.Count(row, c["node_num"], "a number of nodes", gpujobs.MostPods), 1),
			GPU:   gpujobs.Device * gpujobs.Count(row, c["gpu_num"], "a number of GPUs", gpujobs.MostGPUs),
			CPU:   gpujobs.Core * gpujobs.Count(row, c["cpu_num"], "a number of cores", gpujobs.MostGPUs*1024),
			Fails: fails,
		}
		if memory := c["mem_per_pod_GB"]; memory > 0 && !row.Empty(memory) {
			pods.Memory = pods.Count * gpujobs.GiB * gpujobs.Count(row, memory, "a number of GB", 1<<20)
		}
		if row.Empty(c["duration"]) {
			ended = false
		} else {
			pods.Work = gpujobs.Seconds(row, c["duration"], "a duration in seconds")
		}
		j.Pods = o.Whole(pods)
		switch {
		case row.Err() != nil:
			return row.Err()
		case !ended:
			l.Omit("jobs that have not ended")
		default:
			l.Add(j)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l.Source(o), nil
}
