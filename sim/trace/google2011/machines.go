package google2011

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file turns machine events and machine attributes, merged by time, into
// the records of nodes. At equal times attributes come first, so that a machine
// is added with all of its labels.

// platform is the label that holds a machine's platform, a hash.
const platform = "platform"

// The machine events.
const (
	add = iota
	remove
	update
	machineEvents
)

type machineEvent struct {
	machine  uint64
	what     uint8
	platform string
	capacity [2]int64
}

type attributeEvent struct {
	machine uint64
	label   cluster.Label
	deleted bool
}

// machine is a machine that some row has named.
type machine struct {
	live     bool
	capacity [2]int64
	labels   []cluster.Label
}

type machines struct {
	events     table[machineEvent]
	attributes table[attributeEvent]
	all        map[uint64]*machine
}

func newMachines(events, attributes []string, skips *trace.Skips, names names) *machines {
	return &machines{
		events:     table[machineEvent]{fields: 6, parse: names.machineEvent, files: events, skips: skips},
		attributes: table[attributeEvent]{fields: 5, parse: names.attributeEvent, files: attributes, skips: skips},
		all:        map[uint64]*machine{},
	}
}

func (n names) machineEvent(row *trace.Row, e *machineEvent) {
	e.machine = row.Uint(2, "a machine ID", math.MaxInt64)
	e.what = uint8(row.Uint(3, "a machine event: 0 (ADD), 1 (REMOVE) or 2 (UPDATE)", machineEvents-1))
	e.platform = n.of(row.Text(4))
	e.capacity[cpu] = quantity(row, 5, "a capacity of CPU of at least 0", trace.Down)
	e.capacity[memory] = quantity(row, 6, "a capacity of memory of at least 0", trace.Down)
}

func (n names) attributeEvent(row *trace.Row, e *attributeEvent) {
	e.machine = row.Uint(2, "a machine ID", math.MaxInt64)
	if row.Empty(3) {
		row.Fail(3, "an attribute's name")
	}
	e.label = cluster.Label{Key: n.of(row.Text(3)), Value: n.of(row.Text(4))}
	e.deleted = row.Uint(5, "0, or 1 if the attribute is deleted", 1) == 1
}

// start reads the first rows.
func (m *machines) start() error {
	if err := m.events.next(); err != nil {
		return err
	}
	return m.attributes.next()
}

// time is when the next row happens.
func (m *machines) time() cluster.Time { return min(m.events.time, m.attributes.time) }

// next takes a row off one of the tables. It reports whether that made a
// record, which is then in r.
func (m *machines) next(r *trace.Record) (bool, error) {
	*r = trace.Record{Time: m.time()}
	if m.attributes.time <= m.events.time {
		return m.attribute(r)
	}
	e, node := m.events.head, m.machine(m.events.head.machine)
	if node.live == (e.what == add) {
		want := "an ADD (0) before this event of the machine"
		if node.live {
			want = "a REMOVE (1) before another ADD of the machine"
		}
		if err := m.events.lines.Refuse(3, want, m.events.row.Text(3)); err != nil {
			return false, err
		}
		return false, m.events.next()
	}
	r.What = [machineEvents]trace.What{add: trace.NodeAdded, remove: trace.NodeLost, update: trace.NodeChanged}[e.what]
	node.live = e.what != remove
	node.capacity = e.capacity
	node.setLabel(cluster.Label{Key: platform, Value: e.platform}, e.platform == "")
	m.describe(r, e.machine, node)
	return true, m.events.next()
}

// attribute takes all rows about one machine at one moment, and makes
// one record of them if the machine is there.
func (m *machines) attribute(r *trace.Record) (bool, error) {
	id := m.attributes.head.machine
	node := m.machine(id)
	for m.attributes.time == r.Time && m.attributes.head.machine == id {
		node.setLabel(m.attributes.head.label, m.attributes.head.deleted)
		if err := m.attributes.next(); err != nil {
			return false, err
		}
	}
	r.What = trace.NodeChanged
	m.describe(r, id, node)
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
func (m *machines) describe(r *trace.Record, id uint64, node *machine) {
	r.Node.ID = id
	if r.What != trace.NodeLost {
		r.Node.Capacity = node.capacity[:]
		r.Node.Labels = node.labels
	}
}

// setLabel keeps the labels sorted by key.
func (n *machine) setLabel(label cluster.Label, deleted bool) {
	at, found := slices.BinarySearchFunc(n.labels, label.Key, func(l cluster.Label, key string) int { return cmp.Compare(l.Key, key) })
	switch {
	case deleted && found:
		n.labels = slices.Delete(n.labels, at, at+1)
	case found:
		n.labels[at] = label
	case !deleted:
		n.labels = slices.Insert(n.labels, at, label)
	}
}

func (m *machines) close() error { return cmp.Or(m.events.close(), m.attributes.close()) }
