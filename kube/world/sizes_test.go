package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	promised "fairlead.dev/fairlead/kube/classes"
	"fairlead.dev/fairlead/kube/sizes"
)

// serviceClasses promises what these objects say, whose specs are as people write them.
func serviceClasses(tb failer, specs map[string]string) *promised.Promises {
	tb.Helper()
	var objects []*v1alpha1.ServiceClass
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		object := &v1alpha1.ServiceClass{}
		object.Name = name
		if err := kyaml.UnmarshalStrict([]byte(specs[name]), &object.Spec); err != nil {
			tb.Fatal(err)
		}
		objects = append(objects, object)
	}
	promises, verdicts := promised.Read(objects)
	for _, v := range verdicts {
		if !v.Accepted() {
			tb.Fatalf("%s: %s", v.Object.Name, v.Message)
		}
	}
	return promises
}

// promise has these classes hold.
func (r *rig) promise(specs map[string]string) {
	r.tb.Helper()
	if _, ok := r.world.Promise(serviceClasses(r.tb, specs)); !ok {
		r.tb.Fatal("the core has no rows for the classes")
	}
}

// kubelet is what the API server and the kubelets make of a change: whether it is refused, and whether it takes its time.
type kubelet func(*Change) (refused string, slow bool)

// atOnce does whatever is asked for.
func atOnce(*Change) (string, bool) { return "", false }

// change has the API server and kubelets do what is asked for by now.
func (r *rig) change(does kubelet) {
	for _, c := range SizesOf(r.world).Due() {
		pod := r.pods[c.Object.UID]
		if pod == nil {
			continue
		}
		refused, slow := does(c)
		if c.To == nil || refused != "" {
			SizesOf(r.world).Answered(c, refused)
			continue
		}
		pod = pod.DeepCopy()
		pod.Status.Conditions = append(slices.DeleteFunc(pod.Status.Conditions, func(o v1.PodCondition) bool { return o.Type == c.Says.Type }), c.Says)
		for i, to := range c.To {
			has := &pod.Spec.Containers[i]
			if slow && !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s v1.ContainerStatus) bool { return s.Name == has.Name }) {
				before := has.Resources.DeepCopy()
				pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, v1.ContainerStatus{Name: has.Name, AllocatedResources: before.Requests, Resources: before})
			}
			maps.Copy(has.Resources.Requests, to.Requests)
			if len(to.Limits) > 0 {
				maps.Copy(has.Resources.Limits, to.Limits)
			}
		}
		r.seePod(pod)
		SizesOf(r.world).Answered(c, "")
	}
}

// settleSizes has all kubelets be done with what was asked of them.
func (r *rig) settleSizes() {
	for _, uid := range slices.Sorted(maps.Keys(r.pods)) {
		if pod := r.pods[uid]; len(pod.Status.ContainerStatuses) > 0 && r.world.pods.byUID[uid].growth != nil {
			pod = pod.DeepCopy()
			pod.Status.ContainerStatuses = nil
			pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodResizePending })
			r.seePod(pod)
		}
	}
}

// deferResize has the kubelet say of what the pod requests that it is not to be had for now.
func (r *rig) deferResize(uid types.UID, granted string) {
	r.pendResize(uid, granted, v1.PodReasonDeferred)
}

// pendResize has the kubelet say why the pod does not get what it requests.
func (r *rig) pendResize(uid types.UID, granted, reason string) {
	pod := r.pods[uid].DeepCopy()
	list := v1.ResourceList{v1.ResourceCPU: quantity(granted)}
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, AllocatedResources: list, Resources: &v1.ResourceRequirements{Requests: list}}}
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: reason, Message: "no room"})
	r.seePod(pod)
}

// cpuOf is what the pod's main container requests, and what the core counts for the pod.
func (r *rig) cpuOf(name string) (spec, core int64) {
	uid := types.UID("uid-" + name)
	return r.pods[uid].Spec.Containers[0].Resources.Requests.Cpu().MilliValue(), r.core.View().Demand(r.world.pods.byUID[uid].slot.task)[cpuColumn]
}

// spin has the loop turn for a while: binds come through, and the API server does as is said.
func (r *rig) spin(turns int, does kubelet) {
	r.tb.Helper()
	for range turns {
		r.now += 11 * cluster.Second
		v := r.turn()
		for _, f := range v.accepted {
			if ready, err := SizesOf(r.world).Room(f.pod); err != nil || !ready {
				continue
			}
			r.started(f)
			r.arrived(f)
		}
		r.change(does)
	}
}

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

func mustPod(t *testing.T, text string) *v1.Pod {
	t.Helper()
	l, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	pod, err := makePod(l)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func mustNode(t *testing.T, text string) *v1.Node {
	t.Helper()
	l, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	node, err := makeNode(l)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// elasticRig is a rig with one node of four cores, whose pods may have three times their requests.
func elasticRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, newBench(t))
	r.policy = "fairlead"
	r.restart()
	r.promise(map[string]string{"elastic": `{importance: 1, sizes: {cpu: "3"}, namespaceSelector: {}}`, "rest": `{importance: 2, default: true}`})
	r.restart()
	r.seeNode(mustNode(t, "node n1 cpu=4"))
	return r
}

func (r *rig) wantCPU(name string, spec, core int64) {
	r.tb.Helper()
	if s, c := r.cpuOf(name); s != spec || c != core {
		r.tb.Fatalf("pod %s requests %d and has %d in the core, want %d and %d", name, s, c, spec, core)
	}
}

func TestGrowsAndShrinks(t *testing.T) {
	r := elasticRig(t)
	grows := "label=fairlead.dev/class=elastic"
	r.seePod(mustPod(t, "pod a cpu=1 "+grows))
	r.spin(3, atOnce)
	r.wantCPU("a", 3000, 3000)

	// Another comes for whom it has to be smaller. It is not bound before that is so.
	r.seePod(mustPod(t, "pod b cpu=2"))
	slow := func(*Change) (string, bool) { return "", true }
	r.spin(1, slow)
	r.wantCPU("a", 2000, 2000)
	b := r.world.pods.byUID["uid-b"]
	if ready, err := SizesOf(r.world).Room(b); b.Stage != Assumed || ready || err != nil {
		t.Fatalf("pod b is %s, its room ready %t, %v, though nobody has given it up", b.Stage, ready, err)
	}
	r.settleSizes()
	if ready, err := SizesOf(r.world).Room(b); !ready || err != nil {
		t.Fatalf("its room is not ready though it is there: %v", err)
	}
	f := r.flying["uid-b"]
	r.started(f)
	r.arrived(f)
	r.spin(2, atOnce)
	r.wantCPU("a", 2000, 2000)

	// A new leader knows what it came with, and it grows again.
	fresh := elasticRig(t)
	for _, uid := range slices.Sorted(maps.Keys(r.pods)) {
		fresh.seePod(r.pods[uid].DeepCopy())
	}
	fresh.restart()
	fresh.turn()
	fresh.wantCPU("a", 2000, 2000)
	fresh.losePod("uid-b")
	fresh.spin(3, atOnce)
	fresh.wantCPU("a", 3000, 3000)
}

func TestRefusedSizes(t *testing.T) {
	r := elasticRig(t)
	asked := 0
	refuse := func(*Change) (string, bool) { asked++; return "exceeded quota", false }
	r.seePod(mustPod(t, "pod a cpu=1 label=fairlead.dev/class=elastic"))
	r.spin(5, refuse)
	r.wantCPU("a", 1000, 1000)
	if refused := SizesOf(r.world).Refused(); asked != 1 || len(refused) != 1 || refused[0].Why != "exceeded quota" {
		t.Fatalf("it was asked %d times, and %v is said", asked, refused)
	}
	r.now += 10 * cluster.Minute
	r.spin(3, atOnce)
	r.wantCPU("a", 3000, 3000)

	// The kubelet has less than the core thinks: what it defers is taken back, until something leaves the node.
	r.deferResize("uid-a", "2")
	r.spin(3, atOnce)
	r.settleSizes()
	r.wantCPU("a", 2000, 2000)
	r.spin(3, atOnce)
	r.wantCPU("a", 2000, 2000)
	r.seePod(mustPod(t, "pod other cpu=100m node=n1 scheduler=other"))
	r.spin(1, atOnce)
	r.losePod("uid-other")
	r.spin(3, atOnce)
	r.wantCPU("a", 3000, 3000)

	// Somebody else resizes it.
	pod := r.pods["uid-a"].DeepCopy()
	pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = quantity("1500m")
	r.seePod(pod)
	r.turn()
	r.wantCPU("a", 1500, 1500)
	r.spin(3, atOnce)
	r.wantCPU("a", 3000, 3000)
	pod = r.pods["uid-a"].DeepCopy()
	pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = quantity("500m")
	r.seePod(pod)
	r.spin(3, atOnce)
	r.wantCPU("a", 1500, 1500)

	// A kubelet that does not take back what it has too much is believed after a minute.
	slow := func(*Change) (string, bool) { return "", true }
	r.seePod(mustPod(t, "pod b cpu=3500m"))
	r.spin(1, slow)
	b := r.world.pods.byUID["uid-b"]
	if ready, err := SizesOf(r.world).Room(b); ready || err != nil {
		t.Fatalf("the room of b is ready %t, %v", ready, err)
	}
	r.spin(7, slow)
	if _, err := SizesOf(r.world).Room(b); err == nil {
		t.Fatal("nothing is said of room that was not given up")
	}
}

// passes has another scheduler's pod come to the node, and leave it again.
func (r *rig) passes(t *testing.T, does kubelet) {
	t.Helper()
	r.seePod(mustPod(t, "pod passes cpu=100m node=n1 scheduler=other"))
	r.spin(1, does)
	r.losePod("uid-passes")
	r.spin(3, does)
}

// What is refused is asked for again less and less often, however many pods leave the node meanwhile, and whatever else changes of the pod; what is given has the count begin anew.
func TestRefusalsPause(t *testing.T) {
	for _, by := range []struct {
		who   string
		pause Backoff
	}{{v1.PodReasonDeferred, refusalLasts(true)}, {v1.PodReasonInfeasible, refusalLasts(true)}, {"exceeded quota", refusalLasts(false)}} {
		t.Run(by.who, func(t *testing.T) {
			r := elasticRig(t)
			r.seePod(mustPod(t, "pod a cpu=1 label=fairlead.dev/class=elastic"))
			var asked []cluster.Time
			refuses := func(c *Change) (string, bool) {
				grows := len(c.To) > 0 && c.To[0].Requests.Cpu().MilliValue() > 1000
				if grows {
					asked = append(asked, r.now)
				}
				if grows && by.who == "exceeded quota" {
					return by.who, false
				}
				return "", true
			}
			for r.now < 6*cluster.Hour {
				r.passes(t, refuses)
				r.annotate("uid-a", map[string]string{"seen": fmt.Sprint(r.now)})
				switch spec, _ := r.cpuOf("a"); {
				case by.who == "exceeded quota":
				case spec > 1000:
					r.pendResize("uid-a", "1", by.who)
				default:
					r.settleSizes()
				}
			}
			if len(asked) < 5 {
				t.Fatalf("it was asked for at %v alone", asked)
			}
			for i := range len(asked) - 1 {
				// A pod passes in 44 s, and takes back, and growth, are asked for one after the other.
				if pause, least := asked[i+1]-asked[i], by.pause.After(i+1); pause < least || pause > least+3*cluster.Minute {
					t.Errorf("after %d refusals it was asked for again after %v, want %v or a little more; all were at %v", i+1, pause, least, asked)
				}
			}

			r.now += cluster.Hour
			r.passes(t, atOnce)
			r.settleSizes()
			r.passes(t, atOnce)
			r.wantCPU("a", 3000, 3000)
			if times := r.world.pods.byUID["uid-a"].growth.times; times != 0 {
				t.Errorf("after it was given %d refusals are counted", times)
			}
		})
	}
}

// Growth waits for the room that another pod has yet to give up on its node; where that keeps it, nobody grows into it.
func TestGrowthWaitsForRoom(t *testing.T) {
	r := elasticRig(t)
	slow := func(*Change) (string, bool) { return "", true }
	r.seePod(mustPod(t, "pod a cpu=1 label=fairlead.dev/class=elastic"))
	r.spin(3, atOnce)
	r.wantCPU("a", 3000, 3000)
	r.seePod(mustPod(t, "pod b cpu=500m label=fairlead.dev/class=elastic"))
	r.spin(3, slow)
	_, a := r.cpuOf("a")
	if spec, b := r.cpuOf("b"); a+b != 4000 || b <= 1000 || spec != 1000 { // what was free it has at once
		t.Fatalf("a has %d in the core, and b %d of which it requests %d, want 4000 in all, and that b requests 1000 until a has given up the rest", a, b, spec)
	}
	r.wantCPU("a", a, a)
	r.settleSizes()
	r.spin(2, slow)
	_, b := r.cpuOf("b")
	r.wantCPU("b", b, b)

	// A kubelet that keeps what it has is believed, and what is left is there.
	r = elasticRig(t)
	r.seePod(mustPod(t, "pod a cpu=1 label=fairlead.dev/class=elastic"))
	r.spin(3, atOnce)
	r.seePod(mustPod(t, "pod b cpu=500m label=fairlead.dev/class=elastic"))
	r.spin(10, slow)
	r.wantCPU("a", 3000, 3000)
	r.wantCPU("b", 1000, 1000)
}

// Two pods of which each waits for what the other gives up of another resource do not wait for ever.
func TestGrowthWaitsForNoCircle(t *testing.T) {
	r := newRig(t, newBench(t))
	r.policy = "fairlead"
	r.restart()
	r.promise(map[string]string{"elastic": `{importance: 1, sizes: {cpu: "3", memory: "3"}, default: true}`})
	r.restart()
	r.seeNode(mustNode(t, "node n1 cpu=4 mem=4Gi"))
	r.seePod(mustPod(t, "pod a cpu=1 mem=1Gi"))
	r.seePod(mustPod(t, "pod b cpu=1 mem=1Gi"))
	r.spin(4, atOnce)
	r.wantCPU("a", 2000, 2000)
	z := SizesOf(r.world)
	for name, wants := range map[string]sizes.Amount{"a": {CPU: 1000, Memory: 3 << 30}, "b": {CPU: 3000, Memory: 1 << 30}} {
		p := r.world.pods.byUID[types.UID("uid-"+name)]
		grant := p.granted()
		grant[cpuColumn], grant[memoryColumn] = wants.CPU, wants.Memory
		if !z.set(p, grant) {
			t.Fatalf("pod %s has that already", name)
		}
		z.recount(p)
	}
	r.world.journal.now += cluster.Minute
	due := z.Due()
	if len(due) != 2 {
		t.Fatalf("%d pods are to be resized, want both", len(due))
	}
	for _, c := range due {
		want := sizes.Amount{CPU: 1000, Memory: 2 << 30}
		if c.Object.Name == "b" {
			want = sizes.Amount{CPU: 2000, Memory: 1 << 30}
		}
		if to := (sizes.Amount{CPU: c.To[0].Requests.Cpu().MilliValue(), Memory: c.To[0].Requests.Memory().Value()}); to != want {
			t.Errorf("pod %s is to request %+v first, want %+v", c.Object.Name, to, want)
		}
	}
}

// Memory grows by whole Mi, whatever is left.
func TestMemoryGrowsByMi(t *testing.T) {
	r := newRig(t, newBench(t))
	r.policy = "fairlead"
	r.restart()
	r.promise(map[string]string{"elastic": `{importance: 1, sizes: {memory: "10"}, default: true}`})
	r.restart()
	r.seeNode(mustNode(t, "node n1 cpu=4 mem=8589934001"))
	r.seePod(mustPod(t, "pod a cpu=1 mem=1000Mi"))
	r.seePod(mustPod(t, "pod b cpu=1 mem=700Mi"))
	r.seePod(mustPod(t, "pod c cpu=1 mem=1234567"))
	r.spin(4, atOnce)
	sum := int64(0)
	for _, name := range []string{"a", "b"} {
		has := r.pods[types.UID("uid-"+name)].Spec.Containers[0].Resources.Requests.Memory().Value()
		if sum += has; has <= 1000<<20 || has%(1<<20) != 0 {
			t.Errorf("pod %s has %d bytes", name, has)
		}
	}
	if left := 8589934001 - 1234567 - sum; left < 0 || left >= 2<<20 {
		t.Errorf("%d bytes are left over", left)
	}
}

func TestFixedSizesSayWhy(t *testing.T) {
	r := elasticRig(t)
	pod := mustPod(t, "pod a cpu=1 label=fairlead.dev/class=elastic")
	pod.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceCPU, RestartPolicy: v1.RestartContainer}}
	r.seePod(pod)
	var says []string
	r.spin(3, func(c *Change) (string, bool) {
		says = append(says, fmt.Sprint(c.Says.Status, " ", c.Says.Message, " ", len(c.To)))
		return "", false
	})
	r.wantCPU("a", 1000, 1000)
	want := "False It stays as it is, though ServiceClass elastic has sizes: container main would be restarted to change its cpu (resizePolicy). 0"
	if len(says) != 1 || says[0] != want {
		t.Fatalf("it says %q, want %q", says, want)
	}
}

// A pod stays within the tier of its class, and on a node of its own where that has replicas.
func TestTiersAndReplicas(t *testing.T) {
	r := newRig(t, newBench(t))
	r.policy = "fairlead"
	r.restart()
	classes := map[string]string{"gold": `{importance: 1, tier: {disk: ssd}, replicas: 2, namespaceSelector: {}}`, "rest": `{importance: 2, default: true}`}
	r.promise(classes)
	r.restart()
	r.seeNode(mustNode(t, "node n1 cpu=8"))
	r.seeNode(mustNode(t, "node n2 cpu=8 label=disk=ssd"))
	for _, name := range []string{"a", "b"} {
		r.seePod(mustPod(t, "pod "+name+" cpu=1 owner=web label=fairlead.dev/class=gold"))
	}
	r.seePod(mustPod(t, "pod torn cpu=1 label=fairlead.dev/class=gold select=disk=hdd"))
	r.spin(2, atOnce)
	on := func(name string) string { return r.pods[types.UID("uid-"+name)].Spec.NodeName }
	if on("a")+on("b") != "n2" {
		t.Fatalf("they are on %q and %q, want one on n2, and no other", on("a"), on("b"))
	}
	waits := r.world.pods.byUID["uid-a"]
	if on("a") != "" {
		waits = r.world.pods.byUID["uid-b"]
	}
	if why := TierOf(r.world, waits); why != "the tier of ServiceClass gold wants disk=ssd" {
		t.Errorf("of its tier it says %q", why)
	}
	if why := r.world.pods.byUID["uid-torn"].Why; why != "the tier of ServiceClass gold wants disk=ssd, and its nodeSelector disk=hdd: no node has both" {
		t.Errorf("of two selectors it says %q", why)
	}
	r.seeNode(mustNode(t, "node n3 cpu=8 label=disk=ssd"))
	r.spin(2, atOnce)
	if on("a") == "" || on("b") == "" || on("a") == on("b") {
		t.Fatalf("they are on %q and %q, want them apart", on("a"), on("b"))
	}
	r.seePod(mustPod(t, "pod c cpu=1 owner=web label=fairlead.dev/class=gold"))
	r.spin(2, atOnce)
	if on("c") != "" {
		t.Fatalf("pod c is on %s, where another one is", on("c"))
	}
	classes["gold"] = `{importance: 1, namespaceSelector: {}}`
	r.promise(classes)
	r.spin(2, atOnce)
	if on("c") == "" {
		t.Fatal("pod c waits for a tier, or to be alone, that nobody wants any more")
	}
}

// annotate has somebody annotate the pod, or take that away.
func (r *rig) annotate(uid types.UID, annotations map[string]string) {
	pod := r.pods[uid].DeepCopy()
	pod.Annotations = annotations
	r.seePod(pod)
}

// A pod that a VerticalPodAutoscaler takes over, by its mark alone, stays as it is from then on, whatever was asked for, and grows again from what it came with.
func TestOwnersMarkAlone(t *testing.T) {
	r := elasticRig(t)
	r.seePod(mustPod(t, "pod a cpu=1 label=fairlead.dev/class=elastic"))
	var last *Change
	r.spin(3, func(c *Change) (string, bool) { last = c; return "", false })
	r.wantCPU("a", 3000, 3000)
	a := r.world.pods.byUID["uid-a"]
	r.annotate("uid-a", map[string]string{"vpaUpdates": "", "other": ""})
	if a.growth != nil {
		t.Fatal("a pod of a VerticalPodAutoscaler may grow")
	}
	r.seePod(mustPod(t, "pod b cpu=500m"))
	says := ""
	r.spin(3, func(c *Change) (string, bool) {
		says = c.Says.Message
		pod := r.pods[c.Object.UID].DeepCopy()
		pod.Status.Conditions = []v1.PodCondition{c.Says}
		r.seePod(pod)
		return "", false
	})
	SizesOf(r.world).Answered(last, "too late")
	r.wantCPU("a", 3000, 3000)
	if !strings.Contains(says, "annotation vpaUpdates") {
		t.Errorf("it says %q", says)
	}
	r.annotate("uid-a", nil)
	r.seePod(mustPod(t, "pod c cpu=2500m"))
	r.spin(3, atOnce)
	r.wantCPU("a", 1000, 1000)
}

// A VerticalPodAutoscaler owns the pods of what it targets from when it is there on, whether they wait or run, and until it is gone or aims at something else; a pod of several is said to be of the first.
func TestAutoscalerOwnsItsTarget(t *testing.T) {
	r := elasticRig(t)
	says := map[string]string{}
	notes := func(c *Change) (string, bool) {
		if says[c.Object.Name] = c.Says.Message; c.To != nil {
			return "", false
		}
		pod := r.pods[c.Object.UID].DeepCopy()
		pod.Status.Conditions = append(slices.DeleteFunc(pod.Status.Conditions, func(o v1.PodCondition) bool { return o.Type == c.Says.Type }), c.Says)
		r.seePod(pod)
		return "", false
	}
	aim := func(name, kind, at string) {
		target := Workload{"default", kind, at}
		if at == "" {
			target = Workload{}
		}
		SeeAutoscaler(r.world, types.NamespacedName{Namespace: "default", Name: name}, target)
	}
	grows := " label=fairlead.dev/class=elastic"
	r.seePod(mustPod(t, "pod a cpu=400m kind=StatefulSet owner=web"+grows))
	r.seePod(mustPod(t, "pod b cpu=400m kind=StatefulSet owner=other"+grows))
	r.spin(3, notes)
	r.wantCPU("a", 1200, 1200)

	aim("vpa", "statefulset", "web")
	aim("vpa-2", "statefulset", "web")
	aim("elsewhere", "deployment", "other")
	if a := r.world.pods.byUID["uid-a"]; a.growth != nil {
		t.Fatal("a pod of a VerticalPodAutoscaler may grow")
	}
	r.seePod(mustPod(t, "pod c cpu=400m kind=StatefulSet owner=web"+grows))
	r.spin(3, notes)
	want := "It stays as it is, though ServiceClass elastic has sizes: the VerticalPodAutoscaler vpa owns its size."
	for _, name := range []string{"a", "c"} {
		if !strings.HasPrefix(says[name], want) {
			t.Errorf("pod %s says %q, want %q", name, says[name], want)
		}
	}
	r.wantCPU("a", 1200, 1200)
	r.wantCPU("b", 1200, 1200)
	r.wantCPU("c", 400, 400)

	aim("vpa", "statefulset", "")
	r.spin(3, notes)
	r.wantCPU("c", 400, 400)
	aim("vpa-2", "statefulset", "third")
	r.spin(3, atOnce)
	r.wantCPU("c", 1200, 1200)
}

// A target is the controller of a pod, or as far as names say the controller of that.
func TestTargetsOfAPod(t *testing.T) {
	for _, test := range []struct{ kind, owner, hash, want string }{
		{"StatefulSet", "db", "", "statefulset/db statefulset/db"},
		{"ReplicaSet", "web-7d9", "7d9", "replicaset/web-7d9 deployment/web"},
		{"ReplicaSet", "web", "", "replicaset/web replicaset/web"},
		{"Job", "backup-29000000", "", "job/backup-29000000 job/backup-29000000 cronjob/backup"},
		{"Job", "once", "", "job/once job/once"},
		{"", "", "", ""},
	} {
		pod := mustPod(t, "pod a cpu=1")
		if pod.OwnerReferences = nil; test.kind != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: test.kind, Name: test.owner, Controller: new(true)}}
			pod.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: test.hash}
		}
		var got []string
		for _, w := range targetsOf(pod) {
			got = append(got, w.Kind+"/"+w.Name)
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("a pod of %s %s is of %q, want %q", test.kind, test.owner, text, test.want)
		}
	}
}

// What fails while sizes are seen to is blamed on the pod that it is about.
func TestSizesSayOfWhom(t *testing.T) {
	r := elasticRig(t)
	of := types.UID("")
	r.world.pods.handling = func(pod metav1.Object) { of = pod.GetUID() }
	r.seePod(mustPod(t, "pod a cpu=1 label=fairlead.dev/class=elastic"))
	r.spin(1, atOnce)
	z := SizesOf(r.world)
	z.touch(r.world.pods.byUID["uid-a"])
	for _, does := range []func(){z.due, func() { z.Due() }} {
		of = ""
		does()
		if of != "uid-a" {
			t.Errorf("the pod that is seen to is %q", of)
		}
		z.touch(r.world.pods.byUID["uid-a"])
	}
}

// A leader that takes over while a kubelet takes something back gives that its time, and believes what a kubelet says that it does not give.
func TestTakesOverAmidResizes(t *testing.T) {
	r := elasticRig(t)
	r.seePod(mustPod(t, "pod a cpu=1 label=fairlead.dev/class=elastic"))
	r.spin(3, atOnce)
	takesOver := func() *rig {
		fresh := elasticRig(t)
		fresh.now = cluster.Hour
		fresh.turn()
		for _, uid := range slices.Sorted(maps.Keys(r.pods)) {
			fresh.seePod(r.pods[uid].DeepCopy())
		}
		fresh.turn()
		return fresh
	}
	r.deferResize("uid-a", "2")
	takesOver().wantCPU("a", 3000, 2000)
	r.settleSizes()

	slow := func(*Change) (string, bool) { return "", true }
	r.seePod(mustPod(t, "pod b cpu=2"))
	r.spin(1, slow)
	r.wantCPU("a", 2000, 2000)
	fresh := takesOver()
	fresh.spin(1, slow)
	fresh.wantCPU("a", 2000, 2000)
	if refused := SizesOf(fresh.world).Refused(); len(refused) > 0 {
		t.Fatalf("after some seconds it is said that %s", refused[0].Why)
	}
	fresh.spin(6, slow)
	if refused := SizesOf(fresh.world).Refused(); len(refused) != 1 {
		t.Fatalf("after a minute %d are said not to have been resized", len(refused))
	}
}
