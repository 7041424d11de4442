package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/testbed"
)

// compositeBed is one of its own, as composite pod groups are behind a gate that is off in Kubernetes 1.37 wherever it is not asked for.
var compositeBed = sharedBed{options: withComposites(testbed.Options{Tmpfs: true})}

// withComposites has the bed serve composite pod groups beside pod groups.
func withComposites(o testbed.Options) testbed.Options {
	o = withPodGroups(o)
	if !testbed.Before(37) {
		o.FeatureGates += ",CompositePodGroup=true,PodGroupPreemptionPolicy=true"
		o.APIServerFlags = []string{"--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true"}
	}
	return o
}

// compositeGates is the flag with which the program reads composite pod groups.
const compositeGates = "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"

// composing is a bare cluster with composite pod groups.
func composing(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, compositeBed.get(t))
	t.Cleanup(c.empty)
	c.needs("scheduling.k8s.io/v1beta1", "podgroups")
	c.needs("scheduling.k8s.io/v1alpha3", "compositepodgroups")
	featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
		features.GenericWorkload: true, features.TopologyAwareWorkloadScheduling: true, features.CompositePodGroup: true,
	})
	return c
}

// composite makes a composite pod group of which so many parts are placed together; 0 is any.
func (c *cluster) composite(name string, least int32, options ...func(*schedulingv1alpha3.CompositePodGroupSpec)) {
	c.t.Helper()
	g := &schedulingv1alpha3.CompositePodGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	g.Spec.WorkloadRef = &schedulingv1alpha3.WorkloadReference{WorkloadName: "work", TemplateName: name}
	if g.Spec.SchedulingPolicy.Gang = (&schedulingv1alpha3.CompositeGangSchedulingPolicy{MinGroupCount: least}); least == 0 {
		g.Spec.SchedulingPolicy = schedulingv1alpha3.CompositePodGroupSchedulingPolicy{Basic: &schedulingv1alpha3.CompositeBasicSchedulingPolicy{}}
	}
	for _, o := range options {
		o(&g.Spec)
	}
	_, err := c.client.SchedulingV1alpha3().CompositePodGroups(c.namespace).Create(c.t.Context(), g, metav1.CreateOptions{})
	c.must(err)
}

// under makes a composite pod group a part of another.
func under(parent string) func(*schedulingv1alpha3.CompositePodGroupSpec) {
	return func(s *schedulingv1alpha3.CompositePodGroupSpec) { s.ParentCompositePodGroupName = &parent }
}

// part makes a pod group a part of a composite one.
func part(parent string) func(*schedulingv1beta1.PodGroupSpec) {
	return func(s *schedulingv1beta1.PodGroupSpec) {
		s.ParentCompositePodGroupName = &parent
		s.WorkloadRef = &schedulingv1beta1.WorkloadReference{WorkloadName: "work", TemplateName: parent}
	}
}

// awaitComposite waits until the condition of a composite pod group has the status, and words like these.
func (c *cluster) awaitComposite(name string, status metav1.ConditionStatus, words string) {
	c.t.Helper()
	const condition = "CompositePodGroupInitiallyScheduled"
	c.await(20*time.Second, func() string {
		g, err := c.client.SchedulingV1alpha3().CompositePodGroups(c.namespace).Get(c.t.Context(), name, metav1.GetOptions{})
		c.must(err)
		has := meta.FindStatusCondition(g.Status.Conditions, condition)
		if has == nil || has.Status != status || !strings.Contains(has.Message, words) {
			return fmt.Sprintf("%s %s %q of composite pod group %s, which has %+v", condition, status, words, name, has)
		}
		return ""
	})
}

// The pods of two of three groups are placed together, or none: those that find room, though older ones do not. The third group comes when there is room for it.
func TestCompositePodGroupIsPlacedTogether(t *testing.T) {
	c := composing(t)
	c.start(settings{})
	c.addNodes(2, "n", "4")
	c.create(newPod("early-0", member("early"), cpu("9")))
	c.group("early", 1, part("whole"))
	c.awaitGroup("early", metav1.ConditionFalse, "its composite pod group whole is not there")
	c.composite("whole", 2)
	c.group("late", 2, part("inner"))
	c.composite("inner", 0, under("whole"))
	c.create(several(2, "late", member("late"), cpu("2"))...)
	c.awaitComposite("whole", metav1.ConditionFalse, "")
	c.group("middle", 2, part("whole"))
	c.create(newPod("middle-0", member("middle"), cpu("2")))
	c.awaitBound(time.Second, 0)
	c.create(newPod("middle-1", member("middle"), cpu("2")))
	c.awaitBound(time.Minute, 4)
	for _, name := range []string{"whole", "inner"} {
		c.awaitComposite(name, metav1.ConditionTrue, "")
	}
	c.awaitGroup("middle", metav1.ConditionTrue, "")
	c.awaitGroup("early", metav1.ConditionFalse, "")
	c.addNodes(1, "m", "9")
	c.awaitBound(20*time.Second, 5)
	c.awaitGroup("early", metav1.ConditionTrue, "")
	c.checkRoom()
}

// All groups below one with disruptionMode all leave at once for another composite pod group, whose root is more important, and for which too little room would be made by some of them.
func TestCompositePodGroupsPreempt(t *testing.T) {
	c := composing(t)
	c.start(settings{profile: func(p *config.Profile) { p.Evictions.Enabled = true }})
	c.addNodes(3, "n", "4")
	c.composite("low", 1, func(s *schedulingv1alpha3.CompositePodGroupSpec) {
		s.DisruptionMode = &schedulingv1alpha3.CompositeDisruptionMode{All: &schedulingv1alpha3.AllCompositeDisruptionMode{}}
	})
	c.group("low-a", 1, part("low"))
	c.group("low-b", 2, part("low"))
	c.create(newPod("low-a-0", member("low-a"), cpu("3")))
	c.create(several(2, "low-b", member("low-b"), cpu("3"))...)
	c.awaitBound(20*time.Second, 3)
	c.awaitComposite("low", metav1.ConditionTrue, "")
	urgent := newPod("urgent", cpu("1"), priority(c, 1000)) // so that there is a class of this priority
	c.create(urgent)
	c.awaitBound(20*time.Second, 4)
	c.composite("high", 2, func(s *schedulingv1alpha3.CompositePodGroupSpec) { s.PriorityClassName = urgent.Spec.PriorityClassName })
	c.group("high-a", 1, part("high"))
	c.group("high-b", 1, part("high"))
	c.create(newPod("high-a-0", member("high-a"), cpu("3")))
	c.create(newPod("high-b-0", member("high-b"), cpu("3")))
	c.await(time.Minute, func() string {
		low, high := len(c.bound(prefixed("low"))), len(c.bound(prefixed("high")))
		if low > 0 || high != 2 {
			return fmt.Sprintf("2 of the more important pods bound, and none of the others; %d and %d are", high, low)
		}
		return ""
	})
	c.awaitComposite("high", metav1.ConditionTrue, "")
	c.checkRoom()
}

// A composite pod group stands in one zone with all of its groups. Zones are three of the bed: node i is in zone i mod 3.
func TestCompositePodGroupStandsInOneZone(t *testing.T) {
	c := composing(t)
	c.start(settings{})
	c.addNodes(6, "n", "4")
	c.composite("whole", 2, func(s *schedulingv1alpha3.CompositePodGroupSpec) {
		s.SchedulingConstraints = &schedulingv1alpha3.CompositePodGroupSchedulingConstraints{Topology: []schedulingv1alpha3.TopologyConstraint{{Key: v1.LabelTopologyZone}}}
	})
	c.group("a", 2, part("whole"))
	c.group("b", 1, part("whole"))
	c.create(several(2, "a", member("a"), cpu("3"))...)
	c.create(newPod("b-0", member("b"), cpu("3")))
	c.awaitComposite("whole", metav1.ConditionFalse, "a gang of 3: 2 of its 3 waiting tasks would fit now in the best of 3 domains, of which one is to hold them all.")
	c.addNodes(9, "m", "4")
	c.awaitBound(20*time.Second, 3)
	c.create(newPod("b-1", member("b"), cpu("3")))
	c.awaitBound(20*time.Second, 4)
	zones := map[string]int{}
	for _, p := range c.bound(func(*v1.Pod) bool { return true }) {
		n, err := c.client.CoreV1().Nodes().Get(t.Context(), p.Spec.NodeName, metav1.GetOptions{})
		c.must(err)
		zones[n.Labels[v1.LabelTopologyZone]]++
	}
	if len(zones) != 1 {
		t.Errorf("the composite pod group stands in the zones %v", zones)
	}
	c.checkRoom()
}

// A composite pod group waits while the leader is killed; the next one knows of it and holds to it. It also says what is wrong with a tree without a root.
func TestCompositePodGroupSurvivesTheLeader(t *testing.T) {
	c := composing(t)
	c.addNodes(2, "n", "4")
	c.forgetLeader(leaseName)
	first := c.run("first", shortLease, compositeGates)
	leader := c.awaitLeader(30*time.Second, "")
	c.composite("whole", 2)
	c.group("a", 2, part("whole"))
	c.group("b", 1, part("whole"))
	c.create(several(2, "a", member("a"), cpu("3"))...)
	c.create(newPod("b-0", member("b"), cpu("3")))
	c.awaitComposite("whole", metav1.ConditionFalse, "a gang of 3: 2 of its 3 waiting tasks would fit now.")
	first.signal(syscall.SIGKILL)
	c.run("second", calmLease, compositeGates)
	c.awaitLeader(time.Minute, leader)
	c.create(newPod("free", cpu("1")))
	c.awaitBound(30*time.Second, 1)
	c.composite("itself", 1, under("itself"))
	c.group("lost", 1, part("itself"))
	c.create(newPod("lost-0", member("lost"), cpu("1")))
	c.awaitComposite("itself", metav1.ConditionFalse, "its composite pod groups itself are parts of each other")
	c.addNodes(1, "m", "4")
	c.awaitBound(30*time.Second, 4)
	c.awaitComposite("whole", metav1.ConditionTrue, "")
}
