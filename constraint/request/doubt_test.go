package request

import (
	"strings"
	"testing"
)

// What is said of constraints says where they are written and what they are called, in one
// application as in another.
func TestDoubts(t *testing.T) {
	const cluster = "nodes: [{name: a, capacity: {cpu: 8}, groups: {zone: z1}}]\n"
	shop := func(constraints string) string {
		return cluster + "applications:\n- name: shop\n  containers: [{name: w, demand: {cpu: 1}, tags: [web]}]\n  constraints:\n" + constraints
	}
	for _, tc := range []struct{ about, text, want string }{
		{"nothing", shop("  - '{web, {web, 0, 0}, zone}'\n"), ""},
		{
			"twice", shop("  - '{web, {web, 0, 0}, zone}'\n  - '{web, {web, 0, 0}, zone}'\n"),
			"warning: f:7:5: {web, {web, 0, 0}, zone} of shop: is written on line 6, column 5 too, and counts twice",
		},
		{
			"a group, and a tag of the operator's", shop("  - {name: apart, text: '{web, {web, 0, 0}, zoen}'}\nconstraints: ['{wbe, {web, 0, 0}, node}: hard']\n"),
			"warning: f:6:5: apart {web, {web, 0, 0}, zoen} of shop: no node is in a group zoen; did you mean zone?\n" +
				"warning: f:7:15: {wbe, {web, 0, 0}, node}: hard: no container has the tag wbe; did you mean web?",
		},
		{
			"who contradict softly", shop("  - '{web, {web, 3, inf}, zone}'\nconstraints: ['{web, {web, 0, 1}, zone}: hard']\n"),
			"warning: f:6:5: {web, {web, 3, inf}, zone} of shop contradicts {web, {web, 0, 1}, zone}: hard for web: " +
				"the first asks for at least 3 other web in its zone, the second allows at most 1 other web in its zone (the second is on line 7, column 15)",
		},
		{
			"who contradict", shop("  - '{web, {web, 3, inf}, zone}: hard'\nconstraints: ['{web, {web, 0, 1}, zone}: hard']\n"),
			"f:6:5: constraints contradict: {web, {web, 3, inf}, zone}: hard of shop contradicts {web, {web, 0, 1}, zone}: hard for web: " +
				"the first asks for at least 3 other web in its zone, the second allows at most 1 other web in its zone (the second is on line 7, column 15)",
		},
		{
			"who contradicts itself", shop("  - '{web, {web, 0, 0}, zone}: hard counted'\n"),
			"f:6:5: constraints contradict: {web, {web, 0, 0}, zone}: hard counted of shop contradicts itself for web: each counts itself, and at most 0 are allowed in its zone",
		},
	} {
		r, err := Read("f", []byte(tc.text))
		if err != nil {
			t.Fatalf("%s: %v", tc.about, err)
		}
		if got := doubts(r); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.about, got, tc.want)
		}
		// Of what no file wrote only the place is missing.
		unwritten := New(r.Problem, r.Parts)
		unwritten.Problem.Constraints = append(unwritten.Problem.Constraints, unwritten.Problem.Constraints[0])
		if got := doubts(unwritten); !strings.Contains(got, " of shop: is there twice, and counts twice") && !strings.HasPrefix(got, "constraints contradict: ") || strings.Contains(got, "f:") {
			t.Errorf("%s, unwritten:\n%s", tc.about, got)
		}
	}
}

// doubts are the warnings of a request, or what is wrong with it.
func doubts(r *Request) string {
	warnings, err := r.Contradictions()
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, w := range append(warnings, r.Warnings()...) {
		all = append(all, "warning: "+w)
	}
	return strings.Join(all, "\n")
}
