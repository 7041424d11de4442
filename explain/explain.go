// Package explain answers questions about a scheduler at a moment: why tasks wait, what a task could
// have and at which price, and what one more node would be worth. Answers are values with JSON tags;
// Text prints them for people.
//
// A Moment is a core as it is, of a world that goes on (New) or of a recording that was replayed up to
// then (Replay). It is asked as often as one likes, and does not change: who asks through the command
// line, a page or an editor gets the same answer. The prices are package flow's.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
)

// Question is what to answer.
type Question struct {
	// Task is the task that is asked about, by name, or those of one owner, by its name; empty asks about all that wait.
	Task string `json:"task,omitempty"`
	// Nodes is how many of those that would take the task are listed at most, from 1.
	Nodes int `json:"nodes,omitempty"`
}

// QuestionError is what is wrong with a question, and with which part of it: "task", or "at", the moment.
type QuestionError struct {
	Part string
	Err  error
}

// Error says both.
func (e QuestionError) Error() string { return e.Part + ": " + e.Err.Error() }

// Pricer is what a policy offers that makes its prices anew when it is asked. Both are asked of the view alone:
// the policy begins anew with it, so that it is not one that decides. A policy that explains as it stands is a
// sched.Explainer.
type Pricer interface {
	// Explain says what the task could have, with so many candidates at most.
	Explain(s *cluster.View, all *sched.Changed, t cluster.TaskID, most int) (sched.Explanation, error)
	// Worth says what one more node of each kind would save.
	Worth(s *cluster.View, all *sched.Changed) ([]flow.NodeWorth, error)
}

// Lane is a lane of the core, with a policy like its own to ask: one that decides would decide
// otherwise for having been asked.
type Lane struct {
	Policy string
	Fresh  sched.Policy // a Pricer, if it has prices
}

// Moment is a core at the time that is explained.
type Moment struct {
	at    cluster.Time
	core  *sched.Core
	lanes []Lane
	who   Who
}

// Who says what people call tasks and who has made them, by row. Names is nil where they are called
// what the core calls them, Owners and Gates where nobody says. A gate is what keeps a task from being placed for now, in
// a sentence; empty where nothing does.
type Who struct {
	Names, Owners, Gates []string
	Dump                 bool // they are the pods of a cluster's dump, which has no time
}

// New is the moment at which a core is, whose lanes are given in its order; the core is to be left
// alone as long as questions are asked.
func New(core *sched.Core, at cluster.Time, lanes []Lane, who Who) (*Moment, error) {
	_, err := core.Observe(at, nil, nil) // lets it know what time it is
	return &Moment{at, core, lanes, who}, err
}

// Answer answers the question.
func (m *Moment) Answer(q Question) (*Answer, error) {
	answer := &Answer{At: report.Seconds(m.at)}
	if q.Task == "" {
		answer.Waiting = m.waiting()
		return answer, m.worth(answer)
	}
	t, err := m.find(q.Task)
	if own := m.ownedBy(q.Task); err != nil && len(own) > 0 {
		answer.Waiting = slices.DeleteFunc(m.waiting(), func(g Group) bool { return g.Owner != q.Task })
		t, err = own[0], nil
	}
	if err != nil {
		return nil, err
	}
	answer.Task, err = m.task(t, max(q.Nodes, 1))
	return answer, err
}

// ownedBy are the tasks of an owner, those that wait first.
func (m *Moment) ownedBy(owner string) (own []cluster.TaskID) {
	if owner == "" || m.who.Owners == nil {
		return nil
	}
	for row := range m.core.View().TaskRows() {
		if t := cluster.TaskID(row); m.owner(t) == owner {
			if _, ours := m.lane(t); ours {
				own = append(own, t)
			}
		}
	}
	waits := func(t cluster.TaskID) int {
		if m.core.View().Task(t).Phase == cluster.Waiting {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(own, func(a, b cluster.TaskID) int { return cmp.Compare(waits(a), waits(b)) })
	return own
}

// Tasks counts those that the scheduler knows.
func (m *Moment) Tasks() (count int) {
	for row := range m.core.View().TaskRows() {
		if _, ours := m.lane(cluster.TaskID(row)); ours {
			count++
		}
	}
	return count
}

// lane is that of a task, and false if there is none in the row, or a foreign one.
func (m *Moment) lane(t cluster.TaskID) (int, bool) {
	if m.core.View().Task(t).Phase == cluster.Absent {
		return 0, false
	}
	return m.core.LaneOf(t)
}

// find returns the task of that name.
func (m *Moment) find(name string) (cluster.TaskID, error) {
	var names []string
	for row := range m.core.View().TaskRows() {
		t := cluster.TaskID(row)
		if _, ours := m.lane(t); !ours {
			continue
		}
		known := m.name(t)
		if known == name || m.core.View().TaskName(t) == name {
			return t, nil
		}
		names = append(names, known)
	}
	hint := ""
	if near, ok := nearest.Of(name, names); ok && strings.ToUpper(name) != strings.ToLower(name) { // numbers are near to many
		hint = report.Sprintf("; did you mean %s?", near)
	} else if len(names) > 0 {
		hint = report.Sprintf("; there are %s tasks, such as %s", report.Grouped(len(names)), names[0])
	}
	if m.who.Dump {
		return 0, QuestionError{"task", fmt.Errorf("there is no pod %s, or it is not simulated%s", report.Printable(name), strings.Replace(hint, " tasks, such", " pods, such", 1))}
	}
	return 0, QuestionError{"task", fmt.Errorf("there is no task %s at %s: it is not submitted yet, or has ended%s", report.Printable(name), report.ShortTime(m.at), hint)}
}

// name is what people call a task.
func (m *Moment) name(t cluster.TaskID) string {
	if m.who.Names != nil {
		return m.who.Names[t]
	}
	return m.core.View().TaskName(t)
}

// owner is who has made a task; empty where nobody says.
func (m *Moment) owner(t cluster.TaskID) string {
	if m.who.Owners != nil {
		return m.who.Owners[t]
	}
	return ""
}

func (m *Moment) node(n cluster.NodeID) string { return m.core.View().NodeSpec(n).Name }

// amounts prints a vector, without kinds of which there is nothing.
func (m *Moment) amounts(v cluster.Vector) []Amount {
	list := []Amount{}
	for k, q := range v {
		kind := m.core.View().Kinds()[k]
		if q != 0 && (q >= kind.PerUnit || !kind.Exclusive()) { // a port on one address takes a little of that on all of them
			list = append(list, Amount{kind.Name, kind.Rounded(q), kind.SaidUnit()})
		}
	}
	return list
}
