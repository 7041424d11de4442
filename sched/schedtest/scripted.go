package schedtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// scripted is a policy whose next plan is written down beforehand. It tries
// nothing, so that what it wants may be wrong; commit has to find out.
type scripted struct {
	bundles [][]line
	wake    cluster.Time
	ready   bool // the plan has not been asked for yet
	shown   sched.Changed
	names   *cast
	err     error // the plan names what is not there
}

// line is an action by names, which are looked up when it is planned.
type line struct {
	kind       sched.Kind
	task, node string
	grant      []string // KIND=N; of what is not named, the demand
}

// Plan hands out what was written down, once.
func (p *scripted) Plan(t *sched.Trial, c *sched.Changed, _ int64, out *sched.Plan) {
	p.shown = sched.Changed{All: c.All, Nodes: slices.Clone(c.Nodes), Tasks: slices.Clone(c.Tasks), Shapes: slices.Clone(c.Shapes), Members: slices.Clone(c.Members), Constrained: slices.Clone(c.Constrained)}
	for _, bundle := range p.bundles {
		for _, l := range bundle {
			a := sched.Action{Kind: l.kind, Node: cluster.NoNode}
			task, ok := p.names.tasks[l.task]
			if node := p.names.nodes[l.node]; node != nil {
				a.Node = node.row
			}
			if !ok || a.Kind == sched.Place && a.Node == cluster.NoNode {
				p.err = fmt.Errorf("%s %s %s: there is no such task, or no such node", l.kind, l.task, l.node)
				return
			}
			a.Task, a.Attempt = task.row, t.View().Task(task.row).Attempt
			if a.Grant, p.err = grantOf(t.View(), task.row, l.grant); p.err != nil {
				return
			}
			out.Add(a)
		}
		out.Close()
	}
	out.Wake = p.wake
	p.bundles, p.ready, p.wake = nil, false, cluster.Never
}

// grantOf reads what a line of a plan grants; nil where it says nothing.
func grantOf(s *cluster.View, t cluster.TaskID, words []string) (cluster.Vector, error) {
	if len(words) == 0 {
		return nil, nil
	}
	grant := slices.Clone(s.Shape(s.Task(t).Shape).Demand)
	for _, word := range words {
		name, number, _ := strings.Cut(word, "=")
		k := kindNamed(s.Kinds(), name)
		q, err := strconv.ParseInt(number, 10, 64)
		if err != nil || k < 0 {
			return nil, fmt.Errorf("%s, want KIND=N", word)
		}
		grant[k] = q
	}
	return grant, nil
}

// Why is the plain explanation.
func (p *scripted) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// plain is the simplest policy that works: each waiting task of its lane, in
// the order of submission, on the first node that admits it. It looks at every
// node again in every round.
type plain struct {
	mine    map[cluster.TaskID]bool
	company sched.Company
}

// Plan is one pass over all waiting tasks and nodes.
func (p *plain) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	if c.All {
		p.mine = map[cluster.TaskID]bool{}
	}
	for _, id := range c.Tasks {
		p.mine[id] = true
	}
	var queue []cluster.TaskID
	for id := range p.mine {
		if s.Task(id).Phase == cluster.Waiting {
			queue = append(queue, id)
		} else {
			delete(p.mine, id)
		}
	}
	slices.SortFunc(queue, func(a, b cluster.TaskID) int { return int(s.Task(a).Seq) - int(s.Task(b).Seq) })
	for _, id := range queue {
		for n := range s.NodeRows() {
			out.Ticks++
			a := sched.Action{Kind: sched.Place, Task: id, Attempt: s.Task(id).Attempt, Node: cluster.NodeID(n)}
			if !t.Try(a).Refused() {
				out.Add(a)
				out.Close()
				break
			}
		}
	}
	p.company.Plan(t, c, budget, out)
}

// Why is the plain explanation.
func (*plain) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// parsePlan reads bundles, one a line: "evict a/0; place b/0 on n1".
func parsePlan(text string) ([][]line, error) {
	var bundles [][]line
	for l := range storyLines(text) {
		var bundle []line
		for part := range strings.SplitSeq(l, ";") {
			words := strings.Fields(part)
			var grant []string
			if at := slices.IndexFunc(words, func(w string) bool { return w == "with" || w == "to" }); at >= 0 {
				words, grant = words[:at], words[at+1:]
			}
			switch {
			case len(words) == 2 && words[0] == "evict":
				bundle = append(bundle, line{kind: sched.Evict, task: words[1]})
			case len(words) == 4 && words[0] == "place" && words[2] == "on":
				bundle = append(bundle, line{kind: sched.Place, task: words[1], node: words[3], grant: grant})
			case len(words) == 2 && words[0] == "resize":
				bundle = append(bundle, line{kind: sched.Resize, task: words[1], grant: grant})
			default:
				return nil, fmt.Errorf("%q: want \"place TASK on NODE [with KIND=N…]\", \"resize TASK [to KIND=N…]\" or \"evict TASK\"", strings.TrimSpace(part))
			}
		}
		bundles = append(bundles, bundle)
	}
	return bundles, nil
}
