package judge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	helpers "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
)

// This file holds internal/manifest, which reads manifests without Kubernetes' code, against
// that code: it accepts and refuses the same, and what it makes of it is the same.

// often checks a property of many drawings, also where few are asked for.
func often(t *testing.T, check func(*rapid.T)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		for range 25 {
			check(t)
		}
	})
}

// quantity draws the text of a quantity, or something like it.
func quantity(t *rapid.T, label string) string {
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label+" "+what) }
	digits := rapid.StringMatching(`[0-9]{0,4}|0{1,3}[0-9]|[0-9]{15,21}`)
	text := pick("sign", "", "", "", "", "+", "-") + digits.Draw(t, label+" digits")
	if rapid.Bool().Draw(t, label+" has a fraction") {
		text += "." + digits.Draw(t, label+" fraction")
	}
	text += pick("suffix", "", "", "m", "u", "n", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "K", "ki", "mi", "i", "e", "e3", "E2", "e-3", "e+1", "E-12", "e0", "e19", "e1.5", "e3k", "ee3", "µ", " ", "Zi", "Kii")
	if rapid.IntRange(0, 19).Draw(t, label+" is broken") == 0 {
		at := rapid.IntRange(0, len(text)).Draw(t, label+" at")
		text = text[:at] + pick("break", " ", "-", ".", "_", "0x", "é") + text[at:]
	}
	return text
}

// TestQuantitiesAsUpstream: one that is not negative is read as upstream reads it. Demand is
// rounded up, as it does; capacity down.
func TestQuantitiesAsUpstream(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "memory", PerUnit: 1 << 30}}
	read := 0
	often(t, func(t *rapid.T) {
		text := quantity(t, "quantity")
		var upstream resource.Quantity
		var all map[string]manifest.Quantity
		err := json.Unmarshal([]byte(`"`+text+`"`), &upstream)
		if err := json.Unmarshal([]byte(`{"x": "`+text+`"}`), &all); err != nil {
			t.Fatal(err)
		}
		got, wrong := manifest.ParseAll("f", all)
		if digitless := strings.TrimLeft(text, " +-."); digitless == "" || digitless[0] < '0' || digitless[0] > '9' {
			if wrong == nil {
				t.Fatalf("%q is taken for %+v", text, got["x"])
			}
			return // upstream takes some for nothing
		}
		if want := err == nil && upstream.Sign() >= 0; (wrong == nil) != want {
			t.Fatalf("%q: %v; upstream says %v, %v", text, wrong, upstream.String(), err)
		}
		if wrong != nil {
			return
		}
		read++
		for k, whole := range []int64{upstream.MilliValue(), upstream.Value()} {
			if upstream.CmpInt64(cluster.MaxQuantity) > 0 {
				whole = math.MaxInt64 // in thousandths upstream overflows
			}
			demand, ok := manifest.DemandOf(kinds[k], got["x"])
			if most := int64(cluster.MaxQuantity - 1000); ok != (whole <= most) || ok && demand != whole {
				t.Fatalf("%q of %s: demand %d, %t; upstream has %d", text, kinds[k].Name, demand, ok, whole)
			}
			capacity := manifest.CapacityOf(kinds[k], got["x"])
			back := resource.NewQuantity(capacity, resource.DecimalSI)
			if k == 0 {
				back = resource.NewMilliQuantity(capacity, resource.DecimalSI)
			}
			exact := back.Cmp(upstream) == 0
			if down := whole; ok && capacity != down && (capacity != down-1 || exact || back.Cmp(upstream) > 0) {
				t.Fatalf("%q of %s: capacity %d; upstream has %d, rounded up", text, kinds[k].Name, capacity, whole)
			}
		}
	})
	t.Logf("%d quantities were read", read)
}

// TestRequestsAsUpstream: what a pod asks for in all, with init containers, sidecars, requests of
// the pod as a whole and overhead, is what upstream counts.
func TestRequestsAsUpstream(t *testing.T) {
	names := []v1.ResourceName{"cpu", "memory", "hugepages-2Mi", "example.com/x"}
	often(t, func(t *rapid.T) {
		list := func(label string, most int) (v1.ResourceList, map[string]manifest.Quantity) {
			theirs, ours := v1.ResourceList{}, map[string]manifest.Quantity{}
			for _, name := range names[:most] {
				if rapid.Bool().Draw(t, label+" has "+string(name)) {
					text := rapid.SampledFrom([]string{"0", "1", "2", "100m", "1500u", "1n", "999999999n", "0.5", "1Ki", "3e2", "250M"}).Draw(t, label+" "+string(name))
					theirs[name], ours[string(name)] = resource.MustParse(text), manifest.Quantity(text)
				}
			}
			return theirs, ours
		}
		var pod v1.Pod
		var spec manifest.Spec
		container := func(label string) (theirs v1.Container, ours manifest.Container) {
			theirs.Name = label
			theirs.Resources.Requests, ours.Resources.Requests = list(label, len(names))
			return theirs, ours
		}
		for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
			theirs, ours := container(fmt.Sprint("c", i))
			pod.Spec.Containers, spec.Containers = append(pod.Spec.Containers, theirs), append(spec.Containers, ours)
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "init containers") {
			theirs, ours := container(fmt.Sprint("i", i))
			if rapid.Bool().Draw(t, fmt.Sprint("sidecar", i)) {
				always := v1.ContainerRestartPolicyAlways
				theirs.RestartPolicy, ours.RestartPolicy = &always, "Always"
			}
			pod.Spec.InitContainers, spec.InitContainers = append(pod.Spec.InitContainers, theirs), append(spec.InitContainers, ours)
		}
		pod.Spec.Overhead, spec.Overhead = list("overhead", 2)
		if rapid.Bool().Draw(t, "as a whole") {
			theirs, ours := list("pod", len(names))
			pod.Spec.Resources, spec.Resources.Requests = &v1.ResourceRequirements{Requests: theirs}, ours
		}
		want := helpers.PodRequests(&pod, helpers.PodResourcesOptions{})
		got, err := spec.Requests()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			kind, whole := cluster.Kind{Name: string(name), PerUnit: 1}, want[name]
			value := whole.Value()
			if name == "cpu" {
				value = whole.MilliValue()
			}
			if demand, ok := manifest.DemandOf(kind, got[string(name)]); !ok || demand != value {
				t.Fatalf("%s: %d, %t; upstream counts %d, of %s", name, demand, ok, value, whole.String())
			}
		}
	})
}

// Words of labels: alike, empty, and numbers in several forms.
func words() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "A", "", "1", "2", "10", "01", "9223372036854775807", "9223372036854775808", "a.b-c_d", "1.5"})
}

func drawLabels(t *rapid.T, label string) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom([]string{"x", "y", "example.com/z"}), words(), 0, 3).Draw(t, label)
}

// expression draws an expression, right or not.
func expression(t *rapid.T, label string, keys ...string) manifest.Expression {
	return manifest.Expression{
		Key:      rapid.SampledFrom(keys).Draw(t, label+" key"),
		Operator: rapid.SampledFrom([]string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "in", ""}).Draw(t, label+" operator"),
		Values:   rapid.SliceOfN(words(), 0, 3).Draw(t, label+" values"),
	}
}

func expressions(t *rapid.T, label string, keys ...string) (list []manifest.Expression) {
	for i := range rapid.IntRange(0, 2).Draw(t, label+" count") {
		list = append(list, expression(t, fmt.Sprint(label, i), keys...))
	}
	return list
}

// TestNodeTermsAsUpstream: a term of a node selector is refused where upstream refuses it, and
// else met by the same nodes.
func TestNodeTermsAsUpstream(t *testing.T) {
	seen := map[string]int{}
	often(t, func(t *rapid.T) {
		term := manifest.NodeTerm{MatchExpressions: expressions(t, "label", "x", "y", "example.com/z"), MatchFields: expressions(t, "field", manifest.NameKey)}
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), Labels: drawLabels(t, "labels")}}
		theirs := v1.NodeSelectorTerm{}
		requirement := func(e manifest.Expression) v1.NodeSelectorRequirement {
			return v1.NodeSelectorRequirement{Key: e.Key, Operator: v1.NodeSelectorOperator(e.Operator), Values: e.Values}
		}
		for _, e := range term.MatchExpressions {
			theirs.MatchExpressions = append(theirs.MatchExpressions, requirement(e))
		}
		for _, e := range term.MatchFields {
			theirs.MatchFields = append(theirs.MatchFields, requirement(e))
		}
		selector, err := nodeaffinity.NewNodeSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{theirs}})
		wrong := term.Check()
		if (wrong == nil) != (err == nil) {
			t.Fatalf("%+v: %v; upstream says %v", term, wrong, err)
		}
		if err != nil {
			seen["refused"]++
			return
		}
		got, want := term.Matches(node.Name, node.Labels), selector.Match(node)
		if got != want {
			t.Fatalf("%+v of %s %v: %t; upstream says %t", term, node.Name, node.Labels, got, want)
		}
		seen[fmt.Sprint(want)]++
	})
	enough(t, seen, "refused", "true", "false")
}

// TestLabelSelectorsAsUpstream: the same of selectors of pods.
func TestLabelSelectorsAsUpstream(t *testing.T) {
	seen := map[string]int{}
	often(t, func(t *rapid.T) {
		ours := manifest.LabelSelector{MatchLabels: drawLabels(t, "match"), MatchExpressions: expressions(t, "expression", "x", "y", "example.com/z")}
		if rapid.Bool().Draw(t, "expressions alone") {
			ours.MatchLabels = nil
		}
		theirs := metav1.LabelSelector{MatchLabels: ours.MatchLabels}
		for _, e := range ours.MatchExpressions {
			theirs.MatchExpressions = append(theirs.MatchExpressions, metav1.LabelSelectorRequirement{Key: e.Key, Operator: metav1.LabelSelectorOperator(e.Operator), Values: e.Values})
		}
		selector, err := metav1.LabelSelectorAsSelector(&theirs)
		wrong := ours.Check()
		if (wrong == nil) != (err == nil) {
			t.Fatalf("%+v: %v; upstream says %v", ours, wrong, err)
		}
		if err != nil {
			seen["refused"]++
			return
		}
		of := drawLabels(t, "labels")
		got, want := ours.Matches(of), selector.Matches(labels.Set(of))
		if got != want {
			t.Fatalf("%+v of %v: %t; upstream says %t", ours, of, got, want)
		}
		seen[fmt.Sprint(want)]++
	})
	enough(t, seen, "refused", "true", "false")
}

// TestTolerationsAsUpstream: the same taints are tolerated, comparisons of numbers included.
func TestTolerationsAsUpstream(t *testing.T) {
	seen := map[string]int{}
	numbers := rapid.SampledFrom([]string{"", "a", "1", "2", "-1", "-2", "0", "-0", "+1", "01", "10", "1.5", " 1", "9223372036854775807", "-9223372036854775808", "9223372036854775808"})
	often(t, func(t *rapid.T) {
		pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
		taint := manifest.Taint{Key: pick("key", "x", "y"), Value: numbers.Draw(t, "value"), Effect: pick("effect", "NoSchedule", "NoExecute")}
		by := manifest.Toleration{Key: pick("of key", "x", "x", "y", ""), Operator: pick("operator", "", "Equal", "Exists", "Lt", "Gt", "In"), Value: numbers.Draw(t, "of value"), Effect: pick("of effect", "", "NoSchedule", "NoExecute")}
		theirs := v1.Toleration{Key: by.Key, Operator: v1.TolerationOperator(by.Operator), Value: by.Value, Effect: v1.TaintEffect(by.Effect)}
		want := theirs.ToleratesTaint(klog.Logger{}, &v1.Taint{Key: taint.Key, Value: taint.Value, Effect: v1.TaintEffect(taint.Effect)}, true)
		if got := manifest.Tolerated([]manifest.Taint{taint}, []manifest.Toleration{by}); got != want {
			t.Fatalf("%+v by %+v: %t; upstream says %t", taint, by, got, want)
		}
		seen[fmt.Sprint(want)]++
	})
	enough(t, seen, "true", "false")
}

// enough demands that each answer was seen.
func enough(t *testing.T, seen map[string]int, answers ...string) {
	t.Helper()
	for _, answer := range answers {
		if seen[answer] < 5 {
			t.Errorf("seen were %v, too few are %s", seen, answer)
		}
	}
}

// TestPortionsAsUpstream: a number or a percentage of a budget comes to as many pods as upstream says, rounded up, and what
// upstream does not take is refused.
func TestPortionsAsUpstream(t *testing.T) {
	seen := map[string]int{}
	often(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"0", "1", "7", "100", `"0%"`, `"1%"`, `"25%"`, `"33%"`, `"50%"`, `"99%"`, `"100%"`, `"150%"`, `"7"`, `"%"`, `"x%"`, `""`}).Draw(t, "text")
		all := int64(rapid.IntRange(0, 40).Draw(t, "of"))
		var theirs intstr.IntOrString
		var ours manifest.Portion
		if err := errors.Join(json.Unmarshal([]byte(text), &theirs), json.Unmarshal([]byte(text), &ours)); err != nil {
			t.Fatal(err)
		}
		want, err := intstr.GetScaledValueFromIntOrPercent(&theirs, int(all), true)
		wrong := ours.Check("x")
		if (wrong == nil) != (err == nil) {
			t.Fatalf("%s: %v; upstream says %v", text, wrong, err)
		}
		if err != nil {
			seen["refused"]++
			return
		}
		if got := ours.Of(all); got != int64(want) {
			t.Fatalf("%s of %d: %d; upstream says %d", text, all, got, want)
		}
		seen["read"]++
	})
	enough(t, seen, "refused", "read")
}
