// Package chronus reads the workloads of Chronus (Gao et al., SoCC'21): jobs of Philly
// that train neural networks, with deadlines made up by the authors.
//
// The file is a table with a first line that names the columns:
//
//	job_id             the job's name; each stands once
//	user               its virtual cluster
//	num_gpu            how many GPUs it has; the authors leave out those with 0, and so does this reader
//	submit_time        since the start
//	duration           how long it runs
//	expect_time_list   when it is due, since its submission, such as 159-189-229-289
//	expect_value_list  what it is worth then, such as 10-8-5-2
//	best_effort        1: there is no deadline, whatever the lists say
//	job_type           strict (one deadline), soft (several, worth less and less) or best
//	iterations, model_name, interval
//	                   for the authors' profiler and leases; not read
//
// Times are whole minutes: the authors' scheduler counts an hour as 60 of them. What a
// job is due to becomes trace.Task.Due, and its priority is 9 if it is strict, 2 if it is
// soft and 0 if it is best effort, which are the bounds of the classes gold, silver and
// bronze.
package chronus

import (
	"bytes"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// Default is nodes of eight GPUs, as many as the jobs need.
func Default() gpujobs.Options { return gpujobs.Options{GPUs: 8} }

// Open reads the whole file.
func Open(file string, o gpujobs.Options) (*gpujobs.Source, error) {
	l := gpujobs.NewList(o.Lenient)
	header := trace.Header{
		Needed:   []string{"job_id", "user", "num_gpu", "submit_time", "duration", "expect_time_list", "expect_value_list", "best_effort"},
		Optional: []string{"iterations", "model_name", "interval", "job_type"},
	}
	err := trace.ReadTable(file, &l.Skips, header, func(c trace.Columns, row *trace.Row) error {
		gpus := gpujobs.Count(row, c["num_gpu"], "a number of GPUs", gpujobs.MostGPUs)
		j := gpujobs.Job{Name: l.Name(row, c["job_id"]), User: l.Text(row, c["user"]), At: minutes(row, c["submit_time"], row.Text(c["submit_time"]))}
		j.Pods = o.Whole(gpujobs.Pods{GPU: gpus * gpujobs.Device, Work: minutes(row, c["duration"], row.Text(c["duration"]))})
		j.Due = due(row, c)
		switch {
		case len(j.Due) == 1:
			j.Priority = strict
		case len(j.Due) > 1:
			j.Priority = soft
		}
		switch {
		case row.Err() != nil:
			return row.Err()
		case gpus == 0:
			l.Omit("jobs without a GPU")
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

// The priorities of jobs that have a deadline; that of others is 0.
const (
	strict = 9
	soft   = 2
)

// minutes reads a whole number of minutes, which is the field or a part of it.
func minutes(row *trace.Row, field int, text []byte) cluster.Time {
	const most = int64(gpujobs.MostTime / cluster.Minute)
	n, ok := whole(text, most)
	if !ok {
		row.Fail(field, "a whole number of minutes")
	}
	return cluster.Time(n) * cluster.Minute
}

// whole reads a number from 0 to most.
func whole(text []byte, most int64) (n int64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' || n > most {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return min(n, most), len(text) > 0 && n <= most
}

// due reads when the job is due.
func due(row *trace.Row, c trace.Columns) []trace.Due {
	if gpujobs.Count(row, c["best_effort"], "0 or 1", 1) == 1 {
		return nil
	}
	times, values := bytes.Split(row.Text(c["expect_time_list"]), []byte("-")), bytes.Split(row.Text(c["expect_value_list"]), []byte("-"))
	if len(times) != len(values) || len(times) > trace.MostDue {
		row.Fail(c["expect_value_list"], "as many values as there are in expect_time_list, at most 16, between hyphens")
		return nil
	}
	all := make([]trace.Due, len(times))
	for i := range times {
		worth, ok := whole(values[i], cluster.MaxQuantity)
		if !ok {
			row.Fail(c["expect_value_list"], "whole numbers between hyphens")
		}
		all[i] = trace.Due{Within: minutes(row, c["expect_time_list"], times[i]), Worth: worth}
	}
	if trace.CheckDue(all) != nil {
		row.Fail(c["expect_time_list"], "times that are later and later, from 1 on, and worth less and less")
	}
	return all
}
