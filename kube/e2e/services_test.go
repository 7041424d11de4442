package e2e

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestServicesApart: pods without an owner that a Service selects stand in all zones alike; others need not. The Service is there before them, as
// is mostly so, and before the scheduler or after it has started.
func TestServicesApart(t *testing.T) {
	c := bare(t)
	service := func(name string) {
		t.Helper()
		_, err := c.client.CoreV1().Services(c.namespace).Create(t.Context(), &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []v1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		c.must(err)
	}
	c.addNodes(6, "n", "32") // in three zones
	service("early")
	c.start(settings{})
	service("late")
	c.create(several(1, "first")...)
	c.awaitBound(time.Minute, 1) // by now the scheduler has heard of the late one
	for _, name := range []string{"early", "late"} {
		c.create(several(6, name, label("app", name))...)
	}
	c.awaitBound(time.Minute, 13)
	zones := map[string]string{}
	for _, n := range c.nodes() {
		zones[n.Name] = n.Labels[v1.LabelTopologyZone]
	}
	count := map[string]int{}
	for _, p := range c.pods() {
		count[p.Labels["app"]+" in "+zones[p.Spec.NodeName]]++
	}
	for _, name := range []string{"early", "late"} {
		for _, zone := range []string{"z0", "z1", "z2"} {
			if count[name+" in "+zone] != 2 {
				t.Errorf("pods by zone: %v, want two of each in each", count)
			}
		}
	}
}
