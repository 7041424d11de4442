package experiment

import (
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow/pack"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// vectorScheme is one way to place the tasks. Those that are not safe promise
// nodes more than they have, and exist for the table alone.
type vectorScheme struct {
	name string
	safe bool
	run  func(*testing.T, *vectors) *vectorOutcome
}

// vectorOutcome is what a scheme did.
type vectorOutcome struct {
	placed       [][]int32 // per node, per group
	arcs, rounds int       // of all graphs, an arc with a curve counts once a step; 0 where unknown
}

// The schemes that are compared with each other.
const (
	onePodByPod     = "pod by pod"
	kubeThroughCore = "kube, through the core"
	asItRuns        = "cpu-mem, through the core"
	onePerRound     = "one a node a round"
	repriced        = "pack and flow, 6 bids"
)

func vectorSchemes() []vectorScheme {
	return []vectorScheme{
		{onePodByPod, true, podByPod},
		{kubeThroughCore, true, throughCore("kube")},
		{asItRuns, true, throughCore("cpu-mem")},
		{"arcs by group (unsafe)", false, arcsByGroup},
		{"shared ladder (unsafe)", false, sharedLadder},
		{onePerRound, true, func(t *testing.T, in *vectors) *vectorOutcome { t.Helper(); return rounds(t, in, 1) }},
		{"uniform slots in rounds", true, func(t *testing.T, in *vectors) *vectorOutcome { t.Helper(); return rounds(t, in, 16) }},
		{"packer alone", true, func(t *testing.T, in *vectors) *vectorOutcome { t.Helper(); return packed(t, in, 0) }},
		{"pack and flow", true, func(t *testing.T, in *vectors) *vectorOutcome { t.Helper(); return packed(t, in, 1) }},
		{repriced, true, func(t *testing.T, in *vectors) *vectorOutcome { t.Helper(); return packed(t, in, 6) }},
	}
}

// progress is a scheme at work.
type progress struct {
	in *vectors
	vectorOutcome
	left    [][2]int64 // room, per node
	waiting []int32    // per group
}

func begin(in *vectors) *progress {
	return &progress{
		in: in, vectorOutcome: vectorOutcome{placed: newPlaced(len(in.free), len(in.count))},
		left: slices.Clone(in.free), waiting: slices.Clone(in.count),
	}
}

// place puts tasks of a group on a node.
func (p *progress) place(c, n int, count int32) {
	p.placed[n][c] += count
	p.waiting[c] -= count
	for range count {
		sub(&p.left[n], p.in.demand[c])
	}
}

// used is what would be taken of the node with some tasks more.
func (p *progress) used(n, c, more int) [2]int64 {
	used := p.in.capacity[n]
	sub(&used, p.left[n])
	for k, d := range p.in.demand[c] {
		used[k] += d * int64(more)
	}
	return used
}

// fit is how many tasks of the group would fit on the node.
func (p *progress) fit(c, n int) int {
	return int(min(p.left[n][0]/p.in.demand[c][0], p.left[n][1]/p.in.demand[c][1]))
}

// podByPod gives each task, in the order of arrival, the node where it costs least.
func podByPod(_ *testing.T, in *vectors) *vectorOutcome {
	p := begin(in)
	p.rounds = 1
	p.one(in.tasks)
	return &p.vectorOutcome
}

// one places tasks one by one on the node where each costs least.
func (p *progress) one(tasks []int32) {
	for _, c := range tasks {
		best, least := -1, int64(0)
		for n := range p.left {
			if !fitsIn(p.in.demand[c], p.left[n]) {
				continue
			}
			if cost := p.in.score(n, p.used(n, int(c), 1)); best < 0 || cost < least {
				best, least = n, cost
			}
		}
		if best >= 0 {
			p.place(int(c), best, 1)
		}
	}
}

// throughCore lets a policy of the project decide, in as many rounds as it wants.
func throughCore(name string) func(*testing.T, *vectors) *vectorOutcome {
	return func(t *testing.T, in *vectors) *vectorOutcome {
		t.Helper()
		policy, err := policies.New(name, policies.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return decideVectors(t, in, policy)
	}
}

func decideVectors(t *testing.T, in *vectors, policy sched.Policy) *vectorOutcome {
	t.Helper()
	placed, rounds, err := in.decide(policy)
	if err != nil {
		t.Fatal(err)
	}
	return &vectorOutcome{placed: placed, rounds: rounds}
}

// decide lets a policy of the project place the tasks, in as many rounds as it wants, but for an hour at most in which
// it places nothing: how many of each group are on each node then.
func (in *vectors) decide(policy sched.Policy) (placed [][]int32, rounds int, err error) {
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil), sched.Lane{Name: "all", Policy: policy})
	if err != nil {
		return nil, 0, err
	}
	events := in.events()
	placed = newPlaced(len(in.free), len(in.count))
	for now, last := cluster.Time(0), cluster.Time(0); ; {
		decisions, wake, err := core.Step(now, events, nil)
		if err != nil {
			return nil, 0, err
		}
		events = events[:0]
		for _, d := range decisions {
			if d.Kind != sched.Place {
				return nil, 0, fmt.Errorf("%v of a task, where there is nobody to evict", d.Kind)
			}
			placed[d.Node][in.tasks[int(d.Task)-len(in.free)]]++
			events = append(events, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
		}
		if len(decisions) > 0 {
			last = now
		} else if wake == cluster.Never || now-last > cluster.Hour {
			return placed, int(core.Counts().Rounds), nil
		}
		now = max(now+1, min(wake, now+cluster.Hour))
	}
}

// events are the nodes and tasks. What is taken of a node is a foreign task on it.
func (in *vectors) events() []cluster.Event {
	events := []cluster.Event{cluster.JobSubmitted{Job: 0, Name: "others", Foreign: true}, cluster.JobSubmitted{Job: 1, Name: "ours"}}
	for c, d := range in.demand {
		events = append(events, cluster.ShapeDefined{Shape: cluster.ShapeID(c), Spec: cluster.Shape{Demand: d[:]}})
	}
	seq := cluster.Seq(0)
	for n := range in.free {
		used, shape := in.used(n), cluster.ShapeID(len(in.demand)+n)
		seq++
		task := cluster.TaskID(n)
		events = append(events,
			cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: fmt.Sprintf("n%d", n), Capacity: in.capacity[n][:]}},
			cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: used[:]}},
			cluster.TaskSubmitted{Task: task, Seq: seq, Job: 0, Shape: shape},
			cluster.TaskFound{Task: task, Seq: seq, Node: cluster.NodeID(n)})
	}
	for i, c := range in.tasks {
		seq++
		events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(len(in.free) + i), Seq: seq, Job: 1, Shape: cluster.ShapeID(c)})
	}
	return events
}

// network is a flow problem over the waiting tasks: what leaves a group goes to
// the sink at the waiting price, or to wherever the scheme lets it.
type network struct {
	*mcmf.Graph
	group []mcmf.Node
	sink  mcmf.Node
	steps int
}

func (p *progress) network() *network {
	g := &network{Graph: mcmf.NewGraph(0, 0)}
	g.sink = g.AddNode(0)
	total := int64(0)
	for _, n := range p.waiting {
		v := g.AddNode(int64(n))
		g.group = append(g.group, v)
		g.arc(v, g.sink, int64(n), waitPrice)
		total += int64(n)
	}
	g.SetSupply(g.sink, -total)
	return g
}

func (g *network) arc(from, to mcmf.Node, capacity, cost int64) mcmf.Arc {
	g.steps++
	return g.AddArc(from, to, 0, capacity, cost)
}

func (g *network) curve(from, to mcmf.Node, curve []mcmf.Step) mcmf.Arc {
	g.steps += len(curve)
	return g.AddCurve(from, to, 0, curve)
}

func (g *network) solve(t *testing.T) *mcmf.Solver {
	t.Helper()
	s := mcmf.NewSolver(g.Graph)
	if r := s.Solve(mcmf.Options{}); r.Status != mcmf.Optimal {
		t.Fatalf("solved as %v", r.Status)
	}
	return s
}

// rise is a curve of unit steps; a cost that would fall stays.
func rise(length int, cost func(i int) int64) []mcmf.Step {
	curve := make([]mcmf.Step, length)
	for i := range curve {
		curve[i] = mcmf.Step{Capacity: 1, Cost: cost(i)}
		if i > 0 {
			curve[i].Cost = max(curve[i].Cost, curve[i-1].Cost)
		}
	}
	return curve
}

// choice is an arc that stands for tasks of a group on a node.
type choice struct {
	arc  mcmf.Arc
	c, n int
}

// take places what flows, and reports how many tasks that is.
func (p *progress) take(s *mcmf.Solver, choices []choice) int {
	count := 0
	for _, a := range choices {
		if f := int32(s.Flow(a.arc)); f > 0 {
			p.place(a.c, a.n, f)
			count += int(f)
		}
	}
	return count
}

// arcsByGroup lets each group send to each node as many tasks as would fit if the
// others sent none, as in CoCo.
func arcsByGroup(t *testing.T, in *vectors) *vectorOutcome {
	t.Helper()
	p := begin(in)
	g := p.network()
	var choices []choice
	for n := range in.free {
		for c, v := range g.group {
			if fit := p.fit(c, n); fit > 0 {
				curve := rise(fit, func(i int) int64 { return in.score(n, p.used(n, c, i+1)) })
				choices = append(choices, choice{g.curve(v, g.sink, curve), c, n})
			}
		}
	}
	p.take(g.solve(t), choices)
	p.arcs, p.rounds = g.steps, 1
	return &p.vectorOutcome
}

// sharedLadder gives each node rungs that hold one task each, and lets onto the
// i-th a group of which i tasks would fit, as in Poseidon.
func sharedLadder(t *testing.T, in *vectors) *vectorOutcome {
	t.Helper()
	p := begin(in)
	g := p.network()
	var choices []choice
	for n := range in.free {
		var rungs []mcmf.Node
		for c, v := range g.group {
			for i := range p.fit(c, n) {
				if i == len(rungs) {
					rungs = append(rungs, g.AddNode(0))
					g.arc(rungs[i], g.sink, 1, 0)
				}
				choices = append(choices, choice{g.arc(v, rungs[i], 1, in.score(n, p.used(n, c, i+1))), c, n})
			}
		}
	}
	p.take(g.solve(t), choices)
	p.arcs, p.rounds = g.steps, 1
	return &p.vectorOutcome
}

// rounds cuts what each node has left into equal slots, solves, and does so again
// until nothing can be placed. The slots are as large as the largest waiting group
// that fits on the node needs, and at most so many: with 1 it is ECSched's network.
// Each task more in a round costs what a mean one adds to the node.
func rounds(t *testing.T, in *vectors, most int) *vectorOutcome {
	t.Helper()
	p := begin(in)
	for {
		g := p.network()
		mean := p.mean()
		var choices []choice
		for n := range in.free {
			slots := most
			for c, waiting := range p.waiting {
				if fit := p.fit(c, n); waiting > 0 && fit > 0 {
					slots = min(slots, fit)
				}
			}
			envelope := [2]int64{p.left[n][0] / int64(slots), p.left[n][1] / int64(slots)}
			var node mcmf.Node
			used := false
			for c, v := range g.group {
				if p.waiting[c] == 0 || !fitsIn(in.demand[c], envelope) {
					continue
				}
				if !used {
					used, node = true, g.AddNode(0)
					step := (1000*mean[0]/in.capacity[n][0] + 1000*mean[1]/in.capacity[n][1]) / 4
					g.curve(node, g.sink, rise(slots, func(i int) int64 { return int64(i) * step }))
				}
				choices = append(choices, choice{g.arc(v, node, int64(slots), in.score(n, p.used(n, c, 1))), c, n})
			}
		}
		p.arcs += g.steps
		p.rounds++
		if p.take(g.solve(t), choices) == 0 {
			return &p.vectorOutcome
		}
	}
}

// mean is the mean demand of the waiting tasks.
func (p *progress) mean() [2]int64 {
	var sum [2]int64
	count := int64(0)
	for c, n := range p.waiting {
		count += int64(n)
		for k, d := range p.in.demand[c] {
			sum[k] += d * int64(n)
		}
	}
	return [2]int64{sum[0] / max(count, 1), sum[1] / max(count, 1)}
}

// packed packs, and solves the flow over the slots of the packing, up to so many
// times with the bids that the last one taught; the cheapest counts. With 0 it is
// the packing alone.
func packed(t *testing.T, in *vectors, tries int) *vectorOutcome {
	t.Helper()
	input := &pack.Input{Kinds: 2, Count: in.count}
	for _, room := range in.free {
		input.Room = append(input.Room, room[:]...)
	}
	for _, d := range in.demand {
		input.Demand = append(input.Demand, d[:]...)
		input.Price = append(input.Price, waitPrice)
	}
	var packer pack.Packer
	var packing pack.Packing
	packer.Begin(input, &packing)
	packer.Run(0)
	if tries == 0 {
		p := begin(in)
		for n := range in.free {
			for _, item := range packing.Items(n) {
				p.place(int(item.ID), n, item.Count)
			}
		}
		return &p.vectorOutcome
	}
	var best *progress
	arcs, rounds := 0, 0
	for {
		p := begin(in)
		p.throughSlots(t, &packing)
		arcs, rounds = arcs+p.arcs, rounds+1
		if best == nil || p.cost() < best.cost() {
			best = p
		}
		if rounds == tries || !packer.Rebid(&packing) {
			break
		}
		packer.Run(0)
	}
	best.arcs, best.rounds = arcs, rounds
	return &best.vectorOutcome
}

// throughSlots solves the flow over the slots of a packing, and fills what is left
// one by one. A task in a slot costs what it would if the others of the node were
// those of the packing; so it is known beforehand.
func (p *progress) throughSlots(t *testing.T, packing *pack.Packing) {
	t.Helper()
	g := p.network()
	var choices []choice
	for n := range p.in.free {
		full := p.in.used(n)
		for _, item := range packing.Items(n) {
			for range item.Count {
				add(&full, p.in.demand[item.ID])
			}
		}
		for _, slot := range packing.Slots(n) {
			envelope := [2]int64(packing.Envelope(int(slot.ID)))
			others := full
			sub(&others, envelope)
			if !slices.Contains(p.in.demand, envelope) { // it has what is left of the node
				add(&others, p.in.capacity[n])
				sub(&others, full)
			}
			v := g.AddNode(0)
			g.arc(v, g.sink, int64(slot.Count), 0)
			for c := range g.group {
				if d := p.in.demand[c]; fitsIn(d, envelope) {
					with := others
					add(&with, d)
					choices = append(choices, choice{g.arc(g.group[c], v, int64(slot.Count), p.in.score(n, with)), c, n})
				}
			}
		}
	}
	p.take(g.solve(t), choices)
	p.arcs, p.rounds = g.steps, 1
	var rest []int32
	for c, n := range p.waiting {
		rest = append(rest, slices.Repeat([]int32{int32(c)}, int(n))...)
	}
	p.one(rest)
}

// cost is what the table will say of the placements.
func (p *progress) cost() int64 {
	cost := int64(0)
	for n, groups := range p.placed {
		used := p.in.used(n)
		for c, count := range groups {
			for range count {
				add(&used, p.in.demand[c])
				cost += p.in.score(n, used)
			}
		}
	}
	for _, n := range p.waiting {
		cost += waitPrice * int64(n)
	}
	return cost
}
