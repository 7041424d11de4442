package parquet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// others are the files of testdata, by their names, that github.com/parquet-go/parquet-go v0.32.0 has written, each with the
// same rows in another compression, encoding or version of pages: of testdata/README.md.
func others(tb testing.TB) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(names) == 0 {
		tb.Fatalf("no files of others: %v", err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		files[filepath.Base(name)] = data
	}
	return files
}

// TestOthers wants the same rows of all files that another implementation has written.
func TestOthers(t *testing.T) {
	for name, data := range others(t) {
		rows, err := read(data, 1000)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want []string
		for i := range 100 {
			want = append(want, other(i))
		}
		if strings.Join(rows, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %d rows, the first %q, want %q", name, len(rows), rows[0], want[0])
		}
	}
}

// other is the i-th row of those files.
func other(i int) string {
	optional, cpus := "-", fmt.Sprint(float64(i)/64)
	if i%3 == 0 {
		optional = fmt.Sprint("text ", i/10)
	}
	var names, values []string
	for k := range i % 4 {
		names = append(names, fmt.Sprint("name", k))
		value := "-"
		if k == 1 {
			value = fmt.Sprint(i)
		}
		values = append(values, value)
	}
	return strings.Join([]string{
		fmt.Sprint(int64(i) * 1_000_000_007 % 1009), fmt.Sprint(i%7 - 3), fmt.Sprint(i%5 == 0), fmt.Sprint("always ", i), optional, cpus, fmt.Sprint(names), fmt.Sprint(values),
	}, " ")
}
