package fairlead

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/worth"
)

// This file says how a task stands and what it could have. Whoever asks changes nothing of what is decided: what would be
// counted or noted on the way is kept apart. Costs are in thousandths of what so much room is worth in the mean.

// mostParts is how many types of tasks are named in a price; what is lost of others is one part.
const mostParts = 3

// Why says why the task is not placed: what nodes refuse it for, and the claims that keep nodes free, for others or for it.
func (p *policy) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	if !shownAnything(p) {
		return sched.Explain(t.View(), task)
	}
	return explanation{p, t.View()}.why(task)
}

// shownAnything reports whether there was a round: before it the policy knows neither classes nor what room is worth.
func shownAnything(p *policy) bool { return len(p.who.order) > 0 }

// explanation is a policy at a moment, of which somebody asks.
type explanation struct {
	*policy
	s *cluster.View
}

func (p explanation) why(t cluster.TaskID) sched.Reason {
	s := p.s
	r := sched.Explain(s, t)
	if s.Task(t).Phase != cluster.Waiting || r.Unplaceable() {
		return r
	}
	own, kept := p.who.waiting(s, s.Task(t)), keptFree{}
	for i := range p.claims.list {
		c := &p.claims.list[i]
		switch {
		case c.task == t && c.seq == s.Task(t).Seq:
			r.Causes = append(r.Causes, keepsFree{node: s.NodeSpec(c.node).Name})
		case p.claims.keepsOff(c.node, t, own) && !s.Admits(t, c.node).Refused():
			kept.Nodes++
		}
	}
	if kept.Nodes > 0 {
		r.Admit -= kept.Nodes
		r.Causes = append(r.Causes, kept)
	}
	if r.Admit == 0 && cluster.GangReturns(s, s.Task(t).Job) {
		r.Causes = append(r.Causes, p.conflictOf(t))
	}
	return r
}

// keptFree counts the nodes that have room, and are kept free for tasks that have waited longer. It names nobody and no time:
// who is told may be no business of these, and is told again when the text changes.
type keptFree struct{ sched.OnNodes }

// Code is "claimed".
func (keptFree) Code([]cluster.Kind) string { return "claimed" }

// Text says for whom they are kept.
func (c keptFree) Text([]cluster.Kind) string {
	return fmt.Sprintf("%d are kept for tasks that have waited longer", c.Nodes)
}

// keepsFree says which node is kept free for the task itself.
type keepsFree struct {
	sched.OfTask
	node string
}

// Text names the node.
func (c keepsFree) Text([]cluster.Kind) string {
	return fmt.Sprintf("node %s is kept free for it", c.node)
}

// claimed says for whom nodes are kept free that have room for the task, and how much longer at most; empty where
// there are none.
func (p explanation) claimed(t cluster.TaskID) string {
	var list []string
	own := p.who.waiting(p.s, p.s.Task(t))
	for i := range p.claims.list {
		if c := &p.claims.list[i]; p.claims.keepsOff(c.node, t, own) && !p.s.Admits(t, c.node).Refused() {
			list = append(list, fmt.Sprintf("%s for %s (%s more at most)", p.s.NodeSpec(c.node).Name, p.s.TaskName(c.task), shown(c.until-p.s.Now())))
		}
	}
	const most = 3
	if len(list) > most {
		list = append(list[:most], fmt.Sprintf("%d more", len(list)-most))
	}
	if len(list) == 0 {
		return ""
	}
	return "Nodes that have room are kept free for who has waited longer: " + strings.Join(list, ", ") + "."
}

// ExplainTask says where the task could go and what that costs, how it stands among others, and what keeps it from
// evicting somebody.
func (p *policy) ExplainTask(s *cluster.View, t cluster.TaskID, most int) (sched.Explanation, error) {
	x := sched.NewExplanation(s, t)
	if x.Phase == cluster.Gated || !shownAnything(p) {
		x.Others = sched.Explain(s, t)
		return x, nil
	}
	now := explanation{p, s}
	x.Standing = now.standing(t)
	own, err := sched.Without(s, t)
	if err != nil {
		return x, err
	}
	view := &own.View
	then := explanation{p, view}
	x.Others = then.why(t)
	r := p.who.waiting(view, view.Task(t))
	p.surcharges.locate(view, t)
	for n := range cluster.NodeID(view.NodeRows()) {
		if view.NodeLive(n) && !view.Admits(t, n).Refused() && !p.claims.keepsOff(n, t, r) {
			x.Candidates = append(x.Candidates, then.candidate(t, n))
		}
	}
	slices.SortFunc(x.Candidates, func(a, b sched.Candidate) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(p.table.Order.Rank[a.Node], p.table.Order.Rank[b.Node]))
	})
	if x.Phase == cluster.Running {
		x.Standing = append(x.Standing, now.unmovedFrom(t, x.Candidates)...)
	}
	if kept := then.claimed(t); kept != "" {
		x.Standing = append(x.Standing, kept)
	}
	if len(x.Candidates) == 0 && x.Phase == cluster.Waiting && !x.Others.Unplaceable() {
		x.Standing = append(x.Standing, now.unmoved(t))
	}
	x.Shorten(most)
	return x, nil
}

// candidate is a node with its price, for the task whose input was located last.
func (p explanation) candidate(t cluster.TaskID, n cluster.NodeID) sched.Candidate {
	task := p.s.Task(t)
	id, tier := task.Shape, p.surcharges.tierOf(&p.s.Classes()[task.Class])
	whole, _ := p.worth.Price(p.s, id, n)
	price := tempered(p.s, id, whole)
	c := sched.Candidate{Node: n, Cost: thousandths(price)}
	rest := c.Cost
	for i, part := range p.worth.Parts(p.s, id, n) {
		if cost := min(thousandths(part.Price*price/max(whole, 1)), rest); i < mostParts && cost > 0 {
			c.Terms = append(c.Terms, sched.Term{Name: "room for " + amounts(p.s.Kinds(), part.Demand), Cost: cost})
			rest -= cost
		}
	}
	add := func(name string, cost int64) {
		if cost != 0 {
			c.Terms = append(c.Terms, sched.Term{Name: name, Cost: cost})
		}
	}
	add("room for others", rest)
	for _, more := range []sched.Term{
		{Name: "preferences for nodes", Cost: ofPreference(p.s, id, n)},
		{Name: "a better tier than was promised", Cost: p.surcharges.ofTier(p.s, tier, n)},
		{Name: "a node more with tasks", Cost: p.surcharges.ofEmpty(p.s, p.worth, id, n)},
		{Name: "what it would not get of its range", Cost: p.grants.missing(p.s, id, n)},
		{Name: "use over its limit", Cost: ofUse(p.s, n)},
		{Name: "input to fetch", Cost: fetching(p.surcharges.input.From(n))},
		{Name: "soft constraints", Cost: ofSoft(p.s, t, n)},
		{Name: "others of its service there", Cost: p.surcharges.siblings.ofNode(n)},
		{Name: "the node in use for longer", Cost: p.surcharges.outliving.price(n)},
		{Name: "others of its service in the zone", Cost: p.surcharges.siblings.ofZone(n)},
	} {
		add(more.Name, thousandths(more.Cost))
		c.Cost += thousandths(more.Cost)
	}
	return c
}

func thousandths(price worth.Price) int64 { return (price*1000 + worth.One/2) / worth.One }

// amounts says what a demand asks for: "cpu 2, memory 4".
func amounts(kinds []cluster.Kind, demand cluster.Vector) string {
	var list []string
	for k, q := range demand {
		if q > 0 {
			list = append(list, kinds[k].Name+" "+kinds[k].Amount(q))
		}
	}
	return strings.Join(list, ", ")
}

// standing says by what the task is ordered, and when that changes.
func (p explanation) standing(t cluster.TaskID) []string {
	s, task := p.s, p.s.Task(t)
	class := &s.Classes()[task.Class]
	var list []string
	if class.Promises() {
		list = append(list, promise(s.Now(), task, class))
	} else {
		list = append(list, p.priority(task, class))
	}
	if task.Phase == cluster.Waiting {
		list = append(list, p.ahead(t))
	}
	return list
}

// priority says by what a task is ordered that was promised nothing.
func (p explanation) priority(task *cluster.Task, class *cluster.Class) string {
	s := p.s
	holds, of := int64(0), ""
	if number, known := p.users.known.Known(s.Job(task.Job).User); known {
		holds = p.users.part(s, number)
	}
	if user := s.Job(task.Job).User; user != "" {
		of = " " + user
	}
	text := fmt.Sprintf("It was promised nothing (class %s), and has the priority %d", class.Name, task.Priority)
	if task.Phase != cluster.Waiting {
		return text + ": it leaves for who was promised something, and for higher priorities."
	}
	return text + fmt.Sprintf(". Of that priority the user who holds least comes first, and its user%s holds %s of the cluster; then who is small, or has waited long.", of, percent(cluster.Share(holds*int64(cluster.Whole)>>cluster.FractionBits)))
}

// promise says what the task was promised and has had.
func promise(now cluster.Time, task *cluster.Task, class *cluster.Class) string {
	account := task.Account.At(now, task.Phase)
	slack, waits := class.Slack(account), task.Phase == cluster.Waiting
	text := fmt.Sprintf("It was promised to run %s of its time (class %s), and has run %s", percent(class.Availability), class.Name, percent(account.Availability()))
	switch {
	case waits && slack < 0:
		return text + ": it is critical, and comes before all who are not; of its class who is nearest to what was promised comes first."
	case waits:
		return text + fmt.Sprintf(": it has %s of slack, and comes before all who have more. At %s, when that is used up, it becomes critical, and may evict all who are not.", shown(slack), shown(now+slack))
	case class.Budget == 0:
		return text + ". Its class is never evicted."
	case !class.MayLeave(account):
		return text + fmt.Sprintf(". It is not evicted for now: more than %s of its time went into beginning anew.", percent(class.Budget))
	case slack < 0:
		return text + ": it has no slack, and leaves for more important classes alone."
	}
	return text + fmt.Sprintf(": it has %s of slack. It leaves for who is critical, and for its equals if that is %s more than they have.", shown(slack), shown(gain(class)))
}

func percent(share cluster.Share) string {
	return cluster.Kind{PerUnit: int64(cluster.Whole) / 100}.Format(int64(share)/1000*1000) + " %"
}

// shown is a time in whole seconds.
func shown(t cluster.Time) cluster.Time { return t / cluster.Second * cluster.Second }

// ahead counts who comes before the task, as the groups stand in which tasks wait.
func (p explanation) ahead(t cluster.TaskID) string {
	s := p.s
	own := p.waiting.Of(t)
	if own == nil {
		return "It came after the last round."
	}
	turn, before, all := p.waiting.Turn(own, p.placeOf(s, own)), 0, 0
	for _, g := range p.waiting.Groups() {
		all += g.Len()
		if g != own && p.waiting.Turn(g, p.placeOf(s, g)).Before(turn) {
			before += g.Len()
		}
	}
	if all == 1 {
		return "No other task waits."
	}
	return fmt.Sprintf("Of %d tasks that wait %d are as it is, and %d of others come before these.", all, own.Len(), before)
}

// unmovedFrom says what it would gain to move the task to the cheapest other node, and what that would have to be; nothing where it
// is not moved in any case.
func (p explanation) unmovedFrom(t cluster.TaskID, candidates []sched.Candidate) []string {
	s, here, best := p.s, int64(0), (*sched.Candidate)(nil)
	task := s.Task(t)
	for i := range candidates {
		switch c := &candidates[i]; {
		case c.Node == task.Node:
			here = c.Cost
		case best == nil:
			best = c
		}
	}
	if p.moves.off || best == nil || best.Cost >= here || !(moving{policy: p.policy}).movable(s, t) {
		return nil
	}
	least := thousandths(priceOfMove(s, task))
	text := fmt.Sprintf("On %s it would cost %d less than here. It moves for %d or more", s.NodeSpec(best.Node).Name, here-best.Cost, least)
	switch {
	case here-best.Cost < least:
		return []string{text + "."}
	case p.moves.rests(s, t):
		return []string{text + fmt.Sprintf(", and has moved a short while ago: it stays for %s.", shown(p.moves.stays[t].until-s.Now()))}
	case !p.moves.may(1):
		return []string{text + ", when as many as may in that time have not moved already."}
	}
	return []string{text + ", when runs are looked at again."}
}

// unmoved says who would have to leave for the task, and why nobody does.
func (p explanation) unmoved(t cluster.TaskID) string {
	s := p.s
	v := victims{who: &p.who, worth: p.worth, until: make([]cluster.Time, s.NodeRows())}
	v.occupants.Rule = v.candidate
	task := s.Task(t)
	own := p.who.waiting(s, task)
	best, least := cluster.NoNode, rank(-1)
	for _, n := range p.table.Order.At {
		if int(n) >= s.NodeRows() || !s.NodeLive(n) || !s.FitsEmpty(task.Shape, n) {
			continue
		}
		if first, ok := v.choose(s, task.Shape, n, anybody()); ok && first > least && len(v.search.Victims) > 0 {
			best, least = n, first
		}
	}
	if best == cluster.NoNode {
		return "No node would have room for it even if all who may be evicted left."
	}
	v.choose(s, task.Shape, best, anybody())
	first, count := s.TaskName(v.search.Victims[0].Task), len(v.search.Victims)
	text := fmt.Sprintf("On node %s %s would have to leave for it, which comes", s.NodeSpec(best).Name, first)
	if count > 1 {
		text = fmt.Sprintf("On node %s %d tasks would have to leave for it, of which %s comes", s.NodeSpec(best).Name, count, first)
	}
	switch {
	case least <= own:
		return text + " before it, and no other node is better."
	case v.lossOfEquals(s, t) > p.victims.bucket.level:
		return text + " after it; but equals would lose more work than they may take from each other in that time."
	}
	return text + " after it: the next round may do so."
}

var _ sched.Explainer = (*policy)(nil)
