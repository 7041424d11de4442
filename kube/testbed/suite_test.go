package testbed

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestVerdicts reads what Ginkgo writes: tests that ran, failed or said why they were skipped count, and those that were not selected do not, unless they do not apply to the bed.
func TestVerdicts(t *testing.T) {
	const report = `[{"SpecReports": [
		{"ContainerHierarchyTexts": null, "LeafNodeType": "SynchronizedBeforeSuite", "LeafNodeText": "", "State": "passed"},
		{"ContainerHierarchyTexts": ["[sig-scheduling] B"], "LeafNodeType": "It", "LeafNodeText": "works", "State": "passed", "RunTime": 2000000000},
		{"ContainerHierarchyTexts": ["[sig-scheduling] A", "here"], "LeafNodeType": "It", "LeafNodeText": "fails", "State": "failed", "Failure": {"Message": "why"}},
		{"ContainerHierarchyTexts": ["[sig-scheduling] C"], "LeafNodeType": "It", "LeafNodeText": "needs zones", "State": "skipped", "Failure": {"Message": "one zone"}},
		{"ContainerHierarchyTexts": ["[sig-scheduling] E"], "ContainerHierarchyLabels": [["sig-scheduling", "Feature:OffByDefault"]], "LeafNodeType": "It", "LeafNodeText": "gated", "State": "skipped"},
		{"ContainerHierarchyTexts": ["[sig-node] D"], "LeafNodeType": "It", "LeafNodeText": "other", "State": "skipped"}]}]`
	got, err := verdicts([]byte(report))
	want := []Verdict{
		{"[sig-scheduling] A here fails", "failed", "why", 0},
		{"[sig-scheduling] B works", "passed", "", 2 * time.Second},
		{"[sig-scheduling] C needs zones", "skipped", "one zone", 0},
		{"[sig-scheduling] E gated", LeftOut, GateOff, 0},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, want -, got +:\n%s", err, diff)
	}
	broken := strings.Replace(report, `"State": "passed"}`, `"State": "failed", "Failure": {"Message": "no cluster"}}`, 1)
	if list, err := verdicts([]byte(broken)); err == nil || !strings.Contains(err.Error(), "no cluster") || len(list) != len(want) {
		t.Errorf("a suite that failed around its tests: %v, %v", list, err)
	}
}

// TestSuiteIsOfThisVersion: the suite that judges is that of the Kubernetes whose libraries are linked.
func TestSuiteIsOfThisVersion(t *testing.T) {
	var versions []string
	for _, file := range []string{"../go.mod", "suites/go.mod"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if version, is := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "require "), "k8s.io/kubernetes "); is {
				versions = append(versions, version)
			}
		}
	}
	if len(versions) != 2 || versions[0] != versions[1] {
		t.Errorf("go.mod and suites/go.mod have Kubernetes %q", versions)
	}
}

// TestReallocate: extended resources may be allocated as the capacity says, and no others are touched.
func TestReallocate(t *testing.T) {
	amount := resource.MustParse
	s := corev1.NodeStatus{
		Capacity:    corev1.ResourceList{"cpu": amount("8"), "example.com/new": amount("5"), "example.com/more": amount("3")},
		Allocatable: corev1.ResourceList{"cpu": amount("7"), "example.com/more": amount("2"), "example.com/gone": amount("1")},
	}
	if !reallocate(&s) || reallocate(&s) {
		t.Error("it does not settle")
	}
	want := corev1.ResourceList{"cpu": amount("7"), "example.com/new": amount("5"), "example.com/more": amount("3")}
	if diff := cmp.Diff(want, s.Allocatable); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
