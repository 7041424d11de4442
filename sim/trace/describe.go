package trace

import (
	"cmp"
	"errors"
	"io"
	"math/bits"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
)

// Description sums up a source: what a person wants to know before a run.
type Description struct {
	Kinds         []cluster.Kind
	First, Last   cluster.Time
	Nodes         int            // at the first moment
	Capacity      cluster.Vector // of those nodes
	NodeEvents    [3]int         // added, changed, lost after the first moment
	Tasks         int
	Running       int            // at the first moment, with a node
	RunningDemand cluster.Vector // of those
	Later         int            // submitted after the first moment
	Killed        int
	Jobs, Users   int
	Apart         int
	Required      int // tasks with requirements
	Endless       int // tasks that never end by themselves
	Shapes        int
	ByPriority    []PriorityShare
	Demand        []Quantiles // by kind, over all tasks
	Work          Quantiles   // of tasks that end, in microseconds
}

// PriorityShare counts the tasks of one priority.
type PriorityShare struct {
	Priority int32
	Tasks    int
}

// Quantiles are of a set of numbers, within 1 %.
type Quantiles struct{ P10, P50, P90, P99, Max int64 }

// Describe reads the source to its end, or until enough returns true.
func Describe(src Source, enough func(cluster.Time) bool) (Description, error) {
	d := Description{Kinds: src.Kinds()}
	n := len(d.Kinds)
	d.Capacity, d.RunningDemand = make(cluster.Vector, n), make(cluster.Vector, n)
	c := census{jobs: map[uint64]bool{}, users: map[string]bool{}, shapes: map[string]bool{}, priorities: map[int32]int{}, demand: make([]sketch, n)}
	var r Record
	for first := true; ; first = false {
		err := src.Next(&r)
		if errors.Is(err, io.EOF) || err == nil && enough(r.Time) {
			break
		}
		if err != nil {
			return d, err
		}
		if first {
			d.First = r.Time
		}
		d.Last = r.Time
		d.count(&r, &c)
	}
	d.Jobs, d.Users, d.Shapes = len(c.jobs), len(c.users), len(c.shapes)
	for p, tasks := range c.priorities {
		d.ByPriority = append(d.ByPriority, PriorityShare{p, tasks})
	}
	slices.SortFunc(d.ByPriority, func(a, b PriorityShare) int { return cmp.Compare(a.Priority, b.Priority) })
	for k := range c.demand {
		d.Demand = append(d.Demand, c.demand[k].quantiles())
	}
	d.Work = c.work.quantiles()
	return d, nil
}

// census is what Describe counts with.
type census struct {
	jobs       map[uint64]bool
	users      map[string]bool
	shapes     map[string]bool
	priorities map[int32]int
	demand     []sketch
	work       sketch
	key        []byte
}

func (d *Description) count(r *Record, c *census) {
	start := r.Time == d.First
	switch r.What {
	case NodeAdded:
		if start {
			d.Nodes++
			for k, q := range r.Node.Capacity {
				d.Capacity[k] += q
			}
		} else {
			d.NodeEvents[0]++
		}
	case NodeChanged:
		d.NodeEvents[1]++
	case NodeLost:
		d.NodeEvents[2]++
	case TaskSubmitted:
		d.countTask(&r.Task, start, c)
	case TaskKilled:
		d.Killed++
	}
}

func (d *Description) countTask(t *Task, start bool, c *census) {
	d.Tasks++
	c.jobs[t.Job] = true
	c.users[t.User] = true
	c.priorities[t.Priority]++
	if start && t.Running {
		d.Running++
		for k, q := range t.Demand {
			d.RunningDemand[k] += q
		}
	}
	if !start {
		d.Later++
	}
	if t.PerNode > 0 {
		d.Apart++
	}
	if len(t.Requirements) > 0 {
		d.Required++
	}
	if t.Work == cluster.Never {
		d.Endless++
	} else {
		c.work.add(int64(t.Work))
	}
	c.key = c.key[:0]
	for k, q := range t.Demand {
		c.demand[k].add(q)
		c.key = strconv.AppendInt(append(c.key, ' '), q, 36)
	}
	c.shapes[string(c.key)] = true
}

// sketch counts numbers in buckets of 1/64 of a power of two. Each is shown by
// the first number that fell into it, as sizes are mostly few and round.
type sketch struct {
	buckets [64 * 64]int
	sample  [64 * 64]int64
	count   int
	max     int64
}

func (s *sketch) add(q int64) {
	b := bucket(q)
	if s.buckets[b] == 0 {
		s.sample[b] = q
	}
	s.buckets[b]++
	s.count++
	s.max = max(s.max, q)
}

// bucket is exact below 128.
func bucket(q int64) int {
	exponent := max(bits.Len64(uint64(q))-7, 0)
	return exponent<<6 + int(q>>exponent)
}

func (s *sketch) quantiles() Quantiles {
	at := func(per1000 int) int64 {
		rank := max((s.count*per1000+999)/1000, 1)
		for b, n := range s.buckets {
			if rank -= n; rank <= 0 {
				return s.sample[b]
			}
		}
		return s.max
	}
	return Quantiles{at(100), at(500), at(900), at(990), s.max}
}
