// Package place makes a workload of a request, the file of fairlead place: its nodes join at
// the start, with what others use of them and the applications that run; those that are to be
// placed come as long-running jobs, all at once or so many at a time.
//
// A job's tasks are the containers of an application, in order, with their tags. Nobody ends
// by itself. The constraints of the operator are there from the start, those of an application
// come with it, and none ever goes.
package place

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/request"
	"fairlead.dev/fairlead/sim/trace"
)

// Options say how applications come.
type Options struct {
	// Together is how many applications come at the same time; 0 is all.
	Together int
	// Every is the time from one such lot to the next.
	Every cluster.Time
	// Priority is that of every task.
	Priority int32
	// Placed are nodes on which containers run at the start, beside those that run in the
	// request; nil is none.
	Placed constraint.Assignment
}

// DefaultPriority is Google's highest: of their tasks none evicts an application.
const DefaultPriority = 11

// Source is a request as a workload.
type Source struct {
	request *request.Request
	options Options
	names   map[string]int // how many constraints have each name
	records []trace.Record
	given   int
}

var _ trace.Source = (*Source)(nil)

// New makes a workload of a request, which must not be changed any more.
func New(r *request.Request, o Options) *Source {
	s := &Source{request: r, options: o, names: map[string]int{}}
	for node := range r.Problem.Nodes {
		s.node(node)
	}
	s.others()
	s.constraints(0, func(c *cluster.Constraint) bool {
		return !slices.ContainsFunc(r.Problem.Applications, func(a constraint.Application) bool { return a.Name == c.Owner })
	})
	arrived := 0
	for i := range r.Problem.Applications {
		at := cluster.Time(0)
		app := &r.Problem.Applications[i]
		if !app.Deployed && o.Together > 0 {
			at = cluster.Time(arrived/o.Together) * o.Every
			arrived++
		}
		s.constraints(at, func(c *cluster.Constraint) bool { return c.Owner == app.Name })
		s.application(at, uint64(i)+1, app)
	}
	// Nodes come first, and at equal times what came first in the request.
	slices.SortStableFunc(s.records, func(a, b trace.Record) int { return cmp.Compare(a.Time, b.Time) })
	return s
}

// Kinds are those of the request.
func (s *Source) Kinds() []cluster.Kind { return s.request.Problem.Kinds }

// Next gives the next record.
func (s *Source) Next(r *trace.Record) error {
	if s.given == len(s.records) {
		return io.EOF
	}
	*r = s.records[s.given]
	r.Task.Demand = slices.Clone(r.Task.Demand)
	s.given++
	return nil
}

// Close does nothing: all is in memory.
func (s *Source) Close() error { return nil }

// idOf is what a node is called in records.
func idOf(node int32) uint64 { return uint64(node) + 1 }

// node adds a node with its labels, its sets, and a label for each shape that may use it and
// not all others.
func (s *Source) node(row int) {
	p := &s.request.Problem
	node := &p.Nodes[row]
	n := trace.Node{ID: idOf(int32(row)), Name: node.Name, Capacity: node.Capacity, Labels: slices.Clone(s.request.Labels[row])}
	for shape := range p.Shapes {
		if eligible := p.Shapes[shape].Eligible; eligible != nil && eligible[row] {
			n.Labels = append(n.Labels, cluster.Label{Key: s.eligible(shape), Value: "yes"})
		}
	}
	cluster.SortLabels(n.Labels)
	for i := range p.Groups {
		if g := &p.Groups[i]; g.Name != cluster.EachNode && g.SetOf[row] != constraint.Nowhere {
			n.Groups = append(n.Groups, cluster.Label{Key: g.Name, Value: g.Sets[g.SetOf[row]]})
		}
	}
	cluster.SortLabels(n.Groups)
	s.records = append(s.records, trace.Record{What: trace.NodeAdded, Node: n})
}

// eligible is the label of nodes that the shape may use.
func (s *Source) eligible(shape int) string {
	return "may-use/" + s.request.Problem.Applications[s.request.Problem.Shapes[shape].Application].Name + "/" + s.request.Parts[shape]
}

// others is what takes room of nodes and belongs to no application: job 0, of which a task
// stands on each such node, or two where part of a device is taken.
func (s *Source) others() {
	p := &s.request.Problem
	devices := cluster.DeviceKinds(p.Kinds)
	index := uint32(0)
	add := func(node int, demand cluster.Vector) {
		if !slices.ContainsFunc(demand, func(q int64) bool { return q > 0 }) {
			return
		}
		s.records = append(s.records, trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
			Index: index, Name: "others-on-" + p.Nodes[node].Name + part(index, s.records),
			Priority: s.options.Priority, Demand: demand, Work: cluster.Never, Running: true, OnNode: idOf(int32(node)),
		}})
		index++
	}
	for node, used := range s.used() {
		shared := make(cluster.Vector, len(p.Kinds))
		for _, k := range devices {
			shared[k.Kind] = used[k.Kind] % k.Size
			used[k.Kind] -= shared[k.Kind]
		}
		add(node, used)
		add(node, shared)
	}
}

// part tells the second task of a node from the first, which stands before it.
func part(index uint32, records []trace.Record) string {
	if last := &records[len(records)-1]; index > 0 && last.What == trace.TaskSubmitted && last.Task.Index+1 == index {
		return "-" + strconv.Itoa(int(index))
	}
	return ""
}

// used is what is taken of each node by others than its applications.
func (s *Source) used() []cluster.Vector {
	p := &s.request.Problem
	used := make([]cluster.Vector, len(p.Nodes))
	for n := range used {
		used[n] = slices.Clone(p.Nodes[n].Capacity)
		for k, q := range p.Nodes[n].Free {
			used[n][k] -= q
		}
	}
	for i := range p.Containers {
		if at := p.Containers[i].At; at != constraint.Nowhere {
			for k, q := range p.Shapes[p.Containers[i].Shape].Demand {
				used[at][k] -= q
			}
		}
	}
	return used
}

// constraints adds the constraints that are wanted, under names that nobody else has.
func (s *Source) constraints(at cluster.Time, wanted func(*cluster.Constraint) bool) {
	for i := range s.request.Problem.Constraints {
		c := &s.request.Problem.Constraints[i]
		if !wanted(c) {
			continue
		}
		named := *c
		named.Name = cmp.Or(c.Name, constraint.Title(c))
		if s.names[named.Name]++; s.names[named.Name] > 1 {
			named.Name = fmt.Sprintf("%s (%d)", named.Name, s.names[named.Name])
		}
		s.records = append(s.records, trace.Record{Time: at, What: trace.ConstraintAdded, Constraint: named})
	}
}

// application adds a job with a task for each container.
func (s *Source) application(at cluster.Time, job uint64, app *constraint.Application) {
	p := &s.request.Problem
	for c := app.First; c < app.End; c++ {
		shape := int(p.Containers[c].Shape)
		t := trace.Task{
			Job: job, Index: uint32(c - app.First), JobTasks: uint32(app.End - app.First), Name: app.Name + "/" + s.request.Container(c), User: app.Name,
			Priority: s.options.Priority, Demand: p.Shapes[shape].Demand, PerNode: p.Shapes[shape].PerNode, Work: cluster.Never,
			Tags: p.Shapes[shape].Tags, LongRunning: true,
		}
		if p.Shapes[shape].Eligible != nil {
			t.Requirements = []cluster.Requirement{{Key: s.eligible(shape), Op: cluster.Equal, Value: "yes"}}
		}
		on := p.Containers[c].At
		if s.options.Placed != nil && on == constraint.Nowhere {
			on = s.options.Placed[c]
		}
		if on != constraint.Nowhere {
			t.Running, t.OnNode = true, idOf(on)
		}
		s.records = append(s.records, trace.Record{Time: at, What: trace.TaskSubmitted, Task: t})
	}
}
