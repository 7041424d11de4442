package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// conclude takes stock of the tasks that are left, and says why those that
// wait do.
func (s *simulation) conclude() {
	state := s.planner.view()
	why := reasons{core: s.planner.core, kinds: s.nodes.kinds, known: map[whyKey]explanation{}}
	for i := range s.tasks.list {
		t := s.tasks.list[i]
		row := cluster.TaskID(i)
		if t.seq == 0 || t.job.foreign || i >= state.TaskRows() || state.Task(row).Seq != t.seq || state.Task(row).Phase == cluster.Absent {
			continue
		}
		r := state.Task(row)
		account := r.Account.At(s.kernel.now, r.Phase)
		h := happening{what: left, at: s.kernel.now, task: t, account: account, phase: r.Phase}
		if r.Placed() {
			h.node = s.nodes.list[r.Node].name
		} else {
			h.waits = why.of(row, t)
		}
		s.measures.happened(h)
	}
}

// reasons says why tasks wait. It asks the core once for all that are alike, as that is costly.
type reasons struct {
	core  *sched.Core
	kinds []cluster.Kind
	known map[whyKey]explanation
}

// whyKey is what tasks have in common that wait for the same reason.
type whyKey struct {
	shape cluster.ShapeID
	job   cluster.JobID // of tasks whose job bounds them per node, or that stand together
}

// explanation is a reason in words: by what to count it, a sentence with numbers, and what would help.
type explanation struct{ code, sentence, help string }

// text is the sentence with what would help.
func (e explanation) text() string {
	if e.help == "" {
		return e.sentence
	}
	return e.sentence + "; " + e.help
}

// of is why the task in the row waits.
func (r *reasons) of(row cluster.TaskID, t *task) explanation {
	if t.others != "" {
		return explanation{code: cluster.Gated.String(), sentence: "it waits for the scheduler " + t.others + ", which is not simulated"}
	}
	if t.gate != "" && r.core.View().Task(row).Phase == cluster.Gated {
		return explanation{code: cluster.Gated.String(), sentence: Gated(t.gate)}
	}
	key := whyKey{shape: t.shape}
	if s := r.core.View(); t.perNode > 0 || s.Job(t.job.row).Together || cluster.IsGang(s, t.job.row) {
		key.job = t.job.row + 1
	}
	e, asked := r.known[key]
	if !asked {
		reason := r.core.Why(row)
		e = explanation{reason.Code(r.kinds), reason.Sentence(r.kinds), reason.Help(r.kinds)}
		r.known[key] = e
	}
	return e
}

// Gated says in a sentence what keeps a task from being placed.
func Gated(gate string) string {
	return "gated by " + gate + ": it is not to be placed before that is taken away"
}

// audit checks at the end that nothing was lost, and that the core's books agree with the
// world's. What was not reported yet, the core cannot know.
func (s *simulation) audit(r *report.Run) error {
	if err := s.checker.accounts(s.planner.view(), r); err != nil {
		return err
	}
	if len(s.outbox.events) > 0 || s.kernel.busy > 0 && s.cfg.World.Faults.Late > 0 {
		return nil
	}
	return s.checker.books(s.planner.view())
}
