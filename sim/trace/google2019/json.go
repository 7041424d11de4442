package google2019

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/sim/trace"
)

// This file reads rows that are lines of JSON, as BigQuery exports them. Every value becomes the text that it is written as,
// as integers stand there as texts, too.

// jsonRows is a file of such lines.
type jsonRows struct {
	lines   *trace.Lines
	table   *table
	columns map[string]int

	text []byte // of the line that is read
	at   int
	path []byte // of the column
	row  *row
	item int // of a list, which was begun
	list bool
}

func newJSONRows(t *table, lines *trace.Lines) *jsonRows {
	j := &jsonRows{lines: lines, table: t, columns: map[string]int{}}
	for i, name := range t.columns {
		j.columns[name] = i
		for group := name; strings.Contains(group, "."); {
			group = group[:strings.LastIndexByte(group, '.')]
			if j.columns[group] = isGroup; t.isList(i) {
				j.columns[group] = isGroupList
			}
		}
	}
	return j
}

// These are the places of what has columns below it, once or any number of times.
const (
	isGroup     = -1
	isGroupList = -2
)

func (j *jsonRows) close() error  { return j.lines.Close() }
func (j *jsonRows) inLines() bool { return true }

func (j *jsonRows) next(r *row) error {
	for {
		line, err := j.lines.Next()
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		if err != nil {
			return err
		}
		r.clear(int64(j.lines.Number()))
		j.text, j.at, j.row, j.path, j.list = line, 0, r, j.path[:0], false
		if j.peek() == 0 {
			if j.at < len(j.text) {
				return j.lines.Error(j.at+1, "a row of "+j.table.name+" as JSON", j.text[j.at:])
			}
			continue // an empty line
		}
		if j.object() && j.peek() != 0 {
			j.fail("the end of the line")
		}
		if r.err != nil {
			return r.err
		}
		return nil
	}
}

// fail says what was wanted where the line is read.
func (j *jsonRows) fail(want string) bool {
	if j.row.err == nil {
		j.row.err = j.lines.Error(j.at+1, want, j.text[min(j.at, len(j.text)):])
	}
	return false
}

// peek skips space and returns the next byte; 0 at the end.
func (j *jsonRows) peek() byte {
	for j.at < len(j.text) && (j.text[j.at] == ' ' || j.text[j.at] == '\t' || j.text[j.at] == '\r') {
		j.at++
	}
	if j.at == len(j.text) {
		return 0
	}
	return j.text[j.at]
}

// object reads an object, whose path is that of the row.
func (j *jsonRows) object() bool {
	if j.peek() != '{' {
		return j.fail("an object {…}")
	}
	j.at++
	if j.peek() == '}' {
		j.at++
		return true
	}
	length := len(j.path)
	for {
		if j.peek() != '"' {
			return j.fail("the name of a column, in quotes")
		}
		name, ok := j.quoted()
		if !ok {
			return false
		}
		if length > 0 {
			j.path = append(j.path, '.')
		}
		j.path = append(j.path, name...)
		if j.peek() != ':' {
			return j.fail("a colon")
		}
		j.at++
		if !j.member() {
			return false
		}
		j.path = j.path[:length]
		switch j.peek() {
		case ',':
			j.at++
		case '}':
			j.at++
			return true
		default:
			return j.fail("a comma or }")
		}
	}
}

// member reads the value of the column of the path.
func (j *jsonRows) member() bool {
	column, known := j.columns[string(j.path)]
	if !known {
		err := j.lines.Error(0, "a column of "+j.table.name, j.path)
		if near, ok := nearest.Of(string(j.path), j.table.columns); ok {
			err.Hint = "did you mean " + near + "?"
		} else {
			err.Hint = "there are " + strings.Join(j.table.columns, ", ")
		}
		if j.row.err == nil {
			j.row.err = err
		}
		return false
	}
	unused := column >= j.table.used
	switch c := j.peek(); {
	case c == '[' && (column == isGroupList || unused || j.table.isList(column)):
		return j.array(column)
	case c == '{' && column == isGroup:
		return j.object()
	case c == '[' || c == '{':
		return j.fail("no list or object in " + string(j.path))
	}
	value, ok := j.scalar()
	switch {
	case !ok:
		return false
	case column < 0 && value.kind != missing:
		return j.fail("an object {…}, or a list of them")
	case column < 0 || unused:
	case j.table.isList(column):
		if !j.list && value.kind != missing {
			return j.fail("a list […]")
		}
		if j.list {
			j.put(column, value)
		}
	default:
		j.row.cells[column] = value
	}
	return true
}

// put adds a value to a list, in which others of the same item may be missing.
func (j *jsonRows) put(column int, value cell) {
	list := &j.row.lists[column-(j.table.used-j.table.lists)]
	for len(*list) < j.item {
		*list = append(*list, cell{})
	}
	if len(*list) == j.item {
		*list = append(*list, value)
	}
}

// array reads a list of objects, or of values that nobody uses.
func (j *jsonRows) array(column int) bool {
	j.at++
	if j.peek() == ']' {
		j.at++
		return true
	}
	if j.list {
		return j.fail("no list within a list")
	}
	j.list, j.item = true, 0
	for {
		var ok bool
		var value cell
		if column == isGroupList {
			ok = j.object()
		} else if value, ok = j.scalar(); ok && j.table.isList(column) {
			j.put(column, value)
		}
		if !ok {
			return false
		}
		j.item++
		switch j.peek() {
		case ',':
			j.at++
		case ']':
			j.at++
			for i := range j.row.lists {
				for column == isGroupList && len(j.row.lists[i]) < j.item {
					j.row.lists[i] = append(j.row.lists[i], cell{})
				}
			}
			j.list = false
			return true
		default:
			return j.fail("a comma or ]")
		}
	}
}

// scalar reads a text, a number, true, false or null.
func (j *jsonRows) scalar() (cell, bool) {
	if j.peek() == '"' {
		value, ok := j.quoted()
		return cell{kind: text, text: value}, ok
	}
	from := j.at
	for j.at < len(j.text) && !strings.ContainsRune(",}] \t\r", rune(j.text[j.at])) {
		j.at++
	}
	word := j.text[from:j.at]
	if string(word) == "null" {
		return cell{}, true
	}
	if len(word) == 0 || !json.Valid(word) || word[0] == '{' || word[0] == '[' {
		j.at = from
		return cell{}, j.fail("a value: a text in quotes, a number, true, false or null")
	}
	return cell{kind: text, text: word}, true
}

// quoted reads a text in quotes.
func (j *jsonRows) quoted() ([]byte, bool) {
	plain := true
	for i := j.at + 1; i < len(j.text); i++ {
		switch c := j.text[i]; {
		case c == '"' && plain:
			value := j.text[j.at+1 : i]
			j.at = i + 1
			return value, true
		case c == '"':
			var value string
			if json.Unmarshal(j.text[j.at:i+1], &value) != nil {
				return nil, j.fail("a text in proper JSON")
			}
			j.at = i + 1
			return []byte(value), true
		case c == '\\':
			plain = false
			i++
		case c < ' ' || c >= utf8.RuneSelf:
			plain = false
		}
	}
	return nil, j.fail("a text with its closing quote")
}
