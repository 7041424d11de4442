package sim

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
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
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.response, b.response), cmp.Compare(a.latency, b.latency))
}

// Before puts the largest first: it is the next to go.
func (a sampled) Before(b sampled) bool { return a.compare(b) > 0 }

// sample keeps the tasks with the smallest hashes.
type sample struct {
	most int
	kept heap.Heap[sampled]
	of   int
	name []byte // scratch
}

// add takes in a task that finished, with its final account.
func (s *sample) add(t *task, account cluster.Account) {
	s.of++
	one := sampled{hash: s.hash(t), response: account.Since - account.Submitted}
	if len(s.kept) == s.most && !s.kept[0].Before(one) {
		return
	}
	// The core may not have heard that the run it told to go had begun.
	one.latency = min(account.FirstRun, account.Since) - account.Submitted
	if len(s.kept) == s.most {
		s.kept.Pop()
	}
	s.kept.Push(one)
}

// hash is 52 bits of a hash of what the trace says of the task: its job, index
// and name, and when it was submitted, as some traces submit a task again.
func (s *sample) hash(t *task) uint64 {
	s.name = binary.BigEndian.AppendUint64(s.name[:0], t.job.id)
	s.name = binary.BigEndian.AppendUint32(s.name, t.index)
	s.name = binary.BigEndian.AppendUint64(s.name, uint64(t.submitted))
	s.name = append(s.name, t.name...)
	sum := sha256.Sum256(s.name)
	return binary.BigEndian.Uint64(sum[:]) >> 12
}

// result is the sample; nil if no task finished.
func (s *sample) result() *report.Sample {
	if s.of == 0 {
		return nil
	}
	kept := slices.SortedFunc(slices.Values(s.kept), sampled.compare)
	r := &report.Sample{
		Tasks: make([]uint64, len(kept)), Response: make([]report.Number, len(kept)), Latency: make([]report.Number, len(kept)), Of: s.of,
	}
	for i, one := range kept {
		r.Tasks[i], r.Response[i], r.Latency[i] = one.hash, report.Seconds(one.response), report.Seconds(one.latency)
	}
	return r
}
