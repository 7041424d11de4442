package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/testbed/perf"
)

// TestUpstreamsWorkloads: workloads of upstream's own benchmark run to their end with our scheduler in kube-scheduler's place: five nodes full of
// pods of low priority, most of which leave for five of a higher one, which may have volumes; and pods of groups, each of which has one claim of devices.
func TestUpstreamsWorkloads(t *testing.T) {
	testbed.SkipUnlessBuilt(t)
	skipIfShort(t)
	root, _, err := perf.Configs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		config, name string
		pods         int
		holds        func(*testing.T, kubernetes.Interface)
	}{
		{"default_preemption", "PreemptionBasic/5Nodes", 5, nil},
		{"volumes", "PreemptionPVs/5Nodes", 5, nil},
		{"dra/workloadresourceclaims", "SharedPodGroupResourceClaimTemplate/fast", 10, reservedForGroups},
	} {
		t.Run(test.name, func(t *testing.T) {
			list, err := perf.Load(filepath.Join(root, test.config, "performance-config.yaml"), test.config)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(list, func(w perf.Workload) bool { return w.FullName() == test.name })
			if at < 0 {
				t.Fatalf("upstream's %s has no %s", test.config, test.name)
			}
			bed := bedFor(t, &list[at])
			measured, err := perf.Run(t.Context(), bed, &list[at], perf.Options{Patience: 2 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if len(measured) != 1 || measured[0].Pods != test.pods {
				t.Errorf("measured %+v, want %d pods once", measured, test.pods)
			}
			client, err := bed.Client(testbed.Admin)
			if err != nil {
				t.Fatal(err)
			}
			if test.holds != nil {
				test.holds(t, client)
			}
		})
	}
}

// reservedForGroups: claims are those of the groups, and not of one pod of them.
func reservedForGroups(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	claims, err := client.ResourceV1().ResourceClaims(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(claims.Items) != 10 {
		t.Fatalf("%d claims, want one for each of 10 groups; %v", len(claims.Items), err)
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if by := claim.Status.ReservedFor; claim.Status.Allocation == nil || len(by) != 1 || by[0].Resource != "podgroups" {
			t.Errorf("claim %s is reserved for %+v, want its pod group", claim.Name, by)
		}
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
		err = bed.StartFairlead(t.Context(), build(t), "{schedulerName: default-scheduler, policy: fairlead}", 10_000, "--feature-gates="+w.FeatureGates())
	}
	if err != nil {
		t.Fatal(err)
	}
	return bed
}
