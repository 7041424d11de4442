package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"fairlead.dev/fairlead/cluster"
)

// This file says which need, an extended resource, a host port or the disks that a driver attaches, a column of
// the vectors stands for.
//
// How many columns there are is fixed while a core lives. The first stand for
// what nodes offered when it began, and for nothing else until it ends. The
// others are spare: one takes on a need that a pod has, keeps it as long as any
// shape asks for it, and then until another need wants a column. The core is not
// told of needs; to it a spare column that changes hands is one that no shape
// asks for and of which nodes come to have another capacity. So a recording
// replays as it ran, and calls such columns spare. Only when all of them are in
// use at once does a new core have to begin, with twice as many.

const (
	// maxNamed bounds the resources that have columns because nodes offer them:
	// one node can offer any number, and every vector has all columns. Those left
	// out have spare ones when pods ask for them.
	maxNamed = 128
	// minSpare and maxSpare bound the spare columns. What pods ask for beyond
	// them has no column; such pods are judged by the full filters instead.
	minSpare = 8
	maxSpare = 512
)

// All columns together fit the header of a recording.
const _ = uint(cluster.MaxKinds - firstExtended - maxNamed - maxSpare)

// need is an extended resource, the disks of a driver that has a name, or a host port if neither has.
type need struct {
	resource v1.ResourceName
	driver   string
	port     port
}

// String is the need as people write it.
func (n need) String() string {
	switch {
	case n.resource != "":
		return string(n.resource)
	case n.driver != "":
		return "volumes of " + n.driver
	}
	return n.port.String()
}

// of is how much a node that has these resources has of what is needed. Every
// node has every port.
func (n need) of(on *node, r *framework.Resource) int64 {
	switch {
	case n.resource != "":
		return clamp(r.ScalarResources[n.resource])
	case n.driver != "":
		return on.leaves(n.driver)
	}
	return wholePort
}

// isPort reports whether it is a host port, or nothing yet.
func (n need) isPort() bool { return n.resource == "" && n.driver == "" }

func compareNeeds(a, b need) int {
	return cmp.Or(
		cmp.Compare(a.resource, b.resource), cmp.Compare(a.driver, b.driver), cmp.Compare(a.port.number, b.port.number),
		cmp.Compare(a.port.protocol, b.port.protocol), cmp.Compare(a.port.address, b.port.address),
	)
}

// Columns keeps which need each column of the vectors stands for. A need has one column at
// most, and a spare column keeps its need at least as long as a shape asks for it.
type Columns struct {
	list    []cluster.Kind // as the core has them
	columns []column       // those from firstExtended on
	named   int            // how many of these are not spare
	of      map[need]int   // columns
	offers  map[v1.ResourceName]int
	leftOut []v1.ResourceName // offered, and neither named nor asked for when the core began
	// refused are the needs that found no column. They find none as long as the
	// core lives, since pods that have them are on nodes and were not counted.
	refused map[need]bool
	devices []v1.ResourceName // that come in devices: they have columns, offered or not
	places  []cluster.DeviceKind
	excess  map[Excess]bool
	stale   string // why a new core is needed; empty if none is
	idle    int    // spare columns that no shape asks for
	clock   uint64
}

// column is what one column stands for.
type column struct {
	need   need   // of a spare one, none at first
	shapes int    // that ask for it
	since  uint64 // when it took on its need, or was last asked for
}

// newColumns makes the columns for the resources, and spare ones for the other
// needs and for as many more. Those of the resources that come in devices say so.
func newColumns(resources []v1.ResourceName, others []need, devices []v1.ResourceName) Columns {
	k := Columns{
		list: []cluster.Kind{
			{Name: "cpu", Unit: "cores", PerUnit: 1000},
			{Name: "memory", Unit: "GiB", PerUnit: 1 << 30},
			{Name: "ephemeral-storage", Unit: "GiB", PerUnit: 1 << 30},
			{Name: "pods", Unit: "pods", PerUnit: 1},
		},
		of: map[need]int{}, offers: map[v1.ResourceName]int{}, refused: map[need]bool{}, devices: devices, excess: map[Excess]bool{},
		named: len(resources), idle: min(maxSpare, max(minSpare, 2*len(others))),
	}
	for _, name := range resources {
		k.list = append(k.list, cluster.Kind{Name: string(name), PerUnit: 1, Devices: slices.Contains(devices, name)})
	}
	for i := range k.idle {
		k.list = append(k.list, cluster.Kind{Name: fmt.Sprintf("spare column %d", i+1), PerUnit: 1})
	}
	k.places = cluster.DeviceKinds(k.list)
	k.columns = make([]column, len(k.list)-firstExtended)
	for i, name := range resources {
		k.assign(i, need{resource: name})
	}
	for i, n := range others[:min(len(others), k.idle)] {
		k.assign(k.named+i, n)
	}
	return k
}

// assign lets a column stand for the need.
func (k *Columns) assign(i int, n need) {
	delete(k.of, k.columns[i].need)
	k.clock++
	k.columns[i].need, k.columns[i].since, k.of[n] = n, k.clock, firstExtended+i
}

// free is the spare column that no shape has asked for the longest; those of the
// vector that is being made are not free. It is negative if none is.
func (k *Columns) free(made cluster.Vector) int {
	free := -1
	for i := k.named; i < len(k.columns); i++ {
		if c := &k.columns[i]; c.shapes == 0 && made[firstExtended+i] == 0 && (free < 0 || c.since < k.columns[free].since) {
			free = i
		}
	}
	return free
}

// take returns the column that stands for the need of a pod whose vector is
// being made, what it stood for before, and false if none is left.
func (k *Columns) take(n need, made cluster.Vector) (at int, before need, ok bool) {
	if at, ok := k.of[n]; ok || k.refused[n] {
		return at, n, ok
	}
	i := k.free(made)
	switch {
	case i >= 0:
		before = k.columns[i].need
		k.assign(i, n)
		return firstExtended + i, before, true
	case len(k.columns)-k.named < maxSpare:
		k.stale = "no column is left for " + n.String()
	default:
		k.refused[n] = true
	}
	return 0, n, false
}

// count takes in that a shape that asks for so much came to be, or was forgotten.
func (k *Columns) count(demand cluster.Vector, change int) {
	for i := k.named; i < len(k.columns); i++ {
		c := &k.columns[i]
		if demand[firstExtended+i] == 0 {
			continue
		}
		if c.shapes == 0 {
			k.idle--
		}
		if c.shapes += change; c.shapes == 0 {
			k.idle++
			k.clock++
			c.since = k.clock
		}
	}
	if len(k.refused) > 0 && k.idle >= maxSpare/2 {
		k.stale = "columns are free again for what had none"
	}
}

// spares reports whether the demand takes some of a spare column.
func (k *Columns) spares(demand cluster.Vector) bool {
	return slices.ContainsFunc(demand[firstExtended+k.named:], func(q int64) bool { return q > 0 })
}

// offer counts the resources of a node among what is offered, or out of it. It
// returns those that no other node offers.
func (k *Columns) offer(node *v1.Node, change int) []v1.ResourceName {
	var alone []v1.ResourceName
	r := framework.NewResource(node.Status.Allocatable)
	k.countExcess(node.Name, r, change)
	for name, q := range r.ScalarResources {
		if q == 0 {
			continue
		}
		if k.offers[name] += change; k.offers[name] == 0 {
			delete(k.offers, name)
		} else if k.offers[name] == 1 {
			alone = append(alone, name)
		}
	}
	return alone
}

// next are the columns for a new core: for what pods need, and for what
// nodes offer.
func (k *Columns) next(pods map[types.UID]*Pod, nodes map[string]*node) Columns {
	needed, offers := map[need]bool{}, map[v1.ResourceName]int{}
	for _, p := range pods {
		for _, n := range p.needs {
			needed[n] = true
		}
	}
	for _, n := range nodes {
		for name := range n.object.Status.Allocatable {
			switch name {
			case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods:
			default:
				offers[name]++
			}
		}
	}
	for n := range needed { // those that pods ask for come first
		if n.resource != "" && offers[n.resource] > 0 {
			offers[n.resource] += len(nodes)
		}
	}
	for _, name := range k.devices { // and before them those whose columns are not like others
		offers[name] += 2*len(nodes) + 1
	}
	resources := slices.SortedFunc(maps.Keys(offers), func(a, b v1.ResourceName) int {
		return cmp.Or(cmp.Compare(offers[b], offers[a]), cmp.Compare(a, b))
	})
	named, leftOut := resources, []v1.ResourceName(nil)
	if len(resources) > maxNamed {
		named, leftOut = resources[:maxNamed], resources[maxNamed:]
	}
	slices.SortFunc(named, func(a, b v1.ResourceName) int {
		return cmp.Or(cmp.Compare(k.place(a), k.place(b)), cmp.Compare(a, b))
	})
	for _, name := range named {
		delete(needed, need{resource: name})
	}
	next := newColumns(named, slices.SortedFunc(maps.Keys(needed), compareNeeds), k.devices)
	next.leftOut = slices.DeleteFunc(slices.Clone(leftOut), func(name v1.ResourceName) bool { return needed[need{resource: name}] })
	return next
}

// Kinds are the columns that the present core has to have.
func (k *Columns) Kinds() []cluster.Kind { return k.list }

// Meanings are the columns as they are now, for people.
func (k *Columns) Meanings() []cluster.Kind {
	list := slices.Clone(k.list)
	for i, c := range k.columns {
		if c.need == (need{}) {
			continue
		}
		list[firstExtended+i].Name = c.need.String()
		if c.need.isPort() {
			list[firstExtended+i].PerUnit, list[firstExtended+i].Unit = wholePort, cluster.ExclusiveUnit
		}
	}
	return list
}

// LeftOut lists the resources that nodes offered when the core began and that
// have no column, as there were too many and no pod asked for them.
func (k *Columns) LeftOut() []v1.ResourceName {
	return slices.DeleteFunc(slices.Clone(k.leftOut), func(name v1.ResourceName) bool {
		_, ok := k.of[need{resource: name}]
		return ok
	})
}

// Excess lists which nodes offer more devices than are used, by resource and then by node.
func (k *Columns) Excess() []Excess { return slices.SortedFunc(maps.Keys(k.excess), compareExcess) }

// Refused is how many needs of pods have no column, because all are in use.
func (k *Columns) Refused() int { return len(k.refused) }

// Uncounted names a need of the pod that has no column; it is empty if all have.
func (k *Columns) Uncounted(p *Pod) string {
	for _, n := range p.needs {
		if k.refused[n] {
			return n.String()
		}
	}
	return ""
}

// Stale says why the present core has to be replaced by one that Restart
// fills; it is empty as long as none is needed.
func (k *Columns) Stale() string { return k.stale }
