package mcmftest

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/mcmf"
)

// Workload is a network that schedules tasks on machines, and changes as a
// cluster does. Each unit of flow is a task on its way to the sink, over the
// machine on which it runs or over the node of its job where it does not run.
type Workload struct {
	Graph *mcmf.Graph
	Sink  mcmf.Node
	// Hub leads to all machines, or is None.
	Hub mcmf.Node

	chance   *rand.Rand
	draw     func(w *Workload, t *task)
	tasks    []task
	jobs     []job
	racks    []rack
	machines []machine
	// odd says that the last odd churn ended more than it began.
	odd bool
}

type task struct {
	node mcmf.Node
	job  int
}

// job is some tasks that belong together; those not placed go over its node.
type job struct {
	node   mcmf.Node
	toSink mcmf.Arc
	size   int64
	// wait is for how long the job has waited, as the cost of not running it.
	wait int64
}

type rack struct {
	node    mcmf.Node // or None, where there are no nodes for racks
	fromHub mcmf.Arc
	slots   int64
	gone    bool
}

type machine struct {
	node   mcmf.Node
	rack   int
	slots  int64
	base   int64    // of a curve, the load it begins with
	above  mcmf.Arc // from its rack or the hub, or None
	toSink mcmf.Arc
}

// Tasks is how many tasks there are.
func (w *Workload) Tasks() int { return len(w.tasks) }

// Slots is how many tasks the machines that are there can run.
func (w *Workload) Slots() int64 {
	slots := int64(0)
	for i := range w.racks {
		if !w.racks[i].gone {
			slots += w.racks[i].slots
		}
	}
	return slots
}

// Churn ends half of k tasks, chosen by chance, and begins as many new ones; of
// an odd number one more is now ended, now begun. It returns the changes made: a
// task that ends or begins is one.
func (w *Workload) Churn(k int) int {
	ends := k / 2
	if k%2 == 1 {
		if w.odd = !w.odd; w.odd {
			ends++
		}
	}
	begins := k - ends
	ends = min(ends, len(w.tasks))
	for range ends {
		w.end(w.chance.IntN(len(w.tasks)))
	}
	for range begins {
		w.begin(w.someJob())
	}
	w.settle()
	return ends + begins
}

// FailRack takes a rack that is still there away, with all its machines. It
// returns how many nodes that were.
func (w *Workload) FailRack() int {
	var there []int
	for i := range w.racks {
		if !w.racks[i].gone {
			there = append(there, i)
		}
	}
	if len(there) == 0 {
		return 0
	}
	failed := there[w.chance.IntN(len(there))]
	w.racks[failed].gone = true
	changes := 0
	for i := range w.machines {
		if m := &w.machines[i]; m.rack == failed {
			w.Graph.RemoveNode(m.node)
			m.node = mcmf.None
			changes++
		}
	}
	if v := w.racks[failed].node; v != mcmf.None {
		w.Graph.RemoveNode(v)
		changes++
	}
	return changes
}

// RestoreRacks brings the racks that failed back, with empty machines, and
// without the data that tasks wanted to be near. It returns how many nodes came.
func (w *Workload) RestoreRacks() int {
	changes := 0
	for i := range w.racks {
		if r := &w.racks[i]; r.gone && r.node != mcmf.None {
			w.addRack(r)
			changes++
		}
	}
	for i := range w.machines {
		if m := &w.machines[i]; m.node == mcmf.None {
			w.addMachine(m)
			changes++
		}
	}
	for i := range w.racks {
		w.racks[i].gone = false
	}
	return changes
}

// Reprice changes the cost of k arcs that leave tasks, by a quarter at most.
func (w *Workload) Reprice(k int) int {
	if len(w.tasks) == 0 {
		return 0
	}
	for range k {
		arcs := slices.Collect(w.Graph.Leaving(w.tasks[w.chance.IntN(len(w.tasks))].node))
		a := arcs[w.chance.IntN(len(arcs))]
		e := w.Graph.Arc(a)
		by := 1 + w.chance.Int64N(max(1, e.Cost/4))
		if w.chance.IntN(2) == 0 {
			by = -by
		}
		w.Graph.SetArc(a, e.Lower, e.Capacity, max(0, e.Cost+by))
	}
	return k
}

// Grow gives machines, chosen by chance, a slot more each until there is that
// share of slots more. It returns how many machines grew.
func (w *Workload) Grow(share float64) int {
	var there []int
	for i := range w.machines {
		if w.machines[i].node != mcmf.None {
			there = append(there, i)
		}
	}
	if len(there) == 0 {
		return 0
	}
	more := int(share * float64(w.Slots()))
	w.chance.Shuffle(len(there), func(i, j int) { there[i], there[j] = there[j], there[i] })
	for i := range more {
		m := &w.machines[there[i%len(there)]]
		m.slots++
		w.Graph.SetArc(m.toSink, 0, m.slots, 0)
		w.setAbove(m)
		r := &w.racks[m.rack]
		r.slots++
		if r.node != mcmf.None {
			w.Graph.SetArc(r.fromHub, 0, r.slots, 0)
		}
	}
	return min(more, len(there))
}

// settle makes the sink take what all tasks give.
func (w *Workload) settle() { w.Graph.SetSupply(w.Sink, -int64(len(w.tasks))) }

func (w *Workload) end(i int) {
	t := w.tasks[i]
	w.Graph.RemoveNode(t.node)
	last := len(w.tasks) - 1
	w.tasks[i] = w.tasks[last]
	w.tasks = w.tasks[:last]
	w.resize(t.job, -1)
}

// begin adds a task to a job.
func (w *Workload) begin(j int) {
	w.resize(j, 1)
	w.addTask(j)
}

func (w *Workload) addTask(j int) {
	t := task{node: w.Graph.AddNode(1), job: j}
	w.tasks = append(w.tasks, t)
	w.draw(w, &t)
}

// resize makes a job bigger or smaller. Its node goes with its last task.
func (w *Workload) resize(j int, by int64) {
	job := &w.jobs[j]
	job.size += by
	switch {
	case job.size == 0:
		w.Graph.RemoveNode(job.node)
		job.node = mcmf.None
	case job.node == mcmf.None:
		w.addJob(job)
	default:
		w.Graph.SetArc(job.toSink, 0, job.size, 0)
	}
}

// someJob is the job of a task chosen by chance, or now and then a new one.
func (w *Workload) someJob() int {
	const each = 20
	if len(w.tasks) > 0 && w.chance.IntN(each) > 0 {
		return w.tasks[w.chance.IntN(len(w.tasks))].job
	}
	w.jobs = append(w.jobs, job{node: mcmf.None, wait: w.chance.Int64N(longestWait)})
	return len(w.jobs) - 1
}

func (w *Workload) addJob(j *job) {
	j.node = w.Graph.AddNode(0)
	j.toSink = w.Graph.AddArc(j.node, w.Sink, 0, j.size, 0)
}

// addRack adds the node of a rack.
func (w *Workload) addRack(r *rack) {
	r.node = w.Graph.AddNode(0)
	r.fromHub = w.Graph.AddArc(w.Hub, r.node, 0, r.slots, 0)
}

// addMachine adds a machine below its rack, or below the hub, or below nothing.
func (w *Workload) addMachine(m *machine) {
	m.node = w.Graph.AddNode(0)
	m.toSink = w.Graph.AddArc(m.node, w.Sink, 0, m.slots, 0)
	switch above := w.racks[m.rack].node; {
	case above != mcmf.None:
		m.above = w.Graph.AddArc(above, m.node, 0, m.slots, 0)
	case w.Hub != mcmf.None:
		m.above = w.Graph.AddCurve(w.Hub, m.node, 0, m.curve())
	default:
		m.above = mcmf.None
	}
}

// setAbove tells the arc above a machine how many slots it has.
func (w *Workload) setAbove(m *machine) {
	switch {
	case m.above == mcmf.None:
	case w.racks[m.rack].node != mcmf.None:
		w.Graph.SetArc(m.above, 0, m.slots, 0)
	default:
		w.Graph.SetCurve(m.above, 0, m.curve())
	}
}

// curve makes each task on a machine cost more than the one before.
func (m *machine) curve() []mcmf.Step {
	var steps []mcmf.Step
	for k := range m.slots {
		steps = append(steps, mcmf.Step{Capacity: 1, Cost: (m.base + k + 1) * 10})
	}
	return steps
}

// preference is an arc that a task may have.
type preference struct {
	to   mcmf.Node
	cost int64
}

// prefer adds the cheapest of a task's preferences, so many at most.
func (w *Workload) prefer(t *task, wanted []preference, most int) {
	slices.SortFunc(wanted, func(a, b preference) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.to, b.to)) })
	for _, p := range wanted[:min(most, len(wanted))] {
		w.Graph.AddArc(t.node, p.to, 0, 1, p.cost)
	}
}
