package world

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// This file keeps pods of namespaces that are being deleted from being placed: the API server binds no pod
// there, and they are about to go.

// closedNamespace says why such a pod waits.
const closedNamespace = "its namespace is being deleted, and the API server binds no pods there"

// SeeNamespace takes in a namespace as it is now, and returns the pods of ours that are held from now on, as it is being deleted, which is the end of it; or that wait for something else
// from now on, as its labels say which classes they may have.
func SeeNamespace(w *World, object *v1.Namespace) []*Pod {
	now := labels.Set{}
	maps.Copy(now, object.Labels)
	relabelled := w.rules.relabel(object.Name, now)
	l := w.waiting
	ending := object.DeletionTimestamp != nil || object.Status.Phase == v1.NamespaceTerminating
	if !ending {
		delete(l.closed, object.Name) // another one of its name
		if !relabelled || !l.slots.classes.promises.ByNamespace() {
			return nil
		}
	}
	if ending && l.closed[object.Name] {
		return nil
	}
	if ending {
		l.closed[object.Name] = true
	}
	var held []*Pod
	for _, p := range w.pods.byUID {
		if p.object.Namespace == object.Name && p.Ours && !p.placed() && (ending || p.Stage.sortable()) {
			held = append(held, p)
		}
	}
	slices.SortFunc(held, byOrder)
	for _, p := range held {
		l.again(p)
	}
	return held
}

// LoseNamespace takes in that a namespace is gone. Another of its name may come.
func LoseNamespace(w *World, name string) {
	delete(w.waiting.closed, name)
	_ = w.rules.relabel(name, nil) // its pods are gone
}
