package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// moves counts the runs that were told to leave so that their own task may run elsewhere, what work was lost by that, and how many
// nodes have nothing to do for it, and adds up what policies say that moves are good for. How many did move, outcomes counts.
type moves struct {
	nodes   *nodes
	decided int
	gain    sched.Gain           // of all that were decided
	lost    []float64            // quantity × µs; nil: nothing
	freed   int                  // nodes that a moved run was the last to leave, less those where one began alone
	onWay   map[cluster.Seq]bool // tasks that have left, and have not begun again
}

// told notes that a run is to move, and what its policy gains by that and what else its bundle moves.
func (m *moves) told(g *sched.Gain) {
	m.decided++
	m.gain.Room += g.Room
	m.gain.Violations += g.Violations
	m.gain.Served += g.Served
}

// happened follows a run that moves from the node that it leaves to the one where it begins again.
func (m *moves) happened(h *happening) {
	switch h.what {
	case evicted:
		delete(m.onWay, h.task.seq)
		if h.row.Phase != cluster.Leaving || h.row.Next == cluster.NoNode {
			return
		}
		if m.onWay == nil {
			m.onWay = map[cluster.Seq]bool{}
		}
		m.onWay[h.task.seq] = true
		if m.alone(h.task) {
			m.freed++
		}
	case begins:
		if m.onWay[h.task.seq] && m.alone(h.task) {
			m.freed--
		}
		delete(m.onWay, h.task.seq)
	case ended:
		delete(m.onWay, h.task.seq)
	default:
	}
}

// alone reports whether the task's run is the only one on its node.
func (m *moves) alone(t *task) bool { return len(m.nodes.list[t.node].runs) == 1 }

// lose counts work that was lost by a move.
func (m *moves) lose(done []float64) {
	if m.lost == nil {
		m.lost = make([]float64, len(done))
	}
	for k, q := range done {
		m.lost[k] += q
	}
}

// result is nil where nobody was to move.
func (m *moves) result() *report.Moves {
	if m.decided == 0 {
		return nil
	}
	if m.lost == nil {
		m.lost = make([]float64, len(m.nodes.kinds))
	}
	r := &report.Moves{Decided: m.decided, Freed: m.freed, Lost: hoursOf(m.lost, m.nodes.kinds)}
	if m.gain != (sched.Gain{}) {
		r.Gain = &report.Gain{Nodes: report.Number(float64(m.gain.Room) / sched.OneNode), Violations: int(m.gain.Violations), Served: int(m.gain.Served)}
	}
	return r
}
