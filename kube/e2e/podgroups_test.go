package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/kube/config"
)

// group makes a pod group of which so many pods are placed together.
func (c *cluster) group(name string, least int32, options ...func(*schedulingv1beta1.PodGroupSpec)) {
	c.t.Helper()
	g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: least}
	for _, o := range options {
		o(&g.Spec)
	}
	_, err := c.client.SchedulingV1beta1().PodGroups(c.namespace).Create(c.t.Context(), g, metav1.CreateOptions{})
	c.must(err)
}

// inOne has all pods of a group stand in one domain of the key.
func inOne(key string) func(*schedulingv1beta1.PodGroupSpec) {
	return func(s *schedulingv1beta1.PodGroupSpec) {
		s.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: key}}}
	}
}

// goAllAtOnce has the pods of a group leave all at once, or not at all.
func goAllAtOnce(s *schedulingv1beta1.PodGroupSpec) {
	s.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
}

// resizeGroup wants another number of them.
func (c *cluster) resizeGroup(name string, least int32) {
	c.t.Helper()
	patch := fmt.Sprintf(`{"spec":{"schedulingPolicy":{"gang":{"minCount":%d}}}}`, least)
	_, err := c.client.SchedulingV1beta1().PodGroups(c.namespace).Patch(c.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
}

// awaitGroup waits until the group's condition has the status, and words like these.
func (c *cluster) awaitGroup(name string, status metav1.ConditionStatus, words string) {
	c.t.Helper()
	c.await(20*time.Second, func() string {
		g, err := c.client.SchedulingV1beta1().PodGroups(c.namespace).Get(c.t.Context(), name, metav1.GetOptions{})
		c.must(err)
		has := meta.FindStatusCondition(g.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
		if has == nil || has.Status != status || !strings.Contains(has.Message, words) {
			return fmt.Sprintf("%s %s %q of group %s, which has %+v", schedulingv1beta1.PodGroupInitiallyScheduled, status, words, name, has)
		}
		return ""
	})
}

// member makes a pod one of the group.
func member(group string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group} }
}

// At least as many pods of a group as it asks for are placed together, or none; who comes before the group waits for it. What keeps them
// stands in their conditions and in the group's.
func TestPodGroupIsPlacedTogether(t *testing.T) {
	c := grouping(t)
	c.start(settings{})
	c.addNodes(2, "n", "4")
	c.create(several(2, "early", member("gang"), cpu("3"))...)
	c.create(newPod("free", cpu("1")))
	c.awaitBound(20*time.Second, 1)
	c.expect("early-0", held, regexp.MustCompile(`^0/2 nodes are available: its pod group gang is not there\.$`))
	c.group("gang", 3)
	c.awaitGroup("gang", metav1.ConditionFalse, "a gang of 3: 2 of its 2 waiting tasks would fit now, and 1 more have yet to come.")
	c.create(newPod("late", member("gang"), cpu("4")))
	c.awaitGroup("gang", metav1.ConditionFalse, "a gang of 3: 2 of its 3 waiting tasks would fit now.")
	c.awaitBound(time.Second, 1)
	c.addNodes(1, "m", "4")
	c.awaitBound(20*time.Second, 4)
	c.awaitGroup("gang", metav1.ConditionTrue, "")
	c.checkRoom()
}

// A group that comes to ask for fewer is placed with these. A group asks for more room than there is, and the pods of lower priority that have to go
// for all of its pods are asked to leave, and no others.
func TestPodGroupEvictsAndShrinks(t *testing.T) {
	c := grouping(t)
	c.start(settings{profile: func(p *config.Profile) { p.Evictions.Enabled = true }})
	c.addNodes(4, "n", "4")
	c.create(several(4, "low", cpu("3"), priority(c, -10))...)
	c.awaitBound(20*time.Second, 4)
	c.group("wide", 5)
	c.create(several(5, "wide", member("wide"), cpu("3"), priority(c, 1000))...)
	c.awaitGroup("wide", metav1.ConditionFalse, "a gang of 5: ")
	if n := len(c.bound(prefixed("low"))); n != 4 {
		t.Fatalf("%d of 4 pods were evicted for a group that has no place even so", 4-n)
	}
	c.resizeGroup("wide", 3)
	c.await(time.Minute, func() string {
		if n := len(c.bound(prefixed("wide"))); n < 3 {
			return fmt.Sprintf("3 pods of the group bound, %d are", n)
		}
		return ""
	})
	c.awaitGroup("wide", metav1.ConditionTrue, "")
}

// All pods of a group with a topology key stand in one zone, those that come later, too; where it fits none it says how many would fit. Zones are three of the
// bed: node i is in zone i mod 3.
func TestPodGroupStandsInOneZone(t *testing.T) {
	c := grouping(t)
	c.start(settings{})
	c.addNodes(6, "n", "4")
	c.create(newPod("there", cpu("1")))
	c.awaitBound(20*time.Second, 1)
	c.group("gang", 3, inOne(v1.LabelTopologyZone))
	c.create(several(3, "gang", member("gang"), cpu("3"))...)
	c.awaitGroup("gang", metav1.ConditionFalse, "a gang of 3: 2 of its 3 waiting tasks would fit now in the best of 3 domains, of which one is to hold them all.")
	c.addNodes(9, "m", "4")
	c.awaitBound(20*time.Second, 4)
	c.awaitGroup("gang", metav1.ConditionTrue, "")
	c.create(newPod("gang-late", member("gang"), cpu("3")))
	c.awaitBound(20*time.Second, 5)
	zones := map[string]int{}
	for _, p := range c.bound(prefixed("gang")) {
		n, err := c.client.CoreV1().Nodes().Get(t.Context(), p.Spec.NodeName, metav1.GetOptions{})
		c.must(err)
		zones[n.Labels[v1.LabelTopologyZone]]++
	}
	if len(zones) != 1 {
		t.Errorf("the group stands in the zones %v", zones)
	}
	c.checkRoom()
}

// A group that runs in a full zone loses a pod with its node: the next one comes where the fewest less important pods leave, and those of the group that run stay. When the zone
// has no room any more, whoever left, nobody is asked to leave, and the pod says where its group stands and which zone would hold it. Zones are three of the bed: node i is in zone i mod 3.
func TestPodGroupReplacesAMember(t *testing.T) {
	c := grouping(t)
	c.start(settings{profile: func(p *config.Profile) { p.Evictions.Enabled = true }})
	c.addNodes(12, "n", "4")
	on := func(node string) option {
		return func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{v1.LabelHostname: node} }
	}
	c.create(several(2, "small", cpu("2"), priority(c, -10), on("n00006"))...)
	c.create(newPod("large", cpu("4"), priority(c, -10), on("n00009")))
	c.awaitBound(20*time.Second, 3)
	c.group("gang", 2, inOne(v1.LabelTopologyZone))
	c.create(several(2, "gang", member("gang"), cpu("3"), priority(c, 1000))...)
	c.awaitBound(20*time.Second, 5)
	stays := c.pod("gang-0")
	lose := func(pod string) {
		node := c.pod(pod).Spec.NodeName
		c.must(c.client.CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}))
		now := int64(0)
		if err := c.client.CoreV1().Pods(c.namespace).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now}); !apierrors.IsNotFound(err) {
			c.must(err)
		}
	}
	there := func() (names []string) {
		for _, p := range c.bound() {
			names = append(names, p.Name+" on "+p.Spec.NodeName)
		}
		slices.Sort(names)
		return names
	}
	await := func(want ...string) {
		t.Helper()
		want = append(want, "gang-0 on "+stays.Spec.NodeName)
		slices.Sort(want)
		c.await(time.Minute, func() string {
			if names := there(); !slices.Equal(names, want) {
				return fmt.Sprintf("%v bound, those are %v", want, names)
			}
			return ""
		})
	}
	lose("gang-1")
	c.create(newPod("gang-2", member("gang"), cpu("3"), priority(c, 1000)))
	await("gang-2 on n00009", "small-0 on n00006", "small-1 on n00006")
	lose("gang-2")
	c.create(newPod("gang-3", member("gang"), cpu("3"), priority(c, 1000)))
	await("gang-3 on n00006")
	lose("gang-3")
	c.create(newPod("gang-4", member("gang"), cpu("3"), priority(c, 1000)))
	c.expect("gang-4", v1.PodReasonUnschedulable, regexp.MustCompile(`1 of its gang of 2 stands in \S+, which has 1 node; no node there has room for it even if all others left who may leave; \S+ has room for all 2 of the gang`))
	await()
	if uid := c.pod("gang-0").UID; uid != stays.UID {
		t.Errorf("the pod of the group that ran is another one")
	}
	c.checkRoom()
}

// The pods of a group with disruptionMode all leave all at once, on whatever node they are, for one that needs the room of one.
func TestPodGroupLeavesAllAtOnce(t *testing.T) {
	c := grouping(t)
	c.start(settings{profile: func(p *config.Profile) { p.Evictions.Enabled = true }})
	c.addNodes(3, "n", "4")
	c.group("whole", 3, goAllAtOnce)
	c.create(several(3, "whole", member("whole"), cpu("3"))...)
	c.awaitBound(20*time.Second, 3)
	c.create(newPod("urgent", cpu("3"), priority(c, 1000)))
	c.await(time.Minute, func() string {
		if n := len(c.bound(prefixed("whole"))); n > 0 || len(c.bound(prefixed("urgent"))) != 1 {
			return fmt.Sprintf("the urgent pod bound, and all 3 of the group gone; %d are there", n)
		}
		return ""
	})
	c.checkRoom()
}

// A group waits while the leader is killed; the next one knows of it and holds to it.
func TestPodGroupSurvivesTheLeader(t *testing.T) {
	c := grouping(t)
	c.addNodes(2, "n", "4")
	c.forgetLeader(leaseName)
	first := c.run("first", shortLease)
	leader := c.awaitLeader(30*time.Second, "")
	c.group("gang", 3)
	c.create(several(3, "gang", member("gang"), cpu("3"))...)
	c.awaitGroup("gang", metav1.ConditionFalse, "a gang of 3: 2 of its 3 waiting tasks would fit now.")
	first.signal(syscall.SIGKILL)
	c.run("second", calmLease)
	c.awaitLeader(time.Minute, leader)
	c.create(newPod("free", cpu("1")))
	c.awaitBound(30*time.Second, 1)
	c.addNodes(1, "m", "4")
	c.awaitBound(30*time.Second, 4)
	c.awaitGroup("gang", metav1.ConditionTrue, "")
}

func prefixed(prefix string) func(*v1.Pod) bool {
	return func(p *v1.Pod) bool { return strings.HasPrefix(p.Name, prefix) }
}
