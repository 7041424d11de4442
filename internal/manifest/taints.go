package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// This file is what keeps pods off nodes, and what of it they tolerate.

// TaintsOf returns the taints that keep pods away, with those that a cordon and a
// node that is not ready stand for, and those that say where pods had rather not be.
func TaintsOf(o *Object) (taints, soft []Taint, err error) {
	add := func(key string) {
		t := Taint{Key: key, Effect: "NoSchedule"}
		if !slices.Contains(taints, t) {
			taints = append(taints, t)
		}
	}
	for i, t := range o.Spec.Taints {
		at := fmt.Sprintf("spec.taints[%d]", i)
		switch {
		case t.Key == "" || strings.ContainsAny(t.Key+t.Value, "|,"):
			return nil, nil, FieldError{at, "a key and a value without | and comma", t.String()}
		case t.Effect == "NoSchedule" || t.Effect == "NoExecute":
			taints = append(taints, t)
		case t.Effect == "PreferNoSchedule":
			soft = append(soft, t)
		default:
			return nil, nil, FieldError{at + ".effect", "NoSchedule, PreferNoSchedule or NoExecute", t.Effect}
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
	for _, list := range [][]Taint{taints, soft} {
		slices.SortFunc(list, func(a, b Taint) int { return cmp.Compare(a.String(), b.String()) })
	}
	return slices.Compact(taints), slices.Compact(soft), nil
}

// Cordoned are the taints with that of a cordon, in their order.
func Cordoned(taints []Taint) []Taint {
	cordon := Taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"}
	if slices.Contains(taints, cordon) {
		return taints
	}
	taints = append(slices.Clone(taints), cordon)
	slices.SortFunc(taints, func(a, b Taint) int { return cmp.Compare(a.String(), b.String()) })
	return taints
}

// String is the taint as kubectl prints it.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}

// TaintsText is the taints as kubectl prints them, with commas.
func TaintsText(taints []Taint) string {
	texts := make([]string, len(taints))
	for i, t := range taints {
		texts[i] = t.String()
	}
	return strings.Join(texts, ",")
}

// Tolerated reports whether none of the taints is an obstacle.
func Tolerated(taints []Taint, by []Toleration) bool {
	for _, x := range taints {
		if !slices.ContainsFunc(by, func(t Toleration) bool { return t.tolerates(x) }) {
			return false
		}
	}
	return true
}

// tolerates reports whether a taint is no obstacle to pods with the toleration.
func (t *Toleration) tolerates(x Taint) bool {
	if t.Effect != "" && t.Effect != x.Effect || t.Key != "" && t.Key != x.Key {
		return false
	}
	switch t.Operator {
	case "", "Equal":
		return t.Value == x.Value
	case OpExists:
		return true
	case OpLt, OpGt:
		if !isCanonical(t.Value) || !isCanonical(x.Value) {
			return false
		}
		if t.Operator == OpLt {
			return Integer(x.Value) < Integer(t.Value)
		}
		return Integer(x.Value) > Integer(t.Value)
	}
	return false
}

// isCanonical reports whether the text is an integer as it would be printed:
// tolerations compare no others.
func isCanonical(text string) bool {
	return IsInteger(text) && strconv.FormatInt(Integer(text), 10) == text
}
