package constraint

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// pairwise is Contradictions as it was: all constraints with all others.
func pairwise(constraints []cluster.Constraint, k Knowledge) []Contradiction {
	f := finder{constraints: constraints, covering: map[string]bool{cluster.EachNode: true}}
	for _, group := range k.Covering {
		f.covering[group] = true
	}
	var found []Contradiction
	dead := make([]bool, len(constraints))
	for i := range constraints {
		if c, is := f.alone(i); is {
			found, dead[i] = append(found, c), true
		}
	}
	for i := range constraints {
		for j := i + 1; j < len(constraints) && !dead[i]; j++ {
			if dead[j] {
				continue
			}
			if c, is := f.together(i, j); is {
				found = append(found, c)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Contradiction) int {
		x, y := a.pair(), b.pair()
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	})
	return found
}

// TestAsAllPairs: what is found, and what is said of it, is what comparing all with all
// finds.
func TestAsAllPairs(t *testing.T) {
	pairs, alone := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		tag := rapid.SampledFrom([]string{"a", "a", "b", "b", "c", "d", "e"}[:rapid.IntRange(2, 7).Draw(t, "tags")])
		constraints := rapid.SliceOfN(anyConstraint(tag, int32(rapid.IntRange(1, 4).Draw(t, "most"))), 15, 40).Draw(t, "constraints")
		k := Knowledge{Covering: rapid.SampledFrom([][]string{nil, {"rack"}}).Draw(t, "covering")}
		want := pairwise(constraints, k)
		if diff := gocmp.Diff(want, Contradictions(constraints, k)); diff != "" {
			t.Fatalf("all pairs -, found +:\n%s", diff)
		}
		for i := range want {
			if p := want[i].pair(); p[0] == p[1] {
				alone++
			} else {
				pairs++
			}
		}
	})
	if t.Logf("%d pairs, %d alone", pairs, alone); !testing.Short() && min(pairs, alone) < 20 {
		t.Error("hardly anything contradicted")
	}
}

// manyConstraints are files of so many lines in which each constraint contradicts few others, if any, but for one at most.
func manyConstraints() map[string]func(i int) string {
	return map[string]func(i int) string{
		"an application each": func(i int) string { return fmt.Sprintf("{app%d, {app%d, 0, 0}, node}", i, i) },
		"apart from the same": func(i int) string { return fmt.Sprintf("{app%d, {batch, 0, %d}, node}", i, i%5) },
		"beside or apart from it": func(i int) string {
			return fmt.Sprintf("{app%d, {batch, %s}, node}", i, []string{"0, 0", "1, inf"}[i%2])
		},
		"one that the others allow": func(i int) string { return fmt.Sprintf("{web, {x%d, %s}, rack}", i, []string{"0, 0", "1, inf"}[i%2]) },
		"the same, with any number": func(i int) string { return fmt.Sprintf("{web, {db, %d, %d}, rack}", i, 30_000+i) },
		"one that asks for any": func(i int) string {
			return fmt.Sprintf("{web & z%d, {db & z%d, %s}, node}", i, i, []string{"0, 0", "1, inf"}[i%2])
		},
		"asking and allowing as much": func(i int) string { return fmt.Sprintf("{a%d, {db, %s}, node}", i/2, []string{"0, 7", "7, inf"}[i%2]) },
		"every set beside subjects": func(i int) string {
			return fmt.Sprintf([]string{"{*, {db, %[1]d, inf}, node}", "{a%[1]d, {db, 0, 40000}, node}"}[i%2], i)
		},
		"contradicting by twos": func(i int) string { return fmt.Sprintf("{a%d, {db, %s}, node}", i/2, []string{"0, 6", "7, inf"}[i%2]) },
		"one against all others": func(i int) string {
			return fmt.Sprintf("{a, {db, %s}, node}", []string{"50000, inf", fmt.Sprint("0, ", i)}[min(i, 1)])
		},
		"a group each":        func(i int) string { return fmt.Sprintf("{a, {db, %s}, g%d}", []string{"0, 6", "7, inf"}[i%2], i) },
		"the same many times": func(i int) string { return "{a, {b, 1, 3}, node} | {c, {b, 1, 3}, node}" },
	}
}

// TestWorkPerLine: twice as many lines are about twice as much work, and each line is some
// looks at kinds and bounds; with all pairs each was 4,000.
func TestWorkPerLine(t *testing.T) {
	for name, line := range manyConstraints() {
		const lines = 4_000
		alternative := make([][]cluster.Bound, lines)
		for i := range alternative {
			alternative[i] = parsed(t, line(i)).Any[0]
		}
		r := newRivals(alternative)
		found := 0
		for i := range alternative {
			found += len(r.of(i))
		}
		if per := float64(r.looks) / lines; per > 8 {
			t.Errorf("%s: %.1f looks a line", name, per)
		}
		if r.looks < found {
			t.Errorf("%s: %d conflicts are found by %d looks", name, found, r.looks)
		}
	}
}

// TestWarningsAreOfNames: an unknown name is looked for once, however many constraints have
// it.
func TestWarningsAreOfNames(t *testing.T) {
	w := newWarner(Knowledge{Tags: []string{"web"}, Groups: []string{}})
	b := parsed(t, "{wbe, {web, 0, 1}, rcak}").Any[0][0]
	first := w.of(&b)
	w.tags.known, w.groups.known = []string{"wbe2"}, []string{"rcak2"} // which a second search would find
	if diff := gocmp.Diff(first, w.of(&b)); diff != "" || len(first) != 2 {
		t.Errorf("first -, again +:\n%s", diff)
	}
}

// TestBothAskMore: two constraints each of which asks for more than the other allows
// contradict once.
func TestBothAskMore(t *testing.T) {
	constraints := []cluster.Constraint{
		parsed(t, "{a, {b, 2, inf}, node} & {a, {c, 0, 0}, node}: hard"),
		parsed(t, "{a, {d, 0, 0}, node}: hard"),
		parsed(t, "{a, {b, 0, 0}, node} & {a, {c, 2, inf}, node}: hard"),
	}
	want := pairwise(constraints, Knowledge{})
	if diff := gocmp.Diff(want, Contradictions(constraints, Knowledge{})); diff != "" || len(want) != 1 {
		t.Errorf("all pairs -, found +:\n%s", diff)
	}
}

func BenchmarkContradictions(b *testing.B) {
	for _, lines := range []int{1_000, 20_000} {
		for name, line := range manyConstraints() {
			b.Run(fmt.Sprintf("lines=%d/%s", lines, name), func(b *testing.B) {
				var constraints []cluster.Constraint
				for i := range lines {
					c, err := Parse(line(i))
					if err != nil {
						b.Fatal(err)
					}
					constraints = append(constraints, c)
				}
				for b.Loop() {
					Contradictions(constraints, Knowledge{})
				}
			})
		}
	}
}
