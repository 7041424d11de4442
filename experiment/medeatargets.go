package experiment

import (
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/constraint/search"
	"fairlead.dev/fairlead/report"
)

// This file holds the search to targets of our own (specs/medea.md, C): violations on planted
// problems of six sizes after so much time on this machine, and after so many ticks, which
// anybody can repeat. The clock stands while the judge looks.

// ticksPerSecond is what the targets' times are worth in ticks.
const ticksPerSecond = 20_000_000

// size is a size of problem with what is to be reached on it, and what was.
type size struct {
	name    string
	options planted.Options
	goals   []goal
	runs    []sizeRun
	beside  []placed // of the heuristics; at is the seed
}

// goal is what shall hold after a time.
type goal struct {
	what   string
	within cluster.Time
	met    func(*sight) bool
}

// ticks are those that the time is worth.
func (g *goal) ticks() int64 { return int64(g.within) * ticksPerSecond / int64(cluster.Second) }

// sight is a look at the best plan so far: whether nothing can be better, and whether the
// search is over.
type sight struct {
	placed
	optimal, over bool
}

// sizeRun is the search on the problem of one seed.
type sizeRun struct {
	seed    uint64
	reached []attained // by goal
}

// attained is how a goal was reached.
type attained struct {
	inTime, inTicks sight
	// The first look at which the goal was met, if it ever was.
	met   bool
	after cluster.Time
	ticks int64
}

func setUpTargets(o *Options) (*plan, error) {
	sizes := targetSizes(o)
	seeds := of[uint64](o.Size, 20, 2, 1)
	p := &plan{
		data: medeaData(o, seeds),
		facts: []string{
			"Time is measured on this machine, from the posed problem on; the judge's looks are taken off. A second counts as 20 million ticks.",
			"The search alone is measured, without repair by an integer program. These targets are ours; the paper has none like them.",
			violationsFact,
			"A violation is inherited if who runs already violated the same bound before. As problems are planted, these are the containers that wait for an application which is to be placed beside them.",
		},
	}
	for i := range sizes {
		for seed := range seeds {
			p.steps = append(p.steps, step{
				name: fmt.Sprintf("%s, seed %d", sizes[i].name, o.Seed+seed),
				do:   func() error { return sizes[i].run(o, o.Seed+seed) },
			})
		}
	}
	p.conclude = func(_ []outcome, r *report.Reproduction) {
		for i := range sizes {
			r.Compared = append(r.Compared, sizes[i].rows()...)
			r.Figures = append(r.Figures, sizes[i].figure())
		}
	}
	return p, nil
}

// targetSizes are the sizes M1 to M6; only the first ones where there is little time.
func targetSizes(o *Options) []size {
	if o.Size == tiny {
		return []size{{name: "small", options: planted.Options{Nodes: 50, Applications: 4, Utilisation: 400, InterApp: 2}, goals: []goal{
			{"no violation", 5 * cluster.Millisecond, none}, {"shown that nothing is better", 10 * cluster.Millisecond, proven},
		}}}
	}
	const ms = cluster.Millisecond
	sizes := []size{
		{name: "M1", options: planted.Options{Nodes: 100, Applications: 10, Utilisation: 500, InterApp: 5}, goals: []goal{
			{"no violation", 50 * ms, none}, {"shown that nothing is better", cluster.Second, proven},
		}},
		{name: "M2", options: planted.Options{Nodes: 500, Applications: 20, Utilisation: 500, InterApp: 10}, goals: []goal{
			{"no violation", 300 * ms, none},
		}},
		{name: "M3", options: planted.Options{Nodes: 500, Applications: 40, Utilisation: 700, InterApp: 10}, goals: []goal{
			{"at most 0.1 % violate", cluster.Second, atMost(1)}, {"no violation", 3 * cluster.Second, none},
		}},
		{name: "M4", options: planted.Options{Nodes: 5000, Applications: 10, Utilisation: 600, InterApp: 10}, goals: []goal{
			{"no new violation", 500 * ms, noneAdded},
		}},
		{name: "M5", options: planted.Options{Nodes: 5000, Applications: 40, Utilisation: 600, InterApp: 10}, goals: []goal{
			{"at most 0.5 % violate", cluster.Second, atMost(5)}, {"no violation", 5 * cluster.Second, none},
		}},
		{name: "M6", options: planted.Options{Nodes: 5000, Applications: 40, Running: 100, Utilisation: 600, InterApp: 10}, goals: []goal{
			{"no new violation", cluster.Second, noneAdded},
		}},
		{name: "M6, what runs may move", options: planted.Options{Nodes: 5000, Applications: 40, Running: 100, Utilisation: 600, InterApp: 10, Movable: true}, goals: []goal{
			{"half of the inherited violations cured", 10 * cluster.Second, halved},
		}},
	}
	return sizes[:of(o.Size, len(sizes), 4, 0)]
}

// What may be asked of a plan. All ask for every application to be placed.

func none(s *sight) bool { return s.judged.Parts.Violations == 0 && s.whole == s.applications }

func noneAdded(s *sight) bool { return s.added == 0 && s.whole == s.applications }

func proven(s *sight) bool { return s.optimal && none(s) }

func halved(s *sight) bool { return 2*s.inherited <= s.before && noneAdded(s) }

// atMost allows so many thousandths of the containers to violate.
func atMost(thousandths int) func(*sight) bool {
	return func(s *sight) bool {
		return 1000*s.judged.Violated <= thousandths*s.judged.Constrained && s.whole == s.applications
	}
}

// run searches until all goals' times and ticks are over, and has the heuristics solve the
// same problem.
func (z *size) run(o *Options, seed uint64) error {
	z.options.Seed = seed
	instance, err := drawPlanted(z.options)
	if err != nil {
		return err
	}
	run := sizeRun{seed: seed, reached: make([]attained, len(z.goals))}
	z.search(&instance.Problem, &run)
	z.runs = append(z.runs, run)
	for _, c := range contenders(o.Policies) {
		if c.policy == withSearch {
			continue
		}
		out, err := c.solve(&instance.Problem, seed, 0)
		if err != nil {
			return err
		}
		out.at = report.Number(seed)
		z.beside = append(z.beside, out)
	}
	return nil
}

// slice is the ticks between two looks at the clock, about a millisecond.
const slice = ticksPerSecond / 1000

// search runs the search in slices and notes what holds when.
func (z *size) search(p *constraint.Problem, run *sizeRun) {
	began := time.Now()
	s := search.New(p, run.seed)
	clock, last := cluster.Time(time.Since(began).Microseconds()), sight{}
	for score, first := int64(0), true; ; first = false {
		r := s.Result()
		if first || r.Score != score || r.Optimal != last.optimal {
			score, last = r.Score, sight{optimal: r.Optimal, over: last.over || r.Optimal}
			last.judge(p, r.Assignment)
		}
		waits := false
		for i := range z.goals {
			waits = run.reached[i].note(&z.goals[i], &last, clock, s.Ticks()) || waits
		}
		if !waits {
			return
		}
		began = time.Now()
		last.over = s.Run(slice)
		clock += cluster.Time(time.Since(began).Microseconds())
	}
}

// note looks at the plan for the goal, and reports whether to go on for it: until time and
// ticks are used up, or the search is over.
func (a *attained) note(g *goal, now *sight, clock cluster.Time, ticks int64) bool {
	now.took, now.ticks = clock, ticks
	if clock <= g.within || a.inTime.ticks == 0 {
		a.inTime = *now
	}
	if ticks <= g.ticks() || a.inTicks.ticks == 0 {
		a.inTicks = *now
	}
	if !a.met && g.met(now) {
		a.met, a.after, a.ticks = true, clock, ticks
	}
	return !now.over && (clock < g.within || ticks < g.ticks())
}

// rows say on how many seeds each goal was reached, and what it took.
func (z *size) rows() []report.Compared {
	var rows []report.Compared
	for i := range z.goals {
		g := &z.goals[i]
		inTime, inTicks, met := 0, 0, 0
		longest, most := cluster.Time(0), int64(0)
		for _, run := range z.runs {
			a := &run.reached[i]
			if a.met {
				met, longest, most = met+1, max(longest, a.after), max(most, a.ticks)
			}
			if g.met(&a.inTime) && a.inTime.took <= g.within {
				inTime++
			}
			if g.met(&a.inTicks) && a.inTicks.ticks <= g.ticks() {
				inTicks++
			}
		}
		what := fmt.Sprintf("%s: %s", z.name, g.what)
		rows = append(rows,
			report.Compared{What: fmt.Sprintf("%s in %s, seeds", what, report.InSeconds.Show(report.Seconds(g.within))), Ours: new(report.Number(inTime)), Note: fmt.Sprintf("target: all %d", len(z.runs))},
			report.Compared{What: fmt.Sprintf("%s in %.1f million ticks, seeds", what, float64(g.ticks())/1e6), Ours: new(report.Number(inTicks)), Note: fmt.Sprintf("target: all %d", len(z.runs))},
			report.Compared{What: what + ", the longest that it took", Unit: report.InSeconds, Ours: known(report.Seconds(longest), met > 0), Note: fmt.Sprintf("of the %d seeds that met it at all, in up to %.1f million ticks", met, float64(most)/1e6)},
		)
	}
	return rows
}

// figure is the violations of each seed's problem: of the search when time is up, of it after
// the ticks, and of the heuristics.
func (z *size) figure() report.Figure {
	f := report.Figure{
		Title: "Violations, " + z.name, X: report.Axis{Label: "seed"}, Y: report.Axis{Label: "containers that violate a constraint", Unit: report.InShares},
	}
	for i := range z.goals {
		g := &z.goals[i]
		timed := report.Line{Name: withSearch + " in " + report.InSeconds.Show(report.Seconds(g.within))}
		ticked := report.Line{Name: fmt.Sprintf("%s in %.1f million ticks", withSearch, float64(g.ticks())/1e6)}
		for _, run := range z.runs {
			at := report.Number(run.seed)
			timed.Points = append(timed.Points, [2]report.Number{at, run.reached[i].inTime.violations()})
			ticked.Points = append(ticked.Points, [2]report.Number{at, run.reached[i].inTicks.violations()})
		}
		f.Lines = append(f.Lines, timed, ticked)
	}
	for i := range z.beside {
		out := &z.beside[i]
		at := slices.IndexFunc(f.Lines, func(l report.Line) bool { return l.Name == out.line })
		if at < 0 {
			at = len(f.Lines)
			f.Lines = append(f.Lines, report.Line{Name: out.line})
		}
		f.Lines[at].Points = append(f.Lines[at].Points, [2]report.Number{out.at, out.violations()})
	}
	return f
}
