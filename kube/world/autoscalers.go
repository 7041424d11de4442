package world

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// This file is whose size a VerticalPodAutoscaler sets: such pods stay as they are, as two who resize a pod undo what the other did. Its annotations say so of pods that it has dealt with (sizes.Owner); of those that it will deal with its target does.

// autoscalers are those that set sizes, by name and by what they target.
type autoscalers struct {
	targets map[types.NamespacedName]Workload
	of      map[Workload][]string // in order
}

func newAutoscalers() autoscalers {
	return autoscalers{targets: map[types.NamespacedName]Workload{}, of: map[Workload][]string{}}
}

// aim notes what an autoscaler targets; the zero value is nothing.
func (a *autoscalers) aim(name types.NamespacedName, at Workload) {
	if before, known := a.targets[name]; known {
		delete(a.targets, name)
		if a.of[before] = slices.DeleteFunc(a.of[before], func(n string) bool { return n == name.Name }); len(a.of[before]) == 0 {
			delete(a.of, before)
		}
	}
	if at != (Workload{}) {
		a.targets[name] = at
		a.of[at] = append(a.of[at], name.Name)
		slices.Sort(a.of[at])
	}
}

// owner is the autoscaler that sets the size of the pod; empty if none does.
func (a *autoscalers) owner(pod *v1.Pod) string {
	if len(a.of) == 0 {
		return ""
	}
	for _, at := range targetsOf(pod) {
		if names := a.of[at]; len(names) > 0 {
			return names[0]
		}
	}
	return ""
}

// targetsOf are the workloads by which a pod may be targeted: its controller, and as far as names say the controller of that.
func targetsOf(pod *v1.Pod) []Workload {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return nil
	}
	direct := Workload{pod.Namespace, strings.ToLower(owner.Kind), owner.Name}
	all := []Workload{direct, WorkloadOf(pod)}
	if at := strings.LastIndexByte(owner.Name, '-'); direct.Kind == "job" && at > 0 { // a CronJob adds the time
		all = append(all, Workload{pod.Namespace, "cronjob", owner.Name[:at]})
	}
	return all
}

// SeeAutoscaler takes in that an autoscaler of that name sets the sizes of the target's pods; of the zero value, that it sets none.
func SeeAutoscaler(w *World, name types.NamespacedName, target Workload) {
	a := &w.shapes.autoscalers
	if a.targets[name] == target {
		return
	}
	a.aim(name, target)
	changed := map[types.UID]*Pod{}
	for uid, p := range w.pods.byUID {
		if p.object.Namespace == name.Namespace && p.elastic != nil && p.elastic.owner != a.owner(p.object) {
			changed[uid] = p
		}
	}
	for _, p := range inOrder(changed) {
		switch {
		case p.node != nil:
			w.placed.sizes.reclassed(p)
		case p.Stage.sortable():
			w.waiting.again(p)
		}
	}
}
