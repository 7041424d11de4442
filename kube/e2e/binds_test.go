package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The answer to every bind is lost, though the bind was done: the pods are
// recognised as bound, are bound to one node, and take room once.
func TestBindsWithoutAnswer(t *testing.T) {
	f := bindFifty(t, losingFirst(false, bindOf))
	if got := f.sum("fairlead_ambiguous_binds_total"); got < 50 {
		t.Errorf("%d binds were looked up, want 50", got)
	}
	if got := f.sum("fairlead_api_writes_total", "pods/binding"); got != 50 {
		t.Errorf("%d binds were sent for 50 pods", got)
	}
}

// No bind arrives at the first attempt: each is sent again, and no room is lost.
func TestBindsThatNeverArrive(t *testing.T) {
	f := bindFifty(t, losingFirst(true, bindOf))
	if got := f.sum("fairlead_api_writes_total", "pods/binding"); got != 100 {
		t.Errorf("%d binds were sent, want each of 50 twice", got)
	}
}

// bindFifty runs a scheduler with faults until 50 pods are bound, each once.
func bindFifty(t *testing.T, faults func(http.RoundTripper) http.RoundTripper) *fairlead {
	t.Helper()
	c := bare(t)
	c.addNodes(5, "n", "10")
	f := c.start(settings{faults: faults})
	c.create(several(50, "p")...)
	c.awaitBound(time.Minute, 50)
	c.checkRoom()
	c.checkScheduledOnce()
	return f
}

// A node is deleted after pods were decided for it and before their binds
// arrive. Those whose bind fails are placed elsewhere; those that the API server
// bound to the missing node all the same count there once it is back.
func TestNodeDeletedBetweenPlanAndBind(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		t.Run(fmt.Sprintf("arrives=%t", arrives), func(t *testing.T) {
			c := bare(t)
			held := newHold()
			c.start(settings{faults: held.wrap(arrives)})
			c.addNodes(1, "doomed", "2")
			c.create(several(2, "early")...)
			held.await(t, 2)
			c.must(c.client.CoreV1().Nodes().Delete(t.Context(), "doomed00000", metav1.DeleteOptions{}))
			c.addNodes(1, "other", "2")
			c.create(newPod("later"))
			c.await(20*time.Second, func() string {
				if !held.holds("later") {
					return "the bind of the later pod, by which the loss of the node is known"
				}
				return ""
			})
			held.release()
			if !arrives {
				// One pod is left over: three for a node of two.
				c.awaitBound(30*time.Second, 2)
				c.checkRoom()
				c.addNodes(1, "more", "2")
			}
			c.awaitBound(30*time.Second, 3)
			c.checkRoom()
			// Should the node return, it has as much room as its pods leave.
			c.addNodes(1, "doomed", "2")
			c.create(several(10, "last")...)
			room := 2 + 2 // doomed and other
			if !arrives {
				room += 2 // more
			}
			c.awaitBound(30*time.Second, room)
			c.checkRoom()
		})
	}
}

// hold keeps binds from being sent until they are released.
type hold struct {
	asked    chan string
	released chan struct{}
	seen     map[string]bool
}

func newHold() *hold {
	return &hold{asked: make(chan string, 1000), released: make(chan struct{}), seen: map[string]bool{}}
}

func (h *hold) wrap(arrives bool) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			pod := bindOf(r)
			if pod == "" {
				return next.RoundTrip(r)
			}
			select {
			case <-h.released: // Later binds go through.
				return next.RoundTrip(r)
			default:
			}
			h.asked <- pod
			<-h.released
			if !arrives {
				return nil, noAnswerError{}
			}
			return next.RoundTrip(r)
		})
	}
}

// holds reports whether the pod's bind is held.
func (h *hold) holds(pod string) bool {
	for {
		select {
		case name := <-h.asked:
			h.seen[name] = true
		default:
			return h.seen[pod]
		}
	}
}

// await waits for so many binds.
func (h *hold) await(t *testing.T, count int) {
	t.Helper()
	for range count {
		select {
		case name := <-h.asked:
			h.seen[name] = true
		case <-time.After(20 * time.Second):
			t.Fatalf("only the binds of %v were tried", h.seen)
		}
	}
}

func (h *hold) release() { close(h.released) }

// Another scheduler binds a pod of ours while our bind is on its way. Ours is
// refused; the pod stays where it is, in good condition, and what we had kept
// for it is room again.
func TestBoundByAnother(t *testing.T) {
	c := bare(t)
	held := newHold()
	f := c.start(settings{faults: held.wrap(true)})
	c.addNodes(1, "ours", "1")
	c.create(newPod("wanted"))
	held.await(t, 1)
	c.addNodes(1, "theirs", "1")
	c.bind("wanted", "theirs00000")
	held.release()
	c.create(newPod("next"))
	c.awaitBound(20*time.Second, 2)
	c.checkRoom()
	c.await(20*time.Second, func() string {
		if f.sum("fairlead_bind_duration_seconds", "conflict") == 0 {
			return "the outcome of our bind"
		}
		return ""
	})
	// Conditions are written in order: after this one there is no other to come.
	c.create(newPod("large", cpu("50")))
	c.awaitRefused("large")
	for _, name := range []string{"wanted", "next"} {
		if said := condition(c.pod(name)); said.Status != v1.ConditionTrue {
			t.Errorf("the condition of pod %s, which is bound: %+v", name, said)
		}
	}
}
