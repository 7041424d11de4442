package fairlead_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleOfAPolicy builds the example, which is a module of its own and so sees exported names
// alone, and runs its policies beside one of ours.
func TestExampleOfAPolicy(t *testing.T) {
	if testing.Short() {
		t.Skip("it links another command")
	}
	dir, err := filepath.Abs("examples/custom-policy")
	if err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(t.TempDir(), "custom")
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOWORK=off")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("go", "mod", "tidy", "-diff")
	run("go", "build", "-o", command, ".")
	out := run(command, "simulate", "--cluster", "synthetic:google?nodes=20&tasks-per-node=10", "--until", "2m", "--policy", "cheapest,cheapest-flow,kube", "--tie-break", "lowest")
	for _, policy := range []string{"\ncheapest ", "\ncheapest-flow ", "\nkube "} {
		if !strings.Contains(out, policy) {
			t.Errorf("no row of %q in\n%s", policy, out)
		}
	}
	if out := run(command, "policies"); !strings.Contains(out, "examples/custom-policy") {
		t.Errorf("the policies are not listed:\n%s", out)
	}
}
