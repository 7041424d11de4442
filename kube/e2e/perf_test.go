package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/testbed/perf"
)

// TestUpstreamsWorkload: a workload of upstream's own benchmark runs to its end with our scheduler in kube-scheduler's place: five nodes full of
// pods of low priority, most of which leave for five of a higher one.
func TestUpstreamsWorkload(t *testing.T) {
	testbed.SkipUnlessBuilt(t)
	skipIfShort(t)
	root, _, err := perf.Configs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const config, name = "default_preemption", "PreemptionBasic/5Nodes"
	list, err := perf.Load(filepath.Join(root, config, "performance-config.yaml"), config)
	if err != nil {
		t.Fatal(err)
	}
	ran := false
	for i := range list {
		if w := &list[i]; w.FullName() == name {
			ran = true
			measured := runUpstreams(t, w)
			if len(measured) != 1 || measured[0].Pods != 5 {
				t.Errorf("%s measured %+v, want 5 pods once", name, measured)
			}
		}
	}
	if !ran {
		t.Errorf("upstream's %s has no %s", config, name)
	}
}

// TestWorkloadWithoutRoom: pods that fit nowhere make a workload fail once nothing has happened for long, and it says which and why.
func TestWorkloadWithoutRoom(t *testing.T) {
	testbed.SkipUnlessBuilt(t)
	skipIfShort(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "performance-config.yaml")
	if err := os.WriteFile(file, []byte("[{name: Full, workloadTemplate: [{opcode: createPods, count: 3, collectMetrics: true}], workloads: [{name: NoNode}]}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := perf.Load(file, "own")
	if err != nil {
		t.Fatal(err)
	}
	bed := bedFor(t, &list[0])
	measured, err := perf.Run(t.Context(), bed, &list[0], perf.Options{Patience: 5 * time.Second})
	if err == nil || !strings.Contains(err.Error(), "operation 0 (CreatePods): 0 of 3 pods in [namespace-0] were bound") {
		t.Errorf("pods on no node: measured %+v, error %v", measured, err)
	}
}

// bedFor starts a bed for the workload, with our scheduler.
func bedFor(t *testing.T, w *perf.Workload) *testbed.Bed {
	t.Helper()
	bed := testbed.ForTest(t, w.BedOptions())
	err := w.Prepare(t.Context(), bed)
	if err == nil {
		err = testbed.GrantRoles(t.Context(), bed)
	}
	if err == nil {
		err = bed.StartFairlead(t.Context(), build(t), "{schedulerName: default-scheduler, policy: fairlead, evictions: {enabled: true}}", 10_000)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bed
}

func runUpstreams(t *testing.T, w *perf.Workload) []perf.Measured {
	t.Helper()
	measured, err := perf.Run(t.Context(), bedFor(t, w), w, perf.Options{Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return measured
}
