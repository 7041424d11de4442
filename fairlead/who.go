package fairlead

import (
	"math"
	"math/bits"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// rank says who comes before whom: the smaller number does, and may evict the larger. It is three bands, one
// behind the other:
//
//   - who was promised to run so much of the time, and is critical: by the importance of the class, then
//     who is nearest to having what was promised
//   - who was promised that, and has slack: by slack, the least first
//   - who was promised nothing: by priority
//
// Of those who are critical the paper serves the one with least slack first. Where there is not enough for
// all, it serves those who will miss their promise in any case, and lets others become so: at a load of
// 104 % 68 % of the lowest class had what was promised, and in this order 84 to 92 % (docs/bench/fairlead.md).
//
// Slack falls by a second a second while a task waits. So a rank goes by the moment when it runs out, in
// steps, and stays what it is while the task waits, but for the one moment when it becomes critical.
type rank int64

// A rank is a band, and within it a field.
const (
	bandBits  = 46
	critical  = rank(0) << bandBits
	promised  = rank(1) << bandBits
	unpledged = rank(2) << bandBits

	// stepBits is how long a step of slack is: 2²³ µs, which is 8 seconds.
	stepBits = 23
	// slackBits is how many digits steps have, and the rest of the field is for importance.
	slackBits = 38
	lastStep  = 1<<slackBits - 1
	// startBits is how many digits the beginning of a run has behind a priority, in steps of 2²⁸ µs.
	startBits = 14
	startStep = 28
)

// who ranks tasks.
type who struct {
	order []rank // by class: 0 is the most important
	eager bool   // equals evict at once: there is no gain to be made
}

// learn ranks the classes.
func (w *who) learn(s *cluster.View) {
	w.order = w.order[:0]
	for _, at := range book.RankClasses(s, nil).Of {
		w.order = append(w.order, rank(at))
	}
}

// runsOut is when a task that waits from now on will have no slack left, as its account stands.
func runsOut(s *cluster.View, task *cluster.Task) cluster.Time {
	return later(s.Classes()[task.Class].Slack(task.Account.At(s.Now(), task.Phase)), s.Now())
}

// waiting is the rank of a task that waits.
func (w *who) waiting(s *cluster.View, task *cluster.Task) rank {
	if class := &s.Classes()[task.Class]; !class.Promises() {
		return w.unpledged(task.Priority, 1<<startBits-1) // behind all who run with that priority: equals are not evicted
	}
	return w.pledged(s.Now(), task.Class, runsOut(s, task))
}

// nobodyYet is a rank behind all others.
const nobodyYet = rank(math.MaxInt64)

// highest is a rank that no task of its group will come before, however long it waits.
func (w *who) highest(s *cluster.View, task *cluster.Task) rank {
	if s.Classes()[task.Class].Promises() {
		return critical + w.order[task.Class]<<slackBits
	}
	return w.waiting(s, task)
}

// pledged is the rank of a task to which something was promised, and whose slack runs out then.
func (w *who) pledged(now cluster.Time, class cluster.ClassID, out cluster.Time) rank {
	step := rank(min(max(int64(out>>stepBits)+1<<(slackBits-1), 0), lastStep))
	if out < now {
		return critical + w.order[class]<<slackBits + lastStep - step
	}
	return promised + step
}

// unpledged is the rank of a task that was promised nothing, of which the run began in that step.
func (w *who) unpledged(priority, start int32) rank {
	return unpledged + (math.MaxInt32-rank(priority))<<startBits + rank(start)
}

const (
	// refresh is how often those who run are ranked anew, as they gain slack.
	refresh = 30 * cluster.Second
)

// running is the rank of a task that runs or starts. Until is when it may be another one, if nothing
// happens before. What it costs to begin anew, and the gain that it has to make, count for those who run: who has
// slack seems to have less by that, and who is critical seems to be nearer to what was promised. Who would be on the
// other side of the brink by that comes first of its class, and is evicted by more important ones alone.
func (w *who) running(s *cluster.View, task *cluster.Task) (r rank, until cluster.Time) {
	class := &s.Classes()[task.Class]
	if !class.Promises() {
		return w.unpledged(task.Priority, int32(min(max(task.Account.Since>>startStep, 0), 1<<startBits-2))), cluster.Never
	}
	now, out := s.Now(), runsOut(s, task)
	cost := part(class.Restart, cluster.Whole, class.Availability)
	if !w.eager {
		cost += gain(class)
	}
	until = later(now/refresh*refresh, refresh) // many are ranked anew at one moment
	switch {
	case out < now && now-out > cost:
		return w.pledged(now, task.Class, out+cost), until
	case out >= now && out-now >= cost:
		return w.pledged(now, task.Class, out-cost), until
	}
	return critical + w.order[task.Class]<<slackBits, until
}

// gain is the slack that a run of the class gains before its equals evict it: what it was not promised to have of the time that a run is to last.
// So all classes begin anew as often. Who loses nothing by that does so sooner.
func gain(class *cluster.Class) cluster.Time {
	return part(sched.SwitchTimeOf(class), cluster.Whole-class.Availability, cluster.Whole)
}

// part is a part of a time: so many shares of so many; at most a thousand days.
func part(t cluster.Time, by, of cluster.Share) cluster.Time {
	const most = 1000 * cluster.Day
	high, low := bits.Mul64(uint64(max(t, 0)), uint64(by))
	if high >= uint64(of) {
		return most
	}
	quotient, _ := bits.Div64(high, low, uint64(of))
	return cluster.Time(min(quotient, uint64(most)))
}

// later is a moment so much later; Never where there is none.
func later(t, by cluster.Time) cluster.Time {
	if t >= cluster.Never-max(by, 0) {
		return cluster.Never
	}
	return t + by
}

// A place in line is a rank, and behind it the user's share and the stretch.
const (
	shareBits   = 7
	stretchBits = 7
)

// inLine is where a task stands in line: by rank, then the user who holds least, then who is small or has
// waited long for its size. Who was promised something stands there by rank alone.
func inLine(r rank, share, stretch int) int64 {
	if r < unpledged {
		share, stretch = 0, 0
	}
	return int64(r)<<(shareBits+stretchBits) | int64(share)<<stretchBits | int64(stretch)
}

// stretch is how large a demand is beside the smallest, less how long it has waited beside a minute, in
// half octaves.
func stretch(size, smallest int64, waited cluster.Time) int {
	const middle, most = 1 << (stretchBits - 1), 1<<stretchBits - 1
	large := halves(cluster.Fraction(size, max(smallest, 1)))
	long := halves(cluster.Fraction(int64(waited+cluster.Minute), int64(cluster.Minute)))
	return min(max(middle+large-long, 0), most)
}

// halves is 2·log₂ of a fraction, rounded down; 0 below one.
func halves(fraction int64) int {
	if fraction < 1<<cluster.FractionBits {
		return 0
	}
	octave := bits.Len64(uint64(fraction)) - 1 - cluster.FractionBits
	// Half an octave up is √2, which is 1.41421 times.
	high, low := bits.Mul64(1<<(octave+cluster.FractionBits), 92682)
	root := low>>16 | high<<48
	if uint64(fraction) >= root {
		return 2*octave + 1
	}
	return 2 * octave
}
