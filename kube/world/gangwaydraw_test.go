package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// Small clusters in which pods have devices, and a gang that lacks some: those leave for it whom a look at every set of them finds, which keeps the most important of all sets that do, and nobody
// where none does. Once they have, and their claims have been given back, it is placed, and nobody else leaves.

const (
	drawnNodes   = 3
	drawnDevices = 2 // of each node
	drawnClaims  = 10
)

// holder is a pod that has devices.
type holder struct {
	name     string
	node     int
	devices  []string
	priority int32
	kept     bool // by a budget
}

// gangCase is a cluster, and the devices that each pod of the gang claims.
type gangCase struct {
	*rig
	holders []holder
	wants   []int
	claims  []*resourcev1.ResourceClaim
}

func TestWhoLeavesForGangsIsWhoHasTo(t *testing.T) {
	setCases(t, "100")
	objects := append(library()[:2:2], &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
	for i := range drawnNodes {
		var list []resourcev1.Device
		for d := range drawnDevices {
			list = append(list, resourcev1.Device{Name: fmt.Sprint("gpu-", d)})
		}
		objects = append(objects, devicesOn(nodeName(i), nil, list...)...)
	}
	for i := range drawnClaims {
		objects = append(objects, oneDevice(fmt.Sprint("c", i)))
	}
	b := newBench(t, objects...)
	version, met := 1000, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		c := &gangCase{rig: newRig(t, b)}
		c.version, c.policy, c.reserves = version, "fairlead", true
		defer func() { version = c.version + 1000 }()
		c.world.Exits().Allow(map[string]Evictions{ours: {Pace: Pace{100, 6000}, Moves: Pace{100, 6000}, BestEffort: true}})
		c.restart()
		c.draw(t)
		met[c.compare(t)]++
	})
	t.Logf("met %v", met)
	for _, what := range []string{"nobody leaves, as none would do", "nobody has to", "some leave"} {
		if met[what] == 0 && !testing.Short() { // of which a fifth as many are drawn
			t.Errorf("never met: %s", what)
		}
	}
}

// draw shows the world a cluster.
func (c *gangCase) draw(t *rapid.T) {
	for i := range drawnNodes {
		if i == 0 || !often(t, 4, "not there") {
			c.seeNode(roomyNode(i))
		}
	}
	c.seeBudget(makeBudget("web", "web", 0))
	c.claims = nil
	for i := range drawnClaims {
		c.claims = append(c.claims, oneDevice(fmt.Sprint("c", i)))
	}
	c.writeAll(t) // upstream takes a device for free that one claim gets before it is taken from another
	for i := range drawnNodes {
		for d := 0; d < drawnDevices; d++ {
			if c.nodes[nodeName(i)] == nil || often(t, 5, "free") {
				continue
			}
			h := holder{fmt.Sprint("held", len(c.holders)), i, []string{fmt.Sprint("gpu-", d)}, pick(t, "priority", int32(1), 1, 2, 3, 10, 20), often(t, 4, "kept")}
			if d == 0 && often(t, 3, "both") {
				h.devices, d = append(h.devices, "gpu-1"), 1
			}
			c.holders = append(c.holders, h)
		}
	}
	for range 2 + number(t, 2, "pods") {
		c.wants = append(c.wants, pick(t, "devices", 1, 1, 2))
	}
	for i, h := range c.holders {
		app := ""
		if h.kept {
			app = " app=web"
		}
		pod := c.pod(t, i, fmt.Sprintf("%s cpu=100m priority=%d node=%s%s", h.name, h.priority, nodeName(h.node), app))
		given := c.claims[i]
		given.Spec.Devices.Requests[0].Exactly.Count = int64(len(h.devices))
		given.Status.Allocation = makeDevice(given.Name, nodeName(h.node)).Status.Allocation
		given.Status.Allocation.Devices.Results = nil
		for _, d := range h.devices {
			given.Status.Allocation.Devices.Results = append(given.Status.Allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{Request: "one", Driver: "gpu.example.com", Pool: nodeName(h.node), Device: d})
		}
		given.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
		c.seePod(pod)
	}
	for i, want := range c.wants {
		c.claims[len(c.holders)+i].Spec.Devices.Requests[0].Exactly.Count = int64(want)
	}
	c.writeAll(t)
	c.turn()
	c.now += 20 * cluster.Second
	c.seeGroup(gangOf("g", len(c.wants)))
	for i := range c.wants {
		c.seePod(c.pod(t, len(c.holders)+i, fmt.Sprintf("g%d cpu=100m priority=10 group=g", i)))
	}
}

// pod makes a pod with that claim.
func (c *gangCase) pod(t *rapid.T, claim int, text string) *v1.Pod {
	l, err := parse("pod " + text)
	if err != nil {
		t.Fatal(err)
	}
	pod, err := makePod(l)
	if err != nil {
		t.Fatal(err)
	}
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &c.claims[claim].Name}}
	return pod
}

// writeAll writes all claims as they are.
func (c *gangCase) writeAll(t failer) {
	for _, claim := range c.claims {
		c.version++
		claim.ResourceVersion = fmt.Sprint(c.version)
		if err := c.client.Tracker().Update(resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), claim.DeepCopy(), claim.Namespace); err != nil {
			t.Fatal(err)
		}
	}
	waitForPlugins()
	c.world.MarkDirty()
}

// compare has the core decide, and those leave who are told to, and compares.
func (c *gangCase) compare(t *rapid.T) (met string) {
	want, possible := c.exhaustive()
	left, placed := map[string]bool{}, map[string]bool{}
	defer func() { // else the devices stay set aside for other clusters
		for i := range c.wants {
			if p := c.world.Pod(c.pod(t, len(c.holders)+i, fmt.Sprint("g", i)).UID); p != nil && p.Reservation() != nil {
				p.Reservation().Unreserve(c.rival.ctx)
			}
		}
	}()
	for second := range 40 {
		c.now += cluster.Second
		v := c.turn()
		if v.outcome() != "" || len(v.refused)+len(v.takenBack) > 0 {
			t.Logf("at %v: %s; %d refused, %d taken back", c.now, v.outcome(), len(v.refused), len(v.takenBack))
			for _, f := range v.refused {
				t.Logf("  %s on %s: %s", f.pod.object.Name, f.node, words(f.status))
			}
		}
		for _, p := range v.asked {
			left[p.object.Name] = true
		}
		for _, f := range v.accepted {
			placed[f.object.Name] = true
		}
		if second%3 == 0 {
			for _, p := range slices.Clone(c.leaving) {
				c.granted(p)
				c.losePod(p.object.UID)
			}
		}
		if second == 6 && len(left) > 0 {
			for i, h := range c.holders {
				if left[h.name] {
					c.claims[i].Status = resourcev1.ResourceClaimStatus{}
				}
			}
			c.writeHolders(t)
		}
	}
	got := strings.Join(sortedKeys(left), " ")
	switch {
	case got != strings.Join(want, " "):
		t.Fatalf("%q leave, want %q\n%s", got, want, c.describe())
	case possible && len(placed) != len(c.wants):
		t.Fatalf("%v are placed once %q have left, of %d\n%s", sortedKeys(placed), got, len(c.wants), c.describe())
	case c.core.Counts().WithoutPlacement > 0:
		t.Fatalf("%d left in vain\n%s", c.core.Counts().WithoutPlacement, c.describe())
	case !possible:
		return "nobody leaves, as none would do"
	case len(want) == 0:
		return "nobody has to"
	}
	return "some leave"
}

// writeHolders writes the claims of those who have devices, or had some.
func (c *gangCase) writeHolders(t failer) {
	all := c.claims
	c.claims = c.claims[:len(c.holders)]
	c.writeAll(t)
	c.claims = all
}

// exhaustive is who has to leave, by every set of those who may: of those sets without whom there are devices for the gang that which keeps the most important of whom others do not, and so on.
func (c *gangCase) exhaustive() (leave []string, possible bool) {
	var may []holder
	for _, h := range c.holders {
		if h.priority < 10 {
			may = append(may, h)
		}
	}
	slices.SortStableFunc(may, func(a, b holder) int { // those first that are to stay
		if a.kept != b.kept {
			if a.kept {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.priority, a.priority)
	})
	for set := range 1 << len(may) { // the first has its bit highest, so that the least number keeps it
		gone := map[string]bool{}
		for i, h := range may {
			if set>>(len(may)-1-i)&1 == 1 {
				gone[h.name] = true
			}
		}
		if c.fits(gone) {
			return sortedKeys(gone), true
		}
	}
	return nil, false
}

// fits reports whether there are devices for the gang without those.
func (c *gangCase) fits(gone map[string]bool) bool {
	free := make([]int, drawnNodes)
	for i := range free {
		if c.nodes[nodeName(i)] != nil {
			free[i] = drawnDevices
		}
	}
	for _, h := range c.holders {
		if !gone[h.name] {
			free[h.node] -= len(h.devices)
		}
	}
	var place func(int) bool
	place = func(at int) bool {
		if at == len(c.wants) {
			return true
		}
		for n := range free {
			if free[n] < c.wants[at] {
				continue
			}
			free[n] -= c.wants[at]
			fits := place(at + 1)
			if free[n] += c.wants[at]; fits {
				return true
			}
		}
		return false
	}
	return place(0)
}

// say draws the cluster.
func (c *gangCase) describe() string {
	text := fmt.Sprintf("nodes %v, a gang that wants %v\n", sortedKeys(c.nodes), c.wants)
	for _, h := range c.holders {
		text += fmt.Sprintf("%s on %s has %v, priority %d, kept by a budget %t\n", h.name, nodeName(h.node), h.devices, h.priority, h.kept)
	}
	return text
}
