package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/kube/testbed"
)

// The API server is killed while binds are under way, and is back a little
// later: every pod is bound once, and nothing is over-committed.
func TestAPIServerKilled(t *testing.T) {
	skipIfShort(t)
	// A bed of its own: a failure must not take the others along.
	bed := testbed.ForTest(t, testbed.Options{Tmpfs: true})
	c := newCluster(t, bed)
	c.must(testbed.GrantRoles(t.Context(), bed))
	c.addNodes(50, "n", "20")
	c.create(several(1000, "p")...)
	faults, reached := atBind(300)
	f := c.start(settings{faults: faults, bindTimeout: 3 * time.Second})
	<-reached
	c.must(bed.KillAPIServer())
	began := time.Now()
	c.must(bed.StartAPIServer(t.Context()))
	t.Logf("the API server was away for %s", time.Since(began).Round(time.Millisecond))
	c.awaitBound(2*time.Minute, 1000)
	t.Logf("all are bound %s after the kill; %d binds had to be looked up", time.Since(began).Round(time.Millisecond), f.sum("fairlead_ambiguous_binds_total"))
	c.checkRoom()
	// Later pods are placed as before.
	c.addNodes(1, "more", "20")
	c.create(several(20, "later")...)
	c.awaitBound(30*time.Second, 1020)
	c.checkRoom()
}

// catchesUp is how soon after the API server is back a pod is bound that came in the first moment. It was 14 to 40 s when watches backed off.
const catchesUp = 10 * time.Second

// looks is how often at least another replica looks at the lease: before it begins to count, and when that is over.
const looks = 4400 * time.Millisecond

// The API server is away for longer than watches back off at first. A leader that lives through it goes on as soon as it is back; where the leader has ended, as it could not renew its lease,
// another replica does a lease's duration later: it sees then that the lease was renewed after it last looked, and counts anew. How long kube-scheduler takes, without an election, is logged.
func TestAPIServerAway(t *testing.T) {
	skipIfShort(t)
	const away = 23 * time.Second
	for _, test := range []struct {
		name     string
		lease    time.Duration
		replicas int
		within   time.Duration
	}{{"the leader lives", 2 * time.Minute, 1, catchesUp}, {"another one leads", 15 * time.Second, 2, 15*time.Second + 2*looks + catchesUp}} {
		t.Run(test.name, func(t *testing.T) {
			bed := testbed.ForTest(t, testbed.Options{Tmpfs: true})
			c := newCluster(t, bed)
			c.must(testbed.GrantRoles(t.Context(), bed))
			startKubeScheduler(c)
			for i := range test.replicas {
				r := c.run(fmt.Sprint("replica-", i), test.lease)
				c.await(time.Minute, func() string { // it knows of the lease, then, or soon
					if !strings.Contains(r.String(), "Attempting to acquire leader lease") {
						return r.name + " in the election"
					}
					return ""
				})
			}
			c.addNodes(10, "n", "20")
			ours, theirs := scheduledBy(testbed.FairleadProfile), scheduledBy(v1.DefaultSchedulerName)
			c.create(newPod("before", ours), newPod("before-theirs", theirs))
			c.awaitBound(time.Minute, 2)
			time.Sleep(3 * time.Second)
			c.must(bed.KillAPIServer())
			time.Sleep(away)
			c.must(bed.StartAPIServer(t.Context()))
			back := time.Now()
			c.create(newPod("after", ours), newPod("after-theirs", theirs))
			took := func(pod string) time.Duration {
				c.await(2*time.Minute, func() string {
					if c.pod(pod).Spec.NodeName == "" {
						return "a node for " + pod
					}
					return ""
				})
				return time.Since(back).Round(time.Millisecond)
			}
			own := took("after")
			t.Logf("after %s without an API server ours bound the first pod after %s, and kube-scheduler after %s", away, own, took("after-theirs"))
			if own > test.within {
				t.Errorf("ours bound the first pod %s after the API server was back, want %s at most", own, test.within)
			}
		})
	}
}
