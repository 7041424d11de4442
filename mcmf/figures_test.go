package mcmf_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/mcmftest"
)

// The figures on solvers of Gog et al. (Firmament, OSDI 2016), one benchmark
// each, on networks made up after Quincy. What they show, beside what was
// published, is in docs/bench/mcmf-figures.md. With -short all is small.

// longest is how many seconds of CPU a solve may take. One that takes longer is
// stopped and counted as cut off, and greater ones are not tried.
const longest = 30.0

// sized is a number at real size, or with -short.
func sized[T any](whole, short T) T {
	if testing.Short() {
		return short
	}
	return whole
}

// cpu is how many seconds of CPU the process has used.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// effort adds up what some solves took.
type effort struct {
	solves, cuts   int
	seconds, ticks float64
	cost           int64
}

// measure adds a solve, which is given what stops it.
func (e *effort) measure(b *testing.B, solve func(o mcmf.Options) mcmf.Result) {
	b.Helper()
	runtime.GC() // Of what came before.
	begin := cpu()
	r := solve(mcmf.Options{Stop: func() bool { return cpu()-begin > longest }})
	e.seconds += cpu() - begin
	e.ticks += float64(r.Ticks)
	e.solves++
	switch r.Status {
	case mcmf.Optimal:
		e.cost = r.Cost
	case mcmf.Cancelled:
		e.cuts++
	default:
		b.Fatalf("%v", r.Status)
	}
}

func (e *effort) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // It counts what lies between the solves, too.
	b.ReportMetric(e.seconds/float64(e.solves), "CPU-s")
	b.ReportMetric(e.ticks/float64(e.solves)/1e6, "Mticks")
	if e.cuts > 0 {
		b.ReportMetric(float64(e.cuts), "cut-off")
	}
}

// fresh solves a graph from nothing, again and again. It is false where that was
// cut off.
func fresh(b *testing.B, name string, g *mcmf.Graph, algorithm mcmf.Algorithm) bool {
	b.Helper()
	var e effort
	b.Run(name+"/algorithm="+string(algorithm), func(b *testing.B) {
		e = effort{}
		for b.Loop() {
			e.measure(b, func(o mcmf.Options) mcmf.Result {
				o.Algorithm = algorithm
				return mcmf.NewSolver(g).Solve(o)
			})
		}
		e.report(b)
	})
	return e.cuts == 0
}

// later are algorithms with which a series goes on until one is cut off.
type later map[mcmf.Algorithm]bool

func (l later) fresh(b *testing.B, name string, g *mcmf.Graph, algorithms ...mcmf.Algorithm) {
	b.Helper()
	for _, algorithm := range algorithms {
		if !l[algorithm] && !fresh(b, name, g, algorithm) {
			l[algorithm] = true
		}
	}
}

// isTask tells tasks from other nodes by what they give.
func isTask(g *mcmf.Graph, v mcmf.Node) bool { return g.HasNode(v) && g.Supply(v) == 1 }

func tasksOf(g *mcmf.Graph) (tasks []mcmf.Node) {
	for v := range g.NodeBound() {
		if isTask(g, v) {
			tasks = append(tasks, v)
		}
	}
	return tasks
}

// arrive adds a job of so many tasks, each of which may go where one that is
// there already may, which is chosen by chance. It returns the tasks.
func arrive(w *mcmftest.Workload, chance *rand.Rand, count int) (begun []mcmf.Node) {
	g := w.Graph
	models := tasksOf(g)
	job := g.AddNode(0)
	g.AddArc(job, w.Sink, 0, int64(count), 0)
	for range count {
		model := models[chance.IntN(len(models))]
		t := g.AddNode(1)
		begun = append(begun, t)
		dearest := mcmf.Arc(mcmf.None) // That to the job.
		for a := range g.Leaving(model) {
			if dearest == mcmf.None || g.Arc(a).Cost > g.Arc(dearest).Cost {
				dearest = a
			}
		}
		for a := range g.Leaving(model) {
			to := g.Arc(a).To
			if a == dearest {
				to = job
			}
			g.AddArc(t, to, 0, 1, g.Arc(a).Cost)
		}
	}
	g.SetSupply(w.Sink, g.Supply(w.Sink)-int64(count))
	return begun
}

// hold makes a network one of a cluster at work: all tasks are placed, and then
// each has an arc to the machine that it runs on, which costs less than what it
// has, by what it has done already (in Quincy a unit a second).
func hold(w *mcmftest.Workload, chance *rand.Rand) *mcmftest.Workload {
	const longestRun = 1000
	g := w.Graph
	s := mcmf.NewSolver(g)
	s.Solve(mcmf.Options{Algorithm: mcmf.Auction})
	for p := range s.Paths() {
		cost, dearest := int64(0), int64(0)
		for _, a := range p.Arcs {
			cost += g.Arc(a).Cost
		}
		for a := range g.Leaving(p.Source) {
			dearest = max(dearest, g.Arc(a).Cost)
		}
		if cost < dearest { // Else it waits.
			machine := g.Arc(p.Arcs[len(p.Arcs)-1]).From
			g.AddArc(p.Source, machine, 0, 1, max(0, cost-chance.Int64N(longestRun)))
		}
	}
	return w
}

// solved is a solver that has an answer, and has begun to start from it: the
// first time it does, it makes what it needs for that.
func solved(g *mcmf.Graph) *mcmf.Solver {
	s := mcmf.NewSolver(g)
	s.Solve(mcmf.Options{Algorithm: mcmf.Auction})
	s.Solve(mcmf.Options{Algorithm: mcmf.Incremental})
	return s
}

// depart ends so many tasks. Before each goes, it is told.
func depart(w *mcmftest.Workload, chance *rand.Rand, count int, before func(task mcmf.Node)) {
	g := w.Graph
	tasks := tasksOf(g)
	for _, i := range chance.Perm(len(tasks))[:count] {
		before(tasks[i])
		g.RemoveNode(tasks[i])
	}
	g.SetSupply(w.Sink, g.Supply(w.Sink)+int64(count))
}

func chance(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 8)) }

// uniform is Firmament's cluster by size: data lie evenly.
func uniform(machines int, utilisation float64) *mcmftest.Workload {
	return mcmftest.Uniform(machines, utilisation).New(1)
}

// BenchmarkFigure7 is algorithms by the size of the cluster, of which half is used.
func BenchmarkFigure7(b *testing.B) {
	done := later{}
	for _, machines := range sized([]int{50, 450, 850, 1250, 2500, 5000, 7500, 10_000, 12_500}, []int{20}) {
		done.fresh(b, fmt.Sprintf("machines=%d", machines), uniform(machines, 0.5).Graph,
			mcmf.CycleCancelling, mcmf.SuccessivePaths, mcmf.CostScaling, mcmf.Relaxation, mcmf.NetworkSimplex, mcmf.Auction)
	}
}

// BenchmarkFigure7Skewed is the same where much of the data lies in few racks,
// and nine tenths are used.
func BenchmarkFigure7Skewed(b *testing.B) {
	done := later{}
	for _, machines := range sized([]int{50, 450, 1250, 5000, 12_500}, []int{20}) {
		done.fresh(b, fmt.Sprintf("machines=%d", machines), mcmftest.Hot(machines, 0.9).New(1).Graph,
			mcmf.CycleCancelling, mcmf.SuccessivePaths, mcmf.CostScaling, mcmf.Relaxation, mcmf.NetworkSimplex, mcmf.Auction)
	}
}

// BenchmarkFigure7Running is a cluster at work, half used, to which one task in
// a hundred comes in addition.
func BenchmarkFigure7Running(b *testing.B) {
	for _, machines := range sized([]int{1250, 5000, 12_500}, []int{20}) {
		cluster := func() *mcmftest.Workload { return hold(uniform(machines, 0.5), chance(6)) }
		change := func(w *mcmftest.Workload) { arrive(w, chance(7), w.Tasks()/100) }
		w := cluster()
		change(w)
		name := fmt.Sprintf("machines=%d", machines)
		later{}.fresh(b, name, w.Graph, mcmf.SuccessivePaths, mcmf.CostScaling, mcmf.Relaxation, mcmf.NetworkSimplex, mcmf.Auction)
		incremental(b, name, cluster, change)
	}
}

// spread is a cluster of which nine tenths are used, under a policy that spreads
// load: each task on a machine makes the next one dearer. Machines have eight to
// ten of their ten slots taken.
func spread(machines int) *mcmftest.Workload {
	r := chance(9)
	g := mcmf.NewGraph(0, 0)
	w := &mcmftest.Workload{Graph: g, Sink: g.AddNode(0), Hub: g.AddNode(0)}
	for range machines {
		m := g.AddNode(0)
		taken := 8 + r.Int64N(3)
		g.AddArc(m, w.Sink, 0, 10-taken, 0)
		var curve []mcmf.Step
		for k := taken; k < 10; k++ {
			curve = append(curve, mcmf.Step{Capacity: 1, Cost: 10 * (k + 1)})
		}
		g.AddCurve(w.Hub, m, 0, curve)
	}
	return w
}

// submit adds a job of tasks that may run anywhere.
func submit(w *mcmftest.Workload, count int) {
	g := w.Graph
	job := g.AddNode(0)
	g.AddArc(job, w.Sink, 0, int64(count), 0)
	for range count {
		t := g.AddNode(1)
		g.AddArc(t, job, 0, 1, 5000)
		g.AddArc(t, w.Hub, 0, 1, 0)
	}
	g.SetSupply(w.Sink, g.Supply(w.Sink)-int64(count))
}

// BenchmarkFigure9 is one job of more and more tasks that are spread.
func BenchmarkFigure9(b *testing.B) {
	done := later{}
	for _, tasks := range sized([]int{200, 1000, 2000, 3000, 4000, 5000}, []int{20}) {
		w := spread(sized(10_000, 100))
		submit(w, tasks)
		name := fmt.Sprintf("tasks=%d", tasks)
		done.fresh(b, name, w.Graph, mcmf.CostScaling, mcmf.Relaxation, mcmf.NetworkSimplex, mcmf.Auction)
		b.Run(name+"/algorithm="+string(mcmf.Incremental), func(b *testing.B) {
			var e effort
			for b.Loop() {
				w := spread(sized(10_000, 100))
				submit(w, 1) // So that there is something to start from.
				s := solved(w.Graph)
				submit(w, tasks-1)
				e.measure(b, s.Solve)
			}
			e.report(b)
		})
	}
}

// starting is what a figure compares, from the answer before the change.
type starting struct {
	name  string
	solve func(g *mcmf.Graph, o mcmf.Options, before *mcmf.Answer) mcmf.Result
}

func scaling(rounds int) func(*mcmf.Graph, mcmf.Options, *mcmf.Answer) mcmf.Result {
	return func(g *mcmf.Graph, o mcmf.Options, before *mcmf.Answer) mcmf.Result {
		r, _ := mcmf.CostScalingRounds(g, o, before, rounds)
		return r
	}
}

func scratch(g *mcmf.Graph, o mcmf.Options, _ *mcmf.Answer) mcmf.Result {
	r, _ := mcmf.CostScalingRounds(g, o, nil, mcmf.RefineRounds())
	return r
}

// compare solves the same graph by each, and wants the same cost.
func compare(b *testing.B, name string, g *mcmf.Graph, before *mcmf.Answer, variants []starting) {
	b.Helper()
	least := int64(-1)
	for _, v := range variants {
		b.Run(name+"/"+v.name, func(b *testing.B) {
			var e effort
			for b.Loop() {
				e.measure(b, func(o mcmf.Options) mcmf.Result { return v.solve(g, o, before) })
			}
			e.report(b)
			switch {
			case e.cuts > 0:
			case least < 0:
				least = e.cost
			case e.cost != least:
				b.Errorf("the cost is %d, by an earlier one %d", e.cost, least)
			}
		})
	}
}

// incremental measures ours: a workload is made and solved, changed, and solved again.
func incremental(b *testing.B, name string, cluster func() *mcmftest.Workload, change func(w *mcmftest.Workload)) {
	b.Helper()
	b.Run(name+"/algorithm="+string(mcmf.Incremental), func(b *testing.B) {
		var e effort
		for b.Loop() {
			w := cluster()
			s := solved(w.Graph)
			change(w)
			e.measure(b, s.Solve)
		}
		e.report(b)
	})
}

// BenchmarkFigure11 is cost scaling from scratch and from its last answer, after
// tasks have ended and begun.
func BenchmarkFigure11(b *testing.B) {
	cluster := func() *mcmftest.Workload { return uniform(sized(12_500, 50), 0.9) }
	for _, changes := range sized([]int{100, 1000, 10_000}, []int{10}) {
		w, name := cluster(), fmt.Sprintf("changes=%d", changes)
		_, before := mcmf.CostScalingRounds(w.Graph, mcmf.Options{}, nil, mcmf.RefineRounds())
		change := func(w *mcmftest.Workload) { w.Churn(changes) }
		change(w)
		compare(b, name, w.Graph, &before, []starting{
			{"cost-scaling=scratch", scratch},
			{"cost-scaling=incremental", scaling(mcmf.RefineRounds())},
		})
		incremental(b, name, cluster, change)
	}
}

// BenchmarkFigure12a is relaxation with arc prioritisation and without, where a
// job is spread (as published) and where many want the same slots.
func BenchmarkFigure12a(b *testing.B) {
	crowd := spread(sized(10_000, 100))
	submit(crowd, sized(4000, 20))
	for _, network := range []struct {
		name string
		g    *mcmf.Graph
	}{
		{"spread", crowd.Graph},
		{"uniform50", uniform(sized(12_500, 50), 0.5).Graph},
		{"hot80", mcmftest.Hot(sized(2500, 50), 0.8).New(1).Graph},
	} {
		relax := func(prioritise bool) func(*mcmf.Graph, mcmf.Options, *mcmf.Answer) mcmf.Result {
			return func(g *mcmf.Graph, o mcmf.Options, _ *mcmf.Answer) mcmf.Result {
				r, _ := mcmf.RelaxationPrioritised(g, o, prioritise)
				return r
			}
		}
		compare(b, "network="+network.name, network.g, nil, []starting{
			{"prioritise=off", relax(false)},
			{"prioritise=on", relax(true)},
		})
	}
}

// BenchmarkFigure12b is incremental cost scaling with efficient task removal and
// without, where as many tasks end as begin, and ours, of which it is a part.
func BenchmarkFigure12b(b *testing.B) {
	cluster := func() *mcmftest.Workload { return uniform(sized(10_000, 50), 0.9) }
	count := sized(2000, 10)
	for _, drain := range []bool{false, true} {
		w := cluster()
		_, before := mcmf.CostScalingRounds(w.Graph, mcmf.Options{}, nil, mcmf.RefineRounds())
		depart(w, chance(12), count, func(task mcmf.Node) {
			if drain {
				before.Drain(w.Graph, task)
			}
		})
		arrive(w, chance(13), count)
		compare(b, fmt.Sprintf("drain=%t", drain), w.Graph, &before, []starting{{"cost-scaling=incremental", scaling(mcmf.RefineRounds())}})
	}
	incremental(b, "drain=always", cluster, func(w *mcmftest.Workload) {
		depart(w, chance(12), count, func(mcmf.Node) {})
		arrive(w, chance(13), count)
	})
}

// BenchmarkFigure13 is cost scaling that goes on from the answer of another
// algorithm, after a change, with price refinement and without.
func BenchmarkFigure13(b *testing.B) {
	for _, from := range []mcmf.Algorithm{mcmf.Relaxation, mcmf.Auction} {
		for _, changes := range sized([]int{100, 1000, 10_000}, []int{10}) {
			w := uniform(sized(12_500, 50), 0.8)
			s := mcmf.NewSolver(w.Graph)
			s.Solve(mcmf.Options{Algorithm: from})
			before := s.Answer()
			w.Churn(changes)
			compare(b, fmt.Sprintf("from=%s/changes=%d", from, changes), w.Graph, &before, []starting{
				{"refine=off", scaling(0)},
				{"refine=on", scaling(mcmf.RefineRounds())},
			})
		}
	}
}

// BenchmarkFigure8 is a cluster to which a job comes, small or so large that not
// all of it can run.
func BenchmarkFigure8(b *testing.B) {
	machines, running := sized(12_404, 50), sized(144_339, 582)
	cluster := func() *mcmftest.Workload {
		return hold(mcmftest.Quincy{Machines: machines, Tasks: running, Utilisation: 0.895, Skew: 1, Preferences: 10}.New(1), chance(6))
	}
	done := later{}
	for _, percent := range sized([]int{90, 92, 93, 94, 96, 98, 100, 102}, []int{102}) {
		w := cluster()
		size := int(float64(w.Slots())*float64(percent)/100) - w.Tasks()
		change := func(w *mcmftest.Workload) { arrive(w, chance(8), size) }
		change(w)
		name := fmt.Sprintf("used=%d", percent)
		done.fresh(b, name, w.Graph, mcmf.CostScaling, mcmf.Relaxation, mcmf.NetworkSimplex, mcmf.Auction)
		incremental(b, name, cluster, change)
	}
}

// choices are where tasks go first, of those whose unit arrives.
func choices(g *mcmf.Graph, flow func(mcmf.Arc) int64) map[mcmf.Node]mcmf.Node {
	to := map[mcmf.Node]mcmf.Node{}
	for p := range mcmf.Decompose(g, flow) {
		if isTask(g, p.Source) {
			to[p.Source] = g.Arc(p.Arcs[0]).To
		}
	}
	return to
}

// early solves with a part of the effort of the whole, for Figure 10.
type early struct {
	name string
	// solve makes the graph and solves it.
	solve func(o mcmf.Options, e *effort) (round, func(mcmf.Arc) int64)
}

// round is a graph in which tasks have begun.
type round struct {
	g     *mcmf.Graph
	begun []mcmf.Node
}

// stopped measures a solve that a budget ends.
func (e *effort) stopped(o mcmf.Options, solve func(o mcmf.Options) mcmf.Result) {
	runtime.GC()
	begin := cpu()
	r := solve(o)
	e.seconds += cpu() - begin
	e.ticks += float64(r.Ticks)
	e.solves++
}

// BenchmarkFigure10 stops solves early, and counts the tasks that are not where
// the same algorithm puts them when it is let to end: all, and those that have
// just begun, as the others may stay where they ran.
func BenchmarkFigure10(b *testing.B) {
	machines, count := sized(12_500, 50), sized(1500, 10)
	cluster := func() (*mcmftest.Workload, *mcmf.Solver) {
		w := hold(uniform(machines, 0.93), chance(6))
		return w, solved(w.Graph)
	}
	change := func(w *mcmftest.Workload) round {
		depart(w, chance(10), count, func(mcmf.Node) {})
		return round{w.Graph, arrive(w, chance(11), count)}
	}
	w, _ := cluster()
	changed := change(w)
	var all []early
	for _, algorithm := range []mcmf.Algorithm{mcmf.CostScaling, mcmf.Relaxation, mcmf.Auction} {
		all = append(all, early{string(algorithm), func(o mcmf.Options, e *effort) (round, func(mcmf.Arc) int64) {
			o.Algorithm = algorithm
			s := mcmf.NewSolver(changed.g)
			e.stopped(o, s.Solve)
			return changed, s.Flow
		}})
	}
	all = append(all, early{string(mcmf.Incremental), func(o mcmf.Options, e *effort) (round, func(mcmf.Arc) int64) {
		w, s := cluster()
		r := change(w)
		e.stopped(o, s.Solve)
		return r, s.Flow
	}})
	for _, a := range all {
		a.measure(b)
	}
}

// measure solves by all effort, and then by parts of it.
func (a early) measure(b *testing.B) {
	b.Helper()
	var whole effort
	r, flow := a.solve(mcmf.Options{}, &whole)
	final := choices(r.g, flow)
	for _, percent := range []int64{5, 25, 50, 75, 90, 100} {
		b.Run(fmt.Sprintf("algorithm=%s/effort=%d", a.name, percent), func(b *testing.B) {
			var e effort
			misplaced, misplacedNew := 0, 0
			for b.Loop() {
				r, flow := a.solve(mcmf.Options{Budget: int64(whole.ticks)*percent/100 + 1}, &e)
				misplaced, misplacedNew = misplacements(r, final, choices(r.g, flow))
			}
			e.report(b)
			b.ReportMetric(float64(misplaced), "misplaced")
			b.ReportMetric(float64(misplacedNew), "misplaced-new")
			if percent == 100 && misplaced > 0 {
				b.Errorf("%d tasks are misplaced in the end", misplaced)
			}
		})
	}
}

// misplacements are how many tasks are not where they are in the end: all, and
// of those that have begun.
func misplacements(r round, final, now map[mcmf.Node]mcmf.Node) (all, begun int) {
	wrong := func(t mcmf.Node) bool {
		to, placed := now[t]
		return !placed || to != final[t]
	}
	for t := range final {
		if wrong(t) {
			all++
		}
	}
	for _, t := range r.begun {
		if wrong(t) {
			begun++
		}
	}
	return all, begun
}
