package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
)

// This file reads and writes Thrift's compact protocol, in which a file describes itself. What is not known is skipped.

// The types of values on the wire.
const (
	wireTrue   = 1
	wireFalse  = 2
	wireByte   = 3
	wireInt16  = 4
	wireInt32  = 5
	wireInt64  = 6
	wireDouble = 7
	wireBinary = 8
	wireList   = 9
	wireSet    = 10
	wireMap    = 11
	wireStruct = 12
	wireUUID   = 13
)

// deepest is how many structs, lists and fields of the schema may stand within each other.
const deepest = 32

// thrift reads values. After the first that is wrong it is broken, and gives zeros.
type thrift struct {
	data   []byte
	at     int
	depth  int
	broken bool
	wrong  *Error // why, where that is more than that the bytes make no sense
}

// bound breaks it off where there are as many of something as are read at most.
func (t *thrift) bound(n, most int, what string) {
	if n >= most && !t.broken {
		t.fail()
		t.wrong = &Error{At: "footer", Want: fmt.Sprintf("at most %d %s", most, what), Got: "more"}
	}
}

func (t *thrift) fail() { t.broken, t.at = true, len(t.data) }

func (t *thrift) byte() byte {
	if t.at >= len(t.data) {
		t.fail()
		return 0
	}
	t.at++
	return t.data[t.at-1]
}

func (t *thrift) uvarint() uint64 {
	v, n := binary.Uvarint(t.data[t.at:])
	if n <= 0 {
		t.fail()
		return 0
	}
	t.at += n
	return v
}

// int reads an integer of the wire type.
func (t *thrift) int(wire byte) int64 {
	switch wire {
	case wireByte:
		return int64(int8(t.byte()))
	case wireInt16, wireInt32, wireInt64:
		v := t.uvarint()
		return int64(v>>1) ^ -int64(v&1)
	}
	t.fail()
	return 0
}

// int32 reads an integer of 32 bits.
func (t *thrift) int32(wire byte) int32 {
	v := t.int(wire)
	if v < math.MinInt32 || v > math.MaxInt32 {
		t.fail()
		return 0
	}
	return int32(v)
}

// text reads bytes, of which the result is a part of the input.
func (t *thrift) text(wire byte) []byte {
	n := t.uvarint()
	if wire != wireBinary || n > uint64(len(t.data)-t.at) {
		t.fail()
		return nil
	}
	t.at += int(n)
	return t.data[t.at-int(n) : t.at]
}

// fields reads a struct: each is called for each field, and takes its value, or skips it.
func (t *thrift) fields(wire byte, each func(id int16, wire byte)) {
	if t.depth++; wire != wireStruct || t.depth > deepest {
		t.fail()
	}
	defer func() { t.depth-- }()
	id := int16(0)
	for !t.broken {
		head := t.byte()
		if head == 0 {
			return
		}
		if delta := int16(head >> 4); delta != 0 {
			id += delta
		} else {
			id = int16(t.int(wireInt16))
		}
		each(id, head&15)
	}
}

// list reads a list: each is called for each element.
func (t *thrift) list(wire byte, each func(wire byte)) {
	if t.depth++; wire != wireList && wire != wireSet || t.depth > deepest {
		t.fail()
	}
	defer func() { t.depth-- }()
	head := t.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = t.uvarint()
	}
	if n > uint64(len(t.data)-t.at) { // each takes a byte at least
		t.fail()
	}
	for ; n > 0 && !t.broken; n-- {
		each(head & 15)
	}
}

// bool reads a field that is true or false, which its wire type says.
func (t *thrift) bool(wire byte) bool {
	if wire != wireTrue && wire != wireFalse {
		t.fail()
	}
	return wire == wireTrue
}

// skip skips a field's value.
func (t *thrift) skip(wire byte) {
	switch wire {
	case wireTrue, wireFalse:
	case wireByte, wireInt16, wireInt32, wireInt64:
		t.int(wire)
	case wireDouble:
		t.take(8)
	case wireUUID:
		t.take(16)
	case wireBinary:
		t.text(wire)
	case wireList, wireSet:
		t.list(wire, t.skipElement)
	case wireMap:
		t.skipMap()
	case wireStruct:
		t.fields(wire, func(_ int16, wire byte) { t.skip(wire) })
	default:
		t.fail()
	}
}

// skipElement skips an element of a list, in which booleans take a byte.
func (t *thrift) skipElement(wire byte) {
	if wire == wireTrue || wire == wireFalse {
		t.byte()
		return
	}
	t.skip(wire)
}

func (t *thrift) skipMap() {
	if t.depth++; t.depth > deepest {
		t.fail()
	}
	defer func() { t.depth-- }()
	n := t.uvarint()
	if n == 0 {
		return
	}
	types := t.byte()
	if n > uint64(len(t.data)-t.at) {
		t.fail()
	}
	for ; n > 0 && !t.broken; n-- {
		t.skipElement(types >> 4)
		t.skipElement(types & 15)
	}
}

func (t *thrift) take(n int) {
	if n > len(t.data)-t.at {
		t.fail()
		return
	}
	t.at += n
}

// thriftWriter writes values. Fields of a struct come in the order of their numbers.
type thriftWriter struct {
	out  []byte
	last []int16 // the latest field of each struct that is open
}

func (w *thriftWriter) head(id int16, wire byte) {
	last := &w.last[len(w.last)-1]
	w.out = append(w.out, byte(id-*last)<<4|wire) // numbers are never 15 apart
	*last = id
}

func (w *thriftWriter) zigzag(v int64) {
	w.out = binary.AppendUvarint(w.out, uint64(v<<1)^uint64(v>>63))
}

// open begins a struct that is an element of a list, or the whole; close ends it.
func (w *thriftWriter) open() { w.last = append(w.last, 0) }

func (w *thriftWriter) close() {
	w.out = append(w.out, 0)
	w.last = w.last[:len(w.last)-1]
}

func (w *thriftWriter) int32(id int16, v int32) {
	w.head(id, wireInt32)
	w.zigzag(int64(v))
}

func (w *thriftWriter) int64(id int16, v int64) {
	w.head(id, wireInt64)
	w.zigzag(v)
}

func (w *thriftWriter) text(id int16, v string) {
	w.head(id, wireBinary)
	w.element(v)
}

// element writes a text that is an element of a list.
func (w *thriftWriter) element(v string) {
	w.out = binary.AppendUvarint(w.out, uint64(len(v)))
	w.out = append(w.out, v...)
}

func (w *thriftWriter) list(id int16, wire byte, n int) {
	w.head(id, wireList)
	if n < 15 {
		w.out = append(w.out, byte(n)<<4|wire)
		return
	}
	w.out = append(w.out, 15<<4|wire)
	w.out = binary.AppendUvarint(w.out, uint64(n))
}

// group begins a struct that is a field; close ends it.
func (w *thriftWriter) group(id int16) {
	w.head(id, wireStruct)
	w.open()
}
