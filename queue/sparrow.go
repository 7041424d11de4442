package queue

import (
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// sparrow is Ousterhout et al., "Sparrow: Distributed, Low Latency
// Scheduling", SOSP 2013: batch sampling and late binding. A job with m new
// tasks sends d·m probes to as many nodes, drawn at random among those that
// could run them. Every node queues its probes; when it has room for the first
// one's task, it asks the job, which binds its oldest waiting task there, or
// answers that none is left, and the probe is dropped. A probe that does not
// fit holds up those behind it: workers are FIFO, as in the paper.
//
// Ours, where the paper is silent:
//   - A job is a group: its waiting tasks of one shape. If fewer nodes than
//     d·m suit it, nodes get several probes (one, if a node may have only so
//     many tasks of the job).
//   - A probe is lost with its node, or where its node no longer suits. A
//     group left with less than one probe a waiting task probes again.
//   - The last task that is bound drops all probes of its job at once (the
//     paper's proactive cancellation).
//   - Probes may all stand where they are never served while another node is
//     idle. A group that has waited for patience although a node has room is
//     bound there, past the queue. The timer runs only while there is such a
//     node, so that a full cluster is not polled.
//
// Cost: a round looks at the queues of changed and probed nodes alone.
type sparrow struct {
	seed    uint64
	source  *rand.Rand
	waiting waiting
	rooms   rooms
	batches []batch  // by row of the group
	member  []probe  // per task row, the batch that counts it
	workers []worker // by node row
	live    []cluster.NodeID
	dirty   []cluster.NodeID // whose queues are to be looked at
	touched []uint32         // batches that may lack probes or a timer
	timers  []timer          // in order of time
	mark    uint64           // of the nodes drawn last
	ticks   int64
	company sched.Company
}

// probeRatio is d, the probes per task, as in the paper's evaluation.
const probeRatio = 2

// patience is how long a group waits beside a node that has room for it.
const patience = 5 * cluster.Second

// batch is what is known of a group: a job of the paper.
type batch struct {
	group   *group // nil: over
	number  uint32 // how many batches the row has seen
	waiting int    // tasks to bind
	fresh   int    // of them, not probed for yet
	probes  int    // that stand in queues
	blocks  []cluster.NodeID
	touched bool
	asleep  bool // no node has room
}

// probe stands in a node's queue for a batch.
type probe struct{ batch, number uint32 }

// worker is a node and its queue.
type worker struct {
	name  string
	live  int32 // 1 + its place in sparrow.live
	dirty bool
	queue []probe
	head  int   // queue[head] is the first
	block probe // the first one when it was last found not to fit
	mark  uint64
}

// timer says when a batch has waited long enough.
type timer struct {
	at cluster.Time
	probe
}

func newSparrow(o Options) *sparrow { return &sparrow{seed: o.Seed} }

// Why says why the task is not placed.
func (p *sparrow) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// Plan sends the probes of new tasks and looks at the queues that changed.
// However small the budget, it looks at one.
func (p *sparrow) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	p.learn(s, c)
	for {
		p.settle(t, budget, out)
		p.setTimers(s)
		if p.spent(budget) || len(p.dirty) == 0 {
			break
		}
	}
	out.Wake = p.firstTimer()
	if len(p.dirty) > 0 {
		out.Wake = s.Now() // the budget ended the round
	}
	out.Ticks, p.ticks, p.rooms.looks = p.ticks+p.rooms.looks, 0, 0
	p.company.Plan(t, c, budget, out)
}

// settle sends probes and serves queues until nothing is left to do. A batch
// probes once.
func (p *sparrow) settle(t *sched.Trial, budget int64, out *sched.Plan) {
	for probed := 0; probed == 0 || len(p.dirty) > 0 || probed < len(p.touched); {
		for ; probed < len(p.touched); probed++ {
			p.probeFor(t.View(), p.touched[probed])
		}
		p.serveDirty(t, budget, out)
		if p.spent(budget) {
			return
		}
		p.overtake(t, out)
		if len(p.touched) == 0 && len(p.dirty) == 0 {
			return
		}
	}
}

func (p *sparrow) spent(budget int64) bool { return budget > 0 && p.ticks+p.rooms.looks >= budget }

// learn takes in what changed since the last round.
func (p *sparrow) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		*p = sparrow{seed: p.seed, source: rand.New(rand.NewPCG(p.seed, 0x59a7704))}
		p.waiting.reset()
	}
	p.rooms.learn(s, c.Nodes)
	for _, n := range c.Nodes {
		p.learnNode(s, n)
	}
	for _, m := range c.Members { // what stands first there may fit or suit by now
		if p.workers[m.Node].live > 0 {
			p.soil(m.Node)
		}
	}
	// Whoever left is counted out before a row is used again.
	for _, t := range c.Gone {
		p.leave(s, t)
	}
	for _, t := range c.Tasks {
		p.leave(s, t)
	}
	for _, t := range c.Tasks {
		p.join(s, t)
	}
	p.ticks += p.waiting.wakeThose(s, c, func(g *group, n cluster.NodeID) bool {
		return g.fits(s, n)
	}, func(g *group) {
		p.batches[g.row].asleep = false
		p.touch(g.row)
	})
}

// learnNode notes that a node came, went or changed.
func (p *sparrow) learnNode(s *cluster.View, n cluster.NodeID) {
	for int(n) >= len(p.workers) {
		p.workers = append(p.workers, worker{})
	}
	w := &p.workers[n]
	live := s.NodeLive(n)
	if !live || w.name != s.NodeSpec(n).Name {
		for _, pr := range w.queue[w.head:] {
			if b := p.batch(pr); b != nil {
				b.probes--
				p.touch(pr.batch)
			}
		}
		w.queue, w.head, w.block = w.queue[:0], 0, probe{}
	}
	w.name = ""
	if live {
		w.name = s.NodeSpec(n).Name
		p.soil(n)
	}
	switch {
	case live && w.live == 0:
		p.live = append(p.live, n)
		w.live = int32(len(p.live))
	case !live && w.live > 0:
		last := p.live[len(p.live)-1]
		p.live[w.live-1] = last
		p.workers[last].live = w.live
		p.live = p.live[:len(p.live)-1]
		w.live = 0
	}
}

// soil has the node's queue looked at.
func (p *sparrow) soil(n cluster.NodeID) {
	if w := &p.workers[n]; !w.dirty {
		w.dirty = true
		p.dirty = append(p.dirty, n)
	}
}

// touch has the batch looked at before the round ends.
func (p *sparrow) touch(row uint32) {
	if b := &p.batches[row]; !b.touched {
		b.touched = true
		p.touched = append(p.touched, row)
	}
}

// batch returns the batch that a probe stands for; nil if it is over.
func (p *sparrow) batch(pr probe) *batch {
	if b := &p.batches[pr.batch]; b.number == pr.number && b.group != nil {
		return b
	}
	return nil
}

// leave counts a task out that no longer waits, or not as what it was.
func (p *sparrow) leave(s *cluster.View, t cluster.TaskID) {
	if int(t) >= len(p.member) || p.member[t] == (probe{}) || p.waiting.stands(s, t) {
		return
	}
	p.waiting.member[t] = member{}
	p.countOut(s, t)
}

// countOut takes the task out of its batch, which is over with the last one.
func (p *sparrow) countOut(s *cluster.View, t cluster.TaskID) {
	b := p.batch(p.member[t])
	p.member[t] = probe{}
	if b == nil {
		return
	}
	b.waiting--
	b.fresh = min(b.fresh, b.waiting)
	if b.waiting == 0 {
		p.over(s, b)
	}
}

// over ends the batch, and lets the queues go on that it blocked.
func (p *sparrow) over(s *cluster.View, b *batch) {
	p.waiting.settle(b.group, s)
	for _, n := range b.blocks {
		if p.workers[n].live > 0 {
			p.soil(n)
		}
	}
	*b = batch{number: b.number, touched: b.touched, blocks: b.blocks[:0]}
}

// join counts a task in that began to wait.
func (p *sparrow) join(s *cluster.View, t cluster.TaskID) {
	if !p.waiting.begins(s, t) {
		return
	}
	task := s.Task(t)
	g := p.waiting.join(s, t, groupID{shape: task.Shape, job: task.Job})
	for int(g.row) >= len(p.batches) {
		p.batches = append(p.batches, batch{})
	}
	b := &p.batches[g.row]
	if b.group != nil && b.group != g {
		p.over(s, b)
	}
	if b.group == nil {
		b.group = g
		b.number++
	}
	for int(t) >= len(p.member) {
		p.member = append(p.member, probe{})
	}
	p.member[t] = probe{g.row, b.number}
	b.waiting++
	b.fresh++
	p.touch(g.row)
}

// suits reports whether the node could run a task of the group once it is free.
func (p *sparrow) suits(s *cluster.View, g *group, n cluster.NodeID) bool {
	p.ticks++
	shape := s.Shape(g.id.shape)
	if most := int(shape.PerNode); most > 0 && s.Beside(g.id.job, n, g.tasks[0].task) >= most {
		return false
	}
	return s.FitsEmpty(g.id.shape, n)
}

// probeFor sends the probes that the batch lacks.
func (p *sparrow) probeFor(s *cluster.View, row uint32) {
	b := &p.batches[row]
	if b.group == nil || !p.waiting.settle(b.group, s) {
		return
	}
	lack := probeRatio * b.fresh
	if b.probes+lack < b.waiting {
		lack = probeRatio * (b.waiting - b.probes)
	}
	b.fresh = 0
	p.mark++
	for tries := 4*lack + 16; lack > 0 && tries > 0 && len(p.live) > 0; tries-- {
		n := p.live[p.source.IntN(len(p.live))]
		if p.workers[n].mark != p.mark && p.suits(s, b.group, n) {
			p.send(row, n)
			lack--
		}
	}
	if lack > 0 {
		p.probeRest(s, row, lack)
	}
}

// probeRest sends probes where drawing at random finds too few nodes: to all
// that were not drawn, then around among all that suit.
func (p *sparrow) probeRest(s *cluster.View, row uint32, lack int) {
	b := &p.batches[row]
	var suit, rest []cluster.NodeID
	for _, n := range p.live {
		if p.suits(s, b.group, n) {
			suit = append(suit, n)
			if p.workers[n].mark != p.mark {
				rest = append(rest, n)
			}
		}
	}
	for lack > 0 && len(suit) > 0 {
		p.source.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		for _, n := range rest[:min(lack, len(rest))] {
			p.send(row, n)
			lack--
		}
		if s.Shape(b.group.id.shape).PerNode == 1 {
			break
		}
		rest = suit
	}
}

// send puts a probe at the end of a node's queue.
func (p *sparrow) send(row uint32, n cluster.NodeID) {
	p.ticks++
	w, b := &p.workers[n], &p.batches[row]
	w.mark = p.mark
	if w.head > len(w.queue)/2 {
		w.queue = append(w.queue[:0], w.queue[w.head:]...)
		w.head = 0
	}
	w.queue = append(w.queue, probe{row, b.number})
	b.probes++
	p.soil(n)
}

// serveDirty looks at the queues that may have something to do.
func (p *sparrow) serveDirty(t *sched.Trial, budget int64, out *sched.Plan) {
	done := 0
	for done < len(p.dirty) {
		n := p.dirty[done]
		p.workers[n].dirty = false
		done++
		p.serve(t, n, out)
		if p.spent(budget) {
			break
		}
	}
	p.dirty = append(p.dirty[:0], p.dirty[done:]...)
}

// serve binds tasks to the node for as long as the first probe's task fits.
func (p *sparrow) serve(t *sched.Trial, n cluster.NodeID, out *sched.Plan) {
	s := t.View()
	w := &p.workers[n]
	for ; w.head < len(w.queue); w.head++ {
		p.ticks++
		pr := w.queue[w.head]
		b := p.batch(pr)
		if b == nil || !p.waiting.settle(b.group, s) {
			continue
		}
		switch task := b.group.tasks[0].task; {
		case !p.suits(s, b.group, n):
			b.probes--
			p.touch(pr.batch)
		case !roomNow(s, b.group.id.shape, n):
			if w.block != pr {
				w.block = pr
				b.blocks = append(b.blocks, n)
			}
			return
		case s.Admits(task, n).Refused():
			b.probes--
			p.touch(pr.batch)
		default:
			b.probes--
			p.bind(t, b.group, n, out)
		}
	}
	w.queue, w.head = w.queue[:0], 0
}

// bind places the group's first task.
func (p *sparrow) bind(t *sched.Trial, g *group, n cluster.NodeID, out *sched.Plan) {
	s := t.View()
	task := g.tasks[0].task
	a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
	mustTry(t, a)
	out.Add(a)
	out.Close()
	p.rooms.set(s, n)
	p.waiting.drop(g)
	p.countOut(s, task)
}

// overtake binds the tasks of batches that have waited long enough wherever
// there is room.
func (p *sparrow) overtake(t *sched.Trial, out *sched.Plan) {
	s := t.View()
	for p.firstTimer() <= s.Now() {
		b := p.batch(p.timers[0].probe)
		p.timers = p.timers[1:]
		g := b.group
		g.awake = false
		for b.group == g && p.waiting.settle(b.group, s) {
			n, ok := p.anywhere(s, g)
			if !ok {
				break
			}
			p.bind(t, g, n, out)
		}
		if b.group == g {
			p.touch(g.row)
		}
	}
}

// anywhere returns a node that has room for the group's first task now.
func (p *sparrow) anywhere(s *cluster.View, g *group) (cluster.NodeID, bool) {
	task := g.tasks[0].task
	return p.rooms.next(s.Shape(g.id.shape).Demand, p.source.IntN(max(p.rooms.leaves, 1)), func(n cluster.NodeID) bool {
		return s.RoomNow(g.id.shape, n) && !s.Admits(task, n).Refused()
	})
}

// setTimers starts the timers of batches for which a node has room, and lets
// the others sleep.
func (p *sparrow) setTimers(s *cluster.View) {
	for _, row := range p.touched {
		b := &p.batches[row]
		b.touched = false
		if b.group == nil || b.group.awake || b.asleep || !p.waiting.settle(b.group, s) {
			continue
		}
		if _, ok := p.anywhere(s, b.group); ok {
			b.group.awake = true
			p.timers = append(p.timers, timer{s.Now() + patience, probe{row, b.number}})
		} else {
			b.asleep = true
			p.waiting.sleep(s, b.group)
		}
	}
	p.touched = p.touched[:0]
}

// firstTimer is when the first batch that is not over has waited long enough.
func (p *sparrow) firstTimer() cluster.Time {
	for len(p.timers) > 0 && p.batch(p.timers[0].probe) == nil {
		p.timers = p.timers[1:]
	}
	if len(p.timers) == 0 {
		return cluster.Never
	}
	return p.timers[0].at
}
