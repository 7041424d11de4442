package setup

import (
	"fairlead.dev/fairlead/sim/trace"
)

// This file puts a task or nodes into a source that does not have them, for who asks what would be if it had.

// WithTask is the source with one more task, which is submitted at the start.
func (o Opened) WithTask(t trace.Task) Opened {
	o.Source = &joined{Source: o.Source, behind: true, first: []trace.Record{{What: trace.TaskSubmitted, Task: t}}}
	return o
}

// WithNodes is the source with more nodes, which are there at the start.
func (o Opened) WithNodes(nodes []trace.Node) Opened {
	more := &joined{Source: o.Source}
	for _, n := range nodes {
		more.first = append(more.first, trace.Record{What: trace.NodeAdded, Node: n})
	}
	o.Source = more
	return o
}

// joined is a source with more records at the start: before all others, or behind the nodes.
type joined struct {
	trace.Source
	behind bool
	first  []trace.Record
	held   trace.Record // the record that comes behind those, or err
	err    error
	holds  bool
}

// Next fills in the next record.
func (s *joined) Next(r *trace.Record) error {
	if s.behind {
		if s.err = s.Source.Next(r); s.err == nil && r.What.OfNode() && r.Time == 0 {
			return nil
		}
		if s.err == nil {
			s.held = r.Clone()
		}
		s.behind, s.holds = false, true
	}
	if len(s.first) > 0 {
		*r = s.first[0]
		s.first = s.first[1:]
		return nil
	}
	if s.holds {
		s.holds = false
		*r = s.held
		return s.err
	}
	return s.Source.Next(r)
}
