package scheduler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/recording"
)

// A recording that ends as no file can be begun is begun again by a later core, and its bytes are
// counted on.
func TestRecordingBeginsAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	want, header := config.Record{Path: dir}, recording.Header{
		Kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, Lanes: []recording.Lane{{Name: "a", Policy: "kube"}},
	}
	counts := metrics.New(prometheus.NewRegistry())
	var tape tape
	begin := func(first bool) {
		t.Helper()
		if err := tape.begin(want, header, first); err != nil {
			t.Fatal(err)
		}
		tape.keep(t.Context(), &counts.Rounds)
	}
	header.Comment = strings.Repeat("a long comment, ", 100) + dir // the first file is longer than the next
	begin(true)
	header.Comment = ""
	if err := os.Rename(dir, dir+"-gone"); err != nil {
		t.Fatal(err)
	}
	begin(false)
	if tape.writer != nil {
		t.Fatal("records into a folder that is not there")
	}
	begin(false) // which makes the folder
	if files, err := recording.Files(dir); err != nil || len(files) != 1 || tape.bytes == 0 {
		t.Errorf("files %v, %d bytes, error %v", files, tape.bytes, err)
	}
	tape.end(t.Context())
}
