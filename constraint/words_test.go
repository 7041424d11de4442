package constraint

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// parsed is a constraint that must be one.
func parsed(t *testing.T, text string) cluster.Constraint {
	t.Helper()
	c, err := Parse(text)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return c
}

func TestExplain(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// The paper's example: four to eleven in all, where its own reading is three to ten.
		{"{spark, {spark, 3, 10}, rack}", "Each rack that holds spark holds 4 to 11 of them (3 to 10 others beside each; counted, it would be 3 to 10 in all)."},
		{"{spark, {spark, 3, 10}, rack}: counted", "Each rack that holds spark holds 3 to 10 of them (each counts itself)."},
		{"{spark, {spark, 0, 10}, rack}", "No rack holds more than 11 spark (at most 10 others beside each; counted, it would be at most 10 in all)."},
		{"{spark, {spark, 3, inf}, rack}", "Each rack that holds spark holds at least 4 of them (at least 3 others beside each; counted, it would be at least 3 in all)."},
		{"{hb, {hb, 0, 2}, node}: counted", "No node holds more than 2 hb (each counts itself)."},
		{"{a, {a, 0, 0}, node}", "No node holds more than 1 a (no others beside each)."},
		{"{a, {a, 0, 0}, node}: counted", "No node may hold a, as each counts itself."},
		{"{a, {a, 2, 2}, node}", "Each node that holds a holds exactly 3 of them (exactly 2 others beside each; counted, it would be exactly 2 in all)."},
		{"{a & b, {a, 1, 2}, node}", "Each node that holds a & b holds 2 to 3 a, itself among them (1 to 2 others beside each; counted, it would be 1 to 2 in all)."},
		{"{storm, {hb & mem, 1, inf}, node}", "Each node that holds storm holds at least 1 other hb & mem."},
		{"{storm, {hb, 0, 0}, upgrade_domain}", "No upgrade_domain that holds storm holds another hb."},
		{"{storm, {hb, 0, 3}, node}: counted", "Each node that holds storm holds at most 3 hb, counting also those that are both."},
		{"{*, {web, 2, 5}, zone}", "Each zone holds 2 to 5 web."},
		{"{*, {web, 0, 0}, topology.kubernetes.io/zone}", "No set of topology.kubernetes.io/zone holds web."},
		{"{a, {b, 0, inf}, node}", "How many b a node holds does not matter."},
		{
			"{a, {b, 1, inf}, node} & {*, {a, 0, 4}, rack} | {a, {b, 0, 0}, rack}",
			"One of these holds, the same one for all: (1) each node that holds a holds at least 1 other b, and each rack holds at most 4 a; or (2) no rack that holds a holds another b.",
		},
	} {
		constraint := parsed(t, c.text)
		if got := Explain(&constraint); got != c.want+" Soft: each violation costs 1." {
			t.Errorf("%s\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
	for text, want := range map[string]string{": hard": "Hard: nothing is placed that violates it.", ": 2.5": "Soft: each violation costs 2.5."} {
		constraint := parsed(t, "{a, {b, 1, inf}, node}"+text)
		if got := Explain(&constraint); !strings.HasSuffix(got, want) {
			t.Errorf("%q ends with %q", text, got)
		}
	}
}

// TestTotals: in a set of so many targets, of which some are subjects, the bound holds for
// those exactly where their total is within what the words say.
func TestTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := anyBound(t, rapid.SampledFrom([]string{"a", "b"}), 4)
		least, most, known := totals(&b)
		if !known {
			if includes(b.Subject, b.Target) && len(b.Subject) > 0 {
				t.Fatalf("%s: totals are not known", FormatBound(&b))
			}
			return
		}
		for total := int32(1); total < 9; total++ {
			count := total - 1
			if b.SelfCounted {
				count++
			}
			if holds := b.Misses(count) == 0; holds != (least <= total && total <= most) {
				t.Fatalf("%s: a set of %d, each of which counts %d; the words say %d to %d", FormatBound(&b), total, count, least, most)
			}
		}
	})
}

func TestIncludes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.ID)
		tags, others := some.Draw(t, "tags"), some.Draw(t, "others")
		want := !slices.ContainsFunc(others, func(o string) bool { return !slices.Contains(tags, o) })
		slices.Sort(tags)
		slices.Sort(others)
		if includes(tags, others) != want {
			t.Fatalf("%q includes %q: %v", tags, others, !want)
		}
	})
}
