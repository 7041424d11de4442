package queue

import (
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
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
	explained
	seed    uint64
	source  *rand.Rand
	waiting book.Waiting[probes]
	rooms   book.Rooms
	workers []worker // by node row
	live    []cluster.NodeID
	dirty   []cluster.NodeID // whose queues are to be looked at
	touched []*batch         // that may lack probes or a timer
	timers  []timer          // in order of time
	mark    uint64           // of the nodes drawn last
	ticks   int64
	company sched.Company
}

// probeRatio is d, the probes per task, as in the paper's evaluation.
const probeRatio = 2

// patience is how long a group waits beside a node that has room for it.
const patience = 5 * cluster.Second

// batch is a group: a job of the paper. It is over when it has no task left.
type batch = book.Group[probes]

// probes is what is known of a batch.
type probes struct {
	fresh   int // tasks that came since it probed last, or more
	queued  int // probes that stand in queues
	blocks  []cluster.NodeID
	touched bool
	timed   bool // has a timer
}

// worker is a node and its queue.
type worker struct {
	name  string
	live  int32 // 1 + its place in sparrow.live
	dirty bool
	queue []*batch // a probe each
	head  int      // queue[head] is the first
	block *batch   // of the first probe when it was last found not to fit
	mark  uint64
}

// timer says when a batch has waited long enough.
type timer struct {
	at    cluster.Time
	batch *batch
}

func newSparrow(o Options) *sparrow { return &sparrow{seed: o.Seed} }

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
	out.Ticks, p.ticks, p.rooms.Looks = p.ticks+p.rooms.Looks, 0, 0
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

func (p *sparrow) spent(budget int64) bool { return budget > 0 && p.ticks+p.rooms.Looks >= budget }

// learn takes in what changed since the last round.
func (p *sparrow) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		*p = sparrow{seed: p.seed, source: rand.New(rand.NewPCG(p.seed, 0x59a7704))}
		p.waiting.Ended = p.unblock
	}
	p.rooms.Learn(s, c.Nodes)
	for _, n := range c.Nodes {
		p.learnNode(s, n)
	}
	for _, m := range c.Members { // what stands first there may fit or suit by now
		if p.workers[m.Node].live > 0 {
			p.soil(m.Node)
		}
	}
	p.waiting.Forget(s, c)
	for _, t := range c.Tasks {
		if s.Task(t).Phase == cluster.Waiting {
			p.join(s, t)
		}
	}
	p.ticks += p.waiting.Wake(s, c, func(b *batch, n cluster.NodeID) bool { return p.waiting.Fits(s, b, n) }, p.touch)
}

// learnNode notes that a node came, went or changed.
func (p *sparrow) learnNode(s *cluster.View, n cluster.NodeID) {
	p.workers = book.Grown(p.workers, n, worker{})
	w := &p.workers[n]
	live := s.NodeLive(n)
	if !live || w.name != s.NodeSpec(n).Name {
		for _, b := range w.queue[w.head:] {
			p.lose(b)
		}
		w.queue, w.head, w.block = w.queue[:0], 0, nil
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
func (p *sparrow) touch(b *batch) {
	if !b.Own.touched {
		b.Own.touched = true
		p.touched = append(p.touched, b)
	}
}

// lose counts a probe out that no queue holds any more.
func (p *sparrow) lose(b *batch) {
	if b.Own.queued--; b.Len() > 0 {
		p.touch(b)
	}
}

// unblock lets the queues go on that a batch blocked which is over.
func (p *sparrow) unblock(b *batch) {
	for _, n := range b.Own.blocks {
		if p.workers[n].live > 0 {
			p.soil(n)
		}
	}
}

// join counts a task in that waits.
func (p *sparrow) join(s *cluster.View, t cluster.TaskID) {
	task := s.Task(t)
	if b, joined := p.waiting.Join(s, t, book.ID{Shape: task.Shape, Job: task.Job}, 0); joined {
		b.Own.fresh++
		p.touch(b)
	}
}

// suits reports whether the node could run a task of the group once it is free.
func (p *sparrow) suits(s *cluster.View, b *batch, n cluster.NodeID) bool {
	p.ticks++
	shape := s.Shape(b.Shape)
	if most := int(shape.PerNode); most > 0 && s.Beside(b.Job, n, p.waiting.First(b)) >= most {
		return false
	}
	return s.FitsEmpty(b.Shape, n)
}

// probeFor sends the probes that the batch lacks.
func (p *sparrow) probeFor(s *cluster.View, b *batch) {
	lack := probeRatio * min(b.Own.fresh, b.Len())
	if b.Own.queued+lack < b.Len() {
		lack = probeRatio * (b.Len() - b.Own.queued)
	}
	b.Own.fresh = 0
	p.mark++
	for tries := 4*lack + 16; lack > 0 && tries > 0 && len(p.live) > 0; tries-- {
		n := p.live[p.source.IntN(len(p.live))]
		if p.workers[n].mark != p.mark && p.suits(s, b, n) {
			p.send(b, n)
			lack--
		}
	}
	if lack > 0 {
		p.probeRest(s, b, lack)
	}
}

// probeRest sends probes where drawing at random finds too few nodes: to all
// that were not drawn, then around among all that suit.
func (p *sparrow) probeRest(s *cluster.View, b *batch, lack int) {
	var suit, rest []cluster.NodeID
	for _, n := range p.live {
		if p.suits(s, b, n) {
			suit = append(suit, n)
			if p.workers[n].mark != p.mark {
				rest = append(rest, n)
			}
		}
	}
	for lack > 0 && len(suit) > 0 {
		p.source.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		for _, n := range rest[:min(lack, len(rest))] {
			p.send(b, n)
			lack--
		}
		if s.Shape(b.Shape).PerNode == 1 {
			break
		}
		rest = suit
	}
}

// send puts a probe at the end of a node's queue.
func (p *sparrow) send(b *batch, n cluster.NodeID) {
	p.ticks++
	w := &p.workers[n]
	w.mark = p.mark
	if w.head > len(w.queue)/2 {
		w.queue = append(w.queue[:0], w.queue[w.head:]...)
		w.head = 0
	}
	w.queue = append(w.queue, b)
	b.Own.queued++
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
		b := w.queue[w.head]
		if b.Len() == 0 {
			continue
		}
		switch task := p.waiting.First(b); {
		case !p.suits(s, b, n):
			p.lose(b)
		case !s.RoomNow(b.Shape, n):
			if w.block != b {
				w.block = b
				b.Own.blocks = append(b.Own.blocks, n)
			}
			return
		case s.Admits(task, n).Refused():
			p.lose(b)
		default:
			b.Own.queued--
			p.bind(t, b, n, out)
		}
	}
	w.queue, w.head = w.queue[:0], 0
}

// bind places the group's first task.
func (p *sparrow) bind(t *sched.Trial, b *batch, n cluster.NodeID, out *sched.Plan) {
	s := t.View()
	task := p.waiting.First(b)
	place(t, sched.Action{Task: task, Node: n}, out)
	p.rooms.Set(s, n)
	p.waiting.Leave(task)
}

// overtake binds the tasks of batches that have waited long enough wherever
// there is room.
func (p *sparrow) overtake(t *sched.Trial, out *sched.Plan) {
	s := t.View()
	for p.firstTimer() <= s.Now() {
		b := p.timers[0].batch
		p.timers = p.timers[1:]
		b.Own.timed = false
		for b.Len() > 0 {
			n, ok := p.anywhere(s, b)
			if !ok {
				p.touch(b)
				break
			}
			p.bind(t, b, n, out)
		}
	}
}

// anywhere returns a node that has room for the batch's first task now.
func (p *sparrow) anywhere(s *cluster.View, b *batch) (cluster.NodeID, bool) {
	task := p.waiting.First(b)
	return p.rooms.Next(s.Shape(b.Shape).Demand, p.source.IntN(max(p.rooms.Rows(), 1)), func(n cluster.NodeID) bool {
		return s.RoomNow(b.Shape, n) && !s.Admits(task, n).Refused()
	})
}

// setTimers starts the timers of batches for which a node has room, and lets
// the others sleep.
func (p *sparrow) setTimers(s *cluster.View) {
	for _, b := range p.touched {
		b.Own.touched = false
		if b.Len() == 0 || b.Own.timed || b.Asleep() {
			continue
		}
		if _, b.Own.timed = p.anywhere(s, b); b.Own.timed {
			p.timers = append(p.timers, timer{s.Now() + patience, b})
		} else {
			p.waiting.Sleep(s, b)
		}
	}
	p.touched = p.touched[:0]
}

// firstTimer is when the first batch that is not over has waited long enough.
func (p *sparrow) firstTimer() cluster.Time {
	for len(p.timers) > 0 && p.timers[0].batch.Len() == 0 {
		p.timers = p.timers[1:]
	}
	if len(p.timers) == 0 {
		return cluster.Never
	}
	return p.timers[0].at
}
