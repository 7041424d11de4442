package schedtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// cast is who appears in a story: the names of nodes, jobs and tasks, and the
// rows under which the core knows them.
type cast struct {
	nodeRows, taskRows cluster.Rows
	shapeRows          cluster.Rows
	nodes              map[string]*storyNode
	jobs               map[string]*storyJob
	tasks              map[string]storyTask
	taskNames          map[cluster.Seq]string
	rowNames           map[cluster.TaskID]string // latest tenant
	runNames           map[storyRun]string
	nodeNames          map[cluster.NodeID]string // latest tenant
	sets               []storySet                // set row 1 is sets[0]
	shapes             map[string]cluster.ShapeID
	constraints        []string // by row; empty once it was forgotten
	seq                cluster.Seq
}

type storyNode struct {
	row  cluster.NodeID
	spec cluster.NodeSpec
}

type storyJob struct {
	row   cluster.JobID
	tasks int
}

type storyTask struct {
	row cluster.TaskID
	seq cluster.Seq
}

type storyRun struct {
	task    cluster.TaskID
	attempt uint32
}

type storySet struct {
	text         string // empty once it was forgotten
	requirements []cluster.Requirement
}

func newCast() cast {
	return cast{
		nodes: map[string]*storyNode{}, jobs: map[string]*storyJob{}, tasks: map[string]storyTask{},
		taskNames: map[cluster.Seq]string{}, rowNames: map[cluster.TaskID]string{}, runNames: map[storyRun]string{},
		nodeNames: map[cluster.NodeID]string{}, shapes: map[string]cluster.ShapeID{},
	}
}

func (set *storySet) admits(labels []cluster.Label) bool {
	for _, r := range set.requirements {
		if !r.Matches(labels) {
			return false
		}
	}
	return true
}

func (c *cast) nodeName(n cluster.NodeID) string {
	if name, ok := c.nodeNames[n]; ok {
		return name
	}
	return fmt.Sprintf("node row %d", n)
}

func (c *cast) taskInRow(t cluster.TaskID) string {
	if name, ok := c.rowNames[t]; ok {
		return name
	}
	return fmt.Sprintf("task row %d", t)
}

// decision prints a decision. A run is named by who ran, not by who has its
// row now.
func (c *cast) decision(d sched.Decision) string {
	key := storyRun{d.Task, d.Attempt}
	if _, known := c.runNames[key]; !known || d.Attempt == 0 {
		c.runNames[key] = c.taskInRow(d.Task)
	}
	at := " on "
	switch {
	case d.Kind == sched.Evict:
		at = " from "
	case d.Node == cluster.NoNode:
		return fmt.Sprintf("%s %s attempt %d", d.Kind, c.runNames[key], d.Attempt)
	}
	purpose := ""
	if t, serves := d.Purpose.Serves(); serves && t != d.Task {
		purpose = " for " + c.taskInRow(t)
	}
	if d.Gain != (sched.Gain{}) {
		purpose += ", gains" + d.Gain.String()
	}
	if d.Fewest != (sched.Fewest{}) {
		purpose += ": " + d.Fewest.String()
	}
	return fmt.Sprintf("%s %s%s%s attempt %d%s", d.Kind, c.runNames[key], at, c.nodeName(d.Node), d.Attempt, purpose)
}

// ledger prints what the ledger holds, a line each.
func (c *cast) ledger(open []sched.Decision) string {
	if len(open) == 0 {
		return "nothing\n"
	}
	var b strings.Builder
	for _, d := range open {
		text := strings.Replace(c.decision(d), " attempt 0", ", promised", 1)
		fmt.Fprintf(&b, "bundle %d: %s\n", d.Purpose.Bundle, text)
	}
	return b.String()
}

// grantOf prints what a decision grants: " with cpu=3 memory=2"; nothing where that is
// the demand.
func (s *story) grantOf(d sched.Decision) string {
	if d.Grant == nil {
		return ""
	}
	words := []string{" with"}
	for k, q := range d.Grant {
		words = append(words, fmt.Sprintf("%s=%d", s.kinds[k].Name, q))
	}
	return strings.Join(words, " ")
}

// picture is State.Picture with the story's names of tasks.
func (s *story) picture() string {
	numbered := regexp.MustCompile(`[^ ]+#(\d+)`)
	return numbered.ReplaceAllStringFunc(s.core.View().Picture(), func(text string) string {
		_, number, _ := strings.Cut(text, "#")
		seq, err := strconv.ParseUint(number, 10, 64)
		if name, ok := s.taskNames[cluster.Seq(seq)]; ok && err == nil {
			return name
		}
		return text
	})
}

// live finds a task that has not ended.
func (s *story) live(name string) (storyTask, error) {
	task, ok := s.tasks[name]
	if !ok {
		return task, fmt.Errorf("there is no task %q", name)
	}
	if row := s.core.View().Task(task.row); row.Phase == cluster.Absent || row.Seq != task.seq {
		return task, fmt.Errorf("%s has ended", name)
	}
	return task, nil
}

// event reads a line of the story and appends what it tells the core.
func (s *story) event(line string, events []cluster.Event) ([]cluster.Event, error) {
	a, err := parseLine(line)
	if err != nil {
		return nil, err
	}
	switch a.of {
	case "node", "change":
		events, err = s.nodeEvent(a, events)
	case "lost":
		events, err = s.lostEvent(a, events)
	case "usage":
		events, err = s.usageEvent(a, events)
	case "job":
		events, err = s.jobEvent(a, events)
	case "forget-shape", "forget-set":
		events, err = s.forgetEvent(a, events)
	case "constraint", "forget-constraint":
		events, err = s.constraintEvent(a, events)
	case "change-job":
		events, err = changeJobEvent(s, a, events)
	case "reshape":
		events, err = s.reshapeEvents(a, events)
	case "protected":
		events, err = s.protectedEvent(a, events)
	case "budget", "guarded":
		events, err = guardEvents(s, a, events)
	case "class", "forget-class":
		var e cluster.Event
		e, err = s.classes.event(a)
		events = append(events, e)
	case "gate", "ungate", "found", "started", "refused", "left", "stays", "leaving", "ended", "finished":
		events, err = s.taskEvents(a, events)
	default:
		err = fmt.Errorf("unknown event %q", a.of)
	}
	if err == nil {
		err = a.done()
	}
	return events, err
}

func (s *story) nodeEvent(a *args, events []cluster.Event) ([]cluster.Event, error) {
	name, err := a.name()
	if err != nil {
		return nil, err
	}
	node, known := s.nodes[name]
	if known != (a.of == "change") {
		return nil, fmt.Errorf("is node %s there: %v", name, known)
	}
	spec := cluster.NodeSpec{Name: name, Capacity: make(cluster.Vector, len(s.kinds))}
	if known {
		spec = node.spec
		spec.Capacity = append(cluster.Vector(nil), spec.Capacity...)
	}
	if err := a.quantities(s.kinds, spec.Capacity); err != nil {
		return nil, err
	}
	if factors, err := a.factors("overcommit", s.kinds); err != nil {
		return nil, err
	} else if factors != nil {
		spec.Overcommit = factors
	}
	if labels, err := a.labels("label"); err != nil {
		return nil, err
	} else if labels != nil {
		spec.Labels = labels
	}
	if groups, err := a.labels("group"); err != nil {
		return nil, err
	} else if groups != nil {
		spec.Groups = groups
	}
	if !known {
		node = &storyNode{row: cluster.NodeID(s.nodeRows.Take())}
		s.nodes[name], s.nodeNames[node.row] = node, name
		events = append(events, cluster.NodeAdded{Node: node.row, Spec: spec})
	} else {
		events = append(events, cluster.NodeChanged{Node: node.row, Spec: spec})
	}
	for i := range s.sets {
		if s.sets[i].text == "" {
			continue
		}
		if was, is := known && s.sets[i].admits(node.spec.Labels), s.sets[i].admits(spec.Labels); was != is {
			events = append(events, cluster.EligibilityChanged{Set: cluster.SetID(i + 1), Node: node.row, Eligible: is})
		}
	}
	node.spec = spec
	return events, nil
}

func (s *story) lostEvent(a *args, events []cluster.Event) ([]cluster.Event, error) {
	name, err := a.name()
	if err != nil {
		return nil, err
	}
	node, ok := s.nodes[name]
	if !ok {
		return nil, fmt.Errorf("there is no node %q", name)
	}
	delete(s.nodes, name)
	s.nodeRows.Give(uint32(node.row))
	return append(events, cluster.NodeLost{Node: node.row}), nil
}

func (s *story) usageEvent(a *args, events []cluster.Event) ([]cluster.Event, error) {
	name, err := a.name()
	if err != nil {
		return nil, err
	}
	node, ok := s.nodes[name]
	if !ok {
		return nil, fmt.Errorf("there is no node %q", name)
	}
	e := cluster.UsageReported{Node: node.row, Usage: make(cluster.Vector, len(s.kinds))}
	return append(events, e), a.quantities(s.kinds, e.Usage)
}

func (s *story) jobEvent(a *args, events []cluster.Event) ([]cluster.Event, error) {
	name, err := a.name()
	if err != nil {
		return nil, err
	}
	count, err := a.integer("tasks", 1)
	if err != nil {
		return nil, err
	}
	priority, err := a.integer("priority", 0)
	if err != nil {
		return nil, err
	}
	class, err := s.classes.find(a.value("class"))
	if err != nil {
		return nil, err
	}
	input, err := s.input(a)
	if err != nil {
		return nil, err
	}
	lasts, err := a.moment("lasts", 0)
	if err != nil {
		return nil, err
	}
	gang, err := a.integer("gang", 0)
	if err != nil {
		return nil, err
	}
	gated := a.flag("gated")
	yields, err := a.integer("yields", 0)
	if err != nil {
		return nil, err
	}
	made := cluster.JobSubmitted{Name: name, User: a.value("user"), Foreign: a.flag("foreign"), Yields: uint8(yields), Together: a.flag("together"), FirstEnds: a.flag("first-ends"), LongRunning: a.flag("long-running"), Service: a.flag("service"), Disruption: disruption(a), Gang: int32(gang)}
	shape, events, err := s.shape(a, events)
	if err != nil {
		return nil, err
	}
	job, known := s.jobs[name]
	if !known {
		job = &storyJob{row: cluster.JobID(len(s.jobs))}
		s.jobs[name] = job
		made.Job = job.row
		events = append(events, made)
	} else if made != (cluster.JobSubmitted{Name: name}) {
		return nil, fmt.Errorf("job %s is there: its user, whose it is, whether it stands together, how many are a gang and how it ends stay", name)
	}
	for range count {
		s.seq++
		task := storyTask{cluster.TaskID(s.taskRows.Take()), s.seq}
		full := fmt.Sprintf("%s/%d", name, job.tasks)
		s.tasks[full], s.taskNames[s.seq], s.rowNames[task.row] = task, full, full
		events = append(events, cluster.TaskSubmitted{
			Task: task.row, Seq: s.seq, Job: job.row, Shape: shape, Class: class, Priority: int32(priority), Gated: gated, Input: input, Lasts: lasts,
		})
		job.tasks++
	}
	return events, nil
}

// input takes the blocks that tasks read, each as BYTES@NODE+NODE….
func (s *story) input(a *args) ([]cluster.Block, error) {
	var blocks []cluster.Block
	for _, text := range a.values("input") {
		bytes, names, _ := strings.Cut(text, "@")
		n, err := strconv.ParseInt(bytes, 10, 64)
		b := cluster.Block{Bytes: n, Replicas: [3]cluster.NodeID{cluster.NoNode, cluster.NoNode, cluster.NoNode}}
		at := strings.FieldsFunc(names, func(c rune) bool { return c == '+' })
		if err != nil || len(at) > len(b.Replicas) {
			return nil, fmt.Errorf("%s: input=%s, want BYTES@NODE+NODE with at most %d nodes", a.of, text, len(b.Replicas))
		}
		for i, name := range at {
			if node, ok := s.nodes[name]; ok {
				b.Replicas[i] = node.row
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// shape takes what makes a shape, and finds its row or defines it.
func (s *story) shape(a *args, events []cluster.Event) (cluster.ShapeID, []cluster.Event, error) {
	perNode, err := a.perNode()
	if err != nil {
		return 0, nil, err
	}
	spec := cluster.Shape{Demand: make(cluster.Vector, len(s.kinds)), PerNode: perNode, Tags: a.tags("tags"), NeverPreempts: a.flag("never-preempts"), Stays: a.flag("stays")}
	if err := a.ranges(s.kinds, &spec); err != nil {
		return 0, nil, err
	}
	return s.shapeOf(spec, a, events)
}

// shapeOf is shape for a specification whose sets are yet to be taken.
func (s *story) shapeOf(spec cluster.Shape, a *args, events []cluster.Event) (cluster.ShapeID, []cluster.Event, error) {
	if texts := a.values("require"); texts != nil {
		var err error
		if spec.Eligible, events, err = s.setOf(texts, events); err != nil {
			return 0, nil, err
		}
	}
	wishes, err := a.wishes()
	if err != nil {
		return 0, nil, err
	}
	for _, w := range wishes {
		var set cluster.SetID
		if set, events, err = s.setOf([]string{w.requirement}, events); err != nil {
			return 0, nil, err
		}
		spec.Prefers = append(spec.Prefers, cluster.Preference{Set: set, Weight: w.weight})
	}
	key := fmt.Sprintf("%+v", spec)
	row, known := s.shapes[key]
	if !known {
		row = cluster.ShapeID(s.shapeRows.Take())
		s.shapes[key] = row
		events = append(events, cluster.ShapeDefined{Shape: row, Spec: spec})
	}
	return row, events, nil
}

// setOf finds the set of the nodes that meet the requirements, or defines it.
func (s *story) setOf(texts []string, events []cluster.Event) (cluster.SetID, []cluster.Event, error) {
	set := storySet{text: strings.Join(texts, ",")}
	for i := range s.sets {
		if s.sets[i].text == set.text {
			return cluster.SetID(i + 1), events, nil
		}
	}
	for _, text := range texts {
		r, err := cluster.ParseRequirement(text)
		if err != nil {
			return 0, nil, err
		}
		set.requirements = append(set.requirements, r)
	}
	s.sets = append(s.sets, set)
	e := cluster.SetDefined{Set: cluster.SetID(len(s.sets))}
	for row := range cluster.NodeID(len(s.nodeNames)) { // in the order of rows
		if node, ok := s.nodes[s.nodeNames[row]]; ok && node.row == row && set.admits(node.spec.Labels) {
			e.Nodes = append(e.Nodes, row)
		}
	}
	return e.Set, append(events, e), nil
}

// taskEvents reads an event that may name several tasks.
func (s *story) taskEvents(a *args, events []cluster.Event) ([]cluster.Event, error) {
	attempt, err := a.integer("attempt", -1)
	if err != nil {
		return nil, err
	}
	node := cluster.NoNode
	if on := a.value("on"); on != "" {
		if s.nodes[on] == nil {
			return nil, fmt.Errorf("there is no node %q", on)
		}
		node = s.nodes[on].row
	}
	name, err := a.name()
	for ; err == nil && name != ""; name, _ = a.word() {
		task, known := s.tasks[name]
		if !known {
			return nil, fmt.Errorf("there is no task %q", name)
		}
		var e cluster.Event
		if e, err = s.taskEvent(a.of, task, attempt, node); err == nil {
			events = append(events, e)
		}
	}
	return events, err
}

func (s *story) taskEvent(what string, task storyTask, attempt int64, node cluster.NodeID) (cluster.Event, error) {
	state := s.core.View()
	var row cluster.Task
	if int(task.row) < state.TaskRows() {
		row = *state.Task(task.row)
	}
	switch what {
	case "gate":
		return cluster.TaskGated{Task: task.row, Seq: task.seq}, nil
	case "ungate":
		return cluster.TaskUngated{Task: task.row, Seq: task.seq}, nil
	case "ended", "finished":
		if row.Seq == task.seq && row.Phase != cluster.Absent {
			s.taskRows.Give(uint32(task.row))
		}
		return cluster.TaskEnded{Task: task.row, Seq: task.seq, Finished: what == "finished"}, nil
	case "found":
		if node == cluster.NoNode {
			return nil, fmt.Errorf("say where: on=NODE")
		}
		return cluster.TaskFound{Task: task.row, Seq: task.seq, Node: node}, nil
	}
	if attempt < 0 {
		if row.Seq != task.seq || row.Phase == cluster.Absent {
			return nil, fmt.Errorf("the task has ended: say which attempt=N")
		}
		attempt = int64(row.Attempt)
	}
	run := uint32(attempt)
	switch what {
	case "refused":
		return cluster.BindRefused{Task: task.row, Attempt: run}, nil
	case "left":
		return cluster.TaskLeft{Task: task.row, Attempt: run}, nil
	case "stays":
		return cluster.EvictRefused{Task: task.row, Attempt: run}, nil
	case "leaving":
		return cluster.TaskLeaving{Task: task.row, Attempt: run}, nil
	}
	if node == cluster.NoNode {
		node = row.Node
	}
	if node == cluster.NoNode {
		return nil, fmt.Errorf("it is on no node: say on=NODE")
	}
	return cluster.TaskStarted{Task: task.row, Attempt: run, Node: node}, nil
}
