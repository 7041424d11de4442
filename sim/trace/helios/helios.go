// Package helios reads the logs of SenseTime's Helios clusters (Hu et al., SC'21), April
// to September 2020: Earth, Saturn, Uranus and Venus, under Slurm.
//
// The file is a cluster_log.csv, a table with a first line that names the columns:
//
//	job_id      the job's name; each stands once
//	user, vc    who submitted it, and in which virtual cluster: its user is the latter
//	gpu_num, cpu_num, node_num
//	            how many GPUs and cores it has in all, and on how many nodes: a pod on each, evenly
//	state       COMPLETED, CANCELLED by its user, which is when it ends here, too; FAILED, TIMEOUT and NODE_FAIL fail;
//	            SUSPENDED, which is one job of one cluster, is left out, as its authors do
//	submit_time when it was submitted, such as 2020-06-09 18:41:01
//	duration    how long it ran, in seconds
//	start_time, end_time, queue
//	            outcomes of their scheduler; not read
//
// Half of the jobs have no GPU; they are read, too.
package helios

import (
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// Default is nodes of eight GPUs and 64 cores, as many as the jobs need.
func Default() gpujobs.Options { return gpujobs.Options{GPUs: 8, Cores: 64 * gpujobs.Core} }

// Open reads the whole file.
func Open(file string, o gpujobs.Options) (*gpujobs.Source, error) {
	l := gpujobs.NewList(o.Lenient)
	header := trace.Header{
		Needed:   []string{"job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "state", "submit_time", "duration"},
		Optional: []string{"start_time", "end_time", "queue"},
	}
	err := trace.ReadTable(file, &l.Skips, header, func(c trace.Columns, row *trace.Row) error {
		j := gpujobs.Job{At: gpujobs.Date(row, c["submit_time"]), User: l.Text(row, c["vc"]), Name: l.Name(row, c["job_id"])}
		fails, ended := gpujobs.State(row, c["state"])
		j.Pods = o.Whole(gpujobs.Pods{
			GPU:   gpujobs.Device * gpujobs.Count(row, c["gpu_num"], "a number of GPUs", gpujobs.MostGPUs),
			CPU:   gpujobs.Core * gpujobs.Count(row, c["cpu_num"], "a number of cores", gpujobs.MostGPUs*1024),
			Count: max(gpujobs.Count(row, c["node_num"], "a number of nodes", gpujobs.MostPods), 1),
			Work:  gpujobs.Seconds(row, c["duration"], "a duration in seconds"), Fails: fails,
		})
		switch {
		case row.Err() != nil:
			return row.Err()
		case !ended:
			l.Omit("jobs that were suspended")
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
