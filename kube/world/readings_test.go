package world

import (
	"fmt"
	"slices"
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
	b := newBench(t)
	same, sums := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		readings := readings{}
		var latest *v1.Pod
		for i := range 6 {
			pod := drawPod(t, fmt.Sprint("pod-", i))
			if latest != nil && often(t, 2, "like the one before") {
				pod.Spec = *latest.Spec.DeepCopy()
			}
			latest = pod
			if often(t, 2, "plain") {
				pod.Spec = v1.PodSpec{Containers: pod.Spec.Containers[:1], Hostname: pick(t, "hostname", "", "", "a", "b")}
			}
			if often(t, 3, "placed") {
				pod.Spec.NodeName = nodeName(number(t, 3, "on"))
			}
			if often(t, 4, "resized") {
				pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", Resources: &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("7")}}}}
			}
			if owner := pick(t, "owner", "", "", "a"); owner != "" {
				pod.OwnerReferences = []metav1.OwnerReference{{Name: owner, UID: types.UID(owner), Controller: new(true)}}
			}
			p := &Pod{sight: sight{object: pod}}
			before, sum := map[*reading]bool{readings[""]: true, readings["a"]: true}, func(r *reading) any {
				if r == nil {
					return nil
				}
				return r.info.CalculateResource().Resource
			}
			summed := []any{sum(readings[""]), sum(readings["a"])}
			readings.share(p)
			switch {
			case p.reading != nil && before[p.reading]:
				same++
			case p.reading != nil && slices.Contains(summed, sum(p.reading)):
				sums++
			}
			anywhere := *pod
			anywhere.Spec.NodeName = ""
			if got, want := p.localKey(b.judge), b.judge.LocalKey(&anywhere); got != want {
				t.Fatalf("%s has the key %s, upstream's is %s", pod.Name, got, want)
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
				{judge.Requests(got), judge.Requests(want)},
				{got.CalculateResource().Non0CPU, want.CalculateResource().Non0CPU},
				{got.CalculateResource().Non0Mem, want.CalculateResource().Non0Mem},
				{fmt.Sprint(got.RequiredAffinityTerms, got.RequiredAntiAffinityTerms), fmt.Sprint(want.RequiredAffinityTerms, want.RequiredAntiAffinityTerms)},
				{fmt.Sprint(got.PreferredAffinityTerms, got.PreferredAntiAffinityTerms), fmt.Sprint(want.PreferredAffinityTerms, want.PreferredAntiAffinityTerms)},
			} {
				if diff := cmp.Diff(of.want, of.got); diff != "" {
					t.Fatalf("read of %s (-upstream +ours):\n%s", pod.Name, diff)
				}
			}
		}
	})
	if same < 10 || sums < 10 {
		t.Errorf("%d pods shared all, and %d what they request: hardly anything was tested", same, sums)
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
