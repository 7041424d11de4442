package manifest

import (
	"encoding/json"
	"strconv"
	"strings"
)

// This file is budgets of disruption: how many of the pods that they select are to be available.

// Disruption is the spec of a PodDisruptionBudget, which has a selector beside it.
type Disruption struct {
	MinAvailable    *Portion `json:"minAvailable,omitempty"`
	MaxUnavailable  *Portion `json:"maxUnavailable,omitempty"`
	UnhealthyPolicy string   `json:"unhealthyPodEvictionPolicy,omitempty"`
}

// Portion is a number, or a percentage: 3 or "25%".
type Portion struct{ text string }

// UnmarshalJSON takes a number or a text as it stands. What is neither is found out by Check, where its place has a
// name.
func (p *Portion) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		p.text = string(text)
		return nil
	}
	if p.text = s; !strings.HasSuffix(s, "%") {
		p.text = strconv.Quote(s)
	}
	return nil
}

// Check says what is wrong with it, which the field has.
func (p *Portion) Check(field string) error {
	n, err := strconv.ParseInt(strings.TrimSuffix(p.text, "%"), 10, 32)
	if err != nil || n < 0 {
		return Wrong(field, "a number that is not negative, or a percentage such as 25%", p.text)
	}
	return nil
}

// IsShare reports whether it is a percentage.
func (p *Portion) IsShare() bool { return strings.HasSuffix(p.text, "%") }

// Of is how many of so many it is, rounded up.
func (p *Portion) Of(all int64) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(p.text, "%"), 10, 32)
	if p.IsShare() {
		return (n*all + 99) / 100
	}
	return n
}
