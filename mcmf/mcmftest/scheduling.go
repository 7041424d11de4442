package mcmftest

import (
	"math"
	"math/rand/v2"

	"fairlead.dev/fairlead/mcmf"
)

const (
	// rackSize is how many machines a rack has.
	rackSize = 40
	// longestWait is the most that a job's waiting adds to a task's cost.
	longestWait = 1000
)

// seeded is a source of chance of its own for each use of a seed.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6d636d66)) }

// Quincy describes networks such as those of Isard et al. (Quincy, SOSP 2009,
// section 4): tasks prefer machines and racks that hold their data, may run
// anywhere, which costs the transfer, or wait, which costs more.
//
// A task reads some blocks, mostly few, seldom many, of 16 to 64 MB. A block has
// three replicas, as in HDFS: two in one rack, the third anywhere. A MB costs 1
// from within the rack, 2 from another. A machine or a rack that holds at least
// 14 % of what the task reads is one it prefers.
type Quincy struct {
	Machines, Tasks int
	// Utilisation is tasks per slot: slots are made for it.
	Utilisation float64
	// Skew is how uneven data lie: with 1 each rack has as much as any other, with
	// 2 the first ones have most, so that many tasks want the same slots.
	Skew float64
	// Preferences is the most preferences of a task; the cheapest are kept.
	Preferences int
	// BigJob is the size of one job that comes in addition to the usual ones, and
	// counts in Tasks.
	BigJob int
}

// Hot is the shape of the benchmarks hot80, hot95 and hot105: twelve tasks a
// machine, much of their data in few racks.
func Hot(machines int, utilisation float64) Quincy {
	return Quincy{Machines: machines, Tasks: 12 * machines, Utilisation: utilisation, Skew: 2, Preferences: 10}
}

// Uniform is Hot with data spread evenly.
func Uniform(machines int, utilisation float64) Quincy {
	q := Hot(machines, utilisation)
	q.Skew = 1
	return q
}

// New makes a network. Its nodes are the sink, the hub, racks, machines, jobs and
// tasks, in this order.
func (q Quincy) New(seed uint64) *Workload {
	w := newWorkload(seed, q.Machines, q.Tasks, q.Tasks*(q.Preferences+2))
	w.Hub = w.Graph.AddNode(0)
	w.draw = func(w *Workload, t *task) { q.draw(w, t) }
	w.racks = make([]rack, (q.Machines+rackSize-1)/rackSize)
	// Slots are as even as whole numbers can be.
	each, given := float64(q.Tasks)/q.Utilisation/float64(max(1, q.Machines)), int64(0)
	for i := range q.Machines {
		slots := int64(math.Round(each*float64(i+1))) - given
		given += slots
		w.machines = append(w.machines, machine{rack: i / rackSize, slots: slots})
		w.racks[i/rackSize].slots += slots
	}
	for i := range w.racks {
		w.addRack(&w.racks[i])
	}
	for i := range w.machines {
		w.addMachine(&w.machines[i])
	}
	w.addJobs(q.Tasks, q.BigJob)
	return w
}

// block is data on a machine or in a rack, in MB.
type block struct {
	place int
	size  int64
}

// hoard adds up blocks by place. There are few, so it is searched from the start.
type hoard []block

func (h *hoard) add(place int, size int64) {
	for i := range *h {
		if (*h)[i].place == place {
			(*h)[i].size += size
			return
		}
	}
	*h = append(*h, block{place, size})
}

func (h *hoard) at(place int) int64 {
	for _, b := range *h {
		if b.place == place {
			return b.size
		}
	}
	return 0
}

// draw gives a task data, and arcs to where they are.
func (q Quincy) draw(w *Workload, t *task) {
	const mostBlocks, shape = 16, 1.2
	var onMachine, inRack hoard
	total := int64(0)
	for range int(min(mostBlocks, pareto(w.chance, shape))) {
		size := 16 + w.chance.Int64N(49)
		total += size
		near, far := q.someRack(w), q.someRack(w)
		replicas := [3]int{q.machineIn(w, near), q.machineIn(w, near), q.machineIn(w, far)}
		for i, m := range replicas {
			if i == 0 || m != replicas[0] && (i == 1 || m != replicas[1]) {
				onMachine.add(m, size)
			}
		}
		inRack.add(near, size)
		if far != near {
			inRack.add(far, size)
		}
	}
	anywhere := 2 * total
	job := &w.jobs[t.job]
	w.Graph.AddArc(t.node, job.node, 0, 1, anywhere+3*longestWait+job.wait)
	w.Graph.AddArc(t.node, w.Hub, 0, 1, anywhere)
	const least = 14 // percent
	var wanted []preference
	for _, b := range onMachine {
		m := &w.machines[b.place]
		if m.node != mcmf.None && b.size*100 >= total*least {
			rack := inRack.at(m.rack)
			wanted = append(wanted, preference{m.node, rack - b.size + 2*(total-rack)})
		}
	}
	for _, b := range inRack {
		if r := &w.racks[b.place]; !r.gone && b.size*100 >= total*least {
			wanted = append(wanted, preference{r.node, b.size + 2*(total-b.size)})
		}
	}
	w.prefer(t, wanted, q.Preferences)
}

func (q Quincy) someRack(w *Workload) int {
	return int(float64(len(w.racks)) * math.Pow(w.chance.Float64(), q.Skew))
}

func (q Quincy) machineIn(w *Workload, rack int) int {
	first := rack * rackSize
	return first + w.chance.IntN(min(rackSize, len(w.machines)-first))
}

// pareto draws from a distribution with a long tail: a number of at least 1 that
// is above x with a chance of x^-shape.
func pareto(r *rand.Rand, shape float64) float64 { return math.Pow(1-r.Float64(), -1/shape) }

// LoadSpread describes networks that spread one job over all machines, as
// Kubernetes and Firmament's load-spreading policy do: each task on a machine
// makes the next one there cost 10 more. Machines differ in what runs already.
type LoadSpread struct {
	Machines, Tasks int
	// Slots of a machine, of which fewer than half are taken.
	Slots int
	// Parallel makes a unit arc of each slot, as solvers without curves need.
	Parallel bool
}

// New makes a network: the sink, the hub, machines, the job, tasks. In a
// parallel network, slots that come later cost nothing to reach.
func (l LoadSpread) New(seed uint64) *Workload {
	w := newWorkload(seed, l.Machines, l.Tasks, l.Machines*(l.Slots+1)+2*l.Tasks)
	w.Hub = w.Graph.AddNode(0)
	w.draw = func(w *Workload, t *task) {
		const waiting = 5000
		w.Graph.AddArc(t.node, w.jobs[t.job].node, 0, 1, waiting)
		w.Graph.AddArc(t.node, w.Hub, 0, 1, 0)
	}
	for i := range l.Machines {
		taken := w.chance.Int64N(max(1, int64(l.Slots)/2))
		w.addFlatMachine(machine{rack: i / rackSize, slots: int64(l.Slots) - taken, base: taken}, l.Parallel)
	}
	w.addJob1(l.Tasks)
	return w
}

// addFlatMachine adds a machine of a rack that has no node.
func (w *Workload) addFlatMachine(m machine, parallel bool) {
	if m.rack == len(w.racks) {
		w.racks = append(w.racks, rack{node: mcmf.None})
	}
	w.racks[m.rack].slots += m.slots
	w.addMachine(&m)
	if parallel {
		w.Graph.RemoveArc(m.above)
		m.above = mcmf.None
		for _, step := range m.curve() {
			w.Graph.AddArc(w.Hub, m.node, 0, step.Capacity, step.Cost)
		}
	}
	w.machines = append(w.machines, m)
}

// ECSched describes networks such as those of Hu et al. (ECSched, 2018): no hub,
// an arc from each container to each machine that has room for it, which costs
// less the better the two fit, as the dot product of what one wants and the other
// has. Dense and small, where Quincy is sparse and great.
type ECSched struct{ Machines, Containers int }

// New makes a network: the sink, machines of one to three slots, the job,
// containers.
func (e ECSched) New(seed uint64) *Workload {
	w := newWorkload(seed, e.Machines, e.Containers, e.Machines*e.Containers/2)
	w.Hub = mcmf.None
	type room struct{ cpu, memory float64 }
	var rooms []room
	for i := range e.Machines {
		rooms = append(rooms, room{w.chance.Float64(), w.chance.Float64()})
		w.addFlatMachine(machine{rack: i / rackSize, slots: 1 + w.chance.Int64N(3)}, false)
	}
	w.draw = func(w *Workload, t *task) {
		const waiting, scale = 30_000, 10_000
		w.Graph.AddArc(t.node, w.jobs[t.job].node, 0, 1, waiting)
		want := room{0.05 + 0.45*w.chance.Float64(), 0.05 + 0.45*w.chance.Float64()}
		for i, has := range rooms {
			if v := w.machines[i].node; v != mcmf.None && has.cpu >= want.cpu && has.memory >= want.memory {
				w.Graph.AddArc(t.node, v, 0, 1, int64(scale*(1-want.cpu*has.cpu-want.memory*has.memory)))
			}
		}
	}
	w.addJob1(e.Containers)
	return w
}

// newWorkload is a workload with a sink alone, and room for what is to come.
func newWorkload(seed uint64, machines, tasks, arcs int) *Workload {
	nodes := machines + machines/rackSize + tasks + tasks/4
	w := &Workload{Graph: mcmf.NewGraph(nodes, arcs+2*machines), chance: seeded(seed)}
	w.Sink = w.Graph.AddNode(-int64(tasks))
	return w
}

// addJobs makes jobs for so many tasks, most of one task, few of very many.
func (w *Workload) addJobs(tasks, big int) {
	const biggest = 20_000
	add := func(size int) {
		w.jobs = append(w.jobs, job{size: int64(size), wait: w.chance.Int64N(longestWait)})
		tasks -= size
	}
	if big = min(big, tasks); big > 0 {
		add(big)
	}
	for tasks > 0 {
		add(min(tasks, int(min(biggest, pareto(w.chance, 1)))))
	}
	for j := range w.jobs {
		w.addJob(&w.jobs[j])
	}
	for j := range w.jobs {
		for range w.jobs[j].size {
			w.addTask(j)
		}
	}
}

// addJob1 makes one job of all tasks.
func (w *Workload) addJob1(tasks int) {
	w.jobs = append(w.jobs, job{size: int64(tasks)})
	w.addJob(&w.jobs[0])
	for range tasks {
		w.addTask(0)
	}
}
