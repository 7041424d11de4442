package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/kube/dump"
	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/whatif"
)

// This file holds fairlead plan against what the scheduler does: a cluster is listed, a change is planned, the same change is
// made, and as many pods of each owner are to be on each node as was planned.

// TestPlanIsWhatHappens: of a scheduler that begins when all pods are there, plan says where each pod goes. Nodes are
// drained, removed and added, workloads scaled and applied; some pods find no place, and wait for the next node.
func TestPlanIsWhatHappens(t *testing.T) {
	skipIfShort(t)
	w := newWorkloads(bare(t), 23, beside{})
	all := normally(20, 200)
	if same := w.whatIfs(all, w.c.settle, t.Errorf); same < all {
		t.Errorf("%d of %d what-ifs came as planned, want all", same, all)
	}
}

// TestPlanBeside does the same where there are pods that the scheduler does not place: each sort of them by itself, and then all.
func TestPlanBeside(t *testing.T) {
	skipIfShort(t)
	bed := ownBed(t)
	for _, with := range []beside{{daemons: true}, {gated: true}, {others: true}, {daemons: true, gated: true, others: true}} {
		t.Run(with.String(), func(t *testing.T) {
			c := newCluster(t, bed)
			t.Cleanup(c.empty)
			w := newWorkloads(c, 31, with)
			all := normally(6, 20)
			if same := w.whatIfs(all, w.c.settle, t.Errorf); same < all {
				t.Errorf("%d of %d what-ifs came as planned, want all", same, all)
			}
		})
	}
}

// TestPlanOfCompany does the same with pods that require affinity, anti-affinity or spread.
func TestPlanOfCompany(t *testing.T) {
	skipIfShort(t)
	w := newWorkloads(bare(t), 37, beside{company: true})
	all := normally(6, 60)
	if same := w.whatIfs(all, w.c.settle, t.Errorf); same < all {
		t.Errorf("%d of %d what-ifs came as planned, want all", same, all)
	}
}

// TestPlanWithNaturalTiming says how often plan is right about a scheduler that has been at work all the time: it has learned from
// pods that are gone, and decides about the first pods of a change while the others are made.
func TestPlanWithNaturalTiming(t *testing.T) {
	skipIfShort(t)
	w := newWorkloads(bare(t), 29, beside{})
	f := w.c.start(settings{profile: evictsNobody})
	all := normally(10, 100)
	same := w.whatIfs(all, func() { w.c.rest(f) }, t.Logf)
	t.Logf("%d of %d what-ifs came as planned", same, all)
	if same == 0 {
		t.Error("no what-if came as planned")
	}
}

// whatIfs makes changes, lets the scheduler decide, and counts those that came as planned. Of the others it complains.
func (w *workloads) whatIfs(all int, decide func(), complain func(string, ...any)) (same int) {
	c := w.c
	c.t.Helper()
	w.placeTheirs()
	decide()
	moved, waited := 0, 0
	for i := range all {
		w.prune()
		w.placeTheirs()
		change := w.draw()
		planned, before := w.plan(change.flags...), c.standing()
		change.make()
		decide()
		got := c.standing()
		if !maps.Equal(planned, before) {
			moved++
		}
		waited += c.waiting()
		if maps.Equal(planned, got) {
			same++
		} else {
			complain("%d. %s: planned and not so:\n%s", i, strings.Join(change.flags, " "), differing(planned, got))
		}
	}
	c.t.Logf("%d of %d what-ifs changed something; at the end of one %.1f pods waited in the mean", moved, all, float64(waited)/float64(all))
	if 2*moved < all {
		c.t.Errorf("%d of %d what-ifs changed something, want half of them at least", moved, all)
	}
	return same
}

// settle lets a scheduler decide that begins now, with all pods there.
func (c *cluster) settle() {
	c.t.Helper()
	if c.toPlace() == 0 {
		return
	}
	bound := len(c.now()) - c.waiting()
	f := c.start(settings{profile: evictsNobody})
	c.await(time.Minute, func() string {
		placed := f.sum("fairlead_placements_total") - f.sum("fairlead_last_word_refusals_total")
		// Pods that all filters refuse get as far as no round.
		decided := f.sum("fairlead_rounds_total") + f.sum("scheduler_unschedulable_pods")
		if decided == 0 || len(c.now())-c.waiting()-bound != placed {
			return "all that the first round has decided"
		}
		return ""
	})
	c.rest(f)
	f.stop()
}

// rest waits until the scheduler has decided nothing for a while.
func (c *cluster) rest(f *fairlead) {
	c.t.Helper()
	const enough = 5
	last, calm := -1, 0
	c.await(time.Minute, func() string {
		if calm++; f.sum("fairlead_placements_total")+len(c.now())*1000+c.waiting() != last {
			last, calm = f.sum("fairlead_placements_total")+len(c.now())*1000+c.waiting(), 0
		}
		if calm < enough {
			return "rest"
		}
		return ""
	})
}

// plan says how many pods of each owner would be on each node.
func (w *workloads) plan(flags ...string) map[string]int {
	c := w.c
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), "me.json")
	c.list(path)
	path += "?schedulers=" + testbed.FairleadProfile // those of Kubernetes' own are there, too
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
	_, err = dump.Write(c.t.Context(), client, file, dump.Extra{})
	c.must(err)
	c.must(file.Close())
}

// standing is how many pods of each owner are on each node, but for those that belong to it.
func (c *cluster) standing() map[string]int {
	on := map[string]int{}
	for _, p := range c.free() {
		if p.Spec.NodeName != "" {
			on[ownerOf(&p)+" "+p.Spec.NodeName]++
		}
	}
	return on
}

// waiting is how many pods have no node.
func (c *cluster) waiting() int {
	return len(slices.DeleteFunc(c.now(), func(p v1.Pod) bool { return p.Spec.NodeName != "" }))
}

// toPlace is how many pods our scheduler may place.
func (c *cluster) toPlace() int {
	return len(slices.DeleteFunc(c.now(), func(p v1.Pod) bool {
		return p.Spec.NodeName != "" || p.Spec.SchedulerName != testbed.FairleadProfile || len(p.Spec.SchedulingGates) > 0
	}))
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
