package world

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// What leaves for a pod is held against kube-scheduler's dry run over all nodes: on each node all pods of lower priority go, and come back, those
// that violate a budget first and the more important ones first, as long as upstream's filters still take the pod. Ours is never worse in the
// order in which kube-scheduler compares nodes; and where budgets are hard, never worse than the best of all sets of pods that break none.

// plan is who leaves a node for a pod.
type plan struct {
	node    string
	victims []*v1.Pod
}

// measure is what kube-scheduler compares plans by: how many violate a budget, the highest priority, the sum of priorities, and how many leave. Pods
// of these tests have no start.
func (r *rig) measure(p plan) [4]int64 {
	highest, sum := int64(math.MinInt32), int64(0)
	for _, pod := range p.victims {
		highest = max(highest, int64(priority(pod)))
		sum += int64(priority(pod)) + math.MaxInt32 + 1
	}
	return [4]int64{int64(len(r.violating(p.victims))), highest, sum, int64(len(p.victims))}
}

// violating are those of the pods whose leaving one after the other a budget does not allow.
func (r *rig) violating(pods []*v1.Pod) (beyond []*v1.Pod) {
	left := map[string]int32{}
	for name, b := range r.budgets {
		left[name] = b.Status.DisruptionsAllowed
	}
	for _, pod := range pods {
		violates := false
		for name, b := range r.budgets {
			selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			if err != nil {
				r.tb.Fatal(err)
			}
			if len(pod.Labels) > 0 && pod.Namespace == b.Namespace && selector.Matches(labels.Set(pod.Labels)) {
				violates = violates || left[name] <= 0
				left[name]--
			}
		}
		if violates {
			beyond = append(beyond, pod)
		}
	}
	return beyond
}

// takes reports whether upstream's filters take the pod on the node once those have left.
func (r *rig) takes(pod *v1.Pod, node string, without []*v1.Pod) bool {
	placed := slices.DeleteFunc(r.placed(), func(p *v1.Pod) bool {
		return slices.ContainsFunc(without, func(gone *v1.Pod) bool { return gone.UID == p.UID })
	})
	return r.rival.verdicts(r.nodeList(), placed, pod)[node].IsSuccess()
}

// lower are the pods on the node of lower priority, the more important first, and those that came first.
func (r *rig) lower(pod *v1.Pod, node string) []*v1.Pod {
	list := slices.DeleteFunc(r.placed(), func(p *v1.Pod) bool { return p.Spec.NodeName != node || priority(p) >= priority(pod) })
	came := func(p *v1.Pod) cluster.Seq { return r.world.Pod(p.UID).slot.seq }
	slices.SortFunc(list, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(priority(b), priority(a)), cmp.Compare(came(a), came(b)))
	})
	return list
}

// dryRun is upstream's choice, without its limit on nodes; false if nowhere enough may leave.
func (r *rig) dryRun(pod *v1.Pod, verdicts map[string]*fwk.Status) (best plan, found bool) {
	for _, node := range r.nodeList() {
		gone := r.lower(pod, node.Name)
		if verdicts[node.Name].Code() == fwk.UnschedulableAndUnresolvable || !r.takes(pod, node.Name, gone) {
			continue
		}
		beyond := r.violating(gone)
		within := slices.DeleteFunc(slices.Clone(gone), func(p *v1.Pod) bool { return slices.Contains(beyond, p) })
		for _, back := range append(slices.Clone(beyond), within...) {
			rest := slices.DeleteFunc(slices.Clone(gone), func(p *v1.Pod) bool { return p == back })
			if r.takes(pod, node.Name, rest) {
				gone = rest
			}
		}
		slices.Reverse(gone) // as a budget counts: who is less important leaves first
		if p := (plan{node.Name, gone}); !found || r.worse(best, p) {
			best, found = p, true
		}
	}
	return best, found
}

// exhaustive is the best of all plans that violate no budget.
func (r *rig) exhaustive(pod *v1.Pod, verdicts map[string]*fwk.Status) (best plan, found bool) {
	for _, node := range r.nodeList() {
		if verdicts[node.Name].Code() == fwk.UnschedulableAndUnresolvable {
			continue
		}
		all := r.lower(pod, node.Name)
		for subset := range 1 << len(all) {
			p := plan{node: node.Name}
			for i, victim := range all {
				if subset>>i&1 == 1 {
					p.victims = append(p.victims, victim)
				}
			}
			if len(r.violating(p.victims)) == 0 && (!found || r.worse(best, p)) && r.takes(pod, node.Name, p.victims) {
				best, found = p, true
			}
		}
	}
	return best, found
}

// worse reports whether the first is.
func (r *rig) worse(a, b plan) bool {
	x, y := r.measure(a), r.measure(b)
	return slices.Compare(x[:], y[:]) > 0
}

func TestEvictionsAreNoWorseThanUpstreams(t *testing.T) {
	for _, policy := range []struct {
		name     string
		compares int // of the measures of a plan
	}{
		{"kube-scheduler", 4},
		{"fairlead", 2}, // then who loses least of what it has done, and not how many leave
		{"quincy", 0},   // whose prices say where somebody leaves, and who
	} {
		for _, hard := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/hard=%t", policy.name, hard), func(t *testing.T) {
				setCases(t, "1250")
				checks := flag.Lookup("rapid.checks")
				b := newBench(t, library()...)
				met := map[string]int{}
				try := trial{policy.name, policy.compares, hard, met}
				want := append([]string{"the same measures", "nothing helps", "who has a claim for one pod leaves"}, mayLeaveFor()...)
				if policy.compares == 0 {
					want = []string{"nothing helps", "hard spread", "required anti-affinity", "anti-affinity of others"}
				}
				missing := func() []string {
					return slices.DeleteFunc(slices.Clone(want), func(what string) bool { return met[what] > 0 })
				}
				for range 5 { // some are met five times in a round, so that one round in a hundred has none
					rapid.Check(t, func(t *rapid.T) { try.run(t, b) })
					if len(missing()) == 0 {
						break
					}
					// A round whose seed is given begins as the one before, so that it has to be longer.
					if cases, err := strconv.Atoi(checks.Value.String()); err != nil || checks.Value.Set(strconv.Itoa(2*cases)) != nil {
						t.Fatal("there is no number of cases")
					}
				}
				for _, what := range sortedKeys(met) {
					t.Logf("met %d times: %s", met[what], what)
				}
				for _, what := range missing() {
					t.Errorf("never met: %s", what)
				}
			})
		}
	}
}

// trial is how evictions are tried and compared, and what was met.
type trial struct {
	policy   string
	compares int
	hard     bool
	met      map[string]int
}

// run fills nodes, lets a more important pod come, and compares.
func (of trial) run(t *rapid.T, b *bench) {
	policy, compares, hard, met := of.policy, of.compares, of.hard, of.met
	r := newRig(t, b)
	r.policy, r.others = policy, true
	r.world.shapes.prices = func(string) Prices { return Prices{Nodes: true, Company: true} }
	r.world.rules.wishes = true
	r.world.Exits().Allow(map[string]Evictions{ours: {Others: 1, Pace: Pace{100, 6000}, Moves: Pace{100, 6000}, BestEffort: !hard}})
	pod, why := r.drawDryRun(t)
	verdicts := r.rival.verdicts(r.nodeList(), r.placed(), pod)
	for _, status := range verdicts {
		if status.IsSuccess() {
			return
		}
	}
	want, found := r.dryRun(pod, verdicts)
	if hard {
		want, found = r.exhaustive(pod, verdicts)
		compares = min(compares, 2) // as upstream, policy kube-scheduler takes the first set of a node, and not that with the least sum
	}
	r.seePod(pod)
	got := r.evicted(hard)
	slices.SortStableFunc(got.victims, func(a, b *v1.Pod) int { return cmp.Compare(priority(a), priority(b)) })
	describe := func() string {
		budgets := ""
		for _, name := range sortedKeys(r.budgets) {
			b := r.budgets[name]
			budgets += fmt.Sprintf("budget %s of %q spares %d\n", name, b.Spec.Selector.MatchLabels["app"], b.Status.DisruptionsAllowed)
		}
		return fmt.Sprintf("ours   %s\nwanted %s\n%s%s", r.words(got), r.words(want), budgets, r.picture(r.world.Pod(pod.UID)))
	}
	shared := r.sharesDisks()
	switch {
	case len(got.victims) == 0 && !found:
		met["nothing helps"]++
	case hard && !found:
		met["asked in vain, as a budget keeps others"]++
	case len(got.victims) == 0:
		switch {
		case compares == 0:
			met["not worth an eviction"]++
		case shared:
			met["missed, where pods share disks"]++
		default:
			t.Fatalf("nobody leaves, %s: %s\n%s", why, words(verdicts[want.node]), describe())
		}
	case r.world.rules.gaps > 0 && !r.takes(pod, got.node, got.victims):
		met["in vain, for a rule of others by a key of which the core has no domains"]++
	case !r.takes(pod, got.node, got.victims):
		t.Fatalf("those leave, and upstream's filters still refuse the pod: %s", describe())
	default:
		if on := r.begins(pod); on == "" || on != got.node && !shared { // what a pod has for its own once a victim has left is settled, and decided anew
			t.Fatalf("those leave, and the pod comes to %q: %s", on, describe())
		}
		if !found {
			met["found where upstream does not"]++
			return
		}
		met[why]++
		if has := func(p *v1.Pod) bool {
			return slices.ContainsFunc(p.Spec.Volumes, func(of v1.Volume) bool { return of.Name == "once" })
		}; has(pod) && slices.ContainsFunc(got.victims, has) {
			met["who has a claim for one pod leaves"]++
		}
		x, y := r.measure(got), r.measure(want)
		switch order := slices.Compare(x[:compares], y[:compares]); {
		case order > 0 && shared:
			met["missed, where pods share disks"]++
		case order > 0:
			t.Fatalf("others leave: %s", describe())
		case order < 0:
			met["better"]++
		default:
			met["the same measures"]++
		}
	}
}

// sharesDisks reports whether some pods have disks that drivers attach to nodes which are not their own: who of them would have to leave for another disk is not
// found.
func (r *rig) sharesDisks() bool {
	for uid := range r.pods {
		if s := r.world.Pod(uid).stock; s != nil && len(s.holds) != len(s.takes) {
			return true
		}
	}
	return false
}

// evicted lets the core decide, and answers for the API server: where budgets are hard, nobody leaves whom one does not let go. It returns who is
// asked to leave.
func (r *rig) evicted(hard bool) (asked plan) {
	for range 5 { // the first may leave out nodes that the pod had rather avoid
		refused := false
		for _, p := range r.turn().asked {
			if pod := r.pods[p.Object().UID]; hard && len(r.violating([]*v1.Pod{pod})) > 0 {
				r.stays(p)
				refused = true
				continue
			}
			asked.victims, asked.node = append(asked.victims, p.Object()), p.Node()
		}
		if len(asked.victims) > 0 && !refused {
			break
		}
		r.now += 20 * cluster.Second
	}
	return asked
}

// begins lets those go who were asked to, and returns where the pod is bound then.
func (r *rig) begins(pod *v1.Pod) string {
	r.goes()
	for _, f := range r.turn().accepted {
		if f.object.UID == pod.UID {
			return f.node
		}
	}
	return ""
}

// say names who leaves.
func (r *rig) words(p plan) string {
	text := p.node + ":"
	for _, pod := range p.victims {
		text += fmt.Sprintf(" %s (priority %d)", pod.Name, priority(pod))
	}
	return fmt.Sprintf("%s %v", text, r.measure(p))
}
