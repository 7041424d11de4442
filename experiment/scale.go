package experiment

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
)

// This file is Firmament's figure 3: how long Quincy's rounds take on parts of a cluster, solved by cost scaling from
// nothing each time, which is what the paper sets out to mend; and beside it how long ours take by the default solver.

// halfFull is how many slots a node has of which Google's tasks take half.
const halfFull = 23

// setUpScale is Firmament's figure 3. Parts of the trace would be other traces, so that the workload is made up.
func setUpScale(o *Options) (*plan, error) {
	length := of[cluster.Time](o.Size, 300, 60, 30) * cluster.Second
	sizes := of(o.Size, []int{50, 450, 850, 1_250, 2_500, 5_000, 7_500, 10_000, 12_500}, []int{50, 450, 1_250}, []int{20, 50})
	largest := sizes[len(sizes)-1]
	p := &plan{
		data:  cell{nodes: largest, slots: halfFull, length: length, seed: o.Seed}.describe() + "; and smaller ones",
		facts: []string{measuredHere, noConstraint, inputMadeUp, "Half of the slots are taken. The paper's smaller clusters are parts of Google's, ours are made up in their size."},
	}
	const ours, theirs = "default solver", "cost scaling from nothing"
	for _, line := range []string{theirs, ours} {
		for _, nodes := range sizes {
			c := &cell{nodes: nodes, slots: halfFull, length: length, seed: o.Seed}
			options := policies.Options{}
			if line == theirs {
				options.Solver = "cost-scaling"
			}
			s := caseOn(c, line, "quincy", options)
			s.at = report.Number(nodes)
			p.cases = append(p.cases, s)
		}
	}
	p.conclude = func(all []outcome, r *report.Reproduction) {
		f := report.Figure{
			Title: "How long rounds take by the size of the cluster",
			X:     report.Axis{Label: "nodes", Unit: report.InNodes},
			Y:     report.Axis{Label: "time of a round", Unit: report.InSeconds, Log: true},
		}
		published := map[string]report.Number{theirs + ", p50": 64, theirs + ", p99": 83}
		for _, share := range []float64{0.5, 0.99} {
			for _, l := range points(all, func(o *outcome) (report.Number, bool) { return roundTime(o, share) }) {
				l.Name = fmt.Sprintf("%s, p%.0f", l.Name, 100*share)
				f.Lines = append(f.Lines, l)
				c := report.Compared{What: fmt.Sprintf("round on %d nodes, %s", largest, l.Name), Unit: report.InSeconds, Ours: known(l.At(report.Number(largest)))}
				if theirs, ok := published[l.Name]; ok && largest == 12_500 {
					c.Published = new(theirs)
				}
				r.Compared = append(r.Compared, c)
			}
		}
		r.Figures = []report.Figure{f}
	}
	return p, nil
}

// roundTime is a quantile of how long the rounds of a case took.
func roundTime(o *outcome, share float64) (report.Number, bool) {
	var h report.Histogram
	for _, round := range o.rounds {
		h.Add(max(round.took, 1))
	}
	if h.Count() == 0 {
		return 0, false
	}
	return report.Seconds(h.Quantile(share)), true
}
