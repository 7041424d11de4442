package file

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/document"
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

// reader collects constraints.
type reader struct {
	*document.Reader
	defaults Defaults
	file     File
	named    map[string]int // the first line on which a constraint has the name
}

// Read reads a list of constraints that is a part of a larger document, whose reader is given what
// is wrong.
func Read(in *document.Reader, list document.Value, d Defaults) *File {
	r := &reader{Reader: in, defaults: d, named: map[string]int{}}
	r.list(list, "constraints", r.constraint)
	return &r.file
}

// readDocument reads a list, or a map with the list in it.
func readDocument(in *document.Reader, top document.Value) *File {
	if top.Node.Kind == yaml.SequenceNode {
		return Read(in, top, Defaults{})
	}
	r := &reader{Reader: in, named: map[string]int{}}
	var list document.Value
	r.Fields(top, []document.Field{
		{Name: "constraints", Read: func(v document.Value) { list = v }},
		{Name: "self", Read: func(v document.Value) { r.defaults.SelfCounted = r.self(v) }},
	})
	switch {
	case list.Given():
		r.list(list, "constraints", r.constraint)
	case top.Node.Kind == yaml.MappingNode:
		r.Complain(top, "has no constraints, which are a list")
	}
	return &r.file
}

// list reads the items of a list, of which there must be one.
func (r *reader) list(v document.Value, what string, read func(document.Value)) {
	if v.Node.Kind == yaml.SequenceNode && len(v.Node.Content) == 0 {
		r.Complain(v, "expected a list of %s, with one at least", what)
		return
	}
	r.List(v, what, read)
}

// constraint reads one of the list.
func (r *reader) constraint(v document.Value) {
	var c cluster.Constraint
	var ok bool
	if v.Node.Kind == yaml.ScalarNode {
		c, ok = r.text(v)
		c.Owner = r.defaults.Owner
	} else {
		c, ok = r.mapped(v)
	}
	if !ok {
		return
	}
	if err := cluster.CheckConstraint(&c); err != nil {
		r.Complain(v, "%v", err)
		return
	}
	if _, taken := r.named[c.Name]; !taken {
		r.named[c.Name] = v.Node.Line
	}
	r.file.Constraints = append(r.file.Constraints, c)
	r.file.Lines, r.file.Columns = append(r.file.Lines, v.Node.Line), append(r.file.Columns, v.Node.Column)
}

// text reads a constraint that is written as a text.
func (r *reader) text(v document.Value) (cluster.Constraint, bool) {
	c, err := constraint.Parse(v.Node.Value)
	if err != nil {
		r.Complain(v, "%v", err)
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
func (r *reader) mapped(v document.Value) (cluster.Constraint, bool) {
	if looksLikeText(v.Node) {
		r.Complain(v, `in YAML a text that begins with { stands in quotes: "{storm, {hb & mem, 1, inf}, node}"`)
		return cluster.Constraint{}, false
	}
	before := r.Mistakes()
	var c, text cluster.Constraint
	name, owner := "", r.defaults.Owner
	c.Weight = cluster.DefaultWeight
	given := r.Fields(v, []document.Field{
		{Name: "name", Read: func(v document.Value) { name = r.unique(v) }},
		{Name: "text", Read: func(v document.Value) { text, _ = r.text(v) }},
		{Name: "any", Read: func(v document.Value) { c.Any = r.any(v) }},
		{Name: "hard", Read: func(v document.Value) { c.Hard = r.Bool(v) }},
		{Name: "weight", Read: func(v document.Value) { c.Weight = r.weight(v) }},
		{Name: "owner", Read: func(v document.Value) { owner = r.owner(v) }},
	})
	switch {
	case v.Node.Kind != yaml.MappingNode:
	case given["text"] == given["any"]:
		r.Complain(v, "wants either a text, as in text: \"{web, {db, 0, 2}, node}\", or any, the list of alternatives")
	case given["text"] && (given["hard"] || given["weight"]):
		r.Complain(v, "hard and weights stand in the text, behind a colon")
	case c.Hard && given["weight"]:
		r.Complain(v, "is hard, and has a weight; keep one of them")
	}
	if given["text"] {
		c = text
	}
	if c.Hard {
		c.Weight = 0
	}
	if r.Mistakes() > before {
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
func (r *reader) any(v document.Value) [][]cluster.Bound {
	var all [][]cluster.Bound
	r.list(v, "alternatives, each a list of bounds", func(v document.Value) {
		var bounds []cluster.Bound
		r.list(v, "bounds, each such as {subject: [web], target: [db], min: 0, max: 2, group: node}", func(v document.Value) {
			bounds = append(bounds, r.bound(v))
		})
		all = append(all, bounds)
	})
	return all
}

func (r *reader) bound(v document.Value) cluster.Bound {
	b := cluster.Bound{Max: cluster.Unbounded, SelfCounted: r.defaults.SelfCounted}
	given := r.Fields(v, []document.Field{
		{Name: "subject", Read: func(v document.Value) { b.Subject = r.subject(v) }},
		{Name: "target", Read: func(v document.Value) { b.Target = r.tags(v) }},
		{Name: "min", Read: func(v document.Value) { b.Min = r.count(v) }},
		{Name: "max", Read: func(v document.Value) {
			if v.Node.Value != "inf" && v.Node.Value != "∞" {
				b.Max = r.count(v)
			}
		}},
		{Name: "group", Read: func(v document.Value) { b.Group = r.Text(v) }},
		{Name: "self", Read: func(v document.Value) { b.SelfCounted = r.self(v) }},
	})
	if v.Node.Kind == yaml.MappingNode {
		for _, name := range []string{"subject", "target", "group"} {
			if !given[name] {
				r.Complain(v, "has no %s", name)
			}
		}
	}
	if given["subject"] && len(b.Subject) == 0 {
		if given["self"] && b.SelfCounted {
			r.Complain(v, "a bound of * binds whole sets, in which nobody is there to count itself; remove self")
		}
		b.SelfCounted = false
	}
	if b.Max < b.Min {
		r.Complain(v, "max %d is less than min %d", b.Max, b.Min)
	}
	return b
}

// subject reads tags, or * for every set of the group.
func (r *reader) subject(v document.Value) []string {
	if v.Node.Kind == yaml.ScalarNode && v.Node.Value == "*" {
		return nil
	}
	return r.tags(v)
}

// tags reads a tag or a list of them.
func (r *reader) tags(v document.Value) []string {
	var tags []string
	add := func(v document.Value) {
		switch tag := r.Text(v); {
		case tag == "":
		case slices.Contains(tags, tag):
			r.Complain(v, "tag %s stands here twice; keep one", tag)
		default:
			tags = append(tags, tag)
		}
	}
	if v.Node.Kind == yaml.ScalarNode {
		add(v)
		return tags
	}
	r.list(v, "tags", add)
	slices.Sort(tags)
	return tags
}

func (r *reader) count(v document.Value) int32 {
	text := r.Text(v)
	n, err := strconv.ParseInt(text, 10, 64)
	if text != "" && (err != nil || n < 0 || n > int64(cluster.MaxBound)) {
		r.Complain(v, "%q, want a whole number from 0 to %d, or inf as a max", text, cluster.MaxBound)
		return 0
	}
	return int32(n)
}

func (r *reader) weight(v document.Value) int64 {
	text := r.Text(v)
	weight, err := constraint.ParseWeight(text)
	if text != "" && err != nil {
		r.Complain(v, "%v", err)
	}
	return weight
}

// self reads who is counted.
func (r *reader) self(v document.Value) bool {
	known := []string{"counted", "others"}
	text := r.Text(v)
	if text != "" && !slices.Contains(known, text) {
		r.Complain(v, "%q, want counted, or others, which is what holds if nothing is said; %s", text, document.Meant(text, known))
	}
	return text == "counted"
}

// unique reads a name that no other constraint has.
func (r *reader) unique(v document.Value) string {
	name := r.Text(v)
	if line, taken := r.named[name]; taken {
		r.Complain(v, "%q is the name of the constraint on line %d too", name, line)
	}
	return name
}

func (r *reader) owner(v document.Value) string {
	owner := r.Text(v)
	if r.defaults.Owner != "" && owner != r.defaults.Owner {
		r.Complain(v, "%q, but it stands with application %s, which is its owner", owner, r.defaults.Owner)
	}
	return strings.TrimSpace(owner)
}
