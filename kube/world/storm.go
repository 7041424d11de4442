package world

import "fairlead.dev/fairlead/cluster"

// This file stops storms of evictions. Pods leave so that others run; where they leave in vain, more of it makes nothing better, whatever the cause is, and each
// costs somebody's work. An eviction is in vain if nobody came to the room in the end, as the core counts it, or if it is of a pod for which others
// were told to leave shortly before. That happens now and then: a pod is deleted while it waits for its room, or one that is still more important comes. Where it
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

// Storm is whether evictions are stopped.
type Storm struct {
	asked, vain []cluster.Time // in the last minute, the first first
	forNobody   int64          // as the core counts them, so far
	until       cluster.Time   // evictions are stopped until then
	lasts       cluster.Time   // how long the latest stop lasts
	times       int
}

// begin takes in that a new core counts from the beginning.
func (s *Storm) begin() { s.forNobody = 0 }

// LeftForNobody takes in how many pods have left for nobody since the core was made.
func (s *Storm) LeftForNobody(total int64, now cluster.Time) {
	for range total - s.forNobody {
		s.vain = append(s.vain, now)
	}
	s.forNobody = total
	s.look(now)
}

// ask takes in that a pod is told to leave, for which others were told to leave at the given time.
func (s *Storm) ask(now, others cluster.Time) {
	s.asked = append(s.asked, now)
	if others != 0 && now < others+shortly {
		s.vain = append(s.vain, now)
	}
	s.look(now)
}

// look stops evictions if too many are in vain.
func (s *Storm) look(now cluster.Time) {
	s.asked, s.vain = since(s.asked, now-stormLooks), since(s.vain, now-stormLooks)
	if s.stops(now) || len(s.vain) <= mostInVain || 2*len(s.vain) <= len(s.asked) {
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
	s.asked, s.vain = s.asked[:0], s.vain[:0]
}

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
