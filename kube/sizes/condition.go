package sizes

import (
	"encoding/json"
	"fmt"
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
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("sizes: quantities do not marshal: %v", err))
	}
	return v1.PodCondition{
		Type: v1alpha1.Sized, Status: v1.ConditionTrue, Reason: v1alpha1.ReasonElastic,
		Message: fmt.Sprintf("It grows and shrinks by the sizes of ServiceClass %s.%s%s", class, behind, text),
	}
}

// Fixed says of a pod that it stays as it is, and why.
func Fixed(class string, why error) v1.PodCondition {
	return v1.PodCondition{
		Type: v1alpha1.Sized, Status: v1.ConditionFalse, Reason: v1alpha1.ReasonFixed,
		Message: fmt.Sprintf("It stays as it is, though ServiceClass %s has sizes: %v.", class, why),
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
		if c.Type != v1alpha1.Sized || c.Status != v1.ConditionTrue {
			continue
		}
		_, text, found := strings.Cut(c.Message, behind)
		return m, found && json.Unmarshal([]byte(text), &m) == nil
	}
	return m, false
}

// cameWith is what each container came with of what grows: what its condition says, or if its requests are outside of what that allows, as somebody else has set them, these.
func cameWith(pod *v1.Pod, by Factors) []v1.ResourceRequirements {
	now := make([]v1.ResourceRequirements, len(pod.Spec.Containers))
	least := make([]v1.ResourceRequirements, len(now))
	m, known := remembered(pod)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		before := m.Least[c.Name]
		for _, k := range by.kinds() {
			requests, came := k.of(c.Resources.Requests), k.of(before.Requests)
			if requests == 0 {
				continue
			}
			most := max(k.factor, *k.in(&Amount{m.CPU, m.Memory}))
			if came <= 0 || requests < came || requests-k.unit*int64(len(now)) > share(came, most, same) {
				known = false
			}
			put(&now[i].Requests, k, requests)
			put(&least[i].Requests, k, came)
			if limit := k.of(c.Resources.Limits); limit > 0 {
				put(&now[i].Limits, k, limit)
			}
			if limit := k.of(before.Limits); limit > 0 {
				put(&least[i].Limits, k, limit)
			}
		}
	}
	if known {
		return least
	}
	return now
}
