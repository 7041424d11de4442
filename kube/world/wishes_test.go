package world

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// TestWishesAreScoredAsUpstream: what pods prefer of others reaches the core such that the policy kube-scheduler takes one of the nodes that upstream's
// plugins score best, in 99 of 100 cases, and without a query.
func TestWishesAreScoredAsUpstream(t *testing.T) {
	setCases(t, "1500")
	b := newBench(t, replicaSet("web"), replicaSet("db"), replicaSet("cache"))
	chosen, best, contested := 0, 0, 0
	var misses []string
	rapid.Check(t, func(t *rapid.T) {
		nodes, placed, pod := drawBaseline(t)
		r := newRig(t, b)
		r.policy = "kube-scheduler"
		r.world.shapes.prices = func(string) Prices { return Prices{Nodes: true, Company: true} }
		r.world.rules.wishes = true
		for _, n := range nodes {
			r.seeNode(n)
		}
		for _, p := range placed {
			p.Spec.SchedulerName = ours
			r.seePod(p)
		}
		r.restart()
		r.turn()
		pod.Spec.SchedulerName = ours
		r.now += cluster.Second
		r.seePod(pod)
		scores := b.rival.scores(t, nodes, placed, pod)
		p := r.world.Pod(pod.UID)
		v := r.turn()
		if p.query != nil {
			t.Fatalf("the pod awaits a query:\n%s", r.picture(p))
		}
		if (len(v.accepted) == 0) != (len(scores) == 0) || len(v.refused) > 0 {
			t.Fatalf("the pod is on %v, refused: %v, and upstream has the scores %v\n%s", v.accepted, v.refused, scores, r.picture(p))
		}
		if len(scores) == 0 {
			return
		}
		node, top := p.node.object.Name, int64(-1)
		for _, s := range scores {
			top = max(top, s)
		}
		chosen++
		if len(scores) > 1 {
			contested++
		}
		if scores[node] == top {
			best++
		} else {
			misses = append(misses, fmt.Sprintf("%s with %d: %v", node, scores[node], scores))
		}
	})
	t.Logf("of %d nodes chosen, %d of which among several, %d are among the best of upstream's scores", chosen, contested, best)
	if 100*best < 99*chosen || contested < chosen/2 {
		t.Errorf("%d of %d are among the best, want 99 of 100, such as not\n%s", best, chosen, strings.Join(misses[:min(len(misses), 10)], "\n"))
	}
}
