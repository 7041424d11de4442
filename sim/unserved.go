package sim

import (
	"slices"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// unserved is what tasks ask for and do not get: while they wait, by losing their work, and beside what others hold. It goes
// by the change log of the core's state, so that the work is in proportion to what changed.
type unserved struct {
	kinds   []cluster.Kind
	table   *class.Table
	classes []shortfall    // by cluster.ClassID
	rows    []stance       // by task row
	largest cluster.Vector // what any node has had, kind by kind
	sizes   [5]sizeWaits   // by sizeBound
	users   userShares
	moves   moves
}

// shortfall is what the tasks of a class ask for and do not get.
type shortfall struct {
	waits        cluster.Vector // demand of those who wait now
	waited, lost []float64      // quantity × µs
}

// sizeBound is the largest of the tasks of a size, in thousandths of the largest node; of the last size some may be larger.
func sizeBound(size int) int64 { return [...]int64{10, 100, 250, 500, 1000}[size] }

// sizeWaits are the waits of tasks of about one size.
type sizeWaits struct {
	tasks   int
	sum     float64 // µs
	longest cluster.Time
}

// stance is how a task stands, as far as it counts here.
type stance struct {
	seq     cluster.Seq
	attempt uint32
	user    int32
	class   cluster.ClassID
	moves   bool           // its run was told to leave to run elsewhere
	waits   cluster.Vector // what it waits for; nil if it does not
	holds   cluster.Vector // what it holds; nil if nothing
	since   cluster.Time   // when its run began with that; Never if it does not run
	done    []float64      // what its run had done before, with other grants or until it was told to leave: quantity × µs
}

func newUnserved(n *nodes, table *class.Table) *unserved {
	kinds := n.kinds
	u := &unserved{kinds: kinds, table: table, moves: moves{nodes: n}, classes: make([]shortfall, len(table.Classes)), largest: make(cluster.Vector, len(kinds))}
	for c := range u.classes {
		u.classes[c] = newShortfall(len(kinds))
	}
	return u
}

func newShortfall(kinds int) shortfall {
	return shortfall{waits: make(cluster.Vector, kinds), waited: make([]float64, kinds), lost: make([]float64, kinds)}
}

func (u *unserved) advance(s *span) {
	for n := range s.nodes() {
		if s.state.NodeLive(n) {
			for k, q := range s.state.Limit(n) {
				u.largest[k] = max(u.largest[k], q)
			}
		}
	}
	for t := range s.tasks() {
		u.look(s.state, s.from, t)
	}
	if s.from == s.to {
		return
	}
	spent := float64(s.to - s.from)
	for c := range u.classes {
		for k, q := range u.classes[c].waits {
			u.classes[c].waited[k] += float64(spent * float64(q))
		}
	}
	u.users.advance(s.state, spent)
}

// look brings up to date what is counted of a task.
func (u *unserved) look(s *cluster.View, now cluster.Time, row cluster.TaskID) {
	u.rows = grown(u.rows, row, stance{since: cluster.Never})
	t, was := s.Task(row), &u.rows[row]
	counts := t.Phase != cluster.Absent && !s.Job(t.Job).Foreign
	if was.seq != t.Seq || !counts { // what the other one had done, it had done to the end
		u.stand(was, nil, nil)
		*was = stance{since: cluster.Never, holds: was.holds}
		if !counts {
			return
		}
		was.seq, was.attempt, was.class, was.user = t.Seq, t.Attempt, t.Class, u.users.number(s.Job(t.Job).User)
	}
	waits, holds := asksFor(s, row)
	runs, same := t.Phase == cluster.Running, t.Attempt == was.attempt
	if goesOn := runs && same && slices.Equal(was.holds, holds); was.since != cluster.Never && !goesOn {
		until := now
		if t.Phase == cluster.Leaving {
			until = t.Account.Since
		}
		was.work(until)
	}
	if over := !same || t.Phase != cluster.Running && t.Phase != cluster.Leaving; over && was.done != nil {
		if !s.Classes()[t.Class].KeepsWork {
			u.lose(was, t.Class)
		}
		was.done = nil
	}
	was.moves = was.moves && same && !runs // who runs was told nothing, or stayed
	was.attempt = t.Attempt
	if runs && was.since == cluster.Never {
		if was.since = now; was.done == nil {
			was.since = t.Account.Since
		}
	}
	u.stand(was, waits, holds)
}

// asksFor is what the task waits for, or what it holds on its node; nil of what it does not.
func asksFor(s *cluster.View, row cluster.TaskID) (waits, holds cluster.Vector) {
	switch t := s.Task(row); t.Phase {
	case cluster.Waiting, cluster.Reserved:
		return s.Shape(t.Shape).Demand, nil
	case cluster.Starting, cluster.Running, cluster.Leaving:
		return nil, s.Demand(row)
	default:
		return nil, nil
	}
}

// lose counts what a run of the class has done for nothing.
func (u *unserved) lose(was *stance, c cluster.ClassID) {
	for k, q := range was.done {
		u.classes[c].lost[k] += q
	}
	if was.moves {
		u.moves.lose(was.done)
	}
}

// work takes in what a run has done with what it holds.
func (w *stance) work(until cluster.Time) {
	if w.done == nil {
		w.done = make([]float64, len(w.holds))
	}
	for k, q := range w.holds {
		w.done[k] += float64(float64(until-w.since) * float64(q))
	}
	w.since = cluster.Never
}

// stand replaces what a task waits for, and what it holds.
func (u *unserved) stand(was *stance, waits, holds cluster.Vector) {
	sum := u.classes[was.class].waits
	for k, q := range was.waits {
		sum[k] -= q
	}
	for k, q := range waits {
		sum[k] += q
	}
	u.users.stand(was, waits != nil, holds)
	was.waits, was.holds = waits, append(was.holds[:0], holds...)
}

func (u *unserved) happened(h *happening) {
	u.moves.happened(h)
	switch h.what {
	case decided:
		u.told(h.decision)
	case ended, left:
		u.waited(h)
	default:
	}
}

// told notes that a run has to leave, and whether to run elsewhere.
func (u *unserved) told(d *sched.Decision) {
	if d.Kind != sched.Evict {
		return
	}
	moves := d.Moves()
	if moves {
		u.moves.told(&d.Gain)
	}
	if int(d.Task) < len(u.rows) && u.rows[d.Task].seq == d.Seq {
		u.rows[d.Task].moves = moves
	}
}

// waited counts how long a task has waited.
func (u *unserved) waited(h *happening) {
	at := 0
	for at < len(u.sizes)-1 && !u.within(h.task.demand, sizeBound(at)) {
		at++
	}
	w := &u.sizes[at]
	w.tasks++
	w.sum += float64(h.account.Waiting)
	w.longest = max(w.longest, h.account.Waiting)
}

// within reports whether so many thousandths of the largest node are enough for the demand. What no node has does not count.
func (u *unserved) within(demand cluster.Vector, thousandths int64) bool {
	for k, q := range demand {
		if u.largest[k] > 0 && wide.Product(q, 1000).Minus(wide.Product(u.largest[k], thousandths)) != (wide.Number{}) {
			return false
		}
	}
	return true
}

func (u *unserved) result(_ *span, r *report.Run) {
	out, all := &report.Unserved{Shares: u.users.gap(float64(r.Simulated))}, newShortfall(len(u.kinds))
	for i, c := range u.classes {
		for k := range u.kinds {
			all.waited[k] += c.waited[k]
			all.lost[k] += c.lost[k]
		}
		name := u.table.Classes[i].Name
		if of, has := r.Classes[name]; has {
			hours := c.hours(u.kinds)
			of.Shortfall = &hours
			r.Classes[name] = of
		}
	}
	out.Shortfall = all.hours(u.kinds)
	for i, w := range u.sizes {
		if w.tasks > 0 {
			out.Add(report.SizeWait{
				UpTo: report.Number(float64(sizeBound(i)) / 1000), Tasks: w.tasks,
				Mean: report.Number(w.sum / float64(w.tasks) / float64(cluster.Second)), Longest: report.Number(w.longest.Seconds()),
			})
		}
	}
	r.Unserved, r.Moves = out, u.moves.result()
}

// hours is the shortfall as the report has it.
func (c *shortfall) hours(kinds []cluster.Kind) report.Shortfall {
	return report.Shortfall{Waited: hoursOf(c.waited, kinds), Lost: hoursOf(c.lost, kinds)}
}

// hoursOf are amounts in each kind's unit times hours.
func hoursOf(amounts []float64, kinds []cluster.Kind) map[string]report.Number {
	hours := map[string]report.Number{}
	for k, kind := range kinds {
		hours[kind.Name] = report.Number(amounts[k] / float64(float64(max(kind.PerUnit, 1))*float64(cluster.Hour)))
	}
	return hours
}
