package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim/trace"
)

func newTrace() *cobra.Command {
	c := &cobra.Command{
		Use:     "trace",
		Short:   "Look at workloads, convert them, and make them up",
		Example: "  fairlead trace describe google2011:DIR\n  fairlead trace convert google2011:DIR --output google.jsonl.gz\n  fairlead trace generate google --nodes 100 --until 1h --output google.jsonl.gz",
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
		Long:  "Describe reads a source to its end and sums it up. Where nodes and tasks come from, SRC,\nsays 'fairlead help sources'.",
		Example: `  fairlead trace describe google2011:DIR
  fairlead trace describe 'synthetic:google?nodes=1000' --until 1d
  fairlead trace describe recording:DIR`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if files, is, err := recordingFiles(args[0]); is {
				return describeAll(c, files, err)
			}
			spec, err := setup.ParseURL(setup.Guess(args[0]))
			if err != nil {
				return usage(c, err)
			}
			if until == "" && spec.Endless() {
				until = setup.DefaultUntil
			}
			last := cluster.Never
			if until != "" {
				if last, err = setup.ParseTime(until); err != nil {
					return usage(c, fmt.Errorf("--until: %w", err))
				}
			}
			src, err := interruptible(c.Context(), func() (setup.Opened, error) { return spec.Open(1, lenient) })
			if err != nil {
				return err
			}
			defer src.Close() //nolint:errcheck // it was only read
			d, err := trace.Describe(src, func(t cluster.Time) bool { return t > last })
			if err != nil {
				return err
			}
			return describe(c.OutOrStdout(), &d, src.Notes())
		},
	}
	c.Flags().StringVar(&until, "until", "", "`time` at which to stop reading (default: "+setup.DefaultUntil+" for sources without end, else the end)")
	c.Flags().BoolVar(&lenient, "lenient", false, "count broken lines and leave them out")
	return c
}

// describeConstraints prints what constraints there are, and whom they could name.
func describeConstraints(line func(name, format string, a ...any), d *trace.Description) {
	if d.Constraints > 0 {
		line("constraints", "%d, of which %d are hard", d.Constraints, d.Hard)
	}
	if d.Tagged > 0 {
		line("tags", "%s of tasks have some: %s", percent(d.Tagged, d.Tasks), shares(d.Tags, d.Tasks, func(tag string) string { return tag }))
	}
	if d.LongRunning > 0 {
		line("long-running", "%s of tasks", percent(d.LongRunning, d.Tasks))
	}
	if d.Gangs > 0 {
		line("gangs", "%s of tasks", percent(d.Gangs, d.Tasks))
	}
	if d.Due > 0 {
		line("deadlines", "%s of tasks", percent(d.Due, d.Tasks))
	}
}

// describe prints a description as two columns.
func describe(out io.Writer, d *trace.Description, notes []string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, a ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", a...) }
	line("time", "%s to %s", report.ShortTime(d.First), report.ShortTime(d.Last))
	line("nodes", "%d at the start; later %d added, %d changed, %d lost", d.Nodes, d.NodeEvents[0], d.NodeEvents[1], d.NodeEvents[2])
	for _, l := range d.Labels {
		line("label "+l.Key, "%s different values", l.Values)
	}
	for k, kind := range d.Kinds {
		line("capacity of "+kind.Name, "%s %s%s%s", kind.Format(d.Capacity[k]), kind.Unit, inDevices(kind), runningShare(d, k))
	}
	line("tasks", "%d: %d running at the start, %d waiting then, %d later; %d killed by their users", d.Tasks, d.Running, d.Tasks-d.Running-d.Later, d.Later, d.Killed)
	if d.Later > 0 {
		line("submitted later", "from %s to %s", report.ShortTime(d.FirstLater), report.ShortTime(d.LastLater))
	}
	if d.Users.Count > 0 {
		line("jobs", "%s of %s users", d.Jobs, d.Users)
	} else {
		line("jobs", "%s of unknown users", d.Jobs)
	}
	line("shapes", "%s different demands", d.Shapes)
	if required := shares(d.Requirements, d.Tasks, func(what string) string { return what }); required != "" {
		line("requirements", "%s of tasks have some: %s", percent(d.Required, d.Tasks), required)
	} else {
		line("requirements", "none")
	}
	line("most on a node", "%s", shares(d.PerNode, d.Tasks, func(most int32) string {
		if most == 0 {
			return "any number"
		}
		return fmt.Sprintf("%d of the job", most)
	}))
	describeConstraints(line, d)
	for k, kind := range d.Kinds {
		q := d.Demand[k]
		line("demand of "+kind.Name, "p10 %s, p50 %s, p90 %s, p99 %s, max %s", kind.Format(q.P10), kind.Format(q.P50), kind.Format(q.P90), kind.Format(q.P99), kind.Format(q.Max))
		if kind.Devices {
			line("devices of "+kind.Name, "%s", shares(d.Devices[k], d.Tasks, deviceCount))
		}
	}
	work := ""
	if d.Endless < d.Tasks {
		q := d.Work
		work = fmt.Sprintf("p10 %s, p50 %s, p90 %s, p99 %s, max %s; ", report.ShortTime(cluster.Time(q.P10)), report.ShortTime(cluster.Time(q.P50)), report.ShortTime(cluster.Time(q.P90)), report.ShortTime(cluster.Time(q.P99)), report.ShortTime(cluster.Time(q.Max)))
	}
	line("work", "%s%s never end, %s fail", work, percent(d.Endless, d.Tasks), percent(d.Fails, d.Tasks))
	line("priorities", "%s", shares(d.Priorities, d.Tasks, func(p int32) string { return strconv.Itoa(int(p)) }))
	for _, note := range notes {
		line("note", "%s", note)
	}
	return w.Flush()
}

func inDevices(k cluster.Kind) string {
	if k.Devices {
		return " in devices"
	}
	return ""
}

// runningShare is how much of the capacity runs at the start.
func runningShare(d *trace.Description, kind int) string {
	if d.Capacity[kind] == 0 {
		return ""
	}
	return fmt.Sprintf(", running at the start %.1f%%", 100*float64(d.RunningDemand[kind])/float64(d.Capacity[kind]))
}

func deviceCount(n int64) string {
	switch n {
	case trace.ShareOfDevice:
		return "a share of one"
	case 0:
		return "none"
	}
	return strconv.FormatInt(n, 10)
}

// mostShares is how many shares a line has.
const mostShares = 12

// shares prints what part of the tasks has each value, in order; of many values
// it leaves out those of the fewest tasks.
func shares[K cmp.Ordered](t trace.Tally[K], tasks int, name func(K) string) string {
	counts := slices.Clone(t.Counts)
	slices.SortStableFunc(counts, func(a, b trace.Count[K]) int { return cmp.Compare(b.Tasks, a.Tasks) })
	others := t.Others
	for _, c := range counts[min(mostShares, len(counts)):] {
		others += c.Tasks
	}
	counts = counts[:min(mostShares, len(counts))]
	slices.SortFunc(counts, func(a, b trace.Count[K]) int { return cmp.Compare(a.Of, b.Of) })
	var parts []string
	for _, c := range counts {
		parts = append(parts, fmt.Sprintf("%s: %s", name(c.Of), percent(c.Tasks, tasks)))
	}
	if others > 0 {
		parts = append(parts, "others: "+percent(others, tasks))
	}
	return strings.Join(parts, ", ")
}

func percent(part, whole int) string {
	if whole == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}
