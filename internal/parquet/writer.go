package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/gzip"
)

// This file writes tables: columns without groups and lists, of which any value may be missing. The same rows give the same
// bytes.

// mostHeld is how many bytes of values are held before a group of rows is written.
const mostHeld = 8 << 20

// Writer writes a table. Its methods write the values of a row in any order, each once, and End ends the row; what was not
// written is missing.
type Writer struct {
	to      io.Writer
	columns []written
	meta    []byte // what the file says about itself, as its footer has it
	metas   int
	groups  []byte // those written, as the footer has them
	counts  [2]int // groups, rows of them
	rows    int    // of this group
	held    int
	at      int64
	packer  *gzip.Writer
	packed  bytes.Buffer
	err     error // the first, which stays
}

// written is a column of the group of rows that is held.
type written struct {
	Column
	values []byte
	runs   []run // of missing and other values
	set    bool  // in this row
	bit    int   // of booleans
}

// run is how many values in a row are missing, or are not.
type run struct {
	there uint32
	count uint64
}

// NewWriter begins a table of these columns, none of which repeats.
func NewWriter(to io.Writer, columns []Column) *Writer {
	w := &Writer{to: to, packer: gzip.NewWriter(nil)}
	for _, c := range columns {
		w.columns = append(w.columns, written{Column: c})
	}
	w.write([]byte(Magic))
	return w
}

// Meta makes the file say something about itself.
func (w *Writer) Meta(key, value string) {
	t := thriftWriter{out: w.meta}
	t.open()
	t.text(1, key)
	t.text(2, value)
	t.close()
	w.meta, w.metas = t.out, w.metas+1
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
		w.at += int64(len(b))
	}
}

// column is the i-th, which is to be of one of these kinds.
func (w *Writer) column(i int, kinds ...Kind) *written {
	c := &w.columns[i]
	for _, k := range kinds {
		if c.Kind == k && !c.set {
			c.set = true
			return c
		}
	}
	panic(fmt.Sprintf("parquet: column %s holds %v; it was given another value, or a second one of its row", c.Name, c.Kind))
}

// Int writes a value of Integer.
func (w *Writer) Int(i int, v int64) {
	c := w.column(i, Integer)
	c.values = binary.LittleEndian.AppendUint64(c.values, uint64(v))
}

// Uint writes a value of Natural.
func (w *Writer) Uint(i int, v uint64) {
	c := w.column(i, Natural)
	c.values = binary.LittleEndian.AppendUint64(c.values, v)
}

// Float writes a value of Real.
func (w *Writer) Float(i int, v float64) {
	c := w.column(i, Real)
	c.values = binary.LittleEndian.AppendUint64(c.values, math.Float64bits(v))
}

// Bool writes a value of Flag.
func (w *Writer) Bool(i int, v bool) {
	c := w.column(i, Flag)
	if c.bit%8 == 0 {
		c.values = append(c.values, 0)
	}
	if v {
		c.values[c.bit/8] |= 1 << (c.bit % 8)
	}
	c.bit++
}

// Text writes a value of Text or JSON.
func (w *Writer) Text(i int, v []byte) {
	c := w.column(i, Text, JSON)
	c.values = binary.LittleEndian.AppendUint32(c.values, uint32(len(v)))
	c.values = append(c.values, v...)
	w.held += len(v)
}

// End ends a row.
func (w *Writer) End() error {
	for i := range w.columns {
		c := &w.columns[i]
		var there uint32
		if c.set {
			there = 1
		}
		if n := len(c.runs); n > 0 && c.runs[n-1].there == there {
			c.runs[n-1].count++
		} else {
			c.runs = append(c.runs, run{there, 1})
		}
		c.set = false
	}
	w.rows++
	if w.held += 8 * len(w.columns); w.held >= mostHeld {
		w.flush()
	}
	return w.err
}

// Close writes what is held and the footer. It does not close the writer below.
func (w *Writer) Close() error {
	if w.rows > 0 {
		w.flush()
	}
	from := w.at
	w.write(w.footer())
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(w.at-from)))
	w.write([]byte(Magic))
	return w.err
}

// flush writes the group of rows that is held.
func (w *Writer) flush() {
	t := thriftWriter{out: w.groups}
	t.open()
	t.list(1, wireStruct, len(w.columns))
	total := int64(0)
	for i := range w.columns {
		total += w.flushColumn(&w.columns[i], &t)
	}
	t.int64(2, total)
	t.int64(3, int64(w.rows))
	t.close()
	w.groups = t.out
	w.counts[0]++
	w.counts[1] += w.rows
	w.rows, w.held = 0, 0
}

// flushColumn writes a column as one page, and what the footer says of it. It returns how many bytes the page has unpacked,
// with its head.
func (w *Writer) flushColumn(c *written, footer *thriftWriter) int64 {
	page := make([]byte, 4, 4+len(c.values))
	for _, r := range c.runs {
		page = binary.AppendUvarint(page, r.count<<1)
		page = append(page, byte(r.there))
	}
	binary.LittleEndian.PutUint32(page, uint32(len(page)-4))
	page = append(page, c.values...)
	w.packed.Reset()
	w.packer.Reset(&w.packed)
	_, _ = w.packer.Write(page) // a buffer takes everything
	_ = w.packer.Close()

	head, from := w.head(len(page)), w.at
	w.write(head)
	w.write(w.packed.Bytes())

	unpacked := int64(len(head) + len(page))
	footer.open()
	footer.int64(2, from)
	footer.group(3)
	footer.int32(1, c.physical())
	footer.list(2, wireInt32, 2)
	footer.zigzag(encodingPlain)
	footer.zigzag(encodingRLE)
	footer.list(3, wireBinary, 1)
	footer.element(c.Name)
	footer.int32(4, gzipped)
	footer.int64(5, int64(w.rows))
	footer.int64(6, unpacked)
	footer.int64(7, w.at-from)
	footer.int64(9, from)
	footer.close()
	footer.close()
	c.values, c.runs, c.bit = c.values[:0], c.runs[:0], 0
	return unpacked
}

// head is what stands before the page that was packed, of so many bytes.
func (w *Writer) head(unpacked int) []byte {
	var t thriftWriter
	t.open()
	t.int32(1, pageData)
	t.int32(2, int32(unpacked))
	t.int32(3, int32(w.packed.Len()))
	t.group(5)
	t.int32(1, int32(w.rows))
	t.int32(2, encodingPlain)
	t.int32(3, encodingRLE)
	t.int32(4, encodingRLE)
	t.close()
	t.close()
	return t.out
}

// footer is the metadata of the file.
func (w *Writer) footer() []byte {
	var t thriftWriter
	t.open()
	t.int32(1, 1)
	t.list(2, wireStruct, len(w.columns)+1)
	t.open()
	t.text(4, "table")
	t.int32(5, int32(len(w.columns)))
	t.close()
	for i := range w.columns {
		c := &w.columns[i]
		t.open()
		t.int32(1, c.physical())
		t.int32(3, optional)
		t.text(4, c.Name)
		switch c.Kind {
		case Text:
			t.int32(6, convertedText)
		case JSON:
			t.int32(6, convertedJSON)
		case Natural:
			t.int32(6, convertedUint64)
		default:
		}
		t.close()
	}
	t.int64(3, int64(w.counts[1]))
	t.list(4, wireStruct, w.counts[0])
	t.out = append(t.out, w.groups...)
	if w.metas > 0 {
		t.list(5, wireStruct, w.metas)
		t.out = append(t.out, w.meta...)
	}
	t.text(6, "fairlead")
	t.close()
	return t.out
}

// physical is the type that the values have in the file.
func (c *written) physical() int32 {
	switch c.Kind {
	case Flag:
		return typeBoolean
	case Real:
		return typeDouble
	case Text, JSON:
		return typeByteArray
	default:
		return typeInt64
	}
}
