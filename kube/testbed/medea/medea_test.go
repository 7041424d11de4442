package medea

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ReplicaSets make as many pods of an application as there are without them, with the same labels and requests, and none selects those of another.
func TestReplicaSets(t *testing.T) {
	w, err := Draw(Options{Nodes: 60, Applications: 6, Utilisation: 500, Tied: 3, Seed: 1, Owned: true})
	if err != nil {
		t.Fatal(err)
	}
	chosen := map[string]int{} // by selector: how many sets it selects the pods of
	templates := []labels.Set{}
	for i := range w.applications {
		a, made := &w.applications[i], 0
		for _, set := range w.replicaSets(a) {
			template := &set.Spec.Template
			for _, pod := range a.pods[made : made+int(*set.Spec.Replicas)] {
				if want := requests(pod); roomIn(template.Spec.Containers[0].Resources.Requests) != (room{want.cpu, want.memory, 0}) {
					t.Errorf("%s requests %v, want %v", set.Name, template.Spec.Containers[0].Resources.Requests, want)
				}
				if !labels.SelectorFromSet(pod.Labels).Matches(labels.Set(template.Labels)) || len(template.Labels) != len(pod.Labels)+1 {
					t.Errorf("%s has labels %v, want %v", set.Name, template.Labels, pod.Labels)
				}
				if set.Namespace != pod.Namespace || template.Spec.SchedulerName != pod.Spec.SchedulerName {
					t.Errorf("%s is in namespace %s, want %s", set.Name, set.Namespace, pod.Namespace)
				}
			}
			made += int(*set.Spec.Replicas)
			chosen[metav1.FormatLabelSelector(set.Spec.Selector)] = 0
			templates = append(templates, template.Labels)
		}
		if made != len(a.pods) {
			t.Errorf("%s has %d pods by ReplicaSets, and %d without", a.name, made, len(a.pods))
		}
	}
	for text := range chosen {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range templates {
			if selector.Matches(of) {
				chosen[text]++
			}
		}
		if chosen[text] != 1 {
			t.Errorf("%s selects the pods of %d ReplicaSets", text, chosen[text])
		}
	}
	if len(templates) != len(chosen) || len(templates) <= w.Applications() {
		t.Errorf("%d ReplicaSets with %d selectors, for %d applications of several kinds of pods", len(templates), len(chosen), w.Applications())
	}
}
