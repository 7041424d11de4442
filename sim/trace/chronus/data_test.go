package chronus_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/chronus"
)

// The figures of this test were computed of the authors' file by other means.
func TestData(t *testing.T) {
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		t.Skip("FAIRLEAD_DATA is not set: it names the folder that holds philly")
	}
	s, err := chronus.Open(filepath.Join(data, "philly", "chronus-mix2.csv.gz"), chronus.Default())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	var r trace.Record
	for {
		err := s.Next(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.What == trace.NodeAdded {
			got["nodes"]++
			continue
		}
		got["pods"]++
		if r.Task.Index == 0 {
			got["jobs"]++
			got[[]string{"best effort", "strict", "", "", "soft"}[len(r.Task.Due)]]++
		}
	}
	want := map[string]int{"nodes": 240, "jobs": 30_746, "pods": 30_885, "best effort": 3125, "strict": 9211, "soft": 18_410}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if notes := s.Notes(); len(notes) != 1 || notes[0] != "left out 194 jobs without a GPU" {
		t.Error(notes)
	}
}
