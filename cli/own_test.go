package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// mine is a policy from elsewhere: one that is defined by options of its own.
func mine() policies.Info {
	return policies.Info{
		Name: "mine", What: "as its mood is", From: "a test", Family: "own",
		Options: []policies.Option{
			{Name: "mood", Help: "kube or random", Default: "kube", Values: []string{"kube", "random"}},
			{Name: "depth", Help: "how deep it looks", Default: "5"},
		},
		Make: func(o policies.Options) (sched.Policy, error) { return policies.New(o.Own["mood"], o) },
	}
}

// TestOwnPolicy runs the command with a policy from elsewhere: it is listed, its option is a flag
// and a field of the spec, it decides, and its recording replays with what was chosen.
func TestOwnPolicy(t *testing.T) {
	run := func(args ...string) string {
		t.Helper()
		root := newRoot(append(policies.All(), mine()))
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(args)
		if err := root.Execute(); err != nil {
			return "error: " + err.Error()
		}
		return out.String()
	}
	dir := filepath.Join(t.TempDir(), "recorded")
	world := []string{"simulate", "--cluster", "synthetic:google?nodes=20&tasks-per-node=20", "--until", "10m", "--policy", "mine", "--planner-time", "zero"}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"policies"}, "\nmine "},
		{[]string{"simulate", "--help"}, "--mood string"},
		{[]string{"simulate", "--help"}, "how deep it looks (default 5)\n"},
		{append(world, "--depth", "7", "--print-spec"), "    options:\n      depth: 7\n"},
		{append(world, "--mood", "random", "--print-spec"), "  - name: mine\n    options:\n      depth: 5\n      mood: random\n"},
		{append(world, "--mood", "rnadom"), "error: --mood: unknown mood \"rnadom\"; did you mean random?"},
		{append(world, "--mood", "random", "--record", dir), "\nmine "},
		{[]string{"simulate", "--workload", "recording:" + dir}, "decisions identical"},
	} {
		if got := run(tc.args...); !strings.Contains(got, tc.want) {
			t.Errorf("%q says\n%s\nwant %q", tc.args, got, tc.want)
		}
	}
	placed := func(args ...string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "placed.csv")
		run(append(world, append(args, "--placements", file)...)...)
		text, err := os.ReadFile(file)
		if err != nil || len(text) == 0 {
			t.Fatalf("%q placed nothing: %v", args, err)
		}
		return string(text)
	}
	if random := placed("--mood", "random"); random != placed("--policy", "random") || random == placed() {
		t.Error("its mood is not what it decides by")
	}
}

// TestOwnOptionLikeFlag: an option that is called as a flag is refused before the flag is made twice.
func TestOwnOptionLikeFlag(t *testing.T) {
	for _, name := range []string{"until", "seeds", "output", "spec", "cluster", "record", "parallel", "print_spec", "print-spec", "at", "task", "long_running", "lines", "help", "evicted_work"} {
		p := mine()
		p.Options = append(p.Options, policies.Option{Name: name, Help: "how deep"})
		err := checkKnown(append(policies.All(), p))
		if want := "policy mine: an option is called " + name + ", as a flag of 'fairlead "; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := checkKnown(append(policies.All(), mine())); err != nil {
		t.Error(err)
	}
}
