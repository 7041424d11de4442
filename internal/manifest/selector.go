package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// This file evaluates selectors on labels, with the meaning that they have in
// Kubernetes: NotIn is met where the label is missing; Gt and Lt are met where
// it is there and an integer.

// NameKey is the field of a node that terms may ask for.
const NameKey = "metadata.name"

// The operators of expressions.
const (
	OpIn           = "In"
	OpNotIn        = "NotIn"
	OpExists       = "Exists"
	OpDoesNotExist = "DoesNotExist"
	OpGt           = "Gt"
	OpLt           = "Lt"
)

// check says what is wrong with an expression, as an API server would.
func (e *Expression) check(operators ...string) error {
	switch {
	case !slices.Contains(operators, e.Operator):
		return FieldError{"operator", "one of " + fmt.Sprint(operators), e.Operator}
	case e.Key == "":
		return FieldError{"key", "a label's key", ""}
	}
	switch e.Operator {
	case OpIn, OpNotIn:
		if len(e.Values) == 0 {
			return FieldError{"values", "at least one value", ""}
		}
	case OpGt, OpLt:
		if len(e.Values) != 1 || !IsInteger(e.Values[0]) {
			return FieldError{"values", "one integer", fmt.Sprint(e.Values)}
		}
	default:
		if len(e.Values) > 0 {
			return FieldError{"values", "no value beside " + e.Operator, e.Values[0]}
		}
	}
	for i, v := range e.Values {
		if !Plain(v) {
			return FieldError{fmt.Sprintf("values[%d]", i), WantPlain, v}
		}
	}
	return nil
}

// Matches reports whether labels meet the expression, which was checked.
func (e *Expression) Matches(labels map[string]string) bool {
	have, there := labels[e.Key]
	switch e.Operator {
	case OpIn:
		return there && slices.Contains(e.Values, have)
	case OpNotIn:
		return !there || !slices.Contains(e.Values, have)
	case OpExists:
		return there
	case OpDoesNotExist:
		return !there
	}
	if !there || !IsInteger(have) {
		return false
	}
	if e.Operator == OpGt {
		return Integer(have) > Integer(e.Values[0])
	}
	return Integer(have) < Integer(e.Values[0])
}

// IsInteger reports whether Gt and Lt can compare the text.
func IsInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// Integer is the integer that the text is.
func Integer(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// Matches reports whether a node meets all of the term.
func (t *NodeTerm) Matches(name string, labels map[string]string) bool {
	if len(t.MatchExpressions)+len(t.MatchFields) == 0 {
		return false
	}
	for i := range t.MatchExpressions {
		if !t.MatchExpressions[i].Matches(labels) {
			return false
		}
	}
	fields := map[string]string{NameKey: name}
	for i := range t.MatchFields {
		if !t.MatchFields[i].Matches(fields) {
			return false
		}
	}
	return true
}

// Check says what is wrong with a term.
func (t *NodeTerm) Check() error {
	for i := range t.MatchExpressions {
		if err := t.MatchExpressions[i].check(OpIn, OpNotIn, OpExists, OpDoesNotExist, OpGt, OpLt); err != nil {
			return Within(fmt.Sprintf("matchExpressions[%d]", i), err)
		}
	}
	for i := range t.MatchFields {
		f := &t.MatchFields[i]
		if f.Key != NameKey {
			return FieldError{fmt.Sprintf("matchFields[%d].key", i), NameKey, f.Key}
		}
		if err := f.check(OpIn, OpNotIn); err != nil {
			return Within(fmt.Sprintf("matchFields[%d]", i), err)
		}
		if len(f.Values) > 1 {
			return FieldError{fmt.Sprintf("matchFields[%d].values", i), "one value", fmt.Sprint(f.Values)}
		}
	}
	return nil
}

// Check says what is wrong with a selector of pods.
func (l *LabelSelector) Check() error {
	for i := range l.MatchExpressions {
		if err := l.MatchExpressions[i].check(OpIn, OpNotIn, OpExists, OpDoesNotExist); err != nil {
			return Within(fmt.Sprintf("matchExpressions[%d]", i), err)
		}
	}
	return nil
}

// Matches reports whether a pod's labels meet the selector. An empty selector
// selects all pods.
func (l *LabelSelector) Matches(labels map[string]string) bool {
	for key, want := range l.MatchLabels {
		if have, there := labels[key]; !there || have != want {
			return false
		}
	}
	for i := range l.MatchExpressions {
		if !l.MatchExpressions[i].Matches(labels) {
			return false
		}
	}
	return true
}

// String is the term as people say it, without the signs that part a
// requirement from its value.
func (t *NodeTerm) String() string {
	var parts []string
	for _, e := range slices.Concat(t.MatchExpressions, t.MatchFields) {
		parts = append(parts, e.String())
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, " and ")
}

// String is the expression as people say it.
func (e *Expression) String() string {
	list := make([]string, len(e.Values))
	for i, v := range e.Values {
		list[i] = Value(v)
	}
	text := strings.Join(list, ",")
	switch e.Operator {
	case OpIn:
		return e.Key + " in " + text
	case OpNotIn:
		return e.Key + " not in " + text
	case OpExists:
		return e.Key + " exists"
	case OpDoesNotExist:
		return e.Key + " does not exist"
	case OpGt:
		return e.Key + " over " + text
	}
	return e.Key + " below " + text
}

// How words on labels are put for whoever wrote them.
const (
	EmptyValue = `""`
	WantPlain  = "a label's value, which has no | and no quotation mark"
)

// Plain reports whether a label's value has no sign of the model's requirements; an
// API server lets no other through.
func Plain(value string) bool { return !strings.ContainsAny(value, `|"`) }

// Value is a label's value as it is printed: an empty one as two quotation marks.
func Value(v string) string {
	if v == "" {
		return EmptyValue
	}
	return v
}
