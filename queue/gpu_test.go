package queue

import (
	"math"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sched"
)

// held is a task that is on a node already.
type held struct {
	cpu, gpu int64 // millicores, thousandths of a GPU
	devices  cluster.DeviceSet
	nic      int64 // thousandths of a network card, where there are such
}

// gpuNode is a node of so many cores and GPUs that holds these tasks.
func gpuNode(t *testing.T, cores, devices int64, tasks ...held) *cluster.View {
	t.Helper()
	return deviceNode(t, []string{"gpu"}, cluster.Vector{cores * 1000, devices * 1000}, tasks...)
}

// deviceNode is a node with that capacity of cpu and of kinds that come in devices.
func deviceNode(t *testing.T, names []string, capacity cluster.Vector, tasks ...held) *cluster.View {
	t.Helper()
	kinds := []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}}
	for _, name := range names {
		kinds = append(kinds, cluster.Kind{Name: name, PerUnit: 1000, Devices: true})
	}
	s := cluster.NewState(kinds, []cluster.Class{{Name: "all"}})
	apply := func(events ...cluster.Event) {
		for _, e := range events {
			if err := s.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	apply(cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n0", Capacity: capacity}}, cluster.JobSubmitted{})
	for i, h := range tasks {
		id := cluster.TaskID(i)
		apply(cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: cluster.Vector{h.cpu, h.gpu, h.nic}[:len(capacity)]}},
			cluster.TaskSubmitted{Task: id, Seq: cluster.Seq(i + 1), Shape: cluster.ShapeID(i)})
		if r := s.Place(id, 0, h.devices); r.Refused() {
			t.Fatalf("task %d: %v", i, r)
		}
	}
	return &s.View
}

// TestGPUScores checks the formulas of specs/traces.md §3.1 on numbers worked
// out by hand.
func TestGPUScores(t *testing.T) {
	typical := []fragmentation.Typical{{Demand: cluster.Vector{1000, 500}, Tasks: 3}, {Demand: cluster.Vector{4000, 0}, Tasks: 1}}
	known := &gpus{}
	fgd := &gradient{typical: typical, logits: logits()}
	packing, clustering := known.packing, known.clustering
	shared := []held{{1000, 400, 1, 0}, {1000, 1000, 4, 0}} // of four GPUs 600, 1000, 0 and 1000 are left
	for _, tc := range []struct {
		name           string
		score          Score
		cores, devices int64
		tasks          []held
		cpu, gpu       int64
		want           int64
	}{
		// Half of the most cpu is left, and half of the most GPUs: 1 - 1/4 - 1/4.
		{"best-fit", known.bestFit, 96, 8, []held{{30_000, 2000, 3, 0}}, 2000, 2000, 50},
		// 1 - 1/2·95/128 - 1/2·8/8 is 0.1289.
		{"best-fit of an idle node", known.bestFit, 96, 8, nil, 1000, 0, 12},
		// Their largest node has 128 cores; of larger ones less is left all the same.
		{"best-fit of 200 cores", known.bestFit, 200, 8, nil, 1000, 0, -27},
		{"best-fit of 256 cores", known.bestFit, 256, 8, nil, 1000, 0, -49},
		{"packing without GPU", packing, 96, 8, nil, 1000, 0, 0},
		{"packing on an idle node", packing, 96, 8, nil, 1000, 500, 25},
		{"packing on an idle node of many GPUs", packing, 96, 20, nil, 1000, 500, 20},
		{"packing on a shared GPU", packing, 96, 4, shared, 1000, 500, 94},
		{"packing beside shared GPUs", packing, 96, 4, shared, 1000, 700, 49},
		{"packing whole GPUs", packing, 96, 4, shared, 1000, 2000, 48},
		{"clustering without GPU", clustering, 96, 4, shared, 1000, 0, 0},
		// 25 · (8 - 4)/8 is 12.
		{"clustering on an idle node", clustering, 96, 4, nil, 1000, 500, 12 + 25},
		// 2.6 GPUs are left: 25 · 5.4/8 is 16.
		{"clustering beside both", clustering, 96, 4, shared, 1000, 500, 16 + 50},
		{"clustering beside others", clustering, 96, 4, shared, 1000, 2000, 16},
		{"clustering beside its own", clustering, 96, 4, shared[1:], 1000, 1000, 15 + 75},
		// The quarter of tasks without GPU cannot use any: what is free is waste
		// to it. The others cannot use what is left of a device below a half.
		// Of 1 GPU a half goes: 1/4 · 0.5 less waste; σ(0.125) is 0.531.
		{"fgd of what leaves no waste", fgd.score, 96, 1, nil, 1000, 500, 53},
		// 1/4 · 0.6 less, 3/4 · 0.4 more; σ(-0.15) is 0.4626.
		{"fgd of what leaves waste", fgd.score, 96, 1, nil, 1000, 600, 46},
		// No cpu is left for the others: 3/4 · 0.5 more instead; σ(-0.25) is 0.4378.
		{"fgd of what leaves no cpu", fgd.score, 1, 1, nil, 1000, 500, 43},
		// The task without GPU changes nothing; σ(0) is 0.5.
		{"fgd without GPU", fgd.score, 96, 1, nil, 1000, 0, 50},
		// Of two whole GPUs both go: 1/4 · 2 less; σ(0.5) is 0.6225.
		{"fgd of whole GPUs", fgd.score, 96, 2, nil, 1000, 2000, 62},
	} {
		s := gpuNode(t, tc.cores, tc.devices, tc.tasks...)
		all := sched.Changed{All: true, Nodes: []cluster.NodeID{0}}
		known.learn(s, &all, nil)
		fgd.learn(s, &all, nil)
		if got := tc.score(s, &cluster.Shape{Demand: cluster.Vector{tc.cpu, tc.gpu}}, 0); got != tc.want {
			t.Errorf("%s: %d points, want %d", tc.name, got, tc.want)
		}
	}
}

// card is the first network card of a node that has GPUs, too.
const card = cluster.DeviceSet(1 << (cluster.MaxDevices / 2))

// TestGPUScoresOfTwoKinds checks what the formulas say of GPUs and network cards, on
// numbers worked out by hand.
func TestGPUScoresOfTwoKinds(t *testing.T) {
	known := &gpus{}
	fgd := &gradient{typical: []fragmentation.Typical{{Demand: cluster.Vector{0, 1000, 1000}, Tasks: 3}, {Demand: cluster.Vector{0, 1000, 0}, Tasks: 1}}, logits: logits()}
	both, shared := held{0, 1000, 1 | card, 500}, held{0, 400, 1, 0}
	for _, tc := range []struct {
		name        string
		score       Score
		gpus, cards int64
		tasks       []held
		gpu, nic    int64
		want        int64
	}{
		// All cpu is left, and of most devices 2/8 and 1/8: 1 - 1/2 - 1/2·3/16.
		{"best-fit", known.bestFit, 4, 2, nil, 2000, 1000, 40},
		// The mean of what an idle node of four GPUs and one of two cards count: 29 and 31.
		{"packing on an idle node", known.packing, 4, 2, nil, 500, 500, 30},
		{"packing on a shared GPU, and an idle card beside it", known.packing, 4, 2, []held{shared}, 500, 500, (94 + 49) / 2},
		{"packing without GPU on a node that is busy by its GPUs", known.packing, 4, 2, []held{shared}, 0, 500, 49},
		// 4.5 of most 16 devices are left: 25 · 11.5/16 is 17.
		{"clustering beside its own", known.clustering, 4, 2, []held{both}, 1000, 300, 17 + 75},
		{"clustering beside who has a card, too", known.clustering, 4, 2, []held{both}, 1000, 0, 17},
		{"clustering beside who has a whole card", known.clustering, 4, 2, []held{both}, 1000, 1000, 17},
		// The quarter of tasks that want no card cannot use it; without a GPU nobody can:
		// 3/4 more waste; σ(-0.75) is 0.3208.
		{"fgd of a GPU that leaves a card alone", fgd.score, 1, 1, nil, 1000, 0, 32},
		// The card goes, and with it what the quarter cannot use, but the GPU is of no use to
		// three quarters: 1/4 less, 3/4 more; σ(-0.5) is 0.3775.
		{"fgd of a card that leaves a GPU alone", fgd.score, 1, 1, nil, 0, 1000, 37},
		// σ(0.25) is 0.5622.
		{"fgd of both", fgd.score, 1, 1, nil, 1000, 1000, 56},
		// A GPU without a card is of use to the quarter alone: 3/4 less; σ(0.75) is 0.6792.
		{"fgd of a GPU without card", fgd.score, 1, 0, nil, 1000, 0, 67},
	} {
		s := deviceNode(t, []string{"gpu", "nic"}, cluster.Vector{128_000, tc.gpus * 1000, tc.cards * 1000}, tc.tasks...)
		all := sched.Changed{All: true, Nodes: []cluster.NodeID{0}}
		known.learn(s, &all, nil)
		fgd.learn(s, &all, nil)
		if got := tc.score(s, &cluster.Shape{Demand: cluster.Vector{0, tc.gpu, tc.nic}}, 0); got != tc.want {
			t.Errorf("%s: %d points, want %d", tc.name, got, tc.want)
		}
	}
}

// TestDevicesOfTwoKinds wants shares of both where they leave no waste, and none
// named of a kind of which the task has whole devices.
func TestDevicesOfTwoKinds(t *testing.T) {
	s := deviceNode(t, []string{"gpu", "nic"}, cluster.Vector{96_000, 3000, 3000}, held{1000, 500, 2 | card<<1, 500})
	fgd := &gradient{typical: []fragmentation.Typical{{Demand: cluster.Vector{1000, 1000, 1000}, Tasks: 1}}, logits: logits()}
	all := sched.Changed{All: true, Nodes: []cluster.NodeID{0}}
	fgd.learn(s, &all, nil)
	random := fgd.anyDevice(rand.New(rand.NewPCG(1, 1)))
	for _, tc := range []struct {
		gpu, nic int64
		want     cluster.DeviceSet
		shares   int
	}{
		{500, 500, 2 | card<<1, 2},
		{500, 1000, 2, 1},
		{1000, 500, card << 1, 1},
		{2000, 0, 0, 0},
	} {
		shape := &cluster.Shape{Demand: cluster.Vector{1000, tc.gpu, tc.nic}}
		if got := fgd.device(s, shape, 0); got != tc.want {
			t.Errorf("%d and %d: devices %b, want %b", tc.gpu, tc.nic, got, tc.want)
		}
		if got := random(s, shape, 0); got.Count() != tc.shares {
			t.Errorf("%d and %d: any devices %b, want %d", tc.gpu, tc.nic, got, tc.shares)
		}
	}
}

// TestFGDChoosesDevice wants the share where it leaves no waste, and where all
// are equal on the first device.
func TestFGDChoosesDevice(t *testing.T) {
	s := gpuNode(t, 96, 4, held{1000, 400, 4, 0})
	fgd := &gradient{typical: []fragmentation.Typical{{Demand: cluster.Vector{1000, 500}, Tasks: 1}}, logits: logits()}
	fgd.learn(s, &sched.Changed{All: true, Nodes: []cluster.NodeID{0}}, nil)
	for _, tc := range []struct {
		gpu  int64
		want cluster.DeviceSet
	}{
		{600, 4}, // 0 is left of the third; of another it would be 400
		{500, 1}, // 500 is left of the first, as good as nothing taken
		{700, 1}, // the third has not enough
		{1000, 0},
	} {
		if got := fgd.device(s, &cluster.Shape{Demand: cluster.Vector{1000, tc.gpu}}, 0); got != tc.want {
			t.Errorf("a share of %d: devices %b, want %b", tc.gpu, got, tc.want)
		}
	}
}

// TestFGDLearns gives no typical tasks: those that are submitted decide which
// node is the better one, each counted once however often it changes.
func TestFGDLearns(t *testing.T) {
	s := gpuNode(t, 96, 1, held{1000, 300, 1, 0})
	fgd := &gradient{logits: logits()}
	changed := sched.Changed{All: true, Nodes: []cluster.NodeID{0}, Tasks: []cluster.TaskID{0}}
	if !fgd.learn(s, &changed, nil) || fgd.mix.Tasks() != 1 {
		t.Errorf("the mix is of %d tasks after the first one", fgd.mix.Tasks())
	}
	changed.All = false
	if fgd.learn(s, &changed, nil) {
		t.Error("a task that was seen before makes the mix anew")
	}
	// Of 700 a share of 600 leaves 100, too little for another 300: σ(-0.1).
	if got := fgd.score(s, &cluster.Shape{Demand: cluster.Vector{1000, 600}}, 0); got != 47 {
		t.Errorf("%d points, want 47", got)
	}
}

// TestFGDMembers lets those who are typical lose one node and gain another: for everybody
// else, too, a node that they cannot use is the better one.
func TestFGDMembers(t *testing.T) {
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "gpu", PerUnit: 1000, Devices: true}}, nil), sched.Lane{Policy: policyNamed(t, "fgd")})
	if err != nil {
		t.Fatal(err)
	}
	events := []cluster.Event{
		cluster.JobSubmitted{},
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Capacity: cluster.Vector{100, 8000}}},
		cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Capacity: cluster.Vector{100, 8000}}},
		cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{1}},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1, 1000}, Eligible: 1}},
		cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1, 500}}},
	}
	submit := func(shapes ...cluster.ShapeID) {
		for _, shape := range shapes {
			id := core.View().TaskRows()
			events = append(events, cluster.TaskSubmitted{Task: cluster.TaskID(id), Seq: cluster.Seq(id), Shape: shape})
			out, _, err := core.Step(cluster.Time(id), events, nil)
			if err != nil || len(out) != 1 {
				t.Fatalf("decided %v, %v; want one task to be placed", out, err)
			}
			events = events[:0]
		}
	}
	wantLast := func(n cluster.NodeID) {
		t.Helper()
		if got := core.View().Task(cluster.TaskID(core.View().TaskRows() - 1)).Node; got != n {
			t.Errorf("the last one is on node %d, want %d, in\n%s", got, n, core.View().Picture())
		}
	}
	submit(0, 0, 0, 1, 1) // the mix is made anew with the first, the second and the fourth
	wantLast(0)
	events = append(events, cluster.EligibilityChanged{Set: 1, Node: 0, Eligible: true}, cluster.EligibilityChanged{Set: 1, Node: 1, Eligible: false})
	submit(1)
	wantLast(1)
}

// TestLogits compares the series with the logarithm.
func TestLogits(t *testing.T) {
	table := logits()
	for i, got := range table {
		if want := math.Log(float64(i+1) / float64(99-i)); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d points begin at %g, want %g", i+1, got, want)
		}
	}
	if table[49] != 0 {
		t.Errorf("no change scores other than 50 points: %g", table[49])
	}
}

// TestGPURandomUsesAllDevices wants every device that fits, and no other.
func TestGPURandomUsesAllDevices(t *testing.T) {
	s := gpuNode(t, 96, 4, held{1000, 600, 2, 0})
	known := &gpus{}
	known.learn(s, &sched.Changed{All: true}, nil)
	choose := known.anyDevice(rand.New(rand.NewPCG(1, 1)))
	seen := map[cluster.DeviceSet]int{}
	for range 300 {
		seen[choose(s, &cluster.Shape{Demand: cluster.Vector{0, 500}}, 0)]++
	}
	if len(seen) != 3 || seen[1] < 60 || seen[4] < 60 || seen[8] < 60 {
		t.Errorf("devices were taken so often: %v", seen)
	}
}
