package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Header says which columns a table may have. Its first line names them, in any
// order.
type Header struct {
	Needed   []string
	Optional []string
}

// Columns are the numbers of a table's columns, from 1, by their names. What an
// optional column that is missing stands for is 0.
type Columns map[string]int

// Table is a file of comma-separated fields whose first line names the columns, perhaps
// compressed with gzip. It is read as it is asked for.
type Table struct {
	lines   *Lines
	skips   *Skips
	columns Columns // nil where no line names them
	fields  int     // of a line
	want    string  // what there is to be one of
	row     Row
	read    bool // a row was
}

// OpenTable reads the line that names the columns. One that is not understood always is an
// error: nothing behind it could be trusted.
func OpenTable(file string, skips *Skips, h Header) (*Table, error) {
	lines, err := OpenLines(file, skips)
	if err != nil {
		return nil, err
	}
	columns, err := h.read(lines)
	if err != nil {
		return nil, errors.Join(err, lines.Close())
	}
	return &Table{lines: lines, skips: skips, columns: columns, fields: len(columns), want: "a row below the line that names the columns"}, nil
}

// Next calls read for the next line that is not empty, and returns io.EOF after the last one; an
// *Error that read returns, most often that of Row.Err, is left out and counted if skips are
// lenient. There must be a line that is read, even then.
func (t *Table) Next(read func(Columns, *Row) error) error {
	for {
		line, err := t.lines.Next()
		if errors.Is(err, io.EOF) && !t.read {
			return t.lines.Missing(t.want)
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		t.row.Split(t.lines, line, t.fields)
		err = read(t.columns, &t.row)
		if err == nil {
			t.read = true
			return nil
		}
		if err := t.skips.Refuse(err); err != nil {
			return err
		}
	}
}

// Close closes the file. It may be called more than once.
func (t *Table) Close() error { return t.lines.Close() }

// ReadTable calls read for each row of a Table.
func ReadTable(file string, skips *Skips, h Header, read func(Columns, *Row) error) error {
	t, err := OpenTable(file, skips, h)
	if err != nil {
		return err
	}
	return t.all(read)
}

// ReadRows is ReadTable of a file whose lines all have the same number of fields, and none names them.
func ReadRows(file string, skips *Skips, fields int, read func(*Row) error) error {
	lines, err := OpenLines(file, skips)
	if err != nil {
		return err
	}
	t := &Table{lines: lines, skips: skips, fields: fields, want: fmt.Sprintf("a row of %d fields", fields)}
	return t.all(func(_ Columns, row *Row) error { return read(row) })
}

// all calls read for each row that is left, and closes the file.
func (t *Table) all(read func(Columns, *Row) error) error {
	defer t.Close() //nolint:errcheck // it was only read
	for {
		err := t.Next(read)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// read reads the line that names the columns.
func (h Header) read(lines *Lines) (Columns, error) {
	line, err := lines.Next()
	if errors.Is(err, io.EOF) {
		return nil, lines.Missing("a line that names the columns")
	}
	if err != nil {
		return nil, err
	}
	columns := Columns{}
	for i, text := range bytes.Split(line, []byte(",")) {
		name := string(text)
		switch known := slices.Concat(h.Needed, h.Optional); {
		case columns[name] > 0:
			return nil, lines.Error(i+1, "each column once", text)
		case !slices.Contains(known, name):
			return nil, lines.Unknown(i+1, "a column", name, known)
		}
		columns[name] = i + 1
	}
	for _, name := range h.Needed {
		if columns[name] == 0 {
			return nil, lines.Error(0, "a column "+name, line)
		}
	}
	return columns, nil
}
