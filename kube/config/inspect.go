package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kyaml "sigs.k8s.io/yaml"
)

// Strictness with an address.
//
// The strict decoder stops at the first mistake, and for some says neither
// line nor path. inspect walks the YAML beside the Go type instead and reports
// every field that is unknown, given twice or of the wrong type, each with
// file, line, path and what to do. The decoder runs afterwards all the same:
// it has the last word on what this walk does not follow, which is aliases and
// merge keys.

// inspection collects what is wrong with one file.
type inspection struct {
	name  string
	wrong []error
}

// inspect returns all that is wrong with the shape of a configuration.
func inspect(name string, document *yaml.Node) error {
	i := &inspection{name: name}
	i.value(document, reflect.TypeFor[SchedulerConfiguration](), nil)
	return errors.Join(i.wrong...)
}

func (i *inspection) complain(at *yaml.Node, path *field.Path, format string, args ...any) {
	where := ""
	if path != nil {
		where = path.String() + ": "
	}
	i.wrong = append(i.wrong, fmt.Errorf("%s:%d: %s%s", i.name, at.Line, where, fmt.Sprintf(format, args...)))
}

func (i *inspection) value(node *yaml.Node, t reflect.Type, path *field.Path) {
	switch {
	case node.Kind == yaml.AliasNode:
		// That is for the decoder to follow.
	case isNull(node):
		i.complain(node, path, "has no value; give one or remove the line")
	case t == reflect.TypeFor[Classes]():
		i.classes(node, path)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		i.scalar(node, t, path)
	case t.Kind() == reflect.Struct:
		i.fields(node, t, path)
	case t.Kind() == reflect.Slice:
		i.elements(node, t, path)
	default:
		i.scalar(node, t, path)
	}
}

func (i *inspection) fields(node *yaml.Node, t reflect.Type, path *field.Path) {
	if node.Kind != yaml.MappingNode {
		i.complain(node, path, "expected fields, each on a line of its own such as \"name: value\"")
		return
	}
	known := fieldsOf(t)
	first := map[string]int{} // the line on which a field was given
	for n := 0; n+1 < len(node.Content); n += 2 {
		key, value := node.Content[n], node.Content[n+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			continue
		}
		here := child(path, key.Value)
		if line, twice := first[key.Value]; twice {
			i.complain(key, here, "given twice, first on line %d; keep one", line)
			continue
		}
		first[key.Value] = key.Line
		if f, ok := known.types[key.Value]; ok {
			i.value(value, f, here)
		} else {
			i.complain(key, here, "unknown field; %s", advice(key.Value, known.names))
		}
	}
}

func (i *inspection) elements(node *yaml.Node, t reflect.Type, path *field.Path) {
	if node.Kind != yaml.SequenceNode {
		i.complain(node, path, "expected a list, each entry on a line that begins with \"- \"")
		return
	}
	for n, element := range node.Content {
		i.value(element, t.Elem(), path.Index(n))
	}
}

// scalar decodes the value alone, by the decoder that will read the file.
func (i *inspection) scalar(node *yaml.Node, t reflect.Type, path *field.Path) {
	text, err := yaml.Marshal(node)
	if err == nil {
		err = kyaml.Unmarshal(text, reflect.New(t).Interface())
	}
	if err != nil {
		i.complain(node, path, "expected %s, found %s", wanted(t), brief(text))
	}
}

// wanted says in words what a type holds.
func wanted(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[metav1.Duration]():
		return "a duration with a unit such as 15s or 1m30s"
	case t.Kind() == reflect.String:
		return "a text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float32, t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Uint64:
		return "a whole number of at least 0"
	default:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	}
}

// brief is the beginning of a value, on one line.
func brief(text []byte) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if rest != "" || len(line) > 60 {
		line = strings.ToValidUTF8(line[:min(len(line), 60)], "") + " ..."
	}
	return line
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

func child(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}

// knownFields are the fields of a struct as a file names them, in order.
type knownFields struct {
	names []string
	types map[string]reflect.Type
}

func fieldsOf(t reflect.Type) knownFields {
	known := knownFields{types: map[string]reflect.Type{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			known.names = append(known.names, name)
			known.types[name] = f.Type
		}
	}
	return known
}
