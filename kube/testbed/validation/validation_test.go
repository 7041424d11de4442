package validation

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/experiment"
	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/sched"
)

// TestFirstValidationOnABed is a third of the first validation test, twenty times as fast: on the bed each class has what it has in the simulator. The whole, and what is said of it, is a
// command (docs/bench/qos-bed.md).
func TestFirstValidationOnABed(t *testing.T) {
	if os.Getenv("FAIRLEAD_LONG") != "1" {
		t.Skip("it takes more than a minute; FAIRLEAD_LONG=1 runs it")
	}
	testbed.SkipUnlessBuilt(t)
	scheduler := filepath.Join(t.TempDir(), testbed.FairleadName)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", scheduler, "../../cmd/fairlead-scheduler").CombinedOutput(); err != nil {
		t.Fatalf("build fairlead-scheduler: %v\n%s", err, out)
	}
	o := Options{Test: "v1", Seed: 1, Policy: "qos", Pace: 20, Margin: 30 * time.Second, Length: 20 * time.Minute, Scheduler: scheduler}
	out, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(o, &out, 10)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if err := c.Write(&said); err != nil {
		t.Fatal(err)
	}
	t.Log(said.String())
	// The machine may be busy with other tests.
	if len(c.Classes) != 3 {
		t.Fatalf("%d classes were compared, want 3", len(c.Classes))
	}
	for _, of := range c.Classes {
		if off := mean(of.Bed) - mean(of.Simulated); off < -0.02 || off > 0.02 {
			t.Errorf("%s had %.4f of its time, and %.4f in the simulator", of.Name, mean(of.Bed), mean(of.Simulated))
		}
	}
	if c.Bed < c.Least*8/10 || c.Bed > c.Most*12/10 {
		t.Errorf("%d preemptions, and %d to %d in the simulator", c.Bed, c.Least, c.Most)
	}
}

// TestComparisonTellsApart: what is the same is called so, and what is not is not.
func TestComparisonTellsApart(t *testing.T) {
	o := Options{Test: "v2", Seed: 3, Policy: "qos", Pace: 10, Margin: 30 * time.Second, Length: 10 * time.Minute}
	requests, trigger, err := o.prepare()
	if err != nil {
		t.Fatal(err)
	}
	out := simulatedOutcome(t, &o, requests, trigger)
	c, err := Compare(o, &out, 30)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Classes) != 1 || !c.Classes[0].Equivalent() || !c.Within() {
		t.Errorf("the same is told apart: %+v", c)
	}
	for i := range out.Availability["silver"] {
		out.Availability["silver"][i] -= 0.01
	}
	out.Preemptions *= 2
	if c, err = Compare(o, &out, 30); err != nil {
		t.Fatal(err)
	}
	if c.Classes[0].Equivalent() || c.Classes[0].Different > significance || c.Within() {
		t.Errorf("a hundredth less and twice the preemptions are called the same: %+v", c)
	}
	if _, _, err := (&Options{Test: "v1", Policy: "qos", Pace: 1, Length: time.Minute}).prepare(); err == nil {
		t.Error("a minute is enough for 256 requests")
	}
}

// simulatedOutcome is what a run would come to that is the simulator's.
func simulatedOutcome(t *testing.T, o *Options, requests []string, trigger sched.Trigger) Outcome {
	t.Helper()
	pace := cluster.Time(o.Pace)
	out := Outcome{replica: experiment.Replica{
		Policy: o.Policy, Trigger: trigger, Classes: experiment.ValidationClasses(cluster.Time(o.Margin.Microseconds()), o.Pace), Requests: requests,
		First: []cluster.Time{0}, Again: []cluster.Time{2 * cluster.Second / pace, 3 * cluster.Second / pace}, Until: cluster.Time(o.Length.Microseconds()) / pace,
	}}
	for i := range requests {
		out.replica.Arrivals = append(out.replica.Arrivals, cluster.Time(i)*cluster.Second/pace)
	}
	var err error
	if out.Fared, err = out.replica.Simulate(99); err != nil {
		t.Fatal(err)
	}
	return out
}
