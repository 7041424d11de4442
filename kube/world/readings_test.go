package world

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/kube/judge"
)

// What a pod shares with the one of its owner that was read before is what upstream reads of it by itself.
func TestSharedReadingsAreUpstreams(t *testing.T) {
	setCases(t, "2000")
	shared := 0
	rapid.Check(t, func(t *rapid.T) {
		readings := readings{}
		for i := range 6 {
			pod := drawPod(t, fmt.Sprint("pod-", i))
			if often(t, 2, "plain") {
				pod.Spec = v1.PodSpec{Containers: pod.Spec.Containers[:1]}
			}
			if often(t, 4, "resized") {
				pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", Resources: &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("7")}}}}
			}
			if owner := pick(t, "owner", "", "", "a"); owner != "" {
				pod.OwnerReferences = []metav1.OwnerReference{{Name: owner, UID: types.UID(owner), Controller: new(true)}}
			}
			p := &Pod{sight: sight{object: pod}}
			readings.share(p)
			if p.info != nil && readings[types.UID("")] != p.info && readings["a"] != p.info {
				shared++
			}
			got, _ := p.read()
			want, _ := judge.NewPod(pod)
			if want == nil {
				want = &framework.PodInfo{Pod: pod}
			}
			if got.Pod != pod {
				t.Fatalf("what was read of %s is of %s", pod.Name, got.Pod.Name)
			}
			for _, of := range []struct{ got, want any }{
				{judge.Requests(got), judge.Requests(want)}, {got.CalculateResource().Non0CPU, want.CalculateResource().Non0CPU}, {got.CalculateResource().Non0Mem, want.CalculateResource().Non0Mem},
				{len(got.RequiredAffinityTerms), len(want.RequiredAffinityTerms)}, {len(got.RequiredAntiAffinityTerms), len(want.RequiredAntiAffinityTerms)},
				{len(got.PreferredAffinityTerms), len(want.PreferredAffinityTerms)}, {len(got.PreferredAntiAffinityTerms), len(want.PreferredAntiAffinityTerms)},
			} {
				if diff := cmp.Diff(of.want, of.got); diff != "" {
					t.Fatalf("read of %s (-upstream +ours):\n%s", pod.Name, diff)
				}
			}
		}
	})
	if shared == 0 {
		t.Error("no two pods shared anything")
	}
}

func TestReadingsAreBounded(t *testing.T) {
	readings := readings{}
	for i := range 3 * mostReadings {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: types.UID(fmt.Sprint(i)), OwnerReferences: []metav1.OwnerReference{{UID: types.UID(fmt.Sprint("owner-", i)), Controller: new(true)}}}}
		readings.share(&Pod{sight: sight{object: pod}})
	}
	if len(readings) > mostReadings {
		t.Errorf("%d readings are kept", len(readings))
	}
}
