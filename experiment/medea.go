package experiment

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/report"
)

// This file is the experiments of Medea (EuroSys 2018; specs/medea.md) that look at
// placements as such: violations, fragmentation, balance and latency. The paper's workloads
// were not published; planted problems stand in for them, so that no violation is known to be
// necessary. Only what is known from quotations of the paper stands as published.

const medeaPaper = "Medea, EuroSys 2018, "

func medeaExperiments() []Experiment {
	names := []string{withSearch, "serial", "tag-popularity", "node-candidates", "j-kube++", "j-kube", "yarn"}
	of := func(name, what, paper string, setUp func(*Options) (*plan, error)) Experiment {
		return Experiment{Name: name, What: what, Paper: medeaPaper + paper, Policies: names, setUp: setUp}
	}
	resilience := of("medea-resilience", "containers that an upgrade takes at once", "resilience", setUpResilience)
	runtimes := of("medea-runtime", "run times of applications, by a model of how they slow each other down", "run time", setUpRuntimes)
	resilience.Policies, runtimes.Policies = []string{withSearch, "j-kube", "yarn"}, []string{withSearch, "j-kube", "yarn"}
	return []Experiment{
		of("medea-violations", "constraints violated, by utilisation and by applications tied to one another", "violations", setUpViolations),
		of("medea-fragmentation", "nodes that have too little left, by utilisation", "fragmentation", setUpFragmentation),
		of("medea-balance", "how unevenly nodes are loaded, by utilisation", "load balance", setUpBalance),
		of("medea-latency", "how long it takes to place applications, by nodes and by applications at once", "scheduling latency", setUpMedeaLatency),
		of("medea-targets", "violations after so much time and so many ticks, at six sizes", "held to targets of our own", setUpTargets),
		{
			Name: "medea-traces", What: "nodes that real pods take under their real anti-affinity", Paper: medeaPaper + "on Alibaba's traces",
			Policies: []string{withSearch, "serial", "kube", "best-fit"}, setUp: setUpTraces,
		},
		runtimes,
		resilience,
	}
}

// byUtilisation is as many applications as reach each utilisation, in groups: at every so many
// thousandths.
func byUtilisation(o *Options, every int64, list []contender) *sweep {
	s := &sweep{
		axis:  report.Axis{Label: "cluster taken by applications", Unit: report.InShares},
		seeds: of[uint64](o.Size, 20, 2, 1), ticks: of[int64](o.Size, 60_000_000, 8_000_000, 300_000), contenders: list,
	}
	const least, most = 100, 900
	for share := int64(least); share <= most; share += every {
		s.points = append(s.points, problems{report.Number(float64(share) / 1000), planted.Options{
			Nodes: of(o.Size, 500, 100, 60), Utilisation: share, InterApp: of(o.Size, 10, 5, 3),
		}})
	}
	return s
}

// byGroup is the same applications, so many of them tied to one another.
func byGroup(o *Options, list []contender) *sweep {
	s := &sweep{
		axis:  report.Axis{Label: "applications tied to one another"},
		seeds: of[uint64](o.Size, 20, 2, 1), ticks: of[int64](o.Size, 60_000_000, 8_000_000, 300_000), contenders: list,
	}
	const most = 10
	for group := 1; group <= most; group += of(o.Size, 1, 3, 9) {
		s.points = append(s.points, problems{report.Number(group), planted.Options{
			Nodes: of(o.Size, 500, 100, 60), Applications: of(o.Size, 20, 10, 4), Utilisation: 500, InterApp: group,
		}})
	}
	return s
}

// medeaData says what the problems are.
func medeaData(o *Options, seeds uint64) string {
	return fmt.Sprintf("planted problems: applications of 10 to 30 containers like HBase, TensorFlow, Storm, memcached and web servers, of which a placement without violations is known; seeds %d to %d, the same for all policies", o.Seed, o.Seed+seeds-1)
}

// effortFact says how long the search may search.
func effortFact(ticks int64) string {
	return fmt.Sprintf("medea here is search in place of the paper's integer program: up to %d million ticks, or until nothing can be better. The heuristics are the paper's, and take what they take.", ticks/1_000_000)
}

const violationsFact = "Violations are the containers that violate a constraint, over those that are subject to any. Problems are this project's, not the paper's traces: published numbers are a reference, not a like-for-like baseline."

func setUpViolations(o *Options) (*plan, error) {
	loaded, tied := byUtilisation(o, of[int64](o.Size, 100, 100, 400), contenders(o.Policies)), byGroup(o, contenders(o.Policies))
	return &plan{
		data: medeaData(o, loaded.seeds), facts: []string{effortFact(loaded.ticks), violationsFact},
		steps: append(loaded.steps(o), tied.steps(o)...),
		conclude: func(_ []outcome, r *report.Reproduction) {
			violating := report.Axis{Label: "containers that violate a constraint", Unit: report.InShares}
			for _, s := range []*sweep{loaded, tied} {
				whole := s.figure("Applications placed, by "+s.axis.Label, report.Axis{Label: "applications placed, of those submitted", Unit: report.InShares}, meanAt(placedWhole))
				r.Figures = append(r.Figures, s.figure("Violations, by "+s.axis.Label, violating, meanAt((*placed).violations)), whole)
			}
			r.Compared = append(againstSerial(loaded), groupRows(&r.Figures[2])...)
		},
	}, nil
}

// placedWhole is the share of the applications that were placed.
func placedWhole(out *placed) report.Number {
	return report.Ratio(float64(out.whole), float64(out.applications))
}

// againstSerial holds the search to a target: a fifth of Serial's violations at each
// utilisation, and no fewer applications placed.
func againstSerial(s *sweep) []report.Compared {
	var rows []report.Compared
	const most = 0.2
	for _, p := range s.points {
		ours, serial := s.at(withSearch, p.at), s.at("serial", p.at)
		a, b := meanAt((*placed).violations)(ours), meanAt((*placed).violations)(serial)
		row := report.Compared{
			What: fmt.Sprintf("violations of %s over those of serial at %s", withSearch, s.axis.Unit.Show(p.at)), Unit: report.InFactors,
			Ours: known(report.Ratio(float64(a), float64(b)), b > 0),
		}
		verdict := "met"
		if a > most*b || meanAt(placedWhole)(ours) < meanAt(placedWhole)(serial) {
			verdict = "not met"
		}
		row.Note = fmt.Sprintf("target: at most a fifth, and no fewer applications placed: %s; %s violate with %s, %s with serial", verdict, share(a), withSearch, share(b))
		rows = append(rows, row)
	}
	return rows
}

func share(v report.Number) string { return report.InShares.Show(v) }

// groupRows puts the one number that the paper is quoted with beside ours.
func groupRows(f *report.Figure) []report.Compared {
	rows := compared("violations", f)
	const published = 0.1
	for i := range rows {
		if f.Lines[i].Name == withSearch {
			rows[i].Published, rows[i].Note = new(report.Number(published)), "published: less than this, on the paper's own workload, of its integer program"
		}
	}
	return rows
}

// smallest is what a node shall have left: the smallest container of the planted applications.
func smallest() cluster.Vector { return cluster.Vector{1000, 2 << 30} }

func setUpFragmentation(o *Options) (*plan, error) {
	s := byUtilisation(o, of[int64](o.Size, 100, 200, 400), contenders(o.Policies))
	s.least = smallest()
	return &plan{
		data: medeaData(o, s.seeds), steps: s.steps(o),
		facts: []string{effortFact(s.ticks), "A node is fragmented if less is left of it than a core or than 2 GiB, what the smallest container asks for. The objective weighs such a node with a hundredth of a violation. The paper's curves are not known."},
		conclude: func(_ []outcome, r *report.Reproduction) {
			fragmented := func(out *placed) report.Number {
				return report.Ratio(float64(out.judged.Parts.Fragmented), float64(out.nodes))
			}
			f := s.figure("Fragmented nodes", report.Axis{Label: "nodes with too little left", Unit: report.InShares}, meanAt(fragmented))
			r.Figures = append(r.Figures, f, s.violationsBeside())
			r.Compared = compared("fragmented nodes", &f)
		},
	}, nil
}

// violationsBeside is the figure without which others mislead: who violates constraints has
// more choice.
func (s *sweep) violationsBeside() report.Figure {
	return s.figure("Violations of the same plans", report.Axis{Label: "containers that violate a constraint", Unit: report.InShares}, meanAt((*placed).violations))
}

func setUpBalance(o *Options) (*plan, error) {
	list := append(contenders(o.Policies), contender{
		line: withSearch + ", fullest node weighed", policy: withSearch, weigh: func(o *constraint.Objective) { o.Peak = 20_000 },
	})
	s := byUtilisation(o, of[int64](o.Size, 100, 200, 400), list)
	return &plan{
		data: medeaData(o, s.seeds), steps: s.steps(o),
		facts: []string{effortFact(s.ticks), "The load of a node is the part of it that is taken, of cpu or memory, whichever is larger. Balance is no part of the standard objective; the last line weighs all of the fullest node like 20 violations. The paper's curves are not known."},
		conclude: func(_ []outcome, r *report.Reproduction) {
			f := s.figure("Variation of load", report.Axis{Label: "standard deviation of load over its mean", Unit: report.InFactors},
				meanAt(func(out *placed) report.Number { return report.Number(out.variation) }))
			peak := s.figure("The fullest node", report.Axis{Label: "its load", Unit: report.InShares},
				meanAt(func(out *placed) report.Number { return report.Number(float64(out.judged.Parts.Peak) / 1000) }))
			r.Figures = append(r.Figures, f, peak, s.violationsBeside())
			r.Compared = compared("variation of load", &f)
		},
	}, nil
}
