package experiment

import (
	"fmt"

	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/report"
)

// This file is how long it takes to place long-running applications, by the clock of this
// machine and in ticks, which do not depend on one.

func setUpMedeaLatency(o *Options) (*plan, error) {
	sweeps := []*sweep{byNodes(o), byBatch(o)}
	p := &plan{
		data: medeaData(o, sweeps[0].seeds),
		facts: []string{
			effortFact(sweeps[0].ticks),
			"The time is that of deciding alone, on this machine, the median of the seeds; a tick is a look at a node for a container. The search is done when nothing is violated and all are placed.",
			"The paper is quoted to call the latency at 5,000 nodes reasonable; its numbers are not known.",
		},
	}
	for _, s := range sweeps {
		p.steps = append(p.steps, s.steps(o)...)
	}
	p.conclude = func(_ []outcome, r *report.Reproduction) {
		for _, s := range sweeps {
			took := s.figure("Time to decide, by "+s.axis.Label, report.Axis{Label: "time", Unit: report.InSeconds, Log: true},
				medianAt(func(out *placed) report.Number { return report.Seconds(max(out.took, 1)) }))
			ticks := s.figure("Ticks, by "+s.axis.Label, report.Axis{Label: "ticks", Log: true},
				medianAt(func(out *placed) report.Number { return report.Number(out.ticks) }))
			r.Figures = append(r.Figures, took, ticks, s.figure("Violations, by "+s.axis.Label,
				report.Axis{Label: "containers that violate a constraint", Unit: report.InShares}, meanAt((*placed).violations)))
			r.Compared = append(r.Compared, compared("time to decide", &took)...)
		}
	}
	return p, nil
}

// byNodes is the same number of applications on more and more nodes.
func byNodes(o *Options) *sweep {
	s := latencySweep(o, "nodes")
	s.axis.Unit = report.InNodes
	for _, nodes := range of(o.Size, []int{50, 100, 200, 500, 1000, 2000, 5000}, []int{50, 500, 5000}, []int{50, 100}) {
		s.points = append(s.points, problems{report.Number(nodes), latencyOptions(nodes, of(o.Size, 10, 10, 4))})
	}
	return s
}

// byBatch is more and more applications in one interval.
func byBatch(o *Options) *sweep {
	nodes := of(o.Size, 5000, 1000, 100)
	s := latencySweep(o, fmt.Sprintf("applications at once on %d nodes", nodes))
	for _, applications := range of(o.Size, []int{1, 5, 10, 20, 30, 40}, []int{1, 10, 40}, []int{1, 5}) {
		s.points = append(s.points, problems{report.Number(applications), latencyOptions(nodes, applications)})
	}
	return s
}

func latencySweep(o *Options, label string) *sweep {
	return &sweep{
		axis: report.Axis{Label: label}, contenders: contenders(o.Policies),
		seeds: of[uint64](o.Size, 20, 1, 1), ticks: of[int64](o.Size, 200_000_000, 20_000_000, 300_000),
	}
}

func latencyOptions(nodes, applications int) planted.Options {
	return planted.Options{Nodes: nodes, Applications: applications, Utilisation: 600, InterApp: 10}
}
