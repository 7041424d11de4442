package cluster_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

func TestParseRequirement(t *testing.T) {
	for _, tc := range []struct {
		text string
		want cluster.Requirement
		err  string
	}{
		{text: "zone=a", want: cluster.Requirement{Key: "zone", Op: cluster.Equal, Value: "a"}},
		{text: "zone=", want: cluster.Requirement{Key: "zone", Op: cluster.Equal}},
		{text: "zone!=a", want: cluster.Requirement{Key: "zone", Op: cluster.NotEqual, Value: "a"}},
		{text: "cores<8", want: cluster.Requirement{Key: "cores", Op: cluster.Less, Value: "8"}},
		{text: "cores>-1", want: cluster.Requirement{Key: "cores", Op: cluster.Greater, Value: "-1"}},
		{text: "a=b=c", want: cluster.Requirement{Key: "a", Op: cluster.Equal, Value: "b=c"}},
		{text: "", err: "want key=value"},
		{text: "zone", err: "want key=value"},
		{text: "=a", err: "want key=value"},
		{text: "zone!a", err: "! must be followed by ="},
		{text: "cores<many", err: "compares integers"},
		{text: "cores<", err: "compares integers"},
	} {
		got, err := cluster.ParseRequirement(tc.text)
		switch {
		case tc.err != "":
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%q: error %v, want one that says %q", tc.text, err, tc.err)
			}
		case err != nil:
			t.Errorf("%q: %v", tc.text, err)
		case got != tc.want:
			t.Errorf("%q: got %+v, want %+v", tc.text, got, tc.want)
		case got.String() != tc.text:
			t.Errorf("%q prints as %q", tc.text, got)
		}
	}
}

func TestRequirementMatches(t *testing.T) {
	labels := []cluster.Label{{Key: "zone", Value: "a"}, {Key: "cores", Value: "8"}, {Key: "disk", Value: "ssd"}}
	cluster.SortLabels(labels)
	for text, want := range map[string]bool{
		"zone=a": true, "zone=b": false, "zone!=a": false, "zone!=b": true,
		"cores<9": true, "cores<8": false, "cores>7": true, "cores>8": false,
		// A label that is missing is the empty string, or 0 (Google's traces).
		"rack=": true, "rack=r1": false, "rack!=r1": true, "rack!=": false, "rack<1": true, "rack>0": false,
		"disk<1": true, // and so is a label that is no integer
	} {
		r, err := cluster.ParseRequirement(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Matches(labels); got != want {
			t.Errorf("%s matches %v: %v, want %v", text, labels, got, want)
		}
	}
}
