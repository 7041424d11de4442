// Package spill sorts records by time that may not fit in memory: what is too much is written to a temporary file,
// in sorted runs, which are merged when they are read.
//
// Tables of traces come in shards, and those in the order that a database exported them in. A month of a cell is some
// hundred million rows, of which 64 MiB are held at once; the file has the rest.
package spill

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"slices"

	"fairlead.dev/fairlead/internal/heap"
)

const (
	// held is how many bytes are held in memory unless New says otherwise.
	held = 64 << 20
	// perItem is what a record takes beside its bytes.
	perItem = 24
	// buffers is what all buffers take together that runs are read through, and leastBuffer is one of them.
	buffers, leastBuffer = 16 << 20, 1 << 12
)

// Sorter takes records in any order. They come back by time, those of a time by rank, and those of a rank in the order
// in which they were added.
type Sorter struct {
	most  int // bytes held at once
	text  []byte
	items []item
	file  *os.File // nil as long as everything is held
	runs  []run    // of the file
	end   int64
}

// item is a record that is held.
type item struct {
	time     int64
	from, to int32
	rank     uint8
}

// run is a part of the file that is sorted.
type run struct{ from, to int64 }

// New returns an empty sorter, which holds at most so many bytes; 0 is 64 MiB.
func New(most int) *Sorter {
	return &Sorter{most: cmp.Or(min(most, math.MaxInt32/2), held)}
}

// Add adds a record, which is copied. A rank is at most 255.
func (s *Sorter) Add(time int64, rank uint8, record []byte) error {
	if len(s.items) > 0 && len(s.text)+len(record)+perItem*len(s.items) > s.most {
		if err := s.spill(); err != nil {
			return err
		}
	}
	from := len(s.text)
	s.text = append(s.text, record...)
	s.items = append(s.items, item{time: time, rank: rank, from: int32(from), to: int32(len(s.text))})
	return nil
}

// sort sorts what is held.
func (s *Sorter) sort() {
	order := func(a, b item) int {
		// Records were added in the order of their bytes.
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.rank, b.rank), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	}
	if !slices.IsSortedFunc(s.items, order) {
		slices.SortFunc(s.items, order)
	}
}

// spill writes what is held to the file, sorted.
func (s *Sorter) spill() error {
	if s.file == nil {
		file, err := os.CreateTemp("", "fairlead-sort-*")
		if err != nil {
			return err
		}
		// Where an open file can be removed, nothing stays behind even after a crash. Elsewhere Close removes it.
		_ = os.Remove(file.Name())
		s.file = file
	}
	s.sort()
	out := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.end), 1<<18)
	r := run{from: s.end}
	var head []byte
	for _, i := range s.items {
		head = binary.AppendVarint(head[:0], i.time)
		head = append(head, i.rank)
		head = binary.AppendUvarint(head, uint64(i.to-i.from))
		for _, part := range [][]byte{head, s.text[i.from:i.to]} {
			n, err := out.Write(part)
			if s.end += int64(n); err != nil {
				return err
			}
		}
	}
	r.to = s.end
	s.runs = append(s.runs, r)
	s.text, s.items = s.text[:0], s.items[:0]
	return out.Flush()
}

// Close removes the file. It may be called more than once; nothing is read afterwards.
func (s *Sorter) Close() error {
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	err := file.Close()
	if gone := os.Remove(file.Name()); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = cmp.Or(err, gone)
	}
	return err
}

// Reader gives the records in order. Several may read one sorter, to which nothing is added meanwhile.
type Reader struct {
	sorter *Sorter
	at     int // the next item that is held
	runs   heap.Heap[*merged]
	latest *merged // whose record was returned last, and is replaced by its next
}

// merged is a run that is read, with the record at its head.
type merged struct {
	number int // of the run; what is held comes after all runs
	in     *bufio.Reader
	time   int64
	rank   uint8
	record []byte
}

// Before is by time, rank and the order of adding.
func (m *merged) Before(o *merged) bool {
	return cmp.Or(cmp.Compare(m.time, o.time), cmp.Compare(m.rank, o.rank), cmp.Compare(m.number, o.number)) < 0
}

// Read begins to give the records in order.
func (s *Sorter) Read() (*Reader, error) {
	s.sort()
	r := &Reader{sorter: s}
	size := max(leastBuffer, buffers/max(len(s.runs), 1))
	for number, part := range s.runs {
		m := &merged{number: number, in: bufio.NewReaderSize(io.NewSectionReader(s.file, part.from, part.to-part.from), size)}
		if err := r.advance(m); err != nil {
			return nil, err
		}
	}
	return r, r.advance(&merged{number: len(s.runs)})
}

// advance brings the next record of a run to its head, and the run to its place.
func (r *Reader) advance(m *merged) error {
	if m.in == nil {
		if r.at < len(r.sorter.items) {
			i := r.sorter.items[r.at]
			m.time, m.rank, m.record = i.time, i.rank, r.sorter.text[i.from:i.to]
			r.at++
			r.runs.Push(m)
		}
		return nil
	}
	time, err := binary.ReadVarint(m.in)
	if errors.Is(err, io.EOF) {
		return nil
	}
	rank, err1 := m.in.ReadByte()
	length, err2 := binary.ReadUvarint(m.in)
	if err = cmp.Or(err, err1, err2); err != nil {
		return err
	}
	m.time, m.rank = time, rank
	m.record = slices.Grow(m.record[:0], int(length))[:length]
	if _, err := io.ReadFull(m.in, m.record); err != nil {
		return err
	}
	r.runs.Push(m)
	return nil
}

// Next returns the next record and its time, or io.EOF. The record is valid until the next call.
func (r *Reader) Next() (time int64, record []byte, err error) {
	if r.latest != nil {
		m := r.latest
		r.latest = nil
		if err := r.advance(m); err != nil {
			return 0, nil, err
		}
	}
	if len(r.runs) == 0 {
		return 0, nil, io.EOF
	}
	r.latest = r.runs.Pop()
	return r.latest.time, r.latest.record, nil
}
