package sweep

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/setup"
)

// This file finds a field of a spec by its path, such as world.faults.node_loss. The fields of the run's policy
// stand below policy, as a run has but one.

// set has a field of the spec as nobody has said it, and then decoded: what a value leaves out is as if it were
// nowhere else, either. The spec must be the caller's own, but for what its maps and pointers lead to.
func set(s *setup.Spec, path string, decode func(into any)) error {
	steps := strings.Split(path, ".")
	switch steps[0] {
	case "policies", "seeds":
		return fmt.Errorf("%s are an axis of their own, beside vary", steps[0])
	case "version":
		return errors.New("the version of the spec is that of its fields; remove it")
	case policyName:
		if len(steps) < 2 || steps[1] == "name" {
			return errors.New("which policy there is say the policies, beside vary; here stand fields of it, such as policy.options.migrations")
		}
		return descend(reflect.ValueOf(&s.Policies[0]).Elem(), reflect.Value{}, steps[1:], decode)
	}
	return descend(reflect.ValueOf(s).Elem(), reflect.ValueOf(setup.Default()), steps, decode)
}

// descend goes down the path to the field and decodes it. What pointers and maps lead to on the way is copied, as
// others may have it, too. The usual value is invalid where there is none.
func descend(into, usual reflect.Value, path []string, decode func(into any)) error {
	if len(path) == 0 {
		if usual.IsValid() {
			into.Set(usual)
		} else {
			into.SetZero()
		}
		decode(into.Addr().Interface())
		return nil
	}
	switch into.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(into.Type().Elem())
		if !into.IsNil() {
			fresh.Elem().Set(into.Elem())
		}
		into.Set(fresh)
		if usual.IsValid() {
			usual = usual.Elem() // invalid of nil
		}
		return descend(fresh.Elem(), usual, path, decode)
	case reflect.Struct:
		return descendField(into, usual, path, decode)
	case reflect.Map:
		// All that is left is the key: resources such as nvidia.com/gpu have dots.
		key := reflect.ValueOf(strings.Join(path, "."))
		fresh, item := reflect.MakeMap(into.Type()), reflect.New(into.Type().Elem()).Elem()
		for _, k := range into.MapKeys() {
			fresh.SetMapIndex(k, into.MapIndex(k))
		}
		into.Set(fresh)
		decode(item.Addr().Interface())
		fresh.SetMapIndex(key.Convert(into.Type().Key()), item)
		return nil
	default:
		return fmt.Errorf("the path ends before %s, which is no field of anything", strings.Join(path, "."))
	}
}

// descendField goes on with the field that the path begins with.
func descendField(into, usual reflect.Value, path []string, decode func(into any)) error {
	fields := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(into.Type()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = f
		}
	}
	field, is := fields[path[0]]
	if !is {
		return nearest.Unknown("field of specs", path[0], slices.Sorted(maps.Keys(fields)))
	}
	if usual.IsValid() {
		usual = usual.FieldByIndex(field.Index)
	}
	return descend(into.FieldByIndex(field.Index), usual, path[1:], decode)
}
