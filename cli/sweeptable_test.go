package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fairlead.dev/fairlead/internal/parquet"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sweep"
)

// madeUp keeps a set of made-up runs in a folder: three axes, of which one has no numbers and one has some, and a number that
// one run alone has.
func madeUp(t *testing.T, runs int) sweep.Folder {
	t.Helper()
	folder := sweep.Folder{Dir: t.TempDir()}
	err := folder.Write(t.Context(), sweep.SetFile, func(to io.Writer) error {
		for i := range runs {
			run := report.Run{Setup: report.Setup{Policy: "kube", Seed: uint64(i)}, Tasks: report.Tasks{Submitted: 1000 + i}, Notes: []string{"a note"}}
			if i == 2 {
				run.TaskResponse = &report.Distribution{Mean: 0.125}
			}
			text, err := report.EncodeRun(&run)
			if err != nil {
				return err
			}
			fmt.Fprintf(to, `{"version":1,"index":%d,"key":"k%d","policy":"kube, \"best\"","seed":%d,"values":{"a":"%d.5","b":"{x: %d}","c":"%s"},"spec":{},"run":%s}`+"\n",
				2*i, i, uint64(1<<63)+uint64(i), i, i, []string{"1", "none"}[i%2], text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// padded is a folder whose set has blank lines behind its runs, of more than a GiB.
type padded struct{ sweep.Folder }

// Open opens a file.
func (p padded) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	file, err := p.Folder.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	line := strings.Repeat(" ", 60<<20) + "\n"
	all := []io.Reader{file}
	for range 18 {
		all = append(all, strings.NewReader(line))
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(all...), file}, nil
}

// TestLargeSet prints a set of more than a GiB, of which it holds a line at a time.
func TestLargeSet(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a GiB")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out bytes.Buffer
	if err := printSet(t.Context(), padded{madeUp(t, 3)}, "study", &out); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if !strings.Contains(out.String(), "3 runs: study/results.jsonl") {
		t.Errorf("printed\n%s", &out)
	}
	if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 512 {
		t.Errorf("it took %d MiB", taken)
	}
}

// TestSweepTable: the table has a row a run, as Parquet what it has as CSV, and the same bytes each time.
func TestSweepTable(t *testing.T) {
	folder := madeUp(t, 3)
	paths := map[string]string{}
	for _, name := range []string{"t.csv", "t.parquet", "again.parquet"} {
		paths[name] = filepath.Join(folder.Dir, name)
		if err := writeTable(t.Context(), folder, paths[name]); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(paths[name])
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if !bytes.Equal(read("t.parquet"), read("again.parquet")) {
		t.Error("written twice, the bytes differ")
	}
	lines := strings.Split(strings.TrimSpace(string(read("t.csv"))), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "index,key,policy,seed,a,b,c,") || !strings.HasPrefix(lines[3], `4,k2,"kube, ""best""",9223372036854775810,2.5,{x: 2},1,`) {
		t.Fatalf("the table is\n%s", strings.Join(lines, "\n"))
	}
	names := strings.Split(lines[0], ",")
	data := read("t.parquet")
	file, err := parquet.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]parquet.Kind{}
	for i, c := range file.Columns() {
		if kinds[c.Name] = c.Kind; c.Name != names[i] {
			t.Errorf("column %d is %s, of CSV %s", i, c.Name, names[i])
		}
	}
	for name, want := range map[string]parquet.Kind{
		"index": parquet.Integer, "key": parquet.Text, "policy": parquet.Text, "seed": parquet.Natural,
		"a": parquet.Real, "b": parquet.Text, "c": parquet.Text, "tasks.submitted": parquet.Real, "task_response_s.mean": parquet.Real,
	} {
		if kind, is := kinds[name]; !is || kind != want {
			t.Errorf("column %s: %v, want %v", name, kind, want)
		}
	}
	rows := rowsOf(t, data)
	if len(rows) != 3 {
		t.Fatalf("%d rows", len(rows))
	}
	if want := `2 [k1] [kube, "best"] 9223372036854775809 1.5 [{x: 1}] [none] `; !strings.HasPrefix(rows[1], want) {
		t.Errorf("row 1 is %s, want %s…", rows[1], want)
	}
	for i, want := range []bool{false, false, true} {
		if has := strings.Contains(rows[i], " 0.125 "); has != want {
			t.Errorf("row %d has what one run alone has: %v", i, has)
		}
		if want := fmt.Sprintf(" %d ", 1000+i); !strings.Contains(rows[i], want) {
			t.Errorf("row %d is %s, want the%stasks", i, rows[i], want)
		}
	}
}
