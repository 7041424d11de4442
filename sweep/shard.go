package sweep

import (
	"fmt"
	"strconv"
	"strings"
)

// This file is how runs are dealt out to processes that know nothing of each other: by their place in the list, which
// each of them makes by itself.

// Shard is the part of the runs that one process does: of so many the one with that index, from 0.
type Shard struct{ Index, Of int }

// Whole is the shard of a process that does all runs.
func Whole() Shard { return Shard{0, 1} }

// Has reports whether the run at the place of the list is one of the shard. Neighbours, which differ in their seed
// alone and take about as long, are those of different shards.
func (s Shard) Has(place int) bool { return place%s.Of == s.Index }

// MostShards is how many shards there may be.
const MostShards = 10_000

// ParseShard reads an index and how many there are, such as 0/8.
func ParseShard(text string) (Shard, error) {
	index, of, _ := strings.Cut(text, "/")
	i, errIndex := strconv.Atoi(index)
	n, errOf := strconv.Atoi(of)
	if errIndex != nil || errOf != nil {
		return Shard{}, fmt.Errorf("%q, want an index from 0 and a number, such as 0/8 to 7/8", text)
	}
	s := Shard{i, n}
	return s, s.Check()
}

// Check says what is wrong with the numbers.
func (s Shard) Check() error {
	if s.Of < 1 || s.Of > MostShards {
		return fmt.Errorf("%d shards, want 1 to %d", s.Of, MostShards)
	}
	if s.Index < 0 || s.Index >= s.Of {
		return fmt.Errorf("shard %d of %d, want an index from 0 to %d", s.Index, s.Of, s.Of-1)
	}
	return nil
}

// String is what ParseShard reads.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }
