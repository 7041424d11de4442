package cli

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"fairlead.dev/fairlead/sweep"
)

// TestSweepKilled: a sweep that is killed again and again, at moments that chance chooses, ends with the same bytes as one
// that was not, in the set and in the names of what is kept. FAIRLEAD_LONG kills one of 1,000 runs ten times.
func TestSweepKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for seconds")
	}
	seeds, kills := 10, 3
	if os.Getenv("FAIRLEAD_LONG") != "" {
		seeds, kills = 125, 10
	}
	t.Chdir(t.TempDir())
	text := fmt.Sprintf(`spec:
  source: {cluster: 'synthetic:google?nodes=10&tasks-per-node=6'}
  limits: {until: 10m}
policies: [kube, random]
seeds: 1-%d
vary: {source.speedup: [1, 2], world.faults: [{}, {preset: hostile}]}
`, seeds)
	if err := os.WriteFile("study.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(dir string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "fairlead", "sweep", "study.yaml", "--dir", dir, "--table", filepath.Join(dir, "results.parquet"))
	}
	begun := time.Now()
	if out, err := command("whole").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(begun)
	runs := 8 * seeds
	kept := func() int {
		entries, _ := filepath.Glob("killed/runs/*.json")
		return len(entries)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for kill := range kills {
		c := command("killed")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// When so many more are kept, and then a moment that may be in the midst of writing: the last kill is before the end.
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		for want := kept() + random.IntN(runs/(kills+1)); kept() < want && len(ended) == 0; {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		if err := c.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		if err := <-ended; err == nil {
			t.Errorf("kill %d came too late", kill)
		}
		t.Logf("after kill %d, %d runs of %d are kept", kill+1, kept(), runs)
	}
	if out, err := command("killed").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{sweep.SetFile, sweep.ListFile, "results.parquet"} {
		want, err := os.ReadFile(filepath.Join("whole", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("killed", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of the one that was killed has %d bytes, of the other %d, %v", name, len(got), len(want), err)
		}
	}
	if want, got := names(t, "whole/runs"), names(t, "killed/runs"); got != want || len(want) == 0 {
		t.Errorf("the one that was killed has kept\n%s\nand the other\n%s", got, want)
	}
	t.Logf("without a kill it took %v, with %d kills and what was done again %v", took, kills, time.Since(begun)-took)
}

// names are those of the files in a folder, a line each.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list bytes.Buffer
	for _, entry := range entries {
		fmt.Fprintln(&list, entry.Name())
	}
	return list.String()
}

// TestSweepInterrupted: who is asked to end keeps what is done, says so, and how to go on.
func TestSweepInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("study.yaml", []byte("spec: {source: {cluster: 'synthetic:google?nodes=300'}, limits: {until: 1d}}\npolicies: [kube]\nseeds: 1-20\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "fairlead", "sweep", "study.yaml", "--parallel", "1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for range 6000 { // until it has begun
		if _, err := os.Stat("study/" + sweep.ListFile); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // of which the exit code is of interest
	if code := c.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if want := "of 20 runs are kept in study, and the same command does the others"; !bytes.Contains(stderr.Bytes(), []byte(want)) {
		t.Errorf("said %s, want %s", stderr.String(), want)
	}
	if left, _ := filepath.Glob("study/*" + "results*"); len(left) > 0 {
		t.Errorf("there is a set of what is not whole: %q", left)
	}
}
