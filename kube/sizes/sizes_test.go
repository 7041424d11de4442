package sizes

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"pgregory.net/rapid"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

// podOf is a pod with this spec.
func podOf(t *testing.T, spec string) *v1.Pod {
	t.Helper()
	p := &v1.Pod{}
	if err := kyaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhoStaysAsItIs(t *testing.T) {
	both := Factors{CPU: 200, Memory: 150}
	marked := podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}`)
	marked.Annotations = map[string]string{"vpaUpdates": "Pod resources updated by web"}
	for _, test := range []struct {
		pod  *v1.Pod
		by   Factors
		want string
	}{
		{podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}`), both, ""},
		{podOf(t, `{containers: [{name: c}]}`), both, "requests any cpu"},
		{podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 1}}}]}`), both, "requests any memory"},
		{podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 1}}}]}`), Factors{CPU: 200}, ""},
		{podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 1, memory: 1e9}}}]}`), both, "no whole number of Mi"},
		{podOf(t, `{containers: [{name: c, resources: {requests: {memory: 512Ki}}}, {name: d, resources: {requests: {memory: 512Ki}}}]}`), Factors{Memory: 200}, "no whole number of Mi"},
		{podOf(t, `{containers: [{name: c, resources: {requests: {memory: 7Ei}}}]}`), Factors{Memory: 300}, "more memory than any node has"},
		{podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 1, memory: 7Ei}}}]}`), both, "more memory than any node has"},
		{podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 8Ei}}}]}`), both, "more memory than any node has"},
		{podOf(t, `{containers: [{name: c, resources: {requests: {memory: 600Ti}}}]}`), Factors{Memory: 200}, "more memory than any node has"},
		{podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 9E}}}]}`), Factors{CPU: 200}, "more cpu than any node has"},
		{podOf(t, `{containers: [{name: c, resources: {requests: {memory: 512Ti}}}]}`), Factors{Memory: 200}, ""},
		{podOf(t, `{resources: {requests: {cpu: 2}}, containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}`), both, "spec.resources"},
		{podOf(t, `{os: {name: windows}, containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}`), both, "Windows"},
		{podOf(t, `{containers: [{name: c, resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}], resources: {requests: {cpu: 1, memory: 1Gi}}}]}`), both, "container c would be restarted to change its memory"},
		{podOf(t, `{containers: [{name: c, resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}], resources: {requests: {cpu: 1, memory: 1Gi}}}]}`), Factors{CPU: 200}, ""},
		{podOf(t, `{initContainers: [{name: i, resources: {requests: {cpu: 2}}}], containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}`), both, "init containers request more cpu"},
		{podOf(t, `{initContainers: [{name: i, resources: {requests: {cpu: 1}}}], containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}`), both, ""},
		{marked, both, "VerticalPodAutoscaler"},
		// Of a factor a limit of the other resource becomes of no use: with cpu alone in the class it would stay, so that limits and requests are equal before and after.
		{podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}}]}`), Factors{CPU: 200}, ""},
	} {
		_, err := Of(test.pod, test.by)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.pod.Spec.Containers, err, test.want)
		}
	}
}

// Whatever a pod is given, its containers request that, in proportion, no limit is below a request, and its QoS class stays; and what it came with is still known.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factors := Factors{CPU: rapid.Int64Range(100, 500).Draw(t, "cpu"), Memory: rapid.Int64Range(100, 500).Draw(t, "memory")}
		pod := &v1.Pod{}
		for i := range rapid.IntRange(1, 4).Draw(t, "containers") {
			c := v1.Container{Name: fmt.Sprint("c", i)}
			for _, k := range []kind{{v1.ResourceCPU, 1, 0, "DecimalSI"}, {v1.ResourceMemory, mebi, 0, "BinarySI"}} {
				request := rapid.Int64Range(1, 3000).Draw(t, "request") * k.unit
				put(&c.Resources.Requests, k, request)
				if beyond := rapid.Int64Range(-1, 2).Draw(t, "limit"); beyond >= 0 {
					put(&c.Resources.Limits, k, request+beyond*k.unit*7)
				}
			}
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
		r, err := Of(pod, factors)
		if factors.None() {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		least, most := r.Least(), r.Most()
		a := Amount{CPU: rapid.Int64Range(least.CPU, max(most.CPU, least.CPU)).Draw(t, "gets cpu"), Memory: rapid.Int64Range(least.Memory/mebi, max(most.Memory, least.Memory)/mebi).Draw(t, "gets memory") * mebi}
		sized := r.Pod(pod, a)
		if got := r.Requested(sized); got != a {
			t.Fatalf("its containers request %+v, want %+v", got, a)
		}
		if was, is := qos.ComputePodQOS(pod), qos.ComputePodQOS(sized); was != is {
			t.Fatalf("QoS class %s, want %s", is, was)
		}
		for i := range sized.Spec.Containers {
			now, came := sized.Spec.Containers[i].Resources, pod.Spec.Containers[i].Resources
			for name, limit := range now.Limits {
				if request := now.Requests[name]; limit.Cmp(request) < 0 {
					t.Fatalf("limit %v of %s is below the request %v", &limit, name, &request)
				}
			}
			for name, request := range now.Requests {
				if least := came.Requests[name]; request.Cmp(least) < 0 {
					t.Fatalf("container %d requests %v of %s, and came with %v", i, &request, name, &least)
				}
			}
		}
		sized.Status.Conditions = []v1.PodCondition{r.Condition(pod, "gold")}
		again, err := Of(sized, factors)
		if err != nil {
			t.Fatal(err)
		}
		if again.Least() != least || again.Most() != most {
			t.Fatalf("once it has grown it came with %+v, want %+v", again.Least(), least)
		}
		if !Said(sized, again.Condition(sized, "gold")) {
			t.Fatal("what is said of it changes as it grows")
		}
	})
}

// What somebody else sets beyond the range is what the pod came with from then on; where factors become smaller, it came with the same.
func TestOthersResize(t *testing.T) {
	pod := podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 1}}}]}`)
	r, err := Of(pod, Factors{CPU: 300})
	if err != nil {
		t.Fatal(err)
	}
	condition := r.Condition(pod, "gold")
	for _, test := range []struct {
		cpu         string
		least, most int64
	}{{"1", 1000, 2000}, {"3", 1000, 2000}, {"4", 4000, 8000}, {"500m", 500, 1000}} {
		pod := podOf(t, `{containers: [{name: c, resources: {requests: {cpu: "`+test.cpu+`"}}}]}`)
		pod.Status.Conditions = []v1.PodCondition{condition}
		now, err := Of(pod, Factors{CPU: 200})
		if err != nil || now.Least().CPU != test.least || now.Most().CPU != test.most {
			t.Errorf("with %s of cpu: from %d to %d, %v, want %d to %d", test.cpu, now.Least().CPU, now.Most().CPU, err, test.least, test.most)
		}
	}
	pod.Status.Conditions = []v1.PodCondition{{Type: v1alpha1.Sized, Status: v1.ConditionTrue, Message: "It came with {nothing"}}
	if now, err := Of(pod, Factors{CPU: 200}); err != nil || now.Least().CPU != 1000 {
		t.Errorf("what cannot be read counts: %v", err)
	}
}

// What a pod came with is known as well while it stays as it is, and once other kinds grow than before.
func TestStillKnown(t *testing.T) {
	grown := func(conditions ...v1.PodCondition) *v1.Pod {
		pod := podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 4}}}]}`)
		pod.Status.Conditions = conditions
		return pod
	}
	r, err := Of(podOf(t, `{containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 2}}}]}`), Factors{CPU: 300})
	if err != nil {
		t.Fatal(err)
	}
	says := r.Condition(grown(), "gold")
	for _, by := range []Factors{{CPU: 300}, {Memory: 200}, {CPU: 200, Memory: 200}, {CPU: 300}} {
		marked := grown(says)
		marked.Annotations = map[string]string{"vpaUpdates": ""}
		_, owned := Of(marked, by)
		if owned == nil {
			t.Fatal("a pod of a VerticalPodAutoscaler grows")
		}
		for range 2 { // saying it twice changes nothing
			says = Fixed(grown(says), "gold", owned)
		}
		now, err := Of(grown(says), by)
		if err != nil {
			t.Fatal(err)
		}
		if by.CPU > same && now.Least().CPU != 1000 || by.Memory > same && now.Least().Memory != 1<<30 {
			t.Errorf("by %+v it came with %+v", by, now.Least())
		}
		says = now.Condition(grown(says), "gold")
	}
	if now, err := Of(grown(says), Factors{CPU: 300}); err != nil || now.least[0].Limits.Cpu().MilliValue() != 2000 {
		t.Errorf("of its limits it is not known any more what they were: %+v, %v", now, err)
	}
}
