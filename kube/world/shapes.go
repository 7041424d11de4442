package world

import (
	"maps"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
)

// shape is an interned row of the core's shapes.
type shape struct {
	key    string
	row    cluster.ShapeID
	set    *nodeSet // nil for pods that are not ours
	usual  *nodeSet // of pods that await a query, whose set is its result; else nil
	likes  []liked
	demand cluster.Vector
	most   cluster.Vector // to which that may grow; nil if it is fixed
	apart  int32          // how many pods of its job may be on a node; 0 is any number
	never  bool           // nobody is evicted for it
	tags   []string       // what rules between pods name it by; sorted
	tasks  int
}

// shapes keeps the shapes that tasks have: what they request, and of which node set they are.
// A shape lives, in the core and as asking for its columns, as long as a task has it; its set
// lives as long as one of its shapes.
type shapes struct {
	journal *journal
	judge   *judge.Judge
	columns *Columns
	nodes   *nodes
	sets    *nodeSets
	rules   *rules
	byKey   map[string]*shape
	rows    cluster.Rows
	// released is called with the key of a shape that no task has any more.
	released func(key string)
	// prices is what is priced of pods with that schedulerName.
	prices func(schedulerName string) Prices
	// classOf is the class of a pod.
	classOf func(*Pod) *classRow
	// fixed says why no pod grows; empty if some may.
	fixed       string
	autoscalers autoscalers
}

// begin forgets all shapes and sets, for a new core.
func (s *shapes) begin() {
	s.byKey, s.rows = map[string]*shape{}, cluster.Rows{}
	s.sets.begin()
	s.rules.begin()
}

// of returns the shape of a pod on a node that takes so much. Of those that wait see waiting.
func (s *shapes) of(p *Pod, demand cluster.Vector) *shape {
	return s.like(shape{demand: demand, most: s.most(p, demand), apart: s.apart(p), tags: s.rules.of(p).tags})
}

// tagged returns the same shape, but that rules name it by these tags.
func (s *shapes) tagged(of *shape, tags []string) *shape {
	now := *of
	now.tags = tags
	return s.like(now)
}

// waiting returns the shape of the pod while it waits for a node of the set.
func (s *shapes) waiting(p *Pod, ns *nodeSet, demand cluster.Vector) *shape {
	policy := p.object.Spec.PreemptionPolicy
	var usual *nodeSet
	if ns != nil && ns.local == nil { // it is the answer to a query
		usual = s.sets.known(p)
	}
	never := policy != nil && *policy == v1.PreemptNever || p.group != nil && p.group.never
	if q := p.query; q != nil && q.asIs && !q.evicting { // its nodes take it as they are: what it wants may be gone once others have left
		never = true
	}
	return s.like(shape{set: ns, usual: usual, likes: s.likes(p), demand: demand, most: s.most(p, demand), apart: s.apart(p), never: never, tags: s.rules.of(p).tags})
}

// apart is how many pods of its owner may stand on the node of the pod.
func (s *shapes) apart(p *Pod) int32 {
	if !p.Ours {
		return 0
	}
	return s.classOf(p).apart()
}

// like returns the shape that has all that is said of one.
func (s *shapes) like(of shape) *shape {
	ns, usual := of.set, of.usual
	set, usually := cluster.AllNodes, cluster.AllNodes
	if ns != nil {
		set = s.sets.row(ns)
	}
	if usual != nil {
		usually = s.sets.row(usual)
	}
	key := shapeKey(set, &of)
	known := s.byKey[key]
	if known == nil {
		if ns != nil {
			if !ns.defined {
				s.sets.define(ns, nil)
			}
			ns.shapes++
		}
		if usual != nil {
			usual.shapes++
		}
		var prefers []cluster.Preference
		for _, l := range of.likes {
			l.set.shapes++
			prefers = append(prefers, cluster.Preference{Set: l.set.id, Weight: l.weight})
		}
		of.key, of.row, of.tasks = key, cluster.ShapeID(s.rows.Take()), 0
		known = &of
		s.byKey[key] = known
		s.columns.count(of.demand, 1)
		s.journal.emit(cluster.ShapeDefined{Shape: known.row, Spec: cluster.Shape{
			Demand: of.demand, Max: of.most, PerNode: of.apart, Eligible: set, Usual: usually, Prefers: prefers, Tags: of.tags, NeverPreempts: of.never,
		}})
	}
	return known
}

// empty is that of who takes nothing.
func (s *shapes) empty() *shape {
	return s.like(shape{demand: make(cluster.Vector, len(s.columns.list))})
}

func shapeKey(set cluster.SetID, of *shape) string {
	key := strconv.AppendUint(make([]byte, 0, 64), uint64(set), 36)
	for _, q := range of.demand {
		key = strconv.AppendInt(append(key, ' '), q, 36)
	}
	for _, q := range of.most {
		key = strconv.AppendInt(append(key, '<'), q, 36)
	}
	if of.apart > 0 {
		key = strconv.AppendInt(append(key, '@'), int64(of.apart), 36)
	}
	if of.never {
		key = append(key, '!')
	}
	for _, l := range of.likes {
		key = strconv.AppendUint(append(key, '~'), uint64(l.set.id), 36)
		key = strconv.AppendInt(append(key, ' '), int64(l.weight), 36)
	}
	for _, tag := range of.tags {
		key = strconv.AppendQuote(append(key, '#'), tag)
	}
	return string(key)
}

// known is the shape of a pod that is on a node, or is gated: the room that it takes, and where it could be, as far as that
// depends on itself alone. Policies learn from it what room is wanted for, also those of a new core. Pods of others stay where
// they are, and of those that name their nodes, as a DaemonSet's do, each would have a set of its own.
func (s *shapes) known(p *Pod) *shape {
	info, _ := p.read()
	demand, _ := s.demand(p, info)
	if tags := s.rules.of(p).tags; p.slot != nil && slices.Equal(p.slot.shape.demand, demand) && slices.Equal(p.slot.shape.most, s.most(p, demand)) && p.slot.shape.apart == s.apart(p) {
		if slices.Equal(p.slot.shape.tags, tags) {
			return p.slot.shape
		}
		return s.tagged(p.slot.shape, tags)
	}
	if !p.Ours {
		return s.of(p, demand)
	}
	return s.waiting(p, s.sets.known(p), demand)
}

// release forgets a shape that no task has any more, and its node set with the
// last shape.
func (s *shapes) release(of *shape) {
	of.tasks--
	if of.tasks > 0 {
		return
	}
	delete(s.byKey, of.key)
	s.columns.count(of.demand, -1)
	s.released(of.key)
	s.journal.emit(cluster.ShapeForgotten{Shape: of.row})
	s.rows.Give(uint32(of.row))
	for _, l := range of.likes {
		if l.set.shapes--; l.set.shapes == 0 {
			s.sets.forget(l.set)
		}
	}
	for _, ns := range []*nodeSet{of.set, of.usual} {
		if ns == nil {
			continue
		}
		if ns.shapes--; ns.shapes == 0 {
			s.sets.forget(ns)
		}
	}
}

// demand is a pod's vector, as upstream's NodeResourcesFit and NodePorts count
// it, and NodeVolumeLimits what is its own. It returns what of it is not counted, as it has no column, or comes from a device where
// a node does not offer it: a vector cannot say "or". A pod that is to be placed
// takes no column for what no node offers.
func (s *shapes) demand(p *Pod, info *framework.PodInfo) (_ cluster.Vector, uncounted []need) {
	r := judge.Requests(info)
	v := make(cluster.Vector, len(s.columns.list))
	v[cpuColumn] = clamp(r.MilliCPU)
	v[memoryColumn] = clamp(r.Memory)
	v[storageColumn] = clamp(r.EphemeralStorage)
	v[podsColumn] = 1
	p.needs = p.needs[:0]
	take := func(n need, q, most int64) {
		p.needs = append(p.needs, n)
		c, ok := s.column(n, v)
		if ok {
			v[c] = min(most, v[c]+q)
		} else {
			uncounted = append(uncounted, n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.ScalarResources)) {
		switch q := clamp(r.ScalarResources[name]); {
		case r.ScalarResources[name] == 0:
		case s.judge.ProvidesDevices(name) || !p.placed() && s.columns.offers[name] == 0:
			uncounted = append(uncounted, need{resource: name})
		default:
			take(need{resource: name}, q, cluster.MaxQuantity)
		}
	}
	for _, want := range util.GetHostPorts(p.object) {
		for _, share := range portShares(want) {
			take(need{port: share.port}, share.units, wholePort)
		}
	}
	if p.stock != nil {
		for _, d := range p.stock.takes {
			take(need{driver: d.driver}, 1, cluster.MaxQuantity)
		}
	}
	if e := s.elastic(p); e.opens() {
		least, _ := e.bounds(p)
		v[cpuColumn], v[memoryColumn] = least.CPU, least.Memory
	}
	return v, uncounted
}

// column returns the column that stands for the need of a pod whose vector is
// being made, and false if none is left.
func (s *shapes) column(n need, made cluster.Vector) (int, bool) {
	c, before, ok := s.columns.take(n, made)
	if ok && before != n {
		s.nodes.reportCapacity(before, n)
	}
	return c, ok
}
