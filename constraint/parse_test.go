package constraint

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// bound is a bound with tags as Parse sorts them.
func bound(subject, target string, least, most int32, group string) cluster.Bound {
	return cluster.Bound{Subject: strings.Fields(subject), Target: strings.Fields(target), Min: least, Max: most, Group: group}
}

func TestParse(t *testing.T) {
	const soft = cluster.DefaultWeight
	one := func(b ...cluster.Bound) [][]cluster.Bound { return [][]cluster.Bound{b} }
	self := func(b cluster.Bound) cluster.Bound { b.SelfCounted = true; return b }
	storm := bound("storm", "hb mem", 1, cluster.Unbounded, "node")
	spark := bound("spark", "spark", 3, 10, "rack")
	for _, c := range []struct {
		text string
		want cluster.Constraint
		name string // the text as Format writes it
	}{
		// The two examples of the paper, with its signs and with ours.
		{"{storm, {hb ∧ mem, 1, ∞}, node}", cluster.Constraint{Any: one(storm), Weight: soft}, "{storm, {hb & mem, 1, inf}, node}"},
		{"{spark, {spark, 3, 10}, rack}", cluster.Constraint{Any: one(spark), Weight: soft}, "{spark, {spark, 3, 10}, rack}"},
		{"{storm,{mem&hb,1,inf},node}:hard", cluster.Constraint{Any: one(storm), Hard: true}, "{storm, {hb & mem, 1, inf}, node}: hard"},
		{"{spark, {spark, 3, 10}, rack}: counted", cluster.Constraint{Any: one(self(spark)), Weight: soft}, "{spark, {spark, 3, 10}, rack}: counted"},
		{"{spark, {spark, 3, 10}, rack} : counted hard", cluster.Constraint{Any: one(self(spark)), Hard: true}, "{spark, {spark, 3, 10}, rack}: hard counted"},
		{"{spark, {spark, 3, 10}, rack}: 02.50", cluster.Constraint{Any: one(spark), Weight: 2500}, "{spark, {spark, 3, 10}, rack}: 2.5"},
		{"{spark, {spark, 3, 10}, rack}: 0.001 counted", cluster.Constraint{Any: one(self(spark)), Weight: 1}, "{spark, {spark, 3, 10}, rack}: 0.001 counted"},
		{"{spark, {spark, 3, 10}, rack}: 1000000", cluster.Constraint{Any: one(spark), Weight: cluster.MaxWeight}, "{spark, {spark, 3, 10}, rack}: 1000000"},
		{"{spark, {spark, 3, 10}, rack}: 1.000", cluster.Constraint{Any: one(spark), Weight: soft}, "{spark, {spark, 3, 10}, rack}"},
		// Every set of the group; several bounds; alternatives.
		{"{*, {web, 2, 5}, zone}", cluster.Constraint{Any: one(bound("", "web", 2, 5, "zone")), Weight: soft}, "{*, {web, 2, 5}, zone}"},
		{
			"{storm, {hb & mem, 1, inf}, node} & {spark, {spark, 3, 10}, rack} | {*, {web, 0, 0}, zone}: hard counted",
			cluster.Constraint{Any: [][]cluster.Bound{{self(storm), self(spark)}, {bound("", "web", 0, 0, "zone")}}, Hard: true},
			"{storm, {hb & mem, 1, inf}, node} & {spark, {spark, 3, 10}, rack} | {*, {web, 0, 0}, zone}: hard counted",
		},
		{
			"{storm, {hb & mem, 1, inf}, node} ∧ {spark, {spark, 3, 10}, rack, counted} # one of both\n ∨ {*, {web, 0, 0}, zone}",
			cluster.Constraint{Any: [][]cluster.Bound{{storm, self(spark)}, {bound("", "web", 0, 0, "zone")}}, Weight: soft},
			"{storm, {hb & mem, 1, inf}, node} & {spark, {spark, 3, 10}, rack, counted} | {*, {web, 0, 0}, zone}",
		},
		// Tags with and without quotes.
		{"{app:hbase, {k8s:ns/app.io/name=größe_1, 0, 0}, topology.kubernetes.io/zone}", cluster.Constraint{
			Any: one(bound("app:hbase", "k8s:ns/app.io/name=größe_1", 0, 0, "topology.kubernetes.io/zone")), Weight: soft,
		}, "{app:hbase, {k8s:ns/app.io/name=größe_1, 0, 0}, topology.kubernetes.io/zone}"},
		{`{"a", {"b c" & "*" & "é\"\\\n", 0, 1}, "up per"}`, cluster.Constraint{
			Any: one(cluster.Bound{Subject: []string{"a"}, Target: []string{"*", "b c", "é\"\\\n"}, Max: 1, Group: "up per"}), Weight: soft,
		}, `{a, {"*" & "b c" & "é\"\\\n", 0, 1}, "up per"}`},
		{"{inf, {hard & counted, 0, 1}, inf}: hard", cluster.Constraint{Any: one(bound("inf", "counted hard", 0, 1, "inf")), Hard: true}, "{inf, {counted & hard, 0, 1}, inf}: hard"},
		{`{":a", {7, 7, 7}, node}`, cluster.Constraint{Any: one(bound(":a", "7", 7, 7, "node")), Weight: soft}, `{":a", {7, 7, 7}, node}`},
	} {
		got, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		c.want.Name = c.name
		for _, bounds := range c.want.Any {
			for i := range bounds {
				if len(bounds[i].Subject) == 0 {
					bounds[i].Subject, bounds[i].SelfCounted = nil, false
				}
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", c.text, diff)
		}
	}
}

// TestParseRefuses reads each mistake with the caret under the character where reading
// stopped, what was expected there, and what to do.
func TestParseRefuses(t *testing.T) {
	for story := range strings.SplitSeq(strings.TrimSpace(mistakes), "\n\n") {
		text, want, _ := strings.Cut(story, "\n")
		_, err := Parse(strings.ReplaceAll(text, `\n`, "\n"))
		if err == nil {
			t.Errorf("%s is read", text)
			continue
		}
		if got := err.Error(); got != want {
			t.Errorf("%s\ngives\n%s\nwant\n%s", text, got, want)
		}
	}
}

// mistakes are texts, each with its error below it; \n is the end of a line.
const mistakes = `
{storm {hb, 1, inf}, node}
column 8: expected ",", found "{"
    {storm {hb, 1, inf}, node}
           ^
    a constraint looks like {storm, {hb & mem, 1, inf}, node}: hard

{storm, {hb mem, 1, inf}, node}
column 13: expected "," and the least count, found mem
    {storm, {hb mem, 1, inf}, node}
                ^
    tags are joined by &: hb & mem

{storm, {hb | mem, 1, inf}, node}
column 13: expected "," and the least count, found "|"
    {storm, {hb | mem, 1, inf}, node}
                ^
    tags are joined by & alone; alternatives are whole bounds: {a, {b, 1, inf}, node} | {a, {c, 1, inf}, node}

{storm, {hb && mem, 1, inf}, node}
column 14: expected a tag, found "&"
    {storm, {hb && mem, 1, inf}, node}
                 ^
    a constraint looks like {storm, {hb & mem, 1, inf}, node}: hard

{storm, hb, 1, inf, node}
column 9: expected "{", found hb
    {storm, hb, 1, inf, node}
            ^
    what is counted stands in braces of its own: {storm, {hb, 1, inf}, node}

{storm, {hb, inf, inf}, node}
column 14: the least count cannot be inf
    {storm, {hb, inf, inf}, node}
                 ^
    only the most can: {hb, 1, inf}

{storm, {hb, -1, 2}, node}
column 14: expected the least count, found -1
    {storm, {hb, -1, 2}, node}
                 ^
    counts are whole numbers from 0 to 1073741824

{storm, {hb, 1, infinite}, node}
column 17: expected the most, a number or inf, found infinite
    {storm, {hb, 1, infinite}, node}
                    ^
    without a limit is written inf

{storm, {hb, 1, 1073741825}, node}
column 17: 1073741825 is more than 1073741824
    {storm, {hb, 1, 1073741825}, node}
                    ^
    without a limit is written inf

{storm, {hb, 5, 3}, node}
column 17: the most, 3, is less than the least, 5
    {storm, {hb, 5, 3}, node}
                    ^
    the least comes first

{storm, {hb, 1}, node}
column 15: expected "," and the most, a number or inf, found "}"
    {storm, {hb, 1}, node}
                  ^
    both the least and the most are given: {hb, 1, inf}, {hb, 0, 0}

{storm, {hb, 1, inf}}
column 21: expected "," and the group of nodes, found "}"
    {storm, {hb, 1, inf}}
                        ^
    each bound names a group: node, rack or another family of node sets

{storm, {hb, 1, inf}, node
column 27: expected "}", found the end
    {storm, {hb, 1, inf}, node
                              ^
    a bound looks like {storm, {hb & mem, 1, inf}, node}; options such as hard stand behind it, after a colon

{storm, {hb, 1, inf}, node, hard}
column 29: expected counted, found hard
    {storm, {hb, 1, inf}, node, hard}
                                ^
    behind the group, only counted may stand; hard and weights stand behind the constraint, after a colon

{storm, {hb, 1, inf}, node}: hrad
column 30: "hrad" is not a weight, which is a number such as 2.5
    {storm, {hb, 1, inf}, node}: hrad
                                 ^
    did you mean hard?

{storm, {hb, 1, inf}, node}: hard 2
column 35: 2 is one option too many
    {storm, {hb, 1, inf}, node}: hard 2
                                      ^
    a constraint is hard or has one weight, and is counted or not

{storm, {hb, 1, inf}, node}: 0
column 30: weight 0, want 0.001 to 1000000
    {storm, {hb, 1, inf}, node}: 0
                                 ^
    behind the colon stand hard, a weight such as 2.5, or counted

{storm, {hb, 1, inf}, node}: 1.2345
column 30: 1.2345 is finer than a thousandth
    {storm, {hb, 1, inf}, node}: 1.2345
                                 ^
    behind the colon stand hard, a weight such as 2.5, or counted

{storm, {hb, 1, inf}, node}:
column 29: expected hard, a weight or counted, found the end
    {storm, {hb, 1, inf}, node}:
                                ^
    a constraint looks like {storm, {hb & mem, 1, inf}, node}: hard

{*, {hb, 1, inf}, node}: counted
column 26: bounds of * bind whole sets, in which nobody is there to count itself
    {*, {hb, 1, inf}, node}: counted
                             ^
    remove counted

{*, {hb, 1, inf}, node, counted} & {a, {b, 0, 0}, node}
column 25: a bound of * binds whole sets, in which nobody is there to count itself
    {*, {hb, 1, inf}, node, counted} & {a, {b, 0, 0}, node}
                            ^
    remove counted

{* & a, {hb, 1, inf}, node}
column 4: expected ",", found "&"
    {* & a, {hb, 1, inf}, node}
       ^
    * stands alone, as the subject, and means every set of the group

{a & *, {hb, 1, inf}, node}
column 6: expected a tag, or *, found "*"
    {a & *, {hb, 1, inf}, node}
         ^
    * stands alone, as the subject, and means every set of the group

{a & b & a, {hb, 1, inf}, node}
column 10: tag a stands here twice
    {a & b & a, {hb, 1, inf}, node}
             ^
    keep one

{a, {"", 1, inf}, node}
column 6: expected a tag, found nothing between the quotes
    {a, {"", 1, inf}, node}
         ^

{a, {"b, 1, inf}, node}
column 6: expected a tag, found a quote that is not closed
    {a, {"b, 1, inf}, node}
         ^
    a tag in quotes ends with ", and has \" and \\ for " and \

{a, {'b', 1, inf}, node}
column 6: expected a tag, found "'"
    {a, {'b', 1, inf}, node}
         ^
    only double quotes are quotes: "a tag"

{a, {b$c, 1, inf}, node}
column 7: expected "," and the least count, found "$"
    {a, {b$c, 1, inf}, node}
          ^
    a tag with other characters than letters, digits and -_./:=@+~ stands in quotes: "a tag"

{a, {b, 1, inf}, node} && {a, {c, 1, inf}, node}
column 25: expected "{", found "&"
    {a, {b, 1, inf}, node} && {a, {c, 1, inf}, node}
                            ^
    a single & or | stands between two bounds

{a, {b, 1, inf}, node} {a, {c, 1, inf}, node}
column 24: expected "&", "|", ":" or the end, found "{"
    {a, {b, 1, inf}, node} {a, {c, 1, inf}, node}
                           ^
    one constraint stands in a text

{größe, {b, 1, inf}, node} &\n  {a, {c, x, inf}, node}
line 2, column 11: expected the least count, found x
      {a, {c, x, inf}, node}
              ^
    counts are whole numbers from 0 to 1073741824

größe, {b, 1, inf}, node
column 1: expected "{", found größe
    größe, {b, 1, inf}, node
    ^
    a constraint looks like {storm, {hb & mem, 1, inf}, node}: hard

{}
column 2: expected the tags of those who are bound, or *, found "}"
    {}
     ^
    a constraint looks like {storm, {hb & mem, 1, inf}, node}: hard`

// TestPrintAndParse: what is printed reads as the same.
func TestPrintAndParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyConstraint(rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "app:x", "inf", "hard", "*", ":", "#"}), rapid.StringN(1, 4, -1)), 3).Draw(t, "constraint")
		if err := cluster.CheckConstraint(&c); err != nil {
			t.Fatalf("the test's own constraint: %v", err)
		}
		c.Name = Format(&c)
		got, err := Parse(c.Name)
		if err != nil {
			t.Fatalf("%s\n%v", c.Name, err)
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Fatalf("%s: want -, got +:\n%s", c.Name, diff)
		}
		for _, bounds := range c.Any {
			for i := range bounds {
				alone, err := Parse(FormatBound(&bounds[i]))
				if err != nil || !cmp.Equal(alone.Any[0][0], bounds[i]) {
					t.Fatalf("%s: %v, %v", FormatBound(&bounds[i]), alone, err)
				}
			}
		}
	})
}

// anyConstraint draws constraints over tags, with counts up to the most, now and then
// without a limit.
func anyConstraint(tag *rapid.Generator[string], most int32) *rapid.Generator[cluster.Constraint] {
	return rapid.Custom(func(t *rapid.T) cluster.Constraint {
		c := cluster.Constraint{Hard: rapid.Bool().Draw(t, "hard")}
		if !c.Hard {
			c.Weight = rapid.OneOf(rapid.Just(cluster.DefaultWeight), rapid.Int64Range(1, cluster.MaxWeight)).Draw(t, "weight")
		}
		bounds := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) cluster.Bound { return anyBound(t, tag, most) }), 1, 2)
		c.Any = rapid.SliceOfN(bounds, 1, 2).Draw(t, "any")
		return c
	})
}

func anyBound(t *rapid.T, tag *rapid.Generator[string], most int32) cluster.Bound {
	sorted := func(least int, name string) []string {
		tags := rapid.SliceOfNDistinct(tag, least, 2, rapid.ID).Draw(t, name)
		if len(tags) == 0 {
			return nil
		}
		if len(tags) == 2 && tags[0] > tags[1] {
			tags[0], tags[1] = tags[1], tags[0]
		}
		return tags
	}
	b := cluster.Bound{
		Subject: sorted(0, "subject"), Target: sorted(1, "target"), Min: rapid.Int32Range(0, most).Draw(t, "min"),
		Max: cluster.Unbounded, Group: rapid.SampledFrom([]string{"node", "rack"}).Draw(t, "group"),
	}
	if rapid.IntRange(0, 3).Draw(t, "limited") > 0 {
		b.Max = rapid.Int32Range(b.Min, most).Draw(t, "max")
	}
	b.SelfCounted = len(b.Subject) > 0 && rapid.Bool().Draw(t, "counted")
	return b
}

// FuzzParse: no text makes the parser panic; what it accepts is a constraint, and its
// name reads as the same; where it stops is within the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"{storm, {hb ∧ mem, 1, ∞}, node} | {*, {b, 0, 3}, rack} & {a, {a, 0, 0}, node, counted}: 2.5",
		`{"a b", {"\x00", 1, inf}, node}: hard counted # so`, "{a, {b", "{", "\"", "{a,{b,1,2},n}:", "\xff",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			wrong, ok := errors.AsType[*SyntaxError](err)
			if !ok || wrong.Offset < 0 || wrong.Offset > len(text) || wrong.Problem == "" || utf8.ValidString(text) && !utf8.ValidString(wrong.Picture()) {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		if err := cluster.CheckConstraint(&c); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := Parse(c.Name)
		if err != nil || !cmp.Equal(c, again) {
			t.Fatalf("%q is %s, which reads as %v, %v", text, c.Name, again, err)
		}
	})
}

// TestArriving: what binds who comes is hard, or has a weight that is always said; and it is read where that is asked for alone.
func TestArriving(t *testing.T) {
	for text, canonical := range map[string]string{
		"{web, {cache, 1, inf}, zone, or-first}: arriving":                     "",
		"{web, {web, 0, 2}, zone, over-fewest}: arriving counted":              "",
		"{web, {web, 0, 2}, zone, over-fewest least-sets-3}: counted arriving": "{web, {web, 0, 2}, zone, over-fewest least-sets-3}: arriving counted",
		"{web, {cache, 1, inf}, zone}: arriving 0.5":                           "",
		"{web, {cache, 1, inf}, zone}: 1 arriving":                             "{web, {cache, 1, inf}, zone}: arriving 1",
		"{web, {cache, 1, inf}, zone}: arriving hard":                          "{web, {cache, 1, inf}, zone}: arriving",
		"{web, {web, 0, 0}, node} & {web, {b, 0, 0}, node}: arriving 2":        "",
	} {
		c, err := ParseArriving(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if canonical == "" {
			canonical = text
		}
		if got := Format(&c); got != canonical || !c.Arriving || c.Hard != (c.Weight == 0) {
			t.Errorf("%s: read as %s, hard: %t, with a weight of %d", text, got, c.Hard, c.Weight)
		}
		if _, err := Parse(text); err == nil {
			t.Errorf("%s: read where nothing binds who comes", text)
		}
	}
	for text, wrong := range map[string]string{
		"{web, {cache, 1, inf}, zone}: arriving arriving":             "one option too many",
		"{web, {cache, 1, inf}, zone}: arriving 1 2":                  "one option too many",
		"{web, {a, 0, 0}, node} | {web, {b, 0, 0}, node}: arriving 1": "one alternative",
	} {
		if _, err := ParseArriving(text); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want: %s", text, err, wrong)
		}
	}
}
