package sim

import (
	"iter"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// This file is what all measures of a run have in common. The world says what befalls
// tasks and how time goes by, and knows nobody who listens.

// observer is one measure of a run, or a file that is written of it.
type observer interface {
	// advance lets time go by, all that happened so far being done.
	advance(s *span)
	// result fills in its part when the run is over; those before it have filled in theirs.
	result(s *span, r *report.Run)
}

// listener is an observer to whom it matters what befalls tasks, which is more often than time
// goes by.
type listener interface {
	// happened is told what befalls a task, when it does. What is pointed to is valid
	// until it returns.
	happened(h *happening)
}

// bystander is an observer of nothing, for those that do not need both.
type bystander struct{}

func (bystander) advance(*span)             {}
func (bystander) result(*span, *report.Run) {}

// happening is something that befalls a task.
type happening struct {
	what     occurrence
	at       cluster.Time
	task     *task           // of all but jobEnded
	decision *sched.Decision // of decided
	row      *cluster.Task   // of evicted: the core's, before it hears of that
	input    []cluster.Block // of submitted and fetches
	latency  cluster.Time    // of placed; Never of one that ran when the trace began
	account  cluster.Account // of ended and left: its last one
	why      cause           // of ended
	job      *job            // of jobEnded
	phase    cluster.Phase   // of left
	node     string          // of left: where it is
	waits    explanation     // of left, if it waits
}

// occurrence is what can befall a task.
type occurrence uint8

const (
	decided   occurrence = iota // the core decided something about it
	submitted                   // it came
	placed                      // it ran for the first time
	begins                      // a run of it works, from now on with what it takes now
	rests                       // its run does not, or with something else from now on
	fetches                     // its run reads its input
	evicted                     // a run of it had to leave
	stays                       // a run of it was told to leave, and does not
	lost                        // a run of it went with its node
	ended                       // it is done
	jobEnded                    // it was the last of its job, and is forgotten
	left                        // it is still there at the end of the run
)

// span is a stretch of time in which nothing happens. One without length only brings
// what has changed in the core, as it is about to forget that.
type span struct {
	from, to cluster.Time
	state    *cluster.View
	touches  []cluster.Touch // what has changed since the last span
	anew     bool            // more than the core remembers
}

// tasks are the rows of tasks that have changed; perhaps all, and some more than once.
func (s *span) tasks() iter.Seq[cluster.TaskID] {
	return rows[cluster.TaskID](s, cluster.Tasks, s.state.TaskRows())
}

// nodes are the rows of nodes that have changed, in the same way.
func (s *span) nodes() iter.Seq[cluster.NodeID] {
	return rows[cluster.NodeID](s, cluster.Nodes, s.state.NodeRows())
}

// constraints are the rows of constraints that have changed, in the same way.
func (s *span) constraints() iter.Seq[cluster.ConstraintID] {
	return rows[cluster.ConstraintID](s, cluster.Constraints, s.state.ConstraintRows())
}

func rows[ID ~uint32](s *span, table cluster.Table, all int) iter.Seq[ID] {
	return func(yield func(ID) bool) {
		for row := 0; s.anew && row < all; row++ {
			if !yield(ID(row)) {
				return
			}
		}
		for _, touch := range s.touches {
			if touch.Table == table && !yield(ID(touch.Row)) {
				return
			}
		}
	}
}

// observers are those of a run, and who of them listens.
type observers struct {
	all       []observer
	listeners []listener
}

// measures are all observers of a run.
type measures struct {
	read uint64    // position up to which the change log was read
	last happening // the one that is told of now
	now  span      // the one that goes by now
	observers

	outcomes    outcomes
	services    services
	utilisation utilisation
	gaps        gaps
	holdings    holdings
	waste       *fragments // nil: no kind comes in devices
	bounds      constraintStats
	overTime    overTime
	heat        heat
	sample      sample
	output      output
}

// newMeasures are the measures of a run that has not begun. The series need the core,
// which counts the gaps, and begin when that is there.
func newMeasures(cfg *Config, n *nodes, t *tasks, services services) *measures {
	m := &measures{
		outcomes: newOutcomes(), services: services, utilisation: newUtilisation(n.kinds),
		holdings: newHoldings(t, len(n.kinds), len(cfg.Classes.Classes)), waste: newFragments(n.kinds, cfg.Typical),
		bounds: newConstraintStats(), heat: newHeat(n), sample: newSample(mostSampled), output: newOutput(cfg.Output, n),
	}
	m.overTime.series, m.overTime.draws = newSeries(), newDraws(n, &cfg.World)
	m.bounds.every = func() cluster.Time { return m.overTime.step }
	m.all = []observer{&m.outcomes, &m.services, &m.utilisation, &overfull{kinds: n.kinds, tasks: t}, &reads{nodes: n}, &m.gaps, &m.holdings, newUnserved(n, cfg.Classes), &m.bounds}
	if m.waste != nil {
		m.all = append(m.all, m.waste)
	}
	if m.overTime.draws != nil {
		m.all = append(m.all, m.overTime.draws)
	}
	if c := newCosts(cfg.World.Prices, &m.holdings); c != nil {
		m.all = append(m.all, c)
	}
	// What the series sample has been brought up to date by then.
	m.all = append(m.all, &m.overTime, &m.heat, &m.sample, &m.output)
	for _, o := range m.all {
		if l, is := o.(listener); is {
			m.listeners = append(m.listeners, l)
		}
	}
	return m
}

// happened tells all who listen of it.
func (m *measures) happened(h happening) {
	m.last = h // as m.now, so that nothing is allocated
	for _, l := range m.listeners {
		l.happened(&m.last)
	}
}

// advance lets time go by for all. The core trims its log when a round begins: before, they
// are told of what has changed, by a span without length.
func (m *measures) advance(state *cluster.View, from, to cluster.Time) {
	m.now = m.span(state, from, to)
	for _, o := range m.all {
		o.advance(&m.now)
	}
}

// span is the time until to, with what has changed in the core since the last one.
func (m *measures) span(state *cluster.View, from, to cluster.Time) span {
	touches, ok := state.ChangesSince(m.read)
	m.read = state.LogEnd()
	return span{from: from, to: to, state: state, touches: touches, anew: !ok}
}

// result lets all fill in what they have measured.
func (m *measures) result(state *cluster.View, now cluster.Time, r *report.Run) {
	m.advance(state, now, now)
	s := m.span(state, now, now)
	for _, o := range m.all {
		o.result(&s, r)
	}
}
