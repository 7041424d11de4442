package sim

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// conclude takes stock of the tasks that are left, and says why those that
// wait do.
func (s *simulation) conclude() {
	state := s.core.View()
	why := map[whyKey]string{}
	for i := range s.tasks.list {
		t := &s.tasks.list[i]
		row := cluster.TaskID(i)
		if t.seq == 0 || t.job.foreign || i >= state.TaskRows() || state.Task(row).Seq != t.seq || state.Task(row).Phase == cluster.Absent {
			continue
		}
		r := state.Task(row)
		account := r.Account.At(s.now, r.Phase)
		if t.phase == working {
			t.tally(s.stats.priced, s.now)
		}
		s.stats.settled(t, account)
		if r.Placed() {
			s.stats.tasks.Running++
			s.output.end(t, r.Phase.String(), account, s.nodes.list[r.Node].name)
			continue
		}
		s.stats.tasks.Pending++
		s.stats.classes[t.service].Pending++
		s.output.end(t, r.Phase.String(), account, "")
		s.explain(row, why)
	}
}

// whyKey is what tasks have in common that wait for the same reason.
type whyKey struct {
	shape cluster.ShapeID
	job   cluster.JobID // of tasks whose job bounds them per node, or that stand together
}

// explain counts the task under its reason, asked once for all that are alike.
func (s *simulation) explain(row cluster.TaskID, why map[whyKey]string) {
	t := &s.tasks.list[row]
	key := whyKey{shape: t.shape}
	if t.perNode > 0 || s.core.View().Job(t.job.row).Together {
		key.job = t.job.row + 1
	}
	code, asked := why[key]
	if !asked {
		reason := s.core.Why(row)
		code = reason.Code(s.nodes.kinds)
		why[key] = code
		if _, shown := s.stats.examples[code]; !shown {
			s.stats.examples[code] = t.called() + ": " + reason.Text(s.nodes.kinds)
		}
	}
	s.stats.reasons[code]++
	if code == "unplaceable" {
		s.stats.tasks.Unplaceable++
	}
}

// audit checks at the end that nothing was lost: every task that was submitted
// is accounted for, and the core's books agree with the world's.
func (s *simulation) audit(r *report.Run) error {
	t := &r.Tasks
	if sum := t.Finished + t.Failed + t.Killed + t.Superseded + t.Running + t.Pending; sum != t.Submitted {
		return fmt.Errorf("checker: %d tasks were submitted, %d are accounted for: %+v", t.Submitted, sum, *t)
	}
	if err := s.core.View().Check(); err != nil {
		return fmt.Errorf("checker: the state contradicts itself: %w", err)
	}
	// What was not reported yet, the core cannot know.
	settled := len(s.in) == 0 && (s.kernel.busy == 0 || s.cfg.World.Faults.Late == 0)
	state := s.core.View()
	for i := range s.nodes.list {
		n := &s.nodes.list[i]
		if !n.live {
			continue
		}
		present, device := believed(state, cluster.NodeID(i))
		if settled && !slices.Equal(present, n.present) {
			return fmt.Errorf("checker: the core believes that node %s holds %v, it holds %v", n.name, present, n.present)
		}
		for d, q := range device {
			if have := n.held(d); settled && q != have {
				return fmt.Errorf("checker: the core believes that device %d of node %s holds %d, it holds %d", d, n.name, q, have)
			}
		}
	}
	return nil
}

// believed is what the core believes to be on the node, and on each of its
// devices: all that takes room but what is reserved.
func believed(state *cluster.View, n cluster.NodeID) (present cluster.Vector, device []int64) {
	present = slices.Clone(state.Used(n))
	for _, d := range state.Devices(n) {
		device = append(device, d.Used)
	}
	for _, id := range state.TasksOn(n) {
		task := state.Task(id)
		set := task.Devices
		if task.Node != n {
			set = task.NextDevices
		} else if task.Phase != cluster.Reserved {
			continue
		}
		for k, q := range state.DemandOn(id, n) {
			present[k] -= q
		}
		for d := range device {
			if set.Has(d) {
				device[d] -= state.DeviceNeed(task.Shape).Share
			}
		}
	}
	return present, device
}
