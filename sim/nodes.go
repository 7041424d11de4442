package sim

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/keeper"
	"fairlead.dev/fairlead/sim/trace"
)

// nodes is the world's own book of nodes: which row stands for which node of
// the trace, what is physically on it, and which nodes meet which
// requirements.
type nodes struct {
	kinds      []cluster.Kind
	overcommit cluster.Vector // thousandths, by kind; nil is none
	devices    []cluster.DeviceKind
	rows       map[uint64]cluster.NodeID
	list       []node
	sets       []requirementSet // by SetID; the first is AllNodes
	setOf      map[string]cluster.SetID
	labelled   map[cluster.Label][]cluster.NodeID // live nodes by each label; nil until somebody asks again
	least      *int64                             // what smallest says; nil until somebody asks again
	switched   bool                               // they may be off, so that no set is AllNodes
	turned     []cluster.NodeID                   // off or on, since somebody has looked
}

// node is one node as it physically is.
type node struct {
	id       uint64
	live     bool
	standing keeper.Standing
	wakes    cluster.Time // when it is on, of one that wakes
	name     string
	capacity cluster.Vector
	labels   []cluster.Label
	groups   []cluster.Label
	tier     int32
	rack     string
	limit    cluster.Vector
	present  cluster.Vector // demand of every run that is there
	device   []int64        // the same for each device, by place
	runs     []cluster.TaskID
}

// requirementSet is the set of nodes that a task may use.
type requirementSet struct {
	admission
	has nodeBits
}

// nodeBits are rows of nodes, a bit each: of many tasks each has a set of its own, which is one node of thousands.
type nodeBits []uint64

// put says whether the row is among them.
func (b *nodeBits) put(row cluster.NodeID, is bool) {
	at, bit := int(row/64), uint64(1)<<(row%64)
	switch {
	case is:
		for at >= len(*b) {
			*b = append(*b, 0)
		}
		(*b)[at] |= bit
	case at < len(*b):
		(*b)[at] &^= bit
	}
}

// holds reports whether the row is among them.
func (b *nodeBits) holds(row cluster.NodeID) bool {
	return int(row/64) < len(*b) && (*b)[row/64]>>(row%64)&1 != 0
}

// admission is what a node has to be for a task: what the task requires of labels, and
// the tier that was promised to its class. Class.Tier is hard for every policy
// (specs/sla-classes.md, §3): nodes of any other tier, also of a better one, are not
// for its tasks. At tier 0 any will do.
type admission struct {
	requirements []cluster.Requirement
	tier         cluster.Level
}

// key is the same for admissions that are the same.
func (a admission) key() string {
	texts := make([]string, len(a.requirements))
	for i, r := range a.requirements {
		texts[i] = r.String()
	}
	slices.Sort(texts)
	if a.tier > 0 {
		texts = append(texts, strconv.Itoa(int(a.tier)))
	}
	return strings.Join(texts, "\n")
}

func newNodes(kinds []cluster.Kind, overcommit map[string]int64) nodes {
	b := nodes{kinds: kinds, devices: cluster.DeviceKinds(kinds), rows: map[uint64]cluster.NodeID{}, sets: make([]requirementSet, 1), setOf: map[string]cluster.SetID{}}
	if len(overcommit) > 0 {
		b.overcommit = make(cluster.Vector, len(kinds))
		for k, kind := range kinds {
			b.overcommit[k] = 1000
			if factor, ok := overcommit[kind.Name]; ok {
				b.overcommit[k] = factor
			}
		}
	}
	return b
}

// add takes in a node that joins or changes, and tells the core.
func (b *nodes) add(r *trace.Node, emit func(cluster.Event)) cluster.NodeID {
	row, known := b.rows[r.ID]
	if !known {
		row = cluster.NodeID(len(b.list))
		b.rows[r.ID] = row
		b.list = append(b.list, node{id: r.ID, present: make(cluster.Vector, len(b.kinds))})
	}
	b.least, b.labelled = nil, nil
	n := &b.list[row]
	n.name = r.Name
	if n.name == "" {
		n.name = strconv.FormatUint(r.ID, 10)
	}
	n.capacity, n.labels = slices.Clone(r.Capacity), slices.Clone(r.Labels)
	n.groups, n.rack, n.tier = slices.Clone(r.Groups), rackOf(r.Groups), r.Tier
	n.limit = b.limitOf(n.capacity)
	spec := cluster.NodeSpec{Name: n.name, Capacity: n.capacity, Overcommit: b.overcommit, Labels: n.labels, Groups: n.groups, Tier: n.tier}
	if n.live {
		emit(cluster.NodeChanged{Node: row, Spec: spec})
	} else {
		n.live, n.standing = true, keeper.On
		emit(cluster.NodeAdded{Node: row, Spec: spec})
	}
	for id := 1; id < len(b.sets); id++ {
		b.judge(cluster.SetID(id), row, emit)
	}
	return row
}

// there is the row of the trace's node, if that is up.
func (b *nodes) there(id uint64) (row cluster.NodeID, is bool) {
	row, known := b.rows[id]
	return row, known && b.list[row].live
}

// limitOf is capacity times over-commit, computed apart from the core's.
func (b *nodes) limitOf(capacity cluster.Vector) cluster.Vector {
	limit := slices.Clone(capacity)
	for k := range b.overcommit {
		hi, lo := bits.Mul64(uint64(capacity[k]), uint64(b.overcommit[k]))
		if hi >= 1000 {
			limit[k] = cluster.MaxQuantity
			continue
		}
		q, _ := bits.Div64(hi, lo, 1000)
		limit[k] = int64(min(q, cluster.MaxQuantity))
	}
	return limit
}

// lose takes a node away. What ran on it is the caller's to end.
func (b *nodes) lose(row cluster.NodeID, emit func(cluster.Event)) {
	b.list[row].live, b.least, b.labelled = false, nil, nil
	for id := 1; id < len(b.sets); id++ {
		b.sets[id].has.put(row, false)
	}
	emit(cluster.NodeLost{Node: row})
}

// judge brings one node's membership in one set up to date.
func (b *nodes) judge(id cluster.SetID, row cluster.NodeID, emit func(cluster.Event)) {
	set := &b.sets[id]
	meets := b.isOn(row) && b.meets(row, set.admission)
	if meets != set.has.holds(row) {
		set.has.put(row, meets)
		emit(cluster.EligibilityChanged{Set: id, Node: row, Eligible: meets})
	}
}

// meets reports whether the node's labels meet all the requirements, and its tier is
// the one that is wanted.
func (b *nodes) meets(row cluster.NodeID, wanted admission) bool {
	n := &b.list[row]
	for _, r := range wanted.requirements {
		if !r.Matches(n.labels) {
			return false
		}
	}
	return wanted.tier == 0 || n.tier == int32(wanted.tier)
}

// keepsOff says what keeps tasks of the set off a node: each requirement that the node does
// not meet, taints and cordons one by one, and its tier.
func (b *nodes) keepsOff(id cluster.SetID, row cluster.NodeID) []sched.Filtered {
	wanted := b.sets[id].admission
	n := &b.list[row]
	var all []sched.Filtered
	for _, r := range wanted.requirements {
		if !r.Matches(n.labels) {
			all = append(all, filteredBy(r, n.labels)...)
		}
	}
	if wanted.tier > 0 && n.tier != int32(wanted.tier) {
		all = append(all, sched.Filtered{Mechanism: "tier", Wants: strconv.Itoa(int(wanted.tier))})
	}
	if len(all) == 0 { // it is in the set, or lost
		return []sched.Filtered{{}}
	}
	return all
}

// filteredBy says by which mechanisms a node with these labels does not meet a requirement.
func filteredBy(r cluster.Requirement, labels []cluster.Label) []sched.Filtered {
	if claim, is := strings.CutPrefix(r.Key, trace.Claims); is {
		return []sched.Filtered{{Mechanism: "claim", Wants: claim}}
	}
	at := slices.IndexFunc(labels, func(l cluster.Label) bool { return l.Key == r.Key })
	if r.Key != trace.Taints || at < 0 {
		return []sched.Filtered{{Mechanism: "label", Wants: r.Selector()}}
	}
	var all []sched.Filtered
	add := func(f sched.Filtered) {
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	for _, taint := range trace.Untolerated(r, labels[at].Value) {
		if out := trace.OutOfUse(taint); out != "" {
			add(sched.Filtered{Mechanism: out})
		} else {
			add(sched.Filtered{Mechanism: "taint", Wants: taint})
		}
	}
	return all
}

// set returns the set of nodes that are as wanted, and defines it if it is new.
func (b *nodes) set(wanted admission, emit func(cluster.Event)) cluster.SetID {
	if len(wanted.requirements) == 0 && wanted.tier == 0 && !b.switched {
		return cluster.AllNodes
	}
	key := wanted.key()
	if id, ok := b.setOf[key]; ok {
		return id
	}
	id := cluster.SetID(len(b.sets))
	b.setOf[key] = id
	wanted.requirements = slices.Clone(wanted.requirements)
	set := requirementSet{admission: wanted}
	defined := cluster.SetDefined{Set: id}
	for _, row := range b.among(wanted) {
		if b.isOn(row) && b.meets(row, wanted) {
			set.has.put(row, true)
			defined.Nodes = append(defined.Nodes, row)
		}
	}
	b.sets = append(b.sets, set)
	emit(defined)
	return id
}

// among are live nodes, those that may be as wanted with them: those with a label that has to have one value, of several
// such labels with the one that fewest have. Tasks that are bound to one node are many.
func (b *nodes) among(wanted admission) []cluster.NodeID {
	if b.labelled == nil {
		b.labelled = map[cluster.Label][]cluster.NodeID{}
		for i := range b.list {
			if !b.list[i].live {
				continue
			}
			for _, l := range b.list[i].labels {
				b.labelled[l] = append(b.labelled[l], cluster.NodeID(i))
			}
			b.labelled[cluster.Label{}] = append(b.labelled[cluster.Label{}], cluster.NodeID(i)) // all of them
		}
	}
	best := b.labelled[cluster.Label{}]
	for _, r := range wanted.requirements {
		if r.Op != cluster.Equal || r.Value == "" || strings.Contains(r.Value, "|") {
			continue
		}
		if list := b.labelled[cluster.Label{Key: r.Key, Value: r.Value}]; len(list) < len(best) {
			best = list
		}
	}
	return best
}

// arrive notes a run that takes room on the node.
func (b *nodes) arrive(t cluster.TaskID, row cluster.NodeID, r room) {
	n := &b.list[row]
	if n.standing != keeper.On {
		panic("sim: a run comes to node " + n.name + ", which is not on")
	}
	n.runs = append(n.runs, t)
	for k, q := range r.demand {
		n.present[k] += q
	}
	b.hold(n, r, 1)
}

// depart is the inverse of arrive.
func (b *nodes) depart(t cluster.TaskID, row cluster.NodeID, r room) {
	n := &b.list[row]
	at := slices.Index(n.runs, t)
	n.runs = slices.Delete(n.runs, at, at+1)
	for k, q := range r.demand {
		n.present[k] -= q
	}
	b.hold(n, r, -1)
}

// overBy says which kind of the node the run would take over its limit.
func (b *nodes) overBy(row cluster.NodeID, r room) error {
	n := &b.list[row]
	for k, q := range r.demand {
		if q > 0 && n.present[k]+q > n.limit[k] {
			return fmt.Errorf("node %s would hold %s of %s, over its limit of %s",
				n.name, b.kinds[k].Format(n.present[k]+q), b.kinds[k].Name, b.kinds[k].Format(n.limit[k]))
		}
	}
	return b.devicesOver(n, r)
}
