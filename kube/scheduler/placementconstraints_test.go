package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

// constraining has the API server serve constraints, and these be there.
func constraining(client *dynamic.Interface, objects ...runtime.Object) func(*Options) {
	return func(o *Options) {
		of := PlacementConstraints()
		*client = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			of[0]: "PlacementConstraintList", of[1]: "ClusterPlacementConstraintList", of[2]: "NodeGroupList",
		}, objects...)
		o.PlacementConstraints = *client
	}
}

// own is an object of ours, in the pods' namespace if its kind has one.
func own(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: fairlead.dev/v1alpha1, kind: %s, metadata: {name: %s, uid: uid-%s, generation: 1}, spec: %s}", kind, name, name, spec)
	if err := kyaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	if kind == "PlacementConstraint" {
		u.SetNamespace("default")
	}
	return u
}

// stands is what the status of a constraint says.
func (b *bubble) stands(client dynamic.Interface, name string) string {
	b.t.Helper()
	u, err := client.Resource(PlacementConstraints()[0]).Namespace("default").Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	c := &v1alpha1.PlacementConstraint{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, c); err != nil {
		b.t.Fatal(err)
	}
	var words []string
	for _, of := range []string{v1alpha1.Accepted, v1alpha1.Contradicts} {
		if has := meta.FindStatusCondition(c.Status.Conditions, of); has != nil {
			words = append(words, fmt.Sprintf("%s %s %s", of, has.Status, has.Reason))
		}
	}
	if c.Status.Bound != nil {
		words = append(words, fmt.Sprintf("%d of %d", *c.Status.Violating, *c.Status.Bound))
	}
	if c.Status.ViolatingSince != nil {
		words = append(words, "since "+c.Status.ViolatingSince.UTC().Format(time.TimeOnly))
	}
	return strings.Join(words, ", ")
}

// webPod is a pod with that label.
func webPod(i int) *v1.Pod {
	p := plainPod(i)
	p.Labels = map[string]string{"app": "web"}
	return p
}

// bin is a pod of a size that a soft constraint binds.
func bin(i int, cpu, memory int64) *v1.Pod {
	p := webPod(i)
	p.CreationTimestamp = metav1.NewTime(time.Date(2000, 1, 1, 0, 0, i, 0, time.UTC).Add(-time.Hour)) // so that all come in this order
	p.OwnerReferences[0].UID = types.UID(fmt.Sprint("owner-", i))
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{
		v1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(memory<<20, resource.BinarySI),
	}
	return p
}

// Constraints are honoured as they come, change and go, without a restart, and say how they stand: for how many pods they do not hold, and since when.
func TestPlacementConstraintsCount(t *testing.T) {
	var client dynamic.Interface
	inBubbleWith(t, constraining(&client), []runtime.Object{bigNode(0), bigNode(1), webPod(1), webPod(2), webPod(3)}, func(b *bubble) {
		of := client.Resource(PlacementConstraints()[0]).Namespace("default")
		b.run()
		b.pass(time.Second)
		b.expectBound("pod-1 pod-2 pod-3")
		create := func(kind, name, spec string) {
			b.t.Helper()
			resource := map[string]schema.GroupVersionResource{"PlacementConstraint": PlacementConstraints()[0], "NodeGroup": PlacementConstraints()[2]}[kind]
			var in dynamic.ResourceInterface = client.Resource(resource)
			if kind == "PlacementConstraint" {
				in = of
			}
			if _, err := in.Create(b.t.Context(), own(b.t, kind, name, spec), metav1.CreateOptions{}); err != nil {
				b.t.Fatal(err)
			}
		}
		create("PlacementConstraint", "apart", `{constraint: {text: "{app=web, {app=web, 0, 0}, group:rows}: hard"}}`)
		create("PlacementConstraint", "wrong", `{constraint: {text: "{app=web, {app=web, 0, 0}, nod}"}}`)
		b.pass(10 * time.Second)
		if got := b.stands(client, "apart"); got != "Accepted False NoNodeGroup, Contradicts False NoneKnown" {
			b.t.Errorf("apart says %s", got)
		}
		if got := b.stands(client, "wrong"); got != "Accepted False Invalid, Contradicts False NoneKnown" {
			b.t.Errorf("wrong says %s", got)
		}
		create("NodeGroup", "rows", fmt.Sprintf(`{sets: [{name: first, selector: {matchLabels: {%s: %s}}}, {name: second, selector: {}}]}`, v1.LabelHostname, bigNode(0).Name))
		b.pass(10 * time.Second)
		if got := b.stands(client, "apart"); !strings.HasPrefix(got, "Accepted True Accepted, Contradicts False NoneKnown, 2 of 3, since ") {
			b.t.Errorf("apart says %s", got)
		}
		since := b.stands(client, "apart")
		b.create(webPod(4))
		b.pass(10 * time.Second)
		b.expectCondition("pod-4", v1.PodReasonUnschedulable, "Fairlead: 0 of 2 nodes take it: 2 violate PlacementConstraint apart: 1 counted, at most 0; it would fit but for PlacementConstraint apart on any of 2 nodes.")
		if got := b.stands(client, "apart"); got != since {
			b.t.Errorf("apart says %s after %s", got, since)
		}
		create("PlacementConstraint", "near", `{constraint: {text: "{app=web, {app=web, 3, inf}, group:rows}: hard"}}`)
		b.pass(10 * time.Second)
		if got := b.stands(client, "apart"); !strings.HasPrefix(got, "Accepted True Accepted, Contradicts True Contradiction, ") {
			b.t.Errorf("apart says %s", got)
		}
		for _, name := range []string{"apart", "near"} {
			if err := of.Delete(b.t.Context(), name, metav1.DeleteOptions{}); err != nil {
				b.t.Fatal(err)
			}
		}
		b.pass(time.Second)
		b.expectBound("pod-1 pod-2 pod-3 pod-4")
		if epochs := b.sum("fairlead_epochs_total"); epochs != 1 {
			b.t.Errorf("%v cores, want 1", epochs)
		}
	})
}

// Constraints that are there when a scheduler begins bind its first decision, and those that begin after a panic, too.
func TestPlacementConstraintsBindTheFirstRound(t *testing.T) {
	var client dynamic.Interface
	apart := own(t, "PlacementConstraint", "apart", `{constraint: {text: "{app=web, {app=web, 0, 0}, node}: hard"}}`)
	inBubbleWith(t, constraining(&client, apart), []runtime.Object{bigNode(0), webPod(1), webPod(2)}, func(b *bubble) {
		b.run()
		b.pass(10 * time.Second)
		b.expectBound("pod-1")
		b.inbox.put(func() {
			b.subject.handling(b.world.Pod("uid-2").Object())
			panic("as if something was wrong with it")
		})
		b.pass(time.Minute)
		b.expectBound("pod-1")
		if got := b.stands(client, "apart"); got != "Accepted True Accepted, Contradicts False NoneKnown, 0 of 1" {
			b.t.Errorf("apart says %s", got)
		}
	})
}

// Pods that constraints bind are placed together, by a lane of their own beside that of all others: who has to stand beside others comes with them, and who stands in the way of that for a while is moved no further than is worth it.
func TestPodsThatConstraintsBindHaveALane(t *testing.T) {
	var client dynamic.Interface
	near := own(t, "PlacementConstraint", "near", `{constraint: {text: "{app=web, {app=cache, 1, inf}, node} & {app=cache, {app=web, 1, inf}, node}: hard"}}`)
	cache := plainPod(5)
	cache.Labels = map[string]string{"app": "cache"}
	other := plainPod(2)
	other.Labels = nil
	dir := t.TempDir()
	inBubbleWith(t, constraining(&client, near), []runtime.Object{bigNode(0), bigNode(1), webPod(1), other}, func(b *bubble) {
		b.Config.Record.Path = dir
		b.run()
		b.pass(40 * time.Second)
		b.expectBound("pod-2")
		b.expectCondition("pod-1", v1.PodReasonUnschedulable, "2 violate PlacementConstraint near: 0 counted, at least 1")
		b.create(cache)
		b.pass(10 * time.Second)
		b.expectBound("pod-1 pod-2 pod-5")
		web, err := b.api.Clientset.CoreV1().Pods("default").Get(b.t.Context(), "pod-1", metav1.GetOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		beside, err := b.api.Clientset.CoreV1().Pods("default").Get(b.t.Context(), "pod-5", metav1.GetOptions{})
		if err != nil || web.Spec.NodeName != beside.Spec.NodeName {
			b.t.Errorf("they are on %s and %s: %v", web.Spec.NodeName, beside.Spec.NodeName, err)
		}
		for uid, bound := range map[types.UID]bool{"uid-1": true, "uid-2": false, "uid-5": true} {
			view := b.epochs.core.View()
			if is := view.Job(view.Task(b.world.Pod(uid).Task()).Job).LongRunning; is != bound {
				b.t.Errorf("that %s is of an application is %t", uid, is)
			}
		}
		if got := b.stands(client, "near"); got != "Accepted True Accepted, Contradicts False NoneKnown, 0 of 2" {
			b.t.Errorf("near says %s", got)
		}
	})
	expectReplay(t, dir, 3)
}
