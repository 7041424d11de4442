package google2019

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is a row of a table, whatever the format it is read from: a cell for each column that is used.

// table says which columns a table has. Those that are used come first, and are known by their places; those of a list
// come last of these.
type table struct {
	name    string
	columns []string
	used    int // of columns
	lists   int // how many of those used are of a list
}

// isList reports whether a column that is used is of a list.
func (t *table) isList(column int) bool { return column >= t.used-t.lists && column < t.used }

// cell is a value.
type cell struct {
	kind cellKind
	text []byte  // of texts, and of all values of JSON
	n    int64   // of integers and booleans
	f    float64 // of real numbers
}

type cellKind uint8

const (
	missing cellKind = iota
	text
	integer
	number
)

// row is a row of a table. What is not as it should be leaves an error in the row and reads as zero, so that a whole row
// is read before anybody asks for it.
type row struct {
	table *table
	cells []cell
	lists [][]cell // of the last columns used, all equally long
	file  string
	place int64 // the line, or of Parquet the number of the row
	lines bool  // which of both
	err   *trace.Error
}

func newRow(t *table) *row {
	return &row{table: t, cells: make([]cell, t.used-t.lists), lists: make([][]cell, t.lists)}
}

// clear empties the row, which stands at that place.
func (r *row) clear(place int64) {
	clear(r.cells)
	for i := range r.lists {
		r.lists[i] = r.lists[i][:0]
	}
	r.place, r.err = place, nil
}

// fail says that a column is not what is wanted.
func (r *row) fail(column int, want string, got *cell) {
	if r.err != nil {
		return
	}
	r.err = &trace.Error{File: r.file, At: "column " + r.table.columns[column], Want: want, Got: got.String()}
	if r.lines {
		r.err.Line = int(r.place)
	} else {
		r.err.At = fmt.Sprintf("row %d, %s", r.place, r.err.At)
	}
}

// String is the value for messages.
func (c *cell) String() string {
	switch c.kind {
	case missing:
		return "nothing"
	case integer:
		return strconv.FormatInt(c.n, 10)
	case number:
		return strconv.FormatFloat(c.f, 'g', -1, 64)
	default:
		const few = 40
		if len(c.text) > few {
			return string(c.text[:few]) + "…"
		}
		return string(c.text)
	}
}

// has reports whether the column has a value.
func (r *row) has(column int) bool { return r.cells[column].kind != missing }

// int reads an integer within a span; where there is none it is 0.
func (r *row) int(column int, want string, span [2]int64) int64 {
	c := &r.cells[column]
	if c.kind == missing {
		return 0
	}
	n, ok := c.int()
	if !ok || n < span[0] || n > span[1] {
		r.fail(column, want, c)
		return 0
	}
	return n
}

// need is int of a column that must be there.
func (r *row) need(column int, want string, span [2]int64) int64 {
	if !r.has(column) {
		r.fail(column, want, &r.cells[column])
		return 0
	}
	return r.int(column, want, span)
}

func (c *cell) int() (int64, bool) {
	switch c.kind {
	case integer:
		return c.n, true
	case number:
		n := int64(c.f)
		return n, float64(n) == c.f && math.Abs(c.f) < 1<<53
	case text:
		n, err := strconv.ParseInt(string(c.text), 10, 64)
		return n, err == nil
	default:
		return 0, false
	}
}

// named reads an enumeration: a number, or one of the names, which stand in the order of their numbers.
func (r *row) named(column int, c *cell, what string, names []string) int {
	if c.kind == missing {
		return 0
	}
	if n, ok := c.int(); ok && n >= 0 && n < int64(len(names)) {
		return int(n)
	}
	for n, name := range names {
		if c.kind == text && name == string(c.text) {
			return n
		}
	}
	r.fail(column, fmt.Sprintf("%s: a number from 0 to %d, or a name from %s to %s", what, len(names)-1, names[0], names[len(names)-1]), c)
	return 0
}

// string reads a text; none is empty.
func (r *row) string(column int) []byte {
	c := &r.cells[column]
	if c.kind != text && c.kind != missing {
		r.fail(column, "a text", c)
	}
	return c.text
}

// flag reads a boolean; none is false.
func (r *row) flag(column int) bool {
	c := &r.cells[column]
	switch {
	case c.kind == missing || c.kind == text && string(c.text) == "false":
		return false
	case c.kind == text && string(c.text) == "true":
		return true
	case c.kind != integer || c.n&^1 != 0:
		r.fail(column, "true or false", c)
	}
	return c.n == 1
}

// perUnit is how many quantities make the largest machine.
const perUnit = 1 << 20

// quantity reads what a column says in units of the largest machine; none is 0.
func (r *row) quantity(column int, want string, round trace.Round) int64 {
	c := &r.cells[column]
	v, ok := c.f, true
	switch c.kind {
	case missing:
		return 0
	case integer:
		v = float64(c.n)
	case text:
		var err error
		v, err = strconv.ParseFloat(string(c.text), 64)
		ok = err == nil
	default:
	}
	// The trace has numbers of 32 bits, of which a few digits may have been written.
	v = float64(float32(v)) * perUnit
	if round == trace.Up {
		v = math.Ceil(v)
	} else {
		v = math.Floor(v)
	}
	if !ok || !(v >= 0 && v <= float64(cluster.MaxQuantity)) {
		r.fail(column, want, c)
		return 0
	}
	return int64(v)
}

// rows is a file of a table. Its next row is an *trace.Error where it is broken, after which others may follow; any other
// error is final, and io.EOF the end.
type rows interface {
	next(*row) error
	close() error
	inLines() bool // a place is a line
}

// load reads all rows of a table, each parsed by take, which may leave an error in the row.
func load(t *table, files []string, skips *trace.Skips, take func(*row) error) error {
	count := 0
	r := newRow(t)
	for _, file := range files {
		n, err := loadFile(r, file, skips, take)
		if err != nil {
			return err
		}
		count += n
	}
	if count == 0 && len(files) > 0 {
		return nothing(t, files[0], skips)
	}
	return nil
}

func loadFile(r *row, file string, skips *trace.Skips, take func(*row) error) (count int, err error) {
	in, err := openRows(r.table, file, skips)
	if err != nil {
		return 0, skips.Refuse(err)
	}
	defer func() { err = errors.Join(err, in.close()) }()
	r.file, r.lines = file, in.inLines()
	for {
		err := in.next(r)
		if errors.Is(err, io.EOF) {
			return count, nil
		}
		if err == nil {
			err = take(r)
		}
		if err == nil && r.err != nil {
			err = r.err
		}
		if err == nil {
			count++
		} else if err := skips.Refuse(err); err != nil {
			return count, err
		}
	}
}

// nothing is the error about a table of which no row could be read.
func nothing(t *table, file string, skips *trace.Skips) error {
	for _, first := range skips.First {
		if first.File == file {
			only := *first
			only.Hint = "nothing in the table could be read"
			return &only
		}
	}
	return &trace.Error{File: file, Line: 1, Want: "a row of " + t.name + "; the table is empty", Err: io.ErrUnexpectedEOF}
}
