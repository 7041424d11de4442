package setup

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/sim/trace"
)

// Nodes of several kinds are asked for by their numbers, and jobs prefer those on which they are faster if that is asked for.
func TestGavelKinds(t *testing.T) {
	for options, want := range map[string]string{
		"kinds=v100":                   "kinds=v100, want kinds of GPUs with numbers of nodes, each once, such as v100:5,k80:5",
		"kinds=v100:0":                 "want kinds of GPUs",
		"kinds=:5":                     "want kinds of GPUs",
		"kinds=v|100:5":                "want kinds of GPUs",
		"kinds=v100:1,v100:1":          "each once",
		"kinds=v100:600000,k80:600000": "at most 1000000 nodes",
		"kinds=v100:1&nodes=2":         "nodes and kinds both say how many nodes there are",
		"kinds=v100:1&prefer=yes":      "prefer=yes, want true or false",
		"prefer=true":                  "want kinds, such as kinds=v100:5,k80:5",
	} {
		if _, err := ParseURL("gavel:FILE?table=TABLE&" + options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", options, err, want)
		}
	}
	s := samples()["gavel"]
	s.source += "&kinds=v100:2&prefer=true&gpus=4"
	url, err := ParseURL(s.place(t, []byte(strings.Join(s.lines, "\n"))))
	if err != nil {
		t.Fatal(err)
	}
	src, err := url.Open(1, false)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close() //nolint:errcheck // it was only read
	nodes := 0
	var r trace.Record
	for src.Next(&r) == nil {
		switch {
		case r.What == trace.NodeAdded:
			nodes++
		case len(r.Task.Speeds) != 1 || r.Task.Prefers != nil: // it is as fast as anywhere
			t.Errorf("job %+v", r.Task)
		}
	}
	if nodes != 2 {
		t.Errorf("%d nodes, want 2", nodes)
	}
}
