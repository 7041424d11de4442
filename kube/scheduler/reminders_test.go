package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fairlead/kube/world"
)

// Pods that wait in their thousands get new words some at a time: all in their turn, none before its time, and nobody waits behind those that are placed by now.
func TestNewWordsComeByAndBy(t *testing.T) {
	const waiting, placed, nodes = 3*rewriteMost - 7, 2 * rewriteMost, 10
	objects := []runtime.Object{bigNode(0)}
	for i := range waiting + placed {
		p := plainPod(i)
		p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		if i < placed {
			p.Spec.NodeSelector["disk"] = "fast"
		}
		objects = append(objects, p)
	}
	inBubble(t, objects, func(b *bubble) {
		told := func() string {
			n, old := 0, 0
			for uid, v := range b.explainer.reported {
				if p := b.world.Pod(uid); p.Stage != world.Waiting {
					b.t.Errorf("pod %s is %s, and something is reported of it", uid, p.Stage)
				}
				if strings.HasPrefix(v.message, "0/11 nodes") {
					n++
				} else {
					old++
				}
			}
			return fmt.Sprintf("%d new, %d old", n, old)
		}
		b.run()
		b.pass(time.Second)
		for i := range nodes {
			fast := bigNode(1 + i)
			fast.Labels["disk"] = "fast"
			if _, err := b.api.CoreV1().Nodes().Create(b.t.Context(), fast, metav1.CreateOptions{}); err != nil {
				b.t.Fatal(err)
			}
		}
		b.pass(50 * time.Second)
		if got, want := told(), fmt.Sprintf("0 new, %d old", waiting); got != want {
			b.t.Errorf("before a minute is over: %s, want %s", got, want)
		}
		b.pass(9500 * time.Millisecond)
		for _, n := range []int{rewriteMost, 2 * rewriteMost, waiting} {
			if got, want := told(), fmt.Sprintf("%d new, %d old", n, waiting-n); got != want {
				b.t.Errorf("after a minute: %s, want %s", got, want)
			}
			b.pass(time.Second)
		}
		if n := len(b.explainer.again.list); n != waiting {
			b.t.Errorf("%d pods are to be looked at again, and %d wait", n, waiting)
		}
	})
}
