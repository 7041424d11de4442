package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Pods with absurd values are placed if they fit, refused with a reason if not,
// and keep nobody else: 100 plain pods among them are bound.
func TestAbsurdPods(t *testing.T) {
	c := bare(t)
	c.start(settings{})
	c.addNodes(10, "n", "20")
	c.create(several(50, "before", label("app", "plain"))...)
	fitting := 0
	for name, row := range absurdities() {
		c.create(newPod(name, row.change))
		if row.waits == "" {
			fitting++
		}
	}
	c.create(several(50, "after", label("app", "plain"))...)
	c.awaitBound(20*time.Second, 100, of("plain"))
	c.awaitBound(20*time.Second, 100+fitting)
	for name, row := range absurdities() {
		if row.waits != "" {
			t.Logf("%s: %s", name, c.awaitCondition(name, row.waits))
		}
	}
	c.checkScheduledOnce()
	c.checkRoom()
}

// absurdities are pods by name, and why they wait where they do not fit on a node of 20 cores.
func absurdities() map[string]struct {
	change option
	waits  string
} {
	type row = struct {
		change option
		waits  string // the reason of its condition; empty where it fits
	}
	many := func(count int, do func(p *v1.Pod, i int)) option {
		return func(p *v1.Pod) {
			for i := range count {
				do(p, i)
			}
		}
	}
	spreads := func(how v1.UnsatisfiableConstraintAction) option {
		return many(60, func(p *v1.Pod, i int) {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: fmt.Sprintf("level-%d", i), WhenUnsatisfiable: how, LabelSelector: apps("e2e"),
			})
		})
	}
	return map[string]row{
		"cores": {cpu("9223372036854775"), held},
		// 1<<62 cores are no thousandths in 64 bits: upstream's filters, and so
		// kube-scheduler, take them for none. We do not.
		"overflow": {cpu("4611686018427387904"), held},
		"bytes":    {request(v1.ResourceMemory, "4611686018427387904"), held},
		"memory":   {request(v1.ResourceMemory, "9E"), held},
		"both": {func(p *v1.Pod) {
			cpu("9E")(p)
			request(v1.ResourceMemory, "9E")(p)
			request(v1.ResourceEphemeralStorage, "9E")(p)
		}, held},
		"unknown": {func(p *v1.Pod) {
			request("example.com/unobtainium", "9E")(p)
			p.Spec.Containers[0].Resources.Limits = v1.ResourceList{"example.com/unobtainium": resource.MustParse("9E")}
		}, held},
		"tiny":       {request(v1.ResourceMemory, "1"), ""},
		"containers": {many(1000, addContainer), ""},
		"tolerations": {many(500, func(p *v1.Pod, i int) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: fmt.Sprintf("taint-%d", i), Operator: v1.TolerationOpExists})
		}), ""},
		"spread-hard": {spreads(v1.DoNotSchedule), v1.PodReasonUnschedulable},
		"spread-soft": {spreads(v1.ScheduleAnyway), ""},
		"labels":      {many(1000, func(p *v1.Pod, i int) { p.Labels[fmt.Sprintf("label-%d", i)] = strings.Repeat("x", 63) }), ""},
		"ports":       {many(600, func(p *v1.Pod, i int) { hostPort(int32(1000 + i))(p) }), ""},
	}
}

func addContainer(p *v1.Pod, i int) {
	p.Spec.Containers = append(p.Spec.Containers, v1.Container{
		Name: fmt.Sprintf("c-%d", i), Image: "pause",
		Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1m")}},
	})
}
