package experiment

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/sim/trace"
)

// This file makes up virtual machines as a cloud sees them: batches that come every few minutes, of tenants of whom each asks for
// the same again and lets it live for about as long as before, most of them for minutes, some for days; and it says on how many hosts
// any such workload fits.

// vmCore and vmGiB are the units of hosts and VMs.
const (
	vmCore = 1000
	vmGiB  = 1024
)

// tenant is what one tenant asks for.
type tenant struct {
	demand cluster.Vector
	batch  int     // VMs at once, at most
	life   float64 // minutes, the median
	spread float64 // of the logarithm
	weight float64 // of how many batches are his
}

// cloud is made up: a trace.Source.
type cloud struct {
	hosts   int
	host    cluster.Vector
	length  cluster.Time
	batches float64 // in five minutes, in the mean
	tenants []tenant
	chance  *rand.Rand

	given int // hosts so far
	at    cluster.Time
	due   int // batches that are still to come at that moment
	jobs  uint64
	of    *tenant // of the batch that comes
	left  int     // VMs of it
	size  int
}

// cloudStep is how often VMs come.
const cloudStep = 5 * cluster.Minute

// newCloud draws the tenants.
func newCloud(hosts int, host cluster.Vector, length cluster.Time, batches float64, seed uint64) *cloud {
	c := &cloud{hosts: hosts, host: host, length: length, batches: batches, chance: rand.New(rand.NewPCG(seed, 0x11fe))} //nolint:gosec // no secret
	sizes := [][2]int64{{1, 1792}, {2, 3584}, {2, 3584}, {4, 7168}, {8, 14336}, {8, 57344}}
	total := 0.0
	for range 40 {
		t := tenant{batch: 1 + c.chance.IntN(1+c.chance.IntN(12)), life: math.Exp2(3 + 9*c.chance.Float64()), spread: 0.2 + 0.8*c.chance.Float64(), weight: c.chance.ExpFloat64()}
		size := sizes[c.chance.IntN(len(sizes))]
		t.demand = cluster.Vector{size[0] * vmCore, size[1]}
		total += t.weight
		c.tenants = append(c.tenants, t)
	}
	for i := range c.tenants {
		c.tenants[i].weight /= total
	}
	c.due = c.draw()
	return c
}

// draw is how many batches come at once: as many as events of a Poisson process.
func (c *cloud) draw() (count int) {
	for sum := c.chance.ExpFloat64(); sum < c.batches; sum += c.chance.ExpFloat64() {
		count++
	}
	return count
}

// Kinds are cpu and memory.
func (c *cloud) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: vmCore}, {Name: "memory", Unit: "GiB", PerUnit: vmGiB}}
}

// Next gives the hosts, and then the VMs.
func (c *cloud) Next(r *trace.Record) error {
	if c.given < c.hosts {
		c.given++
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(c.given), Capacity: c.host}}
		return nil
	}
	for c.left == 0 {
		for c.due == 0 {
			if c.at += cloudStep; c.at >= c.length {
				return io.EOF
			}
			c.due = c.draw()
		}
		c.due--
		c.jobs++
		c.of = c.whose()
		c.size = 1 + c.chance.IntN(c.of.batch)
		c.left = c.size
	}
	index := c.size - c.left
	c.left--
	life := c.of.life * math.Exp(c.of.spread*c.chance.NormFloat64())
	work := min(max(cluster.Time(life*float64(cluster.Minute)), cluster.Minute), 90*cluster.Day)
	*r = trace.Record{Time: c.at, What: trace.TaskSubmitted, Task: trace.Task{
		Job: c.jobs, Index: uint32(index), JobTasks: uint32(c.size), Demand: c.of.demand, Work: work, Unowned: true,
	}}
	return nil
}

// whose draws the tenant of a batch.
func (c *cloud) whose() *tenant {
	at := c.chance.Float64()
	for i := range c.tenants {
		if at -= c.tenants[i].weight; at < 0 {
			return &c.tenants[i]
		}
	}
	return &c.tenants[0]
}

// Close has nothing to close.
func (c *cloud) Close() error { return nil }

// oneIn is a source of which one job in so many comes, drawn by its number, so that those that stay come as they did.
type oneIn struct {
	trace.Source
	jobs uint64
}

// Next passes over the tasks of the other jobs.
func (s *oneIn) Next(r *trace.Record) error {
	for {
		if err := s.Source.Next(r); err != nil || r.What != trace.TaskSubmitted {
			return err
		}
		h := r.Task.Job * 0x9e3779b97f4a7c15
		if (h>>32)%s.jobs == 0 {
			return nil
		}
	}
}

// departure is when a VM gives back its demand.
type departure struct {
	at     cluster.Time
	number int
	demand [2]int64
}

// Before orders by time, then by number.
func (d departure) Before(o departure) bool {
	return d.at < o.at || d.at == o.at && d.number < o.number
}

// peakOf is the most that the tasks of the source ask for at once, of either of its two kinds, if none waits.
func peakOf(src trace.Source) (peak [2]int64, err error) {
	var ends heap.Heap[departure]
	var used [2]int64
	var r trace.Record
	for number := 0; ; number++ {
		switch end := src.Next(&r); {
		case errors.Is(end, io.EOF):
			return peak, nil
		case end != nil:
			return peak, end
		case r.What != trace.TaskSubmitted:
			return peak, fmt.Errorf("%s in a workload of which only tasks were to be read", r.What)
		}
		for len(ends) > 0 && ends[0].at <= r.Time {
			gone := ends.Pop()
			sub(&used, gone.demand)
		}
		d := departure{cluster.Never, number, [2]int64{r.Task.Demand[0], r.Task.Demand[1]}}
		if r.Task.Work != cluster.Never {
			d.at = r.Time + r.Task.Work
			ends.Push(d)
		}
		for k, q := range d.demand {
			used[k] += q
			peak[k] = max(peak[k], used[k])
		}
	}
}

// hostsFor is how many hosts have so much that the peak takes that share of it.
func hostsFor(peak [2]int64, host cluster.Vector, load float64) int {
	most := 0.0
	for k, q := range peak {
		most = max(most, float64(q)/float64(host[k]))
	}
	return int(math.Ceil(most / load))
}
