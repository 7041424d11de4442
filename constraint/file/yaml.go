package file

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/nearest"
)

// This file reads constraints from YAML, of which JSON is a part. A constraint is a text,
// or a map
//
//	name: few neighbours
//	any: [[{subject: [web], target: [db, app:shop], min: 0, max: 2, group: node, self: counted}]]
//	weight: 2.5        # or hard: true
//	owner: shop        # an application; omitted: the operator
//
// or has a text in its place of any: {name: few neighbours, text: "{web, {db, 0, 2}, node}"}.

// Defaults are what holds for constraints that do not say it themselves.
type Defaults struct {
	// Owner is the application that the list stands in; empty where it is the
	// operator's, and constraints may name their owner.
	Owner string
	// SelfCounted counts each subject itself that is a target.
	SelfCounted bool
}

// DecodeNode reads a list of constraints that is a part of a larger document, and stands
// at the path in it; errors call the document name.
func DecodeNode(name, path string, node *yaml.Node, d Defaults) (*File, error) {
	r := &reader{name: name, defaults: d}
	r.list(value{node, path}, "constraints", r.constraint)
	if len(r.wrong) > 0 {
		return nil, errors.Join(r.wrong...)
	}
	return &r.file, nil
}

// decodeDocument reads a list, or a map with the list in it.
func decodeDocument(name string, node *yaml.Node) (*File, error) {
	if node.Kind == yaml.SequenceNode {
		return DecodeNode(name, "", node, Defaults{})
	}
	r := &reader{name: name}
	list := value{}
	given := r.fields(value{node, ""}, []field{
		{"constraints", func(v value) { list = v }},
		{"self", func(v value) { r.defaults.SelfCounted = r.self(v) }},
	})
	if node.Kind == yaml.MappingNode && !given["constraints"] {
		r.complain(value{node, ""}, "has no constraints, which are a list")
	}
	if list.node != nil {
		r.list(list, "constraints", r.constraint)
	}
	if len(r.wrong) > 0 {
		return nil, errors.Join(r.wrong...)
	}
	return &r.file, nil
}

// constraint reads one of the list.
func (r *reader) constraint(v value) {
	var c cluster.Constraint
	var ok bool
	if v.node.Kind == yaml.ScalarNode {
		c, ok = r.text(v)
		c.Owner = r.defaults.Owner
	} else {
		c, ok = r.mapped(v)
	}
	if !ok {
		return
	}
	if err := cluster.CheckConstraint(&c); err != nil {
		r.complain(v, "%v", err)
		return
	}
	r.file.Constraints, r.file.Lines = append(r.file.Constraints, c), append(r.file.Lines, v.node.Line)
}

// text reads a constraint that is written as a text.
func (r *reader) text(v value) (cluster.Constraint, bool) {
	c, err := constraint.Parse(v.node.Value)
	if err != nil {
		r.complain(v, "%v", err)
		return c, false
	}
	if r.defaults.SelfCounted {
		for _, bounds := range c.Any {
			for i := range bounds {
				bounds[i].SelfCounted = len(bounds[i].Subject) > 0
			}
		}
		c.Name = constraint.Format(&c)
	}
	return c, true
}

// mapped reads a constraint that is written as a map.
func (r *reader) mapped(v value) (cluster.Constraint, bool) {
	if looksLikeText(v.node) {
		r.complain(v, `in YAML a text that begins with { stands in quotes: "{storm, {hb & mem, 1, inf}, node}"`)
		return cluster.Constraint{}, false
	}
	before := len(r.wrong)
	var c, text cluster.Constraint
	name, owner := "", r.defaults.Owner
	c.Weight = cluster.DefaultWeight
	given := r.fields(v, []field{
		{"name", func(v value) { name = r.unique(v) }},
		{"text", func(v value) { text, _ = r.text(v) }},
		{"any", func(v value) { c.Any = r.any(v) }},
		{"hard", func(v value) { c.Hard = r.bool(v) }},
		{"weight", func(v value) { c.Weight = r.weight(v) }},
		{"owner", func(v value) { owner = r.owner(v) }},
	})
	switch {
	case v.node.Kind != yaml.MappingNode:
	case given["text"] == given["any"]:
		r.complain(v, "wants either a text, as in text: \"{web, {db, 0, 2}, node}\", or any, the list of alternatives")
	case given["text"] && (given["hard"] || given["weight"]):
		r.complain(v, "hard and weights stand in the text, behind a colon")
	case c.Hard && given["weight"]:
		r.complain(v, "is hard, and has a weight; keep one of them")
	}
	if given["text"] {
		c = text
	}
	if c.Hard {
		c.Weight = 0
	}
	if len(r.wrong) > before {
		return c, false
	}
	c.Name, c.Owner = name, owner
	if name == "" {
		c.Name = constraint.Format(&c)
	}
	return c, true
}

// looksLikeText reports whether a map is a constraint whose quotes were forgotten: its
// inner braces are then a key.
func looksLikeText(node *yaml.Node) bool {
	for n := 0; node.Kind == yaml.MappingNode && n < len(node.Content); n += 2 {
		if node.Content[n].Kind == yaml.MappingNode {
			return true
		}
	}
	return false
}

// any reads alternatives.
func (r *reader) any(v value) [][]cluster.Bound {
	var all [][]cluster.Bound
	r.list(v, "alternatives, each a list of bounds", func(v value) {
		var bounds []cluster.Bound
		r.list(v, "bounds, each such as {subject: [web], target: [db], min: 0, max: 2, group: node}", func(v value) {
			bounds = append(bounds, r.bound(v))
		})
		all = append(all, bounds)
	})
	return all
}

func (r *reader) bound(v value) cluster.Bound {
	b := cluster.Bound{Max: cluster.Unbounded, SelfCounted: r.defaults.SelfCounted}
	given := r.fields(v, []field{
		{"subject", func(v value) { b.Subject = r.subject(v) }},
		{"target", func(v value) { b.Target = r.tags(v) }},
		{"min", func(v value) { b.Min = r.count(v) }},
		{"max", func(v value) {
			if v.node.Value != "inf" && v.node.Value != "∞" {
				b.Max = r.count(v)
			}
		}},
		{"group", func(v value) { b.Group = r.scalar(v) }},
		{"self", func(v value) { b.SelfCounted = r.self(v) }},
	})
	if v.node.Kind == yaml.MappingNode {
		for _, name := range []string{"subject", "target", "group"} {
			if !given[name] {
				r.complain(v, "has no %s", name)
			}
		}
	}
	if given["subject"] && len(b.Subject) == 0 {
		if given["self"] && b.SelfCounted {
			r.complain(v, "a bound of * binds whole sets, in which nobody is there to count itself; remove self")
		}
		b.SelfCounted = false
	}
	if b.Max < b.Min {
		r.complain(v, "max %d is less than min %d", b.Max, b.Min)
	}
	return b
}

// subject reads tags, or * for every set of the group.
func (r *reader) subject(v value) []string {
	if v.node.Kind == yaml.ScalarNode && v.node.Value == "*" {
		return nil
	}
	return r.tags(v)
}

// tags reads a tag or a list of them.
func (r *reader) tags(v value) []string {
	var tags []string
	add := func(v value) {
		switch tag := r.scalar(v); {
		case tag == "":
		case slices.Contains(tags, tag):
			r.complain(v, "tag %s stands here twice; keep one", tag)
		default:
			tags = append(tags, tag)
		}
	}
	if v.node.Kind == yaml.ScalarNode {
		add(v)
		return tags
	}
	r.list(v, "tags", add)
	slices.Sort(tags)
	return tags
}

func (r *reader) count(v value) int32 {
	text := r.scalar(v)
	n, err := strconv.ParseInt(text, 10, 64)
	if text != "" && (err != nil || n < 0 || n > int64(cluster.MaxBound)) {
		r.complain(v, "%q, want a whole number from 0 to %d, or inf as a max", text, cluster.MaxBound)
		return 0
	}
	return int32(n)
}

func (r *reader) weight(v value) int64 {
	text := r.scalar(v)
	weight, err := constraint.ParseWeight(text)
	if text != "" && err != nil {
		r.complain(v, "%v", err)
	}
	return weight
}

// self reads who is counted.
func (r *reader) self(v value) bool {
	known := []string{"counted", "others"}
	text := r.scalar(v)
	if text != "" && !slices.Contains(known, text) {
		r.complain(v, "%q, want counted, or others, which is what holds if nothing is said%s", text, near(text, known))
	}
	return text == "counted"
}

func (r *reader) bool(v value) bool {
	text := r.scalar(v)
	if text != "" && text != "true" && text != "false" {
		r.complain(v, "%q, want true or false", text)
	}
	return text == "true"
}

// unique reads a name that no other constraint has.
func (r *reader) unique(v value) string {
	name := r.scalar(v)
	if other := slices.IndexFunc(r.file.Constraints, func(c cluster.Constraint) bool { return c.Name == name }); other >= 0 {
		r.complain(v, "%q is the name of the constraint on line %d too", name, r.file.Lines[other])
	}
	return name
}

func (r *reader) owner(v value) string {
	owner := r.scalar(v)
	if r.defaults.Owner != "" && owner != r.defaults.Owner {
		r.complain(v, "%q, but it stands with application %s, which is its owner", owner, r.defaults.Owner)
	}
	return strings.TrimSpace(owner)
}

// near is a hint at the known word that is meant, or nothing.
func near(word string, known []string) string {
	if near, ok := nearest.Of(word, known); ok {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}
