package queue

import (
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
	pass
	ties   book.Ties
	seed   uint64
	chance *rand.Rand
	nodes  zoned
	scores kubeScores
	start  int // where in the order of nodes the next search begins
	ticks  int64
	found  []cluster.NodeID // scratch: nodes that take a task
}

func newKubeScheduler(o Options) sched.Policy {
	p := &kubeScheduler{ties: o.Ties, seed: o.Seed}
	p.order, p.work = ByPriority, &p.ticks
	return p
}

// Plan places who waits, one after the other. However small the budget, it tries a task.
func (p *kubeScheduler) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	p.learn(t.View(), c)
	p.plan(p, t, c, budget, out)
}

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
	p.pass.learn(s, c)
}

// serve places tasks of the group.
func (p *kubeScheduler) serve(t *sched.Trial, group *book.Group[none], budget int64, out *sched.Plan) {
	p.serveGroup(p, t, group, budget, out)
}

// placeOne places the first task of the group on the best node, or where evicting costs least.
func (p *kubeScheduler) placeOne(t *sched.Trial, group *book.Group[none], out *sched.Plan) (placed, beside bool) {
	s, task := t.View(), p.waiting.First(group)
	n, ok, beside := p.find(s, task)
	if ok {
		place(t, sched.Action{Task: task, Node: n}, out)
		p.scores.placed(s, task)
		return true, false
	}
	n, placed, alsoBeside := p.preempt(t, task, out)
	if placed {
		p.scores.learn(s, []cluster.NodeID{n}, &p.nodes.of)
		p.wake(s, &sched.Changed{Nodes: []cluster.NodeID{n}}, int64(group.Priority))
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
