package devices

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// exists tries every node for each pod and every set of devices for each request, and holds each against the problem: slow, and obvious.
func exists(p *Problem) bool {
	nodes, grants := make([]int, len(p.Pods)), make([][]Grant, len(p.Claims))
	nodeOf := func(claim int) int {
		return nodes[slices.IndexFunc(p.Pods, func(pod Pod) bool { return slices.Contains(pod.Claims, claim) })]
	}
	// sound holds what claims have so far against the problem: what is wrong already will not be made good by more.
	sound := func(claim, request int) bool {
		c := checker{p: p, users: make([]int, len(p.Devices)), drawn: make([]int64, len(p.Counters)), taken: map[int][]int64{}}
		for i := range claim {
			if c.claim(&p.Claims[i], nodeOf(i), grants[i]) != nil {
				return false
			}
		}
		part := Claim{Requests: p.Claims[claim].Requests[:request+1]}
		return c.claim(&part, nodeOf(claim), grants[claim]) == nil && c.totals() == nil
	}
	var devices func(claim, request int) bool
	devices = func(claim, request int) bool {
		if claim == len(p.Claims) {
			return Check(p, nodes, grants) == nil
		}
		if request == len(p.Claims[claim].Requests) {
			return devices(claim+1, 0)
		}
		node := nodeOf(claim)
		for a := range p.Claims[claim].Requests[request].Alternatives {
			options := p.Claims[claim].Requests[request].Alternatives[a].Options[node]
			for set := 1; set < 1<<len(options); set++ {
				before := len(grants[claim])
				for i, o := range options {
					if set>>i&1 == 1 {
						grants[claim] = append(grants[claim], Grant{request, a, o.Device})
					}
				}
				if sound(claim, request) && devices(claim, request+1) {
					return true
				}
				grants[claim] = grants[claim][:before]
			}
		}
		return false
	}
	var pods func(pod int) bool
	pods = func(pod int) bool {
		if pod == len(p.Pods) {
			return devices(0, 0)
		}
		for _, n := range p.Pods[pod].Nodes {
			nodes[pod] = n
			c := checker{p: &Problem{Nodes: p.Nodes, Pods: p.Pods[:pod+1]}}
			if c.pods(nodes) == nil && pods(pod+1) {
				return true
			}
		}
		return false
	}
	return pods(0)
}

// judge holds an answer against the rival's, and a conflict against the problem of its claims alone.
func judge(p *Problem) error {
	got, there := Solve(p, 1<<40), exists(p)
	switch {
	case got.Outcome == Assigned:
		if err := Check(p, got.Nodes, got.Grants); err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("an assignment where all were tried, and there is none")
		}
	case there && got.Outcome == Impossible:
		return fmt.Errorf("it is said to be impossible, and there is an assignment")
	case got.Outcome == NotProven:
		return fmt.Errorf("nothing is proven after %d ticks", got.Ticks)
	case got.Outcome == Impossible:
		if len(got.Conflict.Claims) == 0 {
			return fmt.Errorf("a conflict without claims")
		}
		part := *conflicts{newSearch(p, 0)}.only(got.Conflict.Claims).p
		if Solve(&part, 1<<40).Outcome != Impossible {
			return fmt.Errorf("the claims %v of the conflict can be satisfied", got.Conflict.Claims)
		}
	}
	return nil
}

// Answers are those of trying everything.
func TestSolveAgainstAll(t *testing.T) {
	counts := map[Outcome]int{}
	apart := 0 // pods that share a claim, on several nodes
	over := map[Scarcity]int{}
	for seed := range uint64(10_000) {
		p := makeProblem(rand.New(rand.NewPCG(seed, 24)))
		if err := judge(p); err != nil {
			t.Fatalf("seed %d: %v\n%+v", seed, err, *p)
		}
		a := Solve(p, 1<<40)
		if counts[a.Outcome]++; a.Outcome == Impossible {
			over[a.Conflict.Over]++
		} else if sharedApart(p, a.Nodes) {
			apart++
		}
	}
	t.Logf("outcomes %v, conflicts %v, shared from several nodes %d", counts, over, apart)
	if counts[Assigned] < 1000 || counts[Impossible] < 1000 || apart < 100 || over[Combined] < 30 || over[OfDevices] < 300 || over[OfCounters] < 30 || over[OfNodes] < 30 {
		t.Errorf("the cases are too much alike: outcomes %v, conflicts %v", counts, over)
	}
}

// sharedApart reports whether pods on several nodes share a claim that asks for devices.
func sharedApart(p *Problem, nodes []int) bool {
	at := map[int]int{}
	for i, pod := range p.Pods {
		for _, c := range pod.Claims {
			if before, known := at[c]; known && before != nodes[i] && len(p.Claims[c].Requests) > 0 {
				return true
			}
			at[c] = nodes[i]
		}
	}
	return false
}

// The same for problems that rapid thinks of, and shrinks.
func TestSolveByRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := makeProblem(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "stream"))))
		if err := judge(p); err != nil {
			t.Fatal(err)
		}
	})
}
