package sim

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file is the core as the world deals with it: every call on it, the rounds that it has
// under way, and what they cost by the clock of the simulation and by that on the wall. What
// the core decides is the caller's to carry out. A lane has at most one round under way, and
// for each of these there is a timer; no round begins before the last commit is done.

// planner is a core at work.
type planner struct {
	cost   Planner
	core   *sched.Core
	kernel *kernel
	calls  func(Call) // hears of each call; may be nil

	rounds    []*sched.Round // in flight, by lane
	wake      cluster.Time   // when the core wants to be called
	effective cluster.Time   // when the last commit is done, and its decisions take effect
	futile    int            // moments with rounds since the last work was under way
	out       []sched.Decision

	charged, wall cluster.Time // what it took, in the simulation and really
}

// view is what the core believes.
func (p *planner) view() *cluster.View { return p.core.View() }

// called lets whoever wants to hear of it.
func (p *planner) called(c Call) {
	if p.calls != nil {
		c.At = p.kernel.now
		p.calls(c)
	}
}

// clock is the wall clock, or always 0 without one.
func (p *planner) clock() cluster.Time {
	if p.cost.Clock == nil {
		return 0
	}
	return p.cost.Clock()
}

// effectiveAt is when decisions that come out now take effect in the world.
func (p *planner) effectiveAt() cluster.Time { return max(p.kernel.now, p.effective) }

// observe tells the core what happened. What it decides at once is valid until the next call.
func (p *planner) observe(in []cluster.Event) ([]sched.Decision, error) {
	out, err := p.core.Observe(p.kernel.now, in, p.out[:0])
	p.called(Call{Kind: Observe, In: in, Out: out})
	if err != nil {
		return nil, err
	}
	p.out = out
	return out, nil
}

// step lets the core plan in no time.
func (p *planner) step() ([]sched.Decision, error) {
	start := p.clock()
	out, wake, err := p.core.Step(p.kernel.now, nil, p.out[:0])
	p.wall += p.clock() - start
	p.called(Call{Kind: Step, Out: out})
	p.out, p.wake = out, wake
	return out, err
}

// begin runs a round that is due, and reports whether there was one. It is under way as long
// as it is charged for, and its timer says when it has to finish.
func (p *planner) begin() bool {
	if p.effective > p.kernel.now {
		return false
	}
	lane, due := p.core.Due(p.kernel.now)
	if !due {
		return false
	}
	start := p.clock()
	r := p.core.Begin(lane, p.kernel.now)
	r.Run(0)
	charge := p.clock() - start
	p.called(Call{Kind: Begin, Lane: lane})
	p.wall += charge
	if p.cost.Time == Ticks {
		charge = cluster.Time((r.Ticks()*p.cost.PerTick + 999) / 1000)
	}
	p.charged += charge
	p.rounds[lane] = r
	p.kernel.set(timer{at: p.kernel.now + max(charge, 1), kind: roundEnds, lane: lane})
	return true
}

// noteWake notes when the core wants to be called next.
func (p *planner) noteWake() { p.wake = max(p.core.Wake(p.kernel.now), p.effective) }

// finish commits the round of the lane, and charges what that took. How long that is, only it
// can say: what it decided is a fact for the core at once, and takes effect in the world that
// much later.
func (p *planner) finish(lane int) []sched.Decision {
	start := p.clock()
	p.out = p.core.Finish(p.rounds[lane], p.kernel.now, p.out[:0])
	took := p.clock() - start
	p.wall += took
	if p.cost.Time == Measured {
		p.charged += took
		p.effective = p.effectiveAt() + took
	}
	p.called(Call{Kind: Finish, Lane: lane, Out: p.out})
	p.rounds[lane] = nil
	return p.out
}

// giveUp ends what rounds are under way; nobody carries out what they decide.
func (p *planner) giveUp() {
	for _, r := range p.rounds {
		if r != nil {
			p.out = p.core.Finish(r, p.kernel.now, p.out[:0])
			p.called(Call{Kind: Finish, Lane: r.Lane(), Out: p.out})
		}
	}
}

// idle reports whether it has nothing to do: nothing waits, no round is under way, and no policy wants to look at what
// runs, or round after round comes to nothing.
func (p *planner) idle() bool {
	planning := slices.ContainsFunc(p.rounds, func(r *sched.Round) bool { return r != nil })
	v := p.view()
	waits := v.InPhase(cluster.Waiting)+v.InPhase(cluster.Reserved) > 0
	runs := v.InPhase(cluster.Running)+v.InPhase(cluster.Starting)+v.InPhase(cluster.Leaving) > 0
	return p.futile > maxFutile || !planning && !waits && (p.wake == cluster.Never || !runs)
}

// maxFutile is how many moments with rounds may pass while no work is under way
// and none is to come. A policy may try again by chance, and lost nodes return;
// they are given some chances.
const maxFutile = 100
