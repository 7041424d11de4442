package world

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// learningRig is a rig that learns the reputation of nodes, and has a class whose tier asks for a high one.
func learningRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, newBench(t))
	r.policy = "fairlead"
	r.world.nodes.reputations.at = func(at metav1.Time) cluster.Time {
		return cluster.Time(at.Sub(time.Unix(0, 0)) / time.Microsecond)
	}
	r.beforeStep = func() { // what decides is held against upstream's filters, which are to see the same labels
		for name, n := range r.world.nodes.byName {
			r.nodes[name] = n.object
		}
	}
	r.promise(map[string]string{"gold": `{importance: 1, tier: {fairlead.dev/reputation: high}, namespaceSelector: {}}`, "rest": `{importance: 2, default: true}`})
	r.restart()
	return r
}

// readied sees the node as of the text, whose condition Ready has this status since that moment.
func (r *rig) readied(t *testing.T, text string, status v1.ConditionStatus, since cluster.Time, change ...func(*v1.Node)) {
	t.Helper()
	n := mustNode(t, text)
	n.CreationTimestamp = metav1.NewTime(time.Unix(0, 0))
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(time.Unix(0, int64(since)*1000))}}
	for _, c := range change {
		c(n)
	}
	r.world.Advance(r.now)
	r.seeNode(n)
}

// reputation is what the world has the node's label say.
func (r *rig) reputation(name string) string {
	return r.world.nodes.byName[name].object.Labels[ReputationLabel]
}

func (r *rig) wantReputations(want string) {
	r.tb.Helper()
	var got []string
	for _, name := range sortedKeys(r.world.nodes.byName) {
		got = append(got, name+"="+r.reputation(name))
	}
	if text := strings.Join(got, " "); text != want {
		r.tb.Fatalf("at %v the nodes are %s, want %s", r.now, text, want)
	}
}

// A class whose tier asks for a reputation has its pods on nodes that have it: one that fails loses it, and has it back when that is forgotten. The reason says how many nodes have which.
func TestReputationFeedsTheTier(t *testing.T) {
	r := learningRig(t)
	const one, two = "node n1 cpu=8", "node n2 cpu=8"
	r.readied(t, one, v1.ConditionTrue, 0)
	r.readied(t, two, v1.ConditionTrue, 0)
	r.wantReputations("n1=high n2=high")
	fails := func(text string) {
		r.readied(t, text, v1.ConditionUnknown, r.now)
		r.spin(1, atOnce)
		r.readied(t, text, v1.ConditionTrue, r.now)
		r.spin(1, atOnce)
	}
	fails(one)
	r.wantReputations("n1=average n2=high")
	on := func(name string) string { return r.pods[types.UID("uid-"+name)].Spec.NodeName }
	r.seePod(mustPod(t, "pod a cpu=1 label=fairlead.dev/class=gold"))
	r.seePod(mustPod(t, "pod b cpu=5"))
	r.spin(2, atOnce)
	if on("a") != "n2" || on("b") == "" {
		t.Fatalf("they are on %q and %q, want n2, and anywhere", on("a"), on("b"))
	}

	r.now += cluster.Day
	for range 3 {
		fails(two)
	}
	r.wantReputations("n1=average n2=low")
	r.seePod(mustPod(t, "pod c cpu=1 label=fairlead.dev/class=gold"))
	r.spin(2, atOnce)
	if on("c") != "" || on("a") != "n2" {
		t.Fatalf("they are on %q and %q, want that one waits, and the other stays", on("c"), on("a"))
	}
	want := "the tier of ServiceClass gold wants fairlead.dev/reputation=high; by their failures of the last 30 days 0 nodes are high, 1 average and 1 low"
	if why := TierOf(r.world, r.world.pods.byUID["uid-c"]); why != want {
		t.Errorf("it says %q, want %q", why, want)
	}
	if wake := r.world.Wake(); wake > 30*cluster.Day {
		t.Errorf("it wakes at %v, after the first failure is forgotten", wake)
	}
	r.now = 30*cluster.Day + cluster.Hour // those of n2 are not
	r.spin(3, atOnce)
	r.wantReputations("n1=high n2=low")
	if on("c") != "n1" {
		t.Errorf("pod c is on %q, want n1", on("c"))
	}
	r.now += cluster.Day
	r.spin(1, atOnce)
	r.wantReputations("n1=high n2=high")
}

// What counts as a failure, and what does not.
func TestWhatIsAFailure(t *testing.T) {
	cordoned := func(n *v1.Node) { n.Spec.Unschedulable = true }
	for name, test := range map[string]struct {
		does func(*rig)
		want string
	}{
		"a new node becomes ready": {func(r *rig) {
			r.readied(t, "node n1 cpu=8", v1.ConditionFalse, 0)
			r.readied(t, "node n1 cpu=8", v1.ConditionTrue, cluster.Minute)
		}, "n1=high"},
		"of before it was seen": {func(r *rig) { r.readied(t, "node n1 cpu=8", v1.ConditionTrue, cluster.Hour) }, "n1=average"},
		"not ready when seen":   {func(r *rig) { r.readied(t, "node n1 cpu=8", v1.ConditionFalse, cluster.Hour) }, "n1=average"},
		"taken out of service": {func(r *rig) {
			r.readied(t, "node n1 cpu=8", v1.ConditionTrue, 0)
			r.readied(t, "node n1 cpu=8", v1.ConditionUnknown, cluster.Hour, cordoned)
		}, "n1=high"},
		"says nothing": {func(r *rig) { r.seeNode(mustNode(t, "node n1 cpu=8")) }, "n1=high"},
		"its label is given": {func(r *rig) {
			r.readied(t, "node n1 cpu=8 label=fairlead.dev/reputation=high", v1.ConditionTrue, cluster.Hour)
		}, "n1=high"},
		"gone with a pod": {func(r *rig) {
			r.readied(t, "node n1 cpu=8", v1.ConditionTrue, 0)
			r.seePod(mustPod(t, "pod a cpu=1 node=n1"))
			r.readied(t, "node n1 cpu=8 uid=another", v1.ConditionTrue, 0)
		}, "n1=average"},
		"gone without one": {func(r *rig) {
			r.readied(t, "node n1 cpu=8", v1.ConditionTrue, 0)
			r.seePod(mustPod(t, "pod d cpu=1 node=n1 kind=DaemonSet owner=logs"))
			r.seePod(mustPod(t, "pod o cpu=1 node=n1 scheduler=other"))
			r.readied(t, "node n1 cpu=8 uid=another", v1.ConditionTrue, 0)
		}, "n1=high"},
		"gone after it was not ready": {func(r *rig) {
			r.readied(t, "node n1 cpu=8", v1.ConditionTrue, cluster.Hour) // the first one
			r.seePod(mustPod(t, "pod a cpu=1 node=n1"))
			r.readied(t, "node n1 cpu=8", v1.ConditionUnknown, r.now) // the second one, and no third
			r.now += cluster.Minute
			r.readied(t, "node n1 cpu=8", v1.ConditionUnknown, r.now)
			r.world.Advance(r.now)
			r.readied(t, "node n1 cpu=8 uid=another", v1.ConditionTrue, 0)
		}, "n1=average"},
	} {
		t.Run(name, func(t *testing.T) {
			r := learningRig(t)
			r.now = 2 * cluster.Hour
			r.turn()
			test.does(r)
			r.wantReputations(test.want)
			r.turn()
		})
	}
	r := newRig(t, newBench(t)) // nothing is learned unless that is asked for
	r.readied(t, "node n1 cpu=8", v1.ConditionFalse, cluster.Hour)
	r.wantReputations("n1=")
}

// Of nodes that are gone nothing is remembered for longer than their failures count.
func TestReputationsAreForgotten(t *testing.T) {
	r := learningRig(t)
	r.readied(t, "node n1 cpu=8", v1.ConditionTrue, 0)
	r.readied(t, "node n2 cpu=8", v1.ConditionTrue, cluster.Hour)
	r.world.LoseNode("n1")
	r.world.LoseNode("n2")
	of := r.world.nodes.reputations.of
	if len(of) != 1 || of["n2"] == nil {
		t.Fatalf("%d nodes are remembered, want n2 alone", len(of))
	}
	r.world.Advance(31 * cluster.Day)
	r.world.Due()
	if len(of) != 0 {
		t.Error("it is remembered for ever")
	}
}
