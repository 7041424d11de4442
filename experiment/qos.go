package experiment

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the validation of QoS-driven scheduling (JISA 2020): what becomes of
// promises where not all requests fit at once.

func validations() []Experiment {
	const paper = "QoS-driven scheduling, JISA 11 (2020), "
	names := []string{"qos", "priority"}
	first, second := firstTest(), secondTest()
	return []Experiment{
		{
			Name: "qos-v1", What: "how promises are kept to 256 gold, silver and bronze requests on 200 slots",
			Paper: paper + "validation 1", Policies: names, Free: true, setUp: first.setUp,
		},
		{
			Name: "qos-v2", What: "how promises are kept to 221 silver requests on 200 slots",
			Paper: paper + "validation 2", Policies: names, Free: true, setUp: second.setUp,
		},
	}
}

// The settings of margin and watchdog: those of the authors' stored runs, and those of
// their text.
const (
	asStored = 30 * cluster.Second
	inText   = 10 * cluster.Second
)

// The orders of the requests.
const (
	storedOrder = "stored order"
	madeUpOrder = "one random order"
	randomOrder = "random orders"
)

// lineOfTest names a setting and an order.
func lineOfTest(order string, margin cluster.Time) string {
	return fmt.Sprintf("%s, %v", order, margin)
}

// setUp is one of the tests.
func (v *validation) setUp(o *Options) (*plan, error) {
	orders := of(o.Size, 20, 5, 1)
	first, open := madeUpOrder, func() (trace.Source, error) { return v.shuffled(o.Seed), nil }
	p := &plan{
		data: fmt.Sprintf("20 hosts and a request a second; random orders of the authors' requests, seeds from %d", o.Seed),
		facts: []string{
			"Nobody ends within the hour. A request is evicted with its work kept; to begin anew takes 2 s or 3 s, the first time no time.",
			"30 s and 10 s are the safety margin and the watchdog. The authors' stored runs have 30 s; the paper's text says 10 s.",
			"The policies plan when a request comes, and whenever the watchdog's time has gone by since.",
		},
	}
	if o.Data != "" {
		if _, err := v.stored(o.Data); err != nil {
			return nil, err
		}
		first, open = storedOrder, func() (trace.Source, error) { return v.stored(o.Data) }
		p.data, p.real = fmt.Sprintf("the authors' requests in their order (%s); %s", v.file(o.Data), p.data), true
	}
	for _, policy := range o.Policies {
		for _, margin := range []cluster.Time{asStored, inText} {
			p.cases = append(p.cases, v.on(policy, first, margin, o.Seed, open))
		}
		for i := range uint64(orders) {
			seed := o.Seed + i
			p.cases = append(p.cases, v.on(policy, randomOrder, asStored, seed, func() (trace.Source, error) { return v.shuffled(seed), nil }))
		}
	}
	p.conclude = func(all []outcome, r *report.Reproduction) { v.conclude(first, all, r) }
	return p, nil
}

// on is a case.
func (v *validation) on(policy, order string, margin cluster.Time, seed uint64, open func() (trace.Source, error)) simulation {
	return simulation{
		line: lineOfTest(order, margin), at: report.Number(seed), policy: policy, options: policies.Options{},
		open: open, source: fmt.Sprintf("qos %s, %s, seed %d", v.name, order, seed),
		// All plan at the same moments, whatever they would do by themselves.
		trigger: ignoringOutcomes(margin), planner: sim.Zero, until: validationLength,
		promise: promiseOf(margin, seed),
	}
}

// conclude puts what was published beside ours.
func (v *validation) conclude(first string, all []outcome, r *report.Reproduction) {
	availability := report.Figure{
		Title: "Availability of the requests, " + lineOfTest(first, asStored), Cumulative: true,
		X: report.Axis{Label: "availability", Unit: report.InShares}, Y: report.Axis{Label: "share of the class", Unit: report.InShares},
	}
	for i := range all {
		o := &all[i]
		if o.line == lineOfTest(randomOrder, asStored) {
			continue
		}
		r.Compared = append(r.Compared, v.rows(o, first)...)
		for _, k := range o.kept() {
			if o.line == lineOfTest(first, asStored) {
				availability.Lines = append(availability.Lines, distribution(o.policy+", "+k.name, k.rising))
			}
		}
	}
	r.Figures = []report.Figure{availability}
	for i := 0; i < len(all); {
		from := i
		for i < len(all) && all[i].policy == all[from].policy {
			i++
		}
		random := slices.DeleteFunc(slices.Clone(all[from:i]), func(o outcome) bool { return o.line != lineOfTest(randomOrder, asStored) })
		r.Compared = append(r.Compared, v.overOrders(random)...)
	}
}

// rows are what one run gave.
func (v *validation) rows(o *outcome, first string) []report.Compared {
	name := o.policy + ", " + o.line
	stored := o.line == lineOfTest(first, asStored)
	published := func(what string) *report.Number {
		if n, ok := v.published()[o.policy+" "+what]; ok && stored {
			return &n
		}
		return nil
	}
	row := func(what string, unit report.Unit, ours report.Number) report.Compared {
		c := report.Compared{What: what + ", " + name, Unit: unit, Ours: &ours, Published: published(what)}
		if again, ok := v.computed()[o.policy+" "+what]; ok && o.line == lineOfTest(first, inText) {
			c.Note = "another implementation: " + again
		}
		return c
	}
	rows := []report.Compared{
		row("allocations", report.InEvents, report.Number(o.allocations)),
		row("preempted", report.InEvents, report.Number(o.run.Tasks.Preempted)),
	}
	for _, k := range o.kept() {
		rows = append(rows,
			row(k.name+" preempted", report.InEvents, preempted(o, k.name)),
			row(k.name+" availability, least", report.InShares, report.Number(k.least())),
			row(k.name+" availability, mean", report.InShares, report.Number(k.mean)),
			row(k.name+" availability, most", report.InShares, report.Number(k.most())),
			row(k.name+" fulfilled", report.InShares, report.Number(k.fulfilled)),
			row(k.name+" above .99", report.InShares, report.Number(k.above(0.99))),
			row(k.name+" Gini", report.InShares, report.Number(k.gini)),
		)
	}
	return rows
}

// published is what the authors' stored runs gave, in their order of requests.
func (v *validation) published() map[string]report.Number {
	if v.name == "v2" {
		return map[string]report.Number{
			"qos preempted": 2545, "qos silver preempted": 2545, "qos silver availability, least": 0.8967, "qos silver availability, mean": 0.8999,
			"qos silver availability, most": 0.9055, "qos silver fulfilled": 0.357,
			"priority preempted": 0, "priority silver above .99": 200.0 / 221, "priority silver availability, least": 0,
		}
	}
	return map[string]report.Number{
		"qos preempted": 5600, "qos gold preempted": 0, "qos silver preempted": 818, "qos bronze preempted": 4782,
		"qos gold availability, least": 1, "qos gold availability, mean": 1,
		"qos silver availability, least": 0.9005, "qos silver availability, mean": 0.9054, "qos silver availability, most": 0.9084,
		"qos silver fulfilled": 1, "qos bronze fulfilled": 0,
		"qos bronze availability, least": 0.4681, "qos bronze availability, mean": 0.4719, "qos bronze availability, most": 0.4751,
		"priority allocations": 232, "priority preempted": 32, "priority bronze preempted": 32, "priority bronze above .99": 40.0 / 96,
		"priority gold availability, mean": 1, "priority silver availability, mean": 1,
	}
}

// computed is what another implementation of the same rule gave with the settings of
// the paper's text, which nobody published.
func (v *validation) computed() map[string]string {
	if v.name == "v2" {
		return map[string]string{"qos preempted": "7,276", "qos silver availability, mean": "0.8852"}
	}
	return map[string]string{"qos preempted": "16,205", "qos bronze availability, mean": "0.3986"}
}

// overOrders is what random orders of one policy gave: the mean, the least and the
// most of each number.
func (v *validation) overOrders(all []outcome) []report.Compared {
	var rows []report.Compared
	for _, m := range measures(&all[0]) {
		least, most, sum := m.of(&all[0]), m.of(&all[0]), 0.0
		for i := range all {
			n := m.of(&all[i])
			least, most, sum = min(least, n), max(most, n), sum+n
		}
		digits := m.digits()
		rows = append(rows, report.Compared{
			What: fmt.Sprintf("%s, %s, mean of %d %s", m.what, all[0].policy, len(all), all[0].line), Unit: m.unit,
			Ours: new(report.Number(sum / float64(len(all)))), Note: fmt.Sprintf(digits+" to "+digits, least, most),
		})
	}
	return rows
}
