package world

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	promises "fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	promised "fairlead.dev/fairlead/kube/classes"
	"fairlead.dev/fairlead/policies"
)

// A hostile history: nodes and pods come, change and go in any order, events
// come twice and late, binds succeed and fail whenever they like, and new cores
// begin in between. Every turn must leave everybody agreed (check_test.go). At
// the end the faults stop, and whoever can be placed must be.

func TestAHostileHistoryConfusesNobody(t *testing.T) {
	setCases(t, "500")
	b := newBench(t, library()...)
	placed, refused, restarts, evicted, back, freed, trees, grown, shrunk := 0, 0, 0, 0, 0, 0, 0, 0, 0
	untested := func() bool {
		return slices.Contains([]int{placed, refused, restarts, evicted, back - freed, freed, trees, grown, shrunk}, 0)
	}
	try := func(t *rapid.T) {
		h := &history{rig: newRig(t, b), t: t, old: map[types.UID][]*v1.Pod{}}
		h.drawPrices(t)
		h.choosePolicy()
		h.drawPromises(t)
		h.callBack = h.mayCallBack
		for i := range 2 {
			h.seeNode(drawNode(t, i))
		}
		actions := h.actions()
		for range number(t, 150, "steps") {
			name := pick(t, "action", slices.Sorted(maps.Keys(actions))...)
			t.Logf("at %v: %s", h.now, name)
			actions[name](t)
		}
		h.calm()
		placed, refused, restarts, evicted = placed+h.placedCount, refused+h.refusedCount, restarts+h.restarts-1, evicted+h.evictedCount
		back, freed, trees = back+h.backCount, freed+h.freedCount, trees+h.trees
		grown, shrunk = grown+h.grown, shrunk+h.shrunk
	}
	rapid.Check(t, try)
	for range 3 { // of some there are five in a round, so that one round in a hundred has none
		if untested() {
			rapid.Check(t, try)
		}
	}
	t.Logf("%d pods placed, %d placements refused, %d new cores, %d pods asked to leave, %d called back, %d of them for others, %d composite pod groups placed, %d resizes to more and %d to less", placed, refused, restarts, evicted, back, freed, trees, grown, shrunk)
	if untested() {
		t.Error("nothing was tested of something")
	}
}

// drawPromises has accounts be kept in some of the histories, as something is promised to pods by their priority; and has pods grow, keep to tiers and stand apart in others.
func (h *history) drawPromises(t *rapid.T) {
	switch pick(t, "promises", "none", "table", "table", "classes", "classes") {
	case "none":
		return
	case "classes": // no other policy has pods grow
		h.policy, h.options = "fairlead", policies.Options{Seed: 1}
		h.promise(drawClasses(t))
		h.restart()
		h.restarts--
		return
	}
	table, err := promises.Decode("classes", []byte("classes:\n- {name: gold, priority: 10, availability: 90%}\n- {name: bronze, availability: 10%}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := h.world.Promise(promised.Open(table)); !ok {
		t.Fatal("the core has no rows for two classes")
	}
	h.restart()
	h.restarts--
}

// drawClasses draws classes for all namespaces, by priority.
func drawClasses(t *rapid.T) map[string]string {
	some := func(what string) string {
		return pick(t, what, "", `, sizes: {cpu: "2"}`, `, sizes: {cpu: "3", memory: "1.5"}`, `, tier: {size: "5"}`, `, replicas: 2`, `, sizes: {cpu: "1.5"}, tier: {size: "5"}, replicas: 3`)
	}
	return map[string]string{
		"gold":   `{importance: 1, priorityAtLeast: 5, namespaceSelector: {}` + some("gold") + `}`,
		"bronze": `{importance: 2, availability: 10%, default: true, sizes: {cpu: "2"}}`,
	}
}

// drawKubelet draws what becomes of what is asked for.
func (h *history) drawKubelet(c *Change) (string, bool) {
	if c.To == nil {
		return "", false
	}
	for i, to := range c.To {
		if had, cpu := c.Object.Spec.Containers[i].Resources.Requests.Cpu(), to.Requests.Cpu(); cpu.Cmp(*had) > 0 {
			h.grown++
		} else if !cpu.IsZero() && cpu.Cmp(*had) < 0 {
			h.shrunk++
		}
	}
	return pick(h.t, "refused", "", "", "", "exceeded quota"), rapid.Bool().Draw(h.t, "slow")
}

type history struct {
	*rig
	grown, shrunk                           int
	t                                       *rapid.T
	made                                    int
	old                                     map[types.UID][]*v1.Pod // events that may come again
	placedCount, refusedCount, evictedCount int
	backCount, freedCount                   int
	// sent are binds without an outcome, also of pods that are gone, in order.
	sent []flight
}

func (h *history) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"turn": func(t *rapid.T) {
			h.now += cluster.Time(number(t, 401, "seconds")) * cluster.Second
			h.turnNow()
		},
		"turn soon":    func(*rapid.T) { h.now += cluster.Second; h.turnNow() },
		"turn at once": func(*rapid.T) { h.turnNow() },
		"new pod":      func(*rapid.T) { h.newPod("") },
		"new plain pod": func(t *rapid.T) {
			h.newPlainPod(pick(t, "anti-affinity", "", "", " cpu=500m anti=app=web@host", " cpu=500m anti=app=web@zone"))
		},
		"new urgent pod": func(t *rapid.T) {
			h.newPlainPod(fmt.Sprintf(" cpu=%d priority=%d", 1+number(t, 4, "cpu"), 10*number(t, 3, "priority")))
		},
		"new urgent pod that shares the disk": func(t *rapid.T) { // for which who has it may leave
			h.newPlainPod(fmt.Sprintf(" cpu=100m pd=shared priority=%d", 5*number(t, 3, "priority")))
		},
		"new pod that preempts nobody": func(*rapid.T) { h.newPlainPod(" cpu=1 priority=10 preempts=Never") },
		"new web pod":                  func(t *rapid.T) { h.newPlainPod(" cpu=500m app=web port=80") },
		"new pods that share a disk": func(t *rapid.T) { // each bars the others, which only a query knows
			for range 1 + number(t, 4, "of them") {
				h.newPlainPod(" cpu=100m pd=shared")
			}
		},
		"new pod with a port of its own": func(t *rapid.T) {
			h.newPlainPod(fmt.Sprintf(" cpu=500m port=%d%s", 1000+h.made, pick(t, "resource", "", "", " ext=example.com/a:1", " ext=hugepages-2Mi:2Mi")))
		},
		"new pod of a group": func(t *rapid.T) {
			h.newPlainPod(fmt.Sprintf(" group=%s cpu=%s%s", pick(t, "group", "a", "b", "c"), pick(t, "cpu", "500m", "1"), pick(t, "beside", "", "", " anti=app=web@host", " pd=shared")))
		},
		"group": func(t *rapid.T) { h.drawGroup(t, pick(t, "parent", "", "", " parent=r", " parent=s")) },
		"composite": func(t *rapid.T) {
			h.drawComposite(t, pick(t, "composite", "r", "s"), pick(t, "parent", "", "", " parent=r", " parent=s"))
		},
		"lose composite": func(t *rapid.T) { h.loseComposite(pick(t, "composite", "r", "s")) },
		"budget": func(t *rapid.T) {
			h.seeBudget(makeBudget(pick(t, "budget", "a", "b"), pick(t, "of", "web", "db", ""), int32(number(t, 3, "spare"))))
		},
		"lose budget":   func(t *rapid.T) { h.loseBudget(pick(t, "budget", "a", "b")) },
		"lose group":    func(t *rapid.T) { h.loseGroup(pick(t, "group", "a", "b", "c")) },
		"new bound pod": func(*rapid.T) { h.newPod(h.anyNodeName()) },
		"change pod":    h.withPod(h.changePod),
		"repeat event": h.withPod(func(uid types.UID) {
			h.world.SeePod(pick(h.t, "event", h.old[uid]...))
		}),
		"bind elsewhere": h.withPod(func(uid types.UID) {
			if pod := h.pods[uid]; pod.Spec.NodeName == "" {
				pod = pod.DeepCopy()
				pod.Spec.NodeName = h.anyNodeName()
				h.emit(pod)
			}
		}),
		"nominate": h.withPod(func(uid types.UID) {
			pod := h.pods[uid].DeepCopy()
			pod.Status.NominatedNodeName = pick(h.t, "nominated", "", h.anyNodeName())
			h.emit(pod)
		}),
		"lose pod": h.withPod(func(uid types.UID) { h.losePod(uid) }),
		"end pod": h.withPod(func(uid types.UID) {
			pod := h.pods[uid].DeepCopy()
			pod.Status.Phase = pick(h.t, "phase", v1.PodSucceeded, v1.PodFailed)
			h.seePod(pod)
		}),
		"outcome": func(*rapid.T) {
			if len(h.sent) > 0 {
				h.outcome(number(h.t, len(h.sent), "bind"))
			}
		},
		"eviction": func(*rapid.T) {
			if len(h.leaving) > 0 {
				p := pick(h.t, "eviction", h.leaving...)
				pick(h.t, "answer", h.granted, h.stays, func(p *Pod) { h.answered(p); h.away(p) })(p)
			}
		},
		"drivers":    func(t *rapid.T) { h.drawDrivers(t, h.anyNodeName()) },
		"attachment": func(t *rapid.T) { h.drawAttachment(t) },
		"storage":    func(t *rapid.T) { h.drawStorage(t) },
		"told":       func(t *rapid.T) { h.emitObjects(t) },
		"restart":    func(*rapid.T) { h.restart() },
		"constraint": h.drawConstraint,
		"node group": h.drawNodeGroup,
		"resize":     func(*rapid.T) { h.change(h.drawKubelet) },
		"kubelets":   func(*rapid.T) { h.settleSizes() },
		"classes": func(t *rapid.T) {
			if h.world.slots.classes.promises.ByNamespace() {
				h.promise(drawClasses(t))
			}
		},
		"defer": h.withPod(func(uid types.UID) {
			if p := h.world.pods.byUID[uid]; p != nil && p.growth != nil && len(h.pods[uid].Status.ContainerStatuses) == 0 {
				h.deferResize(uid, pick(h.t, "granted", "100m", "500m", "1"))
			}
		}),
		"mark-dirty": func(*rapid.T) { h.world.MarkDirty() },
	}
	maps.Copy(actions, h.nodeActions())
	return actions
}

// drawGroup draws a pod group, a part of what is said.
func (h *history) drawGroup(t *rapid.T, parent string) {
	l, err := parse(fmt.Sprintf("group %s least=%d%s%s", pick(t, "group", "a", "b", "c"), number(t, 4, "least"), pick(t, "more", "", "", " all", " priority=5", " topology=topology.kubernetes.io/zone", " topology=kubernetes.io/hostname"), parent))
	if err != nil {
		h.tb.Fatal(err)
	}
	g, err := makeGroup(l)
	if err != nil {
		h.tb.Fatal(err)
	}
	h.t.Logf("  group %s %v", g.Name, g.Spec)
	h.seeGroup(g)
}

// drawComposite draws a composite pod group of that name, a part of what is said.
func (h *history) drawComposite(t *rapid.T, name, parent string) {
	l, err := parse(fmt.Sprintf("composite %s%s%s%s", name, pick(t, "least", "", " least=1", " least=2", " least=2"), pick(t, "more", "", "", " all", " priority=5", " topology=topology.kubernetes.io/zone"), parent))
	if err != nil {
		h.tb.Fatal(err)
	}
	c, err := makeComposite(l)
	if err != nil {
		h.tb.Fatal(err)
	}
	h.t.Logf("  composite %s %v", c.Name, c.Spec)
	h.seeComposite(c)
}

func (h *history) nodeActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"node": func(t *rapid.T) { h.seeNode(drawNode(t, number(t, 4, "node"))) },
		"replace node": func(t *rapid.T) {
			h.made++
			node := drawNode(t, number(t, 4, "node"))
			node.UID = types.UID(fmt.Sprint("uid-node-", h.made))
			h.seeNode(node)
		},
		"lose node": func(*rapid.T) { h.loseNode(h.anyNodeName()) },
	}
}

// choosePolicy draws how pods are placed, and whether they may be evicted.
func (h *history) choosePolicy() {
	names := []string{"kube", "load-spreading"}
	for _, p := range policies.All() {
		if p.Evicts {
			names = append(names, p.Name)
		}
	}
	policy := pick(h.t, "policy", names...)
	if policy != "kube" {
		h.policy, h.options.Migrations = policy, number(h.t, 3, "migrations")
		if policy == "fairlead" && !often(h.t, 2, "evictions") {
			h.options.Own = policies.Settings{"without": "evictions"}
		} else if policy != "load-spreading" || often(h.t, 5, "evictions") {
			var others uint8
			if h.others = often(h.t, 2, "others"); h.others {
				others = 1
			}
			h.world.Exits().Allow(map[string]Evictions{ours: {Others: others, Pace: Pace{1 + number(h.t, 3, "at once"), 60}, Moves: Pace{1 + number(h.t, 3, "moves at once"), 60}, BestEffort: often(h.t, 2, "best effort"), ExemptSystem: often(h.t, 2, "system exempt")}})
		}
		h.restart()
	}
}

// away is a pod that has left, if it was there still.
func (h *history) away(p *Pod) {
	if uid := p.Object().UID; h.pods[uid] != nil {
		h.losePod(uid)
	}
}

func (h *history) anyNodeName() string { return nodeName(number(h.t, 4, "node name")) }

// withPod does something to a pod that there is.
func (h *history) withPod(do func(types.UID)) func(*rapid.T) {
	return func(*rapid.T) {
		if len(h.pods) > 0 {
			do(pick(h.t, "pod", slices.Sorted(maps.Keys(h.pods))...))
		}
	}
}

// emit reports the pod, and remembers the event.
func (h *history) emit(pod *v1.Pod) {
	text, _ := json.Marshal(pod.Spec)
	h.t.Logf("  pod %s %v %s", pod.Name, pod.Labels, text)
	h.seePod(pod)
	h.old[pod.UID] = append(h.old[pod.UID], pod)
}

func (h *history) newPod(node string) {
	h.made++
	pod := drawPod(h.t, fmt.Sprint("pod-", h.made))
	pod.Spec.NodeName = node
	pod.Spec.SchedulerName = pick(h.t, "scheduler", ours, ours, "other")
	if owner := pick(h.t, "owner", "", "web", "db"); owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{Name: owner, UID: types.UID(owner), Controller: new(true)}}
	}
	if often(h.t, 6, "gated") && node == "" {
		pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
	}
	h.emit(pod)
}

// newPlainPod is one that there is most often room for.
func (h *history) newPlainPod(with string) {
	h.made++
	l, err := parse(fmt.Sprintf("pod pod-%d%s owner=web tolerate=*", h.made, cmp.Or(with, " cpu=500m")))
	if err != nil {
		h.tb.Fatal(err)
	}
	pod, err := makePod(l)
	if err != nil {
		h.tb.Fatal(err)
	}
	h.emit(pod)
}

// changePod resizes, relabels, opens the gate of, or begins to end a pod.
func (h *history) changePod(uid types.UID) {
	pod := h.pods[uid].DeepCopy()
	switch number(h.t, 5, "change") {
	case 0:
		pod.Spec.SchedulingGates = nil
	case 1:
		pod.Labels["app"] = pick(h.t, "app", "web", "db")
	case 2:
		pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse(pick(h.t, "cpu", "100m", "1", "2"))
	case 3:
		pod.DeletionTimestamp = &metav1.Time{}
	case 4:
		pod.Spec.Priority = new(int32(number(h.t, 11, "priority") - 5))
	}
	h.emit(pod)
}

func (h *history) turnNow() verdict {
	v := h.turn()
	for _, f := range v.accepted {
		h.t.Logf("  %s -> %s", f.pod.Object().Name, f.node)
	}
	h.placedCount += len(v.accepted)
	h.refusedCount += len(v.refused)
	h.evictedCount += len(v.asked)
	h.freedCount += len(v.freed)
	for _, p := range v.asked {
		h.t.Logf("  %s is asked to leave %s", p.Object().Name, p.Node())
	}
	h.sent = append(h.sent, v.accepted...)
	if h.world.slots.classes.promises.ByNamespace() {
		h.change(h.drawKubelet)
	}
	return v
}

// mayCallBack draws whether a bind was not sent yet. One that is called back has no other outcome.
func (h *history) mayCallBack(p *Pod) bool {
	at := slices.IndexFunc(h.sent, func(f flight) bool { return h.flying[f.pod.Object().UID] == f && f.pod == p })
	if at < 0 || !often(h.t, 2, "unsent") {
		return false
	}
	h.t.Logf("  %s is called back", p.object.Name)
	h.sent = slices.Delete(h.sent, at, at+1)
	h.backCount++
	return true
}

// outcome ends a bind: it succeeds, and is seen before, after or without the
// answer; or it fails. A bind that somebody was faster with fails.
func (h *history) outcome(i int) {
	f := h.sent[i]
	h.t.Logf("  of %s", f.pod.Object().Name)
	h.sent = slices.Delete(h.sent, i, i+1)
	uid := f.pod.Object().UID
	if current, out := h.flying[uid]; !out || current != f {
		h.world.Binds().Failed(f.pod)
		return
	}
	switch number(h.t, 4, "outcome") {
	case 0:
		h.failed(f)
	case 1:
		h.arrive(f)
		h.started(f)
	default:
		h.started(f)
		h.arrive(f)
	}
}

func (h *history) arrive(f flight) {
	h.arrived(f)
	uid := f.pod.Object().UID
	h.old[uid] = append(h.old[uid], h.pods[uid])
}

// empty lets go who is asked to, or is ending: the room is kept for somebody.
func (h *history) empty() {
	for _, p := range slices.Clone(h.leaving) {
		h.answered(p)
		h.away(p)
	}
	for _, uid := range slices.Sorted(maps.Keys(h.pods)) {
		if h.pods[uid].DeletionTimestamp != nil && h.pods[uid].Spec.NodeName != "" {
			h.losePod(uid)
		}
	}
}

// calm stops the faults and demands progress: binds succeed, time goes by, and in the end no pod waits that a node
// would take. A node may be kept for who has waited longest, for ten minutes, so that it takes more time then.
func (h *history) calm() {
	const enough, most = 40, 150
	h.emitObjects(h.t)
	h.saying = saying{} // who has none beside it that it is to stand beside would wait for ever
	if err := h.reportConstraints(); err != nil {
		h.tb.Fatal(err)
	}
	for _, uid := range slices.Sorted(maps.Keys(h.pods)) { // other schedulers give up
		pod := h.pods[uid].DeepCopy()
		pod.Status.NominatedNodeName = ""
		h.seePod(pod)
	}
	for turns := range most {
		for len(h.sent) > 0 {
			f := h.sent[0]
			h.sent = h.sent[1:]
			if current, out := h.flying[f.pod.Object().UID]; out && current == f {
				h.started(f)
				h.arrive(f)
			} else {
				h.world.Binds().Failed(f.pod)
			}
		}
		h.empty()
		h.change(atOnce)
		h.settleSizes()
		h.now += 11 * cluster.Second
		for len(h.turnNow().refused) > 0 { // else those that are refused again and again, and back off for less than that, had all the room whenever somebody looks
		}
		if turns < enough {
			continue
		}
		p, node := h.stuck()
		switch {
		case p == nil:
			return
		case turns == most-1:
			h.tb.Fatalf("pod %s is %s, and node %s would take it\n%s%s", p.object.Name, p.Stage, node, h.reasons(), h.picture(p))
		}
	}
}

// stuck is a pod that waits although a node would take it, and that node; nil if there is none.
func (h *history) stuck() (*Pod, string) {
	for _, p := range inOrder(h.world.pods.byUID) {
		if p.Ours && !h.short(p) && (p.Stage == Waiting || p.Stage == AwaitingQuery || p.Stage == BackingOff) {
			for node, status := range h.rival.verdicts(h.nodeList(), h.placed(), p.object) {
				if status.IsSuccess() && h.inDomain(p, node) && !h.crowded(p, node) {
					return p, node
				}
			}
		}
	}
	return nil, ""
}

// crowded reports whether the pod may not come to the node as others of its owner are there, by its class.
func (h *history) crowded(p *Pod, node string) bool {
	return p.slot != nil && h.core.View().Crowded(p.slot.task, h.world.nodes.byName[node].row)
}

// short reports whether the pod waits for others of its group.
func (h *history) short(p *Pod) bool {
	if p.gang() == nil {
		return false
	}
	return p.slot == nil || cluster.GangLacks(h.core.View(), h.core.View().Task(p.slot.task).Job) > 0
}

// reasons says for each pod that waits why, in the core's words.
func (h *history) reasons() string {
	var out strings.Builder
	for _, p := range inOrder(h.world.pods.byUID) {
		if p.Ours && p.Stage == Waiting && p.slot != nil {
			fmt.Fprintf(&out, "%s waits: %s\n", p.object.Name, h.core.Why(p.Task()).Sentence(h.world.Columns().Kinds()))
		}
	}
	return out.String()
}
