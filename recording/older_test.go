package recording_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// This file reads what older programs wrote (testdata/README.md says which, and how), as a recording is to be
// readable for as long as somebody may have it.

// olderFile is a recording of an older program, and what is in it.
type olderFile struct {
	name                    string // without version-N- before it and the ending
	calls, decisions, wrong int
	// changed says why the policy decides otherwise today, if it does on purpose; empty: it decides as then.
	changed string
}

func olderFiles() map[int][]olderFile {
	return map[int][]olderFile{
		2: {{name: "kube", calls: 116, decisions: 12, wrong: 52}, {name: "random", calls: 115, decisions: 13, wrong: 52}},
		3: {{name: "kube", calls: 127, decisions: 22, wrong: 57}, {name: "random", calls: 123, decisions: 19, wrong: 60}},
		4: {{name: "kube", calls: 127, decisions: 22, wrong: 57}, {name: "random", calls: 123, decisions: 19, wrong: 60}},
		5: {{name: "kube", calls: 126, decisions: 37, wrong: 50}, {name: "random", calls: 127, decisions: 32, wrong: 48}},
		6: {{name: "kube", calls: 130, decisions: 57, wrong: 59}, {name: "random", calls: 130, decisions: 57, wrong: 59}},
		7: {
			{name: "kube", calls: 128, decisions: 71, wrong: 51},
			{name: "random", calls: 129, decisions: 45, wrong: 56},
			{name: "qos", calls: 101, decisions: 100},
			{name: "quincy", calls: 726, decisions: 120},
		},
		8: {
			{name: "kube", calls: 125, decisions: 90, wrong: 51},
			{name: "random", calls: 125, decisions: 57, wrong: 51},
			{name: "fairlead", calls: 765, decisions: 173},
			{name: "quincy", calls: 726, decisions: 120},
		},
		9: {
			{name: "kube", calls: 133, decisions: 57, wrong: 53},
			{name: "random", calls: 125, decisions: 69, wrong: 53},
			{name: "fairlead", calls: 765, decisions: 173},
			{name: "quincy", calls: 726, decisions: 120},
		},
		10: {
			{name: "kube", calls: 130, decisions: 49, wrong: 46},
			{name: "random", calls: 129, decisions: 55, wrong: 51},
			{name: "fairlead", calls: 765, decisions: 173},
			{name: "quincy", calls: 726, decisions: 120},
		},
	}
}

// TestOlderFiles reads each of them to its end, and replays it: today's policies decide as those of then, unless
// the table says why not.
func TestOlderFiles(t *testing.T) {
	listed := map[string]bool{}
	for version, files := range olderFiles() {
		for _, want := range files {
			name := fmt.Sprintf("version-%d-%s.jsonl.zst", version, want.name)
			listed[name] = true
			t.Run(name, func(t *testing.T) { want.check(t, version, read(t, filepath.Join("testdata", name))) })
		}
	}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); !listed[name] && name != "README.md" && !e.IsDir() {
			t.Errorf("nobody reads testdata/%s", name)
		}
	}
}

// check holds the file to what the table says of it.
func (f *olderFile) check(t *testing.T, version int, data []byte) {
	t.Helper()
	if head := fmt.Sprintf(`{"fairlead":"recording","version":%d,`, version); !strings.HasPrefix(unzip(t, data), head) {
		t.Fatalf("it does not begin with %s", head)
	}
	described, err := recording.Describe(bytes.NewReader(data), f.name)
	if err != nil || described.Cut != "" || described.Calls != f.calls || described.Decisions() != f.decisions {
		t.Fatalf("%d calls with %d decisions are read, cut %q, %v; want %d and %d", described.Calls, described.Decisions(), described.Cut, err, f.calls, f.decisions)
	}
	result, err := recording.Replay(bytes.NewReader(data), f.name, buildOlder)
	switch {
	case err != nil:
		t.Fatal(err)
	case f.changed != "" && result.Difference == nil:
		t.Errorf("it is replayed as it was, though the table says: %s", f.changed)
	case f.changed == "" && result.Difference != nil:
		t.Errorf("the policy decides otherwise; mend it, or say in the table why it is on purpose:\n%v", result.Difference)
	case f.changed == "" && (result.Calls != f.calls || result.Decisions() != f.decisions || result.Wrong != f.wrong):
		t.Errorf("%d calls, %d decisions and %d calls with refused events were replayed; want %d, %d and %d",
			result.Calls, result.Decisions(), result.Wrong, f.calls, f.decisions, f.wrong)
	}
	calls, decisions := 0, 0
	_, err = recording.Follow(bytes.NewReader(data), f.name, buildOlder, func(c *recording.Call, core *sched.Core) {
		if calls, decisions = calls+1, decisions+len(c.Out); core.View().Now() != c.At {
			t.Errorf("the core stands at %v when the call of %v is shown", core.View().Now(), c.At)
		}
	})
	if err != nil || f.changed == "" && (calls != f.calls || decisions != f.decisions) {
		t.Errorf("%d calls with %d decisions were shown, %v; want %d and %d", calls, decisions, err, f.calls, f.decisions)
	}
}

// buildOlder makes the policy of a lane of this package's made-up world, or else that of a simulated run.
func buildOlder(l recording.Lane) (sched.Policy, error) {
	if l.Name == "odd" || l.Name == "rest" {
		return build(l)
	}
	return chosen.Make(policies.All(), &l, policies.Options{})
}
