package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"fairlead.dev/fairlead/internal/parquet"
	"fairlead.dev/fairlead/sim"
)

// TestParquetTable writes lines of each table, with names in quotes, byte by byte, and wants the values of all fields back.
func TestParquetTable(t *testing.T) {
	for _, tc := range []struct{ flag, csv, want string }{
		{
			"tasks", sim.TasksHeader + "\n" +
				`9223372036854775815,0,"a ""b"", c",3,-9,0.5,12,finish,1,0,0.25,11,n1,` + "\n" + "\"7\",1,,0,0,1,2,waiting,0,1,0,0,,\"x\ny\"\n",
			`9223372036854775815 0 [a "b", c] 3 -9 0.5 12 [finish] 1 0 0.25 11 [n1] -` + "|" + "7 1 - 0 0 1 2 [waiting] 0 1 0 0 - [x\ny]",
		},
		{"placements", "1000000,,7,0,5,1,ann,2,9,0.125,0.0625,,1\n", "1000000 - 7 0 5 1 [ann] 2 9 0.125 0.0625 - 1"},
		{"invoices", sim.InvoicesHeader + "\nclass,ann,gold,1,0,0.5,1,0.5,0,0,0,0,-0.25\n", "[class] [ann] [gold] 1 0 0.5 1 0.5 0 0 0 0 -0.25"},
	} {
		var b bytes.Buffer
		table := newParquetTable(&b, columnsOf(t, tc.flag), tc.flag != "placements")
		for i := range len(tc.csv) {
			if _, err := io.WriteString(table, tc.csv[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.Close(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(rowsOf(t, b.Bytes()), "|"); got != tc.want {
			t.Errorf("%s:\n%s, want\n%s", tc.flag, got, tc.want)
		}
	}
	for _, wrong := range []string{"x,0\n", strings.Repeat("1,", 20) + "1\n"} {
		table := newParquetTable(io.Discard, columnsOf(t, "tasks"), false)
		if _, err := io.WriteString(table, wrong); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
	if columns, _ := tableOf("timeline"); columns != nil {
		t.Error("a timeline is a table")
	}
}

func columnsOf(t *testing.T, flag string) []parquet.Column {
	t.Helper()
	columns, header := tableOf(flag)
	if len(columns) == 0 || header != (flag != "placements") {
		t.Fatalf("%s: %d columns, header %v", flag, len(columns), header)
	}
	return columns
}

// rowsOf is what the rows say, texts in brackets.
func rowsOf(t *testing.T, data []byte) (list []string) {
	t.Helper()
	f, err := parquet.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for i := range f.Columns() {
		all = append(all, i)
	}
	rows, err := f.Rows(all)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for {
		if err := rows.Next(); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		var row []string
		for i, c := range f.Columns() {
			v := rows.Value(i)
			text := "-"
			switch {
			case v.Null:
			case c.Kind == parquet.Natural:
				text = fmt.Sprint(v.Uint())
			case c.Kind == parquet.Integer:
				text = fmt.Sprint(v.Int())
			case c.Kind == parquet.Real:
				text = fmt.Sprint(v.Float())
			default:
				text = "[" + string(v.Text) + "]"
			}
			row = append(row, text)
		}
		list = append(list, strings.Join(row, " "))
	}
}
