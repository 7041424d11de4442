package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"

	"fairlead.dev/fairlead/kube/judge"
	"fairlead.dev/fairlead/kube/testbed"
)

// The same workload, of everything that restricts a pod, is placed by us and by
// kube-scheduler. Each pod of either, taken away and asked about again, passes
// upstream's filters on its node; and we place as many as kube-scheduler does.
func TestParity(t *testing.T) {
	placed := map[string]int{}
	for _, scheduler := range []string{testbed.FairleadProfile, v1.DefaultSchedulerName} {
		t.Run(scheduler, func(t *testing.T) {
			c := bare(t)
			c.addNodes(12, "n", "8")
			if scheduler == testbed.FairleadProfile {
				c.start(settings{})
			} else {
				startKubeScheduler(c)
			}
			for _, group := range parityWorkload(scheduler) {
				c.create(group...)
				c.await(time.Minute, func() string {
					for _, p := range c.pods() {
						if p.Spec.NodeName == "" && condition(&p).Message == "" {
							return "a decision about pod " + p.Name
						}
					}
					return ""
				})
			}
			placed[scheduler] = len(c.bound())
			c.checkRoom()
			c.checkFilters()
		})
	}
	t.Logf("placed: %v", placed)
	if ours, theirs := placed[testbed.FairleadProfile], placed[v1.DefaultSchedulerName]; ours < theirs {
		t.Errorf("we placed %d pods where kube-scheduler placed %d", ours, theirs)
	}
}

// parityWorkload is placed group by group, so that what can be placed does not
// depend on luck.
func parityWorkload(scheduler string) [][]*v1.Pod {
	by := scheduledBy(scheduler)
	return [][]*v1.Pod{
		several(13, "ports", by, cpu("100m"), hostPort(8080)), // one too many
		several(10, "spread", by, label("app", "spread"), spread("spread", zone)),
		several(3, "apart", by, label("app", "apart"), awayFrom("apart", zone)),
		several(1, "late", by, label("app", "apart"), awayFrom("apart", zone)), // no zone is left
		several(1, "leader", by, label("app", "leader")),
		several(5, "near", by, near("leader", zone)),
		several(4, "zone", by, selecting(zone, "z2")),
		several(3, "large", by, cpu("5")),
		several(2, "huge", by, cpu("9")), // fit nowhere
	}
}

// checkFilters asks upstream's filters about every bound pod as if it came last.
func (c *cluster) checkFilters() {
	c.t.Helper()
	factory := informers.NewSharedInformerFactory(c.client, 0)
	pods, nodes := factory.Core().V1().Pods().Lister(), factory.Core().V1().Nodes().Lister()
	j, err := judge.New(c.t.Context(), judge.Options{Client: c.client, Informers: factory, Parallelism: 1})
	c.must(err)
	factory.Start(c.t.Context().Done())
	factory.WaitForCacheSync(c.t.Context().Done())
	allNodes, err := nodes.List(labels.Everything())
	c.must(err)
	for _, n := range allNodes {
		j.SetNode(n)
	}
	allPods, err := pods.List(labels.Everything())
	c.must(err)
	allPods = slices.DeleteFunc(allPods, func(p *v1.Pod) bool { return p.Spec.NodeName == "" })
	for _, p := range allPods {
		info, err := judge.NewPod(p)
		c.must(err)
		j.AddPod(info, p.Spec.NodeName)
	}
	for _, p := range allPods {
		if why := c.again(j, p); why != "" {
			c.t.Errorf("pod %s on %s: %s", p.Name, p.Spec.NodeName, why)
		}
	}
}

// again says why upstream's filters would not place the pod where it is; empty
// if they would.
func (c *cluster) again(j *judge.Judge, p *v1.Pod) string {
	c.t.Helper()
	info, err := judge.NewPod(p)
	c.must(err)
	j.RemovePod(info, p.Spec.NodeName)
	defer j.AddPod(info, p.Spec.NodeName)
	unbound := p.DeepCopy()
	unbound.Spec.NodeName = ""
	query, refusal := j.Case(unbound, nil)
	if !refusal.IsSuccess() {
		return fmt.Sprint(refusal.Reasons())
	}
	defer query.Close()
	if status := query.LastWord(unbound, p.Spec.NodeName); !status.IsSuccess() {
		return fmt.Sprint(status.Plugin(), status.Reasons())
	}
	return ""
}
