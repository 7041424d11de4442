package cli

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim"
)

// The line never takes more columns than there are, and says as much as fits.
func TestBarFits(t *testing.T) {
	b := &bar{runs: make([]progress, 3)}
	for i, policy := range []string{"kube", "swarm-binpack", "first-fit"} {
		p := sim.Progress{Now: 30 * cluster.Minute, Until: cluster.Hour, Decisions: 1000}
		b.runs[i] = progress{policy: policy, Progress: p, share: 0.5}
	}
	for columns := range 200 {
		if text := b.line(10*time.Second, columns); len(text) > columns {
			t.Errorf("%d columns for %q", columns, text)
		}
	}
	for _, c := range []struct {
		columns int
		want    string
	}{
		{150, "]  50%  kube at 30m0s, swarm-binpack at 30m0s, first-fit at 30m0s  300 decisions/s, 10s left"},
		{90, "]  50%  kube at 30m0s and 2 more  300 decisions/s, 10s left"},
		{70, "]  50%  300 decisions/s, 10s left"},
		{40, "]  50%"},
		{5, " 50%"},
		{3, ""},
	} {
		if got := b.line(10*time.Second, c.columns); !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("in %d columns: %q, want it to end in %q", c.columns, got, c.want)
		}
	}
}

// A sweep's line counts its runs, with those that were done before, and knows the time left though no run has an end of its own.
func TestBarCounts(t *testing.T) {
	b := &bar{runs: make([]progress, 4), counted: 10}
	b.runs[0] = progress{policy: "kube", over: true, share: 1}
	b.runs[1] = progress{policy: "random", Progress: sim.Progress{Now: cluster.Minute, Decisions: 50}}
	if got, want := b.line(10*time.Second, 150), "]  25%  7 of 10 runs  random at 1m0s, 30s left"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want it to end in %q", got, want)
	}
}
