package cluster

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// ErrStale answers an event about a run or a task that is over: late, repeated
// or overtaken. It is normal in a hostile world, and changes nothing.
var ErrStale = errors.New("stale")

// ErrOrphan answers a TaskStarted of a run whose task has moved on. The run
// takes room until its TaskLeft comes; somebody should tell it to leave.
var ErrOrphan = errors.New("orphan run")

// Apply brings the state up to date with an event that happened at the given
// time. An event that makes no sense returns an error that says why, and
// changes nothing but the time. Time does not go backwards: an earlier moment
// counts as now.
func (s *State) Apply(at Time, e Event) error {
	if s.undo.on {
		panic("cluster: Apply during a trial; undo it first")
	}
	s.Advance(at)
	switch e := e.(type) {
	case NodeAdded:
		return s.nodeAdded(e)
	case NodeChanged:
		return s.nodeChanged(e)
	case NodeLost:
		return s.nodeLost(e)
	case UsageReported:
		return s.usageReported(e)
	case SetDefined:
		return s.setDefined(e)
	case SetForgotten:
		return s.setForgotten(e)
	case EligibilityChanged:
		return s.eligibilityChanged(e)
	case ShapeDefined:
		return s.shapeDefined(e)
	case ShapeForgotten:
		return s.shapeForgotten(e)
	case RoomComing:
		return roomComing(s, e)
	case ConstraintDefined:
		return s.constraintDefined(e)
	case ConstraintForgotten:
		return s.constraintForgotten(e)
	case ClassDefined:
		return s.classes.define(&s.log, e)
	case ClassForgotten:
		return s.classes.forget(&s.log, s.task, e)
	case BudgetChanged:
		return guard(s, e)
	case SolverReady:
		s.asked.solver = true
		return nil
	case JobSubmitted:
		return s.jobSubmitted(e)
	case JobChanged:
		return changeJob(s, e)
	case JobForgotten:
		return s.jobForgotten(e)
	default:
		return s.applyToTask(e)
	}
}

// applyToTask is Apply for the events of tasks.
func (s *State) applyToTask(e Event) error {
	switch e := e.(type) {
	case TaskSubmitted:
		return s.taskSubmitted(e)
	case TaskUngated:
		return s.taskUngated(e)
	case TaskGated:
		return s.taskGated(e)
	case TaskReshaped:
		return s.taskReshaped(e)
	case TaskFound:
		return s.taskFound(e)
	case TaskStarted:
		return s.taskStarted(e)
	case BindRefused:
		return s.bindRefused(e)
	case TaskLeft:
		return s.taskLeft(e)
	case EvictRefused:
		return s.evictRefused(e)
	case TaskProtected:
		return s.taskProtected(e)
	case TaskGuarded:
		return guardTask(s, e)
	case TaskLeaving:
		return s.taskLeaving(e)
	case TaskEnded:
		return s.taskEnded(e)
	default:
		return fmt.Errorf("unknown event %T", e)
	}
}

func (s *State) nodeAdded(e NodeAdded) error {
	if err := s.checkRow(Nodes, "node", uint32(e.Node)); err != nil {
		return err
	}
	if s.NodeLive(e.Node) {
		return fmt.Errorf("node row %d is in use by %q", e.Node, s.node[e.Node].spec.Name)
	}
	if err := s.checkNode(&e.Spec); err != nil {
		return err
	}
	s.growNodes(int(e.Node))
	s.log.made[Nodes]++
	s.node[e.Node] = nodeRow{spec: e.Spec, tasks: s.node[e.Node].tasks[:0], device: s.node[e.Node].device[:0]}
	s.live[e.Node] = true
	s.setLimit(e.Node)
	clear(s.Used(e.Node))
	clear(s.LeavingDemand(e.Node))
	s.total.add(&s.View, e.Node, 1)
	s.regroup(e.Node, true)
	s.noteNode(e.Node)
	return nil
}

func (s *State) nodeChanged(e NodeChanged) error {
	if !s.NodeLive(e.Node) {
		return fmt.Errorf("node row %d holds no node", e.Node)
	}
	if err := s.checkNode(&e.Spec); err != nil {
		return err
	}
	s.total.add(&s.View, e.Node, -1)
	moves := !slices.Equal(s.node[e.Node].spec.Groups, e.Spec.Groups)
	s.node[e.Node].spec = e.Spec
	s.setLimit(e.Node)
	s.total.add(&s.View, e.Node, 1)
	if moves {
		s.regroupUsed(e.Node)
	}
	s.noteNode(e.Node)
	return nil
}

func (s *State) checkNode(spec *NodeSpec) error {
	if err := s.checkVector("capacity", spec.Capacity); err != nil {
		return fmt.Errorf("node %q: %w", spec.Name, err)
	}
	for _, k := range s.devices {
		if q := spec.Capacity[k.Kind]; q%k.Size != 0 || k.Count(spec.Capacity) > k.Most {
			kind := &s.kinds[k.Kind]
			return fmt.Errorf("node %q: capacity of %s is %s, want whole devices, at most %d", spec.Name, kind.Name, kind.Format(q), k.Most)
		}
	}
	if spec.Overcommit != nil {
		if err := s.checkVector("over-commit", spec.Overcommit); err != nil {
			return fmt.Errorf("node %q: %w", spec.Name, err)
		}
	}
	return nil
}

func (s *State) checkVector(what string, v Vector) error {
	if len(v) != len(s.kinds) {
		return fmt.Errorf("%s has %d quantities, the cluster has %d kinds", what, len(v), len(s.kinds))
	}
	for k, q := range v {
		if q < 0 || q > MaxQuantity {
			return fmt.Errorf("%s of %s is %d, want 0 to %d", what, s.kinds[k].Name, q, int64(MaxQuantity))
		}
	}
	return nil
}

// setLimit computes capacity times over-commit, rounded down.
func (s *State) setLimit(n NodeID) {
	spec := &s.node[n].spec
	copy(s.Capacity(n), spec.Capacity)
	limit := s.Limit(n)
	copy(limit, spec.Capacity)
	for k, factor := range spec.Overcommit {
		hi, lo := bits.Mul64(uint64(limit[k]), uint64(factor))
		if hi >= 1000 {
			limit[k] = MaxQuantity
			continue
		}
		product, _ := bits.Div64(hi, lo, 1000)
		limit[k] = int64(min(product, MaxQuantity))
	}
	s.fillDevices(n)
}

func (s *State) nodeLost(e NodeLost) error {
	if !s.NodeLive(e.Node) {
		return fmt.Errorf("node row %d holds no node", e.Node)
	}
	for _, t := range slices.Clone(s.node[e.Node].tasks) {
		if task := &s.task[t]; task.Node == e.Node {
			s.leaveNode(t)
		} else {
			s.dropNext(t)
			s.noteTask(t)
		}
	}
	for r, o := range s.orphans {
		if o.node == e.Node {
			delete(s.orphans, r)
		}
	}
	s.total.add(&s.View, e.Node, -1)
	s.node[e.Node] = nodeRow{tasks: s.node[e.Node].tasks[:0], device: s.node[e.Node].device[:0]}
	s.live[e.Node] = false
	clear(s.Capacity(e.Node))
	clear(s.Limit(e.Node))
	clear(s.Used(e.Node))
	clear(s.LeavingDemand(e.Node))
	s.setUsage(e.Node, nil)
	s.regroup(e.Node, false)
	for id := range s.set {
		if set := &s.set[id]; set.holds(e.Node) {
			set.nodes[e.Node>>6] &^= 1 << (e.Node & 63)
			s.log.note(Sets, uint32(id))
		}
	}
	s.noteNode(e.Node)
	return nil
}

func (s *State) usageReported(e UsageReported) error {
	if !s.NodeLive(e.Node) {
		return ErrStale
	}
	if err := s.checkVector("usage", e.Usage); err != nil {
		return fmt.Errorf("node %q: %w", s.node[e.Node].spec.Name, err)
	}
	s.setUsage(e.Node, e.Usage)
	s.noteNode(e.Node)
	return nil
}

func (s *State) jobSubmitted(e JobSubmitted) error {
	if err := s.checkRow(Jobs, "job", uint32(e.Job)); err != nil {
		return err
	}
	if int(e.Job) < len(s.job) && s.job[e.Job].Live {
		return fmt.Errorf("job row %d is in use by %q", e.Job, s.job[e.Job].Name)
	}
	if e.Yields > 0 && !e.Foreign {
		return fmt.Errorf("job row %d: %q is not foreign, so that lanes need no leave to evict its runs", e.Job, e.Name)
	}
	if e.Foreign && e.FirstEnds {
		return fmt.Errorf("job row %d: %q is foreign, so that its tasks cannot end one another here", e.Job, e.Name)
	}
	if err := checkGangSize(e.Job, e.Name, e.Foreign, e.Gang); err != nil {
		return err
	}
	if err := checkDisruption(e.Job, e.Disruption); err != nil {
		return err
	}
	s.log.made[Jobs]++
	s.job = grown(s.job, int(e.Job))
	s.job[e.Job] = Job{Name: e.Name, User: e.User, Foreign: e.Foreign, Yields: e.Yields, Together: e.Together, FirstEnds: e.FirstEnds, LongRunning: e.LongRunning, Loose: e.Loose, Service: e.Service || e.LongRunning, Disruption: e.Disruption, Gang: e.Gang, Due: e.Due, Live: true}
	s.log.note(Jobs, uint32(e.Job))
	return nil
}

func (s *State) jobForgotten(e JobForgotten) error {
	if err := checkJob(s, e.Job); err != nil {
		return err
	}
	if n := s.job[e.Job].Tasks; n > 0 {
		return fmt.Errorf("job row %d still has %d tasks", e.Job, n)
	}
	s.job[e.Job] = Job{}
	s.log.note(Jobs, uint32(e.Job))
	return nil
}
