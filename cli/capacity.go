package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
)

// The commands below capacity: flags to a cluster at a moment, and a question about its room. What they
// share is here, a question has a file.

func newCapacity(known policies.List) *cobra.Command {
	c := &cobra.Command{
		Use:   "capacity",
		Short: "Say what more fits, which nodes to buy, and which to switch off",
		Long: `Capacity looks at a cluster as it is at a moment, such as a dump of your own:

  fit     for how many more pods like one there is room, and what is short
  nodes   how many nodes of which kinds hold all pods at the least price
  free    which nodes can be switched off, and the moves that get there
  drain   the moves that empty some nodes
  level   the moves that bring every node below a share of what it has

Nothing is changed: the answers are lists, with a proved bound on how much better any
other answer could be.`,
		Example: `  fairlead capacity fit --cluster me.json --cpu 2 --memory 4GiB
  fairlead capacity fit --cluster me.json --like deploy/web
  fairlead capacity nodes --cluster me.json --offers offers.yaml
  fairlead capacity free --cluster me.json`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCapacityFit(known), newCapacityNodes(known), newCapacityFree(known), newCapacityDrain(known), newCapacityLevel(known))
	return c
}

// moment are the flags that say which cluster is looked at, and when.
type moment struct {
	known  policies.List
	at     string
	format string
}

// momentFlags are those of a spec that matter where nobody decides.
func momentFlags() []specFlag {
	var some []specFlag
	for _, f := range worldFlags() {
		switch f.name {
		case "cluster", "workload", "overcommit", "classes", "tiers", "lenient":
			some = append(some, f)
		}
	}
	return some
}

func (m *moment) register(c *cobra.Command) {
	register(c, momentFlags())
	s := c.Flags()
	s.StringVar(&m.at, "at", "", "`time` of the source at which to look at the cluster, such as 90m, where nobody has been placed by then but by the source (default: its start)")
	s.StringVarP(&m.format, "output", "o", "text", "text or json")
	complete(c, "output", "text", "json")
}

// plan checks the flags.
func (m *moment) plan(c *cobra.Command, errs ...error) (*setup.Plan, cluster.Time, error) {
	r := &specReader{flags: c.Flags(), known: m.known, stdin: c.InOrStdin(), wrong: errs}
	spec := setup.Default()
	spec.Policies = spec.Policies[:1] // which decides nothing
	for _, f := range momentFlags() {
		if r.flags.Changed(f.name) {
			r.report(f.name, f.set(&spec, r.text(f.name)))
		}
	}
	if spec.Source.Cluster == trace.Stdin {
		r.report("cluster", spec.Source.AsDump())
	}
	var at cluster.Time
	if m.at != "" {
		var err error
		at, err = setup.ParseUntil(m.at)
		r.report("at", err)
	}
	r.report("output", checkAnswer(m.format))
	plan, err := r.plan(spec)
	return plan, at, err
}

// look is a cluster at a moment, in which nobody has decided anything.
type look struct {
	sim.Ending
	v    *cluster.View
	dump *kubernetes.Source // nil: it is of another source
	// requires is what the pods that belong to their nodes require of those, by name.
	requires map[string][]cluster.Requirement
}

// there reports whether a task is in the row.
func (l *look) there(row int) bool { return l.Names[row] != "" }

// added are the tasks that were added to a dump, by row.
func (l *look) added() []cluster.TaskID {
	was := map[string]bool{}
	changed := l.dump.Changed()
	for _, s := range changed.Before {
		was[s.Pod] = true
	}
	for _, s := range changed.Gone { // and has come back by its name
		delete(was, s.Pod)
	}
	var rows []cluster.TaskID
	for row, name := range l.Names {
		if name != "" && !l.Pinned[row] && !was[name] {
			rows = append(rows, cluster.TaskID(row))
		}
	}
	return rows
}

// required is a source that keeps what tasks of their nodes require.
type required struct {
	trace.Source
	of map[string][]cluster.Requirement
}

// Next fills in the next record.
func (s *required) Next(r *trace.Record) error {
	err := s.Source.Next(r)
	if err == nil && r.What == trace.TaskSubmitted && r.Task.Pinned {
		s.of[r.Task.Name] = r.Task.Requirements
	}
	return err
}

// lookAt looks at the cluster of the plan, with what change makes of its source; nil leaves it as it is.
func lookAt(ctx context.Context, plan *setup.Plan, at cluster.Time, stderr io.Writer, change func(setup.Opened) (setup.Opened, error)) (*look, error) {
	if err := plan.Sources.Check(); err != nil {
		return nil, err
	}
	source, err := interruptible(ctx, func() (setup.Opened, error) { return plan.Sources.Open(1) })
	if err != nil {
		return nil, err
	}
	defer source.Close() //nolint:errcheck // it was only read
	l := &look{dump: source.Dump(), requires: map[string][]cluster.Requirement{}}
	if change != nil {
		if source, err = change(source); err != nil {
			return nil, err
		}
	}
	source.Source = &required{source.Source, l.requires}
	notes := &notePrinter{}
	l.Ending, err = plan.Snapshot(source, at, setup.Env{Stop: func() bool { return ctx.Err() != nil }, Note: func(list []string) { notes.print(stderr, list) }})
	notes.print(stderr, source.Notes())
	if errors.Is(err, setup.ErrInterrupted) {
		return nil, errInterrupted
	}
	if err != nil {
		return nil, err
	}
	l.v = l.Core.View()
	return l, nil
}

// amounts is a vector by kind, without kinds of which there is nothing.
func amounts(kinds []cluster.Kind, v cluster.Vector) map[string]json.Number {
	list := map[string]json.Number{}
	for k, q := range v {
		if q != 0 {
			list[kinds[k].Name] = json.Number(kinds[k].Format(q))
		}
	}
	return list
}

// amountsText says a vector in words: "2 cores, 4 GiB of memory".
func amountsText(kinds []cluster.Kind, v cluster.Vector) string {
	var parts []string
	for k, q := range v {
		kind := kinds[k]
		switch {
		case q == 0 || kind.Name == "pods":
		case kind.Unit == "cores" && short(kind, q) == "1":
			parts = append(parts, "1 core")
		case kind.Unit == "cores":
			parts = append(parts, short(kind, q)+" cores")
		case kind.Unit == "GiB" || kind.Unit == "MiB":
			parts = append(parts, fmt.Sprintf("%s %s of %s", short(kind, q), kind.Unit, kind.Name))
		default:
			parts = append(parts, short(kind, q)+" "+kind.Name)
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// short is a quantity in its unit with three digits behind the point at most.
func short(kind cluster.Kind, q int64) string {
	text := fmt.Sprintf("%.3f", float64(q)/float64(max(kind.PerUnit, 1)))
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// namesText lists the first of the names, and says how many there are more.
func namesText(names []string, most int) string {
	rest := ""
	if len(names) > most {
		rest = fmt.Sprintf(" and %s more", report.Grouped(len(names)-most))
		names = names[:most]
	}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = report.Printable(name)
	}
	return strings.Join(shown, ", ") + rest
}
