package trace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readTable reads columns a, which is needed, and b; it prints a row as a/b.
func readTable(t *testing.T, data []byte, skips *Skips) (rows string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	err = ReadTable(file, skips, Header{Needed: []string{"a"}, Optional: []string{"b"}}, func(c Columns, row *Row) error {
		b := "none"
		if c["b"] > 0 {
			b = string(row.Text(c["b"]))
		}
		a := row.Uint(c["a"], "a number", 9)
		if err := row.Err(); err != nil {
			return err
		}
		rows += fmt.Sprintf("%d/%s ", a, b)
		return nil
	})
	return rows, err
}

func TestReadTable(t *testing.T) {
	for _, c := range []struct{ text, rows, want string }{
		{"a,b\n1,x\n\n2,\r\n", "1/x 2/ ", ""},
		{"b,a\nx,1\n", "1/x ", ""},
		{"a\n1", "1/none ", ""},
		{"a\n", "", "t.csv:2: want a row below the line that names the columns: unexpected EOF"},
		{"a,b\n1,x\ny,x\n3,z\n", "1/x ", `t.csv:3:1: want a number, got "y"`},
		{"a,b\n1,x\n2\n3,z\n", "1/x ", `t.csv:3: want 2 fields between commas, got "1"`},
		{"a\n\n \n", "", "t.csv:4: want a row below the line that names the columns: unexpected EOF"},
		{"a,b\ny,x\n\n3\n", "", `t.csv:2:1: want a number, got "y"`},
		{"", "", "t.csv:1: want a line that names the columns"},
		{"b\n", "", `t.csv:1: want a column a, got "b"`},
		{"a,c\n", "", `t.csv:1:2: want a column, got "c"; there are a, b`},
		{"a,B\n", "", `t.csv:1:2: want a column, got "B"; did you mean b?`},
		{"a,b,a\n", "", `t.csv:1:3: want each column once, got "a"`},
	} {
		rows, err := readTable(t, []byte(c.text), &Skips{})
		if rows != c.rows || (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %q, %v; want %q, %q", c.text, rows, err, c.rows, c.want)
		}
		// Leniently, the lines behind the header count one by one.
		skips := &Skips{Lenient: true}
		rows, err = readTable(t, []byte(c.text), skips)
		if behind := strings.Contains(c.want, "csv:3"); behind && (err != nil || rows != "1/x 3/z " || skips.Count != 1) {
			t.Errorf("%q, lenient: %q, %d left out, %v", c.text, rows, skips.Count, err)
		} else if !behind && (err != nil) != (c.want != "") {
			t.Errorf("%q, lenient: %v, want %q", c.text, err, c.want)
		}
	}
	if rows, err := readTable(t, zipped(t, "a\n7\n"), &Skips{}); rows != "7/none " || err != nil {
		t.Errorf("gzip: %q, %v", rows, err)
	}
	// What is no *Error ends the reading even if lenient.
	stop := errors.New("stop")
	file := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(file, []byte("a\n1\n2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := ReadTable(file, &Skips{Lenient: true}, Header{Needed: []string{"a"}}, func(Columns, *Row) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("got %v, want stop", err)
	}
}
