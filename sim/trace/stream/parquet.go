package stream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/parquet"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is a stream as a Parquet table: a row for each record, and a column for each field that a record may have, by its
// name. Quantities have a column for each kind, such as demand.cpu, and a group demand with a column cpu is the same; what
// is a list or an object in JSON is a text that is that JSON. The column event says which record it is (add, submit, …);
// without it all rows are submissions. The header stands in the file's metadata, under the key fairlead.
//
// A row is read as the line of JSON that it stands for, by the one reader that there is: the line n that an error names is
// the row n-1.

// headerKey is where in the metadata the header stands.
const headerKey = "fairlead"

// field is a column that is not a quantity.
type field struct {
	name string
	kind parquet.Kind
}

// fields are those that any record may have, but for quantities.
func fields() []field {
	var list []field
	for _, of := range []struct {
		kind  parquet.Kind
		names string
	}{
		{parquet.Integer, "t"},
		{parquet.Text, "event"},
		{parquet.Natural, "node job on"},
		{parquet.Integer, "task job_tasks class priority per_node work gang tier weight least"},
		{parquet.Text, "name user promise owner foreign gate"},
		{parquet.Flag, "fails together long_running service unready pinned unowned never_preempts hard arriving frees_unready"},
		{parquet.JSON, "labels groups require prefer input tags budgets due speeds any"},
	} {
		for name := range strings.FieldsSeq(of.names) {
			list = append(list, field{name, of.kind})
		}
	}
	return list
}

// quantities are the fields that have a quantity for each kind, with the events that have them always.
func quantities() map[string]string {
	return map[string]string{"capacity": "add change", "demand": "submit", "used": "usage", "max": ""}
}

// isParquet reports whether a file begins like one.
func isParquet(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false // of a pipe nothing must be missing
	}
	var start [len(parquet.Magic)]byte
	_, err = io.ReadFull(f, start[:])
	return err == nil && string(start[:]) == parquet.Magic
}

// openParquet opens a table as the lines that it stands for.
func openParquet(name string, skips *trace.Skips) (*trace.Lines, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	rows, err := newRowLines(file)
	if err == nil {
		return trace.ReadLines(name, rows, skips), nil
	}
	if wrong, is := errors.AsType[*parquet.Error](err); is {
		err = &trace.Error{File: name, At: wrong.At, Want: wrong.Want, Got: wrong.Got, Hint: wrong.Hint}
	}
	return nil, cmp.Or(err, file.Close())
}

// rowLines reads as the lines of a table.
type rowLines struct {
	file    *os.File
	rows    *parquet.Rows
	columns []rowColumn
	event   int // which of them; -1 if there is none
	line    bytes.Buffer
	err     error
}

// rowColumn is a column as a line has it.
type rowColumn struct {
	column int // of rows
	kind   parquet.Kind
	key    string // of the field, or of the kind in group
	group  string // of a quantity
	json   bool
}

func newRowLines(file *os.File) (*rowLines, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	table, err := parquet.Open(file, info.Size())
	if err != nil {
		return nil, err
	}
	header, known := table.Meta(headerKey)
	if !known {
		return nil, &parquet.Error{At: "metadata", Want: fmt.Sprintf("the header %s under the key %s", wantHeader, headerKey), Hint: "write it with the table, as KV_METADATA of DuckDB's COPY does"}
	}
	r := &rowLines{file: file, event: -1}
	var read []int
	for i, c := range table.Columns() {
		if c.Repeated {
			return nil, &parquet.Error{At: "column " + c.Name, Want: "a text that is JSON", Got: "a list"}
		}
		column := rowColumn{column: len(read), kind: c.Kind, key: c.Name}
		if group, kind, is := strings.Cut(c.Name, "."); is {
			if _, known := quantities()[group]; known {
				column.group, column.key = group, kind
			}
		}
		at := slices.IndexFunc(fields(), func(f field) bool { return f.name == column.key && column.group == "" })
		column.json = at >= 0 && fields()[at].kind == parquet.JSON
		if c.Name == "event" {
			r.event = len(read)
		}
		read = append(read, i)
		r.columns = append(r.columns, column)
	}
	// A group's columns stand together in a line.
	slices.SortStableFunc(r.columns, func(a, b rowColumn) int { return cmp.Compare(a.group, b.group) })
	if r.rows, err = table.Rows(read); err != nil {
		return nil, err
	}
	r.line.WriteString(oneLine(header))
	r.line.WriteByte('\n')
	return r, nil
}

// oneLine is JSON without line ends, which stand between its values alone.
func oneLine(text string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(text) }

// Read reads the lines.
func (r *rowLines) Read(to []byte) (int, error) {
	for r.line.Len() == 0 {
		if r.err == nil {
			r.err = r.rows.Next()
		}
		if r.err != nil {
			return 0, r.err
		}
		r.write()
	}
	return r.line.Read(to)
}

// Close closes the file.
func (r *rowLines) Close() error {
	r.rows.Close()
	return r.file.Close()
}

// write writes the line of the row that was read.
func (r *rowLines) write() {
	event, timed := "submit", ""
	if r.event >= 0 {
		event = string(r.rows.Value(r.event).Text)
	}
	var b []byte
	var group string
	comma := false
	open := func(name string) {
		if group != "" {
			b = append(b, '}')
			comma = true
		}
		if group = name; name != "" {
			b = append(appendKey(b, name, comma), '{')
			comma = false
		}
	}
	for i := range r.columns {
		c := &r.columns[i]
		always := c.group != "" && slices.Contains(strings.Fields(quantities()[c.group]), event)
		if always && group != c.group {
			open(c.group)
		}
		v := r.rows.Value(c.column)
		switch {
		case v.Null || c.key == "event" && c.group == "":
			continue
		case c.key == "t" && c.group == "":
			timed = string(c.value(nil, v))
			continue
		case group != c.group:
			open(c.group)
		}
		b = c.value(appendKey(b, c.key, comma), v)
		comma = true
	}
	open("")
	r.line.WriteByte('{')
	if timed != "" {
		r.line.WriteString(`"t":` + timed + `,`)
	}
	r.line.Write(appendKey(nil, event, false))
	r.line.WriteByte('{')
	r.line.Write(b)
	r.line.WriteString("}}\n")
}

func appendKey(b []byte, key string, comma bool) []byte {
	if comma {
		b = append(b, ',')
	}
	return append(appendQuoted(b, key), ':')
}

func appendQuoted(b []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("trace stream: a string that is not JSON: " + err.Error())
	}
	return append(b, quoted...)
}

// value appends the value as JSON.
func (c *rowColumn) value(b []byte, v parquet.Value) []byte {
	switch c.kind {
	case parquet.Flag:
		return strconv.AppendBool(b, v.Bool())
	case parquet.Integer:
		return strconv.AppendInt(b, v.Int(), 10)
	case parquet.Natural:
		return strconv.AppendUint(b, v.Uint(), 10)
	case parquet.Real:
		// Tools that know no missing integers make real numbers of them.
		const exact = 1 << 53
		if f := v.Float(); f == float64(int64(f)) && f > -exact && f < exact {
			return strconv.AppendInt(b, int64(f), 10)
		}
		return appendQuoted(b, strconv.FormatFloat(v.Float(), 'g', -1, 64)) // which is no integer, as the reader will say
	default:
		if c.json && json.Valid(v.Text) {
			return append(b, oneLine(string(v.Text))...)
		}
		return appendQuoted(b, string(v.Text))
	}
}

// CopyParquet writes all of src as a table. Text that is not UTF-8 is a loss, as of Copy.
func CopyParquet(to io.Writer, src trace.Source, losses *trace.Losses) error {
	t := newTable(to, src.Kinds())
	if err := Copy(t, src, losses); err != nil {
		return err
	}
	return t.out.Close()
}

// table takes the lines of a stream and writes them as rows.
type table struct {
	out     *parquet.Writer
	columns map[string]int
	kinds   []parquet.Kind
	text    []byte // of a line that has not ended
	begun   bool   // the header was taken
}

func newTable(to io.Writer, kinds []cluster.Kind) *table {
	var columns []parquet.Column
	for _, f := range fields() {
		columns = append(columns, parquet.Column{Name: f.name, Kind: f.kind})
	}
	for _, group := range []string{"capacity", "used", "demand", "max"} {
		for _, k := range kinds {
			columns = append(columns, parquet.Column{Name: group + "." + k.Name, Kind: parquet.Integer})
		}
	}
	t := &table{out: parquet.NewWriter(to, columns), columns: map[string]int{}}
	for i, c := range columns {
		t.columns[c.Name] = i
		t.kinds = append(t.kinds, c.Kind)
	}
	return t
}

// Write takes lines.
func (t *table) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	for {
		line, rest, ended := bytes.Cut(t.text, []byte("\n"))
		if !ended {
			t.text = append(t.text[:0], line...)
			return len(p), nil
		}
		if err := t.line(line); err != nil {
			return 0, err
		}
		t.text = rest
	}
}

// line takes a line that a Writer has written.
func (t *table) line(line []byte) error {
	if !t.begun {
		t.begun = true
		t.out.Meta(headerKey, string(line))
		return nil
	}
	var record map[string]json.RawMessage
	if err := json.Unmarshal(line, &record); err != nil {
		return err
	}
	for event, value := range record {
		if event == "t" {
			if err := t.put("t", value); err != nil {
				return err
			}
			continue
		}
		t.out.Text(t.columns["event"], []byte(event))
		var members map[string]json.RawMessage
		if err := json.Unmarshal(value, &members); err != nil {
			return err
		}
		for name, value := range members {
			if err := t.member(name, value); err != nil {
				return err
			}
		}
	}
	return t.out.End()
}

// member writes a field of a record, or the quantities of one.
func (t *table) member(name string, value json.RawMessage) error {
	if _, is := quantities()[name]; !is {
		return t.put(name, value)
	}
	var of map[string]json.RawMessage
	if err := json.Unmarshal(value, &of); err != nil {
		return err
	}
	for kind, value := range of {
		if err := t.put(name+"."+kind, value); err != nil {
			return err
		}
	}
	return nil
}

// put writes a value into its column.
func (t *table) put(name string, value json.RawMessage) error {
	i, known := t.columns[name]
	if !known {
		panic("trace stream: no column of a table is for " + name)
	}
	switch t.kinds[i] {
	case parquet.Integer:
		v, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return err
		}
		t.out.Int(i, v)
	case parquet.Natural:
		v, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil {
			return err
		}
		t.out.Uint(i, v)
	case parquet.Flag:
		t.out.Bool(i, string(value) == "true")
	case parquet.Text:
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return err
		}
		t.out.Text(i, []byte(text))
	default:
		t.out.Text(i, value)
	}
	return nil
}
