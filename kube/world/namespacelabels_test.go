package world

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// Rules that select namespaces by their labels follow these, as upstream's filters do: the same pod is kept off, let in, and kept off again.
func TestRelabelledNamespace(t *testing.T) {
	b := newBench(t, makeNamespace("default", "red"), makeNamespace("other", "blue"))
	r := newRig(t, b)
	r.seeNode(roomyNode(0))
	shuns := smallPod("shuns", "default", "web")
	affinity(shuns).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}},
	}}}
	r.seePod(shuns)
	v := r.turn()
	r.started(v.accepted[0])
	r.arrived(v.accepted[0])
	if r.world.rules.gaps > 0 {
		t.Fatal("the core has no words for the term")
	}
	for i, try := range []struct {
		team string
		in   bool
	}{{"blue", true}, {"red", false}, {"green", true}} {
		object := makeNamespace("other", try.team)
		if err := b.client.Tracker().Update(v1.SchemeGroupVersion.WithResource("namespaces"), object, ""); err != nil {
			t.Fatal(err)
		}
		waitForPlugins()
		b.judge.Renew()
		SeeNamespace(r.world, object)
		pod := smallPod(fmt.Sprintf("pod-%d", i), "other", "db")
		r.seePod(pod)
		v := r.turn()
		if placed := len(v.accepted) == 1; placed != try.in || len(v.refused) > 0 {
			t.Errorf("team %s: it is placed: %t, want %t; refused: %v", try.team, placed, try.in, v.refused)
		}
		r.losePod(pod.UID)
	}
}

// What selectors select is the same whenever namespaces are seen, relabelled and lost.
func TestNamespacesInAnyOrder(t *testing.T) {
	setCases(t, "300")
	b := newBench(t)
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t, b)
		r.seeNode(roomyNode(0))
		for i := range 12 {
			name := pick(t, "namespace", "default", "other")
			switch number(t, 4, "what") {
			case 0:
				SeeNamespace(r.world, makeNamespace(name, pick(t, "team", "red", "blue")))
			case 1:
				LoseNamespace(r.world, name)
			case 2:
				pod := smallPod(fmt.Sprintf("pod-%d", i), name, "web")
				drawCompany(t, pod)
				pod.Spec.NodeName = nodeName(0)
				r.seePod(pod)
			case 3:
				if placed := r.placed(); len(placed) > 0 {
					r.losePod(placed[number(t, len(placed), "which")].UID)
				}
			}
			r.observe()
			if err := r.checkRules(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func roomyNode(i int) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), UID: types.UID("uid-" + nodeName(i)), Labels: map[string]string{v1.LabelHostname: nodeName(i)}},
		Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"), v1.ResourceMemory: resource.MustParse("16Gi"), v1.ResourcePods: resource.MustParse("50")}},
	}
}

func smallPod(name, namespace, app string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID("uid-" + name), Labels: map[string]string{"app": app}},
		Spec:       v1.PodSpec{SchedulerName: ours, Containers: []v1.Container{{Name: "main"}}},
	}
}
