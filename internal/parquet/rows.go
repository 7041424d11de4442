package parquet

import (
	"fmt"
	"io"
)

// This file puts the values of columns together to rows.

// mostValues bounds what a list of a row holds.
const mostValues = 1 << 16

// Rows reads the rows of a file, of some of its columns.
type Rows struct {
	file    *File
	shared  *shared
	columns []reading
	group   int   // the next one
	left    int64 // rows of the group
	row     int64 // of the file, from 1
	err     error // final, once set
}

// reading is a column that is read.
type reading struct {
	index  int
	pages  pages
	values []Value // of the row
	ahead  triple  // the first of the next row, if a list was read up to there
	peeked bool
}

// Rows begins to read rows of these columns, by their places in Columns, which are to be of kinds that are read.
func (f *File) Rows(columns []int) (*Rows, error) {
	r := &Rows{file: f, shared: newShared(f.size), columns: make([]reading, len(columns))}
	for i, c := range columns {
		if f.columns[c].Kind == Other {
			return nil, &Error{At: "column " + f.columns[c].Name, Want: "booleans, integers, real numbers or texts", Got: f.leaves[c].typeName()}
		}
		r.columns[i].index = c
		r.columns[i].pages.leaf, r.columns[i].pages.shared = &f.leaves[c], r.shared
	}
	return r, nil
}

// typeName is what the format calls the type of the column.
func (l *leaf) typeName() string {
	names := [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}
	switch {
	case l.maxRep > 1:
		return "a list of lists"
	case l.physical >= 0 && int(l.physical) < len(names):
		return names[l.physical]
	}
	return "nothing"
}

// Next reads the next row, or returns io.EOF. Any error is final.
func (r *Rows) Next() error {
	for r.err == nil && r.left == 0 {
		if r.group == len(r.file.groups) {
			r.err = io.EOF
			break
		}
		g := &r.file.groups[r.group]
		r.group++
		r.left = g.rows
		for i := range r.columns {
			c := &r.columns[i]
			c.pages.begin(r.file.in, &g.chunks[c.index])
			c.ahead, c.peeked = triple{}, false
		}
	}
	if r.err != nil {
		return r.err
	}
	r.left--
	r.row++
	for i := range r.columns {
		c := &r.columns[i]
		if err := c.next(); err != nil {
			if err.At != "" {
				err.At = ", " + err.At
			}
			err.At = fmt.Sprintf("row %d, column %s%s", r.row, r.file.columns[c.index].Name, err.At)
			r.err = err
			return err
		}
	}
	return nil
}

// next reads the column's values of the next row.
func (c *reading) next() *Error {
	clear(c.values) // which keep their pages in memory
	c.values = c.values[:0]
	c.pages.release()
	first := c.ahead
	if !c.peeked {
		var err *Error
		if first, err = c.pages.next(); err != nil {
			return err
		}
	}
	c.ahead, c.peeked = triple{}, false
	leaf := c.pages.leaf
	if leaf.maxRep == 0 {
		c.values = append(c.values, first.value)
		return nil
	}
	if first.rep != 0 {
		return &Error{Want: "a value that begins a row", Hint: "the file is damaged"}
	}
	if first.def < leaf.listDef {
		return nil // an empty list
	}
	if err := c.add(first.value); err != nil {
		return err
	}
	for c.pages.remaining > 0 {
		v, err := c.pages.next()
		if err != nil {
			return err
		}
		if v.rep == 0 {
			c.ahead, c.peeked = v, true
			return nil
		}
		if err := c.add(v.value); err != nil {
			return err
		}
	}
	return nil
}

// add adds a value to the list of the row. The memory of the longest list stays.
func (c *reading) add(v Value) *Error {
	n := len(c.values)
	if n == mostValues {
		return &Error{Want: fmt.Sprintf("a list of at most %d values", mostValues)}
	}
	if n == cap(c.values) {
		more := max(n, 4)
		if err := c.pages.shared.take(int64(more) * valueSize); err != nil {
			return err
		}
		c.values = append(make([]Value, 0, n+more), c.values...)
	}
	c.values = append(c.values, v)
	return nil
}

// Row is the number of the row that was read last, from 1.
func (r *Rows) Row() int64 { return r.row }

// Value is that of the i-th of the columns, which is not a list, in the row that was read last. It is valid until the next
// row is read.
func (r *Rows) Value(i int) Value { return r.columns[i].values[0] }

// Values are those of the i-th of the columns, a list. They are valid until the next row is read.
func (r *Rows) Values(i int) []Value { return r.columns[i].values }

// Close lets go of what runs beside the reading. It does not close the file.
func (r *Rows) Close() {
	if r.shared.unzstd != nil {
		r.shared.unzstd.Close()
	}
}
