package world

import (
	"testing"

	"github.com/cockroachdb/datadriven"
)

// A story that says what nobody knows must fail, or it would show nothing.
func TestStoriesRefuseWhatTheyDoNotKnow(t *testing.T) {
	b := newBench(t, makeNamespace("default", "red"))
	for _, wrong := range []struct{ command, input string }{
		{"leap", ""},
		{"step x=5", ""},
		{"step t=soon", ""},
		{"state of=affairs", ""},
		{"state", "node n1"},
		{"why", ""},
		{"why nobody", ""},
		{"step", "moon n1"},
		{"step", "node"},
		{"step", "node n1 speed=5"},
		{"step", "pod p1 speed=5"},
		{"step", "pod p1 spread=app=web@zone"},
		{"step", "pod p1 priority=high"},
		{"step", "started p1"},
		{"step", "lost p1"},
		{"step", "again p1"},
		{"step", "done p1"},
		{"step", "mark-dirty x"},
		{"step", "class c x=y"},
		{"step", "change p1 app=web"},
		{"step", "lost-node n1 x"},
	} {
		name, list, err := datadriven.ParseLine(wrong.command)
		if err != nil {
			t.Fatal(err)
		}
		s := &story{rig: newRig(t, b), lines: map[string]string{}, sent: map[string]flight{}}
		if out, err := s.command(&datadriven.TestData{Cmd: name, CmdArgs: list, Input: wrong.input}); err == nil {
			t.Errorf("%q with %q is no error, and prints %q", wrong.command, wrong.input, out)
		}
	}
	for _, text := range []string{"", "step\n----\n", "# A comment.\n"} {
		if wellFormed(text) == nil {
			t.Errorf("%q is taken for a story", text)
		}
	}
}
