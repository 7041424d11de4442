package scheduler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/shadow"
)

// inShadow runs a test with a shadow that has begun, and records. In the end nothing was written but by the test, and the report is that of a replay.
func inShadow(t *testing.T, objects []runtime.Object, test func(*bubble)) {
	t.Helper()
	inShadowWith(t, func(*Options) {}, objects, test)
}

// inShadowWith is inShadow of one whose options are changed.
func inShadowWith(t *testing.T, change func(*Options), objects []runtime.Object, test func(*bubble)) {
	t.Helper()
	dir := t.TempDir()
	c := config.Default()
	c.Profiles[0].Mode, c.Record.Path = config.Shadow, dir
	var live *shadow.Report
	inBubbleWith(t, func(o *Options) { o.Config = c; change(o) }, objects, func(b *bubble) {
		b.run()
		b.pass(time.Second)
		test(b)
		b.pass(time.Second)
		live = b.shadow()
		for _, a := range b.api.Actions() {
			if reads := []string{"get", "list", "watch"}; !slices.Contains(reads, a.GetVerb()) && (a.GetVerb() != "create" || a.GetResource().Resource != "pods" || a.GetSubresource() != "") {
				t.Errorf("a shadow wrote: %s %s/%s", a.GetVerb(), a.GetResource().Resource, a.GetSubresource())
			}
		}
		if len(b.api.sent) > 0 {
			t.Errorf("a shadow asked for %+v", b.api.sent)
		}
	})
	again := replayed(t, dir)
	for i := range live.Differences { // which no recording has
		live.Differences[i].Namespace, live.Differences[i].Pod, live.Differences[i].Why = "", "", ""
	}
	live.Days = nil
	again.Until, again.Now, live.Until, live.Now = time.Time{}, shadow.Now{}, time.Time{}, shadow.Now{} // it stopped a little later
	if diff := cmp.Diff(live, again); diff != "" {
		t.Errorf("a replay says otherwise (-live +replay):\n%s", diff)
	}
}

// replayed is what the recordings in a folder say.
func replayed(t *testing.T, dir string) *shadow.Report {
	t.Helper()
	files, err := recording.Files(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	c := shadow.New(time.Time{})
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		result, err := c.Replay(in, file, func(l recording.Lane) (sched.Policy, error) {
			return chosen.Make(policies.All(), &l, policies.Options{})
		})
		if err != nil || result.Difference != nil || result.Wrong > 0 || result.Cut != "" {
			t.Fatalf("%s: %v, %v, %d wrong, cut %q", file, err, result.Difference, result.Wrong, result.Cut)
		}
		_ = in.Close()
	}
	return c.Report()
}

// shadow is what the shadow says.
func (b *bubble) shadow() *shadow.Report {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	r, err := Shadow(ctx, b.Scheduler)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// expectCounts fails unless the shadow counts so.
func (b *bubble) expectCounts(want string) *shadow.Report {
	b.t.Helper()
	r := b.shadow()
	s := &r.Sums
	if got := fmt.Sprintf("decided %d, bound %d: same %d, different %d, unplaced %d, earlier %d; refused %d", s.Decided, s.Bound, s.Same, s.Different, s.Unplaced, s.Earlier, s.Refused); got != want {
		b.t.Errorf("after %s: %s\nwant %s", time.Since(b.began), got, want)
	}
	return r
}

// place has the other scheduler bind a pod.
func (b *bubble) place(pod, node string) {
	b.t.Helper()
	if err := b.api.place(pod, node); err != nil {
		b.t.Fatal(err)
	}
}

// Each pod is decided for when it comes, and is then where the other scheduler puts it.
func TestShadowNotes(t *testing.T) {
	inShadow(t, []runtime.Object{smallNode(0, 3), smallNode(1, 3)}, func(b *bubble) {
		b.create(plain(1, 0, 2))
		b.pass(2 * time.Second)
		b.expectCounts("decided 1, bound 0: same 0, different 0, unplaced 0, earlier 0; refused 0")
		b.place("pod-1", "node-1")
		b.pass(time.Second)
		decided := b.expectCounts("decided 1, bound 1: same 0, different 1, unplaced 0, earlier 0; refused 0").Differences[0]
		if decided.Pod != "pod-1" || decided.Namespace != "default" || decided.Ours.Node != "node-0" || decided.Theirs.Node != "node-1" || decided.Theirs.Latency < 2 {
			b.t.Errorf("the difference is %+v", decided)
		}
		b.create(plain(2, 0, 3)) // which fits where the first one is not
		b.pass(time.Second)
		b.place("pod-2", "node-0")
		b.pass(time.Second)
		b.expectCounts("decided 2, bound 2: same 1, different 1, unplaced 0, earlier 0; refused 0")
		b.create(plain(3, 0, 3)) // which fits nowhere
		b.pass(time.Second)
		b.place("pod-3", "node-1")
		b.create(on(1, plain(4, 0, 1))) // which was bound when it was first seen
		b.pass(2 * time.Second)
		r := b.expectCounts("decided 2, bound 4: same 1, different 1, unplaced 1, earlier 1; refused 0")
		if i := slices.IndexFunc(r.Differences, func(d shadow.Difference) bool { return d.Kind == shadow.Unplaced }); i < 0 || r.Differences[i].Why == "" {
			b.t.Errorf("it is not said why pod-3 was not placed: %+v", r.Differences)
		}
		for result, want := range map[string]float64{"same": 1, "different": 1, "unplaced": 1, "earlier": 1} {
			if got := b.sum("fairlead_shadow_pods_total", result); got != want {
				b.t.Errorf("the metric of %s is %v, want %v", result, got, want)
			}
		}
		if got := b.sum("fairlead_shadow_placement_latency_seconds", "theirs"); got != 2 {
			b.t.Errorf("%v latencies, want 2", got)
		}
	})
}

// A decision keeps its room until the pod is bound, and no longer than a minute; then the pod is not decided for again, unless it changes.
func TestShadowGivesRoomBack(t *testing.T) {
	inShadow(t, []runtime.Object{smallNode(0, 2)}, func(b *bubble) {
		b.create(plain(1, 0, 2))
		b.pass(time.Second)
		b.create(plain(2, 0, 2))
		b.pass(30 * time.Second)
		b.expectCounts("decided 1, bound 0: same 0, different 0, unplaced 0, earlier 0; refused 0")
		b.pass(31 * time.Second)
		b.expectCounts("decided 2, bound 0: same 0, different 0, unplaced 0, earlier 0; refused 0")
		b.pass(10 * time.Minute)
		if now := b.expectCounts("decided 2, bound 0: same 0, different 0, unplaced 0, earlier 0; refused 0").Now; now.TheyWait != 2 || now.WeWait != 0 {
			b.t.Errorf("they have %d wait, we %d, want 2 and 0", now.TheyWait, now.WeWait)
		}
		b.place("pod-2", "node-0")
		b.pass(time.Second)
		b.expectCounts("decided 2, bound 1: same 1, different 0, unplaced 0, earlier 0; refused 0")
	})
}

// Nobody leaves. The pod for which somebody was to is decided for once, and what the other scheduler does is seen.
func TestShadowEvictsNobody(t *testing.T) {
	inShadow(t, []runtime.Object{smallNode(0, 2), on(0, plain(1, 0, 2))}, func(b *bubble) {
		b.create(plain(2, 100, 2))
		b.pass(5 * time.Minute)
		r := b.expectCounts("decided 1, bound 0: same 0, different 0, unplaced 0, earlier 0; refused 0")
		if ours := r.Sums.Ours; ours.Preemptors != 1 || ours.Victims != 1 || ours.Moves != 0 || r.Sums.Theirs.Victims != 0 {
			b.t.Errorf("decided %+v, want one victim of one, and nothing of theirs", ours)
		}
		if err := b.api.change("pod-1", func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler}}
		}); err != nil {
			b.t.Fatal(err)
		}
		b.pass(time.Second)
		if err := b.api.remove("pod-1"); err != nil {
			b.t.Fatal(err)
		}
		b.place("pod-2", "node-0")
		b.pass(2 * time.Second)
		r = b.expectCounts("decided 1, bound 1: same 1, different 0, unplaced 0, earlier 0; refused 0")
		if r.Sums.Theirs.Victims != 1 || b.sum("fairlead_shadow_victims_total", "ours") != 1 || b.sum("fairlead_shadow_victims_total", "theirs") != 1 {
			b.t.Errorf("theirs are %+v, want one victim, in the metrics as well", r.Sums.Theirs)
		}
	})
}

// A gang for which others were to leave is decided for as a whole, once.
func TestShadowGang(t *testing.T) {
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gang", UID: "uid-gang"}, Spec: schedulingv1beta1.PodGroupSpec{
		SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}},
	}}
	member := func(i int) *v1.Pod {
		p := plain(i, 100, 2)
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group.Name}
		return p
	}
	inShadow(t, []runtime.Object{smallNode(0, 2), smallNode(1, 2), on(0, plain(8, 0, 2)), on(1, plain(9, 0, 2)), group}, func(b *bubble) {
		b.create(member(1), member(2))
		b.pass(5 * time.Minute)
		r := b.expectCounts("decided 2, bound 0: same 0, different 0, unplaced 0, earlier 0; refused 0")
		if r.Sums.Ours.Victims != 2 || r.Now.TheyWait != 2 || r.Now.WeWait != 0 {
			b.t.Errorf("%d victims, they have %d wait, we %d, want 2, 2 and none", r.Sums.Ours.Victims, r.Now.TheyWait, r.Now.WeWait)
		}
		for _, name := range []string{"pod-8", "pod-9"} {
			if err := b.api.remove(name); err != nil {
				b.t.Fatal(err)
			}
		}
		b.place("pod-1", "node-0")
		b.place("pod-2", "node-1")
		b.pass(2 * time.Second)
		if r := b.shadow(); r.Sums.Same+r.Sums.Different != 2 {
			b.t.Errorf("%+v, want both compared", r.Sums)
		}
	})
}

// Pods that constraints bind are decided for beside the core, which the recording has, too. What such a lane has yet to look at was bound earlier. Nothing is written of the constraint.
func TestShadowBesideTheCore(t *testing.T) {
	var client dynamic.Interface
	apart := own(t, "PlacementConstraint", "apart", `{constraint: {text: "{app=web, {app=web, 0, 0}, node}: hard"}}`)
	inShadowWith(t, constraining(&client, apart), []runtime.Object{smallNode(0, 4), smallNode(1, 4)}, func(b *bubble) {
		b.create(webPod(1), webPod(2))
		b.pass(5 * time.Second)
		r := b.expectCounts("decided 2, bound 0: same 0, different 0, unplaced 0, earlier 0; refused 0")
		if r.Now.TheyWait != 2 {
			b.t.Errorf("they have %d wait", r.Now.TheyWait)
		}
		b.place("pod-1", "node-0")
		b.place("pod-2", "node-0") // which the constraint forbids
		b.pass(5 * time.Second)
		r = b.shadow()
		if r.Sums.Same+r.Sums.Different != 2 || r.Sums.Ours.HardViolated != 0 || r.Sums.Theirs.HardViolated == 0 {
			b.t.Errorf("%+v, want a rule that they have violated", r.Sums)
		}
		for _, a := range client.(*dynamicfake.FakeDynamicClient).Actions() {
			if verb := a.GetVerb(); verb != "list" && verb != "watch" && verb != "get" {
				b.t.Errorf("a shadow wrote: %s %s", verb, a.GetResource().Resource)
			}
		}
	})
}

// Devices are not set aside for what is only noted, as that would be written: two pods may be meant to have the same one.
func TestShadowSetsNothingAside(t *testing.T) {
	inShadow(t, append(devices("node-0", 1), bigNode(0)), func(b *bubble) {
		b.create(claiming(0))
		b.pass(2 * time.Second)
		b.expectCounts("decided 1, bound 0: same 0, different 0, unplaced 0, earlier 0; refused 0")
		b.place("gpu-0", "node-0")
		b.pass(2 * time.Second)
		b.expectCounts("decided 1, bound 1: same 1, different 0, unplaced 0, earlier 0; refused 0")
	})
}

// What the other scheduler nominates for a pod is not made ours.
func TestShadowHonoursNoNominations(t *testing.T) {
	inShadow(t, []runtime.Object{smallNode(0, 2), smallNode(1, 4)}, func(b *bubble) {
		nominated := plain(1, 0, 2)
		nominated.Status.NominatedNodeName = "node-1"
		b.create(nominated)
		b.pass(time.Second)
		b.place("pod-1", "node-1")
		b.pass(time.Second)
		b.expectCounts("decided 1, bound 1: same 0, different 1, unplaced 0, earlier 0; refused 0")
	})
}

// A new core decides again for pods that wait, also for those that were noted.
func TestShadowNextCore(t *testing.T) {
	inShadow(t, []runtime.Object{smallNode(0, 2), smallNode(1, 4)}, func(b *bubble) {
		b.create(plain(1, 0, 2))
		b.pass(time.Second)
		for i := range 12 { // more ports than there are columns for
			p := plain(10+i, 0, 0)
			p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: int32(8000 + i), Protocol: v1.ProtocolTCP}}
			b.create(p)
		}
		b.pass(10 * time.Second)
		if got := b.sum("fairlead_epochs_total"); got < 2 {
			b.t.Fatalf("%v cores, want a new one", got)
		}
		if r := b.shadow(); r.Now.TheyWait != 13 || r.Sums.Decided < 14 {
			b.t.Errorf("they have %d wait, %d decided, want 13 and more", r.Now.TheyWait, r.Sums.Decided)
		}
		b.place("pod-1", "node-0")
		b.pass(time.Second)
		if r := b.shadow(); r.Sums.Same != 1 || r.Sums.Bound != 1 {
			b.t.Errorf("%+v, want one bound where it was decided", r.Sums)
		}
	})
}

// The sums of a day are kept when it is over. (The day ends early: upstream's metrics tick every second, and 24 hours take long.)
func TestShadowDays(t *testing.T) {
	c := config.Default()
	c.Profiles[0].Mode = config.Shadow
	inBubbleOf(t, c, []runtime.Object{smallNode(0, 2)}, func(b *bubble) {
		if h := b.epochs.shadow; !h.midnight.Equal(b.began.Add(24 * time.Hour)) { // a bubble begins at midnight
			b.t.Errorf("the day ends at %v", h.midnight)
		}
		b.epochs.shadow.midnight = b.began.Add(time.Minute)
		b.run()
		b.pass(time.Second)
		b.create(plain(1, 0, 2))
		b.pass(time.Second)
		b.place("pod-1", "node-0")
		b.pass(2 * time.Minute) // in which nothing happens
		r := b.shadow()
		if len(r.Days) != 1 || r.Days[0].Sums.Same != 1 || !r.Days[0].Until.Equal(b.began.Add(time.Minute)) || r.Sums.Same != 1 {
			b.t.Errorf("the days are %+v", r.Days)
		}
		if !b.epochs.shadow.midnight.Equal(b.began.Add(24 * time.Hour)) {
			b.t.Errorf("the next day ends at %v", b.epochs.shadow.midnight)
		}
	})
}

// Who is no shadow says so.
func TestNoShadow(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		if _, err := Shadow(b.t.Context(), b.Scheduler); !errors.Is(err, ErrNoShadow) {
			b.t.Errorf("got %v", err)
		}
	})
}

// A replica that does not lead has nothing to say.
func TestShadowThatDoesNotLead(t *testing.T) {
	c := config.Default()
	c.Profiles[0].Mode = config.Shadow
	inBubbleOf(t, c, nil, func(b *bubble) {
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		if _, err := Shadow(ctx, b.Scheduler); !errors.Is(err, ErrNotLeading) {
			b.t.Errorf("got %v", err)
		}
	})
}
