package stream_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/parquet"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/stream"
)

// openAll returns copies of all records of a file of that name.
func openAll(t *testing.T, name string, data []byte) ([]trace.Record, []cluster.Kind, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := stream.Open(file, stream.Options{})
	if err != nil {
		return nil, nil, err
	}
	var records []trace.Record
	for {
		var rec trace.Record
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) {
			return records, r.Kinds(), r.Close()
		}
		if err != nil {
			return records, r.Kinds(), errors.Join(err, r.Close())
		}
		records = append(records, rec.Clone())
	}
}

// TestParquetIsTheSame writes records of all kinds and of odd content as lines and as a table, and wants the same of both.
func TestParquetIsTheSame(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: "example.com/gpu", PerUnit: 1000}}
	for seed := range uint64(10) {
		records := randomRecords(rand.New(rand.NewPCG(seed, 2)), 200)
		var lines, table bytes.Buffer
		if err := stream.Copy(&lines, &all{kinds, records}, &trace.Losses{}); err != nil {
			t.Fatal(err)
		}
		if err := stream.CopyParquet(&table, &all{kinds, records}, &trace.Losses{}); err != nil {
			t.Fatal(err)
		}
		want, _, err := openAll(t, "a.jsonl", lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		got, gotKinds, err := openAll(t, "a.parquet", table.Bytes())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(want, got) + cmp.Diff(kinds, gotKinds); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// handmade is a table as somebody else writes one: without the column event, with real numbers for integers.
func handmade(t *testing.T, header, user string, work float64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b, []parquet.Column{
		{Name: "work", Kind: parquet.Real},
		{Name: "demand.cpu", Kind: parquet.Integer},
		{Name: user, Kind: parquet.Text},
		{Name: "t", Kind: parquet.Integer},
		{Name: "task", Kind: parquet.Integer},
		{Name: "job", Kind: parquet.Integer},
		{Name: "require", Kind: parquet.Text},
	})
	if header != "" {
		w.Meta("fairlead", header)
	}
	for i := range 2 {
		if i == 0 {
			w.Float(0, work)
			w.Int(1, 500)
			w.Text(6, []byte("[[\"zone\",\n\"=\",\"a\"]]"))
		}
		w.Text(2, []byte("a\nb"))
		w.Int(3, int64(i))
		w.Int(4, int64(i))
		w.Int(5, 7)
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestParquetOfOthers(t *testing.T) {
	header := strings.TrimSpace(head)
	got, _, err := openAll(t, "a", handmade(t, strings.Replace(header, ",", ",\n", 1), "user", 60))
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Record{
		{What: trace.TaskSubmitted, Task: trace.Task{
			Job: 7, User: "a\nb", Demand: cluster.Vector{500, 0}, Work: 60,
			Requirements: []cluster.Requirement{{Key: "zone", Value: "a"}},
		}},
		{Time: 1, What: trace.TaskSubmitted, Task: trace.Task{Job: 7, Index: 1, User: "a\nb", Demand: cluster.Vector{0, 0}, Work: cluster.Never}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, tc := range []struct {
		data []byte
		want string
	}{
		{handmade(t, "", "user", 60), `a.parquet: metadata: want the header {"fairlead":"trace","version":7,"kinds":[...]} under the key fairlead`},
		{handmade(t, header, "usr", 60), `a.parquet:2:`},
		{handmade(t, header, "usr", 60), `want a field of submit, got "usr"; did you mean user?`},
		{handmade(t, header, "user", 60.5), `want work in microseconds, got`},
		{[]byte("PAR1 cut short"), "a.parquet: want a Parquet file, which ends with PAR1"},
	} {
		if _, _, err := openAll(t, "a.parquet", tc.data); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got  %v\nwant %s", err, tc.want)
		}
	}
}

// FuzzParquet reads whatever begins and ends like a table without panic.
func FuzzParquet(f *testing.F) {
	var b bytes.Buffer
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "gpu", PerUnit: 1}}
	if err := stream.CopyParquet(&b, &all{kinds, randomRecords(rand.New(rand.NewPCG(1, 3)), 20)}, &trace.Losses{}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "a.parquet")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := stream.Open(file, stream.Options{Lenient: true})
		if err != nil {
			return
		}
		defer r.Close() //nolint:errcheck // it was only read
		var rec trace.Record
		for range 1000 { // a page of a few bytes may stand for any number of rows
			if err := r.Next(&rec); err != nil {
				return
			}
		}
	})
}
