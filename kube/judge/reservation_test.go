package judge

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// localVolume is a volume that only the node can mount.
func localVolume(name, node string) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeSpec{
			StorageClassName: "disk", AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Capacity:               v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disk"}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}
}

// One volume, two claims that wait for their consumers: the first pod's reservation takes the volume from the second, until it is given back.
func TestReservedVolumeIsTaken(t *testing.T) {
	objects := storage("first", storagev1.VolumeBindingWaitForFirstConsumer)
	second := unboundClaim("second")
	second.UID = "uid-second"
	objects = append(objects, runtime.Object(second), localVolume("volume", "n1"), namespace("default", "red"))
	judge := newBench(t, objects...).judge
	judge.SetNode(makeNode("n1"))
	judge.SetNode(makeNode("n2"))

	winner, loser := mounting(makePod("winner"), "first"), mounting(makePod("loser"), "second")
	eventually(t, "both pods find the volume", func() bool { return judge.Diagnose(winner) == nil && judge.Diagnose(loser) == nil })
	one, two := mustCase(t, judge, winner), mustCase(t, judge, loser)
	for _, c := range []*Case{one, two} {
		if got := c.Feasible(0); len(got) != 1 || got[0] != "n1" {
			t.Fatalf("pod %s can run on %v, want n1 alone, where the volume is", c.pod.Name, got)
		}
	}
	reservation, status := judge.Reserve(context.Background(), one, winner, "n1")
	if !status.IsSuccess() {
		t.Fatalf("reserving: %s", words(status))
	}
	if status := two.LastWord(loser, "n1"); status.IsSuccess() {
		t.Error("the volume is given to two pods")
	}
	if _, status := judge.Reserve(context.Background(), two, loser, "n1"); status.IsSuccess() {
		t.Error("the volume is reserved for two pods")
	}
	reservation.Unreserve(context.Background())
	if status := two.LastWord(loser, "n1"); !status.IsSuccess() {
		t.Errorf("the volume was given back, but the second pod is refused: %s", words(status))
	}
}

// PreBind runs on another goroutine, writes the volume's claim, and returns when the volume controller, here the test, has bound the two.
func TestPreBindBindsTheVolume(t *testing.T) {
	objects := append(storage("data", storagev1.VolumeBindingWaitForFirstConsumer), localVolume("volume", "n1"), namespace("default", "red"), makeNode("n1"))
	pod := mounting(makePod("p"), "data")
	b := newBench(t, append(objects, pod)...)
	b.judge.SetNode(makeNode("n1"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	eventually(t, "the pod finds the volume", func() bool { return b.judge.Diagnose(pod) == nil })
	reservation, status := b.judge.Reserve(ctx, mustCase(t, b.judge, pod), pod, "n1")
	if !status.IsSuccess() {
		t.Fatalf("reserving: %s", words(status))
	}
	done := make(chan string, 1)
	go func() { done <- words(reservation.PreBind(ctx)) }()
	for {
		volume, err := b.client.CoreV1().PersistentVolumes().Get(ctx, "volume", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if reference := volume.Spec.ClaimRef; reference != nil {
			if reference.Name != "data" {
				t.Fatalf("the volume is written for claim %s, want data", reference.Name)
			}
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	claim := unboundClaim("data")
	claim.Spec.VolumeName = "volume"
	claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	claim.Status.Phase = v1.ClaimBound
	if _, err := b.client.CoreV1().PersistentVolumeClaims("default").Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != "yes" {
		t.Errorf("PreBind: %s", got)
	}
}

// A claim that only one pod may use is refused to a second, and free again when the first has left.
func TestClaimOfOnePod(t *testing.T) {
	claim := unboundClaim("data")
	claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	claim.Spec.VolumeName = "volume"
	claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	claim.Status.Phase = v1.ClaimBound
	judge := newBench(t, claim, localVolume("volume", "n1"), namespace("default", "red")).judge
	judge.SetNode(makeNode("n1"))

	pod := mounting(makePod("p"), "data")
	eventually(t, "the pod finds its claim", func() bool { return judge.Diagnose(pod) == nil })
	c := mustCase(t, judge, pod)
	if status := c.LastWord(pod, "n1"); !status.IsSuccess() {
		t.Fatalf("a free claim: %s", words(status))
	}
	remove := put(t, judge, mounting(makePod("x"), "data"), "n1")
	if status := c.LastWord(pod, "n1"); status.IsSuccess() || status.Plugin() != "VolumeRestrictions" {
		t.Errorf("a claim in use: %s", words(status))
	}
	remove()
	if status := c.LastWord(pod, "n1"); !status.IsSuccess() {
		t.Errorf("a claim that is free again: %s", words(status))
	}
	put(t, judge, mounting(makePod("y"), "data"), "n1")
	judge.RemoveNode("n1")
	if judge.view.IsPVCUsedByPods("default/data") {
		t.Error("the claim is still in use by a pod of a node that is gone")
	}
}

// Nothing is reserved for a plain pod, and its reservation does nothing.
func TestPlainPodNeedsNoReservation(t *testing.T) {
	b := newBench(t, namespace("default", "red"))
	b.judge.SetNode(makeNode("n1"))
	pod := makePod("p")
	c := mustCase(t, b.judge, pod)
	b.client.ClearActions()
	reservation, status := b.judge.Reserve(context.Background(), c, pod, "n1")
	if !status.IsSuccess() || !reservation.PreBind(context.Background()).IsSuccess() {
		t.Error("reserving nothing fails")
	}
	reservation.PostBind(context.Background())
	reservation.Unreserve(context.Background())
	if actions := b.client.Actions(); len(actions) > 0 {
		t.Errorf("reserving nothing spoke to the API server: %v", actions)
	}
}
