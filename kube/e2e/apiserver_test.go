package e2e

import (
	"testing"
	"time"

	"fairlead.dev/fairlead/kube/testbed"
)

// The API server is killed while binds are under way, and is back a little
// later: every pod is bound once, and nothing is over-committed.
func TestAPIServerKilled(t *testing.T) {
	skipIfShort(t)
	// A bed of its own: a failure must not take the others along.
	bed := testbed.ForTest(t, testbed.Options{Tmpfs: true})
	c := newCluster(t, bed)
	c.must(grantRoles(bed))
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
