package scheduler

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// In a namespace that is being deleted the API server binds nothing, so nothing is sent there, and the pod says why. What
// waits there when that begins is held as well.
func TestClosedNamespace(t *testing.T) {
	small := bigNode(0)
	small.Spec.Unschedulable = true
	inBubble(t, []runtime.Object{small, plainPod(1)}, func(b *bubble) {
		b.run()
		b.pass(time.Second)
		namespaces := b.api.Clientset.CoreV1().Namespaces()
		closed := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Status: v1.NamespaceStatus{Phase: v1.NamespaceTerminating}}
		if _, err := namespaces.Update(t.Context(), closed, metav1.UpdateOptions{}); err != nil {
			b.t.Fatal(err)
		}
		b.pass(time.Second)
		if _, err := b.api.Clientset.CoreV1().Nodes().Create(t.Context(), bigNode(1), metav1.CreateOptions{}); err != nil {
			b.t.Fatal(err)
		}
		b.create(plainPod(2))
		b.pass(2 * time.Minute)
		for _, name := range []string{"pod-1", "pod-2"} {
			b.expectCondition(name, heldReason, "its namespace is being deleted")
		}
		if len(b.api.sent) != 0 {
			b.t.Errorf("%v were sent", b.api.sent)
		}
	})
}
