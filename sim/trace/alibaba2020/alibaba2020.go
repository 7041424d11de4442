// Package alibaba2020 reads Alibaba's GPU trace of 2020 (cluster-trace-gpu-v2020; Weng et
// al., NSDI'22): two months of PAI, 1,800 machines with 6,500 GPUs. A folder holds its tables,
// without a line that names the columns (those stand in files of their own, *.header), each
// perhaps compressed with gzip:
//
//	pai_machine_spec.csv  machine, gpu_type, cap_cpu (cores), cap_mem (GB), cap_gpu
//	pai_job_table.csv     job_name, inst_id, user, status, start_time, end_time
//	pai_task_table.csv    job_name, task_name, inst_num, status, start_time, end_time,
//	                      plan_cpu and plan_gpu (in per cent of a core and of a GPU), plan_mem (GB), gpu_type
//
// A job is submitted at its start_time, and each of its tasks, such as ps and worker, is inst_num pods
// that run from the task's start_time to its end_time. What asks for more than one GPU gets whole ones.
// A task that has not ended runs for ever; one that has not begun is left out, as nobody knows how
// long it would have run. A task that Failed fails at its end.
//
// The gpu_type of a task is that of the GPUs that it was given, and so an outcome, which
// Options.Models makes a requirement all the same. Not read: pai_instance_table, as all instances of a task
// ask for the same, and the tables of what was measured.
package alibaba2020

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// Options are those of all lists of jobs, of which those that describe nodes do not count.
type Options struct {
	gpujobs.Options
	Models bool // a task is to have GPUs of the type that it had
}

// The columns, from 1.
const (
	machineName = iota + 1
	machineType
	machineCPU
	machineMemory
	machineGPU
	machineColumns = machineGPU
)

const (
	jobName = iota + 1
	jobID
	jobUser
	jobStatus
	jobStart
	jobEnd
	jobColumns = jobEnd
)

const (
	taskJob = iota + 1
	taskName
	taskInstances
	taskStatus
	taskStart
	taskEnd
	taskCPU
	taskMemory
	taskGPU
	taskType
	taskColumns = taskType
)

// reader is what is read so far.
type reader struct {
	options Options
	list    *gpujobs.List
	nodes   []trace.Node
	names   map[string]bool // of machines
	at      map[string]int  // where in jobs a job is
	jobs    []gpujobs.Job
}

// Open reads the tables.
func Open(dir string, o Options) (*gpujobs.Source, error) {
	r := reader{options: o, list: gpujobs.NewList(o.Lenient), names: map[string]bool{}, at: map[string]int{}}
	o.Cores, o.Memory = gpujobs.Core, gpujobs.GiB // they are counted; how much there is, the machines say
	if !o.TasksOnly {
		if err := r.table(dir, "pai_machine_spec", machineColumns, r.machine); err != nil {
			return nil, err
		}
		o.Given = r.nodes
	}
	if err := r.table(dir, "pai_job_table", jobColumns, r.job); err != nil {
		return nil, err
	}
	if err := r.table(dir, "pai_task_table", taskColumns, r.task); err != nil {
		return nil, err
	}
	for i := range r.jobs {
		if len(r.jobs[i].Pods) == 0 {
			r.list.Omit("jobs without a task that has begun")
			continue
		}
		r.list.Add(r.jobs[i])
	}
	return r.list.Source(o.Options), nil
}

// table reads the rows of a table. One that names the columns, and begins as the first of them does, is passed over.
func (r *reader) table(dir, name string, columns int, read func(*trace.Row) error) error {
	file := filepath.Join(dir, name+".csv")
	if _, err := os.Stat(file); err != nil {
		if _, err := os.Stat(file + ".gz"); err == nil {
			file += ".gz"
		}
	}
	lines, err := trace.OpenLines(file, &r.list.Skips)
	if err != nil {
		return err
	}
	defer lines.Close() //nolint:errcheck // it was only read
	var row trace.Row
	for rows, first := 0, true; ; first = false {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) && rows == 0 {
			return lines.Missing(fmt.Sprintf("a row of %s, %d fields between commas", name, columns))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 || first && (bytes.HasPrefix(line, []byte("job_name,")) || bytes.HasPrefix(line, []byte("machine,"))) {
			continue
		}
		row.Split(lines, line, columns)
		err = read(&row)
		if err == nil {
			rows++
		}
		if err := r.list.Skips.Refuse(err); err != nil {
			return err
		}
	}
}

// machine reads a node.
func (r *reader) machine(row *trace.Row) error {
	n := trace.Node{
		ID: uint64(len(r.nodes) + 1), Name: string(row.Text(machineName)),
		Capacity: cluster.Vector{
			gpujobs.Core * gpujobs.Count(row, machineCPU, "a number of cores", gpujobs.MostGPUs),
			gpujobs.GiB * gpujobs.Count(row, machineMemory, "a number of GB", 1<<24),
			gpujobs.Device * gpujobs.Count(row, machineGPU, fmt.Sprintf("a number of GPUs, at most %d", cluster.MaxDevices), cluster.MaxDevices),
		},
	}
	if !row.Empty(machineType) {
		n.Labels = []cluster.Label{{Key: "gpu-model", Value: r.list.Text(row, machineType)}}
	}
	if n.Name == "" || r.names[n.Name] {
		row.Fail(machineName, "the name of a machine that is not there yet")
	}
	if err := row.Err(); err != nil {
		return err
	}
	r.names[n.Name] = true
	r.nodes = append(r.nodes, n)
	return nil
}

// job reads when a job was submitted, and by whom.
func (r *reader) job(row *trace.Row) error {
	j := gpujobs.Job{Name: string(row.Text(jobName)), User: r.list.Text(row, jobUser), At: gpujobs.Seconds(row, jobStart, "a time in seconds")}
	if _, known := r.at[j.Name]; known || j.Name == "" {
		row.Fail(jobName, "the name of a job that is not there yet")
	}
	if err := row.Err(); err != nil {
		return err
	}
	r.at[j.Name] = len(r.jobs)
	r.jobs = append(r.jobs, j)
	return nil
}

// task reads some pods of a job.
func (r *reader) task(row *trace.Row) error {
	at, known := r.at[string(row.Text(taskJob))]
	if !known {
		row.Fail(taskJob, "a job of pai_job_table")
		return row.Err()
	}
	p := gpujobs.Pods{
		Count: planned(row, taskInstances, func() int64 { return gpujobs.Count(row, taskInstances, "a number of instances", gpujobs.MostPods) }),
		CPU:   planned(row, taskCPU, func() int64 { return row.Decimal(taskCPU, "per cent of a core", 1, trace.Up) }),
		GPU:   planned(row, taskGPU, func() int64 { return gpujobs.Share(row, taskGPU, "per cent of a GPU", 1) }),
		Memory: planned(row, taskMemory, func() int64 {
			const million = 1_000_000
			return (row.Decimal(taskMemory, "a number of GB", 6, trace.Up)*gpujobs.GiB + million - 1) / million
		}),
		Work: cluster.Never, Fails: string(row.Text(taskStatus)) == "Failed",
	}
	p.Count = cmp.Or(p.Count, 1)
	if r.options.Models && !row.Empty(taskType) && p.GPU > 0 {
		p.Model = r.list.Text(row, taskType)
	}
	begun := !row.Empty(taskStart)
	if begun && !row.Empty(taskEnd) {
		start, end := gpujobs.Seconds(row, taskStart, "a time in seconds"), gpujobs.Seconds(row, taskEnd, "a time in seconds")
		if p.Work = end - start; p.Work < 0 {
			row.Fail(taskEnd, "a time that is not before start_time")
		}
	}
	if err := row.Err(); err != nil {
		return err
	}
	j := &r.jobs[at]
	pods := p.Count
	for i := range j.Pods {
		pods += j.Pods[i].Count
	}
	switch {
	case !begun:
		r.list.Omit("tasks that have not begun")
		return nil
	case pods > gpujobs.MostPods:
		row.Fail(taskInstances, fmt.Sprintf("at most %d instances in a job", gpujobs.MostPods))
		return row.Err()
	}
	j.Pods = append(j.Pods, p)
	return nil
}

// planned reads a field that may be empty, which is 0.
func planned(row *trace.Row, field int, read func() int64) int64 {
	if row.Empty(field) || strings.EqualFold(string(row.Text(field)), "nan") {
		return 0
	}
	return read()
}
