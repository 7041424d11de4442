package sched

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is what a policy says of a task that somebody asks about: how it stands, and which node costs
// what, in named terms. Reason is why a task has no place; this is what it could have.

// Explainer is a policy that explains as it stands: it decides no otherwise for having been asked.
type Explainer interface {
	// ExplainTask says what a task of the policy's lane could have, with so many candidates at most.
	ExplainTask(s *cluster.View, t cluster.TaskID, most int) (Explanation, error)
}

// Explanation is what a task could have. One that has a node is looked at as if it had just left it.
type Explanation struct {
	Task cluster.TaskID
	// Phase is where the task stands, and Node the node that it takes room on; NoNode
	// if it waits.
	Phase cluster.Phase
	Node  cluster.NodeID
	// Standing is how the task stands with the policy, and what would change that, in whole sentences.
	Standing []string
	// Waits says that there is a price of having no place until the next round: Wait, until
	// WaitChanges; Never if it does not change.
	Waits       bool
	Wait        int64
	WaitChanges cluster.Time
	// WaitTerms are the parts of Wait, and HoldTerms those of what it costs to evict the
	// task from where it runs; nil where the policy does not name them.
	WaitTerms, HoldTerms []Term
	// Candidates are nodes that the task could go to, the cheapest first, and Nodes is
	// how many there are in all. The node where it is comes last if it is not among
	// the cheapest, and is missing if it would not take the task back.
	Candidates []Candidate
	Nodes      int
	// Others says why the other nodes are no candidates.
	Others Reason
}

// Candidate is a node that would take a task. The terms add up to the cost.
type Candidate struct {
	Node  cluster.NodeID
	Cost  int64
	Terms []Term
	// Full says that the node has no room: something that runs there would have to go.
	Full bool
}

// Term is a named part of a price.
type Term struct {
	Name string
	Cost int64
}

// NewExplanation begins the explanation of a task.
func NewExplanation(s *cluster.View, t cluster.TaskID) Explanation {
	task := s.Task(t)
	return Explanation{Task: t, Phase: task.Phase, Node: task.Node, WaitChanges: cluster.Never}
}

// ExplainTask says what a task could have, in the words of its lane's policy; false if that does not explain as it
// stands.
func ExplainTask(c *Core, t cluster.TaskID, most int) (x Explanation, explains bool, err error) {
	lane := c.ownerOf(c.state.Task(t))
	if lane == noLane {
		return x, false, nil
	}
	p, explains := c.lanes[lane].Policy.(Explainer)
	if explains {
		x, err = p.ExplainTask(&c.state.View, t, most)
		c.state.Begin(int(lane))
		if g, lacks := gangOf(&Trial{state: c.state}, t); lacks {
			x.Standing = append(x.Standing, g.Standing())
		}
		c.state.End()
	}
	return x, explains, err
}

// Beyond is by how much each part of the price exceeds that of another candidate:
// parts that are equal are left out.
func (c *Candidate) Beyond(o *Candidate) []Term {
	var list []Term
	add := func(terms []Term, sign int64) {
		for _, t := range terms {
			at := slices.IndexFunc(list, func(l Term) bool { return l.Name == t.Name })
			if at < 0 {
				at = len(list)
				list = append(list, Term{Name: t.Name})
			}
			list[at].Cost += sign * t.Cost
		}
	}
	add(c.Terms, 1)
	add(o.Terms, -1)
	return slices.DeleteFunc(list, func(t Term) bool { return t.Cost == 0 })
}

// Shorten counts the candidates, which are in order, and leaves so many of the cheapest, and the node
// where the task is.
func (x *Explanation) Shorten(most int) {
	x.Nodes = len(x.Candidates)
	if len(x.Candidates) <= most {
		return
	}
	at := slices.IndexFunc(x.Candidates, func(c Candidate) bool { return c.Node == x.Node })
	if at < most {
		x.Candidates = x.Candidates[:most]
		return
	}
	x.Candidates = append(x.Candidates[:most], x.Candidates[at])
}

// Without is a state of one's own in which the task waits, as if its run had just left. The error is about
// a task that cannot leave.
func Without(s *cluster.View, t cluster.TaskID) (*cluster.State, error) {
	own := Copied(s)
	for own.Task(t).Placed() {
		if own.Task(t).Phase == cluster.Reserved {
			own.Begin(cluster.NoLane)
			r := own.Evict(t)
			own.Keep()
			if r.Refused() {
				return nil, fmt.Errorf("task %s cannot give up the node that it is reserved on: %v", s.TaskName(t), r.Code)
			}
		} else if err := own.Apply(own.Now(), cluster.TaskLeft{Task: t, Attempt: own.Task(t).Attempt}); err != nil {
			return nil, fmt.Errorf("task %s cannot leave its node: %w", s.TaskName(t), err)
		}
	}
	return own, nil
}

// Copied is a state of one's own.
func Copied(s *cluster.View) *cluster.State {
	own := cluster.NewState(s.Kinds(), s.Classes())
	own.CopyAll(s)
	return own
}
