package experiment

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/report"
)

// TestKnavigator: policy fairlead takes as long as nine full rounds do, and finds the nearest nodes every time.
func TestKnavigator(t *testing.T) {
	e, err := Find("knavigator")
	if err != nil {
		t.Fatal(err)
	}
	results, err := e.Run(Options{Size: Quick, Seed: 7, Policies: []string{"fairlead"}})
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, c := range results.Experiment.Compared {
		if !strings.HasSuffix(c.What, ", fairlead") {
			continue
		}
		if held++; *c.Ours != *c.Published {
			t.Errorf("%s: %v, want %v", c.What, *c.Ours, *c.Published)
		}
	}
	if held != 3 {
		t.Errorf("%d measures of fairlead, want 3", held)
	}
	if pods := len(burst().records) - knavigatorNodes; pods != 288 {
		t.Errorf("%d pods come, want 288", pods)
	}
}

// TestReclaim: as many leave as have to, and the gang has its number.
func TestReclaim(t *testing.T) {
	for _, nodes := range []int{4, 30} {
		r, err := reclaim("fairlead", nodes)
		if err != nil {
			t.Fatal(err)
		}
		if r.victims != nodes/2*reclaimGPUs || r.placed != nodes/2 {
			t.Errorf("%d nodes: %d leave for a gang of %d, of which %d are placed", nodes, r.victims, nodes/2, r.placed)
		}
	}
}

// TestPower: on the trace, with the paper's weight of a tenth, as much is saved as was published, and less than two points fewer GPUs are allocated than by fgd.
func TestPower(t *testing.T) {
	if testing.Short() {
		t.Skip("runs on the trace take some seconds")
	}
	o, s := &Options{Data: data(t)}, &powerRuns{seeds: 1, watts: map[powerRun][]float64{}, allocated: map[powerRun]float64{}, lists: []string{"default"}}
	for _, v := range powerVariants() {
		src, err := openPower(o, "default", 42)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.run(src, powerRun{"default", v}, 42); err != nil {
			t.Fatal(err)
		}
	}
	var r report.Reproduction
	s.conclude(&r)
	found := 0
	for _, c := range r.Compared {
		t.Logf("%s: %.4f", c.What, float64(*c.Ours))
		switch ours := *c.Ours; {
		case !strings.HasSuffix(c.What, ", pwr-fgd 100"):
			continue
		case strings.HasPrefix(c.What, "power saved") && !(ours >= 0.1):
			t.Errorf("%s: %v, published from .1 to .2", c.What, ours)
		case strings.HasPrefix(c.What, "of the GPUs fewer") && !(ours <= 0.02):
			t.Errorf("%s: %v, want at most two points", c.What, ours)
		}
		found++
	}
	if found != 2 {
		t.Errorf("%d measures of pwr-fgd with a tenth, want 2", found)
	}
}
