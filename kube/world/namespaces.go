package world

// This file keeps pods of namespaces that are being deleted from being placed: the API server binds no pod
// there, and they are about to go.

// closedNamespace says why such a pod waits.
const closedNamespace = "its namespace is being deleted, and the API server binds no pods there"

// SeeNamespace takes in whether the namespace is being deleted, which is the end of it, and returns the pods of ours that are held for it from now on.
func (w *World) SeeNamespace(name string, closed bool) []*Pod {
	l := w.waiting
	if l.closed[name] == closed {
		return nil
	}
	if !closed { // gone; another of its name may come
		delete(l.closed, name)
		return nil
	}
	l.closed[name] = true
	var held []*Pod
	for _, p := range inOrder(w.pods.byUID) {
		if p.object.Namespace == name && p.Ours && !p.placed() {
			l.again(p)
			held = append(held, p)
		}
	}
	return held
}
