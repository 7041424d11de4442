package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The columns of the table: labels say which run a row is about, measures say
// how it went.

// label is a column that tells runs apart.
type label struct {
	title string
	value func(*Setup) string
}

// seedTitle is the label that the runs of one experiment differ in.
const seedTitle = "SEED"

// labelsOf returns the policy, and what else the runs differ in.
func labelsOf(runs []Run) []label {
	labels := []label{{"POLICY", func(s *Setup) string { return s.Policy }}}
	var others []label
	for _, c := range Choices() {
		title := strings.ToUpper(strings.ReplaceAll(c.Name, "_", "-"))
		others = append(others, label{title, func(s *Setup) string { return cmp.Or(c.Value(&s.Chosen), c.column) }})
	}
	for _, l := range append(others, []label{
		{"CLUSTER", func(s *Setup) string { return cmp.Or(s.Cluster, "-") }},
		{"WORKLOAD", func(s *Setup) string { return cmp.Or(s.Workload, "-") }},
		{"DATA", func(s *Setup) string { return cmp.Or(s.Data, "-") }},
		{"UNTIL", func(s *Setup) string { return humanUntil(s.Until) }},
		{seedTitle, func(s *Setup) string { return strconv.FormatUint(s.Seed, 10) }},
	}...) {
		if l.differs(runs) {
			labels = append(labels, l)
		}
	}
	return labels
}

// differs says whether the label tells the runs apart. A run that has no such
// thing, as flow policies have no ties, differs in it from none.
func (l *label) differs(runs []Run) bool {
	first := ""
	for i := range runs {
		value := l.value(&runs[i].Setup)
		if first == "" {
			first = value
		}
		if value != "" && value != first {
			return true
		}
	}
	return false
}

// withoutSeed is the labels of rows that are means over the seeds.
func withoutSeed(labels []label) []label {
	return slices.DeleteFunc(slices.Clone(labels), func(l label) bool { return l.title == seedTitle })
}

// labelCells are the cells of a row by which it is told from the others.
func labelCells(s *Setup, labels []label) line {
	cells := line{}
	for _, l := range labels {
		cells = append(cells, cmp.Or(l.value(s), "-"))
	}
	return cells
}

// humanUntil prints the time at which a run had to stop.
func humanUntil(until Number) string {
	if until == 0 {
		return "done"
	}
	return humanDuration(float64(until))
}

// measure is a column of measured values.
type measure struct {
	above, title string // the two lines of the head
	// values returns what was measured in a run, always as many, or nil if the
	// run has no such thing.
	values func(*Run) []float64
	show   func(float64) string
}

// cell prints values: "340ms / 2m05s".
func (m *measure) cell(values []float64) string {
	if values == nil {
		return "-"
	}
	var parts []string
	for _, v := range values {
		parts = append(parts, m.show(v))
	}
	return strings.Join(parts, " / ")
}

// mean returns the mean of each value over those runs that have it.
func (m *measure) mean(runs []Run) []float64 {
	var sum []float64
	n := 0
	for i := range runs {
		values := m.values(&runs[i])
		if values == nil {
			continue
		}
		if sum == nil {
			sum = make([]float64, len(values))
		}
		for j, v := range values {
			sum[j] += v
		}
		n++
	}
	for j := range sum {
		sum[j] /= float64(n)
	}
	return sum
}

// measuresOf returns the measures that say something about runs.
func measuresOf(runs []Run) []measure {
	measures := []measure{
		countOf("PLACED", func(r *Run) int { return r.Tasks.Placed }),
		countOf("FINISHED", func(r *Run) int { return r.Tasks.Finished }),
		countOf("PENDING", func(r *Run) int { return r.Tasks.Pending }),
		countOf("PREEMPTED", func(r *Run) int { return r.Tasks.Preempted }),
	}
	for i := range runs {
		if runs[i].Tasks.Unplaceable > 0 {
			measures = append(measures, countOf("UNPLACEABLE", func(r *Run) int { return r.Tasks.Unplaceable }))
			break
		}
	}
	measures = append(measures,
		durationsOf("LATENCY", func(r *Run) *Distribution { return r.PlacementLatency }),
		durationsOf("TASK RESPONSE", func(r *Run) *Distribution { return r.TaskResponse }),
	)
	for _, kind := range kindsOf(runs) {
		measures = append(measures, allocationOf(kind))
	}
	if slices.ContainsFunc(runs, func(r Run) bool { return r.Reads != nil }) {
		measures = append(measures, readOf("DATA", "LOCAL", humanShare, func(r *Reads) Number { return r.Locality }),
			readOf("MOVED", "AN HOUR", humanBytes, func(r *Reads) Number { return r.Moved }))
	}
	active := countOf("ACTIVE", func(r *Run) int { return r.NodesActive })
	active.above = "NODES"
	rate := measure{
		above: "DECISIONS", title: "PER S", show: humanRate,
		values: func(r *Run) []float64 { return []float64{float64(r.Planner.DecisionsPerSecond)} },
	}
	return append(measures, active, rate)
}

// kindsOf returns the kinds of resources that tasks of any run have held: cpu and
// memory first, as nobody orders by name what everybody has, then the others.
func kindsOf(runs []Run) []string {
	held := map[string]bool{}
	for i := range runs {
		for kind, a := range runs[i].Allocation {
			held[kind] = held[kind] || a.Mean > 0 || kind == "cpu" || kind == "memory"
		}
	}
	maps.DeleteFunc(held, func(_ string, was bool) bool { return !was })
	return slices.SortedFunc(maps.Keys(held), func(a, b string) int {
		return cmp.Or(cmp.Compare(orderOf(a), orderOf(b)), cmp.Compare(a, b))
	})
}

// orderOf is where a kind stands among the columns.
func orderOf(kind string) int {
	if at := slices.Index([]string{"cpu", "memory"}, kind); at >= 0 {
		return at
	}
	return 2
}

// readOf is a column of what was read.
func readOf(above, title string, show func(float64) string, of func(*Reads) Number) measure {
	return measure{
		above: above, title: title, show: show,
		values: func(r *Run) []float64 {
			if r.Reads == nil {
				return nil
			}
			return []float64{float64(of(r.Reads))}
		},
	}
}

// countOf is a column of whole numbers.
func countOf(title string, count func(*Run) int) measure {
	return measure{
		title: title, show: humanCount,
		values: func(r *Run) []float64 { return []float64{float64(count(r))} },
	}
}

// durationsOf is a column with the middle and the slowest hundredth of a
// distribution.
func durationsOf(above string, distribution func(*Run) *Distribution) measure {
	return measure{
		above: above, title: "p50 / p99", show: humanDuration,
		values: func(r *Run) []float64 {
			d := distribution(r)
			if d == nil {
				return nil
			}
			return []float64{float64(d.P50), float64(d.P99)}
		},
	}
}

// allocationOf is a column with the mean allocation of a resource kind.
func allocationOf(kind string) measure {
	return measure{
		above: strings.ToUpper(kind), title: "ALLOC", show: humanShare,
		values: func(r *Run) []float64 {
			a, ok := r.Allocation[kind]
			if !ok {
				return nil
			}
			return []float64{float64(a.Mean)}
		},
	}
}
