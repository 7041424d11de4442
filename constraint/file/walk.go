package file

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// This file walks a YAML document, and notes every mistake with its place.

// reader collects constraints, and what is wrong.
type reader struct {
	name     string
	defaults Defaults
	file     File
	wrong    []error
}

// value is a value, and where it stands.
type value struct {
	node *yaml.Node
	path string
}

// field is a field that may be given, and what reads it.
type field struct {
	name string
	read func(value)
}

func (r *reader) complain(at value, format string, args ...any) {
	path := ""
	if at.path != "" {
		path = at.path + ": "
	}
	r.wrong = append(r.wrong, fmt.Errorf("%s:%d:%d: %s%s", r.name, at.node.Line, at.node.Column, path, fmt.Sprintf(format, args...)))
}

// fields reads the fields of a map, and returns which there were.
func (r *reader) fields(v value, known []field) map[string]bool {
	given := map[string]bool{}
	names := make([]string, len(known))
	for i := range known {
		names[i] = known[i].name
	}
	if v.node.Kind != yaml.MappingNode {
		r.complain(v, "expected fields, of which there are %s", strings.Join(names, ", "))
		return given
	}
	for n := 0; n+1 < len(v.node.Content); n += 2 {
		key := v.node.Content[n]
		at := value{key, strings.TrimPrefix(v.path+"."+key.Value, ".")}
		i := slices.Index(names, key.Value)
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge":
			r.complain(value{key, v.path}, "expected the name of a field")
		case i < 0:
			hint := near(key.Value, names)
			if hint == "" {
				hint = "; there are " + strings.Join(names, ", ")
			}
			r.complain(at, "unknown field%s", hint)
		case given[key.Value]:
			r.complain(at, "given twice; keep one")
		default:
			given[key.Value] = true
			r.read(value{v.node.Content[n+1], at.path}, known[i].read)
		}
	}
	return given
}

// list reads the items of a list, of which there must be one; what they are is for errors.
func (r *reader) list(v value, what string, read func(value)) {
	if v.node.Kind != yaml.SequenceNode || len(v.node.Content) == 0 {
		r.complain(v, "expected a list of %s", what)
		return
	}
	for i, node := range v.node.Content {
		r.read(value{node, fmt.Sprintf("%s[%d]", v.path, i)}, read)
	}
}

// read reads a value, unless it is none.
func (r *reader) read(v value, read func(value)) {
	switch {
	case v.node.Kind == yaml.AliasNode:
		r.complain(v, "is written as an alias, *%s; write it out, or in quotes if * is meant", v.node.Value)
	case isNull(v.node):
		r.complain(v, "has no value; give one or remove the line")
	default:
		read(v)
	}
}

// scalar reads a single value; empty, with a complaint, if it is none.
func (r *reader) scalar(v value) string {
	switch {
	case v.node.Kind != yaml.ScalarNode:
		r.complain(v, "expected one value, found a list or fields")
	case v.node.Value == "":
		r.complain(v, "is empty")
	}
	return v.node.Value
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}
