package experiment

import (
	"math"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/planted"
)

// A container that violated a bound before and still does, wherever it stands now, is an
// inherited violation; what is the same bound on another container is new.
func TestInheritedViolations(t *testing.T) {
	before := []constraint.Violation{
		{Bound: 1, Container: 5, Set: 2, Count: 3}, {Bound: 1, Container: 6, Set: 2, Count: 3}, {Bound: 2, Container: constraint.Nowhere, Set: 4},
	}
	after := []constraint.Violation{
		{Bound: 1, Container: 5, Set: 7, Count: 1},
		{Bound: 1, Container: 8, Set: 2, Count: 3},
		{Bound: 2, Container: constraint.Nowhere, Set: 4, Count: 9},
		{Bound: 2, Container: constraint.Nowhere, Set: 5},
	}
	if got, want := compareViolations(before, after), (violating{before: 3, inherited: 2, added: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestVariation(t *testing.T) {
	if got := variation([]float64{2, 4, 4, 4, 5, 5, 7, 9}); math.Abs(got-0.4) > 1e-12 {
		t.Errorf("standard deviation 2 over mean 5: %g, want 0.4", got)
	}
	if got := variation([]float64{0, 0}); got != 0 {
		t.Errorf("no load at all: %g, want 0", got)
	}
}

// The witness of a planted problem, judged as a plan is: everything is placed, nothing
// violates, and the mean load is the utilisation that was asked for.
func TestJudgeWitness(t *testing.T) {
	d, err := planted.Draw(planted.Options{Nodes: 60, Applications: 5, Running: 3, Utilisation: 500, InterApp: 4, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	var out placed
	out.judge(&d.Problem, d.Witness)
	if out.violations() != 0 || out.applications != 5 || out.whole != 5 || out.added+out.inherited > 0 {
		t.Errorf("%+v", out)
	}
	mean := 0.0
	for _, load := range loads(&d.Problem, d.Witness) {
		mean += load / 60
	}
	if mean < 0.48 || mean > 0.65 { // the larger of two shares that are both 0.5 in the mean
		t.Errorf("the mean load is %.2f", mean)
	}
	var start placed
	start.judge(&d.Problem, d.Problem.Start())
	if start.whole != 0 || start.inherited != start.before {
		t.Errorf("as it is posed: %+v", start)
	}
}

// Nothing is inherited where nothing runs, though sets lack what is yet to be placed; what
// runs may wait for who is to come beside it.
func TestInherited(t *testing.T) {
	waiting := 0
	for seed := range uint64(12) {
		for _, running := range []int{0, 4} {
			d, err := planted.Draw(planted.Options{Nodes: 80, Applications: 4, Running: running, Utilisation: 600, InterApp: 4, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			got := inherited(&d.Problem)
			for _, v := range got {
				if v.Container == constraint.Nowhere || d.Problem.Containers[v.Container].At == constraint.Nowhere {
					t.Errorf("seed %d: %+v is inherited, of who does not run", seed, v)
				}
			}
			if waiting += len(got); running == 0 && len(got) > 0 {
				t.Errorf("seed %d: %d are inherited of nobody", seed, len(got))
			}
		}
	}
	if waiting == 0 {
		t.Error("nobody waits for anybody, so this shows nothing")
	}
}

// A goal that is met late is not met in time; and the last look within the time counts, not
// one after it.
func TestGoals(t *testing.T) {
	g := goal{"no violation", 10 * cluster.Millisecond, none}
	var a attained
	look := func(clock cluster.Time, ticks, violations int64) bool {
		s := sight{}
		s.judged.Parts.Violations = violations
		return a.note(&g, &s, clock, ticks)
	}
	if !look(2*cluster.Millisecond, 1000, 5) || !look(9*cluster.Millisecond, 2000, 3) || !look(11*cluster.Millisecond, 3000, 0) {
		t.Error("it stops before both time and ticks are used up")
	}
	if look(12*cluster.Millisecond, g.ticks()+1, 0) {
		t.Error("it goes on with time and ticks used up")
	}
	if a.inTime.judged.Parts.Violations != 3 || a.inTicks.judged.Parts.Violations != 0 || !a.met || a.after != 11*cluster.Millisecond || a.ticks != 3000 {
		t.Errorf("%+v", a)
	}
}

// At its tiny size the search meets its targets in ticks, and shows that nothing is better.
func TestTargets(t *testing.T) {
	z := targetSizes(&Options{Size: tiny})[0]
	for seed := range uint64(3) {
		if err := z.run(&Options{Policies: []string{withSearch, "serial", "yarn"}}, seed+1); err != nil {
			t.Fatal(err)
		}
	}
	blind := 0
	for _, run := range z.runs {
		if a := run.reached[1]; !a.inTicks.optimal || a.inTicks.judged.Violated > 0 {
			t.Errorf("seed %d: %+v", run.seed, a.inTicks)
		}
	}
	for _, out := range z.beside {
		if out.line == "yarn" {
			blind += out.judged.Violated
		}
	}
	if blind == 0 {
		t.Error("who honours no constraint violates none, so this shows nothing")
	}
}
