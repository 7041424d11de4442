package devices

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// large is 16 pods with a claim each for devices of 64 on eight nodes: of eight kinds of claims for one to three devices, half of which must agree on an
// attribute. It is as full as it can be, or one device too full.
func large(seed uint64, impossible bool) *Problem {
	r := rand.New(rand.NewPCG(seed, 64))
	p := &Problem{Devices: make([]Device, 64), Nodes: make([]Node, 8)}
	values := make([]int, 64)
	for d := range values {
		values[d] = 1 + d%8/4 + 2*(d/8) // two groups of four on each node
	}
	nodes := []int{0, 1, 2, 3, 4, 5, 6, 7}
	all := make([][]Option, 8)
	for d := range p.Devices {
		all[d/8] = append(all[d/8], Option{Device: d})
	}
	total := 0
	for range 16 {
		count := 4 // as the last of the sixteen that fill groups of four
		if r.IntN(2) == 0 {
			count = 3 + r.IntN(2)
		}
		total += count
		claim := Claim{
			Requests:    []Request{{Alternatives: []Alternative{{Count: count, Options: all}}}},
			Constraints: []Constraint{{Covers: [][]bool{{true}}, Values: values}},
		}
		p.Pods = append(p.Pods, Pod{Nodes: nodes, Claims: []int{len(p.Claims)}})
		p.Claims = append(p.Claims, claim)
	}
	if impossible { // groups of four, and seventeen claims of three or four
		p.Pods = append(p.Pods, Pod{Nodes: nodes, Claims: []int{len(p.Claims)}})
		p.Claims = append(p.Claims, p.Claims[0])
	}
	return p
}

// few is n pods with a claim for one of n-1 devices, spread over nodes of eight.
func few(n int) *Problem {
	p := &Problem{Devices: make([]Device, n-1), Nodes: make([]Node, (n+7)/8)}
	all := make([][]Option, len(p.Nodes))
	nodes := make([]int, len(p.Nodes))
	for i := range nodes {
		nodes[i] = i
	}
	for d := range p.Devices {
		all[d/8] = append(all[d/8], Option{Device: d})
	}
	for i := range n {
		p.Claims = append(p.Claims, Claim{Requests: []Request{{Alternatives: []Alternative{{Count: 1, Options: all}}}}})
		p.Pods = append(p.Pods, Pod{Nodes: nodes, Claims: []int{i}})
	}
	return p
}

// Pods that like a whole device best get halves, as there is one device for two of them; a third is refused, by what devices draw.
func TestHalves(t *testing.T) {
	for _, test := range []struct {
		pods int
		want Outcome
	}{{1, Assigned}, {2, Assigned}, {3, Impossible}} {
		p := &Problem{
			Nodes: make([]Node, 1), Counters: []Counter{{Left: 2}},
			Devices: []Device{{Draws: []Draw{{0, 2}}}, {Draws: []Draw{{0, 1}}}, {Draws: []Draw{{0, 1}}}},
		}
		whole, halves := [][]Option{{{Device: 0}}}, [][]Option{{{Device: 1}, {Device: 2}}}
		for i := range test.pods {
			p.Claims = append(p.Claims, Claim{Requests: []Request{{Alternatives: []Alternative{{Count: 1, Options: whole}, {Count: 1, Options: halves}}}}})
			p.Pods = append(p.Pods, Pod{Nodes: []int{0}, Claims: []int{i}})
		}
		a := Solve(p, 1000)
		if a.Outcome != test.want {
			t.Fatalf("%d pods: outcome %d after %d ticks, want %d", test.pods, a.Outcome, a.Ticks, test.want)
		}
		switch test.pods {
		case 1:
			if a.Grants[0][0].Device != 0 {
				t.Errorf("a pod that is alone gets device %d, and likes 0 best", a.Grants[0][0].Device)
			}
		case 3:
			if c := a.Conflict; c.Over != OfCounters || len(c.Claims) != 3 || c.Needs != 3 || c.Has != 2 {
				t.Errorf("three halves of one device: conflict %+v", c)
			}
		}
	}
}

// Of many claims those that are in each other's way are named, and no others.
func TestConflictIsSmall(t *testing.T) {
	p := few(20)
	p.Devices = append(p.Devices, Device{}, Device{})
	rare := [][]Option{{{Device: 19}, {Device: 20}}, nil, nil}
	for range 3 {
		p.Pods = append(p.Pods, Pod{Nodes: p.Pods[0].Nodes, Claims: []int{len(p.Claims)}})
		p.Claims = append(p.Claims, Claim{Requests: []Request{{Alternatives: []Alternative{{Count: 1, Options: rare}}}}})
	}
	p.Pods, p.Claims = p.Pods[1:], p.Claims[1:] // 19 claims for 19 devices, and 3 for 2
	for i := range p.Pods {
		p.Pods[i].Claims = []int{i}
	}
	a := Solve(p, 1_000_000)
	if c := a.Conflict; a.Outcome != Impossible || fmt.Sprint(c.Claims, c.Needs, c.Has) != "[19 20 21] 3 2" {
		t.Errorf("outcome %d, conflict %+v, want claims 19 to 21, which need 3 and have 2", a.Outcome, a.Conflict)
	}
}

// What is asked of in issue 24 is decided within the budget that a scheduler has.
func TestLargeIsDecided(t *testing.T) {
	worst := int64(0)
	for seed := range uint64(60) {
		for _, impossible := range []bool{false, true} {
			a := Solve(large(seed, impossible), 5_000_000)
			if want := map[bool]Outcome{false: Assigned, true: Impossible}[impossible]; a.Outcome != want {
				t.Errorf("seed %d: outcome %d after %d ticks, want %d", seed, a.Outcome, a.Ticks, want)
			}
			worst = max(worst, a.Ticks)
		}
	}
	t.Logf("at most %d ticks", worst)
}

func BenchmarkSolve(b *testing.B) {
	for name, p := range map[string]*Problem{"devices=64/claims=16": large(1, false), "devices=64/claims=17": large(1, true), "devices=15/claims=16": few(16), "devices=63/claims=64": few(64)} {
		b.Run(name, func(b *testing.B) {
			ticks := int64(0)
			for b.Loop() {
				ticks = Solve(p, 5_000_000).Ticks
			}
			b.ReportMetric(float64(ticks), "ticks")
		})
	}
}
