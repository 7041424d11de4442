package google2019

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/spill"
	"fairlead.dev/fairlead/sim/trace"
)

// This file turns machine_events and machine_attributes into the records of nodes. At equal times attributes come first, so
// that a machine is added with all of its labels.

// The columns of machine_events.
const (
	machineTime = iota
	machineID
	machineType
	machineSwitch
	machineCPU
	machineMemory
	machinePlatform
)

func machineTable() *table {
	return &table{name: "machine_events", used: machinePlatform + 1, columns: []string{
		"time", "machine_id", "type", "switch_id", "capacity.cpus", "capacity.memory", "platform_id", "missing_data_reason",
	}}
}

// The columns of machine_attributes.
const (
	attributeTime = iota
	attributeMachine
	attributeName
	attributeValue
	attributeDeleted
)

func attributeTable() *table {
	return &table{name: "machine_attributes", used: attributeDeleted + 1, columns: []string{"time", "machine_id", "name", "value", "deleted"}}
}

// The events of machines; 0 should never happen. An attribute is another in the file that puts rows in order.
const (
	attribute = iota
	add
	remove
	update
)

const (
	platform = "platform" // the label that holds a machine's platform
	rack     = "rack"     // the group that holds its switch
)

type machine struct {
	live     bool
	capacity [2]int64
	labels   []cluster.Label
	groups   []cluster.Label
}

type machines struct {
	sorted *spill.Sorter
	in     *spill.Reader
	texts  spill.Texts
	all    map[uint64]*machine
	strays int // events that did not fit: another ADD, or any other of a machine that is not there

	time   cluster.Time // of the row that comes next; cluster.Never after the last
	latest []byte
}

// load reads both tables, of which the second may have no files.
func (m *machines) load(events, attributes []string, skips *trace.Skips) error {
	var b []byte
	err := load(machineTable(), events, skips, func(r *row) error {
		at := r.need(machineTime, wantTime, span(0, math.MaxInt64))
		id := r.need(machineID, "a machine's ID", span(0, math.MaxInt64))
		what := r.named(machineType, &r.cells[machineType], "a type of event, from 1", []string{"EVENT_TYPE_UNKNOWN", "ADD", "REMOVE", "UPDATE"})
		if what == attribute {
			r.fail(machineType, "a type of event: 1 or ADD, 2 or REMOVE, 3 or UPDATE", &r.cells[machineType])
		}
		b = binary.AppendUvarint(append(b[:0], byte(what)), uint64(id))
		b = binary.AppendVarint(b, r.quantity(machineCPU, "a capacity of CPU of at least 0", trace.Down))
		b = binary.AppendVarint(b, r.quantity(machineMemory, "a capacity of memory of at least 0", trace.Down))
		b = spill.AppendText(b, r.string(machineSwitch))
		b = spill.AppendText(b, r.string(machinePlatform))
		if r.err != nil || at == afterTheEnd {
			return nil
		}
		return m.sorted.Add(at, uint8(what), b)
	})
	if err != nil {
		return err
	}
	err = load(attributeTable(), attributes, skips, func(r *row) error {
		at := r.need(attributeTime, wantTime, span(0, math.MaxInt64))
		id := r.need(attributeMachine, "a machine's ID", span(0, math.MaxInt64))
		name := r.string(attributeName)
		if len(name) == 0 {
			r.fail(attributeName, "an attribute's name", &r.cells[attributeName])
		}
		deleted := byte(0)
		if r.flag(attributeDeleted) {
			deleted = 1
		}
		b = binary.AppendUvarint(append(b[:0], attribute), uint64(id))
		b = append(b, deleted)
		b = spill.AppendText(b, name)
		value := &r.cells[attributeValue]
		if value.kind == missing {
			value = &cell{kind: text}
		}
		b = spill.AppendText(b, []byte(value.String()))
		if r.err != nil || at == afterTheEnd {
			return nil
		}
		return m.sorted.Add(at, attribute, b)
	})
	return err
}

// start begins to give the rows in order.
func (m *machines) start() (err error) {
	if m.in, err = m.sorted.Read(); err != nil {
		return err
	}
	return m.advance()
}

func (m *machines) advance() error {
	at, record, err := m.in.Next()
	m.time, m.latest = cluster.Time(at), record
	if errors.Is(err, io.EOF) {
		m.time, err = cluster.Never, nil
	}
	return err
}

// next takes a row, and reports whether that made a record, which is then in r.
func (m *machines) next(r *trace.Record) (bool, error) {
	*r = trace.Record{Time: m.time}
	c := spill.Cursor(m.latest)
	what, id := c.Byte(), c.Uvarint()
	node := m.machine(id)
	if what == attribute {
		return m.attributes(r, id, node)
	}
	node.capacity = [2]int64{c.Varint(), c.Varint()}
	node.groups = set(node.groups[:0], rack, m.texts.Of(c.Text()))
	node.labels = set(node.labels, platform, m.texts.Of(c.Text()))
	was := node.live
	node.live = what != remove
	if was == (what == add) {
		m.strays++
	}
	switch {
	case was && node.live:
		r.What = trace.NodeChanged
	case node.live:
		r.What = trace.NodeAdded
	case was:
		r.What = trace.NodeLost
	default: // it was removed, and was not there
		return false, m.advance()
	}
	node.describe(r, id)
	return true, m.advance()
}

// attributes takes all rows about the attributes of one machine at one moment, and makes one record of them if the machine
// is there.
func (m *machines) attributes(r *trace.Record, id uint64, node *machine) (bool, error) {
	for m.time == r.Time {
		c := spill.Cursor(m.latest)
		if what, of := c.Byte(), c.Uvarint(); what != attribute || of != id {
			break
		}
		deleted := c.Byte() == 1
		key, value := m.texts.Of(c.Text()), m.texts.Of(c.Text())
		if deleted {
			value = ""
		}
		node.labels = set(node.labels, key, value)
		if err := m.advance(); err != nil {
			return false, err
		}
	}
	r.What = trace.NodeChanged
	node.describe(r, id)
	return node.live, nil
}

func (m *machines) machine(id uint64) *machine {
	node := m.all[id]
	if node == nil {
		node = &machine{}
		m.all[id] = node
	}
	return node
}

// describe fills in the node of r. A lost node has its ID alone.
func (n *machine) describe(r *trace.Record, id uint64) {
	r.Node.ID = id
	if r.What != trace.NodeLost {
		r.Node.Capacity, r.Node.Labels, r.Node.Groups = n.capacity[:], n.labels, n.groups
	}
}

// set sets a label among others, sorted by key; an empty value takes it away.
func set(labels []cluster.Label, key, value string) []cluster.Label {
	at, found := slices.BinarySearchFunc(labels, key, func(l cluster.Label, key string) int { return cmp.Compare(l.Key, key) })
	switch {
	case value == "" && found:
		return slices.Delete(labels, at, at+1)
	case value == "":
		return labels
	case found:
		labels[at].Value = value
		return labels
	}
	return slices.Insert(labels, at, cluster.Label{Key: key, Value: value})
}
