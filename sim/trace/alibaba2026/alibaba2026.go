// Package alibaba2026 reads Alibaba's trace of spot instances with GPUs
// (cluster-trace-v2026-spot-gpu; Duan et al., GFS, ASPLOS'26). A folder holds two tables,
// whose first lines name the columns, each perhaps compressed with gzip:
//
//	node_info_df.csv   node_name, gpu_model, gpu_capacity_num and cpu_num: 4,278 nodes of six models
//	job_info_df.csv    the jobs:
//	  job_name         its name; each stands once
//	  organization     who pays for it, which is its user
//	  gpu_model        the model that it asks for; becomes the requirement gpu-model
//	  cpu_request, gpu_request
//	                   cores and GPUs of each of its instances; a share of one GPU, or whole ones
//	  worker_num       how many instances, which are its pods
//	  submit_time, duration
//	                   in seconds, since the first job
//	  job_type         HP or Spot
//
// The priority of high-priority jobs is 9 and that of spot jobs 0, so that a table of classes
// says what each was promised: --classes spot is one. The release has no memory, and does not say
// which spot runs were evicted.
package alibaba2026

import (
	"fmt"
	"os"
	"path/filepath"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// highPriority is the priority of jobs of that type; that of spot jobs is 0.
const highPriority = 9

// Open reads both tables. Of the options, those that describe nodes do not count.
func Open(dir string, o gpujobs.Options) (*gpujobs.Source, error) {
	l := gpujobs.NewList(o.Lenient)
	o.Cores = gpujobs.Core // they are counted; how many there are, the nodes say
	if !o.TasksOnly {
		nodes, err := readNodes(find(dir, "node_info_df.csv"), l)
		if err != nil {
			return nil, err
		}
		o.Given = nodes
	}
	if err := readJobs(find(dir, "job_info_df.csv"), l); err != nil {
		return nil, err
	}
	return l.Source(o), nil
}

// find is the file of that name in the folder, perhaps compressed.
func find(dir, name string) string {
	file := filepath.Join(dir, name)
	if _, err := os.Stat(file); err != nil {
		if _, err := os.Stat(file + ".gz"); err == nil {
			return file + ".gz"
		}
	}
	return file
}

func readNodes(file string, l *gpujobs.List) (nodes []trace.Node, err error) {
	names := map[string]bool{}
	header := trace.Header{Needed: []string{"node_name", "gpu_model", "gpu_capacity_num", "cpu_num"}, Optional: []string{""}}
	err = trace.ReadTable(file, &l.Skips, header, func(c trace.Columns, row *trace.Row) error {
		n := trace.Node{
			ID: uint64(len(nodes) + 1), Name: string(row.Text(c["node_name"])),
			Capacity: cluster.Vector{
				gpujobs.Core * gpujobs.Count(row, c["cpu_num"], "a number of cores", gpujobs.MostGPUs),
				gpujobs.Device * gpujobs.Count(row, c["gpu_capacity_num"], fmt.Sprintf("a number of GPUs, at most %d", cluster.MaxDevices), cluster.MaxDevices),
			},
			Labels: []cluster.Label{{Key: "gpu-model", Value: l.Text(row, c["gpu_model"])}},
		}
		if n.Name == "" || names[n.Name] {
			row.Fail(c["node_name"], "the name of a node that is not there yet")
		}
		if err := row.Err(); err != nil {
			return err
		}
		names[n.Name] = true
		nodes = append(nodes, n)
		return nil
	})
	return nodes, err
}

func readJobs(file string, l *gpujobs.List) error {
	header := trace.Header{
		Needed:   []string{"job_name", "organization", "gpu_model", "cpu_request", "gpu_request", "worker_num", "submit_time", "duration", "job_type"},
		Optional: []string{""},
	}
	return trace.ReadTable(file, &l.Skips, header, func(c trace.Columns, row *trace.Row) error {
		j := gpujobs.Job{
			Name: l.Name(row, c["job_name"]), User: l.Text(row, c["organization"]),
			At: gpujobs.Seconds(row, c["submit_time"], "a time in seconds"),
		}
		switch string(row.Text(c["job_type"])) {
		case "HP":
			j.Priority = highPriority
		case "Spot":
		default:
			row.Fail(c["job_type"], "HP or Spot")
		}
		pods := gpujobs.Pods{
			Count: gpujobs.Count(row, c["worker_num"], "a number of instances", gpujobs.MostPods),
			CPU:   row.Decimal(c["cpu_request"], "a number of cores", 3, trace.Up),
			GPU:   gpujobs.Share(row, c["gpu_request"], "a number of GPUs", 3),
			Work:  gpujobs.Seconds(row, c["duration"], "a duration in seconds"),
			Model: l.Text(row, c["gpu_model"]),
		}
		j.Pods = []gpujobs.Pods{pods}
		switch {
		case row.Err() != nil:
			return row.Err()
		case pods.Count == 0:
			l.Omit("jobs without an instance")
		default:
			l.Add(j)
		}
		return nil
	})
}
