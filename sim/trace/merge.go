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

// side is one of the two sources, with the record that comes next.
type side struct {
	source Source
	place  []int
	next   Record
	vector cluster.Vector
	ready  bool
	err    error // why there is no next record
}

// Kinds are those of both sources.
func (m *merged) Kinds() []cluster.Kind { return m.kinds }

// Close closes both sources.
func (m *merged) Close() error { return errors.Join(m.nodes.source.Close(), m.tasks.source.Close()) }

// Next gives the earlier of the two next records.
func (m *merged) Next(r *Record) error {
	m.nodes.advance(len(m.kinds), func(w What) bool { return w <= NodeLost })
	m.tasks.advance(len(m.kinds), func(w What) bool { return w > NodeLost })
	for _, s := range []*side{&m.nodes, &m.tasks} {
		if s.err != nil && !errors.Is(s.err, io.EOF) {
			return s.err
		}
	}
	// At equal times nodes come first.
	s := &m.nodes
	if s.err != nil || m.tasks.err == nil && m.tasks.next.Time < s.next.Time {
		s = &m.tasks
	}
	if s.err != nil {
		return s.err
	}
	*r, s.ready = s.next, false
	return nil
}

// advance reads on to the next record that is wanted of this source.
func (s *side) advance(kinds int, wanted func(What) bool) {
	for !s.ready && s.err == nil {
		s.err = s.source.Next(&s.next)
		s.ready = s.err == nil && wanted(s.next.What)
	}
	if !s.ready || len(s.place) == kinds && slices.IsSorted(s.place) {
		return
	}
	v := &s.next.Task.Demand
	if s.next.What <= NodeLost {
		v = &s.next.Node.Capacity
	}
	if len(*v) == len(s.place) && (len(s.vector) == 0 || &(*v)[0] != &s.vector[0]) {
		s.vector = make(cluster.Vector, kinds)
		for i, q := range *v {
			s.vector[s.place[i]] = q
		}
		*v = s.vector
	}
}
