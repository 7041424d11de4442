package experiment

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
)

// TestFittedRowsSaySo: each row of medea-runtime beside a published number says that the
// model was fitted to published ratios, or made up; so does each of its quantiles.
func TestFittedRowsSaySo(t *testing.T) {
	s := &runtimes{policies: []string{withSearch, "j-kube"}, times: map[timed][]float64{}}
	for _, kind := range []string{trainingBusy, trainingQuiet, serving} {
		for _, policy := range s.policies {
			s.add(policy, kind, 1)
		}
	}
	var r report.Reproduction
	s.cardinalities(&r)
	s.storms(&r)
	s.runs(&r)
	if len(r.Compared) != 4+3*(2*2+2) {
		t.Fatalf("%d rows", len(r.Compared))
	}
	for _, row := range r.Compared {
		if !strings.Contains(row.Note, "fitted") && !strings.Contains(row.Note, "made up") {
			t.Errorf("%s: %q says neither", row.What, row.Note)
		}
	}
}
