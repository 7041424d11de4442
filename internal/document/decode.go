package document

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// This file decodes a document into a Go value as encoding/json would, by the same tags, and
// reports every mistake; and writes one as YAML.

// Decode fills in what the pointer points to. A field that is not in the text keeps what it has.
// A struct that reads texts, too, may be written as one, and else as fields.
func (r *Reader) Decode(v Value, into any) { r.decode(v, reflect.ValueOf(into).Elem()) }

func (r *Reader) decode(v Value, into reflect.Value) {
	text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](into.Addr())
	if ok && (into.Kind() != reflect.Struct || v.Node.Kind == yaml.ScalarNode) {
		if written := r.Text(v); written != "" {
			if err := text.UnmarshalText([]byte(written)); err != nil {
				r.Complain(v, "%v", err)
			}
		}
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		r.decode(v, into.Elem())
	case reflect.Struct:
		var fields []Field
		for _, f := range reflect.VisibleFields(into.Type()) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				fields = append(fields, Field{name, func(v Value) { r.decode(v, into.FieldByIndex(f.Index)) }})
			}
		}
		r.Fields(v, fields)
	case reflect.Slice:
		into.SetZero()
		r.List(v, "values", func(item Value) {
			into.Set(reflect.Append(into, reflect.Zero(into.Type().Elem())))
			r.decode(item, into.Index(into.Len()-1))
		})
	case reflect.Map:
		into.Set(reflect.MakeMap(into.Type()))
		r.Pairs(v, "name", func(key, value Value) {
			item := reflect.New(into.Type().Elem()).Elem()
			r.decode(value, item)
			into.SetMapIndex(reflect.ValueOf(key.Node.Value).Convert(into.Type().Key()), item)
		})
	default:
		r.scalar(v, into)
	}
}

// scalar decodes a text, a number or a truth.
func (r *Reader) scalar(v Value, into reflect.Value) {
	text := r.Text(v)
	if text == "" {
		return
	}
	switch into.Kind() {
	case reflect.String:
		into.SetString(text)
	case reflect.Bool:
		into.SetBool(r.Bool(v))
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			r.Complain(v, "%q, want a whole number", text)
		}
		into.SetInt(int64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			r.Complain(v, "%q, want a number", text)
		}
		into.SetFloat(x)
	default:
		panic(fmt.Sprintf("document: cannot decode into a %s", into.Type()))
	}
}

// Line is the value on one line: a text or number as it is, others as YAML within brackets.
func (v Value) Line() (string, error) {
	if v.Single() {
		return v.Node.Value, nil
	}
	text, err := yaml.Marshal(onOneLine(v.Node))
	return strings.TrimSpace(string(text)), err
}

// onOneLine is the node within brackets and without comments.
func onOneLine(node *yaml.Node) *yaml.Node {
	line := yaml.Node{Kind: node.Kind, Tag: node.Tag, Value: node.Value}
	if node.Kind != yaml.ScalarNode {
		line.Style = yaml.FlowStyle
	}
	for _, n := range node.Content {
		line.Content = append(line.Content, onOneLine(n))
	}
	return &line
}

// With is the document, whose fields the value is, with the field of that name, which is given, as in another one.
func (v Value) With(name string, other Value) Value {
	node := *v.Node
	node.Content = slices.Clone(node.Content)
	for n := 0; n+1 < len(node.Content); n += 2 {
		if node.Content[n].Value == name {
			node.Content[n+1] = other.Node
		}
	}
	return Value{&node, v.Path}
}

// YAML writes the value as it is in its document.
func (v Value) YAML() ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err := e.Encode(v.Node)
	return out.Bytes(), err
}

// YAML writes a text of JSON as YAML, in the same order.
func YAML(text []byte) ([]byte, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, err
	}
	unstyle(&node)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err := e.Encode(&node)
	return out.Bytes(), err
}

// unstyle takes away the brackets and quotes of JSON; what needs quotes in YAML gets them back.
func unstyle(node *yaml.Node) {
	node.Style = 0
	for _, n := range node.Content {
		unstyle(n)
	}
}
