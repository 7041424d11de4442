// Package strict decodes JSON in which every field must be known. The decoder of
// encoding/json stops at a field that is not, but says neither where it stands
// nor what else it could be; so the text is then searched for it.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/nearest"
)

// Decode decodes the one JSON value of the text into what the pointer points to.
// It returns an error that says where an unknown field stands, and which known
// one is nearest: "runs[0].tasks.place: unknown field; did you mean placed?".
func Decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if unknown := Unknown("", text, into); unknown != nil {
			return unknown
		}
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the end of the value")
	}
	return nil
}

// Unknown returns an error about the first field that what the pointer points to has not, or
// nil. The path is that of the value in a text that it is a part of.
func Unknown(path string, text []byte, into any) error {
	return find(path, text, reflect.TypeOf(into))
}

// find returns an error about the first field that a value of the type has not,
// or nil. The path is that of the value in its text.
func find(path string, value []byte, t reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer:
		return find(path, value, t.Elem())
	case reflect.Slice:
		var items []json.RawMessage
		if plain(t.Elem()) || json.Unmarshal(value, &items) != nil {
			return nil
		}
		for i, item := range items {
			if err := find(fmt.Sprintf("%s[%d]", path, i), item, t.Elem()); err != nil {
				return err
			}
		}
	case reflect.Map:
		return findMember(path, value, func(string) (reflect.Type, error) { return t.Elem(), nil })
	case reflect.Struct:
		known := fieldsOf(t)
		return findMember(path, value, func(name string) (reflect.Type, error) {
			if field, ok := known[strings.ToLower(name)]; ok { // encoding/json takes Node for node
				return field, nil
			}
			return nil, unknown(name, slices.Sorted(maps.Keys(known)))
		})
	default: // has no fields
	}
	return nil
}

// findMember is find for an object, whose members have the types that typeOf
// returns.
func findMember(path string, value []byte, typeOf func(name string) (reflect.Type, error)) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		t, err := typeOf(name)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if err := find(at, members[name], t); err != nil {
			return err
		}
	}
	return nil
}

// plain reports whether values of the type are numbers, of which there may be
// many.
func plain(t reflect.Type) bool { return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64 }

// fieldsOf returns the types of a struct's fields, by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}

func unknown(name string, known []string) error {
	if near, ok := nearest.Of(name, known); ok {
		return fmt.Errorf("unknown field; did you mean %s?", near)
	}
	return fmt.Errorf("unknown field; there are %s", strings.Join(known, ", "))
}
