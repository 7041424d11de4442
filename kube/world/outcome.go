package world

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
	"fairlead.dev/fairlead/sched"
)

// This file follows a decision from the core to its outcome. Upstream's filters
// have the last word on it; then the pod is assumed to be on its node, so that
// the next decision is judged with it in place, and its bind goes out. Only the
// outcome makes it more than an assumption.

// Binds keeps what decisions to place pods are judged by. A case is open from the first
// decision that needed it until CloseCases, or longer.
type Binds struct {
	journal *journal
	judge   *judge.Judge
	pods    *Pods
	nodes   *nodes
	shapes  *shapes
	slots   *slots
	waiting *waiting
	placed  *placed
	rules   *rules
	cases   map[string]*openCase // of pods without a query
	// companies are the gangs of which pods were judged in this turn.
	companies map[*Gang]*judge.Company
	uses      uint64
	notes     *Notes // nil where decisions are carried out
}

// openCase is a case, and when it was used last.
type openCase struct {
	*judge.Case
	used  uint64
	lasts bool // it may be kept: its pods are of one shape, and their rules in its tags
}

// mostCases are kept open from one round to the next: what comes in a stream is mostly like what came last, and to follow each pod costs less than to count
// all anew.
const mostCases = 8

// mostAtOnce is how many cases may be open in a round.
const mostAtOnce = 64

// Judge runs upstream's filters on a decision to place a pod. It returns the
// pod, and a status that is no success if the decision must not be carried out;
// that has been reported to the core then.
func (b *Binds) Judge(ctx context.Context, d sched.Decision) (*Pod, *fwk.Status) {
	p, n := b.slots.decided(d), b.nodes.byRow[d.Node]
	b.pods.handling(p.object)
	if n == nil {
		panic(fmt.Sprintf("world: the core placed task row %d on node row %d, which holds no node", d.Task, d.Node))
	}
	judge.Accompany(b.judge, b.company(p))
	defer judge.Accompany(b.judge, nil)
	judged, status := b.caseOf(p)
	if status.IsSuccess() {
		judged.Choose(p.choice)
		status = judged.LastWord(p.object, n.object.Name)
	}
	if status.IsSuccess() && b.notes == nil {
		p.reserved, status = b.judge.Reserve(ctx, judged, p.object, n.object.Name)
	}
	if !status.IsSuccess() {
		// What it asks for may have yet to be given back by those who have left.
		late := p.Refusals < quickRefusals && p.way != nil && slices.Contains(p.way.nodes, n) && status.Plugin() == names.DynamicResources && b.waiting.queries.ways.keep(p, n)
		b.refuse(p, status.Code() == fwk.Pending || late)
		return p, status
	}
	p.choice = nil
	if set := p.slot.shape.set; set != nil {
		b.shapes.sets.leave(set)
	}
	b.pods.move(p, Assumed)
	p.node = n
	b.placed.sizes.renew(p)
	b.placed.sizes.set(p, d.Grant)
	if p.query != nil {
		// The query has its result; what it is known by need not be kept.
		b.waiting.queries.ways.lift(p)
		p.query = nil
		info, _ := p.read()
		demand, _ := b.shapes.demand(p, info)
		b.slots.reshape(p, b.shapes.of(p, demand))
	}
	b.placed.putOn(p, n)
	return p, nil
}

// Contest keeps the nodes that are left to other schedulers.
func (b *Binds) Contest() *Contest { return b.placed.contest }

// company is the pods of the pod's gang that are judged in this turn; nil if it is of no gang.
func (b *Binds) company(p *Pod) *judge.Company {
	g := p.gang()
	if g == nil || len(p.object.Spec.ResourceClaims) == 0 {
		return nil
	}
	if b.companies[g] == nil {
		b.companies[g] = judge.NewCompany()
	}
	return b.companies[g]
}

// caseOf returns the open case that the pod is judged by. Pods of one shape
// share it, unless there are pods with rules of which it says nothing.
func (b *Binds) caseOf(p *Pod) (*judge.Case, *fwk.Status) {
	if p.query != nil && p.query.judged != nil {
		return p.query.judged, nil
	}
	key := b.Likeness(p) // of one whose room was being freed, the query is closed
	b.uses++
	if c := b.cases[key]; c != nil {
		c.used = b.uses
		return c.Case, nil
	}
	var among func() map[string]bool
	if company := b.rules.of(p); company.whole && b.rules.gaps == 0 {
		tags := company.tags
		among = func() map[string]bool { return b.rules.among(tags) }
	}
	c, status := b.judge.Case(p.object, among)
	if status.IsSuccess() {
		b.closeOldest()
		b.cases[key] = &openCase{Case: c, used: b.uses, lasts: among != nil && c.Lasts()}
	}
	return c, status
}

// alikeKey is equal for pods without a query that all filters judge alike. Rules between pods are in the shape, but for gaps.
func (b *Binds) alikeKey(p *Pod) string {
	key := p.slot.shape.key
	if p.stock != nil { // upstream's filters look at its claims
		key += "\nwith volumes"
	}
	if b.rules.gaps > 0 {
		key = strings.Join([]string{key, p.object.Namespace, fmt.Sprint(p.object.Labels)}, "\n")
	}
	return key
}

// refuse takes back a decision that upstream's filters did not admit, or that comes too early.
func (b *Binds) refuse(p *Pod, early bool) {
	b.journal.emit(cluster.BindRefused{Task: p.slot.task, Attempt: p.attempt})
	q := p.query
	b.waiting.retract(p)
	p.Refusals++
	if q != nil {
		q.refused = true
	}
	if !early {
		p.special = p.special || p.choice == nil // else it was the choice that was refused
		p.doubted = p.choice != nil
	}
	p.choice = nil
	b.journal.changes++
	if p.Refusals > quickRefusals {
		b.waiting.backOff(p, p.Refusals-quickRefusals)
		return
	}
	b.waiting.sort(p)
}

// TakeBack takes back a decision that was admitted, and whose bind was not sent: too few others of the pod's group were. What was set
// aside for the pod has been given back. It is tried again at once, with them.
func (b *Binds) TakeBack(p *Pod) {
	b.pods.handling(p.object)
	b.placed.takeOff(p)
	b.placed.gone(p)
	p.reserved = nil
	b.waiting.sort(p)
}

// quickRefusals is how often a query is run for a pod again at once. The first
// result may have been given for several pods, of which another was faster; but
// what is set aside for a pod may also fail for ever.
const quickRefusals = 3

// Started takes in that the bind succeeded.
func (b *Binds) Started(p *Pod) {
	if b.pods.has(p) && p.Stage == Assumed {
		b.placed.started(p)
	}
}

// Failed takes in that the bind did not and will not happen. The pod backs off
// and is tried again.
func (b *Binds) Failed(p *Pod) {
	if b.giveUp(p) {
		p.Refusals++
		b.waiting.backOff(p, p.Refusals)
	}
}

// CalledBack takes in that the bind was called back before it was sent, as another scheduler took the room, or another pod is to have it. The pod is decided again at once.
func (b *Binds) CalledBack(p *Pod) {
	if b.giveUp(p) {
		p.reserved = nil
		b.waiting.sort(p)
	}
}

// giveUp takes the pod off the node where it is not to run after all, and reports whether it is to be placed again.
func (b *Binds) giveUp(p *Pod) bool {
	p.calledBack = false
	if !b.pods.has(p) {
		return false
	}
	if p.object.Spec.NodeName != "" || p.Stage != Assumed && p.Stage != Bound && p.Stage != UnknownNode {
		return false // seen to be bound after all, or long past it
	}
	if p.node != nil {
		b.placed.takeOff(p)
		b.placed.gone(p)
	}
	b.placed.stopAwaitingNode(p) // its node was lost meanwhile
	if p.info != nil {           // it may have changed while the bind was out
		p.refresh(alike(p.info.Pod, p.object))
	}
	return true
}

// CloseCases ends what decisions were judged by, but for the latest that go by nodes and pods alone.
func (b *Binds) CloseCases() {
	clear(b.companies)
	keys := sortedKeys(b.cases)
	slices.SortStableFunc(keys, func(x, y string) int { return cmp.Compare(b.cases[y].used, b.cases[x].used) })
	kept := 0
	for _, key := range keys {
		if b.cases[key].lasts && kept < mostCases {
			kept++
		} else {
			b.closeCase(key)
		}
	}
}

// closeOldest ends the older half of the cases where there are many: each follows every pod that is placed.
func (b *Binds) closeOldest() {
	if len(b.cases) < mostAtOnce {
		return
	}
	keys := sortedKeys(b.cases)
	slices.SortStableFunc(keys, func(x, y string) int { return cmp.Compare(b.cases[x].used, b.cases[y].used) })
	for _, key := range keys[:len(keys)/2] {
		b.closeCase(key)
	}
}

// closeCase ends a case, if there is one of that key: that of a shape which is no more may soon be another's.
func (b *Binds) closeCase(key string) {
	if c := b.cases[key]; c != nil {
		c.Close()
		delete(b.cases, key)
	}
}

// begin ends all cases, for a new core.
func (b *Binds) begin() {
	clear(b.companies)
	for _, key := range sortedKeys(b.cases) {
		b.closeCase(key)
	}
}

// Likeness is equal for pods that wait for the same reasons.
func (b *Binds) Likeness(p *Pod) string {
	if p.query != nil {
		return p.query.key
	}
	return b.alikeKey(p)
}
