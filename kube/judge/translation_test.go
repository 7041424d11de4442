package judge

import (
	"encoding/json"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/constraint/kubernetes"
	"fairlead.dev/fairlead/constraint/kubernetes/kubernetestest"
)

// The placement constraints that affinity and spread translate into allow the end states to which upstream's own plugins lead, pod by pod. The root module
// tests the same against a model of the documentation.
func TestTranslation(t *testing.T) {
	upstream := newBench(t, namespace("one", "red"), namespace("two", "blue")).rival
	for _, features := range []kubernetestest.Features{
		{Away: true, Running: true},
		{Together: true, Running: true},
		{Spread: true, Running: true},
		{Away: true, Together: true, Spread: true, Soft: true, Running: true},
	} {
		states := 0
		rapid.Check(t, func(t *rapid.T) {
			w := kubernetestest.Draw(t, features)
			d := w.Compare(upstream.filters(t, w))
			states += d.States
			if d.Unreachable != nil && !slices.ContainsFunc(w.Rules.Notes, func(n kubernetes.Note) bool { return n.Unreachable }) {
				t.Errorf("violates nothing, and upstream leads there in no order:\n%s", w.Draw(d.Unreachable))
			}
			if d.Forbidden != nil && len(w.Rules.Notes) == 0 {
				t.Errorf("upstream leads there, and it is forbidden:\n%s", w.Draw(d.Forbidden))
			}
		})
		if states == 0 {
			t.Errorf("%+v: upstream led nowhere", features)
		}
	}
}

// The constraints for who places one pod at a time allow the steps that upstream's own plugins
// allow, also where what runs breaks rules already.
func TestStepwiseTranslation(t *testing.T) {
	upstream := newBench(t, namespace("one", "red"), namespace("two", "blue")).rival
	for _, features := range []kubernetestest.Features{
		{Away: true, Running: true, Broken: true},
		{Together: true, Running: true, Broken: true},
		{Spread: true, Running: true, Broken: true},
		{Away: true, Together: true, Spread: true, Soft: true, Running: true, Broken: true},
	} {
		same := 0
		rapid.Check(t, func(t *rapid.T) {
			w := kubernetestest.Draw(t, features)
			w.Stepwise(t)
			d := w.CompareSteps(upstream.filters(t, w))
			same += d.Same
			if d.Lax != nil && !slices.ContainsFunc(w.Rules.Notes, func(n kubernetes.Note) bool { return n.Unreachable }) {
				t.Errorf("upstream refuses node %d to %s:\n%s", d.Lax.Node, w.Pods[d.Lax.Pod], w.Draw(d.Lax.At))
			}
			if d.Strict != nil && len(w.Rules.Notes) == 0 {
				t.Errorf("upstream lets %s go to node %d:\n%s", w.Pods[d.Strict.Pod], d.Strict.Node, w.Draw(d.Strict.At))
			}
		})
		if same == 0 {
			t.Errorf("%+v: nothing was compared", features)
		}
	}
}

// filters are upstream's, of the world.
func (r *rival) filters(t *rapid.T, w *kubernetestest.World) kubernetestest.Filters {
	nodes, pods := decodeAll[v1.Node](t, w.Nodes), decodeAll[v1.Pod](t, w.Pods)
	return func(at []int, pod int) []bool {
		r.show(nodes, settled(nodes, pods, at))
		may := make([]bool, len(nodes))
		for name, answer := range r.verdicts(pods[pod]) {
			at := slices.IndexFunc(nodes, func(n *v1.Node) bool { return n.Name == name })
			may[at] = answer == "yes"
		}
		return may
	}
}

// decodeAll reads manifests as upstream does.
func decodeAll[T any](t *rapid.T, texts []json.RawMessage) []*T {
	all := make([]*T, len(texts))
	for i, text := range texts {
		all[i] = new(T)
		if err := json.Unmarshal(text, all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// settled are the pods that have nodes, on them.
func settled(nodes []*v1.Node, pods []*v1.Pod, at []int) []*v1.Pod {
	var there []*v1.Pod
	for i, n := range at {
		if n != kubernetestest.Nowhere {
			pod := pods[i].DeepCopy()
			pod.Spec.NodeName = nodes[n].Name
			there = append(there, pod)
		}
	}
	return there
}
