package fleet

import (
	"maps"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is one node with what it holds, and whether it takes one more.

// bin is a node of an offer.
type bin struct {
	offer int
	left  cluster.Vector
	// devices are what is left of each, those of all kinds by their places.
	devices []int64
	holds   []Held
	worth   float64 // of what it holds; 0 where nobody has asked yet
	// jobs and rules are counted only where there are limits.
	jobs  map[int]ofJob
	rules map[int]ruled
}

// ofJob is how many tasks of a job a node holds, and the least that one of them allows.
type ofJob struct{ count, most int }

// ruled is how many tasks of a node a rule is about.
type ruled struct {
	targets, both int // both are subjects, too
	subjects      int // that are no targets
}

// shop makes bins.
type shop struct {
	p       *Problem
	devices []cluster.DeviceKind
	needs   []cluster.DeviceNeeds // of each Tasks
	fits    [][]bool              // of each offer, each Tasks
	apart   map[int]bool          // jobs that have a limit per node
	ticks   int64
}

func newShop(p *Problem) *shop {
	s := &shop{p: p, devices: cluster.DeviceKinds(p.Kinds), apart: map[int]bool{}}
	for t := range p.Tasks {
		if p.Tasks[t].PerNode > 0 {
			s.apart[p.Tasks[t].Job] = true
		}
		s.needs = append(s.needs, cluster.NeedsOf(s.devices, p.Tasks[t].Demand))
	}
	for o := range p.Offers {
		one := make([]bool, len(p.Tasks))
		for t := range p.Tasks {
			one[t] = fits(p, o, t, s.devices)
		}
		s.fits = append(s.fits, one)
	}
	return s
}

// node is one of the offer that holds nothing.
func (s *shop) node(o int) *bin {
	b := &bin{offer: o, left: slices.Clone(s.p.Offers[o].Room)}
	for _, k := range s.devices {
		has := min(k.Count(b.left), k.Most)
		for i := range has {
			for len(b.devices) <= k.First+i {
				b.devices = append(b.devices, 0)
			}
			b.devices[k.First+i] = b.left[k.Kind] / int64(has)
		}
	}
	return b
}

// clone is a copy that shares nothing.
func (b *bin) clone() *bin {
	own := *b
	own.left, own.devices, own.holds = slices.Clone(b.left), slices.Clone(b.devices), slices.Clone(b.holds)
	own.jobs, own.rules = maps.Clone(b.jobs), maps.Clone(b.rules)
	return &own
}

// takes reports whether the bin has room for one of the tasks.
func (s *shop) takes(b *bin, t int) bool {
	s.ticks++
	if !s.fits[b.offer][t] {
		return false
	}
	task := &s.p.Tasks[t]
	for k, q := range task.Demand {
		if q > b.left[k] {
			return false
		}
	}
	if needs := s.needs[t]; len(needs) > 0 && needs.Refuse(b.devices).Refused() {
		return false
	}
	if len(s.apart) > 0 && s.apart[task.Job] {
		if of, is := b.jobs[task.Job]; is && of.count >= min(of.most, limit(task)) {
			return false
		}
	}
	return len(task.Subject)+len(task.Target) == 0 || s.allowed(b, task)
}

// limit is how many tasks of its job the task allows on its node.
func limit(t *Tasks) int {
	if t.PerNode == 0 {
		return math.MaxInt
	}
	return t.PerNode
}

// allowed reports whether no rule keeps the task off the bin.
func (s *shop) allowed(b *bin, t *Tasks) bool {
	for _, r := range t.Subject {
		if b.rules[r].targets > s.p.Rules[r].Max {
			return false
		}
	}
	for _, r := range t.Target {
		has, most := b.rules[r], s.p.Rules[r].Max
		if has.subjects > 0 && has.targets+1 > most || has.both > 0 && has.targets > most {
			return false
		}
	}
	return true
}

// add puts a task into the bin, which takes it.
func (s *shop) add(b *bin, t int) {
	task := &s.p.Tasks[t]
	for k, q := range task.Demand {
		b.left[k] -= q
	}
	for _, need := range s.needs[t] {
		set, _ := need.Pick(b.devices)
		for i := range b.devices {
			if set.Has(i) {
				b.devices[i] -= need.Share
			}
		}
	}
	if len(s.apart) > 0 && s.apart[task.Job] {
		if b.jobs == nil {
			b.jobs = map[int]ofJob{}
		}
		of, is := b.jobs[task.Job]
		if !is {
			of.most = math.MaxInt
		}
		b.jobs[task.Job] = ofJob{of.count + 1, min(of.most, limit(task))}
	}
	if len(task.Subject)+len(task.Target) > 0 {
		b.rule(task)
	}
	at := slices.IndexFunc(b.holds, func(h Held) bool { return h.Tasks == t })
	if at < 0 {
		b.holds = append(b.holds, Held{Tasks: t})
		at = len(b.holds) - 1
	}
	b.holds[at].Count++
}

// rule counts a task for its rules.
func (b *bin) rule(t *Tasks) {
	if b.rules == nil {
		b.rules = map[int]ruled{}
	}
	for _, r := range t.Target {
		has := b.rules[r]
		has.targets++
		if slices.Contains(t.Subject, r) {
			has.both++
		}
		b.rules[r] = has
	}
	for _, r := range t.Subject {
		if has := b.rules[r]; !slices.Contains(t.Target, r) {
			has.subjects++
			b.rules[r] = has
		}
	}
}

// refill is a bin of the offer that holds the same tasks, the largest first; false if they do not fit.
func (s *shop) refill(o int, holds []Held) (*bin, bool) {
	b := s.node(o)
	for _, h := range s.bySize(o, holds) {
		for range h.Count {
			if !s.takes(b, h.Tasks) {
				return nil, false
			}
			s.add(b, h.Tasks)
		}
	}
	return b, true
}

// bySize orders tasks by the largest part that one takes of a node of the offer.
func (s *shop) bySize(o int, holds []Held) []Held {
	sorted := slices.Clone(holds)
	size := func(t int) int64 {
		most := int64(0)
		for k, q := range s.p.Tasks[t].Demand {
			most = max(most, cluster.Fraction(q, s.p.Offers[o].Room[k]))
		}
		return most
	}
	slices.SortStableFunc(sorted, func(a, b Held) int {
		switch x, y := size(a.Tasks), size(b.Tasks); {
		case x != y:
			if x > y {
				return -1
			}
			return 1
		}
		return a.Tasks - b.Tasks
	})
	return sorted
}
