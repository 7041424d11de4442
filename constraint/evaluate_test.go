package constraint_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/constrainttest"
)

// TestEvaluateIsTheDefinition holds the judge to a twin that follows the words of the definition:
// container by container, counting anew for each.
func TestEvaluateIsTheDefinition(t *testing.T) {
	cases := 10_000
	if testing.Short() {
		cases = 1000
	}
	violated, loose := 0, int64(0)
	for seed := range cases {
		chance := rand.New(rand.NewPCG(uint64(seed), 1))
		p := constrainttest.Draw(chance, constrainttest.Size{Nodes: 6, Applications: 4, Containers: 5, Constraints: 6})
		a := constrainttest.Scatter(chance, p)
		got, want := constraint.Evaluate(p, a), slowly(p, a)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d (-twin +judge):\n%s\n%+v", seed, d, a)
		}
		violated += got.Violated
		loose += got.Parts.Loose
	}
	if violated < cases/2 || loose < int64(cases)/10 {
		t.Errorf("%d violated and %d loose containers in %d cases: they show too little", violated, loose, cases)
	}
}

// slowly is the twin of Evaluate.
func slowly(p *constraint.Problem, a constraint.Assignment) constraint.Report {
	var r constraint.Report
	bad := map[int32]bool{}
	row := int32(0)
	for _, c := range p.Constraints {
		var best constraint.Verdict
		var found []constraint.Violation
		least := math.Inf(1)
		for q, bounds := range c.Any {
			v := constraint.Verdict{Alternative: int32(q)}
			var all []constraint.Violation
			for _, b := range bounds {
				for _, one := range subjects(p, a, &b) {
					v.Subjects++
					if one.Count < b.Min || one.Count > b.Max {
						one.Bound = row
						all = append(all, one)
						v.Misses += missing(&b, one.Count)
					}
				}
				row++
			}
			v.Violations = len(all)
			price := float64(v.Violations)
			if !c.Hard {
				price = 1000*float64(p.Objective.Violation)*float64(v.Violations) + float64(p.Objective.Extent)*float64(v.Misses)
			}
			if price < least {
				best, found, least = v, all, price
			}
		}
		if !c.Hard {
			best.Cost = int64(math.Floor(least * float64(c.Weight) / 1e6))
		}
		r.Verdicts = append(r.Verdicts, best)
		r.Violations = append(r.Violations, found...)
		r.Parts.Violations += int64(len(found))
		r.Score += best.Cost
		for _, v := range found {
			if v.Container != constraint.Nowhere {
				bad[v.Container] = true
			}
		}
	}
	r.Violated = len(bad)
	for i := range a {
		if a[i] != constraint.Nowhere && bound(p, i) {
			r.Constrained++
		}
	}
	countRest(p, a, &r)
	return r
}

// missing is the extent of a violation, in thousandths, rounded up.
func missing(b *cluster.Bound, count int32) int64 {
	if count < b.Min {
		return int64(math.Ceil(1000 * float64(b.Min-count) / float64(b.Min)))
	}
	return int64(math.Ceil(1000 * float64(count-b.Max) / math.Max(float64(b.Max), 1)))
}

// bound reports whether the container is subject to anything.
func bound(p *constraint.Problem, i int) bool {
	for _, c := range p.Constraints {
		for _, bounds := range c.Any {
			for _, b := range bounds {
				if len(b.Subject) > 0 && has(p, i, b.Subject) {
					return true
				}
			}
		}
	}
	return false
}

func has(p *constraint.Problem, i int, tags []string) bool {
	for _, tag := range tags {
		if !slices.Contains(p.Shapes[p.Containers[i].Shape].Tags, tag) {
			return false
		}
	}
	return true
}

// setOf is the set of the group of that name that the node is in.
func setOf(p *constraint.Problem, group string, node int32) int32 {
	for _, g := range p.Groups {
		if g.Name == group {
			return g.SetOf[node]
		}
	}
	return constraint.Nowhere
}

// subjects are all whom the bound binds, with what each counts.
func subjects(p *constraint.Problem, a constraint.Assignment, b *cluster.Bound) []constraint.Violation {
	var all []constraint.Violation
	count := func(set int32, but int) (n int32) {
		for i := range a {
			if i != but && set != constraint.Nowhere && a[i] != constraint.Nowhere && has(p, i, b.Target) && setOf(p, b.Group, a[i]) == set {
				n++
			}
		}
		return n
	}
	if len(b.Subject) == 0 {
		sets := map[int32]bool{}
		for n := range p.Nodes {
			sets[setOf(p, b.Group, int32(n))] = true
		}
		for set := range int32(len(p.Nodes) + 3) {
			if sets[set] {
				all = append(all, constraint.Violation{Container: constraint.Nowhere, Set: set, Count: count(set, -1)})
			}
		}
		return all
	}
	for i := range a {
		if a[i] == constraint.Nowhere || !has(p, i, b.Subject) {
			continue
		}
		set, but := setOf(p, b.Group, a[i]), i
		if b.SelfCounted {
			but = -1
		}
		all = append(all, constraint.Violation{Container: int32(i), Set: set, Count: count(set, but)})
	}
	return all
}

// countRest counts applications, moves and what is taken of nodes.
func countRest(p *constraint.Problem, a constraint.Assignment, r *constraint.Report) {
	o := p.Objective
	missed := map[int32]bool{}
	for i, c := range p.Containers {
		app := p.Shapes[c.Shape].Application
		switch {
		case a[i] != constraint.Nowhere:
		case p.Applications[app].Deployed:
			r.Parts.Loose++
		default:
			missed[app] = true
		}
	}
	r.Parts.Unplaced = int64(len(missed))
	peak := 0.0
	for n, node := range p.Nodes {
		used, short := false, false
		for k := range p.Kinds {
			left := node.Free[k]
			for i, c := range p.Containers {
				q := p.Shapes[c.Shape].Demand[k]
				if c.At == int32(n) {
					left += q
				}
				if a[i] == int32(n) {
					left -= q
					used = true
				}
			}
			short = short || o.Least != nil && left < o.Least[k]
			if node.Capacity[k] > 0 {
				peak = math.Max(peak, float64(node.Capacity[k]-left)/float64(node.Capacity[k]))
			}
		}
		if used {
			r.Parts.Used++
		}
		if short {
			r.Parts.Fragmented++
		}
	}
	for i, c := range p.Containers {
		if c.At != constraint.Nowhere && c.At != a[i] {
			r.Parts.Moved++
		}
	}
	r.Parts.Peak = int64(math.Floor(1000*peak + 1e-9))
	r.Score += o.Unplaced*r.Parts.Unplaced + o.Loose*r.Parts.Loose + o.Moved*r.Parts.Moved
	r.Score += o.Fragmented*r.Parts.Fragmented + o.Used*r.Parts.Used
	r.Score += int64(math.Floor(float64(o.Peak)*peak + 1e-9))
}
