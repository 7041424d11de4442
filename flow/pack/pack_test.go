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
// lacks, rooms below zero, equal nodes, task groups of equal demand or of none, of
// no price, without tasks, with tasks for every node, and nodes that refuse.
func anyInput(t *rapid.T) *pack.Input {
	kinds, nodes, taskGroups := rapid.IntRange(1, 3).Draw(t, "kinds"), rapid.IntRange(0, 7).Draw(t, "nodes"), rapid.IntRange(0, 70).Draw(t, "groups")
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
	equal := rapid.Bool().Draw(t, "equal prices")
	for range taskGroups {
		for range kinds {
			in.Demand = append(in.Demand, grain*rapid.Int64Range(0, 9).Draw(t, "demand"))
		}
		in.Count = append(in.Count, rapid.Int32Range(0, 5).Draw(t, "count"))
		price := int64(1000)
		if !equal {
			price = rapid.OneOf(rapid.Int64Range(-1, 9), rapid.Int64Range(0, pack.MaxPrice)).Draw(t, "price")
		}
		in.Price = append(in.Price, price)
	}
	if rapid.Bool().Draw(t, "limits") {
		most := rapid.SliceOfN(rapid.IntRange(0, 3), nodes*taskGroups, nodes*taskGroups).Draw(t, "most")
		in.Most = func(group, node int) int { return most[node*taskGroups+group] }
	}
	if rapid.Bool().Draw(t, "pools") {
		in.Pool = rapid.SliceOfN(rapid.Int32Range(0, 2), nodes, nodes).Draw(t, "pool")
	}
	return in
}

// TestSlotsAreSafe checks what the packing promises: it fits, whatever is put into
// its slots fits, the packing itself can be put into them, and nothing of a price
// that was left over fits beside it.
func TestSlotsAreSafe(t *testing.T) {
	var p pack.Packer
	var out pack.Packing
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		run(&p, in, &out)
		left, pool := slices.Clone(in.Count), map[int32]int32{}
		for n := range nodes(in) {
			rest := roomOf(in, n)
			for _, item := range out.Items(n) {
				left[item.ID] -= item.Count
				if item.Count <= 0 || in.Most != nil && int(item.Count) > in.Most(int(item.ID), n) {
					t.Fatalf("node %d has %d tasks of task group %d", n, item.Count, item.ID)
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
				if in.Pool != nil {
					if other, seen := pool[slot.ID]; seen && other != in.Pool[n] {
						t.Fatalf("nodes of pools %d and %d share the slots of type %d", other, in.Pool[n], slot.ID)
					}
					pool[slot.ID] = in.Pool[n]
				}
			}
			if slices.Min(rest) < 0 || slices.Min(sum) < 0 {
				t.Fatalf("node %d is over: %v left beside its tasks, %v beside its slots", n, rest, sum)
			}
			for c := range in.Count {
				if out.Left()[c] > 0 && in.Price[c] > 0 && within(demandOf(in, int32(c)), rest) && (in.Most == nil || in.Most(c, n) > count(out.Items(n), c)) {
					t.Fatalf("a task of task group %d fits on node %d, and was left", c, n)
				}
			}
			if err := fitSlots(in, &out, n); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(left, out.Left()) {
			t.Fatalf("left %v, counted again %v", out.Left(), left)
		}
	})
}

// fitSlots reports why the items of a node do not fit into its slots, one each: all but
// one have a slot that is as large as they are.
func fitSlots(in *pack.Input, out *pack.Packing, n int) error {
	var empty, unslotted [][]int64
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
				unslotted = append(unslotted, demand)
				continue
			}
			empty = slices.Delete(empty, at, at+1)
		}
	}
	if len(out.Items(n)) == 0 && len(empty) <= 1 {
		return nil
	}
	if len(empty) != len(unslotted) || len(empty) > 1 || len(empty) == 1 && !within(unslotted[0], empty[0]) {
		return fmt.Errorf("node %d has slots %v besides those of its tasks, and tasks %v besides them", n, empty, unslotted)
	}
	return nil
}

// TestAgainstRival compares the packer with one that is slow and plain, at the
// first bids and at the next ones, in as many runs as a budget makes it take.
func TestAgainstRival(t *testing.T) {
	var p pack.Packer
	var out pack.Packing
	cut := 0
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		r := newRival(in)
		p.Begin(in, &out)
		for try := range 4 {
			cut += packInPieces(t, &p, in, &out)
			want, left := r.pack()
			for n := range nodes(in) {
				got := make([]int32, len(in.Count))
				for _, item := range out.Items(n) {
					got[item.ID] = item.Count
				}
				if !slices.Equal(got, want[n]) {
					t.Fatalf("try %d: node %d has %v, want %v", try, n, got, want[n])
				}
			}
			rose := r.raise(left)
			if again := p.Rebid(&out); again != rose {
				t.Fatalf("try %d: packs again: %v, but some bid rose: %v", try, again, rose)
			} else if !again {
				break
			}
		}
	})
	if cut == 0 {
		t.Error("no run was cut")
	}
}

// packInPieces runs until it has packed all, and says how many runs were cut.
func packInPieces(t *rapid.T, p *pack.Packer, in *pack.Input, out *pack.Packing) (cut int) {
	budget, before := rapid.Int64Range(0, 20).Draw(t, "budget"), int64(0)
	for ; !p.Run(budget); cut++ {
		if spent := out.Ticks - before; spent < budget || spent >= budget+int64(len(in.Count)) && !in.Consolidate {
			t.Fatalf("a run of %d ticks spends %d", budget, spent)
		}
		before = out.Ticks
	}
	return cut
}

// rival packs as the opening comment of packer.go says, looking at every task group
// each time, and computes in big integers.
type rival struct {
	in               *pack.Input
	unit             []int64
	price, bid, size []*big.Int // per task group; a price of 0 where it fits nowhere
}

// units is a/b in units of 2⁻²⁴, at most 1.
func units(a, b int64) *big.Int {
	if a > 0 && a >= b {
		return big.NewInt(1 << 24)
	}
	x := new(big.Int).Lsh(big.NewInt(a), 24)
	return x.Div(x, big.NewInt(max(b, 1)))
}

func newRival(in *pack.Input) *rival {
	r := &rival{in: in, unit: make([]int64, in.Kinds)}
	for n := range nodes(in) {
		for k, q := range roomOf(in, n) {
			r.unit[k] = max(r.unit[k], q)
		}
	}
	highest, largest := int64(1), big.NewInt(1)
	for c := range in.Count {
		size := new(big.Int)
		for k, q := range demandOf(in, int32(c)) {
			size.Add(size, units(q, r.unit[k]))
		}
		price := int64(0)
		for n := range nodes(in) {
			if in.Count[c] > 0 && in.Price[c] > 0 && within(demandOf(in, int32(c)), roomOf(in, n)) && (in.Most == nil || in.Most(c, n) > 0) {
				price = min(in.Price[c], pack.MaxPrice-1)
			}
		}
		if price > 0 && size.Cmp(largest) > 0 {
			largest = size
		}
		highest = max(highest, price)
		r.size, r.price = append(r.size, size), append(r.price, big.NewInt(price))
	}
	for c, price := range r.price {
		for x := highest; x < pack.MaxPrice/2; x *= 2 {
			price.Lsh(price, 1)
		}
		bid := new(big.Int).Mul(price, r.size[c])
		bid.Div(bid, largest)
		if price.Sign() > 0 && bid.Sign() == 0 {
			bid.SetInt64(1)
		}
		r.bid = append(r.bid, bid)
	}
	return r
}

// raise raises the bids of what was left, and reports whether there were any that
// could rise.
func (r *rival) raise(left []int32) bool {
	rose := false
	for c, bid := range r.bid {
		if left[c] == 0 || bid.Cmp(r.price[c]) >= 0 {
			continue
		}
		rose = true
		more := new(big.Int).Mul(bid, big.NewInt(4))
		more.Div(more, big.NewInt(5))
		more.Mul(more, big.NewInt(int64(left[c])))
		more.Div(more, big.NewInt(int64(r.in.Count[c])))
		if more.Sign() == 0 {
			more.SetInt64(1)
		}
		if bid.Add(bid, more); bid.Cmp(r.price[c]) > 0 {
			bid.Set(r.price[c])
		}
	}
	return rose
}

// worth is 20·2¹⁶ times bid × (1 + 0.15·size).
func (r *rival) worth(c int) *big.Int {
	size := new(big.Int).Rsh(r.size[c], 8)
	size.Mul(size, big.NewInt(3))
	size.Add(size, big.NewInt(20<<16))
	return size.Mul(size, r.bid[c])
}

// effort is what a task takes of a room.
func (r *rival) effort(c int, room []int64) *big.Int {
	sum, largest := new(big.Int), new(big.Int)
	for k, q := range demandOf(r.in, int32(c)) {
		have := units(room[k], r.unit[k])
		if have.Sign() == 0 {
			have.SetInt64(1)
		}
		share := new(big.Int).Div(big.NewInt(1<<56), have)
		share.Mul(share, units(q, r.unit[k]))
		sum.Add(sum, share)
		if share.Cmp(largest) > 0 {
			largest = share
		}
	}
	return sum.Add(sum, largest)
}

func (r *rival) pack() (packed [][]int32, left []int32) {
	in := r.in
	var room [][]int64
	left = slices.Clone(in.Count)
	for n := range nodes(in) {
		room, packed = append(room, roomOf(in, n)), append(packed, make([]int32, len(in.Count)))
	}
	one := func(n int) bool {
		best := -1
		for c := range in.Count {
			if left[c] == 0 || in.Price[c] <= 0 || !within(demandOf(in, int32(c)), room[n]) || in.Most != nil && int(packed[n][c]) >= in.Most(c, n) {
				continue
			}
			if best < 0 {
				best = c
				continue
			}
			a := new(big.Int).Mul(r.worth(best), r.effort(c, room[n]))
			b := new(big.Int).Mul(r.worth(c), r.effort(best, room[n]))
			if a.Cmp(b) < 0 {
				best = c
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
		for in.Consolidate && one(n) {
		}
	}
	for some := true; some; {
		some = false
		for n := range room {
			some = one(n) || some
		}
	}
	return packed, left
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
				Kinds: 2, Room: []int64{10, 10}, Demand: []int64{5, 5}, Count: []int32{3}, Price: []int64{1},
			}, "0: 2×[5 5]; left [1]",
		},
		{
			"what is left over is added to the largest", pack.Input{
				Kinds: 2, Room: []int64{10, 10}, Demand: []int64{5, 3, 1, 2}, Count: []int32{1, 1}, Price: []int64{3, 1},
			}, "0: 1×[1 2] 1×[9 8]; left [0 0]",
		},
		{
			"nodes take turns", pack.Input{
				Kinds: 1, Room: []int64{4, 4}, Demand: []int64{2}, Count: []int32{2}, Price: []int64{1},
			}, "0: 1×[4] | 1: 1×[4]; left [0]",
		},
		{
			"or are filled one by one; a node that stays empty is one slot", pack.Input{
				Kinds: 1, Room: []int64{4, 5}, Demand: []int64{2}, Count: []int32{2}, Price: []int64{1}, Consolidate: true,
			}, "0: 2×[2] | 1: 1×[5]; left [0]",
		},
		{
			"unless nobody could use it", pack.Input{
				Kinds: 1, Room: []int64{4, 1}, Demand: []int64{2}, Count: []int32{2}, Price: []int64{1}, Consolidate: true,
			}, "0: 2×[2] | 1:; left [0]",
		},
		{
			"a node with much memory takes what needs memory", pack.Input{
				Kinds: 2, Room: []int64{2, 8, 8, 2}, Demand: []int64{2, 1, 1, 2}, Count: []int32{2, 2}, Price: []int64{1, 1},
			}, "0: 1×[1 2] 1×[1 6] | 1: 1×[2 1] 1×[6 1]; left [0 0]",
		},
		{
			"where all have the same price, the large go first", pack.Input{
				Kinds: 1, Room: []int64{6}, Demand: []int64{6, 3, 3}, Count: []int32{1, 1, 1}, Price: []int64{10, 10, 10},
			}, "0: 1×[6]; left [0 1 1]",
		},
		{
			"what is dearer to leave goes before them", pack.Input{
				Kinds: 1, Room: []int64{6}, Demand: []int64{6, 3, 3}, Count: []int32{1, 1, 1}, Price: []int64{10, 15, 10},
			}, "0: 2×[3]; left [1 0 0]",
		},
		{
			"and what costs nothing to leave is left", pack.Input{
				Kinds: 1, Room: []int64{6}, Demand: []int64{6, 3}, Count: []int32{1, 1}, Price: []int64{0, -1},
			}, "0:; left [1 1]",
		},
		{
			"nodes of other pools have types of their own", pack.Input{
				Kinds: 1, Room: []int64{2, 2, 2}, Demand: []int64{2}, Count: []int32{3}, Price: []int64{1}, Pool: []int32{0, 1, 0},
			}, "0: 1×[2] | 1: 1×[2]' | 2: 1×[2]; left [0]",
		},
	} {
		t.Run(tc.why, func(t *testing.T) {
			var p pack.Packer
			var out pack.Packing
			run(&p, &tc.in, &out)
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

// TestRebid: a large task goes first, as long as bids are in proportion to sizes.
// If two small ones are left for it, they bid more, up to their price, and win. Then
// no bid can rise any more.
func TestRebid(t *testing.T) {
	in := &pack.Input{Kinds: 1, Room: []int64{8}, Demand: []int64{4, 5}, Count: []int32{2, 1}, Price: []int64{1000, 1000}}
	var p pack.Packer
	var first, second pack.Packing
	run(&p, in, &first)
	if !p.Rebid(&second) || !p.Run(0) || p.Rebid(&first) {
		t.Error("bids rise once here")
	}
	got := []string{picture(in, &first), picture(in, &second)}
	if want := []string{"0: 1×[8]; left [2 0]", "0: 2×[4]; left [0 1]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
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
			run(&warm, i, &got)
		}
	}
	all()
	if n := testing.AllocsPerRun(10, all); n > 0 {
		t.Errorf("%v allocations", n)
	}
	for _, i := range in {
		var fresh pack.Packer
		var want pack.Packing
		run(&fresh, i, &want)
		run(&warm, i, &got)
		if picture(i, &got) != picture(i, &want) || got.Ticks != want.Ticks || !slices.Equal(got.Left(), want.Left()) {
			t.Errorf("a packer that was used before has %s, a new one %s", picture(i, &got), picture(i, &want))
		}
	}
}

// run packs without a budget.
func run(p *pack.Packer, in *pack.Input, out *pack.Packing) {
	p.Begin(in, out)
	p.Run(0)
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
