package app

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// customScheduler is the scheduler with a policy of its own: a module elsewhere needs no more.
const customScheduler = `package main

import (
	"os"

	"fairlead.dev/fairlead/kube/app"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
)

func main() {
	os.Exit(app.Main(policies.Info{
		Name: "fullest", What: "priority order; the fullest node", From: "elsewhere", Family: policies.Queue,
		Options: []policies.Option{policies.TieBreak(), {Name: "haste", Values: []string{"some", "much"}, Default: "some"}},
		Make: func(o policies.Options) (sched.Policy, error) {
			return queue.Rules{Order: queue.ByPriority, Score: queue.BinpackScore}.New(queue.Options{Ties: o.Ties, Seed: o.Seed}), nil
		},
	}))
}
`

// TestCustomScheduler builds the scheduler with a policy of its own in a module elsewhere, which sees exported names
// alone, and has it read a configuration whose profile names that policy.
func TestCustomScheduler(t *testing.T) {
	if testing.Short() {
		t.Skip("it links another scheduler")
	}
	kube, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOWORK=off")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	// The same versions of everything, so that the build cache has nearly all of it.
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(kube, name))
		if err != nil {
			t.Fatal(err)
		}
		file(name, text)
	}
	file("main.go", []byte(customScheduler))
	file("given.yaml", []byte("apiVersion: fairlead.dev/v1alpha1\nkind: SchedulerConfiguration\nprofiles: [{policy: {name: fullest, options: {haste: much}}}]\n"))
	run("go", "mod", "edit", "-module=example.com/mine", "-require=fairlead.dev/fairlead/kube@v0.0.0",
		"-replace=fairlead.dev/fairlead/kube="+kube, "-replace=fairlead.dev/fairlead="+filepath.Dir(kube))
	run("go", "build", "-buildvcs=false", "-o", "mine", ".")
	run(filepath.Join(dir, "mine"), "--config", "given.yaml", "--write-config-to", "written.yaml")
	written, err := os.ReadFile(filepath.Join(dir, "written.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(written, []byte("fullest")) || !bytes.Contains(written, []byte("haste: much")) {
		t.Errorf("the policy and its option are not in\n%s", written)
	}
	c := exec.CommandContext(t.Context(), filepath.Join(dir, "mine"), "--config", "bad.yaml", "--write-config-to", "written.yaml")
	c.Dir = dir
	file("bad.yaml", []byte("apiVersion: fairlead.dev/v1alpha1\nkind: SchedulerConfiguration\nprofiles: [{policy: {name: fullest, options: {haste: none}}}]\n"))
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "unknown haste") {
		t.Errorf("a value that the option has not: %v\n%s", err, out)
	}
}
