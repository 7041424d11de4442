package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/testbed/medea"
)

// medeaPair is what a round came to.
type medeaPair struct {
	round              int
	without, beside    testbed.Result // without them, or their constraints
	applications, pods int            // that came
	outcome            medea.Outcome
	verdict            medea.Verdict
}

// medeaTable is all rounds.
type medeaTable struct {
	pairs   []medeaPair
	unbound bool // the other side has the same applications, without constraints
}

// allowed is by how much the 99th percentile of short pods may be longer beside applications, if it is beyond all of those without.
const allowed = 1.25

// print writes both sides of each round, and what they say together.
func (t *medeaTable) print(w io.Writer) {
	fmt.Fprintln(w, "| round | short pods: p50 without | beside | p99 without | beside | ratio | applications placed | pods | moved | time to place: p50 | p99 | constraints | bound | violated | avoidable | statuses that say otherwise |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for i := range t.pairs {
		p := &t.pairs[i]
		v := &p.verdict
		p50, p99 := "–", "–"
		if len(p.outcome.Placed) > 0 {
			placed := testbed.Summarize(0, p.outcome.Placed, nil)
			p50, p99 = short(placed.P50).String(), short(placed.P99).String()
		}
		fmt.Fprintf(w, "| %d | %s | %s | %s | %s | %.2f | %d of %d | %d of %d | %d | %s | %s | %d | %d | %d | %d | %d |\n", p.round,
			short(p.without.P50), short(p.beside.P50), short(p.without.P99), short(p.beside.P99), ratio(p.beside.P99, p.without.P99),
			len(p.outcome.Placed), p.applications, p.outcome.Bound, p.pods, p.outcome.Moved, p50, p99,
			v.Constraints, v.Bound, v.Violating, v.Avoidable, v.Contradicted)
	}
	without := t.sorted(func(p *medeaPair) time.Duration { return p.without.P99 })
	beside := t.sorted(func(p *medeaPair) time.Duration { return p.beside.P99 })
	middle, most := (len(without)-1)/2, len(without)-1
	other := "applications"
	if t.unbound {
		other = "constraints of applications"
	}
	fmt.Fprintf(w, "\np99 of short pods: %s (%s–%s) without %s, %s (%s–%s) beside them, %.2f times as long; %s.\n",
		short(without[middle]), short(without[0]), short(without[most]), other, short(beside[middle]), short(beside[0]), short(beside[most]),
		ratio(beside[middle], without[middle]), held(without, beside))
}

// held says whether the target is met: within the range of the runs without applications, or a quarter more.
func held(without, beside []time.Duration) string {
	middle, most := (len(without)-1)/2, len(without)-1
	switch {
	case beside[most] <= without[most]:
		return "within the range of those without"
	case ratio(beside[middle], without[middle]) <= allowed:
		return "within 25 % in the median"
	case beside[middle] <= without[most]:
		return "in the median within the range of those without"
	}
	return "more than 25 % more"
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// sorted is a number of each round, ascending.
func (t *medeaTable) sorted(of func(*medeaPair) time.Duration) []time.Duration {
	list := make([]time.Duration, len(t.pairs))
	for i := range t.pairs {
		list[i] = of(&t.pairs[i])
	}
	slices.Sort(list)
	return list
}
