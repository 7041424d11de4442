package parquet

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	s2snappy "github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// This file reads the pages of a column in a group of rows.

const (
	mostPage       = 256 << 20
	mostHeader     = 1 << 16
	mostDictionary = 1 << 22
	// pageFree and pagePer bound what a page is unpacked to: so many bytes, and so many more for each packed one.
	pageFree, pagePer = 32 << 20, 100
	// roomFree, roomPer and mostRoom bound what all columns hold at a time, likewise by the bytes of the file.
	roomFree, roomPer, mostRoom = 128 << 20, 100, 1 << 30
	// valueSize is how much memory a Value takes.
	valueSize = 40
)

// mostUnpacked is what so many bytes of a page may be unpacked to.
func mostUnpacked(packed int) int64 { return min(mostPage, pageFree+pagePer*int64(packed)) }

// shared is what the columns that are read together share: the memory that they may take, and what unpacks their pages, one
// at a time.
type shared struct {
	held, most int64 // bytes of pages, dictionaries and lists
	unzstd     *zstd.Decoder
}

func newShared(file int64) *shared {
	return &shared{most: min(mostRoom, roomFree+roomPer*file)}
}

// take counts bytes that are about to be held.
func (s *shared) take(n int64) *Error {
	if s.held += n; s.held > s.most {
		return &Error{Want: fmt.Sprintf("pages, dictionaries and lists of all columns that take %d bytes of memory at a time at most", s.most), Got: fmt.Sprint(s.held), Hint: "write the file anew with smaller pages"}
	}
	return nil
}

// pages reads the pages of a chunk one after the other.
type pages struct {
	in         *bufio.Reader
	left       int64 // bytes of the chunk
	chunk      *chunk
	leaf       *leaf
	dictionary []Value

	values    int64 // of the page, still to be read
	rep, def  hybrid
	decoder   decoder
	remaining int64 // values of the chunk, still to be read

	*shared
	holds holds
}

// holds is what a column holds of the memory that all share.
type holds struct {
	all              int64
	dictionary, page int64 // of that: the dictionary, and the page that is read
}

// take counts bytes of the page that is read.
func (p *pages) take(n int64) *Error {
	p.holds.page += n
	p.holds.all += n
	return p.shared.take(n)
}

// release lets go of all pages but the one that is read: no value of others is needed any more.
func (p *pages) release() {
	keep := p.holds.dictionary + p.holds.page
	p.held -= p.holds.all - keep
	p.holds.all = keep
}

// begin begins a chunk.
func (p *pages) begin(in io.ReaderAt, c *chunk) {
	section := io.NewSectionReader(in, c.from, c.size)
	if ahead := int(min(mostHeader, c.size)); p.in == nil || p.in.Size() < ahead {
		p.in = bufio.NewReaderSize(section, ahead)
	} else {
		p.in.Reset(section)
	}
	p.holds.dictionary, p.holds.page = 0, 0
	p.release()
	p.chunk, p.left, p.values, p.remaining, p.dictionary = c, c.size, 0, c.values, nil
}

// pageHeader is what stands before a page.
type pageHeader struct {
	kind             int32
	unpacked, packed int32
	values           int32
	encoding         int32
	repSize, defSize int32 // of version 2
	plain            bool  // not compressed, though the column is
}

// header reads what stands before the next page.
func (p *pages) header() (*pageHeader, *Error) {
	text, _ := p.in.Peek(int(min(mostHeader, p.left)))
	t := &thrift{data: text}
	var h pageHeader
	t.fields(wireStruct, func(id int16, wire byte) {
		switch id {
		case 1:
			h.kind = t.int32(wire)
		case 2:
			h.unpacked = t.int32(wire)
		case 3:
			h.packed = t.int32(wire)
		case 5, 7:
			h.read(t, wire)
		case 8:
			h.readV2(t, wire)
		default:
			t.skip(wire)
		}
	})
	if t.broken {
		return nil, &Error{Want: "the head of a page, of up to 64 KiB", Hint: "the file is damaged"}
	}
	_, _ = p.in.Discard(t.at) // it was peeked at
	p.left -= int64(t.at)
	switch least := int64(h.repSize) + int64(h.defSize); {
	case h.packed < 0 || int64(h.packed) > p.left:
		return nil, &Error{Want: fmt.Sprintf("a page of at most %d bytes, which the column has left", p.left), Got: fmt.Sprint(h.packed)}
	case h.unpacked < 0 || int64(h.unpacked) > mostUnpacked(int(h.packed)):
		return nil, &Error{Want: "a page that unpacks to 256 MiB at most, and to a hundred times its size", Got: fmt.Sprint(h.unpacked), Hint: "write the file anew with smaller pages"}
	case h.values < 0 || h.repSize < 0 || h.defSize < 0 || least > int64(min(h.packed, h.unpacked)):
		return nil, &Error{Want: "the sizes of a page", Hint: "the file is damaged"}
	}
	return &h, nil
}

// read reads what is said of pages of version 1 and of dictionaries.
func (h *pageHeader) read(t *thrift, wire byte) {
	t.fields(wire, func(id int16, wire byte) {
		switch id {
		case 1:
			h.values = t.int32(wire)
		case 2:
			h.encoding = t.int32(wire)
		default:
			t.skip(wire)
		}
	})
}

// readV2 reads what is said of pages of version 2.
func (h *pageHeader) readV2(t *thrift, wire byte) {
	t.fields(wire, func(id int16, wire byte) {
		switch id {
		case 1:
			h.values = t.int32(wire)
		case 4:
			h.encoding = t.int32(wire)
		case 5:
			h.defSize = t.int32(wire)
		case 6:
			h.repSize = t.int32(wire)
		case 7:
			h.plain = !t.bool(wire)
		default:
			t.skip(wire)
		}
	})
}

// turn reads pages up to the next one with values.
func (p *pages) turn() *Error {
	for p.values == 0 {
		if p.left == 0 {
			return &Error{Want: "as many values as there are rows", Hint: "the file is damaged"}
		}
		h, err := p.header()
		if err != nil {
			return err
		}
		p.holds.page, p.decoder, p.rep, p.def = 0, nil, hybrid{}, hybrid{} // which keep the page before in memory
		if p.leaf.maxRep == 0 {                                            // of a list, values of the page before may be those of this row
			p.release()
		}
		if err := p.take(int64(h.packed) + int64(h.unpacked)); err != nil {
			return err
		}
		packed := make([]byte, h.packed)
		if _, err := io.ReadFull(p.in, packed); err != nil {
			return &Error{Want: fmt.Sprintf("a page of %d bytes", h.packed), Hint: err.Error()}
		}
		p.left -= int64(h.packed)
		switch h.kind {
		case pageData:
			err = p.dataV1(h, packed)
		case pageDataV2:
			err = p.dataV2(h, packed)
		case pageDictionary:
			err = p.readDictionary(h, packed)
		default: // an index, which nobody needs
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dataV1 begins a page of version 1, in which levels are packed with the values.
func (p *pages) dataV1(h *pageHeader, packed []byte) *Error {
	data, err := p.unpack(packed, int(h.unpacked))
	if err != nil {
		return err
	}
	for _, level := range []struct {
		most int32
		to   *hybrid
	}{{p.leaf.maxRep, &p.rep}, {p.leaf.maxDef, &p.def}} {
		*level.to = hybrid{}
		if level.most == 0 {
			continue
		}
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return &Error{Want: "levels as long as they say", Hint: "the file is damaged"}
		}
		size := binary.LittleEndian.Uint32(data)
		*level.to = hybrid{data: data[4 : 4+size], width: widthOf(level.most)}
		data = data[4+size:]
	}
	return p.start(h, data)
}

// dataV2 begins a page of version 2, in which levels stand before what is packed.
func (p *pages) dataV2(h *pageHeader, packed []byte) *Error {
	levels := h.repSize + h.defSize
	p.rep = hybrid{data: packed[:h.repSize], width: widthOf(p.leaf.maxRep)}
	p.def = hybrid{data: packed[h.repSize:levels], width: widthOf(p.leaf.maxDef)}
	data := packed[levels:]
	if !h.plain {
		var err *Error
		if data, err = p.unpack(data, int(h.unpacked-levels)); err != nil {
			return err
		}
	}
	return p.start(h, data)
}

func (p *pages) start(h *pageHeader, data []byte) *Error {
	var err *Error
	p.values = int64(h.values)
	p.decoder, err = newDecoder(h.encoding, p.leaf.physical, data, p.dictionary)
	if texts, is := p.decoder.(*deltaText); is && err == nil {
		err = p.take(texts.whole)
	}
	return err
}

func (p *pages) readDictionary(h *pageHeader, packed []byte) *Error {
	switch {
	case h.values > mostDictionary:
		return &Error{Want: fmt.Sprintf("a dictionary of at most %d values", mostDictionary), Got: fmt.Sprint(h.values)}
	case p.dictionary != nil:
		return &Error{Want: "one dictionary in a column of a row group", Hint: "the file is damaged"}
	case int64(h.values) > 8*int64(h.unpacked): // each takes a bit at least
		return &Error{Want: fmt.Sprintf("a dictionary of %d values", h.values), Got: fmt.Sprintf("%d bytes", h.unpacked), Hint: "the file is damaged"}
	}
	if err := p.take(valueSize * int64(h.values)); err != nil {
		return err
	}
	data, err := p.unpack(packed, int(h.unpacked))
	if err != nil {
		return err
	}
	p.dictionary = make([]Value, 0, h.values)
	values := plain{data: data, physical: p.leaf.physical}
	for range h.values {
		v, ok := values.next()
		if !ok {
			return &Error{Want: fmt.Sprintf("a dictionary of %d values", h.values), Got: fmt.Sprint(len(p.dictionary)), Hint: "the file is damaged"}
		}
		p.dictionary = append(p.dictionary, v)
	}
	p.holds.dictionary, p.holds.page = p.holds.page, 0
	return nil
}

// unpack returns what a page holds, so many bytes.
func (p *pages) unpack(packed []byte, size int) ([]byte, *Error) {
	if size == 0 {
		return nil, nil
	}
	var in io.Reader
	var err error
	switch p.chunk.codec {
	case uncompressed:
		in = bytes.NewReader(packed)
	case snappy:
		if n, wrong := s2snappy.DecodedLen(packed); wrong != nil || n != size {
			return nil, &Error{Want: fmt.Sprintf("SNAPPY of %d bytes", size), Got: fmt.Sprint(n), Hint: "the file is damaged"}
		}
		var data []byte
		if data, err = s2snappy.Decode(nil, packed); err == nil {
			return data, nil
		}
	case gzipped:
		in, err = gzip.NewReader(bytes.NewReader(packed))
	case zstandard:
		if p.unzstd == nil {
			p.unzstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(pageFree))
		}
		if err == nil {
			in, err = p.unzstd, p.unzstd.Reset(bytes.NewReader(packed))
		}
	default:
		return nil, &Error{
			Want: "a compression that is read: UNCOMPRESSED, SNAPPY, GZIP or ZSTD", Got: fmt.Sprint(p.chunk.codec),
			Hint: "write the file anew with one of these",
		}
	}
	data := make([]byte, size)
	n := 0
	if err == nil {
		n, err = io.ReadFull(in, data)
	}
	if err == nil {
		var more int
		more, err = io.ReadFull(in, make([]byte, 1))
		n += more
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil || n != size {
		wrong := &Error{Want: fmt.Sprintf("a page that unpacks to %d bytes", size), Got: fmt.Sprint(n), Hint: "the file is damaged"}
		if err != nil {
			wrong.Hint = err.Error()
		}
		return nil, wrong
	}
	return data, nil
}

// triple is a value with its levels.
type triple struct {
	value    Value
	rep, def int32
}

// next returns the next value of the chunk.
func (p *pages) next() (triple, *Error) {
	if p.values == 0 {
		if err := p.turn(); err != nil {
			return triple{}, err
		}
	}
	var v triple
	if p.leaf.maxRep > 0 {
		level, ok := p.rep.next()
		if v.rep = int32(level); !ok || v.rep > p.leaf.maxRep {
			return v, &Error{Want: "a repetition level", Hint: "the file is damaged"}
		}
	}
	if p.leaf.maxDef > 0 {
		level, ok := p.def.next()
		if v.def = int32(level); !ok || v.def > p.leaf.maxDef {
			return v, &Error{Want: "a definition level", Hint: "the file is damaged"}
		}
	}
	v.value.Null = true
	if v.def == p.leaf.maxDef {
		var ok bool
		if v.value, ok = p.decoder.next(); !ok {
			return v, &Error{Want: fmt.Sprintf("%d more values in the page", p.values), Hint: "the file is damaged"}
		}
	}
	p.values--
	p.remaining--
	return v, nil
}
