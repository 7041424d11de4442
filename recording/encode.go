package recording

import (
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file writes events and decisions as JSON, straight into a buffer: they
// are written while a cluster waits. What it writes is what encoding/json would
// write of wireEvent and wireDecision.

// encoder appends the members of objects to a line.
type encoder struct{ line []byte }

// event appends an event, and reports whether it is one that has an encoding.
func (x *encoder) event(e cluster.Event) bool {
	switch e := e.(type) {
	case cluster.NodeAdded:
		x.open("node").node(e.Node).spec(&e.Spec)
	case cluster.NodeChanged:
		x.open("node_changed").node(e.Node).spec(&e.Spec)
	case cluster.NodeLost:
		x.open("node_lost").node(e.Node)
	case cluster.UsageReported:
		x.open("usage").node(e.Node).vector("usage", e.Usage)
	case cluster.SetDefined:
		x.open("set").number("set", uint64(e.Set)).nodes(e.Nodes)
	case cluster.SetForgotten:
		x.open("set_forgotten").number("set", uint64(e.Set))
	case cluster.EligibilityChanged:
		x.open("eligible").node(e.Node).number("set", uint64(e.Set)).flag("eligible", e.Eligible)
	case cluster.ShapeDefined:
		x.open("shape").number("set", uint64(e.Spec.Eligible)).number("shape", uint64(e.Shape)).vector("demand", e.Spec.Demand).signed("per_node", int64(e.Spec.PerNode)).vector("max", e.Spec.Max).tags(e.Spec.Tags).flag("never_preempts", e.Spec.NeverPreempts).flag("stays", e.Spec.Stays).signed("usual", int64(e.Spec.Usual)).prefers(e.Spec.Prefers)
	case cluster.ShapeForgotten:
		x.open("shape_forgotten").number("shape", uint64(e.Shape))
	case cluster.RoomComing:
		x.open("room").number("shape", uint64(e.Shape)).flag("coming", e.Coming)
	case cluster.ConstraintDefined:
		x.open("constraint").number("constraint", uint64(e.Constraint)).constraint(&e.Spec)
	case cluster.ConstraintForgotten:
		x.open("constraint_forgotten").number("constraint", uint64(e.Constraint))
	case cluster.ClassDefined:
		x.open("class").signed("class", int64(e.Class)).promise(&e.Spec)
	case cluster.ClassForgotten:
		x.open("class_forgotten").signed("class", int64(e.Class))
	case cluster.BudgetChanged:
		x.open("budget").number("budget", uint64(e.Budget)).signed("spare", int64(e.Spare))
	case cluster.SolverReady:
		x.open("solver_ready")
	case cluster.JobSubmitted:
		x.open("job").text("name", e.Name).number("job", uint64(e.Job)).text("user", e.User).flag("foreign", e.Foreign).flag("together", e.Together).flag("first_ends", e.FirstEnds).flag("long_running", e.LongRunning).flag("service", e.Service).flag("loose", e.Loose).text("disruption", disruptionWord(e.Disruption)).signed("gang", int64(e.Gang)).signed("yields", int64(e.Yields)).signed("due", int64(e.Due))
	case cluster.JobChanged:
		x.open("job_changed").number("job", uint64(e.Job)).text("disruption", disruptionWord(e.Disruption)).signed("gang", int64(e.Gang))
	case cluster.JobForgotten:
		x.open("job_forgotten").number("job", uint64(e.Job))
	case cluster.TaskSubmitted:
		x.open("task").number("shape", uint64(e.Shape)).number("job", uint64(e.Job)).task(e.Task, e.Seq).
			signed("class", int64(e.Class)).signed("priority", int64(e.Priority)).flag("gated", e.Gated).flag("coming", e.Displaced).account(e.Account).signed("lasts", int64(e.Lasts)).input(e.Input)
	default:
		return x.taskEvent(e)
	}
	x.line = append(x.line, '}')
	return true
}

// taskEvent is event for what happens to a task that is there.
func (x *encoder) taskEvent(e cluster.Event) bool {
	switch e := e.(type) {
	case cluster.TaskUngated:
		x.open("ungated").task(e.Task, e.Seq).signed("lasts", int64(e.Waited))
	case cluster.TaskGated:
		x.open("gated").task(e.Task, e.Seq)
	case cluster.TaskReshaped:
		x.open("reshaped").number("shape", uint64(e.Shape)).task(e.Task, e.Seq).signed("priority", int64(e.Priority))
	case cluster.TaskFound:
		x.open("found").node(e.Node).task(e.Task, e.Seq).devices(e.Devices).vector("grant", e.Grant)
	case cluster.TaskStarted:
		x.open("started").node(e.Node).run(e.Task, e.Attempt).devices(e.Devices).vector("grant", e.Grant)
	case cluster.BindRefused:
		x.open("refused").run(e.Task, e.Attempt)
	case cluster.TaskLeft:
		x.open("left").run(e.Task, e.Attempt)
	case cluster.EvictRefused:
		x.open("stays").run(e.Task, e.Attempt)
	case cluster.TaskProtected:
		x.open("protected").run(e.Task, e.Attempt).signed("until", int64(e.Until)).text("reason", e.Reason)
	case cluster.TaskGuarded:
		x.open("guarded").run(e.Task, e.Attempt).budgets(e.Budgets)
	case cluster.TaskLeaving:
		x.open("leaving").run(e.Task, e.Attempt)
	case cluster.TaskEnded:
		x.open("ended").task(e.Task, e.Seq).flag("finished", e.Finished)
	default:
		return false
	}
	x.line = append(x.line, '}')
	return true
}

// decision appends a decision.
func (x *encoder) decision(d sched.Decision) {
	x.line = append(x.line, `{"d":"`...)
	x.line = append(x.line, d.Kind.String()...)
	x.line = append(x.line, '"')
	x.task(d.Task, d.Seq).number("attempt", uint64(d.Attempt)).node(d.Node).devices(d.Devices).vector("grant", d.Grant)
	x.line = append(x.line, '}')
}

// separate stands before each event of a line.
func (x *encoder) separate() {
	if len(x.line) > 0 {
		x.line = append(x.line, ',')
	}
}

func (x *encoder) open(name string) *encoder {
	x.line = append(x.line, `{"e":"`...)
	x.line = append(x.line, name...)
	x.line = append(x.line, '"')
	return x
}

func (x *encoder) key(key string) {
	x.line = append(x.line, ',', '"')
	x.line = append(x.line, key...)
	x.line = append(x.line, '"', ':')
}

func (x *encoder) number(key string, v uint64) *encoder {
	x.key(key)
	x.line = strconv.AppendUint(x.line, v, 10)
	return x
}

func (x *encoder) node(n cluster.NodeID) *encoder { return x.number("node", uint64(n)) }

func (x *encoder) task(t cluster.TaskID, seq cluster.Seq) *encoder {
	return x.number("task", uint64(t)).number("seq", uint64(seq))
}

func (x *encoder) run(t cluster.TaskID, attempt uint32) *encoder {
	return x.number("task", uint64(t)).number("attempt", uint64(attempt))
}

// devices appends a set unless it is empty.
func (x *encoder) devices(set cluster.DeviceSet) *encoder {
	if set != 0 {
		x.number("devices", uint64(set))
	}
	return x
}

// signed appends a number unless it is 0.
func (x *encoder) signed(key string, v int64) *encoder {
	if v != 0 {
		x.key(key)
		x.line = strconv.AppendInt(x.line, v, 10)
	}
	return x
}

func (x *encoder) flag(key string, is bool) *encoder {
	if is {
		x.key(key)
		x.line = append(x.line, "true"...)
	}
	return x
}

func (x *encoder) text(key, v string) *encoder {
	if v != "" {
		x.key(key)
		x.quote(v)
	}
	return x
}

// vector appends quantities unless there is no vector: an empty one is another thing, as a
// core may refuse it.
func (x *encoder) vector(key string, v cluster.Vector) *encoder {
	if v == nil {
		return x
	}
	x.key(key)
	if len(v) == 0 {
		x.line = append(x.line, '[')
	}
	for i, q := range v {
		x.line = append(x.line, separator(i))
		x.line = strconv.AppendInt(x.line, q, 10)
	}
	x.line = append(x.line, ']')
	return x
}

func (x *encoder) nodes(nodes []cluster.NodeID) *encoder {
	if len(nodes) == 0 {
		return x
	}
	x.key("nodes")
	for i, n := range nodes {
		x.line = append(x.line, separator(i))
		x.line = strconv.AppendUint(x.line, uint64(n), 10)
	}
	x.line = append(x.line, ']')
	return x
}

// budgets appends rows of budgets.
func (x *encoder) budgets(list []cluster.BudgetID) {
	if len(list) == 0 {
		return
	}
	x.key("budgets")
	for i, b := range list {
		x.line = append(x.line, separator(i))
		x.line = strconv.AppendUint(x.line, uint64(b), 10)
	}
	x.line = append(x.line, ']')
}

// prefers appends preferences for nodes, a set with its weight each.
func (x *encoder) prefers(list []cluster.Preference) *encoder {
	if len(list) == 0 {
		return x
	}
	x.key("prefers")
	for i, p := range list {
		x.line = append(x.line, separator(i), '[')
		x.line = strconv.AppendUint(x.line, uint64(p.Set), 10)
		x.line = append(x.line, ',')
		x.line = strconv.AppendInt(x.line, int64(p.Weight), 10)
		x.line = append(x.line, ']')
	}
	x.line = append(x.line, ']')
	return x
}

// account appends how a task has spent its time, unless it is new.
func (x *encoder) account(a *cluster.Account) *encoder {
	if a == nil {
		return x
	}
	x.key("account")
	for i, t := range [...]cluster.Time{a.Submitted, a.FirstRun, a.Waiting, a.Overhead, a.Restarting, a.Running} {
		x.line = append(x.line, separator(i))
		x.line = strconv.AppendInt(x.line, int64(t), 10)
	}
	x.line = append(x.line, ']')
	return x
}

// input appends blocks, each without the places where no replica follows.
func (x *encoder) input(blocks []cluster.Block) {
	if len(blocks) == 0 {
		return
	}
	x.key("input")
	for i := range blocks {
		b := &blocks[i]
		x.line = append(x.line, separator(i), '[')
		x.line = strconv.AppendInt(x.line, b.Bytes, 10)
		last := len(b.Replicas)
		for last > 0 && b.Replicas[last-1] == cluster.NoNode {
			last--
		}
		for _, n := range b.Replicas[:last] {
			x.line = append(x.line, ',')
			x.line = strconv.AppendUint(x.line, uint64(n), 10)
		}
		x.line = append(x.line, ']')
	}
	x.line = append(x.line, ']')
}

func (x *encoder) labels(key string, labels []cluster.Label) *encoder {
	if len(labels) == 0 {
		return x
	}
	x.key(key)
	for i, l := range labels {
		x.line = append(x.line, separator(i), '[')
		x.quote(l.Key)
		x.line = append(x.line, ',')
		x.quote(l.Value)
		x.line = append(x.line, ']')
	}
	x.line = append(x.line, ']')
	return x
}

func (x *encoder) spec(s *cluster.NodeSpec) {
	x.text("name", s.Name).vector("capacity", s.Capacity).vector("overcommit", s.Overcommit).
		labels("labels", s.Labels).labels("groups", s.Groups).signed("tier", int64(s.Tier))
}

// separator stands before the element of an array.
func separator(i int) byte {
	if i == 0 {
		return '['
	}
	return ','
}
