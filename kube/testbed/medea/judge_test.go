package medea

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

// standing is a workload as it would be on a bed: its nodes, all pods where the assignment has them, and its constraints.
func standing(w *Workload, a constraint.Assignment) (nodes []corev1.Node, pods []corev1.Pod, objects []v1alpha1.PlacementConstraint) {
	names := make([]string, len(w.drawn.Problem.Nodes))
	for i := range names {
		names[i] = fmt.Sprintf("node-%05d", i)
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: names[i], Labels: map[string]string{corev1.LabelHostname: names[i]}}}
		node.Status.Capacity = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
		w.vary(i, &node)
		nodes = append(nodes, node)
	}
	for i := range w.applications {
		for n, of := range w.applications[i].pods {
			pod := *of
			pod.Spec.NodeName = names[a[int(w.applications[i].first)+n]]
			pods = append(pods, pod)
		}
		for _, c := range w.applications[i].constraints {
			objects = append(objects, *c)
		}
	}
	for _, other := range w.others(names) {
		pods = append(pods, *other)
	}
	return nodes, pods, objects
}

// Where the applications are planted nothing is violated, and where pods are elsewhere as much is as the judge of problems says, who shares nothing with this one.
func TestJudgesAgree(t *testing.T) {
	violated := 0
	for seed := range uint64(20) {
		w, err := Draw(Options{Nodes: 60, Applications: 6, Utilisation: 500, Tied: 3, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(seed, 0))
		a := append(constraint.Assignment(nil), w.drawn.Witness...)
		for moved := range 6 {
			nodes, pods, objects := standing(w, a)
			stands, err := Judge(nodes, pods, objects)
			if err != nil {
				t.Fatal(err)
			}
			want := constraint.Evaluate(&w.drawn.Problem, a)
			at := map[string]*constraint.Verdict{}
			for i := range want.Verdicts {
				if of := &w.drawn.Problem.Constraints[i]; len(of.Any) == 1 { // of others it may choose another one, which is violated by more and by less of it
					at[object(of).Name] = &want.Verdicts[i]
				}
			}
			for _, s := range stands {
				v := at[s.Object.Name]
				if v != nil && (s.Bound != v.Subjects || s.Violating != v.Violations) {
					t.Errorf("seed %d, %d moved: %s binds %d, and %d violate it; the other judge says %d and %d", seed, moved, s.Object.Name, s.Bound, s.Violating, v.Subjects, v.Violations)
				}
				if moved == 0 && s.Violating > 0 {
					t.Errorf("seed %d: planted, %s is violated by %d", seed, s.Object.Name, s.Violating)
				}
				violated += s.Violating
			}
			a[random.IntN(len(a))] = int32(random.IntN(len(nodes)))
		}
	}
	if violated == 0 {
		t.Error("nothing was ever violated: nothing was compared")
	}
}

// One pod that was moved away from where it was planted violates what it need not, and what there is no room for need not be mended.
func TestAvoidable(t *testing.T) {
	node := func(name, cpu string) corev1.Node {
		return corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, "row": "r"}},
			Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10")}},
		}
	}
	pod := func(name, app, on string) corev1.Pod {
		p := newPod(name, []int64{1000, 1 << 30})
		p.Namespace, p.Labels, p.Spec.NodeName = "shop", map[string]string{"app": app}, on
		return *p
	}
	of := func(hard bool, bounds ...v1alpha1.Bound) v1alpha1.PlacementConstraint {
		return v1alpha1.PlacementConstraint{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c"},
			Spec:       v1alpha1.PlacementConstraintSpec{Constraint: v1alpha1.Constraint{Hard: hard, AnyOf: []v1alpha1.Alternative{{AllOf: bounds}}}},
		}
	}
	app := func(name string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	}
	web := app("web")
	apart := v1alpha1.Bound{Subject: &web, Target: web, Max: new(int32(0)), TopologyKey: corev1.LabelHostname}
	beside := v1alpha1.Bound{Subject: &web, Target: app("cache"), Min: new(int32(1)), TopologyKey: corev1.LabelHostname}
	everywhere := v1alpha1.Bound{EverySet: true, Target: web, Min: new(int32(1)), TopologyKey: corev1.LabelHostname}
	two := []corev1.Pod{pod("web-0", "web", "a"), pod("web-1", "web", "a")}
	for _, tc := range []struct {
		name       string
		nodes      []corev1.Node
		pods       []corev1.Pod
		constraint v1alpha1.PlacementConstraint
		want       [3]int // bound, violating, avoidable
	}{
		{"apart, where another node is free", []corev1.Node{node("a", "2"), node("b", "1")}, two, of(false, apart), [3]int{2, 2, 2}},
		{"apart, where no other has room", []corev1.Node{node("a", "2"), node("b", "500m")}, two, of(false, apart), [3]int{2, 2, 0}},
		{"apart and hard", []corev1.Node{node("a", "2"), node("b", "500m")}, two, of(true, apart), [3]int{2, 2, 2}},
		{"beside nobody", []corev1.Node{node("a", "2"), node("b", "1")}, two, of(false, beside), [3]int{2, 2, 0}},
		{"not beside one with room", []corev1.Node{node("a", "2"), node("b", "2")}, append(two[:1:1], pod("cache-0", "cache", "b")), of(false, beside), [3]int{1, 1, 1}},
		{"not beside one without", []corev1.Node{node("a", "2"), node("b", "1")}, append(two[:1:1], pod("cache-0", "cache", "b")), of(false, beside), [3]int{1, 1, 0}},
		{"apart, at the price of company for one", []corev1.Node{node("a", "3"), node("b", "1")}, append(two[:2:2], pod("cache-0", "cache", "a")), of(false, apart, beside), [3]int{4, 2, 2}},
		{"everywhere", []corev1.Node{node("a", "2"), node("b", "1")}, two, of(false, everywhere), [3]int{2, 1, 1}},
		{"everywhere, by too few", []corev1.Node{node("a", "2"), node("b", "1")}, two[:1], of(false, everywhere), [3]int{2, 1, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stands, err := Judge(tc.nodes, tc.pods, []v1alpha1.PlacementConstraint{tc.constraint})
			if err != nil {
				t.Fatal(err)
			}
			if s := stands[0]; [3]int{s.Bound, s.Violating, s.Avoidable} != tc.want {
				t.Errorf("bound, violating and avoidable: %d, %d, %d; want %v", s.Bound, s.Violating, s.Avoidable, tc.want)
			}
		})
	}
}

// Who is tied to another is in one namespace with it, whose constraints all count.
func TestNamespaces(t *testing.T) {
	w, err := Draw(Options{Nodes: 500, Applications: 20, Utilisation: 500, Tied: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(w.inNamespaces()); got < 2 || got > 4 {
		t.Errorf("%d namespaces for two rings of ten", got)
	}
	of := map[string]string{}
	for i := range w.applications {
		a := &w.applications[i]
		of[a.name] = a.namespace
		for _, name := range a.names {
			if of[name] != a.namespace {
				t.Errorf("%s in %s names %s, which is in %q, if it has come before", a.name, a.namespace, name, of[name])
			}
		}
	}
	count := map[string]int{}
	hard, soft := 0, 0
	for i := range w.applications {
		for _, c := range w.applications[i].constraints {
			count[c.Namespace]++
			if c.Spec.Constraint.Hard {
				hard++
			} else {
				soft++
			}
		}
	}
	for namespace, n := range count {
		if n > 64 {
			t.Errorf("%d constraints in %s, of which 64 count", n, namespace)
		}
	}
	if hard == 0 || soft == 0 {
		t.Errorf("%d hard constraints and %d soft ones, want some of both", hard, soft)
	}
}
