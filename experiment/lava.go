package experiment

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched/lifetime"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is what lifetimes are of use for: how many nodes are empty when VMs are placed beside those that leave at about the same
// time (LAVA and NILAS, MLSys 2025), against best-fit on as many nodes under the same load. What is learned is learned on the way, of VMs
// that have ended by then; the score is that of the last days alone.

// lavaLoad is which share of the cores, or of the memory, of all nodes is taken at the peak.
const lavaLoad = 0.85

// lavaTarget is how many more nodes are to be empty than under best-fit, as a share of all.
const lavaTarget = 0.03

// vmWorkload is VMs on hosts.
type vmWorkload struct {
	name  string // what results call it
	what  string // in a sentence
	real  bool
	facts []string
	host  cluster.Vector
	hosts int
	open  func(hosts int) (trace.Source, error)
	from  cluster.Time // when the score begins
	until cluster.Time // when it ends, and the run
}

// placedBy is a policy with who says how long VMs will live.
type placedBy struct{ policy, lifetimes string }

func (b placedBy) String() string {
	if b.lifetimes == "" {
		return b.policy
	}
	return b.policy + ", " + b.lifetimes
}

// placedBys are the runs, the rival first.
func placedBys() []placedBy {
	return []placedBy{
		{"best-fit", ""},
		{"nilas", lifetime.Curves},
		{"nilas", lifetime.Means},
		{"nilas", lifetime.Truth},
		{"lava", lifetime.Curves},
		{"lava", lifetime.Truth},
		{unitedName, ""},
		{unitedName, lifetime.Curves},
	}
}

func lifetimeExperiments() []Experiment {
	return []Experiment{{
		Name: "lava", What: "how many nodes are empty when VMs are placed by how long they will live",
		Paper: "LAVA, MLSys 2025, arXiv 2412.09840", Policies: []string{"best-fit", "nilas", "lava", unitedName}, setUp: setUpLava,
	}}
}

// setUpLava finds how many hosts there are to be, and has each policy place the VMs on them.
func setUpLava(o *Options) (*plan, error) {
	w := madeUpVMs(o)
	if o.Data != "" && o.Size == Full {
		azure, err := azureVMs(o)
		if err != nil {
			return nil, err
		}
		w = azure
	}
	tasks, err := w.open(0)
	if err != nil {
		return nil, err
	}
	peak, err := peakOf(tasks)
	tasks.Close() //nolint:errcheck // it was only read
	if err != nil {
		return nil, err
	}
	w.hosts = hostsFor(peak, w.host, lavaLoad)
	p := &plan{data: w.what, real: w.real, facts: append([]string{
		fmt.Sprintf("%d nodes of %d cores and %d GiB: %.0f %% of the scarcer kind is taken at the peak. All runs have the same nodes, and place the same VMs.", w.hosts, w.host[0]/vmCore, w.host[1]/vmGiB, 100*lavaLoad),
		fmt.Sprintf("The share of nodes that are empty is the mean from %v to %v. What is learned is learned of VMs that have ended by then.", w.from, w.until),
		"The paper's are Google's clusters in production, with its learned model and its other rules; and its gain is over Google's scheduler, not over best-fit alone.",
	}, w.facts...)}
	for _, by := range placedBys() {
		c := simulation{
			line: by.String(), policy: by.policy, source: w.name, planner: sim.Zero, until: w.until,
			open: func() (trace.Source, error) { return w.open(w.hosts) }, promise: noPromise(o.Seed),
		}
		if by.lifetimes != "" {
			c.options.Own = policies.Settings{"lifetimes": by.lifetimes}
		}
		p.cases = append(p.cases, c)
	}
	p.conclude = func(all []outcome, r *report.Reproduction) { (&emptied{&w, all}).conclude(r) }
	return p, nil
}

// madeUpVMs are a cloud's, of a few days.
func madeUpVMs(o *Options) vmWorkload {
	host := cluster.Vector{48 * vmCore, 128 * vmGiB}
	length, batches := of(o.Size, 12*cluster.Day, 6*cluster.Day, 36*cluster.Hour), of(o.Size, 30.0, 6.0, 2.0)
	return vmWorkload{
		name: fmt.Sprintf("VMs of 40 tenants, %v, seed %d", length, o.Seed),
		what: fmt.Sprintf("generator: batches of VMs of 40 tenants, each of whom asks for the same again and lets it live for about as long, %v, seed %d", length, o.Seed),
		host: host, from: length / 2, until: length,
		open: func(hosts int) (trace.Source, error) { return newCloud(hosts, host, length, batches, o.Seed), nil },
	}
}

// meanOver is the mean of what the samples of a run say, from a moment to another; false if there are none.
func meanOver(r *report.Run, from, to cluster.Time, of func(columns map[string][]report.Number, i int) report.Number) (report.Number, bool) {
	if r.Series == nil {
		return 0, false
	}
	sum, count := report.Number(0), 0
	for i := range r.Series.Columns["nodes"] {
		if at := report.Number(i+1) * r.Series.Step; at > report.Seconds(from) && at <= report.Seconds(to) {
			sum += of(r.Series.Columns, i)
			count++
		}
	}
	if count == 0 {
		return 0, false
	}
	return sum / report.Number(count), true
}

// emptyNodes is the share of nodes that are empty.
func emptyNodes(r *report.Run, from, to cluster.Time) (report.Number, bool) {
	return meanOver(r, from, to, func(c map[string][]report.Number, i int) report.Number {
		return 1 - report.Ratio(float64(c["nodes_active"][i]), float64(c["nodes"][i]))
	})
}

// emptyAtBest is the share of nodes that would be empty if all others were full, of the kind of which that is least.
func emptyAtBest(r *report.Run, from, to cluster.Time) (report.Number, bool) {
	return meanOver(r, from, to, func(c map[string][]report.Number, i int) report.Number {
		return 1 - max(c["utilisation.cpu"][i], c["utilisation.memory"][i])
	})
}

// emptied is what came of all runs.
type emptied struct {
	*vmWorkload
	all []outcome
}

// share is the share of nodes that were empty in a run; nil if it is not known.
func (e *emptied) share(by placedBy) *report.Number {
	for i := range e.all {
		if o := &e.all[i]; o.line == by.String() {
			return known(emptyNodes(&o.run, e.from, e.until))
		}
	}
	return nil
}

// gain is by how much that is more than under best-fit.
func (e *emptied) gain(by placedBy) *report.Number {
	ours, rival := e.share(by), e.share(placedBys()[0])
	if ours == nil || rival == nil {
		return nil
	}
	return new(*ours - *rival)
}

// learned is the best of the runs that know no more than what has happened.
func (e *emptied) learned() placedBy {
	best := placedBy{"nilas", lifetime.Curves}
	for _, by := range placedBys()[1:] {
		if gain, most := e.gain(by), e.gain(best); by.lifetimes == lifetime.Curves && gain != nil && most != nil && *gain > *most {
			best = by
		}
	}
	return best
}

// conclude puts what is empty under each beside what is under best-fit.
func (e *emptied) conclude(r *report.Reproduction) {
	f := report.Figure{Title: "Nodes that are empty", X: report.Axis{Label: "time", Unit: report.InSeconds}, Y: report.Axis{Label: "share of the nodes", Unit: report.InShares}}
	for i := range e.all {
		o := &e.all[i]
		c := report.Compared{What: "nodes that are empty under " + o.line, Unit: report.InShares, Ours: known(emptyNodes(&o.run, e.from, e.until))}
		if d := o.run.PlacementLatency; o.run.Tasks.Pending > 0 || d != nil && d.Max > 0 {
			c.Note = "some VMs had to wait, so that the load is not quite the same"
		}
		r.Compared = append(r.Compared, c)
		f.Lines = append(f.Lines, e.overTime(o))
	}
	r.Figures = append(r.Figures, f)
	if len(e.all) > 0 {
		r.Compared = append(r.Compared, report.Compared{
			What: "nodes that would be empty if all others were full", Unit: report.InShares, Ours: known(emptyAtBest(&e.all[0].run, e.from, e.until)),
			Note: "more than any policy can reach that moves nobody",
		})
	}
	learned := e.learned()
	for _, by := range placedBys()[1:] {
		c := report.Compared{What: "more than under best-fit: " + by.String(), Unit: report.InShares, Ours: e.gain(by)}
		switch {
		case by == learned:
			c.Published, c.Note = new(report.Number(0.023)), "the paper's clusters gain 2.3 to 9.2 points"
		case by.lifetimes == lifetime.Truth:
			c.Note = "the ceiling: nobody knows that much"
		}
		r.Compared = append(r.Compared, c)
	}
	if goal, ok := e.goal(learned); ok {
		r.Goals = append(r.Goals, goal)
	}
}

// goal is what the policy is held to.
func (e *emptied) goal(by placedBy) (report.Goal, bool) {
	theirs, ours := e.share(placedBys()[0]), e.share(by)
	if theirs == nil || ours == nil {
		return report.Goal{}, false
	}
	g := report.Goal{
		Row: "lava", What: "nodes that are empty under " + by.String(), Unit: report.InShares, Rival: "best-fit", AtLeast: true,
		Theirs: theirs, Ours: ours, Target: new(*theirs + lavaTarget),
	}
	if ceiling := e.gain(placedBy{by.policy, lifetime.Truth}); ceiling != nil {
		g.Note = fmt.Sprintf("with the truth it would be %s more than under best-fit", report.InShares.Show(*ceiling))
	}
	g.Hold()
	return g, true
}

// overTime is the line of a run: a point for each hour, or more often where the run is short.
func (e *emptied) overTime(o *outcome) report.Line {
	l := report.Line{Name: o.line}
	step := min(cluster.Hour, e.until/8)
	for at := step; at <= e.until; at += step {
		if v, ok := emptyNodes(&o.run, at-step, at); ok {
			l.Points = append(l.Points, [2]report.Number{report.Seconds(at), v})
		}
	}
	return l
}
