package sizes

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

// This file writes what a pod came with into its condition, and reads it there.

// memory is what is written behind the words of the condition.
type memory struct {
	// Least is what each container came with of what grows, by its name.
	Least map[string]v1.ResourceRequirements `json:"least"`
	// CPU and Memory are the largest factors by which these have been allowed to grow, in hundredths.
	CPU    int64 `json:"cpu,omitempty"`
	Memory int64 `json:"memory,omitempty"`
}

// behind is what stands between the words and what is read of them.
const behind = " It came with "

// Condition says of a pod that it grows and shrinks, from what it came with on.
func (r *Range) Condition(pod *v1.Pod, class string) v1.PodCondition {
	m := memory{Least: map[string]v1.ResourceRequirements{}, CPU: r.factors.CPU, Memory: r.factors.Memory}
	for i := range r.least {
		if len(r.least[i].Requests) > 0 {
			m.Least[pod.Spec.Containers[i].Name] = r.least[i]
		}
	}
	if before, known := remembered(pod); known {
		m.CPU, m.Memory = max(m.CPU, before.CPU), max(m.Memory, before.Memory)
		r.keep(m.Least, before.Least)
	}
	return v1.PodCondition{
		Type: v1alpha1.Sized, Status: v1.ConditionTrue, Reason: v1alpha1.ReasonElastic,
		Message: fmt.Sprintf("It grows and shrinks by the sizes of ServiceClass %s.%s", class, m.text()),
	}
}

// keep adds what is known of those kinds that do not grow now, but did.
func (r *Range) keep(least, before map[string]v1.ResourceRequirements) {
	for _, k := range (Factors{math.MaxInt64, math.MaxInt64}).kinds() {
		if slices.ContainsFunc(r.factors.kinds(), func(grows kind) bool { return grows.name == k.name }) {
			continue
		}
		for name, came := range before {
			all := least[name]
			if requests := k.of(came.Requests); requests > 0 {
				put(&all.Requests, k, requests)
			}
			if limit := k.of(came.Limits); limit > 0 {
				put(&all.Limits, k, limit)
			}
			least[name] = all
		}
	}
}

// text is how it is written.
func (m memory) text() string {
	text, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("sizes: quantities do not marshal: %v", err))
	}
	return behind + string(text)
}

// Fixed says of a pod that it stays as it is, and why. What it came with, if it has grown before, is still known.
func Fixed(pod *v1.Pod, class string, why error) v1.PodCondition {
	came := ""
	if m, known := remembered(pod); known {
		came = m.text()
	}
	return v1.PodCondition{
		Type: v1alpha1.Sized, Status: v1.ConditionFalse, Reason: v1alpha1.ReasonFixed,
		Message: fmt.Sprintf("It stays as it is, though ServiceClass %s has sizes: %v.%s", class, why, came),
	}
}

// Said reports whether the pod's condition says that already.
func Said(pod *v1.Pod, now v1.PodCondition) bool {
	for _, has := range pod.Status.Conditions {
		if has.Type == now.Type {
			return has.Status == now.Status && has.Reason == now.Reason && has.Message == now.Message
		}
	}
	return false
}

// remembered is what the pod's condition says.
func remembered(pod *v1.Pod) (m memory, known bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type != v1alpha1.Sized {
			continue
		}
		_, text, found := strings.Cut(c.Message, behind)
		if found && json.Unmarshal([]byte(text), &m) == nil {
			return m, true
		}
	}
	return memory{}, false
}

// cameWith is what each container came with of what grows: what its condition says, or of kinds of which its requests are outside of what that allows, as somebody else has set them, these.
func cameWith(pod *v1.Pod, by Factors) []v1.ResourceRequirements {
	least := make([]v1.ResourceRequirements, len(pod.Spec.Containers))
	m, _ := remembered(pod)
	for _, k := range by.kinds() {
		known := m.holds(pod, k)
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			came := c.Resources
			if k.of(came.Requests) == 0 {
				continue
			}
			if known {
				came = m.Least[c.Name]
			}
			put(&least[i].Requests, k, k.of(came.Requests))
			if limit := k.of(came.Limits); limit > 0 {
				put(&least[i].Limits, k, limit)
			}
		}
	}
	return least
}

// holds reports whether what all containers request of the kind is what they may have grown to.
func (m memory) holds(pod *v1.Pod, k kind) bool {
	most := max(k.factor, *k.in(&Amount{m.CPU, m.Memory}))
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		requests, came := k.of(c.Resources.Requests), k.of(m.Least[c.Name].Requests)
		if requests == 0 {
			continue
		}
		if came <= 0 || requests < came || requests-k.unit*int64(len(pod.Spec.Containers)) > share(came, most, same) {
			return false
		}
	}
	return true
}
