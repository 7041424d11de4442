package validation

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/experiment"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// TestLatencies: from a decision to when the scheduler knew that it was done, and of that for how long a watch saw a pod on its node.
func TestLatencies(t *testing.T) {
	const ms = cluster.Millisecond
	folder, origin := t.TempDir(), time.Unix(1_000, 0)
	w, err := recording.NewWriter(folder, recording.Header{Origin: origin, Kinds: []cluster.Kind{{Name: "cpu"}}, Lanes: []recording.Lane{{Name: "l", Policy: "qos"}}}, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	w.Append(recording.Call{Kind: recording.Snapshot, In: []cluster.Event{
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1}}},
		cluster.JobSubmitted{Job: 0},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}},
		cluster.TaskSubmitted{Task: 0, Seq: 1},
	}})
	w.Append(recording.Call{Kind: recording.Step, At: 100 * ms, Out: []sched.Decision{{Kind: sched.Place, Task: 0, Seq: 1, Attempt: 1}}})
	w.Append(recording.Call{Kind: recording.Step, At: 110 * ms, In: []cluster.Event{cluster.TaskStarted{Task: 0, Attempt: 1}}})
	w.Append(recording.Call{Kind: recording.Step, At: 1000 * ms, In: []cluster.Event{cluster.TaskSubmitted{Task: 1, Seq: 2}}, Out: []sched.Decision{{Kind: sched.Evict, Task: 0, Seq: 1, Attempt: 1}}})
	w.Append(recording.Call{Kind: recording.Step, At: 1300 * ms, In: []cluster.Event{cluster.TaskLeft{Task: 0, Attempt: 1}, cluster.TaskGated{Task: 0, Seq: 1}, cluster.TaskLeft{Task: 0, Attempt: 1}}, Out: []sched.Decision{{Kind: sched.Place, Task: 1, Seq: 2, Attempt: 1}}})
	w.Append(recording.Call{Kind: recording.Step, At: 1320 * ms, In: []cluster.Event{cluster.TaskStarted{Task: 1, Attempt: 1}, cluster.TaskUngated{Task: 0, Seq: 1, Waited: 15 * ms}}})
	w.Append(recording.Call{Kind: recording.Step, At: 2000 * ms, In: []cluster.Event{cluster.TaskLeft{Task: 1, Attempt: 1}}, Out: []sched.Decision{{Kind: sched.Place, Task: 0, Seq: 1, Attempt: 2}}}) // somebody has deleted it
	w.Append(recording.Call{Kind: recording.Step, At: 2070 * ms, In: []cluster.Event{cluster.TaskStarted{Task: 0, Attempt: 2}}})
	w.Append(recording.Call{Kind: recording.Step, At: 9000 * ms, Out: []sched.Decision{{Kind: sched.Evict, Task: 0, Seq: 1, Attempt: 2}}})
	w.Append(recording.Call{Kind: recording.Step, At: 9100 * ms, In: []cluster.Event{cluster.TaskLeft{Task: 0, Attempt: 2}}}) // when the test had ended
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	at := func(millis int) time.Time { return origin.Add(time.Duration(millis) * time.Millisecond) }
	l, err := readLatencies(folder, at(9050))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(times(l.first), []cluster.Time{10 * ms, 20 * ms}) || !slices.Equal(times(l.again), []cluster.Time{70 * ms}) || !slices.Equal(times(l.leave), []cluster.Time{300 * ms}) {
		t.Errorf("first starts took %v, others %v, leaving %v", l.first, l.again, l.leave)
	}
	// The watch saw starts 5 ms before the scheduler knew of them, on average, and the pod gone 80 ms before.
	if kept := l.kept([]time.Time{at(2065), at(105), at(1315)}, []time.Time{at(1220)}); kept != 225*ms {
		t.Errorf("a place was kept for %v of an eviction and a start, want 225 ms", kept)
	}
	if !slices.Equal(times(l.anew), []cluster.Time{15 * ms}) || !l.anew[0].decided.Equal(at(1000)) {
		t.Errorf("it took %v until a request waited again whose end was decided at 1 s", l.anew)
	}
	if !l.again[0].decided.Equal(at(2000)) || !l.leave[0].decided.Equal(at(1000)) {
		t.Errorf("a start was decided at %v and a run told to leave at %v, want 2 s and 1 s", l.again[0].decided, l.leave[0].decided)
	}
	if _, err := readLatencies(t.TempDir(), at(0)); err == nil {
		t.Error("nothing was recorded, and that is no error")
	}
}

// TestBursts: who was told to leave at about the same time is one burst, and a start belongs to the burst before it.
func TestBursts(t *testing.T) {
	origin := time.Unix(1_000, 0)
	number := 0
	of := func(decided int, took cluster.Time) latency {
		number++
		return latency{number, origin.Add(time.Duration(decided) * time.Millisecond), took}
	}
	l := latencies{
		first: []latency{of(0, 20), of(5502, 21)},
		leave: []latency{of(1000, 1), of(1000, 2), of(1900, 3), of(4000, 4), of(4001, 5), of(7001, 6)},
		anew:  []latency{of(1900, 30), of(7001, 31)},
		again: []latency{of(2949, 10), of(2951, 11), of(5500, 12), of(9000, 13)},
	}
	want := []experiment.Burst{
		{From: 0, Leave: []cluster.Time{1, 2, 3}, First: []cluster.Time{20}, Again: []cluster.Time{10}, Anew: []cluster.Time{30}},
		{From: 2950 * cluster.Millisecond, Leave: []cluster.Time{4, 5}, Again: []cluster.Time{11, 12}},
		{From: 5501 * cluster.Millisecond, Leave: []cluster.Time{6}, First: []cluster.Time{21}, Again: []cluster.Time{13}, Anew: []cluster.Time{31}},
	}
	if got := l.bursts(origin, 1500*time.Millisecond); !reflect.DeepEqual(got, want) {
		t.Errorf("bursts are %v, want %v", got, want)
	}
	if got := l.bursts(origin, 0); got != nil {
		t.Errorf("nothing parts %v", got)
	}
}
