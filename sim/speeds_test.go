package sim

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sim/trace"
)

// gpu is the label of a node with GPUs of a model.
func gpu(model string) cluster.Label { return cluster.Label{Key: "gpu", Value: model} }

// training is nodes of one GPU, one of each model, and a job of 300 s at speed one, that is faster or slower on some of them.
func training(speeds []trace.Speed, models ...string) *list {
	l := &list{kinds: []cluster.Kind{{Name: "gpu", PerUnit: 1}}}
	for i, model := range models {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(i), Capacity: cluster.Vector{1}, Labels: []cluster.Label{gpu(model)}}})
	}
	l.records = append(l.records, trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
		Job: 1, JobTasks: 1, Demand: cluster.Vector{1}, Work: 300 * cluster.Second, Speeds: speeds,
	}})
	return l
}

// endOf is when the one task of the source has finished under first-fit, or under another policy.
func endOf(src trace.Source, w World, others ...sched.Policy) (cluster.Time, error) {
	policy, err := queue.New("first-fit", queue.Options{Ties: book.Lowest})
	if err != nil {
		return 0, err
	}
	for _, other := range others {
		policy = other
	}
	var tasks strings.Builder
	if _, err := Run(Config{Source: src, Lanes: []sched.Lane{{Name: "one", Policy: policy}}, World: w, Planner: Planner{Time: Zero}, Output: Output{Tasks: &tasks}}); err != nil {
		return 0, err
	}
	fields := strings.Split(strings.TrimPrefix(tasks.String(), TasksHeader+"\n"), ",") // that of responses has fewer digits
	if len(fields) < 8 || fields[7] != "finish" {
		return 0, fmt.Errorf("it does not finish: %s", tasks.String())
	}
	seconds, err := strconv.ParseFloat(fields[6], 64)
	return cluster.Time(seconds*1e6 + 0.5), err
}

// A run lasts for its work over the speed of its node, rounded up to microseconds.
func TestRunTimeFollowsTheNode(t *testing.T) {
	speeds := []trace.Speed{{On: gpu("k80"), Rate: 200_000}, {On: gpu("p100"), Rate: 700_000}, {On: gpu("a100"), Rate: 3 * trace.SpeedUnit}}
	for _, c := range []struct {
		model  string
		speeds []trace.Speed
		want   cluster.Time
	}{
		{"k80", speeds, 1500 * cluster.Second},
		{"p100", speeds, 428_571_429},
		{"a100", speeds, 100 * cluster.Second},
		{"v100", speeds, 300 * cluster.Second}, // nobody says how fast it is there
		{"k80", nil, 300 * cluster.Second},
		{"k80", []trace.Speed{{On: cluster.Label{Key: "disk", Value: "k80"}, Rate: 1}}, 300 * cluster.Second},
		{"slow", []trace.Speed{{On: gpu("slow"), Rate: 1}}, 300_000_000 * cluster.Second},
		{"fast", []trace.Speed{{On: gpu("fast"), Rate: trace.MostSpeed}}, 300_000},
	} {
		if got, err := endOf(training(c.speeds, c.model), World{}); err != nil || got != c.want {
			t.Errorf("%s, %v: it ends at %v, %v, want %v", c.model, c.speeds, got, err, c.want)
		}
	}
}

// A task with a range works so much faster with more, and so much slower on a slow node.
func TestSpeedsMultiplyWithCores(t *testing.T) {
	l := sequential(9, 1)
	l.records[0].Node.Labels = []cluster.Label{gpu("k80")}
	l.records[1].Task.Speeds = []trace.Speed{{On: gpu("k80"), Rate: 500_000}}
	policy := &grantor{grants: map[cluster.Seq]cluster.Vector{1: {1, 3000}}, resizes: []resizing{{100 * cluster.Second, 1, cluster.Vector{1, 6000}}}}
	// Half is done after 100 s with three cores at half the speed; what is left takes six of them 50 s.
	if got, err := endOf(l, World{}, policy); err != nil || got != 150*cluster.Second {
		t.Errorf("it ends at %v, %v, want 150 s", got, err)
	}
}

// What is granted times the speed may be more than 64 bits hold: with 2 TB, in bytes, at ten times the speed a task takes a
// 20,000th of its time with a GB, wherever that changes on the way.
func TestSpeedsOfTerabytes(t *testing.T) {
	const gb, tb = 1_000_000_000, 1_000_000_000_000
	for _, c := range []struct {
		granted, speed int64
		resizes        []resizing
		want           cluster.Time
	}{
		{2 * tb, 10 * trace.SpeedUnit, nil, 15 * cluster.Second},
		{30 * tb, trace.SpeedUnit, nil, 10 * cluster.Second},
		{30 * tb, trace.MostSpeed, nil, 10 * cluster.Millisecond},
		{2 * tb, 10 * trace.SpeedUnit, []resizing{{5 * cluster.Second, 1, cluster.Vector{20 * tb}}}, 6 * cluster.Second},
		{gb, trace.SpeedUnit, nil, 300_000 * cluster.Second},
	} {
		l := &list{kinds: []cluster.Kind{{Name: "memory", Unit: "GB", PerUnit: gb}}, records: []trace.Record{
			{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{cluster.MaxQuantity}, Labels: []cluster.Label{gpu("k80")}}},
			{What: trace.TaskSubmitted, Task: trace.Task{
				JobTasks: 1, Demand: cluster.Vector{gb}, Max: cluster.Vector{cluster.MaxQuantity}, Work: 300_000 * cluster.Second,
				Speeds: []trace.Speed{{On: gpu("k80"), Rate: c.speed}},
			}},
		}}
		policy := &grantor{grants: map[cluster.Seq]cluster.Vector{1: {c.granted}}, resizes: c.resizes}
		if got, err := endOf(l, World{}, policy); err != nil || got != c.want {
			t.Errorf("%d bytes at speed %d: it ends at %v, %v, want %v", c.granted, c.speed, got, err, c.want)
		}
	}
}

// losses is nodes that go, one after the other; the task is on the first that is there, and so moves to the next each time.
func losses(speeds []trace.Speed, at []cluster.Time, models []string) *list {
	l := training(speeds, models...)
	for i, gone := range at {
		l.records = append(l.records, trace.Record{Time: gone, What: trace.NodeLost, Node: trace.Node{ID: uint64(i)}})
	}
	return l
}

// Where work is kept, a task that moves has done on each node what that is fast for, and ends at the first microsecond at which the sum is its work; where
// it is lost, it begins again. A slow and obvious sum says when that is.
func TestMovedRunsEndWhenTheirWorkIsDone(t *testing.T) {
	models := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		var speeds []trace.Speed
		rates := map[string]int64{}
		for _, model := range models {
			rates[model] = trace.SpeedUnit
			if rapid.Bool().Draw(t, "named") {
				rates[model] = rapid.Int64Range(trace.SpeedUnit/50, 4*trace.SpeedUnit).Draw(t, model)
				speeds = append(speeds, trace.Speed{On: gpu(model), Rate: rates[model]})
			}
		}
		var gone []cluster.Time
		at := cluster.Time(0)
		for range rapid.IntRange(0, 3).Draw(t, "moves") {
			at += cluster.Time(rapid.Int64Range(1, int64(150*cluster.Second)).Draw(t, "after"))
			gone = append(gone, at)
		}
		kept := rapid.Bool().Draw(t, "kept")
		left, since, want := big.NewInt(int64(300*cluster.Second)*trace.SpeedUnit), cluster.Time(0), cluster.Never
		for i := 0; want == cluster.Never; i++ {
			rate := rates[models[i]]
			need := new(big.Int).Div(new(big.Int).Add(left, big.NewInt(rate-1)), big.NewInt(rate)).Int64()
			if i == len(gone) || since+cluster.Time(need) <= gone[i] {
				want = since + cluster.Time(need)
				break
			}
			if kept {
				left.Sub(left, new(big.Int).Mul(big.NewInt(int64(gone[i]-since)), big.NewInt(rate)))
			}
			since = gone[i]
		}
		if got, err := endOf(losses(speeds, gone, models), World{KeepWork: kept}); err != nil || got != want {
			t.Fatalf("it ends at %v, %v, want %v", got, err, want)
		}
	})
}

// A run goes on as fast as it began where its node changes its labels, and a later one is as fast as these say.
func TestSpeedIsThatOfTheBeginning(t *testing.T) {
	l := training([]trace.Speed{{On: gpu("k80"), Rate: 500_000}}, "k80")
	node := l.records[0].Node
	node.Labels = []cluster.Label{gpu("v100")}
	l.records = append(l.records,
		trace.Record{Time: 10 * cluster.Second, What: trace.NodeChanged, Node: node},
		trace.Record{Time: 100 * cluster.Second, What: trace.NodeLost, Node: node},
		trace.Record{Time: 100 * cluster.Second, What: trace.NodeAdded, Node: node})
	if got, err := endOf(l, World{KeepWork: true}); err != nil || got != 350*cluster.Second {
		t.Errorf("it ends at %v, %v, want 350 s: 50 of its 300 s are done within 100", got, err)
	}
}
