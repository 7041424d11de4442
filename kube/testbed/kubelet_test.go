package testbed

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Nodes, of which one has a running container, leave no process, mount, control group, file
// or setting of the kernel; before, pods are started hot and cold. What they do while they live, kube/e2e shows.
func TestKubeletLeavesNothing(t *testing.T) {
	SkipUnlessContainers(t)
	before := settingsOfKernel(t)
	b, err := Start(t.Context(), Options{Tmpfs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close() // The Close that counts is below.
	k, err := b.StartKubelet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	apart, err := StartKubeletApart(t.Context(), b, "")
	if err != nil {
		t.Fatal(err)
	}
	hot, err := k.MeasureHot(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	cold, err := k.MeasureCold(t.Context(), 1, 32<<20)
	if err != nil {
		t.Fatal(err)
	}
	if hot[0] <= 0 || cold[0] <= 0 { // which is longer, a busy machine has decided
		t.Errorf("a hot start took %s and a cold one %s", hot[0], cold[0])
	}
	pod, err := k.startPod(t.Context(), "stays", SleeperImage)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.awaitBegin(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	for what, traces := range tracesOf(t, k) {
		if len(traces) == 0 && what != "mounts" {
			t.Errorf("while it runs there are no %s: this test looks in the wrong place", what)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	for _, node := range []*Kubelet{k, apart} {
		for what, traces := range tracesOf(t, node) {
			if len(traces) > 0 {
				t.Errorf("%s of %s stayed: %v", what, node.Name, traces)
			}
		}
	}
	if d := cmp.Diff(before, settingsOfKernel(t)); d != "" {
		t.Errorf("settings of the kernel changed (-before +after):\n%s", d)
	}
}

// tracesOf lists what is there of a node. Its mounts are never seen from here.
func tracesOf(t *testing.T, k *Kubelet) map[string][]string {
	t.Helper()
	traces := map[string][]string{"processes": mentioning(t, k.dir)}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	traces["mounts"] = nil
	if strings.Contains(string(mounts), k.dir) {
		traces["mounts"] = []string{k.dir}
	}
	roots, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range append(slices.Collect(maps.Keys(roots)), filepath.Dir(k.dir)) {
		found, _ := filepath.Glob(filepath.Join(root, filepath.Base(k.dir)+"*")) // The pattern is good.
		traces["folders and groups"] = append(traces["folders and groups"], found...)
	}
	return traces
}

func settingsOfKernel(t *testing.T) map[string]string {
	t.Helper()
	settings := map[string]string{}
	for _, folder := range []string{"vm", "kernel", "kernel/keys"} {
		for _, name := range []string{"overcommit_memory", "panic_on_oom", "panic", "panic_on_oops", "root_maxkeys", "root_maxbytes"} {
			path := filepath.Join("/proc/sys", folder, name)
			if value, err := os.ReadFile(path); err == nil {
				settings[path] = string(value)
			}
		}
	}
	if len(settings) == 0 {
		t.Fatal("no settings in /proc/sys")
	}
	return settings
}

// Who cannot is told everything that is missing at once.
func TestCanRunContainersSaysWhatIsMissing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gets past the first question")
	}
	t.Setenv("PATH", t.TempDir())
	err := CanRunContainers(context.Background())
	if err == nil {
		t.Fatal("a machine without programs can run containers")
	}
	for _, want := range []string{"not in PATH: containerd, containerd-shim-runc-v2, ctr, runc, mount, sh", "apt-get install containerd runc"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}
