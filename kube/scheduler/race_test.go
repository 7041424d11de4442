package scheduler

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// racers are ours and another scheduler on the same nodes, whose binds one API server stores one after the other.
type racers struct {
	*bubble
	nodes, size, each int
	served            chan struct{} // holds a token while the API server is not busy
}

const (
	// serves is how long the API server takes for a bind: it stores 330 a second.
	serves = 3 * time.Millisecond
	// decides is how long the other scheduler takes for a pod.
	decides = 4 * time.Millisecond
	// lags is how much later than it is stored the other scheduler knows of a bind.
	lags = 50 * time.Millisecond
)

// store lets the API server deal with a bind.
func (r *racers) store(ctx context.Context) error {
	select {
	case <-r.served:
	case <-ctx.Done():
		return ctx.Err()
	}
	time.Sleep(serves)
	r.served <- struct{}{}
	return nil
}

// perNode is how many pods are on each node, by the API server.
func (r *racers) perNode(of func(*v1.Pod) bool) map[string]int {
	list, err := r.api.Clientset.CoreV1().Pods("default").List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Error(err)
		return nil
	}
	counts := map[string]int{}
	for i := range list.Items {
		if node := list.Items[i].Spec.NodeName; node != "" && of(&list.Items[i]) {
			counts[node]++
		}
	}
	return counts
}

// rival is the other scheduler: it puts each of its pods on the node that has the fewest, its own counted at once and ours as they stood a while ago.
func (r *racers) rival() {
	isOurs := func(p *v1.Pod) bool { return p.Spec.SchedulerName != v1.DefaultSchedulerName }
	type sight struct {
		at   time.Time
		ours map[string]int
	}
	var sights []sight
	own, seen := map[string]int{}, map[string]int{}
	for next := 0; next < r.each; {
		time.Sleep(decides)
		if next%10 == 0 {
			sights = append(sights, sight{time.Now(), r.perNode(isOurs)})
		}
		for len(sights) > 0 && time.Since(sights[0].at) >= lags {
			seen, sights = sights[0].ours, sights[1:]
		}
		best := bigNode(0).Name
		for i := range r.nodes {
			if n := bigNode(i).Name; own[n]+seen[n] < own[best]+seen[best] {
				best = n
			}
		}
		if own[best]+seen[best] >= r.size {
			return // it is full
		}
		own[best]++
		pod := fmt.Sprintf("theirs-%d", next)
		next++
		go func() {
			if err := r.store(context.Background()); err != nil {
				r.t.Error(err)
			}
			if err := r.api.place(pod, best); err != nil {
				r.t.Error(err)
			}
		}()
	}
}

// Another scheduler and ours have 300 pods each for 400 places, and place them at the same time. Few of the places go to both: none as a rule, where it was 136 when nobody yielded.
func TestFewPlacesGoToBoth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const nodes, size, each, most = 40, 10, 300, 20
	var objects []runtime.Object
	for i := range nodes {
		objects = append(objects, smallNode(i, size))
	}
	for i := range each {
		theirs := plainPod(1000 + i)
		theirs.Name, theirs.Spec.SchedulerName, theirs.OwnerReferences = fmt.Sprintf("theirs-%d", i), v1.DefaultSchedulerName, nil
		objects = append(objects, theirs)
	}
	inBubble(t, objects, func(b *bubble) {
		r := &racers{bubble: b, nodes: nodes, size: size, each: each, served: make(chan struct{}, 1)}
		r.served <- struct{}{}
		b.api.bind = func(ctx context.Context, _ string, _ int) error { return r.store(ctx) }
		b.Config.BindWorkers = 64
		b.run()
		b.pass(time.Second)
		go r.rival()
		for i := range each {
			b.create(plainPod(i))
			time.Sleep(2 * time.Millisecond)
		}
		b.pass(time.Minute)
		twice, taken := 0, 0
		for _, n := range r.perNode(func(*v1.Pod) bool { return true }) {
			twice += max(0, n-size)
			taken += min(n, size)
		}
		theirs := 0
		for _, n := range r.perNode(func(p *v1.Pod) bool { return p.Spec.SchedulerName == v1.DefaultSchedulerName }) {
			theirs += n
		}
		b.t.Logf("of %d places %d are taken, %d of them by the other scheduler, and %d went to both; %v binds were called back",
			nodes*size, taken, theirs, twice, b.sum("fairlead_bind_duration_seconds", "called-back"))
		if twice > most || taken < nodes*size {
			b.t.Errorf("of %d places %d are taken, and %d went to both, want all and %d at most", nodes*size, taken, twice, most)
		}
	})
}
