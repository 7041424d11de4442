package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/mcmf"
	racing "fairlead.dev/fairlead/mcmf/race"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// What our scheduler decided is decided again by a replay of its recording,
// without Kubernetes: of pods that fit and that do not, that ask for other pods,
// that take host ports until a new core has to be begun, and that go.
func TestRecordingReplays(t *testing.T) {
	c := bare(t)
	dir := filepath.Join(t.TempDir(), "recording")
	fairlead := c.start(settings{record: dir})
	c.addNodes(10, "n", "40") // so that pods that fill two of them leave eight for those that keep apart
	c.create(several(60, "plain")...)
	c.create(several(8, "apart", label("app", "apart"), awayFrom("apart", "kubernetes.io/hostname"))...)
	c.awaitBound(time.Minute, 68) // by the first core
	for i := range 12 {           // more than that has columns for
		c.create(newPod(fmt.Sprintf("port-%d", i), hostPort(int32(8000+i))))
	}
	c.create(newPod("large", cpu("100")))
	c.awaitBound(time.Minute, 80)
	c.deletePods()
	c.create(several(20, "later")...)
	c.awaitBound(time.Minute, 20)
	fairlead.stop()
	files, err := recording.Files(dir)
	c.must(err)
	placements := 0
	for _, file := range files {
		result := replay(t, file)
		placements += result.Placements
		if result.Difference != nil || result.Wrong > 0 || result.Cut != "" {
			t.Errorf("%s: %d events that made no sense, cut %q, difference %v", file, result.Wrong, result.Cut, result.Difference)
		}
	}
	if len(files) < 2 || placements < 100 {
		t.Errorf("%d files with %d placements, want a new core's file and 100", len(files), placements)
	}
}

// TestRacesReplay records who won where two solvers race, and decides the same again.
func TestRacesReplay(t *testing.T) {
	c := bare(t)
	dir := filepath.Join(t.TempDir(), "recording")
	fairlead := c.start(settings{record: dir, profile: func(p *config.Profile) {
		p.Policy = chosen.Policy{Name: "cpu-mem", Options: policies.Settings{"solver": policies.Race}}
	}})
	c.addNodes(10, "n", "20")
	for i := range 5 {
		c.create(several(30, fmt.Sprintf("batch-%d", i))...)
	}
	c.awaitBound(time.Minute, 150)
	fairlead.stop()
	files, err := recording.Files(dir)
	c.must(err)
	for _, file := range files {
		if result := replay(t, file); result.Difference != nil || result.Placements < 150 {
			t.Errorf("%s: %d placements, difference %v", file, result.Placements, result.Difference)
		}
	}
	if len(files) == 0 {
		t.Error("nothing was recorded")
	}
}

func replay(t *testing.T, file string) recording.Result {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	result, err := recording.Replay(in, file, func(l recording.Lane) (sched.Policy, error) {
		again := func(g *mcmf.Graph) flow.Solver {
			return racing.Again{Solver: racing.New(g, mcmf.CostScaling), Next: func() (mcmf.Algorithm, bool) {
				won, known := l.Races.Next()
				if !known {
					t.Errorf("%s: a race without a winner", file)
				}
				return won, known
			}}
		}
		return chosen.Make(policies.All(), &l, policies.Options{Racer: again})
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}
