package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
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
//	claims of volumes                              a label of their own (volumes.go)
//	a topology key of affinity or spread           zone!=
//	taints, cordons            spec.taints!=dedicated=gpu:NoSchedule
//
// In the model a label that is missing is empty. So an empty value of a node is
// written as two quotation marks, and a value may hold no |, which no API server
// lets through either.

// yes is the value of labels that are computed.
const yes = "yes"

const termsField = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"

// node is a node as it was read.
type node struct {
	name     string
	labels   map[string]string
	taints   []manifest.Taint // that keep pods away, sorted
	soft     []manifest.Taint // that say where pods had rather not be, sorted
	csi      string           // the name of its CSINode
	capacity manifest.Amounts
	derived  []cluster.Label // computed for the pods at hand
	groups   []cluster.Label // that constraints are about
}

// modelLabels are the node's labels in the model.
func (n *node) modelLabels() []cluster.Label {
	labels := make([]cluster.Label, 0, len(n.labels)+len(n.derived)+2)
	for key, v := range n.labels {
		labels = append(labels, cluster.Label{Key: key, Value: manifest.Value(v)})
	}
	labels = append(labels, cluster.Label{Key: manifest.NameKey, Value: n.name})
	if len(n.taints) > 0 {
		labels = append(labels, cluster.Label{Key: trace.Taints, Value: manifest.TaintsText(n.taints)})
	}
	for _, x := range n.soft {
		labels = append(labels, cluster.Label{Key: trace.SoftTaint + x.String(), Value: yes})
	}
	labels = append(labels, n.derived...)
	cluster.SortLabels(labels)
	return labels
}

// rules say which nodes a pod may go to. Pods with the same rules share them.
type rules struct {
	NodeSelector map[string]string     `json:"nodeSelector,omitempty"`
	Terms        []manifest.NodeTerm   `json:"terms,omitempty"` // nil: any node
	Tolerations  []manifest.Toleration `json:"tolerations,omitempty"`
	// Prefers are the nodes on which the pod would rather be.
	Prefers []manifest.WeightedNodeTerm `json:"prefers,omitempty"`
	// Keys are labels that the nodes must have, those over which pods are spread, say.
	Keys []string `json:"keys,omitempty"`
	// Claims are the labels of the nodes that the pod's claims of volumes let it go to.
	Claims []string `json:"claims,omitempty"`
	// Stays names the node that the pod cannot leave.
	Stays string `json:"stays,omitempty"`
	// Static names the node of a pod that the node itself has brought. Nothing
	// else matters to it.
	Static string `json:"static,omitempty"`

	requirements []cluster.Requirement
	preferences  []trace.Preference
	translated   bool
}

// rulesOf reads the rules of a pod, and says what is wrong with them.
func rulesOf(o *manifest.Object) (*rules, error) {
	if o.IsStatic() {
		return &rules{Static: o.Spec.NodeName}, nil
	}
	r := &rules{NodeSelector: o.Spec.NodeSelector, Tolerations: o.Spec.Tolerations, Prefers: o.Spec.Affinity.NodeAffinity.Preferred}
	for _, key := range slices.Sorted(maps.Keys(r.NodeSelector)) {
		if v := r.NodeSelector[key]; key == "" || !manifest.Plain(v) {
			return nil, manifest.Wrong("spec.nodeSelector."+key, manifest.WantPlain, v)
		}
	}
	required := o.Spec.Affinity.NodeAffinity.Required
	if required == nil {
		return r, nil
	}
	r.Terms = required.NodeSelectorTerms
	if len(r.Terms) == 0 {
		return nil, manifest.Wrong(termsField, "at least one term", "")
	}
	for i := range r.Terms {
		if err := r.Terms[i].Check(); err != nil {
			return nil, manifest.Within(fmt.Sprintf("%s[%d]", termsField, i), err)
		}
	}
	return r, nil
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
			if f.Operator == manifest.OpIn && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return r.Static
}

// translator writes rules as requirements on the labels of these nodes.
type translator struct {
	nodes     []node
	taintSets [][]manifest.Taint               // each once, without the empty one
	tolerated map[string][]cluster.Requirement // by tolerations
	soft      []manifest.Taint                 // PreferNoSchedule, of any node; each once, sorted
	known     map[string]bool                  // keys of labels computed so far
}

func newTranslator(nodes []node) *translator {
	t := &translator{nodes: nodes, tolerated: map[string][]cluster.Requirement{}, known: map[string]bool{}}
	seen := map[string]bool{"": true}
	for _, n := range nodes {
		if text := manifest.TaintsText(n.taints); !seen[text] {
			seen[text] = true
			t.taintSets = append(t.taintSets, n.taints)
		}
		t.soft = append(t.soft, n.soft...)
	}
	slices.SortFunc(t.soft, func(a, b manifest.Taint) int { return strings.Compare(a.String(), b.String()) })
	t.soft = slices.Compact(t.soft)
	return t
}

// translate returns the requirements that the rules come to.
func (t *translator) translate(r *rules) []cluster.Requirement {
	if r.Static != "" {
		return []cluster.Requirement{{Key: manifest.NameKey, Op: cluster.Equal, Value: r.Static}}
	}
	var all []cluster.Requirement
	for _, key := range slices.Sorted(maps.Keys(r.NodeSelector)) {
		all = append(all, cluster.Requirement{Key: key, Op: cluster.Equal, Value: manifest.Value(r.NodeSelector[key])})
	}
	switch {
	case len(r.Terms) == 1 && len(r.Terms[0].MatchExpressions)+len(r.Terms[0].MatchFields) > 0:
		all = append(all, t.term(&r.Terms[0])...)
	case r.Terms != nil:
		all = append(all, t.either(r.Terms))
	}
	for _, key := range r.Keys {
		all = append(all, cluster.Requirement{Key: key, Op: cluster.NotEqual})
	}
	for _, key := range r.Claims {
		all = append(all, cluster.Requirement{Key: key, Op: cluster.Equal, Value: yes})
	}
	if r.Stays != "" {
		all = append(all, cluster.Requirement{Key: manifest.NameKey, Op: cluster.Equal, Value: r.Stays})
	}
	return append(all, t.tolerating(r.Tolerations)...)
}

// term returns what meets all of a term.
func (t *translator) term(term *manifest.NodeTerm) (all []cluster.Requirement) {
	for _, e := range slices.Concat(term.MatchExpressions, term.MatchFields) {
		all = append(all, t.expression(&e)...)
	}
	return all
}

// expression returns what meets one expression.
func (t *translator) expression(e *manifest.Expression) []cluster.Requirement {
	require := func(op cluster.Op, value string) cluster.Requirement {
		return cluster.Requirement{Key: e.Key, Op: op, Value: value}
	}
	switch e.Operator {
	case manifest.OpIn:
		return []cluster.Requirement{require(cluster.Equal, values(e.Values))}
	case manifest.OpNotIn:
		return []cluster.Requirement{require(cluster.NotEqual, values(e.Values))}
	case manifest.OpExists:
		return []cluster.Requirement{require(cluster.NotEqual, "")}
	case manifest.OpDoesNotExist:
		return []cluster.Requirement{require(cluster.Equal, "")}
	}
	// The model takes what is no integer for 0. Where 0 would do, it is named.
	op, zero := cluster.Greater, manifest.Integer(e.Values[0]) < 0
	if e.Operator == manifest.OpLt {
		op, zero = cluster.Less, manifest.Integer(e.Values[0]) > 0
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
		if v, there := n.labels[key]; there && !manifest.IsInteger(v) {
			list = append(list, manifest.Value(v))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// either returns a requirement that is met where one of the terms is: on a label
// that is named after them, and that the nodes have which meet one.
func (t *translator) either(terms []manifest.NodeTerm) cluster.Requirement {
	texts := make([]string, len(terms))
	for i := range terms {
		texts[i] = "(" + terms[i].String() + ")"
	}
	key := strings.Join(texts, " or ")
	if !t.known[key] {
		t.known[key] = true
		for i := range t.nodes {
			n := &t.nodes[i]
			if slices.ContainsFunc(terms, func(term manifest.NodeTerm) bool { return term.Matches(n.name, n.labels) }) {
				n.derived = append(n.derived, cluster.Label{Key: key, Value: yes})
			}
		}
	}
	return cluster.Requirement{Key: key, Op: cluster.Equal, Value: yes}
}

// tolerating returns what keeps pods with these tolerations off tainted nodes.
// It names the sets of taints that do, or those that do not if they are fewer. Each single taint
// of these sets stands beside them as a set of its own, which says which of a set's taints are
// in the way: see trace.Untolerated.
func (t *translator) tolerating(tolerations []manifest.Toleration) []cluster.Requirement {
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
		if manifest.Tolerated(set, tolerations) {
			open = append(open, manifest.TaintsText(set))
		} else {
			refused = append(refused, manifest.TaintsText(set))
		}
		for i := range set {
			if single := set[i : i+1]; manifest.Tolerated(single, tolerations) {
				open = append(open, manifest.TaintsText(single))
			} else {
				refused = append(refused, manifest.TaintsText(single))
			}
		}
	}
	slices.Sort(refused)
	slices.Sort(open)
	refused, open = slices.Compact(refused), slices.Compact(open)
	var all []cluster.Requirement
	switch {
	case len(refused) == 0:
	case len(refused) <= len(open):
		all = []cluster.Requirement{{Key: trace.Taints, Op: cluster.NotEqual, Value: strings.Join(refused, "|")}}
	default:
		all = []cluster.Requirement{{Key: trace.Taints, Op: cluster.Equal, Value: strings.Join(open, "|")}}
	}
	t.tolerated[key] = all
	return all
}

// values are several values of a label, any of which will do.
func values(all []string) string {
	distinct := make([]string, len(all))
	for i, v := range all {
		distinct[i] = manifest.Value(v)
	}
	slices.Sort(distinct)
	return strings.Join(slices.Compact(distinct), "|")
}
