package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is a moment of a trace: its nodes, and the tasks that are there at the moment at which
// the most are; as a source that brings them all at once, and as a problem in which a job
// is a long-running application and its limit per node a constraint.

// snapshot is such a moment.
type snapshot struct {
	name  string
	what  string // in a sentence
	kinds []cluster.Kind
	nodes []trace.Node
	tasks []trace.Task
}

// take reads the source to its end.
func (s *snapshot) take(src trace.Source) error {
	s.kinds = src.Kinds()
	var arrivals []trace.Record
	for {
		var r trace.Record
		switch err := src.Next(&r); {
		case errors.Is(err, io.EOF):
			s.most(arrivals)
			return nil
		case err != nil:
			return err
		case r.What == trace.NodeAdded:
			s.nodes = append(s.nodes, r.Node)
		case r.What == trace.TaskSubmitted:
			arrivals = append(arrivals, r)
		default:
			return fmt.Errorf("%s: it has records other than nodes that are there from the start and tasks that end by themselves", s.name)
		}
	}
}

// most keeps the tasks of the moment. Tasks run from their arrival; who leaves makes room
// for who comes at the same time.
func (s *snapshot) most(arrivals []trace.Record) {
	type change struct {
		at    cluster.Time
		count int
	}
	ends := func(r *trace.Record) cluster.Time {
		if r.Task.Work == cluster.Never {
			return cluster.Never
		}
		return r.Time + r.Task.Work
	}
	var changes []change
	for i := range arrivals {
		changes = append(changes, change{arrivals[i].Time, 1}, change{ends(&arrivals[i]), -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.count, b.count)) })
	now, best, moment := 0, 0, cluster.Time(0)
	for _, c := range changes {
		if now += c.count; now > best {
			best, moment = now, c.at
		}
	}
	for i := range arrivals {
		if r := &arrivals[i]; r.Time <= moment && moment < ends(r) {
			r.Task.Work = cluster.Never
			s.tasks = append(s.tasks, r.Task)
		}
	}
}

// drawServices makes up services like those of Alibaba's trace of recommendation models: a few of
// many instances and many of few, of which half have a limit per node.
func drawServices(nodes int, seed uint64) *snapshot {
	chance := rand.New(rand.NewPCG(seed, bedSalt)) //nolint:gosec // no secret
	s := &snapshot{
		name: "made up", what: fmt.Sprintf("services made up by chance, seed %d", seed),
		kinds: []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: bedCore}, {Name: "memory", Unit: "GiB", PerUnit: 1}},
	}
	room := 0.7 * float64(nodes)
	for n := range nodes {
		s.nodes = append(s.nodes, trace.Node{ID: uint64(n), Name: fmt.Sprintf("n%d", n), Capacity: cluster.Vector{bedCores * bedCore, bedMemory}})
	}
	for job := uint64(0); ; job++ {
		count := 1 + int(float64(nodes)/4/(1+9*chance.Float64()))
		shape := cluster.Vector{(1 + chance.Int64N(12)) * bedCore, 4 + chance.Int64N(44)}
		limit := int32(chance.IntN(2)) * (1 + int32(chance.IntN(4)))
		if room -= float64(count) * max(float64(shape[0])/(bedCores*bedCore), float64(shape[1])/bedMemory); room < 0 && job > 0 {
			return s
		}
		for index := range count {
			s.tasks = append(s.tasks, trace.Task{
				Job: job, Index: uint32(index), JobTasks: uint32(count), Class: 3, Demand: shape, PerNode: limit, Work: cluster.Never,
			})
		}
	}
}

// open is the snapshot as a source: all of it at once.
func (s *snapshot) open() (trace.Source, error) { return &snapshotSource{snapshot: s}, nil }

type snapshotSource struct {
	*snapshot
	given int
}

// Kinds are the trace's.
func (s *snapshotSource) Kinds() []cluster.Kind { return s.kinds }

// Next gives the nodes, and then the tasks.
func (s *snapshotSource) Next(r *trace.Record) error {
	at := s.given
	s.given++
	switch {
	case at < len(s.nodes):
		*r = trace.Record{What: trace.NodeAdded, Node: s.nodes[at]}
	case at < len(s.nodes)+len(s.tasks):
		*r = trace.Record{What: trace.TaskSubmitted, Task: s.tasks[at-len(s.nodes)]}
	default:
		return io.EOF
	}
	return nil
}

// Close has nothing to close.
func (s *snapshotSource) Close() error { return nil }

// problem is the snapshot as a problem. Applications whose instances are the largest come
// first, and within them the largest instances.
func (s *snapshot) problem() *constraint.Problem {
	p := &constraint.Problem{Kinds: s.kinds, Objective: constraint.Standard()}
	p.Objective.Used = 100
	names := make([]string, len(s.nodes))
	for i := range s.nodes {
		n := &s.nodes[i]
		names[i] = n.Name
		node := constraint.Node{ID: cluster.NodeID(i), Name: n.Name, Capacity: n.Capacity, Free: slices.Clone(n.Capacity)}
		node.WholeDevices(s.kinds)
		p.Nodes = append(p.Nodes, node)
	}
	p.Groups = []constraint.Group{constraint.GroupOf(cluster.EachNode, names)}
	posed := &tracePosing{snapshot: s, p: p, eligible: map[string][]bool{}}
	for _, job := range s.jobs() {
		posed.application(job)
	}
	return p
}

// jobs are the tasks by job, those first whose largest task is.
func (s *snapshot) jobs() [][]trace.Task {
	most := make([]float64, len(s.kinds)) // of any node
	for i := range s.nodes {
		for k, q := range s.nodes[i].Capacity {
			most[k] = max(most[k], float64(q))
		}
	}
	size := func(t *trace.Task) float64 {
		largest := 0.0
		for k, q := range t.Demand {
			if most[k] > 0 {
				largest = max(largest, float64(q)/most[k])
			}
		}
		return largest
	}
	list := slices.Clone(s.tasks)
	slices.SortStableFunc(list, func(a, b trace.Task) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(size(&b), size(&a)), slices.Compare(a.Demand, b.Demand), cmp.Compare(a.Index, b.Index))
	})
	jobs := slices.Collect(chunks(list, func(a, b *trace.Task) bool { return a.Job == b.Job }))
	slices.SortStableFunc(jobs, func(a, b []trace.Task) int { return cmp.Compare(size(&b[0]), size(&a[0])) })
	return jobs
}

// chunks are the runs of a list whose items are alike.
func chunks[T any](list []T, alike func(a, b *T) bool) func(func([]T) bool) {
	return func(yield func([]T) bool) {
		for len(list) > 0 {
			end := 1
			for end < len(list) && alike(&list[0], &list[end]) {
				end++
			}
			if !yield(list[:end]) {
				return
			}
			list = list[end:]
		}
	}
}

// tracePosing is a snapshot that is being posed.
type tracePosing struct {
	*snapshot
	p        *constraint.Problem
	eligible map[string][]bool // by requirements
}

// application adds a job. Those of its tasks that have a limit per node are subjects of a
// constraint: at most so many others of the job, less one, on their node.
func (t *tracePosing) application(tasks []trace.Task) {
	name := fmt.Sprintf("job%d", tasks[0].Job)
	app := constraint.Application{Name: name, First: int32(len(t.p.Containers))}
	var limits []int32
	same := func(a, b *trace.Task) bool {
		return slices.Equal(a.Demand, b.Demand) && a.PerNode == b.PerNode && slices.Equal(a.Requirements, b.Requirements)
	}
	for alike := range chunks(tasks, same) {
		first := &alike[0]
		shape := constraint.Shape{Application: int32(len(t.p.Applications)), Demand: first.Demand, Tags: []string{cluster.AppTag(name)}, Eligible: t.nodesFor(first.Requirements)}
		shape.Needs = cluster.NeedsOf(cluster.DeviceKinds(t.kinds), first.Demand)
		if first.PerNode > 0 {
			shape.Tags = append(shape.Tags, limitTag(first.PerNode))
			if !slices.Contains(limits, first.PerNode) {
				limits = append(limits, first.PerNode)
			}
		}
		for range alike {
			t.p.Containers = append(t.p.Containers, constraint.Container{
				Task: cluster.TaskID(len(t.p.Containers)), Shape: int32(len(t.p.Shapes)), At: constraint.Nowhere,
			})
		}
		t.p.Shapes = append(t.p.Shapes, shape)
	}
	app.End = int32(len(t.p.Containers))
	t.p.Applications = append(t.p.Applications, app)
	for _, limit := range limits {
		bound := upTo(int(limit)-1, []string{cluster.AppTag(name), limitTag(limit)}, []string{cluster.AppTag(name)}, cluster.EachNode)
		t.p.Constraints = append(t.p.Constraints, cluster.Constraint{
			Name: fmt.Sprintf("%s/%d-a-node", name, limit), Owner: name, Any: [][]cluster.Bound{{bound}}, Weight: bedWeight,
		})
	}
}

func limitTag(limit int32) string { return fmt.Sprintf("most:%d", limit) }

// nodesFor are the nodes that meet the requirements; nil where there are none.
func (t *tracePosing) nodesFor(requirements []cluster.Requirement) []bool {
	if len(requirements) == 0 {
		return nil
	}
	key := fmt.Sprint(requirements)
	if set, known := t.eligible[key]; known {
		return set
	}
	set := make([]bool, len(t.nodes))
	for n := range t.nodes {
		set[n] = !slices.ContainsFunc(requirements, func(r cluster.Requirement) bool { return !r.Matches(t.nodes[n].Labels) })
	}
	t.eligible[key] = set
	return set
}
