package recording

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// Recorder is a core whose calls are written down, if there is somewhere to
// write. It has the core's methods and its one owner. That a disk is full does
// not stop a cluster: what went wrong with the writer, its Flush says.
type Recorder struct {
	core   *sched.Core
	to     *Writer  // nil: nowhere
	rounds []*Round // by lane, as a lane has one round in flight
	races  []*Races // by lane; nil of one whose policy does not race
	call   Call     // reused
	won    []mcmf.Algorithm
}

// NewRecorder stands before a core that was made just now, and writes its calls
// to a file that begins just now (NewWriter, Writer.Rotate). The writer may be
// nil. Races are those to which the lanes' policies report who won, lane by lane;
// nil for lanes that do not race.
func NewRecorder(core *sched.Core, to *Writer, races ...*Races) *Recorder {
	return &Recorder{core: core, to: to, races: races}
}

// Snapshot is Core.Observe with the events that rebuild the world from nothing:
// the first call on a core.
func (r *Recorder) Snapshot(now cluster.Time, in []cluster.Event, out []sched.Decision) ([]sched.Decision, error) {
	before := len(out)
	out, err := r.core.Observe(now, in, out)
	r.write(Call{Kind: Snapshot, At: now, In: in, Out: out[before:]})
	return out, err
}

// Observe is Core.Observe.
func (r *Recorder) Observe(now cluster.Time, in []cluster.Event, out []sched.Decision) ([]sched.Decision, error) {
	before := len(out)
	out, err := r.core.Observe(now, in, out)
	r.write(Call{Kind: Observe, At: now, In: in, Out: out[before:]})
	return out, err
}

// Step is Core.Step.
func (r *Recorder) Step(now cluster.Time, in []cluster.Event, out []sched.Decision) ([]sched.Decision, cluster.Time, error) {
	before := len(out)
	out, wake, err := r.core.Step(now, in, out)
	r.write(Call{Kind: Step, At: now, In: in, Out: out[before:], Won: r.idleWon()})
	return out, wake, err
}

// Round is a round of a core that knows with which budget it ran.
type Round struct {
	*sched.Round
	Answers *Answers // of the solver that the lane's policy may ask; nil if it asks none
	budget  int64
	flying  bool // it has not been finished
}

// Run is Round.Run of the core. It may run on another goroutine.
func (r *Round) Run(budget int64) {
	r.budget = budget
	r.Round.Run(budget)
}

// Begin is Core.Begin. The round is valid until the lane's next one begins.
func (r *Recorder) Begin(lane int, now cluster.Time) *Round {
	for lane >= len(r.rounds) {
		r.rounds = append(r.rounds, &Round{})
	}
	round := r.rounds[lane]
	*round = Round{Round: r.core.Begin(lane, now), flying: true}
	r.write(Call{Kind: Begin, At: now, Lane: lane})
	return round
}

// Finish is Core.Finish.
func (r *Recorder) Finish(round *Round, now cluster.Time, out []sched.Decision) []sched.Decision {
	before := len(out)
	out = r.core.Finish(round.Round, now, out)
	round.flying = false
	r.won = r.won[:0]
	r.take(round.Lane())
	givenUp := 0
	if round.Answers != nil {
		givenUp = round.Answers.Take()
	}
	r.write(Call{Kind: Finish, At: now, Lane: round.Lane(), Budget: round.budget, GivenUp: givenUp, Out: out[before:], Won: r.won})
	return out
}

// idleWon takes who won the races of all lanes but those whose rounds are in
// flight, which may race at this moment. Step has run the lanes in their order.
func (r *Recorder) idleWon() []mcmf.Algorithm {
	r.won = r.won[:0]
	for lane := range r.races {
		if lane >= len(r.rounds) || !r.rounds[lane].flying {
			r.take(lane)
		}
	}
	return r.won
}

// take takes who won the races of the lane.
func (r *Recorder) take(lane int) {
	if lane < len(r.races) && r.races[lane] != nil {
		r.won = r.races[lane].Take(r.won)
	}
}

// Wake is Core.Wake.
func (r *Recorder) Wake(now cluster.Time) cluster.Time { return r.core.Wake(now) }

// Due is Core.Due.
func (r *Recorder) Due(now cluster.Time) (int, bool) { return r.core.Due(now) }

// DueBeside is sched.DueBeside of the core.
func (r *Recorder) DueBeside(now cluster.Time) (lane, waits int, due bool) {
	return sched.DueBeside(r.core, now)
}

// Undecided is sched.Undecided of the core.
func (r *Recorder) Undecided(t cluster.TaskID) bool { return sched.Undecided(r.core, t) }

// Why is Core.Why.
func (r *Recorder) Why(t cluster.TaskID) sched.Reason { return r.core.Why(t) }

// Counts is Core.Counts.
func (r *Recorder) Counts() sched.Counts { return r.core.Counts() }

// Ledger is Core.Ledger.
func (r *Recorder) Ledger() *sched.Ledger { return r.core.Ledger() }

// View is Core.View.
func (r *Recorder) View() *cluster.View { return r.core.View() }

func (r *Recorder) write(c Call) {
	if r.to != nil {
		r.call = c
		r.to.call(&r.call)
		r.call = Call{} // nothing of the caller's is kept
	}
}
