// Package search places applications under constraints by large-neighbourhood search, the
// default of this house (Shaw 1998; Medea itself leaves the problem to an integer program).
// It begins with what a heuristic finds and from then on always holds a plan that can be
// carried out: an idea takes some containers off and puts them elsewhere, and stays if the
// score is no worse by it. Effort is counted in ticks, so that equal problems, seeds
// and ticks give equal plans.
package search

import (
	"math/rand/v2"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
	"fairlead.dev/fairlead/constraint/greedy"
)

// Options say how to search.
type Options struct {
	Seed uint64
	// Ticks is the effort of Solve: a tick is a look at a node for a container, some tens of
	// nanoseconds. What a heuristic needs to begin with is spent in any case.
	Ticks int64
}

// Result is what a search has come to.
type Result struct {
	Assignment constraint.Assignment
	Score      int64
	Ticks      int64 // that were spent
	// Optimal says that no assignment scores less.
	Optimal bool
}

// Solve searches until the ticks are spent or nothing can be better.
func Solve(p *constraint.Problem, o Options) Result {
	s := New(p, o.Seed)
	for !s.Run(o.Ticks - s.Ticks()) {
		if s.Ticks() >= o.Ticks {
			break
		}
	}
	return s.Result()
}

// Search is a search under way.
type Search struct {
	moves
	patience
	bound int64
	done  bool
	ideas []idea
	sum   int // of the ideas' chances
}

// moves change the plan on a board. Each reports whether it came to anything.
type moves struct {
	trial
	neighbourhood
	ground
	rand *rand.Rand

	// What they write on.
	chain                        []link
	ruined, chosen, failed, open []int32
	spare                        int // how many may stay off
	blinks                       bool
	rank                         []uint32  // by shape
	inSet                        [][]int32 // by group and set
}

// idea is a move, and how likely it is to be tried.
type idea struct {
	chance int
	try    func(*moves) bool
}

// New is a search that begins with what Serial finds.
func New(p *constraint.Problem, seed uint64) *Search {
	b := board.New(p, constraint.FindRoles(p))
	bound := b.Floor()
	ticks := greedy.Serial().Place(b)
	m := moves{
		trial:         trial{board: b, ticks: ticks},
		neighbourhood: newNeighbourhood(p, b.Roles()),
		rand:          rand.New(rand.NewPCG(seed, 0x7365617263680a)),
	}
	s := &Search{moves: m, bound: bound, ideas: []idea{{3, relocate}, {3, eject}, {4, ruin}}}
	s.seen = make([]int32, len(p.Nodes))
	s.rank = make([]uint32, len(p.Shapes))
	for g := range p.Groups {
		s.inSet = append(s.inSet, make([]int32, len(p.Groups[g].Sets)))
	}
	for _, i := range s.ideas {
		s.sum += i.chance
	}
	s.keep()
	s.record()
	s.origin.copy(&s.best)
	return s
}

// Run searches for so many ticks more, or a few more than that, and reports whether there is
// nothing left to search.
func (s *Search) Run(ticks int64) (done bool) {
	for end := s.ticks + ticks; s.ticks < end && !s.finished(); {
		s.step()
	}
	return s.done
}

// finished notes whether there is nothing left to search.
func (s *Search) finished() bool {
	s.done = s.done || len(s.movable) == 0 || len(s.problem.Nodes) == 0 || s.optimal()
	return s.done
}

func (s *Search) optimal() bool { return s.best.score == s.bound }

// step tries an idea.
func (s *Search) step() {
	s.ticks++
	s.charge()
	s.wait()
	roll := s.rand.IntN(s.sum)
	for i := range s.ideas {
		if roll -= s.ideas[i].chance; roll < 0 {
			s.judge(s.ideas[i].try(&s.moves))
			return
		}
	}
}

// Ticks are those that were spent.
func (s *Search) Ticks() int64 { return s.ticks }

// Result is the best plan so far.
func (s *Search) Result() Result {
	best := s.bestOfAll()
	a := make(constraint.Assignment, len(best.places))
	for c := range a {
		a[c] = best.places[c].node
	}
	return Result{a, best.score, s.ticks, s.optimal()}
}
