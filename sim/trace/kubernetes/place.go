package kubernetes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file turns what keeps a pod off a node into labels and requirements of
// the model, which mean the same on the nodes at hand:
//
//	nodeSelector, one term     zone in (a,b)       zone=a|b
//	                           zone not in (a)     zone!=a
//	                           gpu exists          gpu!=
//	                           gpu does not exist  gpu=
//	                           cores over 4        cores>4, and what else is needed
//	several terms              a label of their own, computed for each node
//	metadata.name, static pods                     metadata.name=n1
//	taints, cordons            spec.taints!=dedicated=gpu:NoSchedule
//
// In the model a label that is missing is empty. So an empty value of a node is
// written as two quotation marks, and a value may hold no |, which no API server
// lets through either.

// Labels that stand for fields of the node. No node may have them.
const (
	nameKey   = "metadata.name"
	taintsKey = "spec.taints"
)

const termsField = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"

const (
	emptyValue = `""`
	wantPlain  = "a label's value, which has no | and no quotation mark"
	yes        = "yes"
)

func plain(value string) bool { return !strings.ContainsAny(value, `|"`) }

func value(v string) string {
	if v == "" {
		return emptyValue
	}
	return v
}

func values(all []string) string {
	distinct := make([]string, len(all))
	for i, v := range all {
		distinct[i] = value(v)
	}
	slices.Sort(distinct)
	return strings.Join(slices.Compact(distinct), "|")
}

// node is a node as it was read.
type node struct {
	name     string
	labels   map[string]string
	taints   []taint // that keep pods away, sorted
	capacity amounts
	derived  []cluster.Label // computed for the pods at hand
}

// hard returns the taints that keep pods away, with those that a cordon and a
// node that is not ready stand for, and how many others there are.
func hard(o *object) (taints []taint, soft int, err error) {
	add := func(key string) {
		t := taint{Key: key, Effect: "NoSchedule"}
		if !slices.Contains(taints, t) {
			taints = append(taints, t)
		}
	}
	for i, t := range o.Spec.Taints {
		at := fmt.Sprintf("spec.taints[%d]", i)
		switch {
		case t.Key == "" || strings.ContainsAny(t.Key+t.Value, "|,"):
			return nil, 0, fieldError{at, "a key and a value without | and comma", t.String()}
		case t.Effect == "NoSchedule" || t.Effect == "NoExecute":
			taints = append(taints, t)
		case t.Effect == "PreferNoSchedule":
			soft++
		default:
			return nil, 0, fieldError{at + ".effect", "NoSchedule, PreferNoSchedule or NoExecute", t.Effect}
		}
	}
	if o.Spec.Unschedulable {
		add("node.kubernetes.io/unschedulable")
	}
	for _, c := range o.Status.Conditions {
		switch {
		case c.Type != "Ready":
		case c.Status == "False":
			add("node.kubernetes.io/not-ready")
		case c.Status == "Unknown":
			add("node.kubernetes.io/unreachable")
		}
	}
	slices.SortFunc(taints, func(a, b taint) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(taints), soft, nil
}

// String is the taint as kubectl prints it.
func (t taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}

func taintsText(taints []taint) string {
	texts := make([]string, len(taints))
	for i, t := range taints {
		texts[i] = t.String()
	}
	return strings.Join(texts, ",")
}

// modelLabels are the node's labels in the model.
func (n *node) modelLabels() []cluster.Label {
	labels := make([]cluster.Label, 0, len(n.labels)+len(n.derived)+2)
	for key, v := range n.labels {
		labels = append(labels, cluster.Label{Key: key, Value: value(v)})
	}
	labels = append(labels, cluster.Label{Key: nameKey, Value: n.name})
	if len(n.taints) > 0 {
		labels = append(labels, cluster.Label{Key: taintsKey, Value: taintsText(n.taints)})
	}
	labels = append(labels, n.derived...)
	cluster.SortLabels(labels)
	return labels
}

// rules say which nodes a pod may go to. Pods with the same rules share them.
type rules struct {
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	Terms        []nodeTerm        `json:"terms,omitempty"` // nil: any node
	Tolerations  []toleration      `json:"tolerations,omitempty"`
	// Static names the node of a pod that the node itself has brought. Nothing
	// else matters to it.
	Static string `json:"static,omitempty"`

	requirements []cluster.Requirement
	translated   bool
}

// rulesOf reads the rules of a pod, and says what is wrong with them.
func rulesOf(o *object) (*rules, error) {
	if o.isStatic() {
		return &rules{Static: o.Spec.NodeName}, nil
	}
	r := &rules{NodeSelector: o.Spec.NodeSelector, Tolerations: o.Spec.Tolerations}
	for _, key := range slices.Sorted(maps.Keys(r.NodeSelector)) {
		if v := r.NodeSelector[key]; key == "" || !plain(v) {
			return nil, fieldError{"spec.nodeSelector." + key, wantPlain, v}
		}
	}
	required := o.Spec.Affinity.NodeAffinity.Required
	if required == nil {
		return r, nil
	}
	r.Terms = required.NodeSelectorTerms
	if len(r.Terms) == 0 {
		return nil, fieldError{termsField, "at least one term", ""}
	}
	for i := range r.Terms {
		if err := r.Terms[i].check(); err != nil {
			return nil, within(fmt.Sprintf("%s[%d]", termsField, i), err)
		}
	}
	return r, nil
}

// isStatic reports whether the pod comes from a file of its node, as those of
// many control planes do.
func (o *object) isStatic() bool {
	return o.Spec.NodeName != "" && slices.ContainsFunc(o.Metadata.OwnerReferences, func(w owner) bool { return w.Kind == "Node" })
}

// key is the same for rules that mean the same.
func (r *rules) key() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic("kubernetes: rules are not JSON: " + err.Error())
	}
	return string(text)
}

// pinned names the one node that the pods may go to, as a DaemonSet's may;
// empty if there are others.
func (r *rules) pinned() string {
	if len(r.Terms) == 1 {
		for _, f := range r.Terms[0].MatchFields {
			if f.Operator == opIn && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return r.Static
}

// translator writes rules as requirements on the labels of these nodes.
type translator struct {
	nodes     []node
	taintSets [][]taint                        // each once, without the empty one
	tolerated map[string][]cluster.Requirement // by tolerations
	known     map[string]bool                  // keys of labels computed so far
}

func newTranslator(nodes []node) *translator {
	t := &translator{nodes: nodes, tolerated: map[string][]cluster.Requirement{}, known: map[string]bool{}}
	seen := map[string]bool{"": true}
	for _, n := range nodes {
		if text := taintsText(n.taints); !seen[text] {
			seen[text] = true
			t.taintSets = append(t.taintSets, n.taints)
		}
	}
	return t
}

// translate returns the requirements that the rules come to.
func (t *translator) translate(r *rules) []cluster.Requirement {
	if r.Static != "" {
		return []cluster.Requirement{{Key: nameKey, Op: cluster.Equal, Value: r.Static}}
	}
	var all []cluster.Requirement
	for _, key := range slices.Sorted(maps.Keys(r.NodeSelector)) {
		all = append(all, cluster.Requirement{Key: key, Op: cluster.Equal, Value: value(r.NodeSelector[key])})
	}
	switch {
	case len(r.Terms) == 1 && len(r.Terms[0].MatchExpressions)+len(r.Terms[0].MatchFields) > 0:
		for _, e := range slices.Concat(r.Terms[0].MatchExpressions, r.Terms[0].MatchFields) {
			all = append(all, t.expression(&e)...)
		}
	case r.Terms != nil:
		all = append(all, t.either(r.Terms))
	}
	return append(all, t.tolerating(r.Tolerations)...)
}

// expression returns what meets one expression.
func (t *translator) expression(e *expression) []cluster.Requirement {
	require := func(op cluster.Op, value string) cluster.Requirement {
		return cluster.Requirement{Key: e.Key, Op: op, Value: value}
	}
	switch e.Operator {
	case opIn:
		return []cluster.Requirement{require(cluster.Equal, values(e.Values))}
	case opNotIn:
		return []cluster.Requirement{require(cluster.NotEqual, values(e.Values))}
	case opExists:
		return []cluster.Requirement{require(cluster.NotEqual, "")}
	case opDoesNotExist:
		return []cluster.Requirement{require(cluster.Equal, "")}
	}
	// The model takes what is no integer for 0. Where 0 would do, it is named.
	op, zero := cluster.Greater, integer(e.Values[0]) < 0
	if e.Operator == opLt {
		op, zero = cluster.Less, integer(e.Values[0]) > 0
	}
	all := []cluster.Requirement{require(op, e.Values[0])}
	if zero {
		all = append(all, require(cluster.NotEqual, strings.Join(t.notIntegers(e.Key), "|")))
	}
	return all
}

// notIntegers lists what nodes have as the label without being an integer. The
// first is what it is where the label is missing.
func (t *translator) notIntegers(key string) []string {
	list := []string{""}
	for _, n := range t.nodes {
		if v, there := n.labels[key]; there && !isInteger(v) {
			list = append(list, value(v))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// either returns a requirement that is met where one of the terms is: on a label
// that is named after them, and that the nodes have which meet one.
func (t *translator) either(terms []nodeTerm) cluster.Requirement {
	texts := make([]string, len(terms))
	for i := range terms {
		texts[i] = "(" + terms[i].String() + ")"
	}
	key := strings.Join(texts, " or ")
	if !t.known[key] {
		t.known[key] = true
		for i := range t.nodes {
			n := &t.nodes[i]
			if slices.ContainsFunc(terms, func(term nodeTerm) bool { return term.matches(n.name, n.labels) }) {
				n.derived = append(n.derived, cluster.Label{Key: key, Value: yes})
			}
		}
	}
	return cluster.Requirement{Key: key, Op: cluster.Equal, Value: yes}
}

// String is the term as people say it, without the signs that part a
// requirement from its value.
func (t *nodeTerm) String() string {
	var parts []string
	for _, e := range slices.Concat(t.MatchExpressions, t.MatchFields) {
		parts = append(parts, e.String())
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, " and ")
}

func (e *expression) String() string {
	list := make([]string, len(e.Values))
	for i, v := range e.Values {
		list[i] = value(v)
	}
	text := strings.Join(list, ",")
	switch e.Operator {
	case opIn:
		return e.Key + " in " + text
	case opNotIn:
		return e.Key + " not in " + text
	case opExists:
		return e.Key + " exists"
	case opDoesNotExist:
		return e.Key + " does not exist"
	case opGt:
		return e.Key + " over " + text
	}
	return e.Key + " below " + text
}

// tolerating returns what keeps pods with these tolerations off tainted nodes.
// It names the sets of taints that do, or those that do not if they are fewer.
func (t *translator) tolerating(tolerations []toleration) []cluster.Requirement {
	if len(t.taintSets) == 0 {
		return nil
	}
	key := fmt.Sprintf("%q", tolerations)
	if known, ok := t.tolerated[key]; ok {
		return known
	}
	var refused []string
	open := []string{""}
	for _, set := range t.taintSets {
		if tolerated(set, tolerations) {
			open = append(open, taintsText(set))
		} else {
			refused = append(refused, taintsText(set))
		}
	}
	slices.Sort(refused)
	slices.Sort(open)
	var all []cluster.Requirement
	switch {
	case len(refused) == 0:
	case len(refused) <= len(open):
		all = []cluster.Requirement{{Key: taintsKey, Op: cluster.NotEqual, Value: strings.Join(refused, "|")}}
	default:
		all = []cluster.Requirement{{Key: taintsKey, Op: cluster.Equal, Value: strings.Join(open, "|")}}
	}
	t.tolerated[key] = all
	return all
}

func tolerated(taints []taint, by []toleration) bool {
	for _, x := range taints {
		if !slices.ContainsFunc(by, func(t toleration) bool { return t.tolerates(x) }) {
			return false
		}
	}
	return true
}
