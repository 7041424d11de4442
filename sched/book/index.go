package book

import (
	"math"
	"math/rand/v2"
)

// Index finds the best node for one shape. It is a tournament tree over the
// nodes in tie-break order: a leaf holds its node's score, an inner row the
// largest of its eight children, which share a cache line. The leftmost of the
// best leaves wins, or, for random ties, each of them with equal chance.
//
// Cost: a changed node costs one score and at most log₈ n blocks, most often
// one; the best node log₈ n blocks; building it n scores. Tried and dropped: a
// heap with lazy deletion, which degrades when scores fall, as they do under
// spreading scores, because every stale entry comes to the top first; a binary
// tree, which takes twice the memory and more time.
type Index struct {
	best [][]int64 // best[0] are the leaves, the last level is the root
	// ties counts the leaves that reach best, per inner row; nil unless ties
	// are random. ties[0] is unused.
	ties [][]int32
}

// None is the score of a node that does not take the task.
const None = math.MinInt64

const (
	fan     = 8
	fanBits = 3
)

// NewIndex makes an index of so many leaves, which are yet to be filled.
func NewIndex(leaves int, ties Ties) *Index {
	x := &Index{}
	for n := max(leaves, 2); ; n = n / fan {
		n = (n + fan - 1) / fan * fan
		x.best = append(x.best, make([]int64, n))
		if n == fan {
			break
		}
	}
	x.best = append(x.best, make([]int64, 1))
	if ties == Random {
		x.ties = make([][]int32, len(x.best))
		for l := range x.ties {
			x.ties[l] = make([]int32, len(x.best[l]))
		}
	}
	return x
}

// Fill sets every leaf at once.
func (x *Index) Fill(score func(rank int) int64) {
	for rank := range x.best[0] {
		x.best[0][rank] = score(rank)
	}
	if x.ties != nil {
		for rank := range x.ties[0] {
			x.ties[0][rank] = 1
		}
	}
	x.Join()
}

// Leaves are the scores by rank. Whoever changes them calls Join before anything else.
func (x *Index) Leaves() []int64 { return x.best[0] }

// Most is the score of the best leaf.
func (x *Index) Most() int64 { return x.best[len(x.best)-1][0] }

// Join takes in all leaves.
func (x *Index) Join() {
	for l := 1; l < len(x.best); l++ {
		for i := range x.best[l] {
			if i*fan < len(x.best[l-1]) {
				x.join(l, i)
			} else {
				x.best[l][i] = None
			}
		}
	}
}

// join recomputes an inner row from its children and reports whether it
// changed.
func (x *Index) join(level, i int) bool {
	children := x.best[level-1][i*fan : i*fan+fan]
	best := int64(None)
	for _, v := range children {
		best = max(best, v)
	}
	changed := x.best[level][i] != best
	x.best[level][i] = best
	if x.ties != nil {
		n := int32(0)
		for c, v := range children {
			if v == best {
				n += x.ties[level-1][i*fan+c]
			}
		}
		changed = changed || x.ties[level][i] != n
		x.ties[level][i] = n
	}
	return changed
}

// Set changes one leaf.
func (x *Index) Set(rank int, score int64) {
	old := x.best[0][rank]
	if old == score {
		return
	}
	x.best[0][rank] = score
	for l, i := 1, rank>>fanBits; l < len(x.best); l, i = l+1, i>>fanBits {
		above := x.best[l][i]
		if old < above && score < above {
			return // neither was nor is the best of its block
		}
		if !x.join(l, i) {
			return
		}
		old, score = above, x.best[l][i]
		if old == score {
			old, score = None, math.MaxInt64 // only the ties changed: go on
		}
	}
}

// Top returns the rank of the best leaf, and false if no node takes the task.
// The source decides among equals; it is not used unless ties are random.
func (x *Index) Top(source *rand.Rand) (int, bool) {
	best := x.Most()
	if best == None {
		return 0, false
	}
	if x.ties == nil {
		return x.first(best), true
	}
	i := 0
	for l := len(x.best) - 1; l > 0; l-- {
		skip := source.Int32N(x.ties[l][i]) // how many of the best leaves stand before the winner
		for i *= fan; ; i++ {
			if x.best[l-1][i] != best {
				continue
			}
			if skip < x.ties[l-1][i] {
				break
			}
			skip -= x.ties[l-1][i]
		}
	}
	return i, true
}

// first is the rank of the first of the best leaves, which have that score.
func (x *Index) first(best int64) int {
	i := 0
	for l := len(x.best) - 1; l > 0; l-- {
		for i *= fan; x.best[l-1][i] != best; i++ {
		}
	}
	return i
}

// AtLeast calls visit for the ranks of the leaves with at least that score, in order.
func (x *Index) AtLeast(score int64, visit func(rank int)) {
	x.Above(&score, visit)
}

// Above is AtLeast for a bound that visit may raise, which leaves out those that are below it by then.
func (x *Index) Above(score *int64, visit func(rank int)) { x.above(score, len(x.best)-1, 0, visit) }

// above is Above for the leaves below row i of the level.
func (x *Index) above(score *int64, level, i int, visit func(rank int)) {
	if x.best[level][i] < *score {
		return
	}
	if level == 0 {
		visit(i)
		return
	}
	for child := i * fan; child < i*fan+fan; child++ {
		x.above(score, level-1, child, visit)
	}
}
