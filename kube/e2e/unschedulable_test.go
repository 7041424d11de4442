package e2e

import (
	"testing"
	"time"
)

// Thousands of pods that fit nowhere keep no others: 200 that fit are bound
// fast. Each of the many costs one condition and one event. When there is room
// for some of them, as many are placed.
func TestManyUnschedulable(t *testing.T) {
	skipIfShort(t)
	c := bare(t)
	f := c.start(settings{})
	many := normally(2000, 10000)
	c.addNodes(10, "small", "20")
	began := time.Now()
	c.create(several(many/2, "large", label("app", "large"), cpu("24"))...)
	c.create(several(many/2, "ssd", label("app", "ssd"), selecting("disk", "ssd"))...)
	t.Logf("%d pods that fit nowhere were created in %s", many, time.Since(began).Round(time.Millisecond))

	created := time.Now()
	c.create(several(200, "fits", label("app", "fits"))...)
	c.awaitBound(20*time.Second, 200, of("fits"))
	t.Logf("200 pods that fit were created and bound in %s", time.Since(created).Round(time.Millisecond))

	c.await(2*time.Minute, func() string {
		for _, p := range c.pods() {
			if p.Spec.NodeName == "" && condition(&p).Message == "" {
				return "why pod " + p.Name + " waits"
			}
		}
		return ""
	})
	// What is said is looked over once a minute.
	times := 1 + int(time.Since(began).Minutes())
	if patches := f.sum("fairlead_api_writes_total", "pods/status"); patches > times*many {
		t.Errorf("%d conditions were written about %d pods in %d minutes", patches, many, times)
	}
	if binds := f.sum("fairlead_api_writes_total", "pods/binding"); binds != 200 {
		t.Errorf("%d binds were sent for 200 pods", binds)
	}
	events := c.events("FailedScheduling")
	for name, e := range events {
		if len(e) > times {
			t.Errorf("pod %s has %d events FailedScheduling", name, len(e))
		}
	}
	t.Logf("%s after the first, %d conditions were written and there are %d events", time.Since(began).Round(time.Second), f.sum("fairlead_api_writes_total", "pods/status"), len(events))

	made := time.Now()
	c.addNodes(5, "roomy", "241")
	c.awaitBound(time.Minute, 50, of("large"))
	t.Logf("the 50 that new nodes have room for were bound in %s", time.Since(made).Round(time.Millisecond))
	c.checkRoom()
	if bound := len(c.bound(of("ssd"))); bound != 0 {
		t.Errorf("%d pods that want disks are on nodes that have none", bound)
	}
}
