package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
)

// gangRig is deviceRig under the policy that has others leave for gangs.
func gangRig(t *testing.T, nodes, devices, claims int) *rig {
	t.Helper()
	r := deviceRig(t, nodes, devices, claims)
	r.policy = "fairlead"
	r.restart()
	return r
}

// gang shows a pod group, of which at least so many are placed together, and pods of it, each with one of the claims.
func (r *rig) gang(t *testing.T, name string, least int, more string, claims ...string) (pods []*Pod) {
	t.Helper()
	r.seeGroup(gangOf(name, least))
	for i, claim := range claims {
		pods = append(pods, r.comes(t, claim, fmt.Sprintf("%s%d cpu=1 group=%s %s", name, i, name, more)))
	}
	return pods
}

// goAway has those leave who were asked to; their claims are given back if they are said to be.
func (r *rig) goAway(t *testing.T, claims map[string]string) {
	t.Helper()
	for _, p := range slices.Clone(r.leaving) {
		r.granted(p)
		r.losePod(p.object.UID)
		if claim := claims[p.object.Name]; claim != "" {
			r.write(t, oneDevice(claim))
		}
	}
}

// Those leave for a gang without whom there are devices for all of it, the least important, and all at once. Until their claims are given back, which is later than they are gone, nobody else
// leaves, and no other pod gets the devices.
func TestOthersLeaveForGangs(t *testing.T) {
	r := gangRig(t, 3, 1, 7)
	for i := range 3 {
		r.has(t, fmt.Sprint("c", i), "gpu-0", fmt.Sprintf("low%d cpu=1 priority=%d", i, 3-i), nodeName(i+1))
	}
	r.turn()
	r.gang(t, "g", 2, "priority=10", "c3", "c4")
	next := func(want string) {
		t.Helper()
		if got := r.run(1, func() {}); got != want {
			t.Fatalf("at %v: %q, want %q", r.now, got, want)
		}
	}
	next("low1 leaves, low2 leaves")
	r.comes(t, "c5", "more cpu=1 priority=2")
	next("")
	for _, p := range slices.Clone(r.leaving) {
		r.granted(p)
	}
	next("")
	r.losePod("uid-low2")
	next("")
	r.losePod("uid-low1")
	r.comes(t, "c6", "again cpu=1 priority=1")
	next("")
	next("")
	r.write(t, oneDevice("c1"))
	next("")
	r.write(t, oneDevice("c2"))
	if told := r.run(3, func() {}); told != "g0 on n2, g1 on n3" && told != "g0 on n3, g1 on n2" {
		t.Fatalf("%q once all is given back", told)
	}
	if told := r.run(20, func() {}); told != "" {
		t.Fatalf("%q afterwards", told)
	}
}

// As few leave for a gang as have to: who holds what it lacks, beside what is free, and nobody where that would not do, or nobody may.
func TestWhoLeavesForGangs(t *testing.T) {
	for _, test := range []struct {
		name           string
		nodes, devices int
		held           []string // pods with a device, each with its node
		gang           string   // what its pods are
		pods, least    int
		with           func(*testing.T, *rig)
		leaves         string
	}{
		{"one beside a free device", 3, 1, []string{"low0 priority=2 n1", "low1 priority=1 n2"}, "priority=10", 2, 2, nil, "low1 leaves"},
		{"nobody, with enough that are free", 3, 1, []string{"low0 priority=2 n1"}, "priority=10", 2, 2, nil, "g0 on n2, g1 on n3"},
		{"both of a node", 1, 2, []string{"low0 priority=2 n1", "low1 priority=1 n1"}, "priority=10", 2, 2, nil, "low0 leaves, low1 leaves"},
		{"for as many as it needs", 3, 1, []string{"low0 priority=1 n1", "low1 priority=2 n2", "low2 priority=3 n3"}, "priority=10", 3, 2, nil, "low0 leaves, low1 leaves"},
		{"nobody, as one more is as important", 2, 1, []string{"low0 priority=1 n1", "equal priority=10 n2"}, "priority=10", 2, 2, nil, ""},
		{"nobody, as it is too large", 2, 1, []string{"low0 priority=1 n1", "low1 priority=1 n2"}, "priority=10", 3, 3, nil, ""},
		{"nobody, as there is no room", 2, 1, []string{"low0 priority=1 n1", "low1 priority=1 n2"}, "priority=10 cpu=9", 2, 2, nil, ""},
		{"where there is room", 3, 1, []string{"low0 priority=1 n1", "low1 priority=2 n2", "low2 priority=3 n3"}, "priority=10 cpu=2", 2, 2, func(t *testing.T, r *rig) {
			t.Helper()
			r.has(t, "", "", "large cpu=3 priority=20", "n1")
		}, "low1 leaves, low2 leaves"},
		{"nobody, as a pod preempts nobody", 2, 1, []string{"low0 priority=1 n1", "low1 priority=1 n2"}, "priority=10 preempts=Never", 2, 2, nil, ""},
		{"nobody, as the group preempts nobody", 2, 1, []string{"low0 priority=1 n1", "low1 priority=1 n2"}, "priority=10", 2, 2, func(_ *testing.T, r *rig) {
			g := gangOf("g", 2)
			g.Spec.PreemptionPolicy = new(schedulingv1beta1.PreemptNever)
			r.seeGroup(g)
		}, ""},
		{"those whom no budget keeps", 3, 1, []string{"low0 priority=1 app=web n1", "low1 priority=2 n2", "low2 priority=3 n3"}, "priority=10", 2, 2, func(_ *testing.T, r *rig) {
			r.seeBudget(makeBudget("web", "web", 0))
		}, "low1 leaves, low2 leaves"},
		{"all of those who leave all at once", 3, 1, []string{"low0 priority=1 group=h n1", "low1 priority=1 group=h n2", "low2 priority=9 n3"}, "priority=10", 1, 1, func(_ *testing.T, r *rig) {
			h := gangOf("h", 2)
			h.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
			r.seeGroup(h)
		}, "low0 leaves, low1 leaves"},
		{"nobody of those of whom one may not", 2, 1, []string{"low0 priority=1 group=h n1", "equal priority=10 group=h n2"}, "priority=10", 1, 1, func(_ *testing.T, r *rig) {
			h := gangOf("h", 2)
			h.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
			r.seeGroup(h)
		}, ""},
		{"one for the one that claims some", 2, 1, []string{"low0 priority=1 n1", "low1 priority=2 n2"}, "priority=10", 1, 2, func(t *testing.T, r *rig) {
			t.Helper()
			r.comes(t, "", "beside cpu=1 group=g priority=10")
		}, "low0 leaves"},
		{"both who share a claim", 2, 1, []string{"low0 priority=1 n1", "low1 priority=5 n2"}, "priority=10", 1, 1, func(t *testing.T, r *rig) {
			t.Helper()
			share(t, r, "c0", "low0", "besides")
		}, "besides leaves, low0 leaves"},
		{"nobody of those who share a claim with one who stays", 2, 1, []string{"low0 priority=1 n1", "low1 priority=5 n2"}, "priority=10", 1, 1, func(t *testing.T, r *rig) {
			t.Helper()
			share(t, r, "c0", "low0", "important")
		}, "low1 leaves"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := gangRig(t, test.nodes, test.devices, len(test.held)+test.pods)
			r.seeGroup(gangOf("h", 2)) // of some of those
			used := map[string]int{}
			for i, text := range test.held {
				words := strings.Fields(text)
				node := words[len(words)-1]
				r.has(t, fmt.Sprint("c", i), fmt.Sprint("gpu-", used[node]), strings.Join(words[:len(words)-1], " ")+" cpu=1", node)
				used[node]++
			}
			r.turn()
			var claims []string
			for i := range test.pods {
				claims = append(claims, fmt.Sprint("c", len(test.held)+i))
			}
			least := test.least
			if least == 1 { // which is a gang of one with another, that is there
				least = 2
				r.seeGroup(gangOf("g", least))
				r.has(t, "", "", "stands cpu=100m group=g priority=10", "n1")
			}
			pods := r.gang(t, "g", least, test.gang, claims...)
			if test.with != nil {
				test.with(t, r)
			}
			if told := r.run(30, func() {}); told != test.leaves {
				t.Errorf("%q, want %q", told, test.leaves)
			}
			for _, p := range pods {
				if p.special {
					t.Errorf("pod %s is put off for good", p.object.Name)
				}
			}
		})
	}
}

// share has another pod on the same node use a claim that is given already.
func share(t *testing.T, r *rig, claim, holder, other string) {
	t.Helper()
	priority := map[string]string{"important": "20"}[other]
	if priority == "" {
		priority = "2"
	}
	p := r.has(t, "", "", fmt.Sprintf("%s cpu=1 priority=%s", other, priority), "n1")
	pod := p.object.DeepCopy()
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
	r.losePod(pod.UID)
	r.seePod(pod)
	given := oneDevice(claim)
	given.Status.Allocation = makeDevice(claim, "n1").Status.Allocation
	given.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{Request: "one", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"}}
	given.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: holder, UID: r.pods["uid-low0"].UID}, {Resource: "pods", Name: other, UID: pod.UID}}
	r.write(t, given)
}

// Two gangs, and a pod by itself, have others leave one after the other, each its own, also where claims are given back late and victims take their time.
func TestGangsTakeTurns(t *testing.T) {
	r := gangRig(t, 5, 1, 10)
	claims := map[string]string{}
	for i := range 5 {
		name := fmt.Sprint("low", i)
		claims[name] = fmt.Sprint("c", i)
		r.has(t, claims[name], "gpu-0", fmt.Sprintf("%s cpu=1 priority=%d", name, i), nodeName(i+1))
	}
	r.turn()
	a, b := r.gang(t, "a", 2, "priority=10", "c5", "c6"), r.gang(t, "b", 2, "priority=10", "c7", "c8")
	one := r.comes(t, "c9", "one cpu=1 priority=10")
	var gone []*Pod
	left, seconds := map[string]int{}, 0
	told := r.run(300, func() {
		seconds++
		for _, p := range slices.Clone(r.leaving) {
			if left[p.object.Name]++; left[p.object.Name] == 5*(1+len(p.object.Name)%2) { // these take some seconds
				r.granted(p)
				r.losePod(p.object.UID)
				gone = append(gone, p)
			}
		}
		if seconds%7 == 0 && len(gone) > 0 {
			r.write(t, oneDevice(claims[gone[0].object.Name]))
			gone = gone[1:]
		}
		for _, f := range r.flying {
			r.started(f)
			r.arrived(f)
		}
	})
	for _, p := range slices.Concat(a, b, []*Pod{one}) {
		if !p.placed() || p.special {
			t.Errorf("%s is %s, put off for good %t", p.object.Name, p.Stage, p.special)
		}
	}
	if strings.Count(told, "leaves") != 5 || r.core.Counts().WithoutPlacement > 0 {
		t.Errorf("%s; %d left for nobody", told, r.core.Counts().WithoutPlacement)
	}
}

// Where claims are not given back, nobody else leaves for a gang.
func TestClaimsThatStayCostNoOtherPodOfAGang(t *testing.T) {
	r := gangRig(t, 4, 1, 6)
	for i := range 4 {
		r.has(t, fmt.Sprint("c", i), "gpu-0", fmt.Sprintf("low%d cpu=1 priority=%d", i, 1+i), nodeName(i+1))
	}
	r.turn()
	r.gang(t, "g", 2, "priority=10", "c4", "c5")
	if told := r.run(60, func() { r.goAway(t, nil) }); told != "low0 leaves, low1 leaves" {
		t.Errorf("%q, want that of two pods", told)
	}
	r.write(t, oneDevice("c0"))
	if told := r.run(30, func() {}); told != "" {
		t.Errorf("%q when one is given back after all", told)
	}
	r.write(t, oneDevice("c1"))
	if told := r.run(30, func() {}); strings.Count(told, " on ") != 2 {
		t.Errorf("%q when both are, want the gang there", told)
	}
}

// Of the domains that can hold a gang that is to stand in one, those leave who are least important.
func TestWhoLeavesForGangsInADomain(t *testing.T) {
	r := gangRig(t, 4, 1, 6)
	for i := range 4 {
		node := r.nodes[nodeName(i+1)].DeepCopy()
		node.Labels[v1.LabelTopologyZone] = []string{"a", "b"}[i/2]
		r.seeNode(node)
		r.has(t, fmt.Sprint("c", i), "gpu-0", fmt.Sprintf("low%d cpu=1 priority=%d", i, []int{1, 8, 2, 3}[i]), node.Name)
	}
	r.turn()
	g := gangOf("g", 2)
	g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: v1.LabelTopologyZone}}}
	r.seeGroup(g)
	for i := range 2 {
		r.comes(t, fmt.Sprint("c", 4+i), fmt.Sprintf("g%d cpu=1 group=g priority=10", i))
	}
	if told := r.run(20, func() {}); told != "low2 leaves, low3 leaves" {
		t.Errorf("%q, want those of zone b", told)
	}
}
