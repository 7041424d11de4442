package google2019

import (
	"encoding/binary"
	"math"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/spill"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is a row of instance_events, what is kept of it, and how that is written into the file that puts rows in order.

// The kinds, in the order of their vectors.
const (
	cpu = iota
	memory
)

// The events of instances and collections.
const (
	submit = iota
	queue
	enable
	schedule
	evict
	fail
	finish
	kill
	lost
	updatePending
	updateRunning
)

// eventNames are the names of events, in the order of their numbers.
func eventNames() []string {
	return []string{"SUBMIT", "QUEUE", "ENABLE", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST", "UPDATE_PENDING", "UPDATE_RUNNING"}
}

// The columns of instance_events.
const (
	instanceTime = iota
	instanceType
	instanceCollection
	instanceIndex
	instanceClass
	instanceKind
	instancePriority
	instanceAlloc
	instanceMachine
	instanceCPU
	instanceMemory
	constraintName
	constraintValue
	constraintRelation
)

func instanceTable() *table {
	return &table{name: "instance_events", used: constraintRelation + 1, lists: 3, columns: []string{
		"time", "type", "collection_id", "instance_index", "scheduling_class", "collection_type", "priority", "alloc_collection_id", "machine_id",
		"resource_request.cpus", "resource_request.memory", "constraint.name", "constraint.value", "constraint.relation",
		"missing_type", "alloc_instance_index",
	}}
}

// instanceKey says which instance it is.
type instanceKey struct {
	collection uint64
	index      uint32
}

// instanceEvent is what is kept of a row. What only a SUBMIT says, or a row of time 0, is left out of all others.
type instanceEvent struct {
	instanceKey
	what         uint8
	class        uint8
	priority     int32
	machine      int64 // of a SCHEDULE at time 0; below 1: none that is known
	demand       [2]int64
	requirements []cluster.Requirement
}

const (
	wantTime     = "a time in microseconds"
	afterTheEnd  = math.MaxInt64
	wantPriority = "a priority"
)

// span is from least to most.
func span(least, most int64) [2]int64 { return [2]int64{least, most} }

// rowKind says what of the allocs a row belongs to.
type rowKind uint8

const (
	plainRow rowKind = iota
	allocRow         // of an alloc set
	insideAlloc
)

// instance reads a row. The time is afterTheEnd of one that is not of the trace.
func (r *row) instance(e *instanceEvent) (at int64, kind rowKind) {
	at = r.need(instanceTime, wantTime, span(0, math.MaxInt64))
	if !r.has(instanceType) {
		r.fail(instanceType, "a type of event", &cell{})
	}
	e.what = uint8(r.named(instanceType, &r.cells[instanceType], "a type of event", eventNames()))
	e.collection = uint64(r.need(instanceCollection, "the ID of a collection", span(0, math.MaxInt64)))
	e.index = uint32(r.need(instanceIndex, "the index of an instance", span(0, math.MaxInt32)))
	e.class = uint8(r.named(instanceClass, &r.cells[instanceClass], "a scheduling class", []string{"MOST_INSENSITIVE", "INSENSITIVE", "SENSITIVE", "MOST_SENSITIVE"}))
	set := r.named(instanceKind, &r.cells[instanceKind], "a type of collection", []string{"JOB", "ALLOC_SET"})
	e.priority = int32(r.int(instancePriority, wantPriority, span(math.MinInt32, math.MaxInt32)))
	e.machine = r.int(instanceMachine, "a machine, 0 for none or -1 for a dedicated one", span(-1, math.MaxInt64))
	e.demand[cpu] = r.quantity(instanceCPU, "a request for CPU of at least 0", trace.Up)
	e.demand[memory] = r.quantity(instanceMemory, "a request for memory of at least 0", trace.Up)
	e.requirements = r.requirements(e.requirements[:0])
	switch alloc := r.int(instanceAlloc, "the ID of an alloc set, or 0", span(-1, math.MaxInt64)); {
	case set == 1:
		kind = allocRow
	case alloc > 0:
		kind = insideAlloc
	}
	return at, kind
}

// requirements reads the constraints of a row. Numbers compare as integers here; labels that are missing as 0, or as the
// empty text.
func (r *row) requirements(list []cluster.Requirement) []cluster.Requirement {
	names, values, relations := r.lists[0], r.lists[1], r.lists[2]
	for i := range names {
		if names[i].kind != text || len(names[i].text) == 0 {
			r.fail(constraintName, "an attribute's name", &names[i])
		}
		q := cluster.Requirement{Key: string(names[i].text), Value: string(values[i].text)}
		if values[i].kind == integer || values[i].kind == number {
			q.Value = values[i].String()
		}
		relation := r.named(constraintRelation, &relations[i], "a relation", []string{
			"EQUAL", "NOT_EQUAL", "LESS_THAN", "GREATER_THAN", "LESS_THAN_EQUAL", "GREATER_THAN_EQUAL", "PRESENT", "NOT_PRESENT",
		})
		switch relation {
		case 0, 1:
			q.Op = cluster.Op(relation)
		case 6, 7:
			q.Op, q.Value = cluster.NotEqual, ""
			if relation == 7 {
				q.Op = cluster.Equal
			}
		default:
			r.compare(&q, relation, &values[i])
		}
		list = append(list, q)
	}
	return list
}

// compare makes q the comparison of a number.
func (r *row) compare(q *cluster.Requirement, relation int, value *cell) {
	const most = 1 << 53
	v, err := strconv.ParseFloat(q.Value, 64)
	if err != nil || !(math.Abs(v) < most) {
		r.fail(constraintValue, "a number to compare with", value)
		return
	}
	// Labels are integers where they are numbers: below 3.5 is below 4, and above it is above 3.
	bound := math.Ceil(v)
	q.Op = cluster.Less
	switch relation {
	case 3:
		q.Op, bound = cluster.Greater, math.Floor(v)
	case 4:
		bound = math.Floor(v) + 1
	case 5:
		q.Op, bound = cluster.Greater, math.Ceil(v)-1
	}
	q.Value = strconv.FormatInt(int64(bound), 10)
}

// append writes the event, which happened at the time.
func (e *instanceEvent) append(b []byte, at int64) []byte {
	b = append(b, e.what)
	b = binary.AppendUvarint(b, e.collection)
	b = binary.AppendUvarint(b, uint64(e.index))
	if !e.says(at) {
		return b
	}
	b = append(b, e.class)
	b = binary.AppendVarint(b, int64(e.priority))
	b = binary.AppendVarint(b, e.machine)
	for _, q := range e.demand {
		b = binary.AppendVarint(b, q)
	}
	b = binary.AppendUvarint(b, uint64(len(e.requirements)))
	for _, q := range e.requirements {
		b = append(b, byte(q.Op))
		b = spill.AppendText(b, []byte(q.Key))
		b = spill.AppendText(b, []byte(q.Value))
	}
	return b
}

// says reports whether the event says what its instance asks for.
func (e *instanceEvent) says(at int64) bool { return e.what == submit || at == 0 }

// read reads what append has written.
func (e *instanceEvent) read(b []byte, at int64, texts *spill.Texts) {
	c := spill.Cursor(b)
	*e = instanceEvent{requirements: e.requirements[:0], what: c.Byte()}
	e.collection, e.index = c.Uvarint(), uint32(c.Uvarint())
	if !e.says(at) {
		return
	}
	e.class = c.Byte()
	e.priority, e.machine = int32(c.Varint()), c.Varint()
	for k := range e.demand {
		e.demand[k] = c.Varint()
	}
	for range c.Uvarint() {
		q := cluster.Requirement{Op: cluster.Op(c.Byte())}
		q.Key, q.Value = texts.Of(c.Text()), texts.Of(c.Text())
		e.requirements = append(e.requirements, q)
	}
}
