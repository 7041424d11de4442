package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// The tests of this file run the real loop against a pretended API server, with a
// pod among the others that makes something panic.

type living struct {
	*Scheduler
	t      *testing.T
	client *fake.Clientset
	ended  chan error
	stop   context.CancelFunc
	counts *prometheus.Registry
}

// revive makes a scheduler of a few nodes; start starts it.
func revive(t *testing.T) *living {
	t.Helper()
	l := &living{t: t, client: fake.NewClientset(), ended: make(chan error, 1), counts: prometheus.NewRegistry()}
	for i := range 3 {
		l.must(l.client.Tracker().Add(bigNode(i)))
	}
	l.client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "binding" {
			return false, nil, nil
		}
		b := a.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		object, err := l.client.Tracker().Get(v1.SchemeGroupVersion.WithResource("pods"), b.Namespace, b.Name)
		if err != nil {
			return true, nil, err
		}
		pod := object.(*v1.Pod).DeepCopy()
		pod.Spec.NodeName = b.Target.Name
		return true, nil, l.client.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), pod, b.Namespace)
	})
	s, err := New(t.Context(), Options{
		Client: l.client, Config: config.Default(), Metrics: metrics.New(l.counts), Clock: clock.RealClock{},
	})
	l.must(err)
	l.Scheduler = s
	return l
}

func (l *living) start() {
	ctx, stop := context.WithCancel(l.t.Context())
	l.stop = stop
	l.Start(ctx)
	go func() { l.ended <- l.Run(ctx, ctx) }()
	l.t.Cleanup(func() {
		stop()
		<-l.ended
	})
}

func (l *living) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// add makes pods, each of an owner of its own.
func (l *living) add(names ...string) {
	l.t.Helper()
	for _, name := range names {
		p := plainPod(0)
		p.Name, p.UID, p.OwnerReferences[0].UID, p.OwnerReferences[0].Name = name, types.UID("uid-"+name), types.UID("owner-"+name), name
		l.must(l.client.Tracker().Create(v1.SchemeGroupVersion.WithResource("pods"), p, p.Namespace))
	}
}

func (l *living) pod(name string) *v1.Pod {
	l.t.Helper()
	p, err := l.client.CoreV1().Pods("default").Get(l.t.Context(), name, metav1.GetOptions{})
	l.must(err)
	return p
}

// await waits until the condition holds, while the scheduler runs.
func (l *living) await(what string, holds func() bool) {
	l.t.Helper()
	for until := time.Now().Add(20 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-l.ended:
			l.ended <- err
			l.t.Fatalf("the scheduler ended, awaiting that %s: %v", what, err)
		default:
		}
		if time.Now().After(until) {
			l.t.Fatalf("it never came about that %s", what)
		}
	}
}

func (l *living) awaitBound(names ...string) {
	l.t.Helper()
	for _, name := range names {
		l.await(name+" is bound", func() bool { return l.pod(name).Spec.NodeName != "" })
	}
}

// reported is the message of the pod's condition, and whether there is an event about it.
func (l *living) reported(name string) (string, bool) {
	l.t.Helper()
	message, event := "", false
	for _, c := range l.pod(name).Status.Conditions {
		if c.Type == v1.PodScheduled {
			message = c.Message
		}
	}
	list, err := l.client.EventsV1().Events("").List(l.t.Context(), metav1.ListOptions{})
	l.must(err)
	for _, e := range list.Items {
		event = event || e.Reason == "SetAside" && e.Regarding.Name == name
	}
	return message, event
}

func (l *living) awaitSaid(name string) {
	l.t.Helper()
	l.await(name+" is reported to be set aside", func() bool {
		message, event := l.reported(name)
		return event && strings.Contains(message, "set it aside")
	})
}

// count is the sum of a metric.
func (l *living) count(metric string) float64 {
	l.t.Helper()
	families, err := l.counts.Gather()
	l.must(err)
	sum := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == metric {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func several(n int, of string) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%03d", of, i))
	}
	return names
}

// A pod that makes the world or the judge panic is set aside, and says so; the
// others are placed, those that were there before and those that come later. When
// it changes, it is tried again.
func TestPodThatPanicsTheWorld(t *testing.T) {
	l := revive(t)
	l.subject.before = func(o metav1.Object) {
		if p, is := o.(*v1.Pod); is && p.Labels["app"] != "mended" && strings.HasPrefix(p.Name, "poison") && p.Spec.NodeName == "" {
			panic("a plugin divides by zero")
		}
	}
	early, late := several(5, "early"), several(5, "late")
	l.add(early...)
	l.add("poison")
	l.start()
	l.awaitBound(early...)
	l.awaitSaid("poison")
	l.add(late...)
	l.add("poison-too")
	l.awaitBound(late...)
	l.awaitSaid("poison-too")
	if got := l.count("fairlead_panics_total"); got != 2 {
		t.Errorf("%v panics, want one for each", got)
	}
	mended := l.pod("poison")
	mended.Labels = map[string]string{"app": "mended"}
	mended.ResourceVersion = "9"
	l.must(l.client.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), mended, "default"))
	l.awaitBound("poison")
}

// Replicas that an owner made alike are set aside together.
func TestTemplateThatPanics(t *testing.T) {
	l := revive(t)
	l.subject.before = func(o metav1.Object) {
		if strings.HasPrefix(o.GetName(), "poison") {
			panic("a plugin divides by zero")
		}
	}
	for _, name := range several(50, "poison") {
		p := plainPod(0)
		p.Name, p.UID = name, types.UID(name)
		l.must(l.client.Tracker().Add(p))
	}
	l.add("good")
	l.start()
	l.awaitBound("good")
	l.awaitSaid("poison-049")
	if got := l.count("fairlead_panics_total"); got > ofOneOwner {
		t.Errorf("%v panics for 50 replicas, want at most %d", got, ofOneOwner)
	}
}

// A node that panics whoever takes it in is left out, with the pods on it.
func TestNodeThatPanics(t *testing.T) {
	l := revive(t)
	l.subject.before = func(o metav1.Object) {
		if _, node := o.(*v1.Node); node && o.GetName() == "node-1" {
			panic("a label that nobody expected")
		}
	}
	names := several(20, "pod")
	l.add(names...)
	l.start()
	l.awaitBound(names...)
	for _, name := range names {
		if l.pod(name).Spec.NodeName == "node-1" {
			t.Errorf("%s is on the node that was set aside", name)
		}
	}
	if got := l.count("fairlead_panics_total"); got != 1 {
		t.Errorf("%v panics, want 1", got)
	}
}

// An object of another kind that panics whoever takes it in is left out as well, and says so; pods are placed meanwhile, and it is let in
// once nothing is wrong with it. Constraints and classes are read together with others of their kind.
func TestObjectThatPanics(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "poison", UID: "uid-poison"}
	var client dynamic.Interface
	constraint := own(t, "PlacementConstraint", "poison", `{constraint: {text: "{app=web, {app=web, 0, 20}, node}"}}`)
	for _, tc := range []struct {
		kind   string
		object runtime.Object // in the API server; nil of those that change makes
		change func(*Options)
		after  int // how many times it is announced without a panic
	}{
		{"service", &v1.Service{ObjectMeta: meta, Spec: v1.ServiceSpec{Selector: map[string]string{"app": "web"}}}, nil, 0},
		{"namespace", &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "poison"}}, nil, 0},
		{"persistentvolumeclaim", &v1.PersistentVolumeClaim{ObjectMeta: meta}, nil, 0},
		{"podgroup", &schedulingv1beta1.PodGroup{ObjectMeta: meta}, nil, 0},
		{"compositepodgroup", &schedulingv1alpha3.CompositePodGroup{ObjectMeta: meta}, nil, 0},
		{"poddisruptionbudget", &policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}}, func(o *Options) {
			o.Config.Profiles[0].Evictions.Enabled = true
		}, 0},
		{"serviceclass", nil, withServiceClasses(&client, serviceClass(t, "poison", 9, restSpec)), 0},
		{"placementconstraint", nil, constraining(&client, constraint.DeepCopy()), 0},
		{"placementconstraint", nil, constraining(&client, constraint.DeepCopy()), 1}, // which is read, and does not go into the core
	} {
		t.Run(fmt.Sprintf("%s/%d", tc.kind, tc.after), func(t *testing.T) {
			objects := []runtime.Object{bigNode(0), plainPod(1)}
			if tc.object != nil {
				objects = append(objects, tc.object)
			}
			if tc.change == nil {
				tc.change = func(*Options) {}
			}
			inBubbleWith(t, tc.change, objects, func(b *bubble) {
				var announced int
				var mended atomic.Bool
				b.subject.before = func(o metav1.Object) {
					if o.GetName() != "poison" || mended.Load() {
						return
					}
					if announced++; announced > tc.after {
						panic("a field that nobody expected")
					}
				}
				b.run()
				b.pass(10 * time.Second)
				b.create(plainPod(2))
				b.pass(10 * time.Second)
				b.expectBound("pod-1 pod-2")
				if panics, with := b.sum("fairlead_panics_total"), b.labelled("fairlead_panics_total"); panics != 1 || with != tc.kind {
					b.t.Errorf("%v panics with %s, want 1 with %s", panics, with, tc.kind)
				}
				if pods, nodes, others := b.aside.count(); pods+nodes != 0 || others != 1 {
					b.t.Errorf("%d pods, %d nodes and %d others are set aside, want one other", pods, nodes, others)
				}
				if event := b.setAside(); !strings.HasPrefix(event, "poison: Fairlead has set it aside, since dealing with it failed: panic: a field") {
					b.t.Errorf("the events say %q", event)
				}
				mended.Store(true)
				b.pass(3 * time.Minute)
				if _, _, others := b.aside.count(); others != 0 || b.sum("fairlead_panics_total") != 1 {
					b.t.Errorf("%d objects are set aside yet", others)
				}
			})
		})
	}
}

// A pod on a node that panics the loop when classes change is set aside like any other, with its node, though nothing of its own has changed.
func TestPodThatPanicsAChangeOfClasses(t *testing.T) {
	inBubbleWith(t, func(*Options) {}, []runtime.Object{bigNode(0), bigNode(1), plainPod(1), plainPod(2)}, func(b *bubble) {
		var changing atomic.Bool
		b.subject.before = func(o metav1.Object) {
			if o.GetName() == "pod-1" && changing.CompareAndSwap(true, false) {
				panic("a class that nobody expected")
			}
		}
		b.SetClasses(promising("99%", "gold"))
		b.run()
		b.pass(10 * time.Second)
		b.expectBound("pod-1 pod-2")
		changing.Store(true)
		b.SetClasses(promising("90%", "gold"))
		b.pass(time.Second)
		if panics, with := b.sum("fairlead_panics_total"), b.labelled("fairlead_panics_total"); panics != 1 || with != "pod" {
			b.t.Errorf("%v panics with %q, want 1 with pod", panics, with)
		}
		b.create(plainPod(3))
		b.pass(10 * time.Second)
		b.expectBound("pod-1 pod-2 pod-3")
		if pods, nodes, others := b.aside.count(); pods != 1 || nodes != 1 || others != 0 {
			b.t.Errorf("%d pods, %d nodes and %d others are set aside, want one pod and its node", pods, nodes, others)
		}
	})
}

// labelled is the value of the label of what a metric has counted.
func (b *bubble) labelled(metric string) (values string) {
	b.t.Helper()
	families, err := b.registry.Gather()
	b.must(err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == metric && m.GetCounter().GetValue() > 0 {
				values += m.GetLabel()[0].GetValue()
			}
		}
	}
	return values
}

// setAside is whom the events say to be set aside, with their words.
func (b *bubble) setAside() (said string) {
	b.t.Helper()
	list, err := b.api.EventsV1().Events("").List(b.t.Context(), metav1.ListOptions{})
	b.must(err)
	for _, e := range list.Items {
		if e.Reason == "SetAside" {
			said += e.Regarding.Name + ": " + e.Note
		}
	}
	return said
}

// What is set aside is tried again when what it says changes, which its status does not, and is forgotten when it is gone, seen or not.
func TestThingSetAside(t *testing.T) {
	s := idle(t)
	s.recorders[config.DefaultSchedulerName] = recorder{&events.FakeRecorder{}, &sink{}}
	budget := func(app, version string) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b", ResourceVersion: version},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
			Status:     policyv1.PodDisruptionBudgetStatus{ExpectedPods: int32(len(version))},
		}
	}
	var dealt string
	see := func(b *policyv1.PodDisruptionBudget) {
		before := len(dealt)
		dealWith(s, b, func(b *policyv1.PodDisruptionBudget) { dealt += b.ResourceVersion })
		if len(dealt) == before {
			dealt += "-"
		}
	}
	see(budget("web", "1"))
	s.aside.putThing(thingOf(budget("web", "1")), "panic")
	see(budget("web", "1"))
	see(budget("web", "22"))
	see(budget("db", "3"))
	see(budget("db", "4"))
	if dealt != "1--34" {
		t.Errorf("dealt with %s", dealt)
	}
	s.aside.putThing(thingOf(budget("db", "4")), "panic")
	see(budget("db", "4"))
	other := budget("db", "4")
	other.Namespace = "other"
	see(other)
	s.aside.report()
	s.aside.enter(s.aside.queue[0], shut, 0)
	s.aside.due() // takes it in
	if dealt != "1--34-44" {
		t.Errorf("dealt with %s", dealt)
	}
	s.aside.putThing(thingOf(budget("db", "4")), "panic")
	dealWithLoss(s, budget("db", "4"), func(*policyv1.PodDisruptionBudget) {})
	if n := len(s.aside.things) + len(s.aside.queue); n != 0 {
		t.Errorf("%d traces of what is gone", n)
	}
	s.aside.putThing(nodeNamed("node-0"), "panic")
	s.aside.lives++
	s.aside.begin()
	if n := len(s.aside.things) + len(s.aside.queue); n != 0 {
		t.Errorf("%d traces of what went while nobody watched", n)
	}
}

// poisoned is a policy that panics in rounds in which a task of such a job waits.
type poisoned struct{ sched.Policy }

func (p poisoned) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	for row := range cluster.TaskID(t.View().TaskRows()) {
		if task := t.View().Task(row); task.Phase == cluster.Waiting && strings.Contains(t.View().Job(task.Job).Name, "poison") {
			panic("index out of range")
		}
	}
	p.Policy.Plan(t, c, budget, out)
}

// poisonRounds gives the scheduler that policy.
func (l *living) poisonRounds() {
	l.epochs.policy = func(lane *recording.Lane) (sched.Policy, *recording.Races, error) {
		policy, races, err := l.epochs.newPolicy(lane)
		return poisoned{policy}, races, err
	}
}

// Pods that make rounds panic are found by halves: in about log n lives each, in
// which others are placed.
func TestPodsThatPanicRounds(t *testing.T) {
	for _, poison := range []int{1, 3} {
		t.Run(fmt.Sprint(poison), func(t *testing.T) {
			l := revive(t)
			l.poisonRounds()
			good, bad := several(60, "good"), several(poison, "poison")
			bad[0] = "a-" + bad[0] // the first in line, and not the last that was dealt with
			l.add(good...)
			l.add(bad...)
			l.start()
			l.awaitBound(good...)
			for _, name := range bad {
				l.awaitSaid(name)
			}
			later := several(5, "later")
			l.add(later...)
			l.awaitBound(later...)
			if got, most := l.count("fairlead_panics_total"), float64(8*poison); got > most {
				t.Errorf("%v panics for %d pods among 60, want at most %v", got, poison, most)
			}
			if got := l.count("fairlead_panics_total"); got < 3 {
				t.Errorf("%v panics: no search", got)
			}
			if got := l.count("fairlead_set_aside"); got > float64(poison) {
				t.Errorf("%v objects are set aside, want %d", got, poison)
			}
			on := map[string]int{}
			for _, name := range append(good, later...) {
				on[l.pod(name).Spec.NodeName]++
			}
			t.Logf("%v panics; pods on nodes: %v", l.count("fairlead_panics_total"), on)
		})
	}
}

// So are pods that make rounds beside the core panic, though others of the core's are decided while these are under way.
func TestPodsThatPanicRoundsBeside(t *testing.T) {
	var client dynamic.Interface
	objects := []runtime.Object{bigNode(0), bigNode(1)}
	var want []string
	for i := range 24 {
		p := bin(i, 100, 100)
		if i >= 12 {
			p.Labels = nil
		}
		p.OwnerReferences[0].Name = fmt.Sprint("owner-", i)
		if i == 1 {
			p.OwnerReferences[0].Name = "poison"
		} else {
			want = append(want, p.Name)
		}
		objects = append(objects, p)
	}
	slices.Sort(want)
	few := own(t, "PlacementConstraint", "few", `{constraint: {text: "{app=web, {app=web, 0, 20}, node}"}}`)
	inBubbleWith(t, constraining(&client, few), objects, func(b *bubble) {
		b.epochs.policy = func(lane *recording.Lane) (sched.Policy, *recording.Races, error) {
			policy, races, err := b.epochs.newPolicy(lane)
			if lane.Beside {
				policy = poisoned{policy}
			}
			return policy, races, err
		}
		b.run()
		b.pass(30 * time.Second)
		b.expectBound(strings.Join(want, " "))
		if panics, aside := b.sum("fairlead_panics_total"), b.sum("fairlead_set_aside"); panics > 20 || aside != 1 {
			b.t.Errorf("%v panics, %v objects are set aside, want one after no more than 20", panics, aside)
		}
	})
}

// A panic that is nobody's fault ends the scheduler, with the stack, as it did.
func TestPanicThatIsNobodysFault(t *testing.T) {
	l := revive(t)
	l.epochs.policy = func(*recording.Lane) (sched.Policy, *recording.Races, error) { panic("a table without rows") }
	l.Start(t.Context())
	err := l.Run(t.Context(), t.Context())
	if err == nil || !strings.Contains(err.Error(), "a table without rows") || !strings.Contains(err.Error(), "fault_test.go") {
		t.Errorf("ended with %v", err)
	}
}

// A bind that was answered before a panic, and that the informers do not show yet,
// holds its room in the next life.
func TestLandedBindsOutliveAPanic(t *testing.T) {
	s := idle(t)
	p := plainPod(1)
	s.intake.takeIn(p)
	s.intake.landed.add(p.UID, "node-0")
	s.explainer.stop(s)
	s.assemble()
	s.intake.seeNode(bigNode(0))
	s.intake.takeIn(s.intake.landed.asBound(p))
	s.intake.seePod(p) // the watch tells what was known before
	if on := s.world.Counts().OnNodes; on != 1 || p.Spec.NodeName != "" {
		t.Errorf("%d pods are on nodes, want the one whose bind landed", on)
	}
	bound := p.DeepCopy()
	bound.Spec.NodeName, bound.ResourceVersion = "node-0", "2"
	s.intake.seePod(bound)
	if len(s.intake.landed.nodes) != 0 || s.world.Counts().OnNodes != 1 {
		t.Errorf("%d binds are remembered for ever", len(s.intake.landed.nodes))
	}
}

// What was set aside is tried again after a while, later each time, and not at all
// once it is gone.
func TestSetAsideIsTriedAgain(t *testing.T) {
	s := idle(t)
	s.recorders[config.DefaultSchedulerName] = recorder{events.NewFakeRecorder(10), &sink{}}
	p := plainPod(1)
	store := s.intake.informers.Core().V1().Pods().Informer().GetStore()
	if err := store.Add(p); err != nil {
		t.Fatal(err)
	}
	for i, pause := range []cluster.Time{asideAtFirst, 2 * asideAtFirst, 4 * asideAtFirst} {
		s.aside.put(p, "panic")
		s.intake.takeIn(p)
		if wait := s.aside.wake() - s.now(); s.world.Pod(p.UID) != nil || wait > pause || wait < pause-cluster.Second {
			t.Fatalf("after %d panics the pod waits %v, want %v", i+1, wait, pause)
		}
	}
	dueNow := func() { s.aside.enter(s.aside.pods[p.UID], shut, 0) }
	dueNow()
	s.aside.due()
	if s.world.Pod(p.UID) == nil {
		t.Error("the pod was not tried again")
	}
	s.world.LosePod(p)
	s.aside.put(p, "panic")
	dueNow()
	if err := store.Delete(p); err != nil {
		t.Fatal(err)
	}
	s.aside.due()
	if s.world.Pod(p.UID) != nil || len(s.aside.pods)+len(s.aside.queue)+len(s.aside.owners) != 0 {
		t.Error("a pod that is gone was tried again")
	}
}
