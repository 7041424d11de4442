package report

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file is about what was asked for and not done. A count of tasks that wait at the end says little: who packs
// tightly may leave more tasks waiting, of which all are small.

// Shortfall is what tasks asked for and did not get. Amounts are by kind, in the kind's unit times hours: two cores for half an
// hour are 1.
type Shortfall struct {
	// Waited is what tasks asked for while they waited, from when they came or lost their place until they were given one: the
	// least, where they ask for a range. Tasks that no node could take wait, too.
	Waited map[string]Number `json:"waited_hours"`
	// Lost is what runs had taken when they were told to leave or lost their node, of classes whose work is lost by that.
	Lost map[string]Number `json:"lost_hours"`
}

// Unserved is what the run did not serve.
type Unserved struct {
	Shortfall // of all tasks together; that of each class is in Class
	// BySize is how long tasks waited, by their size: those that fill up to "10%" of the largest node, and more than the size below
	// that. Sizes without tasks are left out.
	BySize map[string]SizeWait `json:"by_size,omitempty"`
	// Shares says how far apart the users were; nil where there is one.
	Shares *ShareGap `json:"shares,omitempty"`
}

// SizeWait is how long tasks of about one size waited, in all, in seconds. Tasks that are there at the end count as they stand.
type SizeWait struct {
	// UpTo is the largest size: what a task asks for over what the largest node has of that, of the kind of which that is most.
	UpTo    Number `json:"up_to"`
	Tasks   int    `json:"tasks"`
	Mean    Number `json:"mean_s"`
	Longest Number `json:"longest_s"`
}

// ShareGap is by how much the user that held most had more of the cluster than the one that held least of those with tasks that
// waited; 0 while nobody waits. What a user holds counts by the kind of which that is most (dominant shares).
type ShareGap struct {
	Mean    Number `json:"mean"` // over time
	Largest Number `json:"largest"`
}

// writeUnserved prints below the table what was not served, where anything was not, as means over the seeds.
func writeUnserved(text *bytes.Buffer, groups [][]Run, labels []label) {
	runs := slices.Concat(groups...)
	kind, some := unservedKind(runs)
	if !some {
		return
	}
	labels = withoutSeed(labels)
	measures := unservedMeasures(runs, kind)
	lines := headOf(labels, measures)
	for _, group := range groups {
		lines = append(lines, row(measures, group, labelCells(&group[0].Setup, labels)...))
	}
	fmt.Fprintf(text, "\nNot served, in hours × %s, and the longest waits of tasks that fill so much of a node:\n", kind)
	align(text, lines, len(labels))
}

// NotServed is that table, of a page, and the kind that it is of; it has no rows where everything was served.
func NotServed(groups []Group) (table Grid, kind string) {
	var all []Run
	for _, g := range groups {
		all = append(all, g.Runs...)
	}
	kind, some := unservedKind(all)
	if !some {
		return Grid{}, ""
	}
	measures := unservedMeasures(all, kind)
	head := headOf(nil, measures)
	table = Grid{Above: append([]string{""}, head[0]...), Titles: append([]string{"POLICY"}, head[1]...), Labels: 1}
	for _, g := range groups {
		table.Rows = append(table.Rows, row(measures, g.Runs, g.Name))
	}
	return table, kind
}

// leastAmount is the least that is not 0 in JSON: a run and the file that was written of it say the same.
const leastAmount = 0.000_000_5

// unservedKind is the first kind of which something was not served.
func unservedKind(runs []Run) (kind string, some bool) {
	for _, kind := range kindsOf(runs) {
		if slices.ContainsFunc(runs, func(r Run) bool {
			return r.Unserved != nil && max(r.Unserved.Waited[kind], r.Unserved.Lost[kind]) > leastAmount
		}) {
			return kind, true
		}
	}
	return "", false
}

// unservedMeasures are the columns: of one kind, and the longest waits.
func unservedMeasures(runs []Run, kind string) []measure {
	amount := func(above, title string, of func(*Unserved) map[string]Number) measure {
		return unservedOf(above, title, humanAmount, func(u *Unserved) (Number, bool) { return of(u)[kind], true })
	}
	list := []measure{
		amount(strings.ToUpper(kind), "WAITED FOR", func(u *Unserved) map[string]Number { return u.Waited }),
		amount("WORK", "LOST", func(u *Unserved) map[string]Number { return u.Lost }),
	}
	var all []*Run
	for i := range runs {
		all = append(all, &runs[i])
	}
	for _, size := range sizesOf(all) {
		list = append(list, unservedOf("UP TO", size, humanDuration, func(u *Unserved) (Number, bool) {
			w, ok := u.BySize[size]
			return w.Longest, ok
		}))
	}
	if slices.ContainsFunc(runs, func(r Run) bool { return r.Tasks.Migrated > 0 }) {
		moved := countOf("MOVED", func(r *Run) int { return r.Tasks.Migrated })
		moved.above = "TASKS"
		list = append(list, moved)
		list = append(list, gainMeasures(runs)...)
	}
	if slices.ContainsFunc(runs, func(r Run) bool { return r.Unserved != nil && r.Unserved.Shares != nil }) {
		list = append(list, unservedOf("USERS'", "GAP", humanShare, func(u *Unserved) (Number, bool) {
			if u.Shares == nil {
				return 0, false
			}
			return u.Shares.Mean, true
		}))
	}
	return list
}

func unservedOf(above, title string, show func(float64) string, of func(*Unserved) (Number, bool)) measure {
	return measure{above: above, title: title, show: show, values: func(r *Run) []float64 {
		if r.Unserved == nil {
			return nil
		}
		value, ok := of(r.Unserved)
		if !ok {
			return nil
		}
		return []float64{float64(value)}
	}}
}

// Add counts the waits of a size.
func (u *Unserved) Add(w SizeWait) {
	if u.BySize == nil {
		u.BySize = map[string]SizeWait{}
	}
	u.BySize[humanSize(w.UpTo)] = w
}

// sizesOf are the sizes of tasks of any run, the smallest first.
func sizesOf(runs []*Run) []string {
	sizes := map[string]Number{}
	for _, r := range runs {
		if r.Unserved != nil {
			for name, w := range r.Unserved.BySize {
				sizes[name] = w.UpTo
			}
		}
	}
	return slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return cmp.Compare(sizes[a], sizes[b]) })
}

// humanSize prints a size in per cent of a node.
func humanSize(size Number) string { return fmt.Sprintf("%g%%", 100*float64(size)) }

// humanAmount prints an amount with two or three digits that matter.
func humanAmount(x float64) string {
	switch {
	case x <= leastAmount:
		return "0"
	case x < 0.001:
		return "<0.001"
	case x < 9.95:
		return fmt.Sprintf("%.2g", x)
	}
	return humanCount(x)
}

// unservedMetrics are those of runs that say what was not served.
func unservedMetrics(runs []*Run) []metric {
	var list []metric
	add := func(name string, unit Unit, of func(*Unserved) (Number, bool)) {
		list = append(list, metric{"unserved." + name, unit, LowerIsBetter, func(r *Run) (Number, bool) {
			if r.Unserved == nil {
				return 0, false
			}
			return of(r.Unserved)
		}})
	}
	list = append(list, shortfallMetrics("unserved.", runs, func(r *Run) *Shortfall {
		if r.Unserved == nil {
			return nil
		}
		return &r.Unserved.Shortfall
	})...)
	for _, size := range sizesOf(runs) {
		wait := func(name string, pick func(*SizeWait) Number) {
			add("by_size."+size+"."+name, InSeconds, func(u *Unserved) (Number, bool) {
				w, ok := u.BySize[size]
				return pick(&w), ok
			})
		}
		wait("mean_s", func(w *SizeWait) Number { return w.Mean })
		wait("longest_s", func(w *SizeWait) Number { return w.Longest })
	}
	gap := func(name string, pick func(*ShareGap) Number) {
		add("shares."+name, InShares, func(u *Unserved) (Number, bool) {
			if u.Shares == nil {
				return 0, false
			}
			return pick(u.Shares), true
		})
	}
	gap("mean", func(g *ShareGap) Number { return g.Mean })
	gap("largest", func(g *ShareGap) Number { return g.Largest })
	return list
}

// shortfallMetrics are those of all tasks, or of a class.
func shortfallMetrics(prefix string, runs []*Run, of func(*Run) *Shortfall) []metric {
	var list []metric
	for _, kind := range keysOf(runs, func(r *Run) map[string]Allocation { return r.Allocation }) {
		add := func(name string, pick func(*Shortfall) map[string]Number) {
			list = append(list, metric{prefix + name + "." + kind, InUnits, LowerIsBetter, func(r *Run) (Number, bool) {
				short := of(r)
				if short == nil {
					return 0, false
				}
				return pick(short)[kind], true
			}})
		}
		add("waited_hours", func(s *Shortfall) map[string]Number { return s.Waited })
		add("lost_hours", func(s *Shortfall) map[string]Number { return s.Lost })
	}
	return list
}
