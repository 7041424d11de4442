package google2011

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// A table of the trace is a row of part files, which together are in time
// order. Its rows all begin with the time.

// findParts returns the files of a table in the order of their parts: either
// DIR/table-part-00000-of-00500.csv or DIR/table/part-00000-of-00500.csv, and
// either perhaps with .gz. Any parts will do.
func findParts(dir, table string) ([]string, error) {
	flat, err := filepath.Glob(filepath.Join(escape(dir), table+"-part-*"))
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Glob(filepath.Join(escape(dir), table, "part-*"))
	if err != nil {
		return nil, err
	}
	type part struct {
		number int
		file   string
	}
	var parts []part
	name := regexp.MustCompile(`part-(\d+)-of-\d+\.csv(\.gz)?$`)
	for _, file := range slices.Concat(flat, inside) {
		if m := name.FindStringSubmatch(file); m != nil {
			number, err := strconv.Atoi(m[1])
			if err != nil {
				return nil, fmt.Errorf("%s: part number: %w", file, err)
			}
			parts = append(parts, part{number, file})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.number, b.number) })
	var files []string
	for i, p := range parts {
		if i > 0 && parts[i-1].number == p.number {
			return nil, fmt.Errorf("%s and %s are the same part of %s; keep one", parts[i-1].file, p.file, table)
		}
		files = append(files, p.file)
	}
	return files, nil
}

// escape keeps Glob from seeing patterns in the name of a folder.
func escape(dir string) string {
	return regexp.MustCompile(`[*?\[\\]`).ReplaceAllString(dir, `\$0`)
}

// needParts is findParts for a table that must be there.
func needParts(dir, table string) ([]string, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	files, err := findParts(dir, table)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no %s: looked for %s-part-*-of-*.csv, %[2]s/part-*-of-*.csv, and either with .gz", dir, table, table)
	}
	return files, err
}

// table reads the rows of one table, each parsed into an E. The row at the
// head is the next in line; tables are merged by the times of their heads.
type table[E any] struct {
	fields int
	parse  func(*trace.Row, *E)

	head E
	time cluster.Time // of the head; cluster.Never after the last row

	files []string // still to be read
	skips *trace.Skips
	lines *trace.Lines
	empty bool // of lines, so far
	row   trace.Row
}

// next brings the next row to the head.
func (t *table[E]) next() error {
	for {
		line, err := t.line()
		if errors.Is(err, io.EOF) {
			t.time = cluster.Never
			return nil
		}
		if err != nil {
			return err
		}
		t.row.Split(t.lines, line, t.fields)
		// The last moment of all stands for after the end of the trace.
		time := cluster.Time(t.row.Uint(1, "a time in microseconds", math.MaxInt64))
		if time == cluster.Never {
			continue
		}
		if time < t.time {
			t.row.Fail(1, fmt.Sprintf("a time of at least %d, as in the row before", int64(t.time)))
		}
		t.parse(&t.row, &t.head)
		if err := t.row.Err(); err == nil {
			t.time = time
			return nil
		} else if err := t.skips.Refuse(err); err != nil {
			return err
		}
	}
}

// line returns the next line of any part, or io.EOF.
func (t *table[E]) line() ([]byte, error) {
	for {
		if t.lines == nil {
			if len(t.files) == 0 {
				return nil, io.EOF
			}
			lines, err := trace.OpenLines(t.files[0], t.skips)
			if err != nil {
				return nil, err
			}
			t.lines, t.files, t.empty = lines, t.files[1:], true
		}
		line, err := t.lines.Next()
		if !errors.Is(err, io.EOF) {
			t.empty = false
			return line, err
		}
		if t.empty {
			if err := t.skips.Refuse(t.lines.Missing("a row of the table; a part is not empty")); err != nil {
				return nil, err
			}
		}
		if err := t.close(); err != nil {
			return nil, err
		}
	}
}

func (t *table[E]) close() error {
	if t.lines == nil {
		return nil
	}
	err := t.lines.Close()
	t.lines = nil
	return err
}

// optional reads a field that may be empty, which is 0.
func optional(row *trace.Row, field int, want string, most uint64) uint64 {
	if row.Empty(field) {
		return 0
	}
	return row.Uint(field, want, most)
}

// quantity reads a field in units of the largest machine; empty is 0.
func quantity(row *trace.Row, field int, want string, round trace.Round) int64 {
	if row.Empty(field) {
		return 0
	}
	return row.Decimal(field, want, decimals, round)
}

// names keeps one copy of each string.
type names map[string]string

func (n names) of(text []byte) string {
	if s, ok := n[string(text)]; ok {
		return s
	}
	s := string(text)
	n[s] = s
	return s
}
