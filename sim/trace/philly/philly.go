// Package philly reads the jobs of Microsoft's Philly clusters (Jeon et al., ATC'19),
// August to December 2017: training of neural networks on GPUs, in the virtual
// clusters of 15 teams.
//
// The file is a table with a first line that names the columns, as later papers pass
// it on (Shockwave, Sia):
//
//	timestamp   when the job was submitted, such as 2017-10-09 07:01:55
//	duration    how long it ran, in seconds
//	num_gpus    how many GPUs it had
//	gpu_time    their product; not read
//	cluster     its virtual cluster, which becomes its user
//
// Rows are in no order. The original, cluster_job_log, is read as well, a list of jobs in
// JSON that also has how often a job was tried, and how it ended (joblog.go): it works for
// the sum of its attempts, on as many GPUs as the last of them had, and fails where its
// status is Failed. One that was still running at the end never ends; one that never began
// is left out.
package philly

import (
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// Default is nodes of eight GPUs, as many as the jobs need.
func Default() gpujobs.Options { return gpujobs.Options{GPUs: 8} }

// Open reads the whole file.
func Open(file string, o gpujobs.Options) (*gpujobs.Source, error) {
	l := gpujobs.NewList(o.Lenient)
	if done, err := openJobLog(file, l, &o); done || err != nil {
		if err != nil {
			return nil, err
		}
		return l.Source(o), nil
	}
	header := trace.Header{Needed: []string{"timestamp", "duration", "num_gpus", "cluster"}, Optional: []string{"gpu_time"}}
	err := trace.ReadTable(file, &l.Skips, header, func(c trace.Columns, row *trace.Row) error {
		gpus := gpujobs.Count(row, c["num_gpus"], "a number of GPUs", gpujobs.MostGPUs)
		j := gpujobs.Job{At: gpujobs.Date(row, c["timestamp"]), User: l.Text(row, c["cluster"])}
		j.Pods = o.Whole(gpujobs.Pods{GPU: gpus * gpujobs.Device, Work: gpujobs.Seconds(row, c["duration"], "a duration in seconds")})
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
