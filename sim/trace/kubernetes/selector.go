package kubernetes

import (
	"fmt"
	"slices"
	"strconv"
)

// This file evaluates selectors on labels, with the meaning that they have in
// Kubernetes: NotIn is met where the label is missing; Gt and Lt are met where
// it is there and an integer.

// The operators of expressions.
const (
	opIn           = "In"
	opNotIn        = "NotIn"
	opExists       = "Exists"
	opDoesNotExist = "DoesNotExist"
	opGt           = "Gt"
	opLt           = "Lt"
)

// check says what is wrong with an expression, as an API server would.
func (e *expression) check(operators ...string) error {
	switch {
	case !slices.Contains(operators, e.Operator):
		return fieldError{"operator", "one of " + fmt.Sprint(operators), e.Operator}
	case e.Key == "":
		return fieldError{"key", "a label's key", ""}
	}
	switch e.Operator {
	case opIn, opNotIn:
		if len(e.Values) == 0 {
			return fieldError{"values", "at least one value", ""}
		}
	case opGt, opLt:
		if len(e.Values) != 1 || !isInteger(e.Values[0]) {
			return fieldError{"values", "one integer", fmt.Sprint(e.Values)}
		}
	default:
		if len(e.Values) > 0 {
			return fieldError{"values", "no value beside " + e.Operator, e.Values[0]}
		}
	}
	for i, v := range e.Values {
		if !plain(v) {
			return fieldError{fmt.Sprintf("values[%d]", i), wantPlain, v}
		}
	}
	return nil
}

// matches reports whether labels meet the expression, which was checked.
func (e *expression) matches(labels map[string]string) bool {
	have, there := labels[e.Key]
	switch e.Operator {
	case opIn:
		return there && slices.Contains(e.Values, have)
	case opNotIn:
		return !there || !slices.Contains(e.Values, have)
	case opExists:
		return there
	case opDoesNotExist:
		return !there
	}
	if !there || !isInteger(have) {
		return false
	}
	if e.Operator == opGt {
		return integer(have) > integer(e.Values[0])
	}
	return integer(have) < integer(e.Values[0])
}

func isInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

func integer(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// matches reports whether a node meets all of the term.
func (t *nodeTerm) matches(name string, labels map[string]string) bool {
	if len(t.MatchExpressions)+len(t.MatchFields) == 0 {
		return false
	}
	for i := range t.MatchExpressions {
		if !t.MatchExpressions[i].matches(labels) {
			return false
		}
	}
	fields := map[string]string{nameKey: name}
	for i := range t.MatchFields {
		if !t.MatchFields[i].matches(fields) {
			return false
		}
	}
	return true
}

// check says what is wrong with a term.
func (t *nodeTerm) check() error {
	for i := range t.MatchExpressions {
		if err := t.MatchExpressions[i].check(opIn, opNotIn, opExists, opDoesNotExist, opGt, opLt); err != nil {
			return within(fmt.Sprintf("matchExpressions[%d]", i), err)
		}
	}
	for i := range t.MatchFields {
		f := &t.MatchFields[i]
		if f.Key != nameKey {
			return fieldError{fmt.Sprintf("matchFields[%d].key", i), nameKey, f.Key}
		}
		if err := f.check(opIn, opNotIn); err != nil {
			return within(fmt.Sprintf("matchFields[%d]", i), err)
		}
	}
	return nil
}

// check says what is wrong with a selector of pods.
func (l *labelSelector) check() error {
	for i := range l.MatchExpressions {
		if err := l.MatchExpressions[i].check(opIn, opNotIn, opExists, opDoesNotExist); err != nil {
			return within(fmt.Sprintf("matchExpressions[%d]", i), err)
		}
	}
	return nil
}

// matches reports whether a pod's labels meet the selector. An empty selector
// selects all pods.
func (l *labelSelector) matches(labels map[string]string) bool {
	for key, want := range l.MatchLabels {
		if have, there := labels[key]; !there || have != want {
			return false
		}
	}
	for i := range l.MatchExpressions {
		if !l.MatchExpressions[i].matches(labels) {
			return false
		}
	}
	return true
}

// tolerates reports whether a taint is no obstacle to pods with the toleration.
func (t *toleration) tolerates(x taint) bool {
	if t.Effect != "" && t.Effect != x.Effect || t.Key != "" && t.Key != x.Key {
		return false
	}
	switch t.Operator {
	case "", "Equal":
		return t.Value == x.Value
	case opExists:
		return true
	case opLt, opGt:
		if !isCanonical(t.Value) || !isCanonical(x.Value) {
			return false
		}
		if t.Operator == opLt {
			return integer(x.Value) < integer(t.Value)
		}
		return integer(x.Value) > integer(t.Value)
	}
	return false
}

// isCanonical reports whether the text is an integer as it would be printed:
// tolerations compare no others.
func isCanonical(text string) bool {
	return isInteger(text) && strconv.FormatInt(integer(text), 10) == text
}
