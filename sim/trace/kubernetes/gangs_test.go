package kubernetes

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/sim/trace"
)

// grouped is a node and pods of four groups: two of which pods come together, one of each API; one of which they do not; and one that is not there.
const grouped = `
{kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: "4", pods: "110"}}}
---
{kind: PodGroup, apiVersion: scheduling.k8s.io/v1beta1, metadata: {name: train, namespace: ml}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}
---
{kind: PodGroup, apiVersion: scheduling.k8s.io/v1beta1, metadata: {name: basic, namespace: ml}, spec: {schedulingPolicy: {basic: {}}}}
---
{kind: PodGroup, apiVersion: scheduling.x-k8s.io/v1alpha1, metadata: {name: early, namespace: ml}, spec: {minMember: 3}}
---
{kind: Pod, metadata: {name: a, namespace: ml, ownerReferences: [{kind: Job, name: one, uid: one}]}, spec: {schedulingGroup: {podGroupName: train}}}
---
{kind: Pod, metadata: {name: b, namespace: ml, ownerReferences: [{kind: Job, name: two, uid: two}]}, spec: {schedulingGroup: {podGroupName: train}}}
---
{kind: Pod, metadata: {name: c, namespace: ml, labels: {scheduling.x-k8s.io/pod-group: early}}}
---
{kind: Pod, metadata: {name: d, namespace: ml}, spec: {schedulingGroup: {podGroupName: basic}}}
---
{kind: Pod, metadata: {name: e, namespace: other}, spec: {schedulingGroup: {podGroupName: train}}}
---
{kind: Pod, metadata: {name: f, namespace: ml}, spec: {schedulerName: volcano, nodeName: n1, schedulingGroup: {podGroupName: train}}}
`

// Pods of a group that come together are one job, whoever has made them; those of other groups are as if they had none, but for who made them, and what another scheduler places is none of our business.
func TestGangs(t *testing.T) {
	all, s, err := readText(t, grouped)
	if err != nil {
		t.Fatal(err)
	}
	type of struct {
		job   uint64
		gang  int32
		owner string
	}
	got := map[string]of{}
	for i := range all {
		if r := &all[i]; r.What == trace.TaskSubmitted {
			got[r.Task.Name] = of{r.Task.Job, r.Task.Gang, r.Task.Owner}
		}
	}
	for name, want := range map[string]of{
		"ml/a": {got["ml/b"].job, 2, "ml/podgroup/train"},
		"ml/b": {got["ml/a"].job, 2, "ml/podgroup/train"},
		"ml/c": {got["ml/c"].job, 3, "ml/podgroup/early"},
		"ml/d": {got["ml/d"].job, 0, "ml/podgroup/basic"},
		// Names of groups are those of a namespace.
		"other/e": {got["other/e"].job, 0, "other/pod/e"},
		"ml/f":    {got["ml/f"].job, 0, "ml/pod/f"},
	} {
		if got[name] != want {
			t.Errorf("%s: %+v, want %+v", name, got[name], want)
		}
	}
	jobs := map[uint64]bool{}
	for _, is := range got {
		jobs[is.job] = true
	}
	if len(jobs) != 5 {
		t.Errorf("%d jobs, want 5: %+v", len(jobs), got)
	}
	if notes := strings.Join(s.Notes(), "\n"); !strings.Contains(notes, "1 pods are of pod groups that are not in the files") {
		t.Errorf("notes: %s", notes)
	}
}

// What a group says of where its pods are to stand, and of whose part it is, is not simulated, and said.
func TestWhatOfGroupsIsNotSimulated(t *testing.T) {
	_, s, err := readText(t, `
{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", pods: "110"}}}
---
{kind: PodGroup, apiVersion: scheduling.k8s.io/v1beta1, metadata: {name: near, namespace: ml}, spec: {schedulingConstraints: {topology: [{key: topology.kubernetes.io/zone}]}}}
---
{kind: PodGroup, apiVersion: scheduling.k8s.io/v1beta1, metadata: {name: part, namespace: ml}, spec: {parentCompositePodGroupName: whole, schedulingPolicy: {gang: {minCount: 2}}, schedulingConstraints: {topology: [{key: example.com/rack}]}}}
---
{kind: PodGroup, apiVersion: scheduling.k8s.io/v1beta1, metadata: {name: plain, namespace: ml}, spec: {schedulingConstraints: {}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(s.Notes(), "\n")
	for _, want := range []string{"2 pod groups have schedulingConstraints.topology, which is not simulated", "1 pod groups are parts of composite ones, which are not simulated"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in the notes: %s", want, notes)
		}
	}
}
