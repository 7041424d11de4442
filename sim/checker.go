package sim

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// This file refuses to believe the core: it compares each placement and each change of a grant
// with what is physically there, before that is carried out, and at the end of the run all that
// is there with all that the core believes. It counts by itself, reads only the world's own
// books, and changes nothing. What it finds is an error of the core.

// checker watches the core from outside.
type checker struct {
	nodes       *nodes
	tasks       *tasks
	constraints *constraints
}

// place refuses a placement that the world cannot honour.
func (c *checker) place(d sched.Decision) error {
	t := c.tasks.list[d.Task]
	n := &c.nodes.list[d.Node]
	if t.phase != idle {
		return fmt.Errorf("checker: %s is placed on node %s while it has a run on %s", t.called(), n.name, c.nodes.list[t.node].name)
	}
	if !n.live {
		return fmt.Errorf("checker: %s is placed on node %s, which is lost", t.called(), n.name)
	}
	if !c.nodes.isOn(d.Node) {
		return fmt.Errorf("checker: %s is placed on node %s, which is not on", t.called(), n.name)
	}
	if err := c.grant(t, d.Grant); err != nil {
		return err
	}
	if err := c.nodes.overBy(d.Node, room{t.with(d.Grant), d.Devices}); err != nil {
		return fmt.Errorf("checker: %s is placed where it does not fit: %w", t.called(), err)
	}
	wanted := admission{requirements: t.requirements}
	if !c.nodes.meets(d.Node, wanted) {
		return fmt.Errorf("checker: %s is placed on node %s, which does not meet its requirements", t.called(), n.name)
	}
	class := &c.tasks.classes.Classes[t.service]
	if wanted.tier = class.Tier; !c.nodes.meets(d.Node, wanted) {
		return fmt.Errorf("checker: %s is placed on node %s of tier %d, and its class %s was promised tier %d", t.called(), n.name, n.tier, class.Name, wanted.tier)
	}
	if err := c.perNode(d); err != nil {
		return err
	}
	return c.most(d)
}

// resize refuses a grant for which there is no room. A run that the core believes to be there
// may be gone; it will hear of that.
func (c *checker) resize(d sched.Decision) error {
	t := c.tasks.list[d.Task]
	if err := c.grant(t, d.Grant); err != nil {
		return err
	}
	if !c.tasks.atWork(d.Task, d.Attempt) {
		return nil
	}
	had, takes := t.takes().demand, t.with(d.Grant)
	more := make(cluster.Vector, len(takes))
	for k, q := range takes {
		more[k] = max(q-had[k], 0)
	}
	if err := c.nodes.overBy(t.node, room{demand: more}); err != nil {
		return fmt.Errorf("checker: %s is resized where it does not fit: %w", t.called(), err)
	}
	return nil
}

// grant refuses one that the task's demand does not allow.
func (c *checker) grant(t *task, grant cluster.Vector) error {
	if grant == nil {
		return nil
	}
	most := t.most
	if most == nil {
		most = t.demand
	}
	for k, q := range grant {
		if kind := c.nodes.kinds[k]; q < t.demand[k] || q > most[k] {
			return fmt.Errorf("checker: %s is granted %s of %s, outside its range of %s to %s", t.called(), kind.Format(q), kind.Name, kind.Format(t.demand[k]), kind.Format(most[k]))
		}
	}
	return nil
}

// perNode refuses a placement beside as many tasks of the job as may be.
func (c *checker) perNode(d sched.Decision) error {
	t, n := c.tasks.list[d.Task], &c.nodes.list[d.Node]
	beside, most := int32(0), t.perNode
	for _, other := range n.runs {
		o := c.tasks.list[other]
		if o.job != t.job || other == d.Task {
			continue
		}
		beside++
		if o.perNode > 0 && (most == 0 || o.perNode < most) {
			most = o.perNode
		}
		if most > 0 && beside >= most {
			return fmt.Errorf("checker: %s is placed on node %s beside %s: the node may hold at most %d of its job", t.called(), n.name, o.called(), most)
		}
	}
	return nil
}

// most refuses a placement that breaks the most of a hard constraint, for the task or
// for another one in its set.
func (c *checker) most(d sched.Decision) error {
	t, n := c.tasks.list[d.Task], &c.nodes.list[d.Node]
	for i := range c.constraints.most {
		b := &c.constraints.most[i]
		set, in := n.setOf(b.Group)
		subject, target := b.Affects(t.tags)
		if !in || !subject && !target {
			continue
		}
		are := c.countIn(b, set)
		self := int32(0) // who counts itself beside others
		if b.SelfCounted {
			self = 1
		}
		over := subject && (!target && are.targets > b.Max || target && are.targets+self > b.Max)
		if target && !b.arriving && (are.subjects > are.both && are.targets == b.Max || are.both > 0 && are.targets+self == b.Max+1) {
			over = true
		}
		if over {
			return fmt.Errorf("checker: %s is placed on node %s, where %d are counted already and %q allows %d", t.called(), n.name, are.targets, b.name, b.Max)
		}
	}
	return nil
}

// inSet is how many tasks of a set are what in a bound.
type inSet struct{ subjects, targets, both int32 }

// countIn counts the runs in a set of which the core knows.
func (c *checker) countIn(b *mostBound, set string) (are inSet) {
	for row := range c.tasks.list {
		o := c.tasks.list[row]
		if o.seq == 0 || o.phase == idle || o.silent {
			continue
		}
		if other, in := c.nodes.list[o.node].setOf(b.Group); !in || other != set {
			continue
		}
		subject, target := b.Affects(o.tags)
		if subject {
			are.subjects++
		}
		if target {
			are.targets++
		}
		if subject && target {
			are.both++
		}
	}
	return are
}

// accounts checks at the end that nothing was lost: every task that was submitted is accounted
// for, and what the core believes does not contradict itself.
func (c *checker) accounts(believes *cluster.View, r *report.Run) error {
	t := &r.Tasks
	if sum := t.Finished + t.Failed + t.Killed + t.Superseded + t.Running + t.Pending; sum != t.Submitted {
		return fmt.Errorf("checker: %d tasks were submitted, %d are accounted for: %+v", t.Submitted, sum, *t)
	}
	if err := believes.Check(); err != nil {
		return fmt.Errorf("checker: the state contradicts itself: %w", err)
	}
	return nil
}

// books checks at the end that the core's books of the nodes agree with the world's.
func (c *checker) books(believes *cluster.View) error {
	for i := range c.nodes.list {
		n := &c.nodes.list[i]
		if !n.live {
			continue
		}
		present, device := believed(believes, cluster.NodeID(i))
		if !slices.Equal(present, n.present) {
			return fmt.Errorf("checker: the core believes that node %s holds %v, it holds %v", n.name, present, n.present)
		}
		for d, q := range device {
			if have := n.held(d); q != have {
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
		for d, share := range state.DeviceNeeds(task.Shape).On(set) {
			device[d] -= share
		}
	}
	return present, device
}
