package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/kube/dump"
	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/whatif"
)

// This file holds fairlead plan against what the scheduler does: a cluster is listed, a change is planned, the same change is
// made, and the scheduler begins with all pods there. Then as many pods of each owner are on each node as was planned.

// TestPlanIsWhatHappens says how often it is so, with nodes that go and others that are drained. Where it is not, the
// scheduler has taken another of several nodes that are nearly as good: what it has learned of the price of room is not in a
// list of the cluster. No pod is planned to run that does not, and none the other way round.
func TestPlanIsWhatHappens(t *testing.T) {
	skipIfShort(t)
	for _, away := range []string{"--remove", "--drain"} {
		t.Run(away, func(t *testing.T) {
			same, all := planned(t, away)
			t.Logf("%d of %d what-ifs came as planned", same, all)
			if 2*same < all {
				t.Errorf("%d of %d what-ifs came as planned, want half of them at least", same, all)
			}
		})
	}
}

// planned makes changes, nodes taken away in the given way among them, and counts those that came as planned.
func planned(t *testing.T, away string) (same, all int) {
	t.Helper()
	c := bare(t)
	random := rand.New(rand.NewPCG(23, 4)) //nolint:gosec // chance, not secrets
	c.addNodes(12, "n-", "8")
	var pods []*v1.Pod
	for i := range 6 {
		pods = append(pods, ownedPods(random, i)...)
	}
	c.create(pods...)
	c.schedule()
	all = normally(20, 200)
	for i := range all {
		change := c.drawChange(random, i, away)
		planned := c.plan(change.flags...)
		change.make()
		c.schedule()
		got := c.standing()
		if perOwner(planned, got) {
			t.Errorf("%d. %s: other pods run than were planned to", i, strings.Join(change.flags, " "))
		}
		if maps.Equal(planned, got) {
			same++
		} else {
			t.Logf("%d. %s: planned and not so:\n%s", i, strings.Join(change.flags, " "), differing(planned, got))
		}
	}
	return same, all
}

// ownedPods are pods of one owner, of some size.
func ownedPods(random *rand.Rand, i int) []*v1.Pod {
	size := fmt.Sprintf("%dm", 250*(1+random.IntN(6)))
	return several(2+random.IntN(5), fmt.Sprintf("w%d", i), cpu(size), ownedBy(fmt.Sprintf("w%d", i)), label("app", fmt.Sprintf("w%d", i)))
}

func ownedBy(name string) option {
	return func(p *v1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: name, UID: types.UID("uid-" + name), Controller: new(true)}}
	}
}

// change is flags of plan, and what does the same to the cluster.
type change struct {
	flags []string
	make  func()
}

// drawChange draws a drain, nodes to be added, or a workload to be scaled.
func (c *cluster) drawChange(random *rand.Rand, i int, away string) change {
	nodes := c.nodes()
	slices.SortFunc(nodes, func(a, b v1.Node) int { return strings.Compare(a.Name, b.Name) })
	open := slices.DeleteFunc(slices.Clone(nodes), func(n v1.Node) bool { return n.Spec.Unschedulable })
	switch kind := random.IntN(3); {
	case kind == 0 && len(open) > 4:
		name := open[random.IntN(len(open))].Name
		return change{[]string{away, name}, func() { c.takeAway(name, away == "--remove") }}
	case kind == 1:
		like := open[random.IntN(len(open))].Name
		return change{[]string{"--add-nodes", "1:like=" + like}, func() { c.addNodes(1, fmt.Sprintf("%s-new-%d-", like, i), "8") }}
	default:
		return c.drawScale(random)
	}
}

func (c *cluster) drawScale(random *rand.Rand) change {
	of := map[string][]v1.Pod{}
	for _, p := range c.pods() {
		of[p.OwnerReferences[0].Name] = append(of[p.OwnerReferences[0].Name], p)
	}
	names := slices.Sorted(maps.Keys(of))
	name := names[random.IntN(len(names))]
	more := 1 + random.IntN(4)
	return change{
		[]string{"--scale", fmt.Sprintf("%s/statefulset/%s=%d", c.namespace, name, len(of[name])+more)},
		func() {
			last := of[name][len(of[name])-1]
			var pods []*v1.Pod
			for k := range more {
				p := again(&last)
				p.Name = fmt.Sprintf("%s-new-%d-%d", last.Name, k+1, random.IntN(1<<20))
				pods = append(pods, p)
			}
			c.create(pods...)
		},
	}
}

// again is a pod that is not there yet, like that one.
func again(p *v1.Pod) *v1.Pod {
	n := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Labels: p.Labels, OwnerReferences: p.OwnerReferences}, Spec: *p.Spec.DeepCopy()}
	n.Spec.NodeName = ""
	return n
}

// takeAway cordons a node, or deletes it, and has its pods made anew.
func (c *cluster) takeAway(name string, whole bool) {
	c.t.Helper()
	api := c.client.CoreV1().Nodes()
	if whole {
		c.must(api.Delete(c.t.Context(), name, metav1.DeleteOptions{}))
	} else {
		n, err := api.Get(c.t.Context(), name, metav1.GetOptions{})
		c.must(err)
		n.Spec.Unschedulable = true
		_, err = api.Update(c.t.Context(), n, metav1.UpdateOptions{})
		c.must(err)
	}
	var pods []*v1.Pod
	for _, p := range c.pods() {
		if p.Spec.NodeName == name {
			c.delete(p.Name)
			pods = append(pods, again(&p))
		}
	}
	c.create(pods...)
}

// schedule lets our scheduler decide until each pod has a node; there is room for all.
func (c *cluster) schedule() {
	c.t.Helper()
	undecided := func() string {
		for _, p := range c.pods() {
			if p.Spec.NodeName == "" {
				return "a node for pod " + p.Name
			}
		}
		return ""
	}
	if undecided() == "" {
		return
	}
	f := c.start(settings{})
	defer f.stop()
	c.await(time.Minute, undecided)
}

// plan says how many pods of each owner would be on each node.
func (c *cluster) plan(flags ...string) map[string]int {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), "me.json")
	c.list(path)
	var out, failed bytes.Buffer
	if code := cli.Run(append([]string{"plan", "--cluster", "kubernetes:" + path, "-o", "json", "--without", "evictions"}, flags...), &out, &failed); code != 0 && code != 3 {
		c.t.Fatalf("plan %v: exit code %d: %s", flags, code, &failed)
	}
	var diff whatif.Diff
	c.must(json.Unmarshal(out.Bytes(), &diff))
	planned := c.standing()
	move := func(owner, from, to string) {
		owner = owner[strings.LastIndex(owner, "/")+1:]
		if from != "" {
			planned[owner+" "+from]--
		}
		if to != "" {
			planned[owner+" "+to]++
		}
	}
	for _, p := range diff.Placed {
		move(p.Owner, "", p.Node)
	}
	for _, p := range diff.Moved {
		move(p.Owner, p.From, p.To)
	}
	for _, p := range diff.Evicted {
		move(p.Owner, p.From, "")
	}
	for _, p := range diff.Gone {
		move(p.Owner, p.Node, "")
	}
	maps.DeleteFunc(planned, func(_ string, n int) bool { return n == 0 })
	return planned
}

// list lists the cluster into a file.
func (c *cluster) list(path string) {
	c.t.Helper()
	client, err := dynamic.NewForConfig(c.bed.Config(testbed.Admin))
	c.must(err)
	file, err := os.Create(path)
	c.must(err)
	_, err = dump.Write(c.t.Context(), client, file)
	c.must(err)
	c.must(file.Close())
}

// standing is how many pods of each owner are on each node.
func (c *cluster) standing() map[string]int {
	on := map[string]int{}
	for _, p := range c.pods() {
		if p.Spec.NodeName != "" {
			on[p.OwnerReferences[0].Name+" "+p.Spec.NodeName]++
		}
	}
	return on
}

// perOwner reports whether some owner has another number of pods on all nodes together.
func perOwner(a, b map[string]int) bool {
	sum := map[string]int{}
	for key, n := range a {
		owner, _, _ := strings.Cut(key, " ")
		sum[owner] += n
	}
	for key, n := range b {
		owner, _, _ := strings.Cut(key, " ")
		sum[owner] -= n
	}
	maps.DeleteFunc(sum, func(_ string, n int) bool { return n == 0 })
	return len(sum) > 0
}

// differing lists what is not the same.
func differing(planned, got map[string]int) string {
	all := maps.Clone(planned)
	maps.Copy(all, got)
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if planned[key] != got[key] {
			lines = append(lines, fmt.Sprintf("  %s: planned %d, got %d", key, planned[key], got[key]))
		}
	}
	return strings.Join(lines, "\n")
}
