package spill_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/internal/spill"
)

// TestSorted adds records in any order, of few times so that many are equal, and wants them as a stable sort has them,
// however little is held in memory, and as often as they are read.
func TestSorted(t *testing.T) {
	type record struct {
		time int64
		rank uint8
		text string
	}
	for _, most := range []int{0, 1, 100, 3000} {
		chance := rand.New(rand.NewPCG(7, uint64(most)))
		s := spill.New(most)
		var want []string
		var all []record
		for i := range 1000 {
			r := record{chance.Int64N(20) - 3, uint8(chance.IntN(3)), strings.Repeat(fmt.Sprint(i), chance.IntN(4))}
			all = append(all, r)
			if err := s.Add(r.time, r.rank, []byte(r.text)); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortStableFunc(all, func(a, b record) int {
			return int(a.time-b.time)*10 + int(a.rank) - int(b.rank)
		})
		for _, r := range all {
			want = append(want, fmt.Sprint(r.time, r.text))
		}
		for range 2 {
			r, err := s.Read()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for {
				time, text, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(time, string(text)))
			}
			if !slices.Equal(got, want) {
				t.Errorf("holding %d bytes: %d records are not in order", most, len(got))
			}
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
}
