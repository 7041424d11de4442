package world

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
	"fairlead.dev/fairlead/kube/sizes"
	"fairlead.dev/fairlead/sched"
)

// This file has pods grow and shrink whose class has sizes. To the core such a pod has a range: what it came with at least. What the core grants it counts from then on, for the judge as well, as any decision does; that it is asked for, refused or
// done is seen later. Two events tell the core what a pod has where that is something else: one by which it may have nothing else, and one that opens the range again. Of what was refused the range is as small as the refusal has it, while that stands: longer each time, until the pod gets what it was refused.
//
// A pod that shrinks gives up its room once its kubelet has taken it. Who is to have that is not bound before, and does not grow before.

const (
	// shrinkLasts is how long a kubelet may take to take something back.
	shrinkLasts = cluster.Minute
	// askAgain is how long a pod that was asked for is not asked for again.
	askAgain = 10 * cluster.Second
)

// refusalLasts is how long a refusal stands at least: of a node, which is asked again once it has other room; or of the API server, as for a quota, of which nobody says when it has changed.
func refusalLasts(byNode bool) Backoff {
	if byNode {
		return Backoff{Initial: askAgain, Max: cluster.Hour}
	}
	return Backoff{Initial: 10 * cluster.Minute, Max: cluster.Hour}
}

// elastic is what a pod may take of its node, as it was seen and its class has it.
type elastic struct {
	object *v1.Pod
	by     sizes.Factors
	owner  string       // the autoscaler that sets its size; empty if none does
	span   *sizes.Range // of its containers; nil of a pod that stays as it is
	why    error        // why it does
	// least and most are what it may take of a node, and taken what upstream counts, beside what others than its containers take.
	least, most, taken sizes.Amount
}

// opens reports whether the pod may grow.
func (e *elastic) opens() bool { return e != nil && e.span != nil }

// growth is how the size of a pod goes on while it is on a node. Amounts are what its containers request.
type growth struct {
	wants sizes.Amount  // as the core has it
	spec  sizes.Amount  // as its spec was last seen to have it
	asked *sizes.Amount // by a request without an outcome
	sent  sizes.Amount  // by the last request, which may be seen after its outcome
	lastRefusal
	again cluster.Time // not to be asked for before
	since cluster.Time // since when its kubelet is to take something back
}

// lastRefusal is the last one of a pod.
type lastRefusal struct {
	least, most sizes.Amount // what was refused is less, or more
	stands      bool
	times       int          // so often in a row, without what was refused having come
	until       cluster.Time // when it may be over
	lifts       bool         // it is over then; a node's is not before the node has other room
}

// over reports whether the pod has by now what it was refused.
func (r *lastRefusal) over(has sizes.Amount) bool {
	return !r.stands && (has.CPU < r.least.CPU || has.CPU > r.most.CPU || has.Memory < r.least.Memory || has.Memory > r.most.Memory)
}

// narrows bounds what a pod may take by what it was refused.
func (r *lastRefusal) narrows(e *elastic, least, most sizes.Amount) (sizes.Amount, sizes.Amount) {
	if !r.stands {
		return least, most
	}
	from, to := e.takes(r.least), e.takes(r.most)
	return sizes.Amount{CPU: max(least.CPU, from.CPU), Memory: max(least.Memory, from.Memory)}, sizes.Amount{CPU: min(most.CPU, to.CPU), Memory: min(most.Memory, to.Memory)}
}

// shrinking is what the pod requests where it becomes smaller as it is to, but no larger, and growing the other way round.
func (g *growth) shrinking() sizes.Amount {
	return sizes.Amount{CPU: min(g.wants.CPU, g.spec.CPU), Memory: min(g.wants.Memory, g.spec.Memory)}
}

func (g *growth) growing() sizes.Amount {
	return sizes.Amount{CPU: max(g.wants.CPU, g.spec.CPU), Memory: max(g.wants.Memory, g.spec.Memory)}
}

// Sizes keeps the sizes of pods that are on nodes.
type Sizes struct {
	journal *journal
	judge   *judge.Judge
	shapes  *shapes
	slots   *slots
	placed  *placed
	busy    map[types.UID]*Pod // of which something has yet to be done, or said
	refused []Refused
}

// Refused is a pod that could not be resized, and why.
type Refused struct {
	Pod *Pod
	Why string
}

// SizesOf are those of a world.
func SizesOf(w *World) *Sizes { return w.placed.sizes }

// elastic is what the pod may take; nil if its class has no sizes.
func (s *shapes) elastic(p *Pod) *elastic {
	if !p.Ours {
		return nil
	}
	by := s.classOf(p).manner.Sizes
	if by.None() {
		p.elastic = nil
		return nil
	}
	object := p.object
	if p.info != nil { // what is seen of it while its bind is out counts only once the outcome is known
		object = p.info.Pod
	}
	owner := s.autoscalers.owner(object)
	if e := p.elastic; e != nil && e.object == object && e.by == by && e.owner == owner {
		return e
	}
	e := &elastic{object: object, by: by, owner: owner}
	switch {
	case s.fixed != "":
		e.why = errors.New(s.fixed)
	case owner != "":
		e.why = fmt.Errorf("the VerticalPodAutoscaler %s owns its size", owner)
	default:
		e.span, e.why = sizes.Of(object, by)
	}
	if e.span != nil {
		e.least, e.most, e.taken = counted(e.span.Pod(object, e.span.Least())), counted(e.span.Pod(object, e.span.Most())), counted(object)
	}
	p.elastic = e
	return e
}

// counted is what upstream counts of a pod.
func counted(pod *v1.Pod) sizes.Amount {
	info, _ := judge.NewPod(pod)
	if info == nil {
		return sizes.Amount{}
	}
	r := judge.Requests(info)
	return sizes.Amount{CPU: clamp(r.MilliCPU), Memory: clamp(r.Memory)}
}

// takes is what the pod takes of a node where its containers request so much.
func (e *elastic) takes(a sizes.Amount) sizes.Amount {
	came := e.span.Least()
	return sizes.Amount{CPU: e.least.CPU + a.CPU - came.CPU, Memory: e.least.Memory + a.Memory - came.Memory}
}

// requests is the other way round.
func (e *elastic) requests(takes sizes.Amount) sizes.Amount {
	came := e.span.Least()
	return e.within(sizes.Amount{CPU: takes.CPU - e.least.CPU + came.CPU, Memory: takes.Memory - e.least.Memory + came.Memory})
}

// within is the amount in the range that is nearest.
func (e *elastic) within(a sizes.Amount) sizes.Amount {
	least, most := e.span.Least(), e.span.Most()
	return sizes.Amount{CPU: min(max(a.CPU, least.CPU), most.CPU), Memory: min(max(a.Memory, least.Memory), most.Memory)}
}

// bounds are between which amounts the core may choose: within what was refused, and always around what the pod has.
func (e *elastic) bounds(p *Pod) (least, most sizes.Amount) {
	least, most = e.least, e.most
	g := p.growth
	if g == nil {
		return least, most
	}
	least, most = g.narrows(e, least, most)
	has := e.takes(g.wants)
	return sizes.Amount{CPU: min(least.CPU, has.CPU), Memory: min(least.Memory, has.Memory)}, sizes.Amount{CPU: max(most.CPU, has.CPU), Memory: max(most.Memory, has.Memory)}
}

// most is to what the demand of the pod may grow; nil if it is fixed.
func (s *shapes) most(p *Pod, demand cluster.Vector) cluster.Vector {
	e := s.elastic(p)
	if !e.opens() {
		return nil
	}
	_, most := e.bounds(p)
	v := slices.Clone(demand)
	v[cpuColumn], v[memoryColumn] = most.CPU, most.Memory
	if slices.Equal(v, demand) {
		return nil
	}
	return v
}

// sized is the object as if the pod had been given what it was granted.
func (p *Pod) sized(object *v1.Pod) *v1.Pod {
	if p.growth == nil || !p.elastic.opens() {
		return object
	}
	return p.elastic.span.Pod(object, p.growth.wants)
}

// reread reads the pod again, as it was seen when it was read.
func (p *Pod) reread() {
	if p.info != nil {
		p.readAs(p.info.Pod)
	}
}

// granted is what the pod takes, as the core is to have it; nil if that is not open.
func (p *Pod) granted() cluster.Vector {
	if p.growth == nil || p.slot == nil || !p.elastic.opens() {
		return nil
	}
	v, has := slices.Clone(p.slot.shape.demand), p.elastic.takes(p.growth.wants)
	v[cpuColumn], v[memoryColumn] = has.CPU, has.Memory
	return v
}

// renew takes in a pod on a node as it is now, before that is reported to the judge.
func (z *Sizes) renew(p *Pod) {
	defer p.reread()
	e := z.shapes.elastic(p)
	if p.node == nil || !e.opens() {
		delete(z.busy, p.object.UID)
		p.growth = nil
		if p.node != nil && e != nil {
			z.touch(p) // it is to be said why
		}
		return
	}
	z.touch(p)
	seen := e.span.Requested(e.object)
	if p.growth == nil {
		p.growth = &growth{wants: e.within(seen), spec: seen, since: z.journal.now}
	}
	g := p.growth
	before := g.wants
	why, got := pendingResize(e.object), e.within(e.span.Granted(e.object))
	switch {
	case why != "" && seen == g.wants && got != seen:
		z.refuse(p, got, true, why)
	case seen == g.wants && got == seen:
		if g.over(got) {
			g.times = 0
		}
	case seen == g.wants: // its kubelet has yet to give it
	case g.asked != nil, seen == g.spec, seen == g.sent: // it has yet to be asked for, or to be seen
	default: // somebody else has set it
		g.wants = seen
	}
	g.wants = e.within(g.wants)
	if seen != g.spec || e.takes(g.wants) == e.taken {
		g.since = z.journal.now
	}
	if g.spec = seen; g.wants != before {
		z.emit(p)
	}
}

// pendingResize is why the kubelet does not give the pod what it requests; empty if it does.
func pendingResize(pod *v1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodResizePending && c.Status == v1.ConditionTrue && (c.Reason == v1.PodReasonInfeasible || c.Reason == v1.PodReasonDeferred) {
			return fmt.Sprintf("its kubelet says %s: %s", c.Reason, c.Message)
		}
	}
	return ""
}

// reclassed takes in that the class of a pod on a node has other sizes.
func (z *Sizes) reclassed(p *Pod) {
	z.judge.RemovePod(p.info, p.node.object.Name)
	z.renew(p)
	z.placed.putOn(p, p.node)
	z.slots.reshape(p, z.shapes.known(p))
}

// end takes in that the pod is on no node any more.
func (z *Sizes) end(p *Pod) {
	delete(z.busy, p.object.UID)
	if p.growth != nil {
		p.growth = nil
		p.refresh(false)
	}
}

func (z *Sizes) touch(p *Pod) { z.busy[p.object.UID] = p }

// emit lets the core know what the pod has, and between what it may choose.
func (z *Sizes) emit(p *Pod) {
	has := p.granted()
	if has == nil {
		return
	}
	exactly := *p.slot.shape
	exactly.demand, exactly.most = has, nil
	z.slots.reshape(p, z.shapes.like(exactly))
	z.slots.reshape(p, z.shapes.known(p))
}

// Resize takes a decision of the core to the pod.
func (z *Sizes) Resize(d sched.Decision) {
	if p := z.slots.running(d); p != nil && z.set(p, d.Grant) {
		z.recount(p)
	}
}

// set notes what the core has granted, and reports whether that is new.
func (z *Sizes) set(p *Pod, grant cluster.Vector) bool {
	g := p.growth
	if g == nil || !p.elastic.opens() {
		return false
	}
	to := p.elastic.span.Least()
	if grant != nil {
		to = p.elastic.requests(sizes.Amount{CPU: grant[cpuColumn], Memory: grant[memoryColumn]})
	} else if shape := p.slot.shape.demand; shape[cpuColumn] > p.elastic.least.CPU || shape[memoryColumn] > p.elastic.least.Memory { // to have less was refused
		to = p.elastic.requests(sizes.Amount{CPU: shape[cpuColumn], Memory: shape[memoryColumn]})
	}
	if to == g.wants {
		return false
	}
	g.wants = to
	p.reread()
	z.touch(p)
	return true
}

// recount has the judge count the pod by what it was granted.
func (z *Sizes) recount(p *Pod) {
	z.judge.RemovePod(p.info, p.node.object.Name)
	p.reread()
	z.placed.putOn(p, p.node)
}

// refuse takes in that the pod has so much, and not what it was granted, which is not asked for again while that stands.
func (z *Sizes) refuse(p *Pod, has sizes.Amount, byNode bool, why string) {
	g, most, least := p.growth, p.elastic.span.Most(), p.elastic.span.Least()
	for _, k := range []struct{ wants, has, least, most *int64 }{
		{&g.wants.CPU, &has.CPU, &least.CPU, &most.CPU}, {&g.wants.Memory, &has.Memory, &least.Memory, &most.Memory},
	} {
		switch {
		case *k.has < *k.wants:
			*k.most = *k.has
		case *k.has > *k.wants:
			*k.least = *k.has
		}
	}
	g.wants, g.asked, g.since = has, nil, z.journal.now
	times := g.times + 1
	g.lastRefusal = lastRefusal{least: least, most: most, stands: true, times: times, until: z.journal.now + refusalLasts(byNode).After(times), lifts: !byNode}
	z.touch(p)
	z.refused = append(z.refused, Refused{p, why})
}

// Refused are the pods that could not be resized since it was last asked.
func (z *Sizes) Refused() []Refused {
	all := z.refused
	z.refused = nil
	return all
}

// roomCame takes in that a node has other room than before, so that it may grant what it refused once that is over.
func (z *Sizes) roomCame(n *node) {
	for _, p := range n.pods {
		if p.growth != nil && p.growth.stands && !p.growth.lifts {
			p.growth.lifts = true
			z.touch(p)
		}
	}
}

// shrinks is what a kubelet has yet to take of the pod.
func (p *Pod) shrinks() sizes.Amount {
	if p.growth == nil || !p.elastic.opens() {
		return sizes.Amount{}
	}
	has := p.elastic.takes(p.growth.wants)
	return sizes.Amount{CPU: max(p.elastic.taken.CPU-has.CPU, 0), Memory: max(p.elastic.taken.Memory-has.Memory, 0)}
}

// Room reports whether a pod that was decided for its node may come there, as those who make room by becoming smaller have; the error is that they will not.
func (z *Sizes) Room(p *Pod) (ready bool, err error) {
	if p.node == nil {
		return true, nil
	}
	var owed, used sizes.Amount
	for _, q := range p.node.pods {
		if q.slot == nil {
			continue
		}
		takes := q.slot.shape.demand
		if has := q.granted(); has != nil {
			takes = has
		}
		shrinks := q.shrinks()
		owed.CPU, owed.Memory = owed.CPU+shrinks.CPU, owed.Memory+shrinks.Memory
		used.CPU, used.Memory = used.CPU+takes[cpuColumn], used.Memory+takes[memoryColumn]
	}
	has := z.placed.nodes.columns.capacity(p.node)
	switch {
	case used.CPU > has[cpuColumn] || used.Memory > has[memoryColumn]:
		return false, errors.New("pods that were to become smaller for it have not")
	default:
		return used.CPU+owed.CPU <= has[cpuColumn] && used.Memory+owed.Memory <= has[memoryColumn], nil
	}
}

// Owes reports whether some pod on the pod's node has yet to become smaller.
func (z *Sizes) Owes(p *Pod) bool {
	if p.node == nil {
		return false
	}
	for _, q := range p.node.pods {
		if q.shrinks() != (sizes.Amount{}) {
			return true
		}
	}
	return false
}

// due takes in what has taken too long, and lets refusals be over.
func (z *Sizes) due() {
	for _, p := range inOrder(z.busy) {
		z.placed.pods.handling(p.object)
		g, e := p.growth, p.elastic
		if g == nil || !e.opens() {
			continue
		}
		switch {
		case g.stands && g.lifts && g.until <= z.journal.now:
			g.stands = false
			z.slots.reshape(p, z.shapes.known(p))
		case p.shrinks() != (sizes.Amount{}) && g.shrinking() == g.spec && g.asked == nil && g.since+shrinkLasts <= z.journal.now:
			z.refuse(p, e.requests(e.taken), true, "its kubelet has not taken back what it has too much")
			z.recount(p)
			z.emit(p)
		case g.asked == nil && g.growing() != g.spec && z.keptFrom(p):
			z.refuse(p, e.within(g.shrinking()), true, "others on its node have not given up what they had too much")
			g.lifts = true // its kubelet was not asked
			z.recount(p)
			z.emit(p)
		}
		if g.asked == nil && g.spec == g.wants && (!g.stands || !g.lifts) && p.shrinks() == (sizes.Amount{}) {
			delete(z.busy, p.object.UID)
		}
	}
}

// wake is when something of a pod is next due.
func (z *Sizes) wake() cluster.Time {
	at := cluster.Never
	for _, p := range z.busy {
		g := p.growth
		if g == nil {
			continue
		}
		if g.stands && g.lifts {
			at = min(at, g.until)
		}
		if p.shrinks() != (sizes.Amount{}) && g.shrinking() == g.spec && g.asked == nil {
			at = min(at, g.since+shrinkLasts)
		}
		if g.spec != g.wants && g.asked == nil && g.again > z.journal.now {
			at = min(at, g.again)
		}
	}
	return at
}

// now is what the pod is to request now: it does not grow while others on its node have yet to give up the room for that.
func (z *Sizes) now(p *Pod) sizes.Amount {
	if ready, _ := z.Room(p); ready || !z.Owes(p) {
		return p.growth.wants
	}
	return p.growth.shrinking()
}

// keptFrom reports whether the pod will not have the room into which it was to grow: its node has less, and nobody there is to give up any.
func (z *Sizes) keptFrom(p *Pod) bool {
	_, err := z.Room(p)
	return err != nil && !z.Owes(p)
}

// Change is what is to be asked of the API server for a pod.
type Change struct {
	Pod    *Pod
	Object *v1.Pod
	// Says is its condition from then on.
	Says v1.PodCondition
	// To is what each of its containers is to request, and may use; nil if it stays as it is.
	To []v1.ResourceRequirements
	to *sizes.Amount
}

// Due is what is to be asked of the API server now.
func (z *Sizes) Due() (all []*Change) {
	for _, p := range inOrder(z.busy) {
		z.placed.pods.handling(p.object)
		if p.Stage != Bound || p.seen.DeletionTimestamp != nil || p.seen.Status.Phase != v1.PodRunning {
			continue
		}
		class, g, e := z.shapes.classOf(p).class.Name, p.growth, p.elastic
		if g == nil {
			delete(z.busy, p.object.UID)
			if e != nil && e.why != nil {
				all = append(all, &Change{Pod: p, Object: p.seen, Says: sizes.Fixed(p.seen, class, e.why)})
			}
			continue
		}
		if !e.opens() || g.wants == g.spec || g.asked != nil || g.again > z.journal.now {
			continue
		}
		to := z.now(p)
		if to == g.spec {
			continue
		}
		g.asked, g.sent, g.again = &to, to, z.journal.now+askAgain
		all = append(all, &Change{Pod: p, Object: p.seen, Says: e.span.Condition(p.seen, class), To: e.span.Containers(to), to: &to})
	}
	return all
}

// Answered takes in what came of a change: that it was done, or failed, so that it may be asked for again, or why it was refused.
func (z *Sizes) Answered(c *Change, why string) {
	p := c.Pod
	if p.growth == nil || c.to == nil || p.growth.asked == nil || *p.growth.asked != *c.to || z.placed.pods.byUID[p.object.UID] != p {
		return
	}
	p.growth.asked = nil
	z.touch(p)
	if !p.elastic.opens() {
		return
	}
	if has := p.elastic.within(p.growth.spec); why != "" && has != p.growth.wants {
		z.refuse(p, has, false, why)
		z.recount(p)
		z.emit(p)
	}
}
