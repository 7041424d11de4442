package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// This file holds the choice of devices of two kinds to a slow rival, which tries all
// sets of devices that the node has.

// rig is a node with GPUs of 5 and network cards of 3, and what the test knows of them.
type rig struct {
	s     *cluster.State
	shape cluster.ShapeID // the next
	held  map[int]int64   // by place
	gone  map[int]int64   // the part of held that is leaving
	limit map[int]int64
}

const (
	gpuSize, cardSize = 5, 3
	firstCard         = 32 // two kinds have half of the places each
)

func newRig(t *testing.T, chance *rand.Rand) *rig {
	t.Helper()
	r := &rig{
		s:    cluster.NewState([]cluster.Kind{{Name: "gpu", PerUnit: gpuSize, Devices: true}, {Name: "nic", PerUnit: cardSize, Devices: true}}, nil),
		held: map[int]int64{}, gone: map[int]int64{}, limit: map[int]int64{},
	}
	gpus, cards := chance.IntN(4), chance.IntN(4)
	r.apply(t, cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{int64(gpus) * gpuSize, int64(cards) * cardSize}}})
	for i := range gpus {
		r.limit[i] = gpuSize
	}
	for i := range cards {
		r.limit[firstCard+i] = cardSize
	}
	r.apply(t, cluster.JobSubmitted{})
	return r
}

func (r *rig) apply(t *testing.T, e cluster.Event) {
	t.Helper()
	if err := r.s.Apply(0, e); err != nil {
		t.Fatalf("%+v: %v", e, err)
	}
}

// submit makes a waiting task with a demand of its own.
func (r *rig) submit(t *testing.T, demand cluster.Vector) cluster.TaskID {
	t.Helper()
	id := cluster.TaskID(r.shape)
	r.apply(t, cluster.ShapeDefined{Shape: r.shape, Spec: cluster.Shape{Demand: demand}})
	r.apply(t, cluster.TaskSubmitted{Task: id, Seq: cluster.Seq(id) + 1, Shape: r.shape})
	r.shape++
	return id
}

// drawNeed draws what to ask for: nothing, a share, or whole devices.
func drawNeed(chance *rand.Rand) cluster.Vector {
	return cluster.Vector{[]int64{0, 0, 2, 3, 3, 4, 5, 10}[chance.IntN(8)], []int64{0, 0, 1, 2, 2, 3, 6}[chance.IntN(7)]}
}

// want is what a demand asks of the places from one on: so much of each of so many.
func want(q, size int64) (count int, share int64) {
	if q > size {
		return int(q / size), size
	}
	return int(min(q, 1)), q
}

// sets lists all sets of devices that hold the demand, by what is left of each.
func (r *rig) sets(demand cluster.Vector, left func(int) int64) (list []cluster.DeviceSet) {
	gpus, gpuShare := want(demand[0], gpuSize)
	cards, cardShare := want(demand[1], cardSize)
	for mask := range 64 {
		set := cluster.DeviceSet(mask&7) | cluster.DeviceSet(mask>>3)<<firstCard
		if (set&7).Count() != gpus || (set>>firstCard).Count() != cards {
			continue
		}
		ok := true
		for i := range 3 {
			ok = ok && (!set.Has(i) || left(i) >= gpuShare) && (!set.Has(firstCard+i) || left(firstCard+i) >= cardShare)
		}
		if ok {
			list = append(list, set)
		}
	}
	return list
}

// fullest reports whether no device of the set could be had fuller, of its kind.
func fullest(set cluster.DeviceSet, sets []cluster.DeviceSet, left func(int) int64, places cluster.DeviceSet) bool {
	sum := func(set cluster.DeviceSet) (sum int64) {
		for i := range cluster.MaxDevices {
			if (set & places).Has(i) {
				sum += left(i)
			}
		}
		return sum
	}
	for _, other := range sets {
		if sum(other) < sum(set) {
			return false
		}
	}
	return true
}

// TestTwoKindsOfDevices places, evicts and ends at random on a node with GPUs and network
// cards. What the state says of room, and which devices it picks, is as all sets say.
func TestTwoKindsOfDevices(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(400) {
		chance := rand.New(rand.NewPCG(seed, 0x2d))
		r := newRig(t, chance)
		var running []cluster.TaskID
		for range 12 {
			if len(running) > 0 && chance.IntN(3) == 0 {
				at := chance.IntN(len(running))
				r.evict(t, running[at], seen)
				running = append(running[:at], running[at+1:]...)
			} else if id, ok := r.place(t, drawNeed(chance), seen); ok {
				running = append(running, id)
			}
			if err := r.s.Check(); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, r.s.Picture())
			}
		}
	}
	t.Log(seen)
	for _, what := range []string{"never", "later", "now", "both kinds", "no gpu", "no nic", "evicted"} {
		if seen[what] < 5 {
			t.Errorf("%s: %d times, want more: the cases are too much alike", what, seen[what])
		}
	}
}

// now, later and empty are what is left of the device in a place.
func (r *rig) now(i int) int64   { return r.limit[i] - r.held[i] }
func (r *rig) later(i int) int64 { return r.limit[i] - r.held[i] + r.gone[i] }
func (r *rig) empty(i int) int64 { return r.limit[i] }

// place asks everything about the demand, and places it.
func (r *rig) place(t *testing.T, demand cluster.Vector, seen map[string]int) (cluster.TaskID, bool) {
	t.Helper()
	id := r.submit(t, demand)
	shape := r.s.Task(id).Shape
	now, later := r.sets(demand, r.now), r.sets(demand, r.later)
	for k, q := range demand { // what is promised to others is over the limit until who leaves has left
		if q > 0 && q > r.s.Limit(0)[k]-r.s.Used(0)[k] {
			now = nil
		}
	}
	said := fmt.Sprintf("%v on %s", demand, r.s.Picture())
	if got, want := r.s.FitsEmpty(shape, 0), len(r.sets(demand, r.empty)) > 0; got != want {
		t.Fatalf("%s: fits the empty node %v, want %v", said, got, want)
	}
	if got, want := r.s.RoomNow(shape, 0), len(now) > 0; got != want {
		t.Fatalf("%s: room now %v, want %v", said, got, want)
	}
	picked, ok := r.s.PickDevices(0, r.s.DeviceNeeds(shape))
	refusal := r.s.Place(id, 0, 0)
	if ok != (len(later) > 0) || refusal.Refused() == ok {
		t.Fatalf("%s: picks %b (%v), placed: %+v; want %d choices", said, picked, ok, refusal, len(later))
	}
	if !ok {
		seen["never"]++
		if refusal.Code == cluster.NoDevice {
			seen["no "+r.s.Kinds()[refusal.Kind].Name]++
		}
		return 0, false
	}
	r.checkChoice(t, id, demand)
	if got := r.s.Task(id); got.Devices != picked || (got.Phase == cluster.Starting) != slices.Contains(now, picked) {
		t.Fatalf("%s: %v with devices %b, picked %b of %b now", said, got.Phase, got.Devices, picked, now)
	}
	if demand[0] > 0 && demand[1] > 0 {
		seen["both kinds"]++
	}
	for i, share := range r.s.DeviceNeeds(shape).On(picked) {
		r.held[i] += share
	}
	if r.s.Task(id).Phase == cluster.Reserved {
		seen["later"]++
		return id, true
	}
	seen["now"]++
	r.apply(t, cluster.TaskStarted{Task: id, Attempt: 1})
	return id, true
}

// checkChoice holds the devices of the placed task to the rule: of each kind, one that is
// possible, without what is leaving if that is possible, and the fullest such.
func (r *rig) checkChoice(t *testing.T, id cluster.TaskID, demand cluster.Vector) {
	t.Helper()
	set := r.s.Task(id).Devices
	for _, k := range r.s.DeviceKinds() {
		only := make(cluster.Vector, len(demand))
		only[k.Kind] = demand[k.Kind]
		sets, left := r.sets(only, r.now), r.now
		if len(sets) == 0 {
			sets, left = r.sets(only, r.later), r.later
		}
		if !slices.Contains(sets, set&k.Places()) || !fullest(set, sets, left, k.Places()) {
			t.Fatalf("%v: devices %b of %s are not the fullest of %b", demand, set, r.s.Kinds()[k.Kind].Name, sets)
		}
	}
}

// evict lets the task leave, or be gone.
func (r *rig) evict(t *testing.T, id cluster.TaskID, seen map[string]int) {
	t.Helper()
	task := r.s.Task(id)
	phase := task.Phase
	needs, set := r.s.DeviceNeeds(task.Shape), task.Devices
	if refusal := r.s.Evict(id); refusal.Refused() {
		t.Fatalf("%v: %+v", id, refusal)
	}
	for i, share := range needs.On(set) {
		if phase == cluster.Reserved {
			r.held[i] -= share
		} else {
			r.gone[i] += share
		}
	}
	seen["evicted"]++
}

// A node may have half of the places of each of two kinds, and no more; and a demand is
// held to each kind by itself.
func TestRefuseTwoKindsOfDevices(t *testing.T) {
	kinds := []cluster.Kind{{Name: "gpu", PerUnit: 10, Devices: true}, {Name: "cpu"}, {Name: "nic", PerUnit: 2, Devices: true}}
	for _, tc := range []struct {
		event cluster.Event
		want  string
	}{
		{cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{320, 1, 64}}}, ""},
		{cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{330, 1, 64}}}, `node "n": capacity of gpu is 33, want whole devices, at most 32`},
		{cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{320, 1, 66}}}, `node "n": capacity of nic is 33, want whole devices, at most 32`},
		{cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{320, 1, 3}}}, `node "n": capacity of nic is 1.5, want whole devices, at most 32`},
		{cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{5, 1, 4}}}, ""},
		{cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{5, 1, 3}}}, "shape row 0: demand of nic is 1.5, want a share of one device or whole devices"},
	} {
		got := ""
		if err := cluster.NewState(kinds, nil).Apply(0, tc.event); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.event, got, tc.want)
		}
	}
	many := make([]cluster.Kind, cluster.MaxDevices+1)
	for i := range many {
		many[i] = cluster.Kind{PerUnit: 1, Devices: true}
	}
	if cluster.CheckKinds(many) == nil || cluster.CheckKinds(many[1:]) != nil {
		t.Errorf("%d kinds in devices are refused %v, one less %v; want the first alone", len(many), cluster.CheckKinds(many), cluster.CheckKinds(many[1:]))
	}
}

// Devices of one kind keep their places while the other kind comes, grows and goes.
func TestPlacesStayWhenOtherKindGrows(t *testing.T) {
	kinds := []cluster.Kind{{Name: "gpu", PerUnit: 1, Devices: true}, {Name: "nic", PerUnit: 1, Devices: true}}
	s := cluster.NewState(kinds, nil)
	for _, e := range []cluster.Event{
		cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{0, 2}}},
		cluster.JobSubmitted{},
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{0, 2}}},
		cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{2, 1}}},
		cluster.TaskSubmitted{Seq: 1},
		cluster.TaskFound{Seq: 1},
		cluster.NodeChanged{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{2, 3}}},
		cluster.TaskSubmitted{Task: 1, Seq: 2, Shape: 1},
	} {
		if err := s.Apply(0, e); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
	}
	if r := s.Place(1, 0, 1<<(firstCard+2)); r.Refused() { // GPUs are left to choose
		t.Fatalf("%+v", r)
	}
	if a, b := s.Task(0).Devices, s.Task(1).Devices; a != 3<<firstCard || b != 1<<(firstCard+2)|3 {
		t.Errorf("devices are %b and %b, want the first two cards, and the third with both GPUs", a, b)
	}
	if err := s.Apply(0, cluster.NodeChanged{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1, 3}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if place, over := s.DeviceOver(0); place != 1 || !over {
		t.Errorf("device %d is over its limit (%v), want the GPU that was lost", place, over)
	}
	const want = "n  gpu 2/1![1 1] nic 3/3[1 1 1]  #1:running #2:starting\n"
	if got := s.Picture(); got != want {
		t.Errorf("picture is\n%swant\n%s", got, want)
	}
}
