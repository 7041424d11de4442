package lifetime

import (
	"math/bits"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file is what makes tasks alike, as far as a core knows: who submitted them, at which priority and of which class, what
// they ask for, and what came with them in the same job, as people submit the same again. There are four levels, each of
// which contains the one before:
//
//	0  user, priority, class, demand, and which demands how many tasks of the job have
//	1  user, priority, class, demand, and how many tasks the job has, to a power of two
//	2  priority, class and demand
//	3  all tasks
//
// A task counts on each level; what is said of it is what its own level says as far as that has seen enough, and what the
// next one says for the rest (curve.go).

// mostKeys is how many curves are kept; tasks with a new key beyond them go by those of the next level. Each takes under 2 KiB.
const mostKeys = 1 << 16

// keys are the curves by what makes tasks alike.
type keys struct {
	curves map[uint64]*curve
	came   map[cluster.JobID]company // of tasks that have come since the last round
}

// company is what came together as part of a job.
type company struct {
	tasks int
	sum   uint64 // of the hashes of their demands, so that it does not matter in which order they come
}

// reset forgets everything.
func (k *keys) reset() {
	k.curves, k.came = map[uint64]*curve{}, map[cluster.JobID]company{}
}

// meet notes which tasks come together.
func (k *keys) meet(s *cluster.View, t cluster.TaskID) {
	task := s.Task(t)
	c := k.came[task.Job]
	c.tasks++
	c.sum += demandHash(s, task)
	k.came[task.Job] = c
}

// of is the curve of the task, which was met, at the most exact level.
func (k *keys) of(s *cluster.View, t cluster.TaskID) *curve {
	task := s.Task(t)
	with := k.came[task.Job]
	own := mix(demandHash(s, task), uint64(uint32(task.Priority))<<8|uint64(task.Class))
	user := uint64(1)
	for _, b := range []byte(s.Job(task.Job).User) {
		user = mix(user, uint64(b))
	}
	c := k.at(0, nil)
	c = k.at(mix(own, 2), c)
	c = k.at(mix(mix(own, user), uint64(bits.Len(uint(with.tasks)))<<2|1), c)
	return k.at(mix(mix(own, user), with.sum), c)
}

// at is the curve of the key; the one of the next level where there are too many.
func (k *keys) at(key uint64, next *curve) *curve {
	c, known := k.curves[key]
	if !known {
		if len(k.curves) >= mostKeys {
			return next
		}
		c = &curve{next: next}
		k.curves[key] = c
	}
	return c
}

// demandHash is the same for tasks that ask for the same.
func demandHash(s *cluster.View, task *cluster.Task) uint64 {
	h := uint64(len(s.Kinds()))
	for _, q := range s.Shape(task.Shape).Demand {
		h = mix(h, uint64(q))
	}
	return h
}

// mix takes a number into a hash: a step of SplitMix64.
func mix(h, v uint64) uint64 {
	h = (h ^ v) + 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// record keeps, of each task, its curve and since when it runs, and counts into the curves what becomes of tasks.
type record struct {
	keys
	task    []life
	running int // tasks
	ended   int // since the last count of those that run
	round   int // how often those that run were counted
}

// life is what is known of one task.
type life struct {
	seq     cluster.Seq
	known   bool
	running bool
	counted uint8 // bins of its present run into which it was counted
	curve   *curve
	since   cluster.Time // when its present run began to work
}

// Learn takes in what changed.
func (r *record) Learn(s *cluster.View, c *sched.Changed) {
	if c.All || r.curves == nil {
		*r = record{}
		r.reset()
	}
	for _, t := range c.Gone {
		if r.knows(s, t) && s.Task(t).Phase != cluster.Absent { // it is withheld, as one of a gang that has too few, or another's now
			r.look(s, t)
			continue
		}
		r.end(s, t)
	}
	for _, list := range [][]cluster.TaskID{c.Tasks, c.Gangs} {
		for _, t := range list {
			if !r.knows(s, t) {
				r.meet(s, t)
			}
		}
	}
	for _, list := range [][]cluster.TaskID{c.Tasks, c.Gangs} {
		for _, t := range list {
			r.look(s, t)
		}
	}
	clear(r.came)
	if r.ended > enough+r.running/8 {
		r.countRunning(s)
	}
}

// enough is how many runs have to end before those that run are counted again, beside an eighth of these: so that costs
// no more than a few steps for each task that ends.
const enough = 16

// knows reports whether the task was met before.
func (r *record) knows(s *cluster.View, t cluster.TaskID) bool {
	return int(t) < len(r.task) && r.task[t].known && r.task[t].seq == s.Task(t).Seq
}

// look brings what is known of a task up to date.
func (r *record) look(s *cluster.View, t cluster.TaskID) {
	for len(r.task) <= int(t) {
		r.task = append(r.task, life{})
	}
	l, task := &r.task[t], s.Task(t)
	if !r.knows(s, t) {
		*l = life{seq: task.Seq, known: true, curve: r.of(s, t)}
	}
	switch runs := task.Phase == cluster.Running; {
	case runs && l.running && l.since != task.Account.Since: // another run
		r.rest(l, s.Now())
		r.start(l, task.Account.Since)
	case runs && !l.running:
		r.start(l, task.Account.Since)
	case !runs && l.running && task.Phase != cluster.Leaving:
		r.rest(l, s.Now())
	}
}

// start notes a run.
func (r *record) start(l *life, since cluster.Time) {
	l.running, l.since, l.counted = true, since, 0
	r.running++
}

// rest notes that a run is over that has not come to its end: for so long it has lived, at least.
func (r *record) rest(l *life, now cluster.Time) {
	l.count(now, r.round)
	l.running = false
	r.running--
}

// end notes that a task has ended. One that was never seen at work has done it all between two rounds, unless somebody took it
// back, which few do: it counts as having worked for no time.
func (r *record) end(s *cluster.View, t cluster.TaskID) {
	if int(t) >= len(r.task) || !r.task[t].known {
		return
	}
	l := &r.task[t]
	if !l.running {
		r.start(l, s.Now())
	}
	r.rest(l, s.Now())
	r.ended++
	for c := l.curve; c != nil; c = c.next {
		c.freeze(r.round)
		c.end(s.Now() - l.since)
	}
	*l = life{}
}

// countRunning counts those that run into the bins that they have come to, so that long runs are known of before they end.
func (r *record) countRunning(s *cluster.View) {
	r.ended = 0
	for t := range r.task {
		if l := &r.task[t]; l.running {
			l.count(s.Now(), r.round)
		}
	}
	r.round++ // what was counted is asked from now on
}

// count counts a run into the bins that it has come to.
func (l *life) count(now cluster.Time, round int) {
	last := uint8(Bin(now - l.since))
	for ; l.counted <= last; l.counted++ {
		for c := l.curve; c != nil; c = c.next {
			c.freeze(round)
			c.entered[l.counted]++
		}
	}
}

// curveOf is the curve that the task goes by, and how long it has lived; nil if nothing is known of tasks like it.
func (r *record) curveOf(s *cluster.View, t cluster.TaskID) (*curve, cluster.Time) {
	if r.knows(s, t) {
		return r.task[t].curve, lived(s, t)
	}
	return r.curves[0], lived(s, t) // of another lane
}
