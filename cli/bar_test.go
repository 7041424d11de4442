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
