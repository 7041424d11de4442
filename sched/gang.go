package sched

import (
	"fmt"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is what the core holds every policy to about gangs, and what it says of them. The rule is of
// bundles: an action alone would leave most gangs short, so that who places a gang gathers its tasks in a trial, and
// asks in the end.

// partial says that the actions place a task of a gang that has fewer than its number then, or evict some of those who leave all at once and not the
// others. Of who moves to another node within the bundle there are no more than there were.
func partial(s *cluster.View, bundle []Action) cluster.Refusal {
	if r := torn(s, bundle); r.Refused() {
		return r
	}
	seen := cluster.JobID(math.MaxUint32) // the gang that was counted last
	for _, a := range bundle {
		task := s.Task(a.Task)
		if a.Kind != Place || task.Job == seen || !cluster.IsGang(s, task.Job) || task.Phase == cluster.Leaving && evicts(bundle, a.Task) {
			continue
		}
		if seen = task.Job; cluster.GangLacks(s, seen) > 0 {
			return cluster.Refusal{Code: cluster.NotWhole, Need: int64(s.Job(seen).Gang), Have: int64(cluster.GangHas(s, seen))}
		}
	}
	return cluster.Refusal{}
}

// torn says that the actions evict some of a job's runs, which leave all at once, and not the others.
func torn(s *cluster.View, bundle []Action) cluster.Refusal {
	for _, a := range bundle {
		if job := s.Task(a.Task).Job; a.Kind == Evict {
			if stay, _ := cluster.DisruptedTogether(s, job); len(stay) > 0 {
				return cluster.Refusal{Code: cluster.NotWhole, Have: int64(len(stay))}
			}
		}
	}
	return cluster.Refusal{}
}

// evicts reports whether one of the actions tells the task to leave.
func evicts(bundle []Action, t cluster.TaskID) bool {
	return slices.ContainsFunc(bundle, func(a Action) bool { return a.Kind == Evict && a.Task == t })
}

// askGang has notice look, once it has read the change log, whether a gang can begin, or has to give its places up.
func askGang(c *Core, job cluster.JobID) {
	if c.state.InPhase(cluster.Reserved) > 0 && int(job) < c.state.JobRows() && cluster.IsGang(&c.state.View, job) {
		c.asked = append(c.asked, job)
	}
}

// askGangsOn asks for the gangs of which somebody is reserved on the node.
func askGangsOn(c *Core, n cluster.NodeID) {
	if c.state.InPhase(cluster.Reserved) == 0 || !c.state.NodeLive(n) {
		return
	}
	for _, t := range c.state.TasksOn(n) {
		if task := c.state.Task(t); task.Phase == cluster.Reserved {
			askGang(c, task.Job)
		}
	}
}

// settleGangs has the gangs that were asked for begin, or give their places up. Each is looked at once, though many of it have changed: that
// takes a look at all of its tasks.
func settleGangs(c *Core, out []Decision) []Decision {
	slices.Sort(c.asked)
	for _, job := range slices.Compact(c.asked) {
		cluster.GiveUpGang(c.state, job)
		c.ledger.follow(&c.state.View)
		if !cluster.GangBegins(c.state, job) {
			continue
		}
		for _, t := range cluster.GangTasks(&c.state.View, job) {
			if task := c.state.Task(t); task.Phase == cluster.Reserved {
				out = c.promote(task.Node, job, out)
			}
		}
	}
	c.asked = c.asked[:0]
	return out
}

// holdGangs takes back the placements of gangs of which others have to wait for their room first: these wait for them. It asks for the other gangs that
// the bundle places: of these, some may have been held before.
func holdGangs(c *Core, bundle []Action, before int, out []Decision) []Decision {
	var seen []cluster.JobID
	for _, a := range bundle {
		job := c.state.Task(a.Task).Job
		if a.Kind != Place || !cluster.IsGang(&c.state.View, job) || slices.Contains(seen, job) {
			continue
		}
		seen = append(seen, job)
		if cluster.GangBegins(c.state, job) {
			askGang(c, job)
			continue
		}
		held := slices.DeleteFunc(out[before:], func(d Decision) bool {
			holds := d.Kind == Place && c.state.Task(d.Task).Job == job
			if holds {
				cluster.Hold(c.state, d.Task)
			}
			return holds
		})
		out = out[:before+len(held)]
	}
	return out
}

// Gather has Try and TryTogether leave aside until Gathered whether a gang has its number: of a bundle
// that places one, one action after the other is tried. Commit looks at the bundle as a whole.
func (t *Trial) Gather() { t.gathered = true }

// Gathered ends that.
func (t *Trial) Gathered() { t.gathered = false }

// Gang says of a waiting task that it is placed with others of its gang, or not at all.
type Gang struct {
	OfTask
	Least int // of its tasks are to have a place
	Has   int // have one, or have finished
	Waits int // tasks wait, this one included
	Fit   int // of these would find a node now, one beside the other
	// Domains is of how many sets of nodes one must hold all of them; 0 where no such choice is left.
	Domains int
}

// CodeOf is "gang", but where no node takes the task even by itself.
func (g Gang) CodeOf(r *Reason) string {
	if r.Admit > 0 {
		return "gang"
	}
	return ""
}

// Sentence says how many would fit now.
func (g Gang) Sentence(r *Reason, _ []cluster.Kind, refusals string) string {
	return fmt.Sprintf("%s. Of %d nodes, %d take this task by itself%s", g, r.Nodes, r.Admit, refusals)
}

// String says how many would fit: "a gang of 8, of which 1 have a place or are done: 5 of its 7 waiting tasks would fit now".
func (g Gang) String() string {
	return fmt.Sprintf("a gang of %d%s: %d of its %d waiting tasks would fit now%s%s", g.Least, g.has(), g.Fit, g.Waits, g.within(), g.short())
}

// Standing says the same of a task in a sentence of its own.
func (g Gang) Standing() string {
	return fmt.Sprintf("It comes with others or not at all, as one of %s.", g)
}

// has says in words how many tasks have a place already.
func (g Gang) has() string {
	if g.Has == 0 {
		return ""
	}
	return fmt.Sprintf(", of which %d have a place or are done", g.Has)
}

// within says in words where all tasks have to be.
func (g Gang) within() string {
	switch g.Domains {
	case 0:
		return ""
	case 1:
		return " in the one domain that there is for them"
	}
	return fmt.Sprintf(" in the best of %d domains, of which one is to hold them all", g.Domains)
}

// short says in words how many tasks it has too few, if any.
func (g Gang) short() string {
	if missing := g.Least - g.Has - g.Waits; missing > 0 {
		return fmt.Sprintf(", and %d more have yet to come", missing)
	}
	return ""
}

// Returns says of a task that waits in place of one that its gang has lost where the others of that stand.
type Returns struct {
	OfTask
	Least, Stand int
	// Domain is where it has to join them; Domain.Nodes are none where it need not stand in the same.
	Domain cluster.Domain
}

// Text names the domain: "3 of its gang of 4 stand in rack-a, which has 2 nodes". By which constraint is said by those who refuse it for that.
func (g Returns) Text([]cluster.Kind) string {
	text := fmt.Sprintf("%d of its gang of %d stand", g.Stand, g.Least)
	if g.Stand == 1 {
		text = fmt.Sprintf("1 of its gang of %d stands", g.Least)
	}
	if nodes := len(g.Domain.Nodes); nodes > 0 {
		count := "1 node"
		if nodes > 1 {
			count = fmt.Sprintf("%d nodes", nodes)
		}
		text += fmt.Sprintf(" in %s, which has %s", g.Domain.Name, count)
	}
	return text
}

// noteGang adds to the reason of a task how it stands with its gang, where that lacks some or has lost some.
func noteGang(trial *Trial, r *Reason, t cluster.TaskID) {
	s := trial.View()
	if r.Unplaceable() {
		return
	}
	g, lacks := gangOf(trial, t)
	if lacks {
		r.Hinder(g)
	}
	if job := s.Task(t).Job; s.Task(t).Phase == cluster.Waiting && cluster.GangReturns(s, job) {
		domain, _, bound := cluster.GangDomain(s, t)
		if lacks && !bound { // that says it all
			return
		}
		at := len(r.Causes) // behind what nodes refuse it for
		for ; at > 0 && r.Causes[at-1].Refusing() == 0; at-- {
		}
		r.Causes = slices.Insert(r.Causes, at, Cause(Returns{Least: int(s.Job(job).Gang), Stand: cluster.GangStands(s, job), Domain: domain}))
	}
}

// gangOf is how a task that waits stands with its gang, if that lacks some.
func gangOf(trial *Trial, t cluster.TaskID) (g Gang, lacks bool) {
	s := trial.View()
	j := s.Task(t).Job
	if s.Task(t).Phase != cluster.Waiting || cluster.GangLacks(s, j) == 0 {
		return g, false
	}
	search := gangSearch{trial: trial, tasks: waitingOfGang(s, j, nil)}
	domains, _ := cluster.GangDomains(s, search.tasks)
	return Gang{Least: int(s.Job(j).Gang), Has: cluster.GangHas(s, j), Waits: len(search.tasks), Fit: len(search.most()), Domains: len(domains)}, true
}
