package sim

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// This file keeps a sample of the tasks that finished: report.Sample. Which
// tasks are in it is decided by a hash of what the trace says of them, not by
// when they finished: two policies have the same tasks in their samples, as far
// as both finished them.

// mostSampled is how many tasks are kept.
const mostSampled = 100_000

// sampled is one task that finished.
type sampled struct {
	hash              uint64
	response, latency cluster.Time
}

func (a sampled) compare(b sampled) int {
	if a.hash != b.hash {
		return cmp.Compare(a.hash, b.hash)
	}
	return cmp.Or(cmp.Compare(a.response, b.response), cmp.Compare(a.latency, b.latency))
}

// sample keeps the tasks with the smallest hashes. It gathers twice as many as
// it may keep before it drops those with the largest, which costs less than to
// keep them in order.
type sample struct {
	bystander
	most  int
	limit uint64 // the largest hash that has a chance
	kept  []sampled
	of    int
}

func newSample(most int) sample { return sample{most: most, limit: math.MaxUint64} }

func (s *sample) happened(h *happening) {
	if h.what == ended && h.why == byItself && !h.task.fails {
		s.add(h.task, h.account)
	}
}

// add takes in a task that finished, with its final account.
func (s *sample) add(t *task, account cluster.Account) {
	s.of++
	hash := hashOf(t)
	if hash > s.limit {
		return
	}
	// The core may not know yet that the run it evicts had begun.
	latency := min(account.FirstRun, account.Since) - account.Submitted
	s.kept = append(s.kept, sampled{hash, account.Since - account.Submitted, latency})
	if len(s.kept) == 2*s.most {
		s.cut()
		s.limit = s.kept[s.most-1].hash
	}
}

// cut sorts the tasks, and drops those that are too many.
func (s *sample) cut() {
	slices.SortFunc(s.kept, sampled.compare)
	s.kept = s.kept[:min(len(s.kept), s.most)]
}

// hashOf is 52 bits of a hash of what the trace says of the task: its job, index
// and name, and when it was submitted, as some traces submit a task again. The
// hash of each part is mixed, as MurmurHash3 ends, before the next comes in.
func hashOf(t *task) uint64 {
	h := mix(t.job.id)
	h = mix(h ^ uint64(t.index))
	h = mix(h ^ uint64(t.submitted))
	for i := range len(t.name) { // FNV-1a
		h = (h ^ uint64(t.name[i])) * 0x100000001b3
	}
	return mix(h) >> 12
}

// mix lets each bit of the result depend on each bit of x; different x have
// different results.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15 // 0 is no exception
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// result says nothing if no task finished.
func (s *sample) result(_ *span, r *report.Run) {
	if s.of == 0 {
		return
	}
	s.cut()
	n := len(s.kept)
	r.Sample = &report.Sample{Tasks: make([]uint64, n), Response: make([]report.Number, n), Latency: make([]report.Number, n), Of: s.of}
	for i, one := range s.kept {
		r.Sample.Tasks[i], r.Sample.Response[i], r.Sample.Latency[i] = one.hash, report.Seconds(one.response), report.Seconds(one.latency)
	}
}
