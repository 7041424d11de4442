package queue

import (
	"math"
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// This file is the policy kube-scheduler: what Kubernetes' scheduler does unless it is configured otherwise, as far as the model knows
// of it. Pods come by priority and then by age, one at a time. Of a large cluster only so many nodes are looked at as the
// scheduler looks at, from where it stopped the last time, zones in turns. Among those that take the pod the scores of its
// default plugins decide (kubescore.go), by their weights; of the best one by chance. A pod that none takes evicts pods of lower priority
// where that costs least in the scheduler's order (kubevictims.go).
//
// What the model does not know of is which images are where: their scores are the same for all nodes. Nobody
// is evicted against a budget of disruption, which the scheduler does where it finds no other way.

// How many nodes the scheduler looks at: all of fewer than fewNodes, or else that part of them in hundredths which falls by one with
// each nodesAPercent, and at least so many.
const (
	fewNodes      = 100
	mostPercent   = 50
	nodesAPercent = 125
	leastPercent  = 5
)

// kubeScheduler is the policy.
type kubeScheduler struct {
	explained
	ties    book.Ties
	seed    uint64
	chance  *rand.Rand
	waiting book.Waiting[none]
	line    book.Line[none]
	nodes   zoned
	scores  kubeScores
	victims *victims
	company sched.Company
	start   int // where in the order of nodes the next search begins
	ticks   int64
	found   []cluster.NodeID // scratch: nodes that take a task
}

func newKubeScheduler(o Options) sched.Policy {
	return &kubeScheduler{ties: o.Ties, seed: o.Seed}
}

// Plan places who waits, one after the other. However small the budget, it tries a task.
func (p *kubeScheduler) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	p.learn(s, c)
	for g := p.line.Next(&p.waiting); g != nil; g = p.line.Next(&p.waiting) {
		p.serve(t, g, budget, out)
		if p.spent(budget) {
			break
		}
	}
	out.Ticks, p.ticks = p.ticks, 0
	if p.line.Peek(&p.waiting) != nil {
		out.Wake = s.Now() // the budget ended the pass
	}
	p.company.Plan(t, c, budget, out)
}

func (p *kubeScheduler) spent(budget int64) bool { return budget > 0 && p.ticks >= budget }

// learn takes in what changed since the last pass.
func (p *kubeScheduler) learn(s *cluster.View, c *sched.Changed) {
	if c.All || p.chance == nil {
		p.chance, p.start = rand.New(rand.NewPCG(p.seed, 0x6b756265)), 0
		p.waiting, p.line = book.Waiting[none]{Room: book.Whole}, book.Line[none]{}
		p.nodes, p.victims, p.scores = zoned{}, &victims{}, newKubeScores(s)
	}
	p.nodes.learn(s, c.Nodes)
	p.scores.learn(s, c.Nodes, &p.nodes.of)
	p.waiting.Forget(s, c)
	p.victims.learn(s, c)
	for _, task := range c.Tasks {
		if s.Task(task).Phase == cluster.Waiting {
			p.join(s, task)
		}
	}
	p.wake(s, c, math.MaxInt32)
}

// wake wakes groups of a lower priority that may find a place on one of the nodes that changed.
func (p *kubeScheduler) wake(s *cluster.View, c *sched.Changed, below int32) {
	p.ticks += p.waiting.Wake(s, c, func(g *book.Group[none], n cluster.NodeID) bool {
		if below < math.MaxInt32 { // only by what was evicted there is more room
			return g.Priority < below && p.mayEvict(s, g, n)
		}
		return p.waiting.Fits(s, g, n) || p.mayEvict(s, g, n)
	}, func(g *book.Group[none]) { p.line.Enter(&p.waiting, g, 0) })
}

// mayEvict reports whether some task of the group may find a place on the node by eviction.
func (p *kubeScheduler) mayEvict(s *cluster.View, g *book.Group[none], n cluster.NodeID) bool {
	return p.victims.choose(s, g.Shape, g.Priority, n) && (g.Job == book.NoJob || !s.Crowded(p.waiting.First(g), n))
}

func (p *kubeScheduler) join(s *cluster.View, t cluster.TaskID) {
	task := s.Task(t)
	id := book.ID{Priority: task.Priority, Shape: task.Shape, Job: book.JobOf(s, task)}
	g, joined := p.waiting.Join(s, t, id, ByPriority(s, t))
	if joined && !g.Asleep() && p.waiting.First(g) == t {
		p.line.Enter(&p.waiting, g, 0)
	}
}

// serve places tasks of the group for as long as they are first in the queue and fit. A group whose first task does not fit goes to sleep.
func (p *kubeScheduler) serve(t *sched.Trial, g *book.Group[none], budget int64, out *sched.Plan) {
	s := t.View()
	for tried := false; g.Len() > 0 && !g.Asleep(); tried = true {
		if g.Short(s) { // the next round is told of that
			p.waiting.Sleep(s, g)
			return
		}
		if tried && (!p.line.Behind(&p.waiting, p.waiting.Turn(g, 0)) || p.spent(budget)) {
			p.line.Enter(&p.waiting, g, 0)
			return
		}
		task := p.waiting.First(g)
		placed, beside := p.placeOne(t, task, out)
		switch {
		case placed:
			p.waiting.Leave(task)
		case beside && g.Job == book.NoJob:
			if own := p.waiting.Separate(s, g); own.Len() == 1 {
				p.waiting.Sleep(s, own)
			}
		default:
			p.waiting.Sleep(s, g)
		}
	}
}

// placeOne places the task on the best node, or where evicting costs least. Beside says that some node refused it only for another
// task of the job.
func (p *kubeScheduler) placeOne(t *sched.Trial, task cluster.TaskID, out *sched.Plan) (placed, beside bool) {
	s := t.View()
	n, ok, beside := p.find(s, task)
	if ok {
		place(t, sched.Action{Task: task, Node: n}, out)
		p.scores.placed(s, task)
		return true, false
	}
	n, placed, alsoBeside := p.preempt(t, task, out)
	if placed {
		p.scores.learn(s, []cluster.NodeID{n}, &p.nodes.of)
		p.wake(s, &sched.Changed{Nodes: []cluster.NodeID{n}}, s.Task(task).Priority)
	}
	return placed, beside || alsoBeside
}

// find looks at as many nodes as the scheduler does, and takes one of the best.
func (p *kubeScheduler) find(s *cluster.View, task cluster.TaskID) (best cluster.NodeID, ok, beside bool) {
	looked, beside := p.look(s, task, p.nodes.inOrder())
	p.ticks += int64(looked)
	if looked > 0 {
		p.start = (p.start + looked) % len(p.nodes.order)
	}
	if len(p.found) == 0 {
		return 0, false, beside
	}
	return p.best(s, task), true, false
}

// look finds nodes that take the task, from where the last search stopped: enough of them. The next search begins with the first
// that would have been one too many, behind all that refuse this task.
func (p *kubeScheduler) look(s *cluster.View, task cluster.TaskID, order []cluster.NodeID) (looked int, beside bool) {
	p.found = p.found[:0]
	for enough := enoughOf(len(order)); looked < len(order); looked++ {
		n := order[(p.start+looked)%len(order)]
		refusal := s.Admits(task, n)
		beside = beside || refusal.Code == cluster.NotApart
		if refusal.Refused() {
			continue
		}
		if len(p.found) == enough {
			break
		}
		p.found = append(p.found, n)
	}
	return looked, beside
}

// enoughOf is how many nodes that take a pod are enough to choose from.
func enoughOf(nodes int) int {
	if nodes < fewNodes {
		return nodes
	}
	percent := max(mostPercent-nodes/nodesAPercent, leastPercent)
	return max(nodes*percent/100, fewNodes)
}

// best is one of the nodes found with the best score: by chance, or the first.
func (p *kubeScheduler) best(s *cluster.View, task cluster.TaskID) cluster.NodeID {
	best, most, equal := p.found[0], int64(-1), 0
	for i, score := range p.scores.of(s, task, p.found) {
		switch {
		case score > most:
			best, most, equal = p.found[i], score, 1
		case score == most && p.ties != book.Lowest:
			if equal++; p.chance.IntN(equal) == 0 {
				best = p.found[i]
			}
		}
	}
	return best
}

// zoned is the nodes in the order in which the scheduler looks at them: one of each zone in turns.
type zoned struct {
	of    book.Zones
	order []cluster.NodeID
	zones []zone // by node row
	stale bool   // the order is to be made anew
}

// zone is the zone of a node; 0 where it is in none.
type zone struct {
	live   bool
	number int32
}

// learn notes whether nodes have come, gone or changed zones.
func (z *zoned) learn(s *cluster.View, nodes []cluster.NodeID) {
	z.of.Learn(s, nodes)
	for len(z.zones) < s.NodeRows() {
		z.zones = append(z.zones, zone{})
	}
	for _, n := range nodes {
		is := zone{s.NodeLive(n), z.of.Of(n)}
		z.stale = z.stale || z.zones[n] != is
		z.zones[n] = is
	}
}

func (z *zoned) inOrder() []cluster.NodeID {
	if !z.stale {
		return z.order
	}
	var zones [][]cluster.NodeID
	at, count := map[int32]int{}, 0
	for n := range z.zones {
		if !z.zones[n].live {
			continue
		}
		i, known := at[z.zones[n].number]
		if !known {
			i = len(zones)
			at[z.zones[n].number] = i
			zones = append(zones, nil)
		}
		zones[i] = append(zones[i], cluster.NodeID(n))
		count++
	}
	z.order, z.stale = z.order[:0], false
	for i := 0; len(z.order) < count; i++ {
		for _, nodes := range zones {
			if i < len(nodes) {
				z.order = append(z.order, nodes[i])
			}
		}
	}
	return z.order
}
