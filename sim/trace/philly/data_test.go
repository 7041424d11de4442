package philly_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/philly"
)

// The figures of this test were computed of the real trace by other means.
func TestData(t *testing.T) {
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		t.Skip("FAIRLEAD_DATA is not set: it names the folder that holds philly")
	}
	s, err := philly.Open(filepath.Join(data, "philly", "philly.csv.gz"), philly.Default())
	if err != nil {
		t.Fatal(err)
	}
	got, users := map[string]int64{}, map[string]bool{}
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
		}
		if r.Task.Gang > 0 && r.Task.Index == 0 {
			got["gangs"]++
		}
		gpus := r.Task.Demand[0] / 1000
		got["GPUs"] += gpus
		got["GPU seconds"] += gpus * int64(r.Task.Work/cluster.Second)
		got["last submission"] = int64(r.Time / cluster.Second)
		users[r.Task.User] = true
	}
	got["virtual clusters"] = int64(len(users))
	want := map[string]int64{
		"nodes": 156, "jobs": 82_247, "pods": 82_755, "gangs": 289, "GPUs": 107_235, "GPU seconds": 3_521_082_502,
		"last submission": 9_408_690, "virtual clusters": 15,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
