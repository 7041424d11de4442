package constraint

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
)

func TestWarnings(t *testing.T) {
	k := Knowledge{Tags: []string{"app:hbase", "hb", "mem", "b c"}, Groups: []string{"rack", "zone"}}
	for _, c := range []struct {
		texts []string
		k     Knowledge
		want  []string
	}{
		{[]string{"{hb, {mem, 1, inf}, node}", "{*, {app:hbase, 0, 1}, rack}"}, k, nil},
		{[]string{"{hb, {mme, 1, inf}, node}"}, k, []string{"no container has the tag mme; did you mean mem?"}},
		{[]string{"{app:hbsae, {app:hbsae, 1, inf}, node}"}, k, []string{"no container has the tag app:hbsae; did you mean app:hbase?"}},
		{[]string{`{"b d", {hb, 1, inf}, racks}`}, k, []string{"no node is in a group racks; did you mean rack?", `no container has the tag "b d"; did you mean "b c"?`}},
		{[]string{"{hb, {hb, 1, inf}, nodes}"}, k, []string{"no node is in a group nodes; did you mean node?"}},
		// Of groups that are as near, every node by itself is meant: that one is always there.
		{[]string{"{x, {y, 1, inf}, nod}"}, Knowledge{Groups: []string{"nods"}}, []string{"no node is in a group nod; did you mean node?"}},
		{[]string{"{hb, {hb, 1, inf}, upgrade_domain}"}, k, []string{"no node is in a group upgrade_domain"}},
		{[]string{"{hb, {mem, 0, inf}, node}"}, k, []string{"{hb, {mem, 0, inf}, node} asks nothing"}},
		{[]string{"{hb, {mem, 1, inf}, node}", "{hb, {mem, 1, 2}, node}", "{hb,{mem,1,inf},node}"}, k, []string{"is the same as constraint 1, and counts twice"}},
		// What is not known is not missed.
		{[]string{"{x, {y, 1, inf}, z}"}, Knowledge{}, nil},
		{[]string{"{x, {y, 1, inf}, z}"}, Knowledge{Groups: []string{}}, []string{"no node is in a group z"}},
	} {
		var constraints []cluster.Constraint
		for _, text := range c.texts {
			constraints = append(constraints, parsed(t, text))
		}
		var got []string
		for _, w := range Warnings(constraints, c.k) {
			got = append(got, w.Sentence)
			if w.Constraint < 0 || w.Constraint >= len(constraints) {
				t.Errorf("%q is about constraint %d", w.Sentence, w.Constraint)
			}
			if twice := strings.HasPrefix(w.Sentence, "is the same as"); twice != (w.Same == 0) || !twice && w.Same != -1 {
				t.Errorf("%q says the same as constraint %d", w.Sentence, w.Same)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.texts, got, c.want)
		}
	}
}

func TestKnown(t *testing.T) {
	p := &Problem{
		Groups: []Group{
			{Name: cluster.EachNode, SetOf: []int32{0, 1}},
			{Name: "rack", SetOf: []int32{0, 0}},
			{Name: "zone", SetOf: []int32{0, Nowhere}},
		},
		Shapes: []Shape{{Tags: []string{"b", "c"}}, {Tags: []string{"a", "b"}}},
	}
	want := Knowledge{Tags: []string{"a", "b", "c"}, Groups: []string{"node", "rack", "zone"}, Covering: []string{"node", "rack"}}
	if diff := cmp.Diff(want, Known(p)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
