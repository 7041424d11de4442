package azure2017

import (
	"math/rand/v2"
	"sort"
)

// This file is about how long VMs live of which that is not known, by those of which it is.
//
// Of many VMs it is only known that they were there until some age: to leave these out, or to take that
// for their end, would make lives too short. Hence a life table (Kaplan and Meier 1958; Cutler and
// Ederer 1958 for durations in bins): of n VMs that reach a bin, of which e end in it and c are seen for
// the last time, those seen last count half, and the share e/(n − c/2) ends there. The share that lives
// on past a bin is the product of 1 − that, over it and all before. A life that is drawn ends in each bin
// with that chance, evenly within it; one that outlives the last bin in which anybody was seen does not
// end, as nobody knows when it would.
//
// Each flavour has a table of its own, but for those of which few were seen: these go by that of all.
// VMs of one batch mostly end together (of neighbours in one 72 of 100 in the same bin), so that one
// number is drawn for all of a batch, and each VM looks it up in the table of its flavour. Whatever the
// batches are like, each flavour's lives are those of its table.
//
// Shares are integers, so that every machine draws the same.

// one is the share of all.
const one = 1 << 32

// fewest is of how many VMs a flavour must have been seen to have a table of its own.
const fewest = 100

// tally counts, by flavour, those that were seen.
type tally struct{ ended, going [][]int64 } // by flavour and bin

func newTally(flavours, bins int) tally {
	t := tally{make([][]int64, flavours), make([][]int64, flavours)}
	for f := range flavours {
		t.ended[f], t.going[f] = make([]int64, bins), make([]int64, bins)
	}
	return t
}

// add counts a VM.
func (t *tally) add(v *vm) {
	switch v.fate {
	case ended:
		t.ended[v.flavour][v.bin]++
	case going:
		t.going[v.flavour][v.bin]++
	case unknown:
	}
}

// lifetimes are the tables of all flavours.
type lifetimes struct {
	bins bins
	of   []table
}

// table says, of each bin, what share lives on past it. Where it ends nobody was seen any more.
type table []uint64

// lifetimes are what follows from the tally.
func (t *tally) lifetimes(bins bins) *lifetimes {
	l := &lifetimes{bins: bins}
	allEnded, allGoing := make([]int64, len(bins)-1), make([]int64, len(bins)-1)
	for f := range t.ended {
		for b := range allEnded {
			allEnded[b] += t.ended[f][b]
			allGoing[b] += t.going[f][b]
		}
	}
	all := tableOf(allEnded, allGoing)
	for f := range t.ended {
		own := all
		if sum(t.ended[f])+sum(t.going[f]) >= fewest {
			own = tableOf(t.ended[f], t.going[f])
		}
		l.of = append(l.of, own)
	}
	return l
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// tableOf is the life table of so many that ended, and were seen last, in each bin.
func tableOf(ended, going []int64) table {
	n, left := sum(ended)+sum(going), uint64(one)
	var t table
	for b := range ended {
		if n == 0 {
			break
		}
		twice := uint64(2*n - going[b]) // the double of who could have been seen to end
		left = left * (twice - uint64(2*ended[b])) / twice
		t = append(t, left)
		n -= ended[b] + going[b]
	}
	return t
}

// within draws the life of a VM that ended in a bin, and before it was of some age.
func (l *lifetimes) within(bin int, before int64, chance *rand.Rand) int64 {
	return l.evenly(l.bins[bin], min(l.bins[bin+1], before), chance)
}

// evenly draws a second from on, before to; at least the first.
func (l *lifetimes) evenly(from, to int64, chance *rand.Rand) int64 {
	return max(from+chance.Int64N(max(to-from, 1)), 1)
}

// beyond draws the life of a VM that has reached some age, given a share that is drawn for its batch; false if it never ends.
func (l *lifetimes) beyond(flavour int, age int64, share uint32, chance *rand.Rand) (seconds int64, ends bool) {
	t := l.of[flavour]
	first, known := l.bins.of(age)
	if !known || first >= len(t) {
		return 0, false
	}
	// Of those that live so long, who lives on past a bin is this share of them, or more.
	reached := l.reached(t, first, age)
	past := uint64(share) * reached >> 32
	bin := first + sort.Search(len(t)-first, func(i int) bool { return past >= t[first+i] })
	if bin == len(t) || reached == 0 {
		return 0, false
	}
	return l.evenly(max(l.bins[bin], age), l.bins[bin+1], chance), true
}

// reached is the share that lives until an age, which lies in that bin.
func (l *lifetimes) reached(t table, bin int, age int64) uint64 {
	before := uint64(one)
	if bin > 0 {
		before = t[bin-1]
	}
	return before - (before-t[bin])*uint64(age-l.bins[bin])/uint64(l.bins[bin+1]-l.bins[bin])
}
