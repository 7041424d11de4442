package trace

import (
	"reflect"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestClone: a copy is the same, and shares no list with what it was made of, whatever
// fields a record gets.
func TestClone(t *testing.T) {
	r := Record{Time: 7, What: TaskSubmitted}
	for _, part := range []any{&r.Node, &r.Task} {
		for _, f := range reflect.ValueOf(part).Elem().Fields() {
			if f.Kind() == reflect.Slice {
				f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			}
		}
	}
	r.Constraint.Any = [][]cluster.Bound{{{Subject: []string{"a"}}}}
	own := r.Clone()
	if !reflect.DeepEqual(own, r) {
		t.Errorf("%+v, want %+v", own, r)
	}
	for _, parts := range [][2]any{{r.Node, own.Node}, {r.Task, own.Task}, {r.Constraint, own.Constraint}} {
		was, is := reflect.ValueOf(parts[0]), reflect.ValueOf(parts[1])
		for i := range was.NumField() {
			if f := was.Field(i); f.Kind() == reflect.Slice && f.Pointer() == is.Field(i).Pointer() {
				t.Errorf("the copy shares %s", was.Type().Field(i).Name)
			}
		}
	}
}
