package book

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestOldestIndexesAreForgotten: those that were used last are kept, also after others were
// forgotten with their shapes.
func TestOldestIndexesAreForgotten(t *testing.T) {
	const rows = maxLeaves / 4 // room for four indexes; they have no leaves here
	all := NewIndexes(Lowest, 1)
	all.Order.At = make([]cluster.NodeID, rows)
	all.shapes = make([][]*ShapeIndex, 7)
	use := func(shapes ...cluster.ShapeID) {
		for _, shape := range shapes {
			all.lookup(IndexID{Shape: shape})
		}
	}
	want := func(want ...cluster.ShapeID) {
		t.Helper()
		kept := slices.Concat(all.shapes...)
		slices.SortFunc(kept, func(a, b *ShapeIndex) int { return cmp.Compare(a.used, b.used) })
		var got []cluster.ShapeID
		for _, x := range kept {
			got = append(got, x.id.Shape)
		}
		if !slices.Equal(got, want) || all.kept != len(want) {
			t.Errorf("the indexes from the oldest on are %v, and %d are counted; want %v", got, all.kept, want)
		}
	}
	use(0, 1, 2, 0, 3)
	want(1, 2, 0, 3)
	use(4)
	want(0, 3, 4)
	all.drop(0, func(*ShapeIndex) bool { return true })
	want(3, 4)
	use(5, 3, 6)
	want(4, 5, 3, 6)
}

// TestBoundsAnswerAsScores compares an index with bounds with one of scores alone, while nodes change, are hidden and
// come back, and wants fewer nodes to be scored.
func TestBoundsAnswerAsScores(t *testing.T) {
	const nodes = 300
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil)
	for n := range cluster.NodeID(nodes) {
		if err := s.Apply(0, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: strconv.Itoa(int(n)), Capacity: cluster.Vector{1}}}); err != nil {
			t.Fatal(err)
		}
	}
	source := rand.New(rand.NewPCG(1, 2))
	all := NewIndexes(Fixed, 1)
	all.Learn(&s.View, &sched.Changed{All: true})
	all.shapes = append(all.shapes, nil, nil)
	var score, above [nodes]int64
	looks := [2]int{}
	scored := func(which int) func(cluster.NodeID) int64 {
		return func(n cluster.NodeID) int64 {
			looks[which]++
			return score[n]
		}
	}
	bound := func(n cluster.NodeID) int64 {
		if above[n] == 0 {
			return score[n] // as low as can be, be it none
		}
		return max(score[n], -1000) + above[n]
	}
	for range 2000 {
		for range source.IntN(20) {
			n := cluster.NodeID(source.IntN(nodes))
			score[n], above[n] = int64(source.IntN(100)-50), int64(source.IntN(20))
			if source.IntN(10) == 0 {
				score[n] = None
			}
			all.Journal.Note(n)
		}
		plain := all.Sync(&s.View, IndexID{Shape: 0}, scored(0))
		bounded := all.SyncBounds(&s.View, IndexID{Shape: 1}, bound, scored(1))
		for range source.IntN(5) {
			least := int64(source.IntN(120) - 60)
			want, wantOK := all.TopFrom(plain, least)
			got, ok := all.TopFrom(bounded, least)
			if ok != wantOK || ok && got != want {
				t.Fatalf("from %d on the best is %d (%v), want %d (%v)", least, got, ok, want, wantOK)
			}
			if ok {
				all.Hide(plain, got)
				all.Hide(bounded, got)
			}
		}
		all.Unhide(plain)
		all.Unhide(bounded)
	}
	if looks[1] > looks[0]/2 {
		t.Errorf("%d nodes were scored, and %d without bounds", looks[1], looks[0])
	}
}
