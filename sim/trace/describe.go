package trace

import (
	"errors"
	"io"
	"maps"
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
	Jobs, Users   Distinct
	Labels        []Label       // of nodes, by key
	Required      int           // tasks with requirements
	Requirements  Tally[string] // by key and operator; a task may have several
	PerNode       Tally[int32]  // by limit; 0 is none
	Constraints   int           // of which Hard are hard
	Hard          int
	Tagged        int           // tasks with tags
	Tags          Tally[string] // a task may have several
	OfJobs
	Devices    []Tally[int64] // by kind; empty of those that do not come in devices
	Endless    int            // tasks that never end by themselves
	Fails      int
	Shapes     Distinct
	Priorities Tally[int32]
	FirstLater cluster.Time // when the first of Later is submitted
	LastLater  cluster.Time
	Demand     []Quantiles // by kind, over all tasks
	Work       Quantiles   // of tasks that end, in microseconds
}

// OfJobs is how many tasks say so of their jobs.
type OfJobs struct {
	LongRunning int // that they are applications that stay
	Gangs       int // that their tasks are placed together or not at all
	Due         int // when they are to be done
}

// Label is a key of labels, and how many values it has.
type Label struct {
	Key    string
	Values Distinct
}

// ShareOfDevice is what Description.Devices counts a demand under that is for
// less than one device; any other is counted under how many it is for.
const ShareOfDevice = -1

// mostLabels bounds the keys of labels that are told apart, of which each may
// have many values.
const mostLabels = 64

// Describe reads the source to its end, or until enough returns true. The memory
// that it takes does not grow with the length of the source.
func Describe(src Source, enough func(cluster.Time) bool) (Description, error) {
	d := Description{Kinds: src.Kinds()}
	n := len(d.Kinds)
	d.Capacity, d.RunningDemand = make(cluster.Vector, n), make(cluster.Vector, n)
	c := census{devices: make([]tally[int64], n), labels: map[string]*distinct[string]{}, demand: make([]sketch, n)}
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
	d.Jobs, d.Users, d.Shapes = c.jobs.count(), c.users.count(), c.shapes.count()
	d.Tags = c.tags.list()
	d.Priorities, d.PerNode, d.Requirements = c.priorities.list(), c.perNode.list(), c.requirements.list()
	for _, key := range slices.Sorted(maps.Keys(c.labels)) {
		d.Labels = append(d.Labels, Label{key, c.labels[key].count()})
	}
	for k := range c.demand {
		d.Demand = append(d.Demand, c.demand[k].quantiles())
		d.Devices = append(d.Devices, c.devices[k].list())
	}
	d.Work = c.work.quantiles()
	return d, nil
}

// census is what Describe counts with.
type census struct {
	jobs         distinct[uint64]
	users        distinct[string]
	shapes       distinct[string]
	labels       map[string]*distinct[string] // values by key
	priorities   tally[int32]
	perNode      tally[int32]
	requirements tally[string]
	tags         tally[string]
	devices      []tally[int64] // by kind
	demand       []sketch
	work         sketch
	key          []byte
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
		c.addLabels(r.Node.Labels)
	case NodeChanged:
		d.NodeEvents[1]++
	case NodeLost:
		d.NodeEvents[2]++
	case NodeUsed:
	case TaskSubmitted:
		if !start {
			if d.Later == 0 {
				d.FirstLater = r.Time
			}
			d.LastLater = r.Time
			d.Later++
		}
		d.countTask(&r.Task, start, c)
	case TaskKilled:
		d.Killed++
	case ConstraintAdded:
		d.Constraints++
		if r.Constraint.Hard {
			d.Hard++
		}
	case ConstraintRemoved, BudgetAdded:
	}
}

// addLabels counts the values of labels, by key.
func (c *census) addLabels(labels []cluster.Label) {
	for _, l := range labels {
		values := c.labels[l.Key]
		if values == nil {
			if len(c.labels) == mostLabels {
				continue
			}
			values = new(distinct[string])
			c.labels[l.Key] = values
		}
		values.add(l.Value)
	}
}

func (d *Description) countTask(t *Task, start bool, c *census) {
	d.Tasks++
	c.jobs.add(t.Job)
	if t.User != "" {
		c.users.add(t.User)
	}
	c.priorities.add(t.Priority)
	c.perNode.add(t.PerNode)
	if start && t.Running {
		d.Running++
		for k, q := range t.Demand {
			d.RunningDemand[k] += q
		}
	}
	if len(t.Requirements) > 0 {
		d.Required++
	}
	for _, q := range t.Requirements {
		c.requirements.add(q.Key + " " + q.Op.String())
	}
	if len(t.Tags) > 0 {
		d.Tagged++
	}
	for _, tag := range t.Tags {
		c.tags.add(tag)
	}
	if t.LongRunning {
		d.LongRunning++
	}
	if t.Gang > 1 {
		d.Gangs++
	}
	if len(t.Due) > 0 {
		d.Due++
	}
	if t.Fails {
		d.Fails++
	}
	if t.Work == cluster.Never {
		d.Endless++
	} else {
		c.work.add(int64(t.Work))
	}
	c.key = c.key[:0]
	for k, q := range t.Demand {
		c.demand[k].add(q)
		if kind := d.Kinds[k]; kind.Devices {
			c.devices[k].add(devicesOf(kind, q))
		}
		c.key = strconv.AppendInt(append(c.key, ' '), q, 36)
	}
	c.shapes.add(string(c.key))
}

// devicesOf is how many devices a quantity is for, or ShareOfDevice.
func devicesOf(kind cluster.Kind, q int64) int64 {
	if q > 0 && q < kind.PerUnit {
		return ShareOfDevice
	}
	return q / kind.PerUnit
}
