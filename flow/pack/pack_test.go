package pack_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/flow/pack"
)

// anyInput draws a small input in which everything happens: kinds that a node
// lacks, rooms below zero, equal nodes, classes of equal demand or of none, of
// no value, without tasks, with tasks for every node, and nodes that refuse.
func anyInput(t *rapid.T) *pack.Input {
	kinds, nodes, classes := rapid.IntRange(1, 3).Draw(t, "kinds"), rapid.IntRange(0, 7).Draw(t, "nodes"), rapid.IntRange(0, 70).Draw(t, "classes")
	in := &pack.Input{Kinds: kinds, Consolidate: rapid.Bool().Draw(t, "consolidate")}
	grain := rapid.SampledFrom([]int64{1, 1 << 40}).Draw(t, "grain")
	for range nodes {
		if n := len(in.Room); n > 0 && rapid.Bool().Draw(t, "same") {
			in.Room = append(in.Room, in.Room[n-kinds:]...)
			continue
		}
		for range kinds {
			in.Room = append(in.Room, grain*rapid.Int64Range(-2, 30).Draw(t, "room"))
		}
	}
	for range classes {
		for range kinds {
			in.Demand = append(in.Demand, grain*rapid.Int64Range(0, 9).Draw(t, "demand"))
		}
		in.Count = append(in.Count, rapid.Int32Range(0, 5).Draw(t, "count"))
		in.Value = append(in.Value, rapid.OneOf(rapid.Int64Range(-1, 9), rapid.Int64Range(0, pack.MaxValue)).Draw(t, "value"))
	}
	if rapid.Bool().Draw(t, "limits") {
		most := rapid.SliceOfN(rapid.IntRange(0, 3), nodes*classes, nodes*classes).Draw(t, "most")
		in.Most = func(class, node int) int { return most[node*classes+class] }
	}
	if rapid.Bool().Draw(t, "pools") {
		in.Pool = rapid.SliceOfN(rapid.Int32Range(0, 2), nodes, nodes).Draw(t, "pool")
	}
	return in
}

// TestSlotsAreSafe checks what the packing promises: it fits, whatever is put into
// its slots fits, the packing itself can be put into them, and nothing of value
// that was left over fits beside it.
func TestSlotsAreSafe(t *testing.T) {
	var p pack.Packer
	var out pack.Packing
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		p.Pack(in, &out)
		left := slices.Clone(in.Count)
		for n := range nodes(in) {
			rest := roomOf(in, n)
			for _, item := range out.Items(n) {
				left[item.ID] -= item.Count
				if item.Count <= 0 || in.Most != nil && int(item.Count) > in.Most(int(item.ID), n) {
					t.Fatalf("node %d has %d tasks of class %d", n, item.Count, item.ID)
				}
				for k, q := range demandOf(in, item.ID) {
					rest[k] -= q * int64(item.Count)
				}
			}
			sum := roomOf(in, n)
			for _, slot := range out.Slots(n) {
				for k, q := range out.Envelope(int(slot.ID)) {
					sum[k] -= q * int64(slot.Count)
				}
			}
			if slices.Min(rest) < 0 || slices.Min(sum) < 0 {
				t.Fatalf("node %d is over: %v left beside its tasks, %v beside its slots", n, rest, sum)
			}
			for c := range in.Count {
				if out.Left()[c] > 0 && in.Value[c] > 0 && within(demandOf(in, int32(c)), rest) && (in.Most == nil || in.Most(c, n) > count(out.Items(n), c)) {
					t.Fatalf("a task of class %d fits on node %d, and was left", c, n)
				}
			}
			if err := seated(in, &out, n); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(left, out.Left()) {
			t.Fatalf("left %v, counted again %v", out.Left(), left)
		}
	})
}

// seated says why the items of a node do not fit into its slots, one each: all but
// one have a slot that is as large as they are.
func seated(in *pack.Input, out *pack.Packing, n int) error {
	var empty, homeless [][]int64
	for _, slot := range out.Slots(n) {
		for range slot.Count {
			empty = append(empty, out.Envelope(int(slot.ID)))
		}
	}
	for _, item := range out.Items(n) {
		for range item.Count {
			demand := demandOf(in, item.ID)
			at := slices.IndexFunc(empty, func(e []int64) bool { return slices.Equal(e, demand) })
			if at < 0 {
				homeless = append(homeless, demand)
				continue
			}
			empty = slices.Delete(empty, at, at+1)
		}
	}
	if len(out.Items(n)) == 0 && len(empty) <= 1 {
		return nil
	}
	if len(empty) != len(homeless) || len(empty) > 1 || len(empty) == 1 && !within(homeless[0], empty[0]) {
		return fmt.Errorf("node %d has slots %v besides those of its tasks, and tasks %v besides them", n, empty, homeless)
	}
	return nil
}

// TestAgainstRival compares the packer with one that is slow and plain.
func TestAgainstRival(t *testing.T) {
	var p pack.Packer
	var out pack.Packing
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		p.Pack(in, &out)
		want := rival(in)
		for n := range nodes(in) {
			got := make([]int32, len(in.Count))
			for _, item := range out.Items(n) {
				got[item.ID] = item.Count
			}
			if !slices.Equal(got, want[n]) {
				t.Fatalf("node %d has %v, want %v", n, got, want[n])
			}
		}
	})
}

// rival packs as the opening comment of packer.go says, looking at every class
// each time, and computes in big integers.
func rival(in *pack.Input) [][]int32 {
	classes := len(in.Count)
	total, unit := make([]int64, in.Kinds), make([]int64, in.Kinds)
	var room [][]int64
	for n := range nodes(in) {
		room = append(room, roomOf(in, n))
		for k, q := range room[n] {
			total[k] += q
			unit[k] = max(unit[k], q)
		}
	}
	fixed := func(a, b int64, digits uint) *big.Int {
		if a >= b && a > 0 {
			a, b = 1, 1
		}
		x := new(big.Int).Lsh(big.NewInt(a), digits)
		return x.Div(x, big.NewInt(max(b, 1)))
	}
	shift := uint(62)
	for _, v := range in.Value {
		for v>>(62-shift) > 1 {
			shift--
		}
	}
	score := func(c int, room []int64) *big.Int {
		effort, size, alignment := new(big.Int), new(big.Int), new(big.Int)
		for k, q := range demandOf(in, int32(c)) {
			effort.Add(effort, fixed(q, total[k], 40))
			size.Add(size, fixed(q, unit[k], 16))
			product := new(big.Int).Mul(fixed(q, unit[k], 16), fixed(room[k], unit[k], 16))
			alignment.Add(alignment, product.Rsh(product, 16))
		}
		if effort.Sign() == 0 {
			effort.SetInt64(1)
		}
		worth := new(big.Int).Lsh(big.NewInt(in.Value[c]), shift)
		worth.Div(worth, effort)
		second := new(big.Int).Mul(size, big.NewInt(16*3))
		second.Div(second, big.NewInt(20))
		if size.Sign() > 0 {
			alignment.Lsh(alignment, 20)
			second.Add(second, alignment.Div(alignment, size))
		}
		return worth.Mul(worth, second)
	}
	left := slices.Clone(in.Count)
	packed := make([][]int32, len(room))
	one := func(n int) bool {
		best, bestScore := -1, new(big.Int)
		for c := range classes {
			if left[c] == 0 || in.Value[c] <= 0 || !within(demandOf(in, int32(c)), room[n]) || in.Most != nil && int(packed[n][c]) >= in.Most(c, n) {
				continue
			}
			if s := score(c, room[n]); best < 0 || s.Cmp(bestScore) > 0 {
				best, bestScore = c, s
			}
		}
		if best < 0 {
			return false
		}
		left[best]--
		packed[n][best]++
		for k, q := range demandOf(in, int32(best)) {
			room[n][k] -= q
		}
		return true
	}
	for n := range room {
		packed[n] = make([]int32, classes)
		for in.Consolidate && one(n) {
		}
	}
	for some := true; some; {
		some = false
		for n := range room {
			some = one(n) || some
		}
	}
	return packed
}

// TestPack tells by examples what is packed and how it is cut.
func TestPack(t *testing.T) {
	for _, tc := range []struct {
		why  string
		in   pack.Input
		want string
	}{
		{
			"two tasks fill a node; a third has no place", pack.Input{
				Kinds: 2, Room: []int64{10, 10}, Demand: []int64{5, 5}, Count: []int32{3}, Value: []int64{1},
			}, "0: 2×[5 5]; left [1]",
		},
		{
			"what is left over is added to the largest", pack.Input{
				Kinds: 2, Room: []int64{10, 10}, Demand: []int64{5, 3, 1, 2}, Count: []int32{1, 1}, Value: []int64{3, 1},
			}, "0: 1×[1 2] 1×[9 8]; left [0 0]",
		},
		{
			"nodes take turns", pack.Input{
				Kinds: 1, Room: []int64{4, 4}, Demand: []int64{2}, Count: []int32{2}, Value: []int64{1},
			}, "0: 1×[4] | 1: 1×[4]; left [0]",
		},
		{
			"or are filled one by one; a node that stays empty is one slot", pack.Input{
				Kinds: 1, Room: []int64{4, 5}, Demand: []int64{2}, Count: []int32{2}, Value: []int64{1}, Consolidate: true,
			}, "0: 2×[2] | 1: 1×[5]; left [0]",
		},
		{
			"unless nobody could use it", pack.Input{
				Kinds: 1, Room: []int64{4, 1}, Demand: []int64{2}, Count: []int32{2}, Value: []int64{1}, Consolidate: true,
			}, "0: 2×[2] | 1:; left [0]",
		},
		{
			"a node with much memory takes what needs memory", pack.Input{
				Kinds: 2, Room: []int64{2, 8, 8, 2}, Demand: []int64{2, 1, 1, 2}, Count: []int32{2, 2}, Value: []int64{1, 1},
			}, "0: 1×[1 2] 1×[1 6] | 1: 1×[2 1] 1×[6 1]; left [0 0]",
		},
		{
			"what is worth more for its effort goes first", pack.Input{
				Kinds: 1, Room: []int64{6}, Demand: []int64{6, 3, 3}, Count: []int32{1, 1, 1}, Value: []int64{10, 10, 10},
			}, "0: 2×[3]; left [1 0 0]",
		},
		{
			"and what is worth nothing never does", pack.Input{
				Kinds: 1, Room: []int64{6}, Demand: []int64{6, 3}, Count: []int32{1, 1}, Value: []int64{0, -1},
			}, "0:; left [1 1]",
		},
		{
			"nodes of other pools have types of their own", pack.Input{
				Kinds: 1, Room: []int64{2, 2, 2}, Demand: []int64{2}, Count: []int32{3}, Value: []int64{1}, Pool: []int32{0, 1, 0},
			}, "0: 1×[2] | 1: 1×[2]' | 2: 1×[2]; left [0]",
		},
	} {
		t.Run(tc.why, func(t *testing.T) {
			var p pack.Packer
			var out pack.Packing
			p.Pack(&tc.in, &out)
			if got := picture(&tc.in, &out); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// picture draws the slots of each node; types of equal envelopes differ by marks.
func picture(in *pack.Input, out *pack.Packing) string {
	text := ""
	for n := range nodes(in) {
		if n > 0 {
			text += " | "
		}
		text += fmt.Sprintf("%d:", n)
		for _, s := range out.Slots(n) {
			text += fmt.Sprintf(" %d×%d", s.Count, out.Envelope(int(s.ID)))
			for other := range s.ID {
				if slices.Equal(out.Envelope(int(other)), out.Envelope(int(s.ID))) {
					text += "'"
				}
			}
		}
	}
	return fmt.Sprintf("%s; left %d", text, out.Left())
}

// TestReprice: each try raises the classes that were left over, by 0.8 times the
// share that was, until they are preferred.
func TestReprice(t *testing.T) {
	in := &pack.Input{Kinds: 1, Room: []int64{4}, Demand: []int64{2, 4}, Count: []int32{2, 1}, Value: []int64{1000, 1500}}
	var p pack.Packer
	var out pack.Packing
	var seen []string
	for range 3 {
		p.Pack(in, &out)
		seen = append(seen, fmt.Sprint(in.Value, out.Left()))
		pack.Reprice(in.Value, in.Count, out.Left())
	}
	want := []string{"[1000 1500] [0 1]", "[1000 2700] [2 0]", "[1800 2700] [0 1]"}
	if !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
	value := []int64{pack.MaxValue, 7, 0, -3, 999}
	pack.Reprice(value, []int32{3, 3, 3, 3, 4}, []int32{3, 0, 3, 3, 1})
	if want := []int64{pack.MaxValue, 7, 0, -3, 1198}; !slices.Equal(value, want) {
		t.Errorf("got %d, want %d", value, want)
	}
}

// TestMemory: a packer forgets all but its memory, and after the first time needs
// no more of that.
func TestMemory(t *testing.T) {
	var in []*pack.Input
	for seed := range 20 {
		in = append(in, rapid.Custom(anyInput).Example(seed))
	}
	var warm pack.Packer
	var got pack.Packing
	all := func() {
		for _, i := range in {
			warm.Pack(i, &got)
		}
	}
	all()
	if n := testing.AllocsPerRun(10, all); n > 0 {
		t.Errorf("%v allocations", n)
	}
	for _, i := range in {
		var fresh pack.Packer
		var want pack.Packing
		fresh.Pack(i, &want)
		warm.Pack(i, &got)
		if picture(i, &got) != picture(i, &want) || got.Ticks != want.Ticks || !slices.Equal(got.Left(), want.Left()) {
			t.Errorf("a packer that was used before has %s, a new one %s", picture(i, &got), picture(i, &want))
		}
	}
}

func nodes(in *pack.Input) int { return len(in.Room) / in.Kinds }

func roomOf(in *pack.Input, n int) []int64 {
	room := slices.Clone(in.Room[n*in.Kinds : (n+1)*in.Kinds])
	for k := range room {
		room[k] = max(room[k], 0)
	}
	return room
}

func demandOf(in *pack.Input, c int32) []int64 {
	return in.Demand[int(c)*in.Kinds : (int(c)+1)*in.Kinds]
}

func within(demand, room []int64) bool {
	for k, q := range demand {
		if q > room[k] {
			return false
		}
	}
	return true
}

func count(items []pack.Lot, c int) int {
	for _, l := range items {
		if int(l.ID) == c {
			return int(l.Count)
		}
	}
	return 0
}
