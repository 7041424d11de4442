package trace

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
)

// Merge takes the nodes of one source and the tasks of another, in time order.
// The kinds are those of both; what only one of them names is 0 in the other.
// Kinds of one name must have one unit. Where one side counts smaller parts of
// it, as bytes beside MiB, the quantities of the other are multiplied. What was
// measured on the nodes, and where the tasks' input lies, is left out: that was
// with other tasks, and on other nodes.
func Merge(nodes, tasks Source) (Source, error) {
	m, err := merge(nodes, tasks, pair{"the cluster", "the workload"})
	if err != nil {
		return nil, err
	}
	m.nodes.wants = func(r *Record) bool { return r.What.OfNode() && r.What != NodeUsed }
	return m, nil
}

// Beside takes all of one source, and the tasks and constraints of another, in time order;
// kinds are as those of Merge. Jobs of the second are renumbered, so that none has a number
// of the first: the highest bit of the number is turned round. What was measured on the nodes
// is left out: that was without the tasks.
func Beside(all, tasks Source) (Source, error) {
	m, err := merge(all, tasks, pair{"the workload", "--beside"})
	if err != nil {
		return nil, err
	}
	m.beside, m.tasks.beside = true, true
	m.nodes.wants = func(r *Record) bool { return r.What != NodeUsed }
	return m, nil
}

// besideBit is turned round in the numbers of jobs that come Beside others.
const besideBit = 1 << 63

// OwnJob is the number that its own source gave a job that came Beside others, and whether
// the job is one of those, where no source itself has numbers that large.
func OwnJob(job uint64) (own uint64, beside bool) {
	return job ^ besideBit, job >= besideBit
}

// pair is what messages call the two sources.
type pair struct{ nodes, tasks string }

// UnitsError says that two sources measure a kind in units of which none is a part of the
// other.
type UnitsError struct {
	Nodes, Tasks cluster.Kind
	called       pair
}

func (e *UnitsError) Error() string {
	return fmt.Sprintf("%s measures %s in units of %d %q, %s in units of %d %q; they must be the same, or parts of the same",
		e.called.nodes, e.Nodes.Name, e.Nodes.PerUnit, e.Nodes.Unit, e.called.tasks, e.Tasks.PerUnit, e.Tasks.Unit)
}

// merge merges the sources, of which the second gives its tasks.
func merge(nodes, tasks Source, called pair) (*merged, error) {
	kinds := slices.Clone(nodes.Kinds())
	for _, k := range tasks.Kinds() {
		at := slices.IndexFunc(kinds, func(o cluster.Kind) bool { return o.Name == k.Name })
		if at < 0 {
			kinds = append(kinds, k)
			continue
		}
		if err := compatible(kinds[at], k, called); err != nil {
			return nil, err
		}
		kinds[at].PerUnit = max(kinds[at].PerUnit, k.PerUnit)
	}
	if err := cluster.CheckKinds(kinds); err != nil {
		return nil, err
	}
	m := &merged{kinds: kinds}
	m.nodes = side{source: nodes, places: places(nodes.Kinds(), kinds)}
	m.tasks = side{source: tasks, places: places(tasks.Kinds(), kinds), wants: func(r *Record) bool { return !r.What.OfNode() }}
	return m, nil
}

// compatible says why a kind of the nodes is not that of the tasks.
func compatible(nodes, tasks cluster.Kind, called pair) error {
	fine, coarse := max(nodes.PerUnit, tasks.PerUnit), min(nodes.PerUnit, tasks.PerUnit)
	switch {
	case nodes.Unit != tasks.Unit || coarse < 1 || fine%coarse != 0:
		return &UnitsError{Nodes: nodes, Tasks: tasks, called: called}
	case nodes.Devices != tasks.Devices:
		return fmt.Errorf("%s comes in devices in one of %s and %s, and not in the other", nodes.Name, called.nodes, called.tasks)
	}
	return nil
}

// place says where a source's kind stands in the common order, and by what its
// quantities are multiplied.
type place struct {
	kind   int
	factor int64
}

func places(own, all []cluster.Kind) []place {
	list := make([]place, len(own))
	for i, k := range own {
		at := slices.IndexFunc(all, func(o cluster.Kind) bool { return o.Name == k.Name })
		list[i] = place{at, all[at].PerUnit / max(k.PerUnit, 1)}
	}
	return list
}

type merged struct {
	kinds        []cluster.Kind
	nodes, tasks side
	beside       bool // the nodes' source gives its tasks as well
}

// side is one of the two sources, with the record that was read last. Before
// its time nothing comes any more.
type side struct {
	source Source
	places []place
	wants  func(*Record) bool
	beside bool // its jobs are renumbered
	next   Record
	ready  bool  // next is wanted, and has yet to be given
	err    error // why there is no next record
}

// Kinds are those of both sources.
func (m *merged) Kinds() []cluster.Kind { return m.kinds }

// Typical is what the source of the tasks knows of them; nil where tasks are of both.
func (m *merged) Typical() []fragmentation.Typical {
	if m.beside {
		return nil
	}
	list := slices.Clone(typical(m.tasks.source))
	for i := range list {
		// What is too large for a node is of no node's use either way.
		list[i].Demand, _ = m.tasks.common(list[i].Demand, m.kinds)
	}
	return list
}

// Close closes both sources.
func (m *merged) Close() error { return errors.Join(m.nodes.source.Close(), m.tasks.source.Close()) }

// Next gives the earlier of the two next records. It reads neither side
// further than it must: what a side leaves out tells that nothing comes before
// that moment, and the other side goes first if its record is earlier. A source
// without end of which nothing is wanted any more is thus held up by the other,
// until the other has ended; Limit gives it an end.
func (m *merged) Next(r *Record) error {
	for {
		s := m.earlier()
		switch {
		case s.err != nil:
			return s.err
		case s.ready:
			if s.err = s.spread(m.kinds); s.err != nil {
				return s.err
			}
			*r, s.ready = s.next, false
			return nil
		}
		s.err = s.source.Next(&s.next)
		s.ready = s.err == nil && s.wants(&s.next)
		switch {
		case !m.beside:
			s.next.Task.Input = nil
		case s.beside:
			s.next.Task.Input = nil
			s.next.Task.Job ^= besideBit
		}
	}
}

// earlier is the side that comes next: one that failed, or else the one that
// may have the earlier record. At equal times nodes come first, and only after
// all nodes of that moment are the tasks' turn.
func (m *merged) earlier() *side {
	for _, s := range []*side{&m.nodes, &m.tasks} {
		if s.err != nil && !errors.Is(s.err, io.EOF) {
			return s
		}
	}
	if m.nodes.err != nil || m.tasks.err == nil && m.tasks.next.Time < m.nodes.next.Time {
		return &m.tasks
	}
	return &m.nodes
}

// spread puts the quantities of the next record where the common kinds stand.
func (s *side) spread(kinds []cluster.Kind) (err error) {
	if s.next.What == ConstraintAdded || s.next.What == ConstraintRemoved || s.next.What == BudgetAdded {
		return nil
	}
	v := &s.next.Task.Demand
	if s.next.What.OfNode() {
		v = &s.next.Node.Capacity
	}
	if len(*v) != len(s.places) || s.alike(kinds) {
		return nil
	}
	*v, err = s.common(*v, kinds)
	if most := &s.next.Task.Max; err == nil && *most != nil {
		*most, err = s.common(*most, kinds)
	}
	switch own, _ := OwnJob(s.next.Task.Job); {
	case err != nil && s.beside:
		s.next.Task.Job = own
		return fmt.Errorf("--beside: %s: %w", s.next.subject(), err)
	case err != nil:
		return fmt.Errorf("%s: %w", s.next.subject(), err)
	}
	return nil
}

// alike reports whether the source's own vectors are those of the common kinds.
func (s *side) alike(kinds []cluster.Kind) bool {
	for i, at := range s.places {
		if at.kind != i || at.factor != 1 {
			return false
		}
	}
	return len(s.places) == len(kinds)
}

// common is the vector in the common kinds.
func (s *side) common(own cluster.Vector, kinds []cluster.Kind) (cluster.Vector, error) {
	all := make(cluster.Vector, len(kinds))
	for i, q := range own {
		at := s.places[i]
		if q > cluster.MaxQuantity/at.factor {
			return all, fmt.Errorf("%d of %s are too many once the finer unit of the other source counts: more than 2^45", q, kinds[at.kind].Name)
		}
		all[at.kind] = q * at.factor
	}
	return all, nil
}
