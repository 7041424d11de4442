package calibration

import (
	"errors"
	"math"
	"testing"
	"time"
)

func options() *Options {
	return &Options{Nodes: 4, Pods: 300, Load: 1, Work: 5 * time.Second, Seed: 3, Policy: "fairlead"}
}

// TestDrawnPodsHaveTheLoadThatWasAskedFor: cores times work of all that come is the load of the time in which they come.
func TestDrawnPodsHaveTheLoadThatWasAskedFor(t *testing.T) {
	o := options()
	o.Pods = 20_000
	pods, cores := draw(o), 0.0
	for i := range pods {
		cores += float64(pods[i].size.halves) / halfCores * pods[i].work.Seconds()
		if i > 0 && pods[i].at < pods[i-1].at {
			t.Fatalf("pod %d comes before the one before it", i)
		}
	}
	load := cores / pods[len(pods)-1].at.Seconds() / float64(o.Nodes*nodeCores)
	if math.Abs(load-o.Load) > 0.05 { // a second of work at least makes it a little more
		t.Errorf("the load is %.3f, want about %v", load, o.Load)
	}
}

// simulatedOutcome is an outcome as the simulator has it: with overheads of five milliseconds.
func simulatedOutcome(t *testing.T, o *Options, folder string) *Outcome {
	t.Helper()
	out := &Outcome{}
	for range 10 {
		out.Overheads = append(out.Overheads, 5*time.Millisecond)
	}
	for _, p := range draw(o) {
		out.Pods = append(out.Pods, Ran{Created: p.at, Bound: p.at, Ended: p.at + p.work, size: p.size})
	}
	if err := Write(folder, o.Nodes, out); err != nil {
		t.Fatal(err)
	}
	took, err := simulate(folder, o.Policy, folder+"/"+overheadsFile, o.Seed)
	if err != nil {
		t.Fatal(err)
	}
	for i := range out.Pods {
		work := out.Pods[i].Ended - out.Pods[i].Bound
		out.Pods[i].Bound = out.Pods[i].Created + took[i]
		out.Pods[i].Ended = out.Pods[i].Bound + work
	}
	return out
}

// TestSimulationOfASimulationIsTheSame: what came from the simulator is at no distance from it, and without overheads it is.
func TestSimulationOfASimulationIsTheSame(t *testing.T) {
	o, folder := options(), t.TempDir()
	out := simulatedOutcome(t, o, folder)
	c, err := Compare(folder, o, out, 2)
	if err != nil {
		t.Fatal(err)
	}
	waited := 0
	for i := range c.Rows {
		switch r := &c.Rows[i]; {
		case r.Name == "simulated with overheads" && r.Distance != 0:
			t.Errorf("row %d: the same is %v apart", i, r.Distance)
		case r.Name == "simulated" && r.Distance == 0:
			t.Errorf("row %d: five milliseconds were not seen", i)
		case r.Name == "waited for room":
			waited = len(r.Latencies)
		}
	}
	if len(c.Rows) != 9 || waited == 0 || waited == o.Pods || c.Apart != 0 {
		t.Errorf("%d rows, %d waited for room, draws are %v apart", len(c.Rows), waited, c.Apart)
	}
}

// TestAnotherLatencyIsSeen: a control plane that takes a second more for every fifth pod is not taken for the simulator.
func TestAnotherLatencyIsSeen(t *testing.T) {
	o, folder := options(), t.TempDir()
	out := simulatedOutcome(t, o, folder)
	for i := 0; i < len(out.Pods); i += 5 {
		out.Pods[i].Bound += time.Second
	}
	c, err := Compare(folder, o, out, 2)
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Rows[2]; r.Distance < 0.1 || r.Chance > 0.05 {
		t.Errorf("all pods are %v apart, by chance with %v", r.Distance, r.Chance)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no nodes": func(o *Options) { o.Nodes = 0 },
		"no pods":  func(o *Options) { o.Pods = 0 },
		"no load":  func(o *Options) { o.Load = 0 },
		"no work":  func(o *Options) { o.Work = 0 },
		"policy":   func(o *Options) { o.Policy = "" },
	} {
		o := options()
		change(o)
		if o.Validate() == nil {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
	if _, err := Compare(t.TempDir(), options(), &Outcome{}, 1); err == nil || errors.Unwrap(err) != nil {
		t.Errorf("one draw of overheads: %v", err)
	}
}
