package trace

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Merge takes the nodes of one source and the tasks of another, in time order.
// The kinds are those of both; what only one of them names is 0 in the other.
// Kinds of one name must be measured in one unit.
func Merge(nodes, tasks Source) (Source, error) {
	kinds := slices.Clone(nodes.Kinds())
	for _, k := range tasks.Kinds() {
		at := slices.IndexFunc(kinds, func(o cluster.Kind) bool { return o.Name == k.Name })
		if at < 0 {
			kinds = append(kinds, k)
			continue
		}
		if kinds[at] != k {
			return nil, fmt.Errorf("the cluster measures %s in units of %d %q, the workload in units of %d %q; they must be the same",
				k.Name, kinds[at].PerUnit, kinds[at].Unit, k.PerUnit, k.Unit)
		}
	}
	m := &merged{kinds: kinds}
	m.nodes = side{source: nodes, place: places(nodes.Kinds(), kinds)}
	m.tasks = side{source: tasks, place: places(tasks.Kinds(), kinds)}
	return m, nil
}

// places says where each of a source's kinds stands in the common order.
func places(own, all []cluster.Kind) []int {
	at := make([]int, len(own))
	for i, k := range own {
		at[i] = slices.IndexFunc(all, func(o cluster.Kind) bool { return o.Name == k.Name })
	}
	return at
}

type merged struct {
	kinds        []cluster.Kind
	nodes, tasks side
}

// side is one of the two sources, with the record that was read last. Before
// its time nothing comes any more.
type side struct {
	source Source
	place  []int
	next   Record
	ready  bool  // next is wanted, and has yet to be given
	err    error // why there is no next record
}

// Kinds are those of both sources.
func (m *merged) Kinds() []cluster.Kind { return m.kinds }

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
			s.spread(len(m.kinds))
			*r, s.ready = s.next, false
			return nil
		}
		s.err = s.source.Next(&s.next)
		s.ready = s.err == nil && (s.next.What <= NodeLost) == (s == &m.nodes)
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
func (s *side) spread(kinds int) {
	if len(s.place) == kinds && slices.IsSorted(s.place) {
		return
	}
	v := &s.next.Task.Demand
	if s.next.What <= NodeLost {
		v = &s.next.Node.Capacity
	}
	if len(*v) != len(s.place) {
		return
	}
	common := make(cluster.Vector, kinds)
	for i, q := range *v {
		common[s.place[i]] = q
	}
	*v = common
}
