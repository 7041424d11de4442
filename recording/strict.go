package recording

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

// This file decodes lines in which every field must be known. The decoder of
// encoding/json stops at one that is not, but says neither where it stands nor
// what else it could be; so the line is then searched for it.

// decodeStrictly decodes one JSON value in which every field is known.
func decodeStrictly(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if unknown := findUnknown("", line, reflect.TypeOf(into).Elem()); unknown != nil {
			return unknown
		}
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the end of the line's value")
	}
	return nil
}

// findUnknown returns an error about a field that a value of type t has not, or
// nil. The path is that of the value in its line: "in[2]" is the third event.
func findUnknown(path string, value []byte, t reflect.Type) error {
	switch t.Kind() { //nolint:exhaustive // nothing else holds fields
	case reflect.Slice:
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			return nil
		}
		for i, item := range items {
			if err := findUnknown(fmt.Sprintf("%s[%d]", path, i), item, t.Elem()); err != nil {
				return err
			}
		}
	case reflect.Struct:
		var members map[string]json.RawMessage
		if json.Unmarshal(value, &members) != nil {
			return nil
		}
		known := fieldsOf(t)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			field, ok := known[strings.ToLower(name)] // encoding/json takes Node for node
			if !ok {
				return unknownField(at, name, slices.Sorted(maps.Keys(known)))
			}
			if err := findUnknown(at, members[name], field); err != nil {
				return err
			}
		}
	}
	return nil
}

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

func unknownField(path, name string, known []string) error {
	if near, ok := nearest.Of(name, known); ok {
		return fmt.Errorf("%s: unknown field; did you mean %s?", path, near)
	}
	return fmt.Errorf("%s: unknown field; there are %s", path, strings.Join(known, ", "))
}
