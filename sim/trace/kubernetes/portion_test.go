package kubernetes

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/internal/manifest"
)

// TestEndlessObjects reads files that unpack to an object without an end: by a field, by an
// item, and by blanks. Many objects that are long together are read.
func TestEndlessObjects(t *testing.T) {
	long := strings.Repeat(" ", 1<<20)
	object := `{"kind":"List","items":[{"kind":"Secret"},`
	for name, tc := range map[string]struct {
		begin, middle string
		times         int
		want          string
	}{
		"a field":      {`{"kind":"Pod","data":"`, long, 20, "an object or a document of more than 16777216 bytes"},
		"an item":      {object + `{"kind":"`, long, 20, "after 1 objects: want Nodes and Pods as kubectl get -o json prints them: an object or a document of more than 16777216 bytes"},
		"blanks":       {object, long, 20, "an object or a document of more than 16777216 bytes"},
		"many objects": {object + `{"kind":"Secret"}`, `,{"kind":"Secret","data":"` + long + `"}`, 20, "unexpected EOF"},
	} {
		file := filepath.Join(t.TempDir(), "dump.gz")
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for i := range tc.times + 1 {
			text := tc.middle
			if i == 0 {
				text = tc.begin
			}
			if _, err := z.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := readAll(file, func(string, string, *manifest.Object, error) error { return nil })
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want …%s…", name, err, tc.want)
		}
		t.Logf("%s took %d MiB: %.150v", name, (after.TotalAlloc-before.TotalAlloc)>>20, err)
		if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 128 {
			t.Errorf("%s: %d bytes took %d MiB", name, b.Len(), taken)
		}
	}
}
