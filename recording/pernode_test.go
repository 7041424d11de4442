package recording_test

import (
	"bytes"
	"testing"

	"fairlead.dev/fairlead/recording"
)

// TestNegativePerNode: a limit of -1 tasks a node is an event that makes no sense, which a
// recording may hold as any other. It is read, and refused as the live core refused it;
// the task of that shape then has none and waits for nothing.
func TestNegativePerNode(t *testing.T) {
	const text = `{"fairlead":"recording","version":6,"kinds":[{"name":"cpu","per_unit":1}],"lanes":[{"name":"a","policy":"kube","seed":1,"ties":"fixed"}]}
{"call":"step","in":[{"e":"node","node":0,"name":"n","capacity":[4]},{"e":"shape","shape":0,"set":0,"demand":[1],"per_node":-1}]}
{"call":"step","at":1,"in":[{"e":"job","job":0,"name":"j"},{"e":"task","task":0,"seq":1,"job":0,"shape":0}]}
`
	result, err := recording.Replay(bytes.NewReader(zip(text)), "f", build)
	if err != nil || result.Difference != nil || result.Cut != "" || result.Calls != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	if result.Wrong != 2 {
		t.Errorf("%d calls with events that made no sense, want that of the shape and that of its task", result.Wrong)
	}
}
