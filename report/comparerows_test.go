package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A chance of 3 % is beyond chance as the only one of its kind, whichever words
// it is put in, and not beside another.
func TestMetricsThatSayTheSameCountOnce(t *testing.T) {
	var f family
	add := func(row int, mean float64) { f.add(row, estimate{mean: mean, deviation: 1, freedom: 9, n: 10}) }
	add(0, 2.5)
	add(3, -2.5)
	if diff := cmp.Diff(map[int]bool{0: true, 3: true}, f.judge()); diff != "" {
		t.Error(diff)
	}
	add(4, 2.4)
	if diff := cmp.Diff(map[int]bool{0: false, 3: false, 4: false}, f.judge()); diff != "" {
		t.Error(diff)
	}
}
