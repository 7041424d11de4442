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

// ReadTable reads a file of comma-separated fields whose first line names the
// columns, perhaps compressed with gzip. It calls read for each further line
// that is not empty; an *Error that read returns, most often that of Row.Err, is
// left out and counted if skips are lenient. There must be a line that is read,
// even then. A header that is not understood always ends the reading: nothing
// behind it could be trusted.
func ReadTable(file string, skips *Skips, h Header, read func(Columns, *Row) error) error {
	lines, err := OpenLines(file, skips)
	if err != nil {
		return err
	}
	defer lines.Close() //nolint:errcheck // it was only read
	columns, err := h.read(lines)
	if err != nil {
		return err
	}
	return readRows(lines, skips, "a row below the line that names the columns", func(row *Row, line []byte) error {
		row.Split(lines, line, len(columns))
		return read(columns, row)
	})
}

// ReadRows is ReadTable of a file whose lines all have the same number of fields, and none names them.
func ReadRows(file string, skips *Skips, fields int, read func(*Row) error) error {
	lines, err := OpenLines(file, skips)
	if err != nil {
		return err
	}
	defer lines.Close() //nolint:errcheck // it was only read
	return readRows(lines, skips, fmt.Sprintf("a row of %d fields", fields), func(row *Row, line []byte) error {
		row.Split(lines, line, fields)
		return read(row)
	})
}

// readRows reads the lines that are left, of which one at least is to be a row as it is wanted.
func readRows(lines *Lines, skips *Skips, want string, read func(*Row, []byte) error) error {
	var row Row
	for rows := 0; ; {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) && rows == 0 {
			return lines.Missing(want)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		err = read(&row, line)
		if err == nil {
			rows++
		}
		if err := skips.Refuse(err); err != nil {
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
