package outcome

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/conflict"
	"fairlead.dev/fairlead/constraint/constrainttest"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/request"
)

// enumerate places the first application that is not placed, if there is any way, by
// trying them all.
func enumerate(p *constraint.Problem) constraint.Assignment {
	a := p.Start()
	var open []int32
	for i := range p.Applications {
		app := &p.Applications[i]
		own := &p.Shapes[p.Containers[app.First].Shape]
		if app.Deployed || own.Eligible != nil && !slices.Contains(own.Eligible, true) {
			continue
		}
		for c := app.First; c < app.End; c++ {
			open = append(open, c)
		}
	}
	var try func(i int) bool
	try = func(i int) bool {
		if i == len(open) {
			return constraint.Check(p, a) == nil
		}
		for n := range p.Nodes {
			a[open[i]] = int32(n)
			if try(i + 1) {
				return true
			}
		}
		a[open[i]] = constraint.Nowhere
		return false
	}
	if !try(0) {
		return p.Start()
	}
	return a
}

// TestConflictIsSmallest holds conflicts on small problems, found by asking somebody who
// overlooks nothing, to what they claim.
func TestConflictIsSmallest(t *testing.T) {
	conflicts, several := checkConflicts(t, 3000, Asking{Place: enumerate})
	t.Logf("%d conflicts, %d of several demands", conflicts, several)
	if conflicts < 100 || several < 20 {
		t.Errorf("%d conflicts, %d of several demands: the problems are too easy", conflicts, several)
	}
}

// checkConflicts draws problems and asks for conflicts: with all of what they name the
// application cannot be placed, and without any one of it it can. Where an integer program says
// which constraints conflict, no fewer of them do.
func checkConflicts(t *testing.T, seeds uint64, ask Asking) (conflicts, several int) {
	t.Helper()
	for seed := range seeds {
		p := constrainttest.Draw(rand.New(rand.NewPCG(seed, 1)), constrainttest.Small())
		for i := range p.Constraints {
			p.Constraints[i].Hard, p.Constraints[i].Weight = true, 0
		}
		parts := make([]string, len(p.Shapes))
		for i := range parts {
			parts[i] = fmt.Sprintf("part%d", i)
		}
		r := request.New(*p, parts)
		a, _ := greedy.Serial().Solve(p)
		answer := Of(r, a, exact.Bounded{}, ask)
		for _, u := range answer.Unplaced {
			app := slices.IndexFunc(p.Applications, func(a constraint.Application) bool { return a.Name == u.Application })
			reasons := reasons{placing: placing{r}, a: a, ask: Asking{Place: enumerate}}
			question := reasons.question(app)
			all := question.Demands()
			var named []conflict.Demand
			for _, d := range all {
				if slices.Contains(u.Conflict, reasons.name(d)) {
					named = append(named, d)
				}
			}
			switch {
			case p.Applications[app].Deployed || strings.HasPrefix(u.Reason, "none of"):
				continue
			case len(u.Conflict) == 0:
				if !question.Placeable(all) {
					t.Fatalf("seed %d: %s cannot be placed, and nothing conflicts: %s", seed, u.Application, u.Reason)
				}
				continue
			case len(named) != len(u.Conflict):
				t.Fatalf("seed %d: conflict %q names what nobody demands", seed, u.Conflict)
			case question.Placeable(named):
				t.Fatalf("seed %d: %s can be placed under all of %q", seed, u.Application, u.Conflict)
			case strings.HasPrefix(u.Reason, "a container"):
				continue
			}
			conflicts++
			if len(named) > 1 {
				several++
			}
			for i := range named {
				if !question.Placeable(slices.Delete(slices.Clone(named), i, i+1)) {
					t.Fatalf("seed %d: %s cannot be placed without %s of %q either", seed, u.Application, reasons.name(named[i]), u.Conflict)
				}
			}
			if fewer := reasons.fewer(question, all, named); ask.Conflict != nil && fewer != nil {
				t.Fatalf("seed %d: %s cannot be placed under %q, which are fewer constraints than in %q", seed, u.Application, fewer, u.Conflict)
			}
		}
	}
	return conflicts, several
}

// fewer is a choice of fewer hard constraints than are named under which, and all else that is
// demanded, the application cannot be placed; nil if there is none.
func (r *reasons) fewer(q *conflict.Question, all, named []conflict.Demand) []string {
	is := func(d conflict.Demand) bool { return d.Kind == conflict.Constraint }
	most := 0
	for _, d := range named {
		if is(d) {
			most++
		}
	}
	at := slices.IndexFunc(all, is)
	if at < 0 {
		return nil
	}
	others, hard := all[:at], all[at:]
	for choice := range 1 << len(hard) {
		if bits.OnesCount(uint(choice)) >= most {
			continue
		}
		chosen, names := slices.Clone(others), []string{}
		for i := range hard {
			if choice>>i&1 == 1 {
				chosen, names = append(chosen, hard[i]), append(names, r.name(hard[i]))
			}
		}
		if !q.Placeable(chosen) {
			return names
		}
	}
	return nil
}

// A node may be short of what nobody asks for, and has room all the same.
func TestReasonBesideOverfullNode(t *testing.T) {
	r, err := request.Read("f", []byte(`
nodes: [{name: a, capacity: {cpu: 8, memory: 4}, used: {memory: 6}}]
applications:
  - name: shop
    containers: [{name: w, count: 2, demand: {cpu: 1}}]
    constraints: ["{app:shop, {app:shop, 0, 0}, node}: hard"]
`))
	if err != nil {
		t.Fatal(err)
	}
	answer := Of(r, r.Problem.Start(), exact.Bounded{}, Asking{Place: enumerate})
	const want = "no place was found for its 2 containers under all of: {app:shop, {app:shop, 0, 0}, node}: hard of shop"
	if got := answer.Unplaced[0].Reason; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReasons(t *testing.T) {
	const nodes = `
nodes:
  - {name: a, count: 2, capacity: {cpu: 8, memory: 32}, labels: {disk: ssd}, groups: {zone: z1}}
  - {name: b, capacity: {cpu: 4, memory: 64}, groups: {zone: z2}}
applications:
  - name: shop
`
	for _, tc := range []struct{ application, reason, conflict string }{
		{"containers: [{name: w, demand: {cpu: 9}}]", "a container of w asks for cpu 9 cores, more than any of the 3 nodes that it may use has at all", "room"},
		{
			"containers: [{name: v, demand: {cpu: 5}}, {name: w, demand: {cpu: 5, memory: 33}}]",
			"a container of w asks for cpu 5 cores, memory 33 GiB, more than any of the 3 nodes that it may use has at all", "room",
		},
		{
			"containers: [{name: w, demand: {cpu: 1}, where: {disk: ssd, zone: z2}}]",
			"none of 3 nodes meets what w requires: disk=ssd, zone=z2", "where of w",
		},
		{
			"containers: [{name: w, count: 3, demand: {cpu: 5}}]",
			"no place was found for its 3 containers under all of: room; 3 of w ask for cpu 5 cores each, and 2 nodes have room for one", "room",
		},
		{
			"containers: [{name: w, count: 4, demand: {cpu: 1}, per_node: 1}]",
			"no place was found for its 4 containers under all of: per_node", "per_node",
		},
		{
			`{containers: [{name: w, count: 3, demand: {cpu: 1}}], constraints: ["{app:shop, {app:shop, 0, 0}, zone}: hard", "{app:shop, {app:shop, 0, 2}, node}: hard"]}`,
			"no place was found for its 3 containers under all of: {app:shop, {app:shop, 0, 0}, zone}: hard of shop; sets of zone: 2",
			"{app:shop, {app:shop, 0, 0}, zone}: hard of shop",
		},
		{
			`{containers: [{name: w, count: 2, demand: {cpu: 5}}], constraints: ["{app:shop, {app:shop, 0, 0}, zone}: hard"]}`,
			"no place was found for its 2 containers under all of: room; {app:shop, {app:shop, 0, 0}, zone}: hard of shop; sets of zone: 2; 2 of w ask for cpu 5 cores each, and 2 nodes have room for one",
			"room|{app:shop, {app:shop, 0, 0}, zone}: hard of shop",
		},
		{
			`{containers: [{name: w, demand: {cpu: 1}}], constraints: ["{app:shop, {db, 1, inf}, node}: hard"]}`,
			"no place was found for its 1 containers under all of: {app:shop, {db, 1, inf}, node}: hard of shop; no container with db is placed",
			"{app:shop, {db, 1, inf}, node}: hard of shop",
		},
	} {
		text := strings.TrimSuffix(nodes, "  - name: shop\n") + "  - " + strings.Replace(tc.application, "containers:", "name: shop\n    containers:", 1)
		if strings.HasPrefix(tc.application, "{") {
			text = strings.TrimSuffix(nodes, "  - name: shop\n") + "  - {name: shop, " + tc.application[1:]
		}
		r, err := request.Read("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		a, _ := greedy.Serial().Solve(&r.Problem)
		answer := Of(r, a, exact.Bounded{}, Asking{Place: enumerate})
		if len(answer.Unplaced) != 1 {
			t.Errorf("%s: %d applications are not placed, want 1", tc.application, len(answer.Unplaced))
			continue
		}
		u := answer.Unplaced[0]
		if u.Reason != tc.reason || strings.Join(u.Conflict, "|") != tc.conflict {
			t.Errorf("%s:\n%s\n%q\nwant\n%s\n%s", tc.application, u.Reason, u.Conflict, tc.reason, tc.conflict)
		}
	}
}
