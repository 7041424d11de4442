package experiment

import (
	"math"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// TestReplicaAtAnotherPace: the first validation test ten times as fast is the same test.
func TestReplicaAtAnotherPace(t *testing.T) {
	const seed, pace = 7, 10
	v := firstTest()
	c := v.on("qos", madeUpOrder, asStored, seed, func() (trace.Source, error) { return v.shuffled(seed), nil })
	c.promise.toTheEnd = true
	want, err := c.run(&Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	requests, err := ValidationRequests("v1", "", seed)
	if err != nil {
		t.Fatal(err)
	}
	r := Replica{
		Policy: "qos", Trigger: ignoringOutcomes(asStored / pace), Classes: ValidationClasses(asStored, pace), Requests: requests,
		First: []cluster.Time{0}, Until: validationLength / pace,
	}
	for i := range requests {
		r.Arrivals = append(r.Arrivals, cluster.Time(i)*cluster.Second/pace)
	}
	for _, took := range promiseOf(asStored, seed).world.Overheads.Hot {
		r.Again = append(r.Again, took/pace)
	}
	got, err := r.Simulate(seed)
	if err != nil {
		t.Fatal(err)
	}
	if got.Preemptions != want.run.Tasks.Preempted || got.Preemptions < 5_500 || got.Preemptions > 5_800 {
		t.Errorf("%d preemptions, want %d", got.Preemptions, want.run.Tasks.Preempted)
	}
	for _, k := range want.kept() {
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
		if !slices.EqualFunc(slices.Sorted(slices.Values(got.Availability[k.name])), k.rising, near) {
			t.Errorf("%s has %v, want %v", k.name, got.Availability[k.name], k.rising)
		}
	}
}

// TestReplicaLater: the order of arrival counts.
func TestReplicaLater(t *testing.T) {
	r := Replica{
		Policy: "qos", Trigger: ignoringOutcomes(asStored), Classes: ValidationClasses(asStored, 1),
		Requests: []string{"gold", "bronze"}, Arrivals: []cluster.Time{cluster.Second, 5 * cluster.Second},
		First: []cluster.Time{cluster.Second}, Again: []cluster.Time{cluster.Second}, Until: 11 * cluster.Second,
	}
	got, err := r.Simulate(1)
	if err != nil {
		t.Fatal(err)
	}
	if gold, bronze := got.Availability["gold"], got.Availability["bronze"]; !slices.Equal(gold, []float64{0.9}) || !slices.Equal(bronze, []float64{5.0 / 6}) {
		t.Errorf("gold has %v and bronze %v, want 9 of 10 s and 5 of 6 s", gold, bronze)
	}
	r.Arrivals = r.Arrivals[:1]
	if _, err := r.Simulate(1); err == nil {
		t.Error("two requests came at one time")
	}
	if _, err := ValidationRequests("v3", "", 1); err == nil {
		t.Error("there is a test v3")
	}
}

// TestReplicaOfThoseWhoLeaveLate: who is told to leave has its place until it is gone, and whoever comes waits for it.
func TestReplicaOfThoseWhoLeaveLate(t *testing.T) {
	r := Replica{
		Policy: "qos", Trigger: ignoringOutcomes(asStored), Classes: ValidationClasses(asStored, 1),
		First: []cluster.Time{0}, Again: []cluster.Time{cluster.Second}, Leave: []cluster.Time{3 * cluster.Second}, Kept: 3 * cluster.Second, Until: 1_000 * cluster.Second,
	}
	for i := range 200 { // as many as there is room for
		r.Requests, r.Arrivals = append(r.Requests, "bronze"), append(r.Arrivals, cluster.Time(i))
	}
	r.Requests, r.Arrivals = append(r.Requests, "gold"), append(r.Arrivals, 900*cluster.Second)
	got, err := r.Simulate(1)
	if err != nil {
		t.Fatal(err)
	}
	if gold := got.Availability["gold"]; len(gold) != 1 || math.Abs(gold[0]-0.97) > 1e-9 {
		t.Errorf("gold had %v of its time, want 97 of 100 s", gold)
	}
	lost := 0.0
	for _, a := range got.Availability["bronze"] {
		lost += 1_000 * (1 - a)
	}
	// One was evicted after 903 s, and others since for its sake, each of whom lets a place be empty for a second.
	if want := float64(97 + got.Preemptions - 1); got.Preemptions < 2 || math.Abs(lost-want) > 2 {
		t.Errorf("bronze lost %v s in %d preemptions, want %v", lost, got.Preemptions, want)
	}
}
