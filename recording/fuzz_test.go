package recording_test

import (
	"bytes"
	"strings"
	"testing"

	"fairlead.dev/fairlead/recording"
)

// FuzzReplay looks for lines that make a replay panic. What it replays must be
// described alike.
func FuzzReplay(f *testing.F) {
	_, files := record(f, "priority", 3, 10)
	head, rest, _ := strings.Cut(unzip(f, read(f, files[0])), "\n")
	f.Add(head, rest)
	for _, policy := range []string{"kube", "mesos", "sparrow", "bfd"} {
		f.Add(strings.ReplaceAll(head, "priority", policy), rest)
	}
	f.Add(head, strings.ReplaceAll(rest, `"per_node":1`, `"per_node":-1`)) // which the core refuses
	f.Fuzz(func(t *testing.T, head, rest string) {
		if len(head)+len(rest) > 1<<14 {
			t.Skip("long recordings only repeat themselves")
		}
		data := zip(head + "\n" + rest)
		replayed, err := recording.Replay(bytes.NewReader(data), "f", build)
		if err != nil || replayed.Difference != nil {
			return
		}
		if described, err := recording.Describe(bytes.NewReader(data), "f"); err != nil || described.Calls != replayed.Calls || described.Decisions() != replayed.Decisions() {
			t.Errorf("described as %+v, %v; replayed as %+v", described, err, replayed)
		}
	})
}
