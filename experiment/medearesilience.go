package experiment

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/report"
)

// This file is Medea's experiment on resilience: applications ask to be spread over upgrade
// domains, of which one at a time is taken down. What counts is which part of its
// containers an application loses at once, at worst.

// spreads is the experiment under way.
type spreads struct {
	applications int
	ticks        int64
	worst        map[string][]float64 // by policy: of each application of each seed
	fleet        map[string][]float64 // of all containers, by seed
}

func setUpResilience(o *Options) (*plan, error) {
	s := &spreads{
		applications: of(o.Size, 100, 40, 6), ticks: of[int64](o.Size, 60_000_000, 10_000_000, 300_000),
		worst: map[string][]float64{}, fleet: map[string][]float64{},
	}
	nodes, seeds := of(o.Size, nodesOfMedea, nodesOfMedea, 80), of[uint64](o.Size, 20, 2, 2)
	p := &plan{
		data: fmt.Sprintf("%d nodes, dealt by chance to %d upgrade domains, on which other work has taken up to half of each; %d applications of 10 to 29 containers, each with the constraint that no domain holds more of it than it must; seeds %d to %d",
			nodes, bedUpgradeDomains, s.applications, o.Seed, o.Seed+seeds-1),
		facts: []string{
			effortFact(s.ticks),
			"The size of the nodes and the workload are made up: those of the paper are not known. J-Kube knows no cardinality, which the constraint is.",
		},
	}
	for seed := range seeds {
		for _, c := range contenders(o.Policies) {
			p.steps = append(p.steps, step{fmt.Sprintf("%s, seed %d", c.line, o.Seed+seed), func() error { return s.run(&c, nodes, o.Seed+seed) }})
		}
	}
	p.conclude = func(_ []outcome, r *report.Reproduction) { s.conclude(o.Policies, r) }
	return p, nil
}

// run places the applications by one policy.
func (s *spreads) run(c *contender, nodes int, seed uint64) error {
	p := pose(nodes, 250, seed)
	for i := range s.applications {
		name := fmt.Sprintf("a%d", i)
		count := 10 + (i*7)%20
		p.submit(name, crew{count: count, cores: bedCore, memory: 4, tag: "web"})
		tag := []string{cluster.AppTag(name)}
		p.constrain(upTo((count+bedUpgradeDomains-1)/bedUpgradeDomains-1, tag, tag, planted.UpgradeDomain))
	}
	out, err := c.solve(&p.Problem, seed, s.ticks)
	if err != nil {
		return err
	}
	domains := &p.Groups[2]
	all := make([]int, len(domains.Sets))
	for i := range p.Applications {
		app := &p.Applications[i]
		if out.plan[app.First] == constraint.Nowhere {
			continue
		}
		lost := make([]int, len(domains.Sets))
		for _, node := range out.plan[app.First:app.End] {
			lost[domains.SetOf[node]]++
			all[domains.SetOf[node]]++
		}
		s.worst[c.line] = append(s.worst[c.line], float64(slices.Max(lost))/float64(app.End-app.First))
	}
	s.fleet[c.line] = append(s.fleet[c.line], float64(slices.Max(all))/float64(len(p.Containers)))
	return nil
}

func (s *spreads) conclude(names []string, r *report.Reproduction) {
	f := report.Figure{
		Title: "Containers of an application that the worst upgrade takes at once", Cumulative: true,
		X: report.Axis{Label: "share of the application's containers", Unit: report.InShares}, Y: report.Axis{Label: "share of the applications", Unit: report.InShares},
	}
	for _, name := range names {
		if len(s.worst[name]) == 0 {
			continue // it placed nothing
		}
		slices.Sort(s.worst[name])
		f.Lines = append(f.Lines, distribution(name, s.worst[name]))
		for _, row := range []struct {
			what string
			is   float64
		}{
			{"mean of the applications", average(s.worst[name])},
			{"the worst application", slices.Max(s.worst[name])},
			{"all applications together, mean of the seeds", average(s.fleet[name])},
		} {
			r.Compared = append(r.Compared, report.Compared{
				What: fmt.Sprintf("lost at once, %s, %s", row.what, name), Unit: report.InShares, Ours: new(report.Number(row.is)),
			})
		}
	}
	const published = 0.24
	r.Compared = append(r.Compared, report.Compared{
		What: fmt.Sprintf("unavailability, %s less than j-kube, mean of the applications", withSearch), Unit: report.InShares,
		Published: new(report.Number(published)), Ours: known(less(average(s.worst[withSearch]), average(s.worst["j-kube"]))),
		Note: "published: up to this, on the paper's own clusters",
	})
	r.Figures = []report.Figure{f}
}

// less is by what part a number is less than another.
func less(than, other float64) (report.Number, bool) {
	return 1 - report.Ratio(than, other), other > 0
}

// average is the mean; 0 of nothing.
func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}
