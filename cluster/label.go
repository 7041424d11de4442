package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Label is one key=value fact about a node.
type Label struct{ Key, Value string }

// Op compares a node's label with a requirement's value.
type Op uint8

// The comparisons of Google's task_constraints table, in its order. Less and
// Greater compare integers; a label that is missing counts as 0 for them, as
// the empty string for the others.
const (
	Equal Op = iota
	NotEqual
	Less
	Greater
)

// String prints the operator as it is written in requirements: = != < >.
func (o Op) String() string {
	return [...]string{Equal: "=", NotEqual: "!=", Less: "<", Greater: ">"}[o]
}

// Requirement is one condition of a task on a node's labels. A value may name
// several, with | between them: Equal is met by any of them, NotEqual by none.
type Requirement struct {
	Key   string
	Op    Op
	Value string
}

// String prints r as ParseRequirement reads it: "zone=a".
func (r Requirement) String() string { return r.Key + r.Op.String() + r.Value }

// Selector prints r as Kubernetes' label selectors have it, for people: "zone=a", "zone in (a, b)",
// "!zone", "zone notin (a, b)". A label that has to be there is its key alone.
func (r Requirement) Selector() string {
	several := strings.Contains(r.Value, "|")
	list := "(" + strings.ReplaceAll(r.Value, "|", ", ") + ")"
	switch {
	case strings.HasPrefix(r.Key, "("): // terms, of which a node meets one or does not
		return r.Key
	case r.Op == Equal && r.Value == "":
		return "!" + r.Key
	case r.Op == NotEqual && r.Value == "":
		return r.Key
	case r.Op == Equal && several:
		return r.Key + " in " + list
	case r.Op == NotEqual && several:
		return r.Key + " notin " + list
	}
	return r.String()
}

// ParseRequirement reads "key=value", "key!=value", "key<value" or "key>value".
func ParseRequirement(text string) (Requirement, error) {
	at := strings.IndexAny(text, "=!<>")
	if at <= 0 {
		return Requirement{}, fmt.Errorf("requirement %q: want key=value, key!=value, key<value or key>value", text)
	}
	r := Requirement{Key: text[:at]}
	rest := text[at:]
	switch {
	case strings.HasPrefix(rest, "!="):
		r.Op, r.Value = NotEqual, rest[2:]
	case rest[0] == '=':
		r.Op, r.Value = Equal, rest[1:]
	case rest[0] == '<':
		r.Op, r.Value = Less, rest[1:]
	case rest[0] == '>':
		r.Op, r.Value = Greater, rest[1:]
	default:
		return Requirement{}, fmt.Errorf("requirement %q: ! must be followed by =", text)
	}
	if r.Op == Less || r.Op == Greater {
		if _, err := strconv.ParseInt(r.Value, 10, 64); err != nil {
			return Requirement{}, fmt.Errorf("requirement %q: %s compares integers, %q is none", text, r.Op, r.Value)
		}
	}
	return r, nil
}

// Matches reports whether a node with these labels meets r. Labels are sorted
// by key.
func (r Requirement) Matches(labels []Label) bool {
	at, found := slices.BinarySearchFunc(labels, r.Key, func(l Label, key string) int { return cmp.Compare(l.Key, key) })
	have := ""
	if found {
		have = labels[at].Value
	}
	switch r.Op {
	case Equal:
		return among(have, r.Value)
	case NotEqual:
		return !among(have, r.Value)
	case Less:
		return integer(have) < integer(r.Value)
	case Greater:
		return integer(have) > integer(r.Value)
	}
	panic("cluster: unknown operator in requirement " + r.Key)
}

// among reports whether the value is one of several with | between them.
func among(value, several string) bool {
	for one := range strings.SplitSeq(several, "|") {
		if one == value {
			return true
		}
	}
	return false
}

// integer reads s as an integer; a label that is missing or no integer is 0,
// as in Google's traces.
func integer(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// SortLabels sorts labels by key, as Node.Labels must be.
func SortLabels(labels []Label) {
	slices.SortFunc(labels, func(a, b Label) int { return cmp.Compare(a.Key, b.Key) })
}
