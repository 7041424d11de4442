package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
)

// Strictness with an address.
//
// The strict decoder stops at the first mistake, and for some says neither
// line nor path. inspect walks the YAML beside the Go type instead and reports
// every field that is unknown, given twice or of the wrong type, each with
// file, line, path and what to do. The decoder runs afterwards all the same:
// it has the last word.

// inspection collects what is wrong with one file.
type inspection struct {
	*document.Reader
	options  []policies.Option // that a profile had as fields once
	old      *[]string         // such fields as are given, and what to write instead
	upstream bool              // it is kube-scheduler's
}

// inspect finds all that is wrong with the shape of a configuration, and returns what should be
// written otherwise.
func inspect(r *document.Reader, top document.Value, options []policies.Option, upstream bool) (old []string) {
	inspection{r, options, &old, upstream}.value(top, reflect.TypeFor[SchedulerConfiguration]())
	return old
}

func (i inspection) value(v document.Value, t reflect.Type) {
	switch {
	case t == reflect.TypeFor[Classes]():
		i.classes(v)
	case t == reflect.TypeFor[chosen.Policy]():
		i.Decode(v, new(chosen.Policy))
	case t == reflect.TypeFor[Profile](): // which reads its old fields by itself
		i.fields(v, t)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		i.scalar(v, t)
	case t.Kind() == reflect.Struct:
		i.fields(v, t)
	case t.Kind() == reflect.Slice:
		i.List(v, "entries", func(v document.Value) { i.value(v, t.Elem()) })
	default:
		i.scalar(v, t)
	}
}

func (i inspection) fields(v document.Value, t reflect.Type) {
	known := fieldsOf(t)
	i.Pairs(v, known.names[0], func(key, value document.Value) {
		name := key.Node.Value
		if both := counterparts(t); i.upstream && both != nil && !slices.Contains(both, name) {
			i.Complain(key, "unknown field; %s", strayed(name, both, known.names))
			return
		}
		if f, ok := known.types[name]; ok {
			i.value(value, f)
		} else if t != reflect.TypeFor[Profile]() || !i.ofPolicy(v, key, value) {
			i.Complain(key, "unknown field; %s", advice(name, known.names))
		}
	})
}

// ofPolicy deals with a field of a profile that is one of its policy, and says whether it is. Options stood
// in the profile itself once; they are read, and noted.
func (i inspection) ofPolicy(profile, key, value document.Value) bool {
	name := key.Node.Value
	for _, x := range i.options {
		if name == camel(x.Name) {
			i.value(value, valueOf(&x))
			*i.old = append(*i.old, fmt.Sprintf("%s is where an option of the policy stood once, and is still read; write policy: {name: ..., options: {%s: %s}}", key.Path, x.Name, value.Node.Value))
			if again := profile.At("policy.options." + x.Name); again.Node.Kind == yaml.ScalarNode && profile.At("policy.options").Node.Kind == yaml.MappingNode {
				i.Complain(key, "given twice, as policy.options.%s on line %d too; keep that", x.Name, again.Node.Line)
			}
			return true
		}
	}
	_, is := fieldsOf(reflect.TypeFor[chosen.Policy]()).types[name]
	is = is || slices.ContainsFunc(i.options, func(x policies.Option) bool { return x.Name == name })
	if is {
		i.Complain(key, "unknown field; it is one of the policy, as in a spec; write policy: {name: ..., options: {...}}")
	}
	return is
}

// scalar decodes the value alone, by the decoder that will read the file.
func (i inspection) scalar(v document.Value, t reflect.Type) {
	text, err := yaml.Marshal(v.Node)
	if err == nil {
		err = kyaml.Unmarshal(text, reflect.New(t).Interface())
	}
	if err != nil {
		i.Complain(v, "expected %s, found %s", wanted(t), brief(text))
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

// valueOf is the type of an option as an old field.
func valueOf(x *policies.Option) reflect.Type {
	if x.Values == nil {
		return reflect.TypeFor[int]()
	}
	return reflect.TypeFor[string]()
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
		if name != "" && name != "-" {
			known.names = append(known.names, name)
			known.types[name] = f.Type
		}
	}
	return known
}
