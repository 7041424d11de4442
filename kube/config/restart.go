package config

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"

	"fairlead.dev/fairlead/class"
)

// This file compares a configuration with one that came later, while the scheduler runs:
// the classes may change under way, all else is read at the start.

// NeedRestart names the fields in which the other one differs and that are read at the start
// only, in order: leaderElection.leaseDuration, profiles.
func (c *SchedulerConfiguration) NeedRestart(other *SchedulerConfiguration) []string {
	return differing("", reflect.ValueOf(c).Elem(), reflect.ValueOf(other).Elem())
}

// differing goes down to fields that are written as one value, and to lists.
func differing(path string, a, b reflect.Value) []string {
	t := a.Type()
	switch {
	case t == reflect.TypeFor[Classes]():
		// By the weights the policy sla orders, which are given to it when it is made.
		if !reflect.DeepEqual(tableOf(a).Criteria, tableOf(b).Criteria) {
			return []string{path + ".weights"}
		}
		return nil
	case t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		var names []string
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				names = append(names, differing(strings.TrimPrefix(path+"."+name, "."), a.FieldByIndex(f.Index), b.FieldByIndex(f.Index))...)
			}
		}
		return names
	case reflect.DeepEqual(a.Interface(), b.Interface()):
		return nil
	}
	return []string{path}
}

// tableOf is the table of classes; an empty one where there is none.
func tableOf(classes reflect.Value) *class.Table {
	return cmp.Or(classes.Interface().(Classes).Table, &class.Table{})
}
