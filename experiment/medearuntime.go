package experiment

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/report"
)

// This file is Medea's experiment on run times, of the shapes of its applications: placed by
// each policy, and then timed by the model of interference. What the model was calibrated to
// shows that placements reach it, no more; what is measured is how run times of many
// applications together compare.

// runtimes is the experiment under way.
type runtimes struct {
	nodes, applications int // of each kind
	seeds               uint64
	ticks               int64
	policies            []string
	times               map[timed][]float64
}

// timed are applications whose times belong together.
type timed struct{ policy, kind string }

// The kinds of applications, in two clusters.
const (
	trainingBusy  = "TensorFlow, busy cluster"
	trainingQuiet = "TensorFlow, quiet cluster"
	serving       = "HBase, busy cluster"
)

// What is taken of each node by other work, in thousandths, in the mean.
const (
	quietLoad = 100
	busyLoad  = 350
)

func setUpRuntimes(o *Options) (*plan, error) {
	s := &runtimes{
		nodes: of(o.Size, nodesOfMedea, nodesOfMedea, 80), applications: of(o.Size, 50, 50, 4),
		seeds: of[uint64](o.Size, 20, 2, 1), ticks: of[int64](o.Size, 60_000_000, 20_000_000, 500_000),
		policies: o.Policies, times: map[timed][]float64{},
	}
	p := &plan{
		data: fmt.Sprintf("%d equal nodes in racks of %d, partly taken by other work; %d jobs of TensorFlow and %d of HBase together, and one job alone of TensorFlow and of Storm; seeds %d to %d",
			s.nodes, bedRack, s.applications, s.applications, o.Seed, o.Seed+s.seeds-1),
		facts: []string{
			effortFact(s.ticks),
			"Run times come from a model of interference, a reconstruction. It is calibrated to what is quoted of TensorFlow's cardinality and of Storm, so those rows show only that the placement is as asked for; that of HBase is made up. Run times are in units of the best one.",
			"The workload is made up: 32 workers and 2 parameter servers, 16 on a node asked for in a busy cluster and 4 in a quiet one; 10 region servers and a master in its rack, at most two of any HBase on a node; 10 supervisors of Storm, spread as j-kube does where they ask for nothing, and kept off memcached's node where they ask for one another alone.",
		},
	}
	for seed := o.Seed; seed < o.Seed+s.seeds; seed++ {
		for _, c := range contenders(s.policies) {
			for _, busy := range []bool{false, true} {
				p.steps = append(p.steps, step{fmt.Sprintf("%s, seed %d", c.line, seed), func() error { return s.together(&c, busy, seed) }})
			}
		}
		p.steps = append(p.steps, step{fmt.Sprintf("jobs alone, seed %d", seed), func() error { return s.alone(seed) }})
	}
	p.conclude = func(_ []outcome, r *report.Reproduction) {
		s.cardinalities(r)
		s.storms(r)
		s.runs(r)
	}
	return p, nil
}

// together places jobs of TensorFlow and HBase by a policy.
func (s *runtimes) together(c *contender, busy bool, seed uint64) error {
	load, each, kind := int64(quietLoad), 4, trainingQuiet
	if busy {
		load, each, kind = busyLoad, 16, trainingBusy
	}
	p := pose(s.nodes, load, seed)
	for i := range s.applications {
		p.training(fmt.Sprintf("tf%d", i), each)
		p.serving(fmt.Sprintf("hb%d", i))
	}
	out, err := c.solve(&p.Problem, seed, s.ticks)
	if err != nil {
		return err
	}
	for i := range p.Applications {
		switch app := &p.Applications[i]; {
		case out.plan[app.First] == constraint.Nowhere:
		case p.tagged(int(app.First), "tf_w"):
			s.add(c.line, kind, p.trainingTime(app, out.plan, busy))
		case busy:
			s.add(c.line, serving, p.servingTime(app, out.plan))
		}
	}
	return nil
}

func (s *runtimes) add(policy, kind string, time float64) {
	s.times[timed{policy, kind}] = append(s.times[timed{policy, kind}], time)
}

// training is a job of TensorFlow that wants so many workers on each node where there is one.
func (p *posing) training(name string, each int) {
	p.submit(name, crew{trainingWorkers, bedCore / 2, 2, "tf_w"}, crew{2, bedCore, 4, "tf_ps"})
	workers := []string{cluster.AppTag(name), "tf_w"}
	p.constrain(cluster.Bound{Subject: workers, Target: workers, Min: int32(each - 1), Max: int32(each - 1), Group: cluster.EachNode})
}

const trainingWorkers = 32

// trainingTime is how long the slowest worker takes.
func (p *posing) trainingTime(app *constraint.Application, plan constraint.Assignment, busy bool) float64 {
	beside := map[int32]int{}
	slowest := 0.0
	for c := app.First; c < app.End; c++ {
		if p.tagged(int(c), "tf_w") {
			beside[plan[c]]++
		}
	}
	for _, workers := range beside {
		slowest = max(slowest, besideWorkers(workers, busy))
	}
	return slowest
}

// serving is a job of HBase.
func (p *posing) serving(name string) {
	p.submit(name, crew{1, bedCore, 4, "hb_m"}, crew{10, bedCore, 4, "hb_rs"})
	servers := []string{cluster.AppTag(name), "hb_rs"}
	p.constrain(upTo(1, servers, []string{"hb_rs"}, cluster.EachNode))
	p.constrain(atLeast(1, servers, []string{cluster.AppTag(name), "hb_m"}, planted.Rack))
}

// servingTime is the mean of the job's region servers.
func (p *posing) servingTime(app *constraint.Application, plan constraint.Assignment) float64 {
	rack := p.Groups[1].SetOf
	sum := 0.0
	for c := app.First + 1; c < app.End; c++ { // the first one is the master
		servers := 0
		for other, node := range plan {
			if node == plan[c] && p.tagged(other, "hb_rs") {
				servers++
			}
		}
		sum += besideRegions(servers, rack[plan[c]] == rack[plan[app.First]])
	}
	return sum / float64(app.End-app.First-1)
}

// tagged reports whether the container has the tag.
func (p *posing) tagged(container int, tag string) bool {
	_, found := slices.BinarySearch(p.Shapes[p.Containers[container].Shape].Tags, tag)
	return found
}

// jobs that are placed alone, by the search, each under several constraints.
const (
	freely     = "Storm, no constraint"
	intra      = "Storm, supervisors together"
	withLookup = "Storm, supervisors together and beside memcached"
)

// alone places one job of TensorFlow for each number of workers on a node, and one of Storm
// for each of its constraints.
func (s *runtimes) alone(seed uint64) error {
	search := contender{line: withSearch, policy: withSearch}
	for each := 1; each <= trainingWorkers; each *= 2 {
		for _, busy := range []bool{false, true} {
			p := pose(s.nodes, quietLoad, seed)
			p.training("tf", each)
			out, err := search.solve(&p.Problem, seed, s.ticks)
			if err != nil {
				return err
			}
			s.add(withSearch, cardinality(each, busy), p.trainingTime(&p.Applications[0], out.plan, busy))
		}
	}
	for _, kind := range []string{freely, intra, withLookup} {
		p := pose(min(s.nodes, nodesOfMedeasStorm), quietLoad, seed)
		p.streaming(kind)
		solver := search
		if kind == freely {
			solver.policy = "j-kube" // spreads what asks for nothing; search would leave it on the first nodes
		}
		out, err := solver.solve(&p.Problem, seed, s.ticks)
		if err != nil {
			return err
		}
		s.add(withSearch, kind, p.streamingTime(out.plan))
	}
	return nil
}

func cardinality(each int, busy bool) string { return fmt.Sprintf("%d a node, busy %t", each, busy) }

// streaming is a job of Storm, and memcached beside it.
func (p *posing) streaming(kind string) {
	p.submit("mem", crew{1, bedCore, 8, "mem"})
	p.submit("storm", crew{10, bedCore / 2, 2, "storm"})
	supervisors := []string{"storm"}
	if kind != freely {
		p.constrain(atLeast(9, supervisors, supervisors, cluster.EachNode))
	}
	switch kind {
	case withLookup:
		p.constrain(atLeast(1, supervisors, []string{"mem"}, cluster.EachNode))
	case intra: // a node away from memcached, so that each constraint shows alone
		p.constrain(upTo(0, supervisors, []string{"mem"}, cluster.EachNode))
	}
}

// streamingTime is the latency of the job.
func (p *posing) streamingTime(plan constraint.Assignment) float64 {
	supervisors := plan[1:]
	apart, missing := 0, 0
	for i, node := range supervisors {
		for _, other := range supervisors[:i] {
			if node != other {
				apart++
			}
		}
		if node != plan[0] {
			missing++
		}
	}
	n := len(supervisors)
	return latency(float64(apart)/float64(n*(n-1)/2), float64(missing)/float64(n))
}

// fitted is what to know of a row whose published ratio went into the model.
const fitted = "fitted: the model is calibrated to this ratio, so that only the placement is shown, which is as asked for"

// cardinalities is TensorFlow's run time by the number of workers on a node.
func (s *runtimes) cardinalities(r *report.Reproduction) {
	f := report.Figure{
		Title: "TensorFlow, one job alone", X: report.Axis{Label: "workers on a node", Unit: report.InTasks, Log: true},
		Y: report.Axis{Label: "run time over the best", Unit: report.InFactors},
	}
	for _, busy := range []bool{true, false} {
		l := report.Line{Name: map[bool]string{true: "busy cluster", false: "quiet cluster"}[busy]}
		for each := 1; each <= trainingWorkers; each *= 2 {
			l.Points = append(l.Points, [2]report.Number{report.Number(each), s.typical(withSearch, cardinality(each, busy))})
		}
		f.Lines = append(f.Lines, l)
	}
	r.Figures = append(r.Figures, f)
	const note = fitted
	for _, row := range []struct {
		than int
		less report.Number
	}{{32, 0.42}, {1, 0.34}} {
		ours, ok := less(float64(s.typical(withSearch, cardinality(16, true))), float64(s.typical(withSearch, cardinality(row.than, true))))
		r.Compared = append(r.Compared, report.Compared{
			What: fmt.Sprintf("TensorFlow, 16 workers a node, run time less than with %d, busy cluster", row.than), Unit: report.InShares,
			Published: new(row.less), Ours: known(ours, ok), Note: note,
		})
	}
}

// storms is Storm's latency.
func (s *runtimes) storms(r *report.Reproduction) {
	const note = fitted
	before, together, beside := s.typical(withSearch, freely), s.typical(withSearch, intra), s.typical(withSearch, withLookup)
	saved, ok := less(float64(together), float64(before))
	r.Compared = append(r.Compared,
		report.Compared{What: "Storm, latency less with supervisors together", Unit: report.InShares, Published: new(report.Number(0.31)), Ours: known(saved, ok), Note: note},
		report.Compared{What: "Storm, latency less again beside memcached", Unit: report.InFactors, Published: new(report.Number(5)), Ours: new(report.Ratio(float64(together), float64(beside))), Note: note},
	)
}

// runs are the run times of many applications together.
func (s *runtimes) runs(r *report.Reproduction) {
	for _, kind := range []string{trainingBusy, trainingQuiet, serving} {
		note := modelled(kind)
		f := report.Figure{
			Title: "Run time, " + kind, Cumulative: true,
			X: report.Axis{Label: "run time over the best", Unit: report.InFactors}, Y: report.Axis{Label: "share of the jobs", Unit: report.InShares},
		}
		for _, policy := range s.policies {
			times := s.sorted(policy, kind)
			if len(times) == 0 {
				continue
			}
			l := distribution(policy, times)
			f.Lines = append(f.Lines, l)
			for _, share := range []report.Number{0.5, 0.99} {
				v, ok := l.Quantile(share)
				r.Compared = append(r.Compared, report.Compared{
					What: fmt.Sprintf("p%.0f, %s, %s", 100*float64(share), kind, policy), Unit: report.InFactors, Ours: known(v, ok), Note: note,
				})
			}
		}
		r.Figures = append(r.Figures, f)
		ours := float64(s.typical(withSearch, kind))
		saved, ok := less(ours, float64(s.typical("j-kube", kind)))
		r.Compared = append(r.Compared,
			report.Compared{What: "median less than j-kube's, " + kind, Unit: report.InShares, Published: new(report.Number(0.32)), Ours: known(saved, ok), Note: "published: up to this, of HBase and TensorFlow on 400 real nodes; " + note},
			report.Compared{What: "median of yarn over ours, " + kind, Unit: report.InFactors, Published: new(report.Number(2.1)), Ours: new(report.Ratio(float64(s.typical("yarn", kind)), ours)), Note: "published: of HBase and TensorFlow on 400 real nodes; " + note},
		)
	}
}

// modelled says what the run times of a kind rest on.
func modelled(kind string) string {
	switch kind {
	case trainingBusy:
		return "fitted: to the published 16 workers a node against 32 and 1"
	case trainingQuiet:
		return "fitted in part: 4 workers a node are best as published, by how much is made up"
	default:
		return "made up: nothing of HBase's interference is published"
	}
}

// sorted are the times of a kind, rising.
func (s *runtimes) sorted(policy, kind string) []float64 {
	times := slices.Clone(s.times[timed{policy, kind}])
	slices.Sort(times)
	return times
}

// typical is the median; 0 of nothing.
func (s *runtimes) typical(policy, kind string) report.Number {
	times := s.sorted(policy, kind)
	if len(times) == 0 {
		return 0
	}
	return report.Number(times[len(times)/2])
}
