package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

func newTrace() *cobra.Command {
	c := &cobra.Command{
		Use:     "trace",
		Short:   "Look at workloads, convert them, and make them up",
		Example: "  fairlead trace describe google2011:DIR\n  fairlead trace convert google2011:DIR --output google.jsonl.gz\n  fairlead trace generate google --nodes 100 --hours 1 --output google.jsonl.gz",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newDescribe(), newConvert(), newGenerate())
	return c
}

func newDescribe() *cobra.Command {
	var until string
	var lenient bool
	c := &cobra.Command{
		Use:   "describe SRC",
		Short: "Sum up a workload: nodes, load, sizes, durations, priorities",
		Long:  "Describe reads a source to its end and sums it up.\n\n" + sourceHelp(),
		Example: `  fairlead trace describe google2011:DIR
  fairlead trace describe 'synthetic:google?nodes=1000' --until 1d
  fairlead trace describe recording:DIR`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if files, is, err := recordingFiles(args[0]); is {
				return describeAll(c, files, err)
			}
			spec, err := parseSource(args[0])
			if err != nil {
				return usage(c, err)
			}
			if until == "" && spec.format == "synthetic" {
				until = defaultUntil
			}
			last := cluster.Never
			if until != "" {
				if last, err = parseTime(until); err != nil {
					return usage(c, fmt.Errorf("--until: %w", err))
				}
			}
			src, err := spec.open(1, lenient)
			if err != nil {
				return err
			}
			defer src.Close() //nolint:errcheck // it was only read
			d, err := trace.Describe(src, func(t cluster.Time) bool { return t > last })
			if err != nil {
				return err
			}
			src.tellLeftOut(c.ErrOrStderr(), "")
			printNotes(c.ErrOrStderr(), src.notes())
			return describe(c.OutOrStdout(), &d)
		},
	}
	c.Flags().StringVar(&until, "until", "", "`time` at which to stop reading (default: "+defaultUntil+" for synthetic sources, else the end)")
	c.Flags().BoolVar(&lenient, "lenient", false, "count broken lines and leave them out")
	return c
}

// describe prints a description as two columns.
func describe(out io.Writer, d *trace.Description) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, a ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", a...) }
	line("time", "%s to %s", short(d.First), short(d.Last))
	line("nodes", "%d at the start; later %d added, %d changed, %d lost", d.Nodes, d.NodeEvents[0], d.NodeEvents[1], d.NodeEvents[2])
	for k, kind := range d.Kinds {
		share := ""
		if d.Capacity[k] > 0 {
			share = fmt.Sprintf(", running at the start %.1f%%", 100*float64(d.RunningDemand[k])/float64(d.Capacity[k]))
		}
		line("capacity of "+kind.Name, "%s %s%s", kind.Format(d.Capacity[k]), kind.Unit, share)
	}
	line("tasks", "%d: %d running at the start, %d waiting then, %d later; %d killed by their users", d.Tasks, d.Running, d.Tasks-d.Running-d.Later, d.Later, d.Killed)
	line("jobs", "%d of %d users", d.Jobs, d.Users)
	line("shapes", "%d different demands", d.Shapes)
	line("apart", "%s stand apart from the rest of their job, %s have requirements", percent(d.Apart, d.Tasks), percent(d.Required, d.Tasks))
	for k, kind := range d.Kinds {
		q := d.Demand[k]
		line("demand of "+kind.Name, "p10 %s, p50 %s, p90 %s, p99 %s, max %s", kind.Format(q.P10), kind.Format(q.P50), kind.Format(q.P90), kind.Format(q.P99), kind.Format(q.Max))
	}
	work := d.Work
	line("work", "p10 %s, p50 %s, p90 %s, p99 %s, max %s; %s never end", short(cluster.Time(work.P10)), short(cluster.Time(work.P50)),
		short(cluster.Time(work.P90)), short(cluster.Time(work.P99)), short(cluster.Time(work.Max)), percent(d.Endless, d.Tasks))
	var shares []string
	for _, p := range d.ByPriority {
		shares = append(shares, fmt.Sprintf("%d: %s", p.Priority, percent(p.Tasks, d.Tasks)))
	}
	line("priorities", "%s", strings.Join(shares, ", "))
	return w.Flush()
}

// short prints a time in the largest unit that leaves it at least 1.
func short(t cluster.Time) string {
	for _, u := range []struct {
		size cluster.Time
		name string
	}{{cluster.Day, "d"}, {cluster.Hour, "h"}, {cluster.Minute, "m"}, {cluster.Second, "s"}, {cluster.Millisecond, "ms"}} {
		if t >= u.size {
			return fmt.Sprintf("%.4g%s", float64(t)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%dus", int64(t))
}

func percent(part, whole int) string {
	if whole == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}
