package google2019

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/internal/parquet"
	"fairlead.dev/fairlead/sim/trace"
)

// This file reads rows of Parquet files.

// openRows opens a file of a table, whatever its name: what begins like Parquet is that, and all others are JSON.
func openRows(t *table, file string, skips *trace.Skips) (rows, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	var start [len(parquet.Magic)]byte
	_, _ = f.ReadAt(start[:], 0) // who is shorter is no Parquet
	if string(start[:]) == parquet.Magic {
		p, err := newParquetRows(t, file, f)
		if err != nil {
			return nil, cmp.Or(err, f.Close())
		}
		return p, nil
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	lines, err := trace.OpenLines(file, skips)
	if err != nil {
		return nil, err
	}
	return newJSONRows(t, lines), nil
}

// parquetRows is a Parquet file.
type parquetRows struct {
	name   string
	file   *os.File
	rows   *parquet.Rows
	places []place
	ended  bool // by an error: nothing can be read behind it
}

// place is a column that is used and is there.
type place struct {
	column int
	kind   parquet.Kind
}

func newParquetRows(t *table, name string, file *os.File) (*parquetRows, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	content, err := parquet.Open(file, info.Size())
	if err != nil {
		return nil, inFile(name, err)
	}
	p := &parquetRows{name: name, file: file}
	var read []int
	for i, c := range content.Columns() {
		column := slices.Index(t.columns, c.Name)
		switch {
		case column < 0:
			wrong := &trace.Error{File: name, Want: "a column of " + t.name, Got: c.Name, Hint: "there are " + strings.Join(t.columns, ", ")}
			if near, ok := nearest.Of(c.Name, t.columns); ok {
				wrong.Hint = "did you mean " + near + "?"
			}
			return nil, wrong
		case column >= t.used:
			continue
		case c.Repeated != t.isList(column):
			want := "one value a row"
			if t.isList(column) {
				want = "a list"
			}
			return nil, &trace.Error{File: name, At: "column " + c.Name, Want: want}
		}
		read = append(read, i)
		p.places = append(p.places, place{column, c.Kind})
	}
	if p.rows, err = content.Rows(read); err != nil {
		return nil, inFile(name, err)
	}
	return p, nil
}

// inFile is an error of the Parquet file of that name.
func inFile(name string, err error) error {
	var wrong *parquet.Error
	if !errors.As(err, &wrong) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return &trace.Error{File: name, At: wrong.At, Want: wrong.Want, Got: wrong.Got, Hint: wrong.Hint}
}

func (p *parquetRows) inLines() bool { return false }

func (p *parquetRows) close() error {
	p.rows.Close()
	return p.file.Close()
}

func (p *parquetRows) next(r *row) error {
	if p.ended {
		return io.EOF
	}
	if err := p.rows.Next(); err != nil {
		p.ended = true
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return inFile(p.name, err)
	}
	r.clear(p.rows.Row())
	for i, at := range p.places {
		if !r.table.isList(at.column) {
			r.cells[at.column] = cellOf(p.rows.Value(i), at.kind)
			continue
		}
		list := &r.lists[at.column-len(r.cells)]
		for _, v := range p.rows.Values(i) {
			*list = append(*list, cellOf(v, at.kind))
		}
	}
	longest := 0
	for _, list := range r.lists {
		longest = max(longest, len(list))
	}
	for i := range r.lists {
		for len(r.lists[i]) < longest { // the file has no such column
			r.lists[i] = append(r.lists[i], cell{})
		}
	}
	return nil
}

// cellOf is a value of a column as a cell.
func cellOf(v parquet.Value, kind parquet.Kind) cell {
	switch {
	case v.Null:
		return cell{}
	case kind == parquet.Real:
		return cell{kind: number, f: v.Float()}
	case kind == parquet.Text || kind == parquet.JSON:
		return cell{kind: text, text: v.Text}
	}
	return cell{kind: integer, n: v.Int()}
}
