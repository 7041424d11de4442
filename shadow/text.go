package shadow

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// This file prints a report for people: both sides side by side.

// mostPrinted is how many differences are printed.
const mostPrinted = 10

// Write prints the report as a table.
func (r *Report) Write(w io.Writer) error {
	s := &r.Sums
	fmt.Fprintf(w, "shadow of %s, from %s to %s\n", report.Printable(strings.Join(r.Schedulers, ", ")), r.Since.Format(time.RFC3339), r.Until.Format(time.RFC3339))
	fmt.Fprintf(w, "%s pods bound: %s on the same node, %s on another one, %s for which we found no place, %s before we looked\n\n",
		report.Grouped(s.Bound), report.Grouped(s.Same), report.Grouped(s.Different), report.Grouped(s.Unplaced), report.Grouped(s.Earlier))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name, ours, theirs string) { fmt.Fprintf(table, "%s\t%s\t%s\t\n", name, ours, theirs) }
	row("", "ours", "theirs")
	for _, q := range []struct {
		name string
		of   func(*report.Distribution) report.Number
	}{
		{"latency p50", func(d *report.Distribution) report.Number { return d.P50 }},
		{"latency p99", func(d *report.Distribution) report.Number { return d.P99 }},
	} {
		row(q.name, latency(&s.Ours, q.of), latency(&s.Theirs, q.of))
	}
	row("nodes as full as", percent(s.Ours.Fill), percent(s.Theirs.Fill))
	for _, n := range []struct {
		name         string
		ours, theirs int64
	}{
		{"nodes opened", s.Ours.NodesOpened, s.Theirs.NodesOpened},
		{"hard rules violated", s.Ours.HardViolated, s.Theirs.HardViolated},
		{"soft rules violated", s.Ours.SoftViolated, s.Theirs.SoftViolated},
		{"pods that leave for others", s.Ours.Victims, s.Theirs.Victims},
		{"pods that move", s.Ours.Moves, s.Theirs.Moves},
		{"pods that wait now", r.Now.WeWait, r.Now.TheyWait},
	} {
		row(n.name, report.Grouped(n.ours), report.Grouped(n.theirs))
	}
	for _, p := range r.Now.Promises {
		row(fmt.Sprintf("%s below %s, of %s", report.Printable(p.Class), percent(p.Target), report.Grouped(p.Tasks)), report.Grouped(p.BrokenOurs), report.Grouped(p.BrokenTheirs))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return r.writeDifferences(w)
}

// writeDifferences prints the last of them.
func (r *Report) writeDifferences(w io.Writer) error {
	if len(r.Differences) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nthe last differences\tours\ttheirs\n")
	for _, d := range r.Differences[:min(len(r.Differences), mostPrinted)] {
		name := d.Job
		if d.Pod != "" {
			name = d.Namespace + "/" + d.Pod
		}
		ours := d.Ours.Node
		switch d.Kind {
		case Unplaced:
			ours = "no place"
		case Earlier:
			ours = "not looked"
		case OtherNode:
			if d.Ours.Victims > 0 {
				ours += fmt.Sprintf(", once %d have left", d.Ours.Victims)
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", report.Printable(name), report.Printable(ours), report.Printable(d.Theirs.Node))
	}
	return table.Flush()
}

// latency is one number of a side's latencies.
func latency(s *Side, of func(*report.Distribution) report.Number) string {
	if s.Latency == nil {
		return "-"
	}
	return report.ShortTime(cluster.Time(math.Round(float64(of(s.Latency)) * float64(cluster.Second))))
}

// percent is a share as people write it, without zeros at its end.
func percent(share report.Number) string {
	text := fmt.Sprintf("%.3f", float64(share)*100)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + " %"
}
