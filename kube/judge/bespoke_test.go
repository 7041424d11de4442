package judge

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A vector of resources and a set of nodes describe a pod, unless its spec says otherwise.
func TestBespoke(t *testing.T) {
	gpu := v1.ResourceName("example.com/gpu")
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: (*string)(&gpu)}}
	judge := newBench(t, class).judge

	fast := makePod("fast")
	fast.Spec.Containers[0].Resources.Requests["example.com/nic"] = resource.MustParse("1")
	device := makePod("device")
	device.Spec.Containers[0].Resources.Requests[gpu] = resource.MustParse("1")
	scratch := makePod("scratch")
	scratch.Spec.Volumes = []v1.Volume{{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	claiming := makePod("claiming")
	claiming.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}}
	for _, test := range []struct {
		pod  *v1.Pod
		want bool
	}{
		{makePod("plain"), false},
		{listening(makePod("port")), false},
		{fast, false},
		{scratch, false},
		{onlyNode(makePod("only"), "n1"), false},
		{away(makePod("away"), "zone", "app=web"), true},
		{spreading(makePod("spread"), "zone", "app=web"), true},
		{mounting(makePod("volume"), "data"), true},
		{claiming, true},
		{device, true},
	} {
		if got := judge.Bespoke(test.pod); got != test.want {
			t.Errorf("pod %s: bespoke is %t, want %t", test.pod.Name, got, test.want)
		}
	}
}

// A pod whose claim does not exist is refused by PreFilter, in words that name the claim.
func TestMissingResourceClaim(t *testing.T) {
	judge := newBench(t, namespace("default", "red")).judge
	judge.SetNode(makeNode("n1"))
	pod := makePod("claiming")
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}}
	if _, status := judge.Case(pod, nil); status.IsSuccess() || status.Plugin() != "DynamicResources" {
		t.Errorf("a missing claim: %s", words(status))
	}
	if got, want := judge.Diagnose(pod).Error(), `0/1 nodes are available: could not find ResourceClaim "default/gpu".`; got != want {
		t.Errorf("the judge says\n%s\nwant\n%s", got, want)
	}
}

// Requests count what NodeResourcesFit counts: overhead, and init containers that do not run at the same time as the rest.
func TestRequests(t *testing.T) {
	pod := makePod("p")
	pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("50m")}
	pod.Spec.InitContainers = []v1.Container{{Name: "first", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("300m"), "example.com/nic": resource.MustParse("2"),
	}}}}
	info, err := NewPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	if got := Requests(info); got.MilliCPU != 350 || got.ScalarResources["example.com/nic"] != 2 {
		t.Errorf("the pod takes %d millicores and %v, want 350 and two nics", got.MilliCPU, got.ScalarResources)
	}
}
