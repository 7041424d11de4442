package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/internal/parquet"
	"fairlead.dev/fairlead/sim"
)

// This file writes the tables of a run as Parquet where a FILE ends in .parquet. What writes them writes CSV; here its fields
// become values of the columns, and what is empty is missing.

// tableOf is the table that a flag names a file for: its columns, and whether its first line names them. It is nil of any
// other flag.
func tableOf(flag string) (columns []parquet.Column, header bool) {
	var names string
	switch flag {
	case "tasks":
		names = sim.TasksHeader
	case "invoices":
		names = sim.InvoicesHeader
	case "placements": // the columns of Google's task_events
		names = "time,missing_info,job_id,task_index,machine_id,event_type,user,scheduling_class,priority,cpu_request,memory_request,disk_request,different_machines"
	default:
		return nil, false
	}
	for name := range strings.SplitSeq(names, ",") {
		columns = append(columns, parquet.Column{Name: name, Kind: kindOfColumn(flag, name)})
	}
	return columns, flag != "placements"
}

func kindOfColumn(flag, name string) parquet.Kind {
	switch name {
	case "job", "job_id", "machine_id":
		return parquet.Natural
	case "task", "priority", "attempts", "tasks", "credited", "time", "missing_info", "task_index", "event_type", "scheduling_class", "different_machines":
		return parquet.Integer
	case "class":
		if flag == "tasks" { // of an invoice it is a name
			return parquet.Integer
		}
	case "unit_hours", "mean_units", "units", "copies", "urgency", "tier", "credits", "total", "cpu_request", "memory_request", "disk_request":
		return parquet.Real
	}
	if strings.HasSuffix(name, "_s") {
		return parquet.Real
	}
	return parquet.Text
}

// parquetTable takes CSV and writes Parquet.
type parquetTable struct {
	out     *parquet.Writer
	columns []parquet.Column
	header  bool // the line that is read names the columns

	column int
	field  []byte
	quoted bool // within quotes
	closed bool // the last byte closed quotes, or was half of a quote
}

func newParquetTable(to io.Writer, columns []parquet.Column, header bool) *parquetTable {
	return &parquetTable{out: parquet.NewWriter(to, columns), columns: columns, header: header}
}

// Write takes CSV.
func (t *parquetTable) Write(p []byte) (int, error) {
	for _, b := range p {
		was := t.closed
		t.closed = false
		switch {
		case b == '"' && t.quoted:
			t.quoted, t.closed = false, true
		case b == '"':
			t.quoted = true
			if was { // the second of two, which stand for one
				t.field = append(t.field, b)
			}
		case t.quoted || b != ',' && b != '\n':
			t.field = append(t.field, b)
		default:
			if err := t.end(b == '\n'); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// end ends a field, and perhaps the line.
func (t *parquetTable) end(line bool) error {
	if !t.header && len(t.field) > 0 {
		if err := t.put(string(t.field)); err != nil {
			return err
		}
	}
	t.column++
	t.field = t.field[:0]
	if !line {
		return nil
	}
	t.column = 0
	if t.header {
		t.header = false
		return nil
	}
	return t.out.End()
}

// put writes the field into its column.
func (t *parquetTable) put(field string) (err error) {
	if t.column >= len(t.columns) {
		return fmt.Errorf("a line of %d fields or more for %d columns", t.column+1, len(t.columns))
	}
	switch t.columns[t.column].Kind {
	case parquet.Integer:
		var v int64
		if v, err = strconv.ParseInt(field, 10, 64); err == nil {
			t.out.Int(t.column, v)
		}
	case parquet.Natural:
		var v uint64
		if v, err = strconv.ParseUint(field, 10, 64); err == nil {
			t.out.Uint(t.column, v)
		}
	case parquet.Real:
		var v float64
		if v, err = strconv.ParseFloat(field, 64); err == nil {
			t.out.Float(t.column, v)
		}
	default:
		t.out.Text(t.column, []byte(field))
	}
	if err != nil {
		err = fmt.Errorf("column %s: %w", t.columns[t.column].Name, err)
	}
	return err
}

// Close ends the table.
func (t *parquetTable) Close() error { return t.out.Close() }
