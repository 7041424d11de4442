package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/world"
)

// serviceClass is one of that name, whose spec is as people write it, and so many minutes old.
func serviceClass(t *testing.T, name string, minutes int, spec string) *unstructured.Unstructured {
	t.Helper()
	text := fmt.Sprintf("{apiVersion: fairlead.dev/v1alpha1, kind: ServiceClass, metadata: {name: %s, uid: uid-%s, generation: 1}, spec: %s}", name, name, spec)
	u := &unstructured.Unstructured{}
	if err := kyaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetCreationTimestamp(metav1.NewTime(time.Unix(1e9, 0).Add(-time.Duration(minutes) * time.Minute)))
	return u
}

// withServiceClasses has the API server serve them, and these be there. What is written of them is seen in the client that is returned through it.
func withServiceClasses(client *dynamic.Interface, objects ...*unstructured.Unstructured) func(*Options) {
	return func(o *Options) {
		var all []runtime.Object
		for _, c := range objects {
			all = append(all, c)
		}
		*client = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{ServiceClasses(): "ServiceClassList", Autoscalers(): "VerticalPodAutoscalerList"}, all...)
		o.ServiceClasses = *client
	}
}

// accepted is what the condition of a class says.
func accepted(t *testing.T, client dynamic.Interface, name string) string {
	t.Helper()
	u, err := client.Resource(ServiceClasses()).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := as[v1alpha1.ServiceClass](u)
	if err != nil {
		t.Fatal(err)
	}
	condition := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.Accepted)
	if condition == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %s %d: %s", condition.Status, condition.Reason, condition.ObservedGeneration, condition.Message)
}

// relabel gives the namespace of all pods labels.
func (b *bubble) relabel(labels map[string]string) {
	b.t.Helper()
	n := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: labels}}
	if _, err := b.api.Clientset.CoreV1().Namespaces().Update(b.t.Context(), n, metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

const (
	goldSpec = `{importance: 1, availability: "0.9", namespaceSelector: {matchLabels: {team: shop}}}`
	restSpec = `{importance: 9, default: true}`
)

// ServiceClasses say what is promised, to whom, and without a restart: a class comes, is changed and goes while pods wait for it, and its condition says whether it counts.
func TestServiceClassesCount(t *testing.T) {
	var client dynamic.Interface
	inBubbleWith(t, withServiceClasses(&client, serviceClass(t, "gold", 9, goldSpec), serviceClass(t, "rest", 8, restSpec)), []runtime.Object{bigNode(0), ofClass(1, "gold"), plainPod(2)}, func(b *bubble) {
		classes := client.Resource(ServiceClasses())
		b.run()
		b.pass(10 * time.Second)
		b.expectBound("pod-2")
		b.expectCondition("pod-1", heldReason, `its label fairlead.dev/class is "gold": namespaceSelector of the ServiceClass does not let this namespace use it, which may use ["none" "rest"]`)
		if name, _ := b.classOf("uid-2"); name != "rest" {
			b.t.Errorf("who names no class has %s", name)
		}
		b.relabel(map[string]string{"team": "shop"})
		b.pass(time.Second)
		b.expectBound("pod-1 pod-2")
		if name, _ := b.classOf("uid-1"); name != "gold" {
			b.t.Errorf("who names gold, and may, has %s", name)
		}
		if got := accepted(b.t, client, "gold"); got != "True Accepted 1: Its pods are placed by what it promises." {
			b.t.Errorf("gold's condition is %s", got)
		}

		b.create(ofClass(3, "iron"))
		b.pass(time.Second)
		b.expectCondition("pod-3", heldReason, `its label fairlead.dev/class is "iron": no such class; there are gold, none, rest`)
		if _, err := classes.Create(b.t.Context(), serviceClass(b.t, "iron", 1, `{importance: 2, availability: "0.8", default: true, namespaceSelector: {}}`), metav1.CreateOptions{}); err != nil {
			b.t.Fatal(err)
		}
		b.pass(time.Second)
		b.expectBound("pod-1 pod-2 pod-3")
		if got := accepted(b.t, client, "iron"); got != "True Conflict 1: It counts but for this: rest is the default already, and older." {
			b.t.Errorf("iron's condition is %s", got)
		}

		changed := serviceClass(b.t, "gold", 9, `{importance: 1, availability: "0.99", margin: 1x, namespaceSelector: {}}`)
		changed.SetGeneration(2)
		if _, err := classes.Update(b.t.Context(), changed, metav1.UpdateOptions{}); err != nil {
			b.t.Fatal(err)
		}
		b.pass(time.Second)
		if got := accepted(b.t, client, "gold"); !strings.HasPrefix(got, "False Invalid 2: spec.margin: ") {
			b.t.Errorf("gold's condition is %s", got)
		}
		if got := b.liveClasses(); got != "gold 0.9, iron 0.8, none 0, rest 0" {
			b.t.Errorf("the core has %s; a class that its pods have stays as it was", got)
		}
		if epochs := b.sum("fairlead_epochs_total"); epochs != 1 {
			b.t.Errorf("%v cores, want 1", epochs)
		}
	})
}

// A table of the configuration holds instead of ServiceClasses, whose conditions say so, for as long as it is there.
func TestTheConfigurationOverrulesServiceClasses(t *testing.T) {
	var client dynamic.Interface
	serves := withServiceClasses(&client, serviceClass(t, "gold", 9, goldSpec))
	with := func(o *Options) {
		serves(o)
		o.Config = config.Default()
		o.Config.Classes.Table = promising("90%", "iron")
	}
	inBubbleWith(t, with, []runtime.Object{bigNode(0), ofClass(1, "iron")}, func(b *bubble) {
		b.run()
		b.pass(time.Second)
		b.expectBound("pod-1")
		if got := accepted(b.t, client, "gold"); !strings.HasPrefix(got, "False Configuration 1: The configuration of fairlead-scheduler has a table of classes") {
			b.t.Errorf("gold's condition is %s", got)
		}
		b.SetClasses(nil)
		b.pass(time.Second)
		if got := accepted(b.t, client, "gold"); !strings.HasPrefix(got, "True Accepted") {
			b.t.Errorf("without a table gold's condition is %s", got)
		}
		if got := b.liveClasses(); got != "gold 0.9, iron 0.9, none 0" {
			b.t.Errorf("the core has %s", got)
		}
	})
}

// A pod on a node keeps its class whatever its label says later, and its class as it was whatever becomes of that: in this core and in those that follow.
func TestAPodOnANodeKeepsItsClass(t *testing.T) {
	var client dynamic.Interface
	inBubbleWith(t, withServiceClasses(&client, serviceClass(t, "gold", 9, goldSpec), serviceClass(t, "rest", 8, restSpec)), []runtime.Object{bigNode(0), ofClass(1, "rest"), ofClass(2, "gold")}, func(b *bubble) {
		b.relabel(map[string]string{"team": "shop"})
		b.run()
		b.pass(time.Second)
		b.expectBound("pod-1 pod-2")
		pod, err := b.api.Clientset.CoreV1().Pods("default").Get(b.t.Context(), "pod-1", metav1.GetOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		pod = pod.DeepCopy()
		pod.Labels[world.ClassLabel], pod.ResourceVersion = "gold", "500"
		if _, err := b.api.Clientset.CoreV1().Pods("default").Update(b.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
			b.t.Fatal(err)
		}
		b.pass(time.Second)
		b.expectEvent("ClassKept", "its class would be gold by now, and is rest")
		if err := client.Resource(ServiceClasses()).Delete(b.t.Context(), "gold", metav1.DeleteOptions{}); err != nil {
			b.t.Fatal(err)
		}
		b.pass(time.Second)
		for epoch := range 2 {
			for uid, want := range map[types.UID]string{"uid-1": "rest", "uid-2": "gold"} {
				if name, _ := b.classOf(uid); name != want {
					b.t.Errorf("after %d more cores %s has the class %s, want %s", epoch, uid, name, want)
				}
			}
			if got := b.liveClasses(); got != "gold 0.9, none 0, rest 0" {
				b.t.Errorf("after %d more cores the core has %s", epoch, got)
			}
			b.inbox.put(func() { b.epochs.mistakes.broken = true })
			b.pass(time.Minute)
		}
		if epochs := b.sum("fairlead_epochs_total"); epochs != 3 {
			b.t.Errorf("%v cores, want 3", epochs)
		}
	})
}

// Pods that were placed while nothing was promised to anybody have their classes when there are some, and what they did counts.
func TestFirstClassesReachPodsOnNodes(t *testing.T) {
	var client dynamic.Interface
	inBubbleWith(t, withServiceClasses(&client), []runtime.Object{bigNode(0), ofClass(1, "gold"), plainPod(2)}, func(b *bubble) {
		b.run()
		b.pass(time.Minute)
		b.expectBound("pod-1 pod-2")
		// One, as of two the first that is seen would be the first.
		c := serviceClass(b.t, "gold", 9, `{importance: 1, availability: "0.9", default: true}`)
		if _, err := client.Resource(ServiceClasses()).Create(b.t.Context(), c, metav1.CreateOptions{}); err != nil {
			b.t.Fatal(err)
		}
		b.pass(time.Minute)
		for _, uid := range []types.UID{"uid-1", "uid-2"} {
			if name, ran := b.classOf(uid); name != "gold" || ran < 119*cluster.Second {
				b.t.Errorf("%s is of class %s and ran for %v, want gold and two minutes", uid, name, ran)
			}
		}
		if epochs := b.sum("fairlead_epochs_total"); epochs != 2 {
			b.t.Errorf("%v cores, want 2", epochs)
		}
	})
}

// A pod of a class with a leastRun stays for so long from its bind, however important who waits is, and no longer.
func TestPromisedRunsLast(t *testing.T) {
	var client dynamic.Interface
	classes := withServiceClasses(&client, serviceClass(t, "vip", 9, `{importance: 1, priorityAtLeast: 1000, namespaceSelector: {}}`), serviceClass(t, "spot", 8, `{importance: 2, leastRun: 30m, default: true}`))
	inBubbleWith(t, classes, []runtime.Object{smallNode(0, 1), plain(1, 10, 1)}, func(b *bubble) {
		b.allowEvictions()
		b.run()
		b.pass(10 * time.Minute)
		b.expectBound("pod-1")
		b.create(plain(9, 1_000_000, 1))
		b.pass(19 * time.Minute)
		b.expectBound("pod-1")
		b.pass(3 * time.Minute)
		b.expectBound("pod-9")
	})
}

// expectEvent fails unless an event with that reason says so.
func (b *bubble) expectEvent(reason, words string) {
	b.t.Helper()
	list, err := b.api.Clientset.EventsV1().Events("").List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range list.Items {
		if e := &list.Items[i]; e.Reason == reason && strings.Contains(e.Note, words) {
			return
		}
	}
	b.t.Errorf("no event %s says %q", reason, words)
}
