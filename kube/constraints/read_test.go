package constraints

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

// objects reads objects as people write them, the first the oldest: plc NAMESPACE/NAME, cplc NAME or group NAME, and the spec behind it.
func objects(t *testing.T, lines ...string) *Objects {
	t.Helper()
	all := &Objects{RackLabel: "example.com/rack"}
	for i, line := range lines {
		words := strings.SplitN(line, " ", 3)
		meta := metav1.ObjectMeta{Name: words[1], CreationTimestamp: metav1.Unix(int64(1e9+60*i), 0)}
		into := map[string]any{}
		switch words[0] {
		case "plc":
			c := &v1alpha1.PlacementConstraint{ObjectMeta: meta}
			c.Namespace, c.Name, _ = strings.Cut(words[1], "/")
			all.Namespaced, into["spec"] = append(all.Namespaced, c), &c.Spec
		case "cplc":
			c := &v1alpha1.ClusterPlacementConstraint{ObjectMeta: meta}
			all.Cluster, into["spec"] = append(all.Cluster, c), &c.Spec
		case "group":
			g := &v1alpha1.NodeGroup{ObjectMeta: meta}
			all.Groups, into["spec"] = append(all.Groups, g), &g.Spec
		default:
			t.Fatalf("%q is of no kind", line)
		}
		if err := yaml.UnmarshalStrict([]byte(words[2]), into["spec"]); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return all
}

// text is a spec of a text.
func text(of string) string { return fmt.Sprintf("{constraint: {text: %q}}", of) }

// inWords is a constraint with the texts of its selectors.
func inWords(c *Constraint) string {
	var alternatives []string
	for _, bounds := range c.Any {
		var all []string
		for i := range bounds {
			b := &bounds[i]
			who := func(p *Pods) string {
				if p == nil {
					return "every set"
				}
				if p.Namespace != "" {
					return p.Namespace + "/" + p.Labels.String()
				}
				return "[" + p.Namespaces.String() + "]/" + p.Labels.String()
			}
			most := fmt.Sprint(b.Max)
			if b.Max == cluster.Unbounded {
				most = "inf"
			}
			all = append(all, fmt.Sprintf("%s has %d to %s of %s by %s%s counted %t", who(b.Subject), b.Min, most, who(&b.Target), b.Group.TopologyKey, b.Group.NodeGroup, b.Counted))
		}
		alternatives = append(alternatives, strings.Join(all, " and "))
	}
	return fmt.Sprintf("%s; hard %t weight %d", strings.Join(alternatives, " or "), c.Hard, c.Weight)
}

// A constraint says the same as a text and in fields, and what is left out has its default.
func TestReadsTextsAndFields(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{text("{app=web, {app=cache & tier, 1, inf}, zone}: hard"), "shop/app=web has 1 to inf of shop/app=cache,tier by topology.kubernetes.io/zone counted false; hard true weight 0"},
		{
			`{constraint: {hard: true, anyOf: [{allOf: [{subject: {matchLabels: {app: web}}, target: {matchLabels: {app: cache}, matchExpressions: [{key: tier, operator: Exists}]}, min: 1, topologyKey: topology.kubernetes.io/zone}]}]}}`,
			"shop/app=web has 1 to inf of shop/app=cache,tier by topology.kubernetes.io/zone counted false; hard true weight 0",
		},
		{text("{*, {app=web, 2, 3}, rack}: 2.5"), "every set has 2 to 3 of shop/app=web by example.com/rack counted false; hard false weight 2500"},
		{
			`{constraint: {weight: 7, anyOf: [{allOf: [{everySet: true, target: {}, max: 3, nodeGroup: rows}]}, {allOf: [{subject: {}, target: {}, max: 0, topologyKey: kubernetes.io/hostname, counted: true}]}]}}`,
			"every set has 0 to 3 of shop/ by rows counted false or shop/ has 0 to 0 of shop/ by kubernetes.io/hostname counted true; hard false weight 7000",
		},
		{text("{app=web, {app=web, 0, 2}, node, counted} & {app=web, {app=web, 0, 9}, group:rows}"), "shop/app=web has 0 to 2 of shop/app=web by kubernetes.io/hostname counted true and shop/app=web has 0 to 9 of shop/app=web by rows counted false; hard false weight 1000"},
		{text("{app=web, {app=web, 0, 2}, example.com/row}"), "shop/app=web has 0 to 2 of shop/app=web by example.com/row counted false; hard false weight 1000"},
	} {
		set, verdicts := Read(objects(t, "group rows {sets: [{name: a, selector: {}}]}", "plc shop/c "+c.spec))
		if len(set.Constraints) != 1 {
			t.Errorf("%s: %+v", c.spec, verdicts)
			continue
		}
		if got := inWords(&set.Constraints[0]); got != c.want {
			t.Errorf("%s is read as\n%s, want\n%s", c.spec, got, c.want)
		}
	}
	set, _ := Read(objects(t, `cplc c {subjectNamespaces: {matchLabels: {team: shop}}, constraint: {text: "{app=web, {app=web, 0, 2}, region}"}}`))
	if got, want := inWords(&set.Constraints[0]), "[team=shop]/app=web has 0 to 2 of []/app=web by topology.kubernetes.io/region counted false; hard false weight 1000"; got != want {
		t.Errorf("the cluster's is read as %s, want %s", got, want)
	}
}

// verdictOf is what is said of the object of that name.
func verdictOf(t *testing.T, verdicts []Verdict, name string) *Verdict {
	t.Helper()
	for i := range verdicts {
		if verdicts[i].Object.GetName() == name {
			return &verdicts[i]
		}
	}
	t.Fatalf("nothing is said of %s", name)
	return nil
}

// What the schema lets in and means nothing does not count, and the message says where it is wrong.
func TestSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ line, reason, words string }{
		{"plc shop/c " + text("{app=web, {app=web, 0 0}, node}"), "Invalid", `spec.constraint.text: column 23: expected "," and the most, a number or inf, found 0: both the least and`},
		{"plc shop/c " + text("{a b=1, {app=web, 0, 0}, node}"), "Invalid", "spec.constraint.text: "},
		{"plc shop/c " + text(`{"a b=1", {app=web, 0, 0}, node}`), "Invalid", `the tag "a b=1" is no label, as key=value or key: `},
		{"plc shop/c " + text("{app=web, {app=web, 0, 0}, nod}"), "Invalid", `"nod" is no group of nodes: did you mean node?; or the key of a label, with its prefix, as example.com/row, or a NodeGroup as group:NAME`},
		{"plc shop/c " + text("{app=web, {app=web, 0, 0}, group:cols}"), "NoNodeGroup", "No NodeGroup cols is accepted; it does not count until one is."},
		{"plc shop/c " + text(strings.Repeat("{a, {b, 1, inf}, node} | ", 8)+"{a, {b, 1, inf}, node}"), "Invalid", "it has 9 alternatives, and at most 8 are read"},
		{"plc shop/c " + text(strings.Repeat("{a, {b, 1, inf}, node} & ", 8)+"{a, {b, 1, inf}, node}"), "Invalid", "an alternative has 9 bounds, and at most 8 are read"},
		{"plc shop/c " + text("{app=web, {app=web, 0, 0}, node}: arriving"), "Invalid", "arriving"},
		{"plc shop/c {constraint: {anyOf: [{allOf: [{subject: {matchExpressions: [{key: a, operator: Within}]}, target: {}, max: 0, topologyKey: a/b}]}]}}", "Invalid", "spec.constraint.anyOf[0].allOf[0].subject: "},
		{"plc shop/c {constraint: {anyOf: [{allOf: [{subject: {}, target: {matchLabels: {'a b': c}}, max: 0, topologyKey: a/b}]}]}}", "Invalid", "spec.constraint.anyOf[0].allOf[0].target: "},
		{"plc shop/c {constraint: {anyOf: [{allOf: [{subject: {}, target: {}, max: 0, topologyKey: a b}]}]}}", "Invalid", `allOf[0].topologyKey: "a b" is no key of a label: `},
		{"cplc c {targetNamespaces: {matchExpressions: [{key: a, operator: In}]}, constraint: {text: '{a, {a, 0, 0}, node}'}}", "Invalid", "spec.targetNamespaces: "},
		{"group c {sets: [{name: a, selector: {}}, {name: b, selector: {matchExpressions: [{key: a, operator: In}]}}]}", "Invalid", "spec.sets[1].selector: "},
	} {
		set, verdicts := Read(objects(t, c.line))
		if v := verdictOf(t, verdicts, "c"); v.Accepted() || v.Reason != c.reason || !strings.Contains(v.Message, c.words) || strings.Contains(v.Message, "\n") {
			t.Errorf("%s: %s: %s, want %s: %s", c.line, v.Reason, v.Message, c.reason, c.words)
		}
		if len(set.Constraints)+len(set.Groups) != 0 {
			t.Errorf("%s counts", c.line)
		}
	}
}

// Constraints that cannot hold together say so, and name each other within a namespace; of what is elsewhere there is but a number.
func TestContradictions(t *testing.T) {
	_, verdicts := Read(objects(t,
		"plc shop/near "+text("{app=web, {app=cache, 1, inf}, node}: hard"),
		"plc shop/away "+text("{app=web & tier=front, {app=cache, 0, 0}, node}: hard"),
		"plc red/near-too "+text("{app=web, {app=cache, 1, inf}, node}: hard"),
		"cplc none "+text("{app=web, {app, 0, 0}, zone}"),
		"plc shop/alone "+text("{app=db, {app=db, 0, 0}, node, counted}"),
		"plc shop/fine "+text("{app=api, {app=api, 0, 1}, node}"),
	))
	for name, want := range map[string]string{
		"near":     "It cannot hold together with away for pods with app=web,tier=front: at least 1 of app=cache are wanted and at most 0 of app=cache allowed. It cannot hold together with a constraint that is not of this namespace.",
		"away":     "It cannot hold together with near for pods with app=web,tier=front: at least 1 of app=cache are wanted and at most 0 of app=cache allowed.",
		"near-too": "It cannot hold together with a constraint that is not of this namespace.",
		"none":     "It cannot hold together with 2 constraints that are not of the cluster.",
		"alone":    "It cannot hold for pods with app=db: each counts itself, and none is allowed.",
		"fine":     "",
	} {
		if got := verdictOf(t, verdicts, name).Contradicts; got != want {
			t.Errorf("of %s it is said that %q, want %q", name, got, want)
		}
	}
	for _, v := range verdicts {
		for _, other := range []string{"near-too", "ClusterP", "red", "{}"} {
			if v.Object.GetNamespace() == "shop" && strings.Contains(v.Contradicts, other) {
				t.Errorf("shop learns of %s: %s", other, v.Contradicts)
			}
		}
	}
}

// A namespace names a few keys of nodes; those that it has named already may be named again.
func TestTooManyKeysOfNodes(t *testing.T) {
	var lines []string
	for i := range mostKeys + 2 {
		lines = append(lines, fmt.Sprintf("plc shop/c%d ", i)+text(fmt.Sprintf("{app=web, {app=web, 0, 1}, example.com/key%d}", i%(mostKeys+1))))
	}
	set, verdicts := Read(objects(t, append(lines, "cplc all "+text("{app=web, {app=web, 0, 1}, example.com/another}"))...))
	if v := verdictOf(t, verdicts, fmt.Sprintf("c%d", mostKeys)); v.Reason != v1alpha1.ReasonTooMany || len(set.Constraints) != mostKeys+2 {
		t.Errorf("%s: %s; %d count, want %d", v.Reason, v.Message, len(set.Constraints), mostKeys+2)
	}
}

// Of too many of a namespace the younger do not count; those of other namespaces do.
func TestTooManyOfANamespace(t *testing.T) {
	var lines []string
	for i := range mostOfNamespace + 2 {
		lines = append(lines, fmt.Sprintf("plc shop/c%03d ", i)+text("{app=web, {app=web, 0, 1}, node}"))
	}
	o := objects(t, append(lines, "plc red/late "+text("{app=web, {app=web, 0, 1}, node}"))...)
	o.Namespaced[0].CreationTimestamp = metav1.NewTime(time.Unix(2e9, 0)) // the first is the youngest
	set, verdicts := Read(o)
	if len(set.Constraints) != mostOfNamespace+1 {
		t.Errorf("%d constraints count, want %d", len(set.Constraints), mostOfNamespace+1)
	}
	for name, accepted := range map[string]bool{"c000": false, "c001": true, "c064": true, "c065": false, "late": true} {
		if v := verdictOf(t, verdicts, name); v.Accepted() != accepted {
			t.Errorf("%s is accepted: %t (%s: %s)", name, v.Accepted(), v.Reason, v.Message)
		}
	}
}
