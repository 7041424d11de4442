package parquet

import (
	"encoding/binary"
	"math/bits"
)

// This file reads the hybrid of run lengths and packed bits in which levels, indexes into dictionaries and some booleans
// are written. Values are taken one by one, as a run of a few bytes may stand for any number of them.

// hybrid reads values of some bits each. The zero value has none.
type hybrid struct {
	data  []byte
	width int

	repeats uint64 // of value
	value   uint32

	packed []byte // of which left values are still to be read, the next at bit
	bit    int
	left   uint64
}

// next returns the next value, and false where there is none.
func (h *hybrid) next() (uint32, bool) {
	for h.repeats == 0 && h.left == 0 {
		if !h.run() {
			return 0, false
		}
	}
	if h.repeats > 0 {
		h.repeats--
		return h.value, true
	}
	v := unpack(h.packed, h.bit, h.width)
	h.bit += h.width
	h.left--
	return uint32(v), true
}

// run reads the head of the next run.
func (h *hybrid) run() bool {
	head, n := binary.Uvarint(h.data)
	if n <= 0 {
		return false
	}
	h.data = h.data[n:]
	if head&1 == 0 {
		size := (h.width + 7) / 8
		if size > len(h.data) {
			return false
		}
		h.repeats, h.value = head>>1, 0
		for i := range size {
			h.value |= uint32(h.data[i]) << (8 * i)
		}
		h.data = h.data[size:]
		return true
	}
	// Eight values take as many bytes as one takes bits; the last eight may be cut short.
	groups := head >> 1
	if h.width > 0 {
		groups = min(groups, uint64(len(h.data)+h.width-1)/uint64(h.width))
	}
	size := min(groups*uint64(h.width), uint64(len(h.data)))
	h.packed, h.data = h.data[:size], h.data[size:]
	h.bit, h.left = 0, groups*8
	if h.width > 0 {
		h.left = min(h.left, size*8/uint64(h.width))
	}
	return true
}

// unpack returns the value of width bits, 64 at most, at a bit of the data.
func unpack(data []byte, bit, width int) uint64 {
	var v uint64
	for got := 0; got < width; {
		at := bit + got
		take := min(8-at%8, width-got)
		part := uint64(data[at/8]>>(at%8)) & (1<<take - 1)
		v |= part << got
		got += take
	}
	return v
}

// widthOf is how many bits levels up to most take.
func widthOf(most int32) int { return bits.Len32(uint32(most)) }
