package world

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// This file is which pods without an owner belong together: those that a Service selects are one job, so that they are kept apart from each other as
// replicas of one owner are: those that go on until somebody deletes them, and apart from these those that end. Of several Services it is
// the first by name. A pod belongs to the one that it had when it was first given a slot, whatever becomes of the Service later.

// services are those with a selector, by namespace, in the order of their names.
type services map[string][]*v1.Service

// of is the Service that selects the pod; nil if none does.
func (s services) of(pod *v1.Pod) *v1.Service {
	for _, one := range s[pod.Namespace] {
		if selects(one, pod) {
			return one
		}
	}
	return nil
}

// selects reports whether the pod has all labels of the Service's selector.
func selects(one *v1.Service, pod *v1.Pod) bool {
	for key, value := range one.Spec.Selector {
		if has, there := pod.Labels[key]; !there || has != value {
			return false
		}
	}
	return true
}

// SeeService takes in a Service as it is now.
func SeeService(w *World, object *v1.Service) {
	LoseService(w, object)
	if len(object.Spec.Selector) == 0 {
		return
	}
	all := w.slots.services
	list := all[object.Namespace]
	at, _ := slices.BinarySearchFunc(list, object.Name, byServiceName)
	all[object.Namespace] = slices.Insert(list, at, object)
}

// LoseService takes in that a Service is gone.
func LoseService(w *World, object *v1.Service) {
	all := w.slots.services
	list := all[object.Namespace]
	at, found := slices.BinarySearchFunc(list, object.Name, byServiceName)
	if !found {
		return
	}
	if list = slices.Delete(list, at, at+1); len(list) == 0 {
		delete(all, object.Namespace)
	} else {
		all[object.Namespace] = list
	}
}

func byServiceName(s *v1.Service, name string) int { return strings.Compare(s.Name, name) }

// serviceKey is what the job of a Service's pods goes by.
func serviceKey(s *v1.Service) types.UID { return "service/" + s.UID }
