package lane_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/lane"
	"fairlead.dev/fairlead/constraint/search"
)

// TestWhatIsPlannedStarts draws applications that must stand beside one another, in pairs, rings and chains,
// some of them apart from their like. Nothing comes between plan and commit, and nobody leaves: so
// whatever a plan without violation places is there after the round, and again after a node was lost.
func TestWhatIsPlannedStarts(t *testing.T) {
	mutual := 0
	for seed := range uint64(300) {
		chance := rand.New(rand.NewPCG(seed, 21))
		planned := map[cluster.TaskID]bool{}
		solve := func(p *constraint.Problem, _ int64) (constraint.Assignment, int64) {
			r := search.Solve(p, search.Options{Seed: seed, Ticks: 5_000})
			if constraint.Evaluate(p, r.Assignment).Violated > 0 {
				return r.Assignment, r.Ticks
			}
			for c, node := range r.Assignment {
				planned[p.Containers[c].Task] = node != constraint.Nowhere
			}
			return r.Assignment, r.Ticks
		}
		b := newBed(t, lane.Options{Solve: solve})
		apps := 2 + chance.IntN(4)
		pairs := b.mutualRules(chance, apps)
		for i := range apps {
			b.job(fmt.Sprintf("app%d", i), 1+chance.IntN(3), 1+chance.Int64N(2))
		}
		for range 3 {
			clear(planned)
			b.step()
			s := b.core.View()
			for task, placed := range planned {
				if placed && !s.Task(task).Placed() {
					t.Fatalf("seed %d: %s is planned and waits: %s\n%s", seed, s.TaskName(task), b.core.Why(task).Text(s.Kinds()), s.Picture())
				}
			}
			for _, pair := range pairs {
				if app := b.where(pair); strings.Contains(app, "n") {
					mutual++
				}
			}
			if n := cluster.NodeID(chance.IntN(4)); s.NodeLive(n) {
				b.observe(cluster.NodeLost{Node: n})
			}
		}
		if err := b.core.View().Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if mutual < 100 {
		t.Errorf("only %d times one stood that needs another which needs it", mutual)
	}
}

// mutualRules defines hard affinities among so many applications, and names those that are one of a pair.
func (b *bed) mutualRules(chance *rand.Rand, apps int) (pairs []string) {
	group := []string{cluster.EachNode, "rack"}[chance.IntN(2)]
	need := func(one, other int) {
		b.rule(fmt.Sprintf("{app:app%d, {app:app%d, %d, inf}, %s}: hard", one, other, 1+chance.IntN(5)/4, group))
	}
	for range 1 + chance.IntN(apps) {
		one, other := chance.IntN(apps), chance.IntN(apps)
		need(one, other)
		if one != other && chance.IntN(2) == 0 {
			need(other, one)
			pairs = append(pairs, fmt.Sprintf("app%d", one))
		}
	}
	if chance.IntN(2) == 0 {
		b.rule(fmt.Sprintf("{app:app%d, {app:app%d, 0, 0}, node}: hard", chance.IntN(apps), chance.IntN(apps)))
	}
	return pairs
}

// TestWhyTwoWait: of two that need each other each waits for what both of them together cannot have, or
// for their turn. That neither finds a node alone is no reason.
func TestWhyTwoWait(t *testing.T) {
	for cpu, want := range map[int64]string{
		1: "waits for its turn: all 2 tasks of its application would be placed with app1",
		2: "its application is placed whole with app1, and 0 of its 2 tasks would find a node: no place was found for all under room; {app:app2, {app:app1, 1, inf}, node}: hard. Of 4 nodes, 0 take this task by itself: 4 violate {app:app2, {app:app1, 1, inf}, node}: hard: 0 counted, at least 1",
	} {
		b := newBed(t, lane.Options{Solve: searched})
		b.rule("{app:app1, {app:app2, 1, inf}, node}: hard")
		b.rule("{app:app2, {app:app1, 1, inf}, node}: hard")
		b.job("app1", 1, 2)
		b.job("app2", 2, cpu)
		r := b.core.Begin(0, b.now) // shows them to the policy
		r.Run(0)
		s := b.core.View()
		if got := b.core.Why(1); got.Text(s.Kinds()) != want {
			t.Errorf("with %d cpu: %s\nwant %s", cpu, got.Text(s.Kinds()), want)
		}
		b.out = b.core.Finish(r, b.now, b.out)
		if placed := s.Task(1).Placed(); placed != (cpu == 1) {
			t.Errorf("with %d cpu it is %t that it is placed\n%s", cpu, placed, s.Picture())
		}
	}
}

// TestTwoRefusedTooOften: two that need each other are planned together at commit, too, where they were refused
// again and again.
func TestTwoRefusedTooOften(t *testing.T) {
	first := func(p *constraint.Problem, _ int64) (constraint.Assignment, int64) {
		a := p.Start()
		for n := range p.Nodes {
			if p.Nodes[n].Free[0] == 4 {
				for c := range a {
					a[c] = int32(n)
				}
				break
			}
		}
		return a, 1
	}
	b := newBed(t, lane.Options{Solve: first})
	b.rule("{app:app1, {app:app2, 1, inf}, node}: hard")
	b.rule("{app:app2, {app:app1, 1, inf}, node}: hard")
	b.observe(cluster.NodeAdded{Node: 4, Spec: cluster.NodeSpec{Name: "n4", Capacity: cluster.Vector{4}}})
	b.job("app1", 1, 2)
	b.job("app2", 1, 2)
	for round := range lane.MostRefusals + 1 {
		b.now += cluster.Second
		r := b.core.Begin(0, b.now)
		r.Run(0)
		b.want("app1: -", "app2: -")
		b.job(fmt.Sprintf("batch%d", round), 1, 4) // takes the node that they are to have
		short := b.core.Begin(1, b.now)
		short.Run(0)
		b.out = b.core.Finish(short, b.now, b.out)
		b.out = b.core.Finish(r, b.now, b.out)
	}
	b.want("app1: n4", "app2: n4")
}
