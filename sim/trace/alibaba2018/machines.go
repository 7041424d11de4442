package alibaba2018

import (
	"encoding/binary"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/spill"
	"fairlead.dev/fairlead/sim/trace"
)

// This file turns rows of machine_meta into nodes: machine_id, time_stamp, failure_domain_1, failure_domain_2, cpu_num, mem_size,
// status.

type machine struct {
	id       uint64
	added    bool
	capacity [2]int64
	groups   []cluster.Label
}

func (s *Source) readMachine(row *trace.Row) error {
	if row.Empty(1) {
		row.Fail(1, "a machine's name")
	}
	at := second(row, 2, "a time")
	b := spill.AppendText([]byte{machineRow}, row.Text(1))
	b = binary.AppendVarint(b, row.Decimal(5, "a number of cores", 3, trace.Down))
	b = binary.AppendVarint(b, row.Decimal(6, "memory in hundredths of the largest machine", memoryPlaces, trace.Down))
	b = spill.AppendText(b, row.Text(3))
	b = spill.AppendText(b, row.Text(4))
	if err := row.Err(); err != nil {
		return err
	}
	if string(row.Text(7)) != "USING" {
		s.ignored.unused++
	}
	return s.sorted.Add(at, machineRow, b)
}

// named is the machine of that name, which may have no row.
func (s *Source) named(name []byte) *machine {
	m := s.machines[string(name)]
	if m == nil {
		m = &machine{id: uint64(len(s.machines))}
		s.machines[string(name)] = m
	}
	return m
}

// machine makes the row a record, unless it says what was known.
func (s *Source) machine(r *trace.Record, c *spill.Cursor) bool {
	name := c.Text()
	m := s.named(name)
	capacity := [2]int64{c.Varint(), c.Varint()}
	var groups []cluster.Label
	for _, key := range []string{"failure_domain_1", "failure_domain_2"} {
		if value := s.texts.Of(c.Text()); value != "" {
			groups = append(groups, cluster.Label{Key: key, Value: value})
		}
	}
	r.What = trace.NodeAdded
	if m.added {
		if capacity == m.capacity && same(groups, m.groups) {
			return false
		}
		r.What = trace.NodeChanged
	}
	m.added, m.capacity, m.groups = true, capacity, groups
	r.Node = trace.Node{ID: m.id, Name: string(name), Capacity: m.capacity[:], Groups: m.groups}
	return true
}

func same(a, b []cluster.Label) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
