package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"

	core "fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// This file holds policy kube-scheduler to the program: pods come one at a time to a bed on which Kubernetes' own scheduler runs. At each
// step the policy is shown the cluster as that has left it, and the node that it has chosen, or whom it has evicted, is to be
// what the policy could have decided.

// TestBaselineIsKubeScheduler wants that in 99 of 100 steps: where the scheduler looks at all nodes, where it looks at a sample of
// them, and where it evicts.
func TestBaselineIsKubeScheduler(t *testing.T) {
	skipIfShort(t)
	bed := ownBed(t)
	// The program begins without nodes, as it takes those that it finds in any order, and those that come in the order in which they do. Filters
	// run one after the other in it, as several at a time may find more or fewer nodes than they look for. The sample comes first: its
	// first search begins with the first node, and each with where the last one stopped.
	if err := bed.StartKubeScheduler(t.Context(), 10000, "parallelism: 1"); err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		name   string
		groups int // each of so many nodes without labels, with one, and with a taint
		nodes  [3]int
		steps  int
		step   func(*baseline) bool
		after  int // steps after which a pod goes for each that comes
	}{
		{"sample", 12, [3]int{10, 5, 10}, normally(250, 2000), (*baseline).chooses, normally(150, 900)},
		{"all nodes", 2, [3]int{5, 3, 1}, normally(250, 2000), (*baseline).chooses, 40},
		{"evictions", 1, [3]int{7, 3, 0}, normally(150, 1000), (*baseline).evicts, 0},
	} {
		t.Run(part.name, func(t *testing.T) {
			c := newCluster(t, bed)
			t.Cleanup(c.empty)
			for i := range part.groups {
				c.addInTurn(testbed.NodeOptions{Count: part.nodes[0], Prefix: fmt.Sprintf("n%02d-a-", i), CPU: "4", Memory: "15Gi"})
				c.addInTurn(testbed.NodeOptions{Count: part.nodes[1], Prefix: fmt.Sprintf("n%02d-b-", i), CPU: "8", Memory: "15Gi", Labels: map[string]string{"disk": "ssd"}})
				c.addInTurn(testbed.NodeOptions{Count: part.nodes[2], Prefix: fmt.Sprintf("n%02d-c-", i), CPU: "16", Memory: "64Gi", Taint: true})
			}
			b := newBaseline(c, part.name != "evictions")
			same := 0
			for i := range part.steps {
				if part.after > 0 && i >= part.after {
					b.end(b.pods[b.random.IntN(len(b.pods))])
				}
				if part.step(b) {
					same++
				}
			}
			t.Logf("%d steps: %d as the policy could have decided; %v", part.steps, same, b.counts)
			if 100*same < 99*part.steps {
				t.Errorf("%d of %d steps are what the policy could have decided, want 99 of 100", same, part.steps)
			}
		})
	}
}

// addInTurn adds nodes one after the other, in the order of their names: in that order a new core knows them, and whoever watches.
func (c *cluster) addInTurn(o testbed.NodeOptions) {
	c.t.Helper()
	for i := range o.Count {
		one := o
		one.Count, one.Prefix, one.Labels = 1, fmt.Sprintf("%s%03d-", o.Prefix, i), map[string]string{zone: fmt.Sprintf("z%d", i%3)}
		maps.Copy(one.Labels, o.Labels)
		c.must(testbed.AddNodes(c.t.Context(), c.client, one))
	}
}

// baseline is the policy beside the program.
type baseline struct {
	c       *cluster
	random  *rand.Rand
	judge   *judge.Judge
	world   *world.World
	decider *sched.Core
	now     core.Time
	pods    []*v1.Pod // those that have a node
	made    int
	// limited says that no pod asks for more than there is.
	limited bool
	counts  map[string]int
}

const steps = core.Second // what a step takes

func newBaseline(c *cluster, limited bool) *baseline {
	c.t.Helper()
	b := &baseline{c: c, random: rand.New(rand.NewPCG(31, 7)), limited: limited, counts: map[string]int{}} //nolint:gosec // chance, not secrets
	for _, app := range baselineApps() {
		set := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: app.name, Namespace: c.namespace},
			Spec: appsv1.ReplicaSetSpec{
				Selector: apps(app.name),
				Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app.name}}, Spec: podSpec()},
			},
		}
		_, err := c.client.AppsV1().ReplicaSets(c.namespace).Create(c.t.Context(), set, metav1.CreateOptions{})
		c.must(err)
	}
	for _, priority := range baselinePriorities() {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", priority)}, Value: priority}
		if _, err := c.client.SchedulingV1().PriorityClasses().Create(c.t.Context(), class, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			c.must(err)
		}
	}
	factory := informers.NewSharedInformerFactory(c.client, 0)
	var err error
	b.judge, err = judge.New(c.t.Context(), judge.Options{Client: c.client, Informers: factory, Parallelism: 1})
	c.must(err)
	factory.Start(c.t.Context().Done())
	factory.WaitForCacheSync(c.t.Context().Done())
	b.world = world.New(b.judge, world.Options{Owns: func(name string) bool { return name == v1.DefaultSchedulerName }})
	b.world.Exits().Allow(map[string]world.Evictions{v1.DefaultSchedulerName: {Pace: world.Pace{AtOnce: 100, PerMinute: 60000}, Moves: world.Pace{AtOnce: 100, PerMinute: 60000}}})
	for _, n := range c.nodes() {
		b.world.SeeNode(&n)
	}
	b.anew()
	time.Sleep(2 * time.Second) // until the program has seen all nodes; nothing says when
	return b
}

// anew begins a new core, which knows how long each pod has run.
func (b *baseline) anew() {
	b.c.t.Helper()
	var accounts func(core.TaskID, core.Seq) *core.Account
	if b.decider != nil {
		view := b.decider.View()
		accounts = func(t core.TaskID, seq core.Seq) *core.Account {
			if int(t) >= view.TaskRows() || view.Task(t).Seq != seq || view.Task(t).Phase == core.Absent {
				return nil
			}
			account := view.Task(t).Account
			return &account
		}
	}
	snapshot := b.world.Restart(accounts)
	policy, err := policies.New("kube-scheduler", policies.Options{Seed: 1})
	b.c.must(err)
	b.decider, err = sched.New(core.NewState(b.world.Columns().Kinds(), b.world.Classes()), sched.Lane{Name: "baseline", Policy: policy})
	b.c.must(err)
	b.decider.SetFilters(world.Filters(b.world))
	_, err = b.decider.Observe(b.now, snapshot, nil)
	b.c.must(err)
}

// baselineApp is a ReplicaSet, all of whose pods may go to the same nodes.
type baselineApp struct {
	name    string
	options []option
}

func baselineApps() []baselineApp {
	tolerant := func(p *v1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: "kwok.x-k8s.io/node", Operator: v1.TolerationOpExists})
	}
	return []baselineApp{{"web", nil}, {"db", []option{selecting("disk", "ssd")}}, {"cache", []option{tolerant}}, {"log", []option{tolerant}}}
}

func baselinePriorities() []int32 { return []int32{-10, 0, 1, 100, 5000} }

// create draws the next pod, and creates it.
func (b *baseline) create() *v1.Pod {
	b.c.t.Helper()
	app := baselineApps()[b.random.IntN(4)]
	pick := func(list ...string) string { return list[b.random.IntN(len(list))] }
	options := append(slices.Clone(app.options), scheduledBy(v1.DefaultSchedulerName), label("app", app.name), func(p *v1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app.name, UID: types.UID("uid-" + app.name), Controller: new(true)}}
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{}
	})
	if b.limited {
		if amount := pick("", "100m", "250m", "500m", "750m"); amount != "" {
			options = append(options, cpu(amount))
		}
	} else {
		options = append(options, cpu(pick("500m", "1", "1500m", "2", "3")), func(p *v1.Pod) {
			p.Spec.PriorityClassName = fmt.Sprintf("p%d", baselinePriorities()[b.random.IntN(5)])
		})
		if b.random.IntN(4) == 0 {
			options = append(options, hostPort(8080))
		}
	}
	if amount := pick("", "128Mi", "512Mi", "1Gi", "2Gi"); amount != "" {
		options = append(options, request(v1.ResourceMemory, amount))
	}
	b.made++
	pod, err := b.c.client.CoreV1().Pods(b.c.namespace).Create(b.c.t.Context(), newPod(fmt.Sprintf("p%05d", b.made), options...), metav1.CreateOptions{})
	b.c.must(err)
	return pod
}

// decided waits until the program has bound the pod, or has said that it cannot and evicts nobody for it, and returns the pod then. A pod that stays
// nominated is taken for decided as well: whose first victim held the port that it wants, and whose last one did not, is not looked at again
// before five minutes have passed.
func (b *baseline) decided(pod *v1.Pod) *v1.Pod {
	b.c.t.Helper()
	begun := time.Now()
	for time.Since(begun) < time.Minute {
		p := b.c.pod(pod.Name)
		switch said := condition(p); {
		case p.Spec.NodeName != "", said.Status == v1.ConditionFalse && p.Status.NominatedNodeName == "":
			return p
		case p.Status.NominatedNodeName != "" && time.Since(begun) > 5*time.Second:
			b.counts["stays nominated"]++
			return p
		}
		time.Sleep(2 * time.Millisecond)
	}
	b.c.t.Fatalf("nothing is decided about pod %s", pod.Name)
	return nil
}

// run makes a pod that has a node run, since a second that no other pod has.
func (b *baseline) run(pod *v1.Pod) *v1.Pod {
	b.c.t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, int(b.now/steps), 0, time.UTC)
	text, err := json.Marshal(map[string]any{"status": map[string]any{"phase": v1.PodRunning, "startTime": metav1.NewTime(start)}})
	b.c.must(err)
	pod, err = b.c.client.CoreV1().Pods(b.c.namespace).Patch(b.c.t.Context(), pod.Name, types.MergePatchType, text, metav1.PatchOptions{}, "status")
	b.c.must(err)
	b.pods = append(b.pods, pod)
	return pod
}

// end deletes a pod.
func (b *baseline) end(pod *v1.Pod) {
	b.c.t.Helper()
	b.c.end(pod)
	b.lose(pod)
}

func (b *baseline) lose(pod *v1.Pod) {
	b.world.LosePod(pod)
	b.pods = slices.DeleteFunc(b.pods, func(p *v1.Pod) bool { return p.UID == pod.UID })
}

// shows shows the policy the next pod, and returns what it has to say of it, and what it decides.
func (b *baseline) shows(pod *v1.Pod) (sched.Explanation, []sched.Decision) {
	b.c.t.Helper()
	b.now += steps
	b.world.Advance(b.now)
	b.world.SeePod(pod)
	b.world.Admit(func() bool { return false })
	_, err := b.decider.Observe(b.now, b.world.Take(), nil)
	b.c.must(err)
	x, explains, err := sched.ExplainTask(b.decider, b.world.Pod(pod.UID).Task(), 1<<20)
	b.c.must(err)
	if !explains {
		b.c.t.Fatal("the policy does not explain itself")
	}
	decisions, _, err := b.decider.Step(b.now, nil, nil)
	b.c.must(err)
	return x, decisions
}

// chooses lets the program choose a node for the next pod, and reports whether it is one of those that the policy likes best.
func (b *baseline) chooses() bool {
	b.c.t.Helper()
	pod := b.create()
	x, decisions := b.shows(pod)
	bound := b.decided(pod)
	for _, d := range decisions { // that pod was bound by another, where that had it
		p, status := b.world.Binds().Judge(b.c.t.Context(), d)
		if status.IsSuccess() {
			p.Reservation().Unreserve(b.c.t.Context())
			b.world.Binds().Failed(p)
		}
	}
	b.world.Binds().CloseCases()
	if bound.Spec.NodeName == "" {
		b.c.t.Fatalf("pod %s waits: %s", pod.Name, condition(bound).Message)
	}
	b.world.SeePod(b.run(bound))
	return b.among(bound, &x)
}

// among reports whether the pod is on one of the best candidates.
func (b *baseline) among(bound *v1.Pod, x *sched.Explanation) bool {
	b.c.t.Helper()
	if x.Nodes > 1 {
		b.counts["of several nodes"]++
	}
	for _, c := range x.Candidates {
		if b.decider.View().NodeSpec(c.Node).Name != bound.Spec.NodeName {
			continue
		}
		if c.Cost == x.Candidates[0].Cost {
			return true
		}
		b.counts["not the best"]++
		b.c.t.Logf("pod %s of %s, step %d: on %s, which misses %d points, and %s misses %d", bound.Name, bound.Labels["app"], b.made, bound.Spec.NodeName, c.Cost, b.decider.View().NodeSpec(x.Candidates[0].Node).Name, x.Candidates[0].Cost)
		return false
	}
	b.counts["not found"]++
	b.c.t.Logf("pod %s of %s, step %d: on %s, which is none of %d nodes that are found: %v", bound.Name, bound.Labels["app"], b.made, bound.Spec.NodeName, x.Nodes, x.Standing)
	return false
}

// evicts lets the program decide about the next pod in a cluster that is full, and reports whether the policy evicts as many at
// the same cost, and the same ones where it takes the same node.
func (b *baseline) evicts() bool {
	b.c.t.Helper()
	b.anew()
	pod := b.create()
	x, decisions := b.shows(pod)
	bound := b.decided(pod)
	there := map[types.UID]bool{}
	for _, p := range b.c.pods() {
		there[p.UID] = true
	}
	var ours, theirs []string
	oursOn := ""
	for _, d := range decisions {
		if d.Kind == sched.Evict {
			ours = append(ours, b.world.Of(d.Task).Object().Name)
			oursOn = b.decider.View().NodeSpec(d.Node).Name
		}
	}
	byName := map[string]*v1.Pod{}
	for _, p := range slices.Clone(b.pods) {
		byName[p.Name] = p
		if !there[p.UID] {
			theirs = append(theirs, p.Name)
			b.lose(p)
		}
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	node := cmp.Or(bound.Spec.NodeName, bound.Status.NominatedNodeName)
	if bound.Spec.NodeName != "" {
		b.world.SeePod(b.run(bound))
	} else {
		b.c.end(bound)
		b.world.LosePod(bound)
	}
	switch {
	case node == "":
		b.counts["waits"]++
		if len(decisions) > 0 {
			b.c.t.Logf("pod %s waits: %s; the policy decides %+v", pod.Name, condition(bound).Message, decisions)
		}
		for range 2 { // or else high priorities alone would be left
			b.end(b.pods[b.random.IntN(len(b.pods))])
		}
		return len(decisions) == 0
	case len(theirs) == 0:
		b.counts["placed"]++
		return b.among(bound, &x)
	default:
		b.counts["evicts"]++
		if node == oursOn && slices.Equal(ours, theirs) || node != oursOn && toll(byName, ours) == toll(byName, theirs) {
			return true
		}
		b.c.t.Logf("pod %s, of priority %d: on %s for %s; by the policy on %s for %s", pod.Name, *pod.Spec.Priority, node, toll(byName, theirs), oursOn, toll(byName, ours))
		return false
	}
}

// toll is what evicting these costs, in the order of the program: highest priority, sum, number, and the earliest start of those of
// the highest priority.
func toll(pods map[string]*v1.Pod, names []string) string {
	var list []*v1.Pod
	sum := int64(0)
	for _, name := range names {
		list = append(list, pods[name])
		sum += int64(*pods[name].Spec.Priority)
	}
	slices.SortFunc(list, func(a, b *v1.Pod) int {
		return int(*b.Spec.Priority) - int(*a.Spec.Priority)
	})
	if len(list) == 0 {
		return "nobody"
	}
	earliest := list[0].Status.StartTime.Time
	for _, p := range list {
		if *p.Spec.Priority == *list[0].Spec.Priority && p.Status.StartTime.Time.Before(earliest) {
			earliest = p.Status.StartTime.Time
		}
	}
	return fmt.Sprintf("highest priority %d, sum %d, %d pods, since %s", *list[0].Spec.Priority, sum, len(list), earliest.Format(time.TimeOnly))
}
