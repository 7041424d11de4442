package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
)

// This file reads the values of a page, in each of the encodings.

// decoder gives the values of a page that are not null, one by one.
type decoder interface {
	// next returns false where there is no further value.
	next() (Value, bool)
}

// newDecoder reads values of a physical type in an encoding.
func newDecoder(encoding, physical int32, data []byte, dictionary []Value) (decoder, *Error) {
	switch {
	case encoding == encodingPlain:
		return &plain{data: data, physical: physical}, nil
	case encoding == encodingPlainDictionary || encoding == encodingRLEDictionary:
		if len(data) == 0 {
			return &plain{}, nil // all values are null
		}
		if dictionary == nil || data[0] > 32 {
			return nil, &Error{Want: "a page of the dictionary before pages that use it, and indexes of up to 32 bits"}
		}
		return &indexed{hybrid: hybrid{data: data[1:], width: int(data[0])}, dictionary: dictionary}, nil
	case encoding == encodingRLE && physical == typeBoolean && len(data) >= 4:
		return &indexed{hybrid: hybrid{data: data[4:], width: 1}, dictionary: []Value{{}, {bits: 1}}}, nil
	case encoding == encodingDelta && (physical == typeInt32 || physical == typeInt64):
		return newDelta(data, physical)
	case (encoding == encodingDeltaLength || encoding == encodingDeltaBytes) && physical == typeByteArray:
		return newDeltaText(encoding, data)
	}
	return nil, &Error{
		Want: "values in an encoding that is read: PLAIN, a dictionary, DELTA_…, or RLE of booleans", Got: fmt.Sprint(encoding),
		Hint: "write the file anew with one of these",
	}
}

// plain reads values one behind the other.
type plain struct {
	data     []byte
	physical int32
	bit      int // of booleans
}

func (p *plain) next() (Value, bool) {
	switch p.physical {
	case typeBoolean:
		if p.bit/8 >= len(p.data) {
			return Value{}, false
		}
		v := unpack(p.data, p.bit, 1)
		p.bit++
		return Value{bits: v}, true
	case typeInt32:
		b, ok := p.take(4)
		if !ok {
			return Value{}, false
		}
		return Value{bits: uint64(int64(int32(binary.LittleEndian.Uint32(b))))}, true
	case typeFloat:
		b, ok := p.take(4)
		if !ok {
			return Value{}, false
		}
		return Value{bits: math.Float64bits(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))}, true
	case typeInt64, typeDouble:
		b, ok := p.take(8)
		if !ok {
			return Value{}, false
		}
		return Value{bits: binary.LittleEndian.Uint64(b)}, true
	case typeByteArray:
		b, ok := p.take(4)
		if !ok {
			return Value{}, false
		}
		text, ok := p.take(uint64(binary.LittleEndian.Uint32(b)))
		return Value{Text: text}, ok
	}
	return Value{}, false
}

func (p *plain) take(n uint64) ([]byte, bool) {
	if n > uint64(len(p.data)) {
		return nil, false
	}
	b := p.data[:n]
	p.data = p.data[n:]
	return b, true
}

// indexed reads indexes into a dictionary.
type indexed struct {
	hybrid
	dictionary []Value
}

func (i *indexed) next() (Value, bool) {
	at, ok := i.hybrid.next()
	if !ok || uint64(at) >= uint64(len(i.dictionary)) {
		return Value{}, false
	}
	return i.dictionary[at], true
}

// delta reads integers as differences, in blocks of a least difference and, for each of some parts of the block, of so many
// bits that the parts' differences take beyond that.
type delta struct {
	data    []byte
	narrow  bool // 32 bits
	parts   int  // of a block
	perPart int
	left    uint64 // values still to be read
	value   uint64 // the next of them
	least   uint64 // of the block
	widths  []byte // of its parts that come
	packed  []byte // of the part
	width   int
	at, in  int // values read of the part, and how many it has
}

// mostPerPart keeps a part of a block small; writers have 32.
const mostPerPart = 1 << 16

func newDelta(data []byte, physical int32) (*delta, *Error) {
	d := &delta{data: data, narrow: physical == typeInt32}
	block, parts, count, first := d.uvarint(), d.uvarint(), d.uvarint(), d.uvarint()
	if d.data == nil || parts == 0 || block/parts == 0 || block%parts != 0 || block/parts > mostPerPart || block/parts%8 != 0 || parts > mostPerPart {
		return nil, &Error{Want: "the head of integers in DELTA_BINARY_PACKED", Hint: "the file is damaged"}
	}
	d.parts, d.perPart, d.left = int(parts), int(block/parts), count
	d.value = uint64(unzigzag(first))
	return d, nil
}

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// uvarint reads a number; the data are nil after one that is none.
func (d *delta) uvarint() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.data = nil
		return 0
	}
	d.data = d.data[n:]
	return v
}

func (d *delta) next() (Value, bool) {
	if d.left == 0 {
		return Value{}, false
	}
	v := d.value
	if d.left--; d.left > 0 {
		if d.at == d.in && !d.part() {
			d.left = 0
			return Value{bits: d.extended(v)}, true
		}
		var difference uint64
		if d.width > 0 {
			difference = unpack(d.packed, d.at*d.width, d.width)
		}
		d.at++
		d.value += d.least + difference
	}
	return Value{bits: d.extended(v)}, true
}

// extended is a value of 32 bits, of which differences may have run over, as one of 64.
func (d *delta) extended(v uint64) uint64 {
	if d.narrow {
		return uint64(int64(int32(v)))
	}
	return v
}

// part begins the next part, and before it the next block if it must.
func (d *delta) part() bool {
	if len(d.widths) == 0 {
		d.least = uint64(unzigzag(d.uvarint()))
		if d.parts > len(d.data) {
			return false
		}
		d.widths, d.data = d.data[:d.parts], d.data[d.parts:]
	}
	d.width, d.widths = int(d.widths[0]), d.widths[1:]
	size := d.width * d.perPart / 8
	if d.width > 64 || size > len(d.data) {
		return false
	}
	d.packed, d.data = d.data[:size], d.data[size:]
	d.at, d.in = 0, d.perPart
	return true
}

// deltaText reads texts whose lengths come first, and perhaps, before these, how many bytes each has in common with the one
// before.
type deltaText struct {
	prefixes *delta // nil: none
	lengths  *delta
	texts    []byte
	latest   []byte
	whole    int64 // bytes of all texts that are put together of two; 0 without prefixes
}

func newDeltaText(encoding int32, data []byte) (*deltaText, *Error) {
	t := &deltaText{texts: data}
	if encoding == encodingDeltaBytes {
		prefixes, rest, err := wholeDelta(data)
		if err != nil {
			return nil, err
		}
		// A text that all others begin with stands in the page once, and in memory as often as there are others.
		most := mostUnpacked(len(data))
		common, ok := prefixes.sum(most)
		if !ok {
			return nil, &Error{Want: fmt.Sprintf("texts that have %d bytes at most in common with those before", most), Hint: "write the file anew with smaller pages"}
		}
		t.prefixes, t.texts, t.whole = prefixes, rest, common+int64(len(rest))
	}
	lengths, rest, err := wholeDelta(t.texts)
	if err != nil {
		return nil, err
	}
	if _, ok := lengths.sum(int64(len(rest))); !ok {
		return nil, &Error{Want: "texts as long as they say", Hint: "the file is damaged"}
	}
	t.lengths, t.texts = lengths, rest
	return t, nil
}

// sum adds up all values, which are lengths. It is false where one is none, the sum is above most, or they are too many.
func (d *delta) sum(most int64) (int64, bool) {
	if d.left > mostDictionary {
		return 0, false
	}
	probe, sum := *d, int64(0)
	for {
		v, ok := probe.next()
		if !ok {
			return sum, true
		}
		if v.bits > uint64(most-sum) {
			return 0, false
		}
		sum += int64(v.bits)
	}
}

// wholeDelta reads integers, and returns what is behind them. They are to be read from the result.
func wholeDelta(data []byte) (*delta, []byte, *Error) {
	d, err := newDelta(data, typeInt32)
	if err != nil {
		return nil, nil, err
	}
	probe := *d
	for left := d.left; left > 1; left -= min(left-1, uint64(d.perPart)) { // the first stands in the head
		if !probe.part() {
			return nil, nil, &Error{Want: "integers in DELTA_BINARY_PACKED", Hint: "the file is damaged"}
		}
	}
	return d, probe.data, nil
}

func (t *deltaText) next() (Value, bool) {
	length, ok := t.lengths.next()
	if !ok {
		return Value{}, false
	}
	n := int(length.bits)
	text := t.texts[:n]
	t.texts = t.texts[n:]
	if t.prefixes != nil {
		common, ok := t.prefixes.next()
		if !ok || common.bits > uint64(len(t.latest)) {
			return Value{}, false
		}
		text = append(append(make([]byte, 0, int(common.bits)+n), t.latest[:common.bits]...), text...)
		t.latest = text
	}
	return Value{Text: text}, true
}
