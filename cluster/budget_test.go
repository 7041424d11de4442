package cluster

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestBudgets: a budget lets as many of its tasks go as are available beyond what it wants; a task that runs and is not
// available goes by its rule; of two budgets a task never goes.
func TestBudgets(t *testing.T) {
	var b Budgets
	for _, budget := range []Budget{{Name: "web", Least: 2}, {Name: "any", Least: 2, FreesUnready: true}, {Name: "none"}} {
		if err := b.Add(budget); err != nil {
			t.Fatal(err)
		}
	}
	web, free, none := []string{"web"}, []string{"any"}, []string{"none"}
	check := func(when string, names []string, available, want bool) {
		t.Helper()
		if _, refused := b.Refuses(names, available); refused != want {
			t.Errorf("%s: refused %t, want %t", when, refused, want)
		}
	}
	check("without a budget", nil, true, false)
	check("unknown", []string{"other"}, true, false)
	check("nobody is available", web, false, true)
	check("nobody is available, and unready ones are free", free, false, false)
	check("nobody need be available", none, false, true)
	for range 2 {
		b.Up(web)
	}
	check("as many as need be", web, true, true)
	check("as many as need be, and it is none of them", web, false, false)
	b.Up(web)
	check("one more", web, true, false)
	b.Down(web)
	check("one more is told to leave", web, true, true)
	b.Up(none)
	check("none need be", none, true, false)
	check("two budgets", []string{"none", "web"}, true, true)
	if b.Spare("web") != 0 || b.Spare("none") != 1 || b.Spare("other") != 0 {
		t.Errorf("spare: web %d, none %d, other %d", b.Spare("web"), b.Spare("none"), b.Spare("other"))
	}
	if r, _ := b.Refuses(web, true); r.String() != "its budget web wants 2 available, and 2 are" {
		t.Error(r)
	}
	if r, _ := b.Refuses([]string{"none", "web"}, true); r.String() != "it has the budget none and 1 more, and no API server evicts a pod of several" {
		t.Error(r)
	}
}

// TestBudgetsAgainstCounting: whatever comes and goes, a task that is available is refused exactly where without it fewer
// would be than are to be.
func TestBudgetsAgainstCounting(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	refusals := 0
	for range 200 {
		var b Budgets
		least := random.Int64N(6)
		if err := b.Add(Budget{Name: "b", Least: least}); err != nil {
			t.Fatal(err)
		}
		tasks := make([]bool, 8) // available
		for range 60 {
			i := random.IntN(len(tasks))
			if !tasks[i] {
				b.Up([]string{"b"})
				tasks[i] = true
				continue
			}
			others := int64(-1)
			for _, is := range tasks {
				if is {
					others++
				}
			}
			_, refused := b.Refuses([]string{"b"}, true)
			if refused != (others < least) {
				t.Fatalf("%d others are available of %d: refused %t", others, least, refused)
			}
			if refused {
				refusals++
				continue
			}
			b.Down([]string{"b"})
			tasks[i] = false
		}
	}
	if refusals == 0 {
		t.Error("none was refused")
	}
}

func TestCheckBudget(t *testing.T) {
	for _, c := range []struct {
		budget Budget
		want   string
	}{
		{Budget{}, "a budget has no name"},
		{Budget{Name: "b", Least: -1}, `budget "b": at least -1 tasks, want 0 to`},
		{Budget{Name: "a"}, `budget "a" is there already`},
	} {
		var b Budgets
		if err := b.Add(Budget{Name: "a"}); err != nil {
			t.Fatal(err)
		}
		if err := b.Add(c.budget); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.budget, err, c.want)
		}
	}
}
