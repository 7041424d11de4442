package judge

import (
	"context"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// Upstream makes a claim for extended resources when a pod is prepared for. Where that is ended, and the claim is there all the same, the pod would fit nowhere as long as it is.
func TestReleaseDeletesWhatWasMadeUnknown(t *testing.T) {
	class := deviceClass("gpu", "gpu")
	class.Spec.ExtendedResourceName = new("example.com/gpu")
	pod := makePod("pod")
	pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
	others := claimFor("others", exactly("gpu", "gpu", 1))
	others.ResourceVersion, others.Annotations = "1", map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
	b := newBench(t, namespace("default", "red"), class, offering("n1", kinded("a", "gpu")), others, pod)
	b.judge.SetNode(makeNode("n1"))
	eventually(t, "the pod finds its device", func() bool { return b.judge.Diagnose(pod) == nil })
	b.client.PrependReactor("create", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		claim := action.(clienttesting.CreateAction).GetObject().(*resourcev1.ResourceClaim)
		claim.Name, claim.ResourceVersion = "made", "2"
		if err := b.client.Tracker().Create(action.GetResource(), claim, claim.Namespace); err != nil {
			return true, nil, err
		}
		return true, nil, context.Canceled
	})
	r := mustReserve(t, b.judge, pod, "n1", nil)
	ctx := t.Context()
	if status := r.PreBind(ctx); status.IsSuccess() {
		t.Fatal("PreBind heard that the claim was made")
	}
	names := func() (names []string) {
		list, err := b.client.ResourceV1().ResourceClaims("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names
	}
	if len(names()) != 2 {
		t.Fatalf("there are the claims %v", names())
	}
	if err := r.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if left := names(); len(left) != 1 || left[0] != "others" {
		t.Errorf("the claims %v are left", left)
	}
	eventually(t, "the pod fits again", func() bool { return b.judge.Diagnose(pod) == nil })
}
