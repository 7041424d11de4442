package recording

import (
	"encoding/json"

	"fairlead.dev/fairlead/cluster"
)

// This file is constraints as they are written: by encoding/json, as they come seldom.

// wireConstraint is a constraint as it is written.
type wireConstraint struct {
	Name     text          `json:"name,omitempty"`
	Owner    text          `json:"owner,omitempty"`
	Any      [][]wireBound `json:"any,omitempty"`
	Hard     bool          `json:"hard,omitempty"`
	Weight   int64         `json:"weight,omitempty"`
	Arriving bool          `json:"arriving,omitempty"`
	Lenient  bool          `json:"lenient,omitempty"`
}

// wireBound is a bound as it is written; without a max there is none.
type wireBound struct {
	Subject     []text `json:"subject,omitempty"`
	Target      []text `json:"target,omitempty"`
	Min         int32  `json:"min,omitempty"`
	Max         *int32 `json:"max,omitempty"`
	Group       text   `json:"group,omitempty"`
	SelfCounted bool   `json:"self_counted,omitempty"`
	OrFirst     bool   `json:"or_first,omitempty"`
	OverFewest  bool   `json:"over_fewest,omitempty"`
	LeastSets   int32  `json:"least_sets,omitempty"`
}

func wireOf(c *cluster.Constraint) *wireConstraint {
	w := &wireConstraint{Name: text(c.Name), Owner: text(c.Owner), Hard: c.Hard, Weight: c.Weight, Arriving: c.Arriving, Lenient: c.Lenient}
	for _, bounds := range c.Any {
		all := make([]wireBound, len(bounds))
		for i, b := range bounds {
			all[i] = wireBound{
				Subject: textsOf(b.Subject), Target: textsOf(b.Target), Min: b.Min, Group: text(b.Group),
				SelfCounted: b.SelfCounted, OrFirst: b.OrFirst, OverFewest: b.OverFewest, LeastSets: b.LeastSets,
			}
			if b.Max != cluster.Unbounded {
				all[i].Max = &bounds[i].Max
			}
		}
		w.Any = append(w.Any, all)
	}
	return w
}

// constraint is what was written; nothing of an event that has none.
func (w *wireConstraint) constraint() cluster.Constraint {
	if w == nil {
		return cluster.Constraint{}
	}
	c := cluster.Constraint{Name: string(w.Name), Owner: string(w.Owner), Hard: w.Hard, Weight: w.Weight, Arriving: w.Arriving, Lenient: w.Lenient}
	for _, bounds := range w.Any {
		all := make([]cluster.Bound, len(bounds))
		for i, b := range bounds {
			all[i] = cluster.Bound{
				Subject: namesOf(b.Subject), Target: namesOf(b.Target), Min: b.Min, Max: cluster.Unbounded, Group: string(b.Group),
				SelfCounted: b.SelfCounted, OrFirst: b.OrFirst, OverFewest: b.OverFewest, LeastSets: b.LeastSets,
			}
			if b.Max != nil {
				all[i].Max = *b.Max
			}
		}
		c.Any = append(c.Any, all)
	}
	return c
}

// constraint appends a constraint.
func (x *encoder) constraint(c *cluster.Constraint) {
	text, err := json.Marshal(wireOf(c))
	if err != nil {
		panic("recording: a constraint that cannot be written: " + err.Error())
	}
	x.key("spec")
	x.line = append(x.line, text...)
}

// tags appends the tags of a shape.
func (x *encoder) tags(tags []string) *encoder {
	if len(tags) == 0 {
		return x
	}
	x.key("tags")
	for i, tag := range tags {
		x.line = append(x.line, separator(i))
		x.quote(tag)
	}
	x.line = append(x.line, ']')
	return x
}
