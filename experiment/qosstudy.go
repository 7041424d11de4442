package experiment

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/workload"
)

// This file is the study of QoS-driven scheduling (JISA 2020, §5): samples of the users
// of Google's workload, each on a cluster as large as it needs and on two smaller ones,
// under the paper's scheduler and the one by priorities. Google's trace is replaced by the
// generator.

func qosStudy() Experiment {
	return Experiment{
		Name: "qos-study", What: "how promises of availability are kept where there is too little room",
		Paper: "QoS-driven scheduling, JISA 11 (2020), study", Policies: []string{studied, rival, withFlow}, Free: true, setUp: setUpStudy,
	}
}

// The paper's own scheduler, the one that it is compared with, and ours.
const (
	studied  = "qos"
	rival    = "priority"
	withFlow = "qos-flow"
)

// studyShares are the sizes of the cluster, in shares of what the sample needs.
func studyShares() []float64 { return []float64{1, 0.9, 0.8} }

// studyOf is how much of the study is run.
type studyOf struct {
	google  workload.Google
	samples int
}

// studySize is the study at a size: as published, 29 days of Google's cluster.
func studySize(o *Options) studyOf {
	s := studyOf{google: workload.Default(), samples: of(o.Size, 10, 2, 1)}
	s.google.Nodes = of(o.Size, 12_500, 1_500, 150)
	s.google.Length = of(o.Size, 29*cluster.Day, 6*cluster.Hour, 20*cluster.Minute)
	s.google.Seed = o.Seed
	return s
}

// studyCase is a sample on one of its clusters.
type studyCase struct {
	sample int // from 1
	share  float64
}

// sizeName is what the paper calls a cluster of that share.
func sizeName(share float64) string {
	if share == 1 {
		return "N"
	}
	return fmt.Sprintf("%gN", share)
}

func (c studyCase) line() string { return fmt.Sprintf("sample %d, %s", c.sample, sizeName(c.share)) }

// setUpStudy draws the samples, sizes their clusters, and makes a case of each with each
// policy.
func setUpStudy(o *Options) (*plan, error) {
	size := studySize(o)
	users, err := workload.UsersOf(size.google)
	if err != nil {
		return nil, err
	}
	p := &plan{
		data: fmt.Sprintf("generator like Google's trace of 2011: %d nodes, %v, seed %d; %d samples of a tenth of its %d users, each on hosts drawn from these nodes",
			size.google.Nodes, size.google.Length, o.Seed, size.samples, len(users)),
		facts: studyFacts(),
	}
	var samples []*workload.Sampled
	for i := range size.samples {
		s, err := workload.Sample(size.google, users, workload.PublishedSample(uint64(i+1)))
		if err != nil {
			return nil, err
		}
		samples = append(samples, s)
		for _, share := range studyShares() {
			for _, policy := range o.Policies {
				p.cases = append(p.cases, studySimulation(s, studyCase{i + 1, share}, policy, size.google))
			}
		}
	}
	p.conclude = func(all []outcome, r *report.Reproduction) { concludeStudy(samples, all, r) }
	return p, nil
}

// studyFacts are what decides the numbers beside the workload.
func studyFacts() []string {
	return []string{
		"Margin and watchdog are 10 s, as the paper's text says. A request begins at once where it never ran, and takes 2 s or 3 s, 2.37 s in the mean, to begin anew. Time goes in whole seconds, and deciding takes none.",
		"Requests that run at the start or the end count as they stand. What a class costs and the table of credits are reconstructions.",
	}
}

// studySimulation is one run. All plan at the same moments; qos-flow also when a price
// changes.
func studySimulation(s *workload.Sampled, c studyCase, policy string, g workload.Google) simulation {
	return simulation{
		line: c.line(), at: report.Number(c.share), policy: policy, options: policies.Options{Ties: policies.Random},
		open:    func() (trace.Source, error) { return s.Open(c.share) },
		source:  fmt.Sprintf("synthetic:google?nodes=%d&seed=%d&sample=%d&size=%g", g.Nodes, g.Seed, c.sample, c.share),
		trigger: ignoringOutcomes(inText), planner: sim.Zero, until: g.Length,
		promise: promiseOf(inText, g.Seed),
	}
}

// publishedHosts are the hosts of the ten samples at N, 0.9N and 0.8N (authors'
// repository, infrastructure files; specification §9).
func publishedHosts() [10][3]int {
	return [10][3]int{
		{1452, 1313, 1159},
		{2036, 1837, 1631},
		{1949, 1751, 1563},
		{2363, 2129, 1891},
		{5749, 5188, 4625},
		{4990, 4490, 4007},
		{3705, 3332, 2946},
		{1698, 1532, 1355},
		{3999, 3595, 3206},
		{2808, 2531, 2245},
	}
}
