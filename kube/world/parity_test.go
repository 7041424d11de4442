package world

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/cluster"
)

// The property that the front end stands on: what the core may choose for a pod
// is what upstream's filters admit, on random clusters with all that a filter
// looks at. Two differences are meant. A pod that neither looks at others nor
// avoids them does not know at first that others avoid it by a term for which the core has no
// words; once refused for that, it needs a full-filter query (special). And nodes with a soft taint come second, but for policies that price them.

// setCases lets FAIRLEAD_CASES say how many cases a property tries, others each time. Without it they are the same each time, unless -rapid.seed says which: what one history in
// ten thousand shows is to stop nobody who has changed something else.
func setCases(t *testing.T, otherwise string) {
	t.Helper()
	cases := os.Getenv("FAIRLEAD_CASES")
	if cases == "" {
		cases = otherwise
		if flag.Lookup("rapid.seed").Value.String() == "0" {
			if err := flag.Set("rapid.seed", "1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := flag.Set("rapid.checks", cases); err != nil {
		t.Fatal(err)
	}
}

func TestTheCoreMayChooseWhatUpstreamAdmits(t *testing.T) {
	setCases(t, "2000")
	b := newBench(t, library()...)
	met := tally{}
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t, b)
		r.drawPrices(t)
		r.drawStorage(t)
		for i := range 1 + number(t, 5, "nodes") {
			r.seeNode(drawNode(t, i))
		}
		for i := range number(t, 7, "bound pods") {
			pod := drawPod(t, fmt.Sprintf("bound-%d", i))
			pod.Spec.NodeName = nodeName(number(t, len(r.nodes), "on"))
			pod.Spec.SchedulerName = pick(t, "scheduler", ours, "other")
			r.seePod(pod)
		}
		r.turn()
		r.drawStorage(t)
		for i := range 1 + number(t, 3, "pods") {
			r.now += 20 * cluster.Second
			if often(t, 3, "storage changes") {
				r.drawStorage(t)
			}
			r.emitObjects(t)
			r.compare(drawPod(t, fmt.Sprintf("pod-%d", i)), met)
		}
	})
	met.mustHold(t)
}

// compare lets a pod come and compares, at the moment before the core chooses.
func (r *rig) compare(object *v1.Pod, met tally) {
	r.tb.Helper()
	r.seePod(object)
	p := r.world.Pod(object.UID)
	chosen := false
	r.beforeStep = func() {
		want := r.rival.verdicts(r.nodeList(), r.placed(), object)
		met.count(p, want)
		r.compareSets(p, want)
		chosen = len(r.mayChoose(p)) > 0
	}
	v := r.turn()
	r.beforeStep = nil
	if placed := len(v.accepted) == 1; placed != chosen || len(v.refused) > 0 {
		r.tb.Fatalf("it is %t that the core had nodes to choose from, and %t that the pod was placed; refused: %v\n%s", chosen, placed, v.refused, r.picture(p))
	}
	if chosen {
		r.started(v.accepted[0])
		r.arrived(v.accepted[0])
	} else {
		r.losePod(object.UID)
	}
}

// mayChoose are the nodes that the core may choose for the pod now.
func (r *rig) mayChoose(p *Pod) map[string]bool {
	may := map[string]bool{}
	for name, n := range r.world.nodes.byName {
		if p.Stage == Waiting && !r.core.View().AdmitsShape(p.slot.shape.row, n.row).Refused() {
			may[name] = true
		}
	}
	return may
}

func (r *rig) compareSets(p *Pod, want map[string]*fwk.Status) {
	r.tb.Helper()
	differ := func(how string, pass func(name string) bool) {
		r.tb.Helper()
		may := r.mayChoose(p)
		for name := range r.nodes {
			// What a filter after this one would say is not known.
			repelled := r.world.rules.gaps > 0 && !p.special && p.query == nil && !want[name].IsSuccess() && want[name].Plugin() == names.InterPodAffinity
			if may[name] != pass(name) && !repelled {
				r.tb.Fatalf("%s: node %s: it is %t that the core may choose it, upstream says %s\n%s", how, name, may[name], words(want[name]), r.picture(p))
			}
		}
	}
	if p.query == nil {
		avoided := func(name string) bool {
			return r.world.nodes.softTaints > 0 && !r.world.shapes.prices(ours).Nodes && avoids(p, r.world.nodes.byName[name])
		}
		differ("first try", func(name string) bool { return want[name].IsSuccess() && !avoided(name) })
		r.again(p, func() { p.second = true })
		differ("second try", func(name string) bool { return want[name].IsSuccess() })
		r.again(p, func() { p.special = true })
	}
	if p.Stage == Waiting && p.query.prefers {
		// It may choose only what is liked best, but something if there is anything.
		may := r.mayChoose(p)
		differ("preferring", func(name string) bool { return want[name].IsSuccess() && may[name] })
		if len(may) > 0 {
			return
		}
	}
	differ("all filters", func(name string) bool { return want[name].IsSuccess() })
}

// again lets the pod wait again after it was changed, as after a try that led
// to nothing.
func (r *rig) again(p *Pod, change func()) {
	r.tb.Helper()
	r.world.waiting.retract(p)
	change()
	r.world.waiting.sort(p)
	r.world.Admit(func() bool { return false })
	r.observe()
}

// tally counts what was met, so that a property that compares nothing fails.
type tally map[string]int

func (met tally) count(p *Pod, want map[string]*fwk.Status) {
	for _, status := range want {
		if status.IsSuccess() {
			met["admitted"]++
		} else {
			met[status.Plugin()]++
		}
	}
	if p.query == nil {
		met["plain"]++
	}
	if p.query == nil && p.stock != nil {
		met["settled"]++
	}
	if p.query == nil && p.stock != nil && len(p.stock.takes) > 0 {
		met["settled with a limit"]++
	}
	if p.query == nil && p.stock != nil && p.stock.reach != nil {
		met["settled somewhere"]++
	}
}

// mustHold wants each filter to have refused something. NodeName cannot: a pod
// that names a node is bound.
func (met tally) mustHold(t *testing.T) {
	t.Helper()
	t.Logf("met: %v", met)
	if testing.Short() {
		return // a fifth of the cases is too few to meet the rarest
	}
	for _, what := range []string{
		"admitted", "plain", "settled", "settled with a limit", "settled somewhere", "PreFilter", names.NodeUnschedulable, names.TaintToleration, names.NodeAffinity, names.NodePorts, names.NodeResourcesFit,
		names.VolumeRestrictions, names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone, names.PodTopologySpread, names.InterPodAffinity,
		names.DynamicResources, names.NodeDeclaredFeatures,
	} {
		if met[what] == 0 {
			t.Errorf("%s was never met", what)
		}
	}
}

// picture prints the cluster and the pod.
func (r *rig) picture(p *Pod) string {
	var out strings.Builder
	show := func(what string, value any) {
		text, err := yaml.Marshal(value)
		if err != nil {
			r.tb.Fatal(err)
		}
		fmt.Fprintf(&out, "--- %s\n%s", what, text)
	}
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		node := r.nodes[name]
		show("node "+name, map[string]any{"labels": node.Labels, "spec": node.Spec, "allocatable": node.Status.Allocatable, "features": node.Status.DeclaredFeatures})
	}
	for _, pod := range r.placed() {
		show("placed pod "+pod.Name, map[string]any{"namespace": pod.Namespace, "labels": pod.Labels, "spec": pod.Spec})
	}
	if p != nil {
		show("the pod, "+p.Stage.String(), map[string]any{"namespace": p.object.Namespace, "labels": p.object.Labels, "spec": p.object.Spec})
	}
	return out.String()
}
