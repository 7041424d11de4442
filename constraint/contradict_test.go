package constraint

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// TestContradictions reads stories: constraints, then what contradicts, an error or a
// warning; nothing if nothing does.
func TestContradictions(t *testing.T) {
	for story := range strings.SplitSeq(strings.TrimSpace(contradictions), "\n\n") {
		var constraints []cluster.Constraint
		var want []string
		k := Knowledge{}
		for line := range strings.Lines(story) {
			line = strings.TrimSpace(line)
			switch first, rest, _ := strings.Cut(line, " "); first {
			case "error:", "warning:":
				want = append(want, line)
			case "covering":
				k.Covering = strings.Fields(rest)
			case "#":
			default:
				constraints = append(constraints, parsed(t, line))
			}
		}
		var got []string
		for _, c := range Contradictions(constraints, k) {
			kind := "warning: "
			if c.Hard {
				kind = "error: "
			}
			got = append(got, kind+c.Sentence)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\nfound\n%s", story, strings.Join(got, "\n"))
		}
	}
}

const contradictions = `
# The same bound twice, without a number that suits both.
{a, {b, 0, 2}, node}: hard
{a, {b, 3, 5}, node}: hard
error: {a, {b, 3, 5}, node}: hard contradicts {a, {b, 0, 2}, node}: hard for a: the first asks for at least 3 other b in its node, the second allows at most 2 other b in its node

# One number suits both.
{a, {b, 0, 3}, node}: hard
{a, {b, 3, 5}, node}: hard

# One of them is soft.
{a, {b, 0, 2}, node}: hard
{a, {b, 3, 5}, node}: 7
warning: {a, {b, 3, 5}, node}: 7 contradicts {a, {b, 0, 2}, node}: hard for a: the first asks for at least 3 other b in its node, the second allows at most 2 other b in its node

# One that must be there, and none that may be.
{a, {b, 1, inf}, node}: hard
{a, {b, 0, 0}, node}: hard
error: {a, {b, 1, inf}, node}: hard contradicts {a, {b, 0, 0}, node}: hard for a: the first asks for at least 1 other b in its node, the second allows at most 0 other b in its node

# One counts itself: 3 in all against 4 in all; and 4 against 4.
{a, {a, 3, inf}, rack}: hard
{a, {a, 0, 3}, rack}: hard counted
error: {a, {a, 3, inf}, rack}: hard contradicts {a, {a, 0, 3}, rack}: hard counted for a: the first asks for at least 3 other a in its rack, the second allows at most 3 a in its rack

{a, {a, 3, inf}, rack}: hard
{a, {a, 0, 4}, rack}: hard counted

# Whoever is a & c is a. What is only c may do as it likes.
{a, {b, 0, 2}, node}: hard
{a & c, {b, 3, 5}, node}: hard
{c, {b, 3, 5}, node}: hard
error: {a & c, {b, 3, 5}, node}: hard contradicts {a, {b, 0, 2}, node}: hard for a & c: the first asks for at least 3 other b in its node, the second allows at most 2 other b in its node

# Whatever is b & c is b, and not the other way round.
{a, {b, 0, 2}, node}: hard
{a, {b & c, 3, 5}, node}: hard
error: {a, {b & c, 3, 5}, node}: hard contradicts {a, {b, 0, 2}, node}: hard for a: the first asks for at least 3 other b & c in its node, the second allows at most 2 other b in its node

{a, {b & c, 0, 2}, node}: hard
{a, {b, 3, 5}, node}: hard

# On a node there are no more than in its rack. Without the racks known, it may be in none.
{a, {b, 3, 5}, node}: hard
{a, {b, 0, 2}, rack}: hard
warning: {a, {b, 3, 5}, node}: hard contradicts {a, {b, 0, 2}, rack}: hard for a: the first asks for at least 3 other b in its node, the second allows at most 2 other b in its rack, except on a node that is in no rack

covering rack
{a, {b, 3, 5}, node}: hard
{a, {b, 0, 2}, rack}: hard
error: {a, {b, 3, 5}, node}: hard contradicts {a, {b, 0, 2}, rack}: hard for a: the first asks for at least 3 other b in its node, the second allows at most 2 other b in its rack

{a, {b, 3, 5}, node}: hard
{a, {b, 1, 2}, rack}: hard
error: {a, {b, 3, 5}, node}: hard contradicts {a, {b, 1, 2}, rack}: hard for a: the first asks for at least 3 other b in its node, the second allows at most 2 other b in its rack

{a, {b, 3, 5}, rack}: hard
{a, {b, 0, 2}, node}: hard

covering rack zone
{a, {b, 3, 5}, rack}: hard
{a, {b, 0, 2}, zone}: hard

# Whole sets.
{*, {b, 3, inf}, rack}: hard
{*, {b, 0, 2}, rack}: hard
{a, {b, 0, 1}, rack}: hard
error: {*, {b, 3, inf}, rack}: hard contradicts {*, {b, 0, 2}, rack}: hard for every rack: the first asks for at least 3 b in each rack, the second allows at most 2 b in each rack
warning: {*, {b, 3, inf}, rack}: hard contradicts {a, {b, 0, 1}, rack}: hard for a: the first asks for at least 3 b in each rack, the second allows at most 1 other b in its rack, except on a node that is in no rack

# Who is b itself may have two others where the rack has three.
{*, {b, 3, inf}, node}: hard
{b, {b, 0, 2}, node}: hard

# With itself: within a conjunction, in each of its alternatives, and alone.
{a, {b, 0, 2}, node} & {a, {b, 3, 5}, node}: hard
error: {a, {b, 0, 2}, node} & {a, {b, 3, 5}, node}: hard contradicts itself for a: {a, {b, 3, 5}, node} asks for at least 3 other b in its node, {a, {b, 0, 2}, node} allows at most 2 other b in its node

{a, {b, 0, 2}, node} & {a, {b, 3, 5}, node} | {a, {b, 0, 0}, node}: hard

{a, {a, 0, 0}, node}: hard counted
error: {a, {a, 0, 0}, node}: hard counted contradicts itself for a: each counts itself, and at most 0 are allowed in its node

# Alternatives: all pairs contradict, or one does not.
{a, {b, 0, 2}, node} | {a, {b, 7, 9}, node}: hard
{a, {b, 3, 6}, node}: hard
error: {a, {b, 3, 6}, node}: hard contradicts {a, {b, 0, 2}, node} | {a, {b, 7, 9}, node}: hard for a: the first asks for at least 3 other b in its node, the second allows at most 2 other b in its node, and so do all other alternatives

{a, {b, 0, 2}, node} | {a, {b, 6, 9}, node}: hard
{a, {b, 3, 6}, node}: hard

# Of different subjects both have to be there.
{a, {b, 0, 2}, node} | {c, {b, 0, 2}, node}: hard
{a, {b, 3, 5}, node} & {c, {b, 3, 5}, node}: hard
error: {a, {b, 3, 5}, node} & {c, {b, 3, 5}, node}: hard contradicts {a, {b, 0, 2}, node} | {c, {b, 0, 2}, node}: hard for a and c: the first asks for at least 3 other b in its node, the second allows at most 2 other b in its node, and so do all other alternatives`

// TestContradictionNames: sides are called by their names and owners.
func TestContradictionNames(t *testing.T) {
	constraints := []cluster.Constraint{parsed(t, "{a, {b, 0, 2}, node}: hard"), parsed(t, "{a, {b, 3, 5}, node}: hard")}
	constraints[0].Name, constraints[1].Owner = "few of b", "hbase"
	got := Contradictions(constraints, Knowledge{})
	const want = `{a, {b, 3, 5}, node}: hard of hbase contradicts "few of b" {a, {b, 0, 2}, node}: hard for a: the first asks`
	if len(got) != 1 || !strings.HasPrefix(got[0].Sentence, want) {
		t.Errorf("found %v, want %s", got, want)
	}
}

// TestContradictionsAreReal tries, for pairs of constraints that contradict, all small
// worlds in which the subjects are placed: in each of them something is violated.
func TestContradictionsAreReal(t *testing.T) {
	found, alternatives, nested, wider, both := 0, 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		tag := rapid.SampledFrom([]string{"a", "a", "b"})
		constraints := rapid.SliceOfN(anyConstraint(tag, 2), 12, 12).Draw(t, "constraints")
		racks := rapid.SampledFrom([][]int{{0, 0}, {0, 1}, {0, -1}}).Draw(t, "rack of each node")
		k := Knowledge{Covering: []string{"rack"}}
		if slices.Contains(racks, -1) {
			k.Covering = nil
		}
		for i := range constraints {
			constraints[i].Hard, constraints[i].Weight = true, 0
		}
		for _, c := range Contradictions(constraints, k) {
			if !c.Hard {
				continue
			}
			sides := []*cluster.Constraint{&constraints[c.Least.Constraint], &constraints[c.Most.Constraint]}
			least, most := &sides[0].Any[c.Least.Alternative][c.Least.Bound], &sides[1].Any[c.Most.Alternative][c.Most.Bound]
			found++
			alternatives += len(sides[0].Any) + len(sides[1].Any) - 2
			both += max(len(c.Subjects)-1, 0)
			if least.Group != most.Group {
				nested++
			}
			if len(least.Target) != len(most.Target) || len(least.Subject) != len(most.Subject) {
				wider++
			}
			w := world{racks: racks}
			if escaped := w.satisfies(sides, c.Subjects, 4); escaped != "" {
				t.Fatalf("%s\nbut nothing is violated by %s", c.Sentence, escaped)
			}
		}
	})
	t.Logf("%d contradictions, %d of alternatives, %d across groups, %d of wider tags, %d of two subjects", found, alternatives, nested, wider, both)
	if !testing.Short() && min(found, alternatives, nested, wider, both) == 0 {
		t.Error("some kind of contradiction was never tried")
	}
}

// world is containers on two nodes, each in a rack or in none, judged as the definition
// says.
type world struct {
	racks []int
	tags  [][]string
	at    []int
}

// satisfies looks for a world of no more containers than so many, one of each of the
// subjects among them, in which the constraints hold; empty if there is none.
func (w *world) satisfies(constraints []*cluster.Constraint, subjects [][]string, most int) string {
	enough := !slices.ContainsFunc(subjects, func(s []string) bool {
		return !slices.ContainsFunc(w.tags, func(tags []string) bool { return includes(tags, s) })
	})
	if enough && !slices.ContainsFunc(constraints, func(c *cluster.Constraint) bool { return !w.holds(c) }) {
		text := ""
		for i := range w.tags {
			text += " [" + strings.Join(w.tags[i], " ") + "] on " + string(rune('0'+w.at[i]))
		}
		return "nodes in racks:" + text
	}
	if len(w.tags) == most {
		return ""
	}
	for _, tags := range [][]string{{"a"}, {"a", "b"}, {"b"}} {
		for node := range w.racks {
			// In one order alone, as containers that are alike may be exchanged.
			if n := len(w.tags); n > 0 && slices.Compare(w.tags[n-1], tags) > 0 {
				continue
			}
			more := world{w.racks, append(slices.Clone(w.tags), tags), append(slices.Clone(w.at), node)}
			if text := more.satisfies(constraints, subjects, most); text != "" {
				return text
			}
		}
	}
	return ""
}

func (w *world) holds(c *cluster.Constraint) bool {
	return slices.ContainsFunc(c.Any, func(bounds []cluster.Bound) bool {
		return !slices.ContainsFunc(bounds, func(b cluster.Bound) bool { return !w.bound(&b) })
	})
}

// bound asks each subject, or each set, in turn.
func (w *world) bound(b *cluster.Bound) bool {
	set := func(node int) int {
		if b.Group == cluster.EachNode {
			return node
		}
		return w.racks[node]
	}
	count := func(s, except int) (n int32) {
		for i, tags := range w.tags {
			if set(w.at[i]) == s && s >= 0 && i != except && includes(tags, b.Target) {
				n++
			}
		}
		return n
	}
	if len(b.Subject) == 0 {
		for node := range w.racks {
			if s := set(node); s >= 0 && b.Misses(count(s, -1)) > 0 {
				return false
			}
		}
		return true
	}
	for i, tags := range w.tags {
		except := i
		if b.SelfCounted {
			except = -1
		}
		if includes(tags, b.Subject) && b.Misses(count(set(w.at[i]), except)) > 0 {
			return false
		}
	}
	return true
}
