package world

import "fairlead.dev/fairlead/cluster"

// This file stops storms of evictions. Pods leave so that others run; where they leave in vain, more of it makes nothing better, whatever the cause is, and each
// costs somebody's work. An eviction is in vain if nobody came to the room in the end, as the core counts it, or if it is of a pod for which others
// were told to leave shortly before, unless its policy has pods take turns. That happens now and then: a pod is deleted while it waits for its room, or one that is still more important comes. Where it
// happens often, and to most, nobody is told to leave for a while, and the next time for twice as long. What was decided waits, and is taken back when nobody waits for
// it any more. That an owner makes another pod in place of one that left is nothing of the kind.

const (
	// shortly is for how long after others were told to leave for a pod its own eviction is in vain.
	shortly = 5 * cluster.Minute
	// stormLooks is how far back evictions are counted, and mostInVain how many of these may be in vain; so may half of more.
	stormLooks = cluster.Minute
	mostInVain = 20
	// shortestStop is for how long evictions are stopped at first, longestStop at most, and stopsAnew after how long without a stop it is as at first.
	shortestStop = cluster.Minute
	longestStop  = 16 * cluster.Minute
	stopsAnew    = cluster.Hour
)

// Storm is whether evictions are stopped. Times are those of the last minute, the first first; none is noted while evictions are stopped, so that what is still
// on its way then is no reason to stop them again.
type Storm struct {
	left      []cluster.Time // pods that were told to leave
	forGood   []cluster.Time // those of these whose policy has no pods take turns
	inTurns   []cluster.Time // those of these for which others were told to shortly before
	forNobody []cluster.Time // found to have left for nobody
	total     int64          // of these, as the core counts them, so far
	until     cluster.Time   // evictions are stopped until then
	lasts     cluster.Time   // how long the latest stop lasts
	times     int
}

// begin takes in that a new core counts from the beginning.
func (s *Storm) begin() { s.total = 0 }

// LeftForNobody takes in how many pods have left for nobody since the core was made.
func (s *Storm) LeftForNobody(total int64, now cluster.Time) {
	for range total - s.total {
		if !s.stops(now) {
			s.forNobody = append(s.forNobody, now)
		}
	}
	s.total = total
	s.look(now)
}

// leaves takes in that a pod has left that was told to, and for which others were told to leave at the given time; 0 is never. That is not in vain if its policy has
// pods take turns.
func (s *Storm) leaves(now, others cluster.Time, byTurns bool) {
	if s.stops(now) {
		return
	}
	s.left = append(s.left, now)
	if !byTurns {
		s.forGood = append(s.forGood, now)
	}
	if !byTurns && others != 0 && now < others+shortly {
		s.inTurns = append(s.inTurns, now)
	}
	s.look(now)
}

// look stops evictions if too many are in vain, in one way or the other: one pod may have left in both.
func (s *Storm) look(now cluster.Time) {
	for _, times := range []*[]cluster.Time{&s.left, &s.forGood, &s.inTurns, &s.forNobody} {
		*times = since(*times, now-stormLooks)
	}
	if s.stops(now) || !inVain(s.inTurns, s.forGood) && !inVain(s.forNobody, s.left) {
		return
	}
	switch {
	case s.lasts == 0 || now >= s.until+stopsAnew:
		s.lasts = shortestStop
	default:
		s.lasts = min(2*s.lasts, longestStop)
	}
	s.until = now + s.lasts
	s.times++
	s.left, s.forGood, s.inTurns, s.forNobody = s.left[:0], s.forGood[:0], s.inTurns[:0], s.forNobody[:0]
}

// inVain reports whether too many are, and most of all.
func inVain(some, all []cluster.Time) bool { return len(some) > mostInVain && 2*len(some) > len(all) }

// stops reports whether nobody is told to leave now.
func (s *Storm) stops(now cluster.Time) bool { return now < s.until }

// since are those of the times that are not before that.
func since(times []cluster.Time, from cluster.Time) []cluster.Time {
	at := 0
	for at < len(times) && times[at] < from {
		at++
	}
	return times[at:]
}

// Stopped is for how long evictions are stopped still, 0 if they are not, and how often they were since the beginning.
func (s *Storm) Stopped(now cluster.Time) (left cluster.Time, times int) {
	return max(s.until-now, 0), s.times
}
