package experiment

import (
	"math"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// The model says what is quoted of the paper: which number of workers on a node is best, by how
// much it beats both ends, and what affinity is worth to Storm.
func TestInterferenceAsQuoted(t *testing.T) {
	for _, tc := range []struct {
		what      string
		got, want float64
	}{
		{"busy, 16 against 32", besideWorkers(16, true) / besideWorkers(32, true), 1 - 0.42},
		{"busy, 16 against 1", besideWorkers(16, true) / besideWorkers(1, true), 1 - 0.34},
		{"Storm together", latency(0, 1) / latency(1, 1), 1 - 0.31},
		{"Storm beside memcached", latency(0, 1) / latency(0, 0), 5},
		{"two region servers in their master's rack", besideRegions(2, true), 1},
		{"four region servers out of it", besideRegions(4, false), 1.7},
	} {
		if math.Abs(tc.got-tc.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", tc.what, tc.got, tc.want)
		}
	}
	for _, tc := range []struct {
		busy bool
		best int
	}{{true, 16}, {false, 4}} {
		for workers := 1; workers <= trainingWorkers; workers++ {
			if time := besideWorkers(workers, tc.busy); time < 1 || (time == 1) != (workers == tc.best) {
				t.Errorf("busy %t: %d workers take %g, want 1 for %d alone", tc.busy, workers, time, tc.best)
			}
		}
	}
}

// Run times are those of the placement: by hand, of small ones.
func TestTimesOfPlacements(t *testing.T) {
	p := pose(80, 0, 1)
	p.training("tf", 16)
	plan := make(constraint.Assignment, len(p.Containers))
	for c := range plan {
		plan[c] = int32(c / 16) // 16 on a node, 16 on another, and the parameter servers
	}
	if got := p.trainingTime(&p.Applications[0], plan, true); got != 1 {
		t.Errorf("16 and 16: %g, want 1", got)
	}
	plan[0] = 79 // one of 15 others, who are slow, and one alone, who is slower
	if got := p.trainingTime(&p.Applications[0], plan, true); got != besideWorkers(1, true) {
		t.Errorf("one of them alone: %g, want %g", got, besideWorkers(1, true))
	}

	p = pose(80, 0, 1)
	p.serving("hb")
	plan = constraint.Assignment{0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 45} // the master, four on a node, pairs, one in another rack
	want := (4*besideRegions(4, true) + 5 + besideRegions(1, false)) / 10
	if got := p.servingTime(&p.Applications[0], plan); math.Abs(got-want) > 1e-12 {
		t.Errorf("HBase: %g, want %g", got, want)
	}

	p = pose(80, 0, 1)
	p.streaming(withLookup)
	plan = make(constraint.Assignment, len(p.Containers))
	for c := range plan[:6] {
		plan[c+5] = 1 // memcached and four supervisors on a node, six on another
	}
	if got, want := p.streamingTime(plan), latency(24.0/45, 0.6); math.Abs(got-want) > 1e-12 {
		t.Errorf("Storm: %g, want %g", got, want)
	}
}

// What experiments pose are problems: constraints are well made, and the witness of nothing
// placed can be carried out.
func TestPosed(t *testing.T) {
	p := pose(80, 250, 7)
	p.training("tf", 4)
	p.serving("hb")
	p.streaming(intra)
	for i := range p.Constraints {
		if err := cluster.CheckConstraint(&p.Constraints[i]); err != nil {
			t.Error(err)
		}
	}
	if err := constraint.Check(&p.Problem, p.Start()); err != nil {
		t.Error(err)
	}
	for n := range p.Nodes {
		if free := p.Nodes[n].Free; free[0] < 16*bedCore || free[0] > 32*bedCore || free[1] < 63*bedGiB || free[1] > 128*bedGiB {
			t.Errorf("node %d has %v left, want half to all", n, free)
		}
	}
	if domains := p.Groups[2]; len(domains.Sets) != bedUpgradeDomains {
		t.Errorf("%d upgrade domains", len(domains.Sets))
	}
}
