package schedtest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// past is all that happened in a world, in order: events and decisions.
type past []any

// openAction names an action of a bundle that has no outcome.
type openAction struct {
	kind    sched.Kind
	task    cluster.TaskID
	attempt uint32
}

// open is the slow rival of the ledger: it searches the whole past for the outcome of each
// decision that was ever made, and returns those without, with their bundles. Of what no
// decision was made yet it knows nothing.
func (p past) open() map[openAction]uint64 {
	open := map[openAction]uint64{}
	for i := range p {
		d, is := p[i].(sched.Decision)
		if is && d.Purpose.Bundle != 0 && (d.Kind == sched.Place || d.Kind == sched.Evict) && !p[i+1:].answers(d, p[:i].began(d)) {
			open[openAction{d.Kind, d.Task, d.Attempt}] = d.Purpose.Bundle
		}
	}
	return open
}

// began reports whether the run that the decision names is known to have begun.
func (p past) began(d sched.Decision) bool {
	return slices.ContainsFunc(p, func(e any) bool {
		switch e := e.(type) {
		case cluster.TaskStarted:
			return e.Task == d.Task && e.Attempt == d.Attempt
		case cluster.EvictRefused:
			return e.Task == d.Task && e.Attempt == d.Attempt
		}
		return false
	})
}

// answers reports whether what happened since has brought the outcome of the decision.
func (p past) answers(d sched.Decision, began bool) bool {
	place, ends := d.Kind == sched.Place, false
	for _, e := range p {
		switch e := e.(type) {
		case cluster.TaskStarted:
			if e.Task == d.Task && e.Attempt == d.Attempt && place {
				return true
			}
			began = began || e.Task == d.Task && e.Attempt == d.Attempt
		case cluster.BindRefused:
			if e.Task == d.Task && e.Attempt == d.Attempt && !began {
				return true
			}
		case cluster.TaskLeft:
			if e.Task == d.Task && e.Attempt == d.Attempt {
				return true
			}
		case cluster.TaskLeaving:
			if e.Task == d.Task && e.Attempt == d.Attempt && place {
				return true
			}
		case cluster.EvictRefused:
			if e.Task == d.Task && e.Attempt == d.Attempt && !place && !ends {
				return true
			}
		case cluster.TaskEnded:
			if e.Task == d.Task && e.Seq == d.Seq {
				return true
			}
		case cluster.NodeLost:
			if e.Node == d.Node {
				return true
			}
		case sched.Decision:
			if mine := e.Task == d.Task && e.Seq == d.Seq; mine && e.Kind == sched.End {
				ends = true // nobody keeps it any more
			}
			if e.Task == d.Task && e.Attempt == d.Attempt && place && (e.Kind == sched.Evict || e.Kind == sched.End) {
				return true
			}
		}
	}
	return false
}

// rivalry compares the ledger with the past after each step.
type rivalry struct {
	past     past
	promised map[cluster.TaskID]uint64 // by which bundle, as of the last step
	most     int
	counts   map[string]int
}

func (r *rivalry) compare(w *world) error {
	s, l := w.core.View(), w.core.Ledger()
	open, bundles, promised := map[openAction]uint64{}, map[uint64]bool{}, map[cluster.TaskID]uint64{}
	for row := range s.TaskRows() {
		t := cluster.TaskID(row)
		task := s.Task(t)
		for _, d := range l.Open(t, nil) {
			bundles[d.Purpose.Bundle] = true
			switch {
			case d.Attempt > 0:
				open[openAction{d.Kind, d.Task, d.Attempt}] = d.Purpose.Bundle
			case d.Task == t:
				promised[t] = d.Purpose.Bundle
				if task.Seq != d.Seq || task.Node != d.Node && task.Next != d.Node {
					return fmt.Errorf("the ledger promises node row %d to seq %d, and the state has seq %d on %d and then %d", d.Node, d.Seq, task.Seq, task.Node, task.Next)
				}
			}
		}
		if is := task.Phase == cluster.Reserved || task.Next != cluster.NoNode; is != (promised[t] != 0) {
			return fmt.Errorf("task row %d is %s, and its promise is of bundle %d", t, task.Phase, promised[t])
		}
		if p, is := l.Leaving(t); is {
			r.counts["leaving"]++
			if _, serves := p.Serves(); serves {
				r.counts["serves"]++
			}
		}
	}
	if want := r.past.open(); !maps.EqualFunc(open, want, r.sameBundle) {
		return fmt.Errorf("the ledger has %v open, and by the past it is %v", open, want)
	}
	if len(bundles) != l.OpenBundles() {
		return fmt.Errorf("%d bundles have an open action, and the ledger counts %d", len(bundles), l.OpenBundles())
	}
	r.promised, r.most = promised, max(r.most, len(open))
	return nil
}

// sameBundle reports whether an open action may belong to the one bundle now, when it was the
// other that brought it: a later bundle may have overtaken that.
func (r *rivalry) sameBundle(now, then uint64) bool {
	if now > then {
		r.counts["overtaken"]++
	}
	return now >= then
}

// TestLedgerAgainstThePast: in hostile worlds the ledger has after each step what a search of
// all that ever happened finds to be open, and a placement that goes out late is of the bundle that
// promised it.
func TestLedgerAgainstThePast(t *testing.T) {
	seeds := uint64(16)
	if testing.Short() {
		seeds = 4
	}
	counts, most := map[string]int{}, 0
	for seed := range seeds {
		r, wrong := &rivalry{counts: counts}, error(nil)
		hooks := &tamper{
			events: func(_ *world, events []cluster.Event) []cluster.Event {
				for _, e := range events {
					r.past = append(r.past, e)
				}
				return events
			},
			decisions: func(_ *world, decisions []sched.Decision) []sched.Decision {
				for _, d := range decisions {
					r.past = append(r.past, d)
					if by := r.promised[d.Task]; d.Kind == sched.Place && by != 0 && d.Purpose.Bundle != by {
						counts["promised anew"]++
					} else if d.Kind == sched.Place && by != 0 {
						counts["kept"]++
					}
				}
				return decisions
			},
			step: func(w *world) {
				if wrong == nil {
					wrong = r.compare(w)
				}
			},
		}
		w, err := live(newRestless, mode{seed: seed, hostile: true, tamper: hooks})
		if err != nil || wrong != nil {
			t.Fatalf("seed %d: %v, %v", seed, err, wrong)
		}
		most = max(most, r.most)
		counts["taken back"] += w.count["taken back"]
		counts["without placement"] += int(w.core.Counts().WithoutPlacement)
	}
	t.Log(counts, most)
}
