package policies_test

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/policies"
)

// TestAll makes every policy that is listed, with every way to break ties, and
// wants rows that people can read.
func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range policies.All() {
		if seen[p.Name] {
			t.Errorf("%s is listed twice", p.Name)
		}
		seen[p.Name] = true
		if p.What == "" || p.From == "" || !slices.Contains([]policies.Family{policies.Queue, policies.Flow, policies.Constraint}, p.Family) {
			t.Errorf("%+v says too little", p)
		}
		for _, ties := range []policies.Ties{policies.Fixed, policies.Lowest, policies.Random} {
			made, err := policies.New(p.Name, policies.Options{Seed: 1, Ties: ties})
			if err != nil || made == nil {
				t.Errorf("%s: %v", p.Name, err)
			}
			if is := policies.TiesOf(p.Name, ties); policies.TiesOf(p.Name, is) != is {
				t.Errorf("%s turns %s into %s, and that into something else", p.Name, ties, is)
			}
		}
	}
	if !seen["kube"] || len(seen) < 10 {
		t.Errorf("there are %d policies", len(seen))
	}
}

// TestWhoMovesEvicts holds the Kubernetes front end's belief: whose evictions are
// not allowed moves nobody.
func TestWhoMovesEvicts(t *testing.T) {
	for _, p := range policies.All() {
		if p.Takes("migrations") && !p.Evicts {
			t.Errorf("%s moves running tasks, and does not say that it evicts", p.Name)
		}
	}
}

func found(t *testing.T, name string) policies.Info {
	t.Helper()
	p, err := policies.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHonoured(t *testing.T) {
	asked := policies.Options{Seed: 3, Ties: policies.Lowest, Solver: "race", Migrations: 5}
	for _, tc := range []struct {
		name string
		p    policies.Info
		want policies.Options
	}{
		{"flow that moves", found(t, "quincy"), policies.Options{Seed: 3, Solver: "race", Migrations: 5}},
		{"flow", found(t, "cpu-mem"), policies.Options{Seed: 3, Solver: "race"}},
		{"queue", found(t, "kube"), policies.Options{Seed: 3, Ties: policies.Lowest}},
		{"own ties", found(t, "random"), policies.Options{Seed: 3, Ties: policies.Random}},
	} {
		if got := tc.p.Honoured(asked); got.Seed != tc.want.Seed || got.Ties != tc.want.Ties || got.Solver != tc.want.Solver || got.Migrations != tc.want.Migrations {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
	flow := found(t, "quincy")
	if got := flow.Honoured(policies.Options{Solver: policies.Automatic}); got.Solver != "" {
		t.Errorf("the default has the name %q in results, want none", got.Solver)
	}
}

// TestWrongNames wants the known word that is near a wrong one.
func TestWrongNames(t *testing.T) {
	_, noPolicy := policies.New("kubee", policies.Options{})
	_, noSolver := policies.New("kube", policies.Options{Solver: "relaxatoin"})
	_, noTies := policies.ParseTies("radnom")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{noPolicy, `unknown policy "kubee"; did you mean kube?`},
		{noSolver, `unknown solver "relaxatoin"; did you mean relaxation?`},
		{noTies, `unknown tie-break "radnom"; did you mean random?`},
		{policies.CheckSolver("gurobi-9.5.1"), `unknown solver "gurobi-9.5.1"; there are automatic, incremental, `},
	} {
		if tc.err == nil || !strings.HasPrefix(tc.err.Error(), tc.want) {
			t.Errorf("%v, want %s", tc.err, tc.want)
		}
	}
	for _, name := range append(policies.Solvers(), "") {
		if err := policies.CheckSolver(name); err != nil {
			t.Error(err)
		}
	}
}
