package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"fairlead.dev/fairlead/cluster"
)

// This file says how Kubernetes' resources become quantities of a vector.
// Host ports are columns too. An address-less port excludes every other user
// of its number, so it asks for the whole column; a port on one address asks
// for one unit of it, and for the whole of a column of its own. So are the disks of
// a driver that is limited (disks.go).
//
// Which need a column stands for is said in columns.go, and what a pod's vector is in
// shapes.go.

// The columns that every cluster has.
const (
	cpuColumn = iota
	memoryColumn
	storageColumn
	podsColumn
	firstExtended
)

// wholePort is what an address-less port takes of its column: more than the
// number of addresses that any node has.
const wholePort = 1 << 20

// port is a host port. No address means any.
type port struct {
	protocol v1.Protocol
	number   int32
	address  string
}

// String is the port as people write it.
func (p port) String() string {
	return strings.TrimSuffix(fmt.Sprintf("host port %s/%d on %s", p.protocol, p.number, p.address), " on ")
}

// capacity is a node's vector. It rounds down. Devices beyond those that a node may have are
// left alone, see Excess.
func (k *Columns) capacity(n *node) cluster.Vector {
	r := framework.NewResource(n.object.Status.Allocatable)
	v := make(cluster.Vector, len(k.list))
	v[cpuColumn] = clamp(r.MilliCPU)
	v[memoryColumn] = clamp(r.Memory)
	v[storageColumn] = clamp(r.EphemeralStorage)
	v[podsColumn] = clamp(int64(r.AllowedPodNumber))
	for i, c := range k.columns {
		v[firstExtended+i] = c.need.of(n, r)
	}
	for _, of := range k.places {
		v[of.Kind] = min(v[of.Kind], int64(of.Most))
	}
	return v
}

// Excess is that a node offers more devices of a resource than a node may have. Those beyond
// are not used.
type Excess struct {
	Node          string
	Resource      v1.ResourceName
	Offered, Used int64
}

// String is a sentence for the operator.
func (e Excess) String() string {
	return fmt.Sprintf("%s offers %d of %s, of which %d are used", e.Node, e.Offered, e.Resource, e.Used)
}

func compareExcess(a, b Excess) int {
	return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Node, b.Node))
}

// countExcess takes in that a node came to offer these resources, or does so no more.
func (k *Columns) countExcess(node string, r *framework.Resource, change int) {
	for _, of := range k.places {
		name := v1.ResourceName(k.list[of.Kind].Name)
		e := Excess{Node: node, Resource: name, Offered: r.ScalarResources[name], Used: int64(of.Most)}
		switch {
		case change < 0:
			delete(k.excess, e)
		case e.Offered > e.Used:
			k.excess[e] = true
		}
	}
}

type portShare struct {
	port  port
	units int64
}

// portShares lists what one host port takes of which columns.
func portShares(p v1.ContainerPort) []portShare {
	protocol := p.Protocol
	if protocol == "" {
		protocol = v1.ProtocolTCP
	}
	anywhere := port{protocol: protocol, number: p.HostPort}
	if p.HostIP == "" || p.HostIP == "0.0.0.0" {
		return []portShare{{anywhere, wholePort}}
	}
	here := anywhere
	here.address = p.HostIP
	return []portShare{{anywhere, 1}, {here, wholePort}}
}

// clamp keeps absurd quantities within what a vector may hold. What they mean
// is still told apart by upstream's filters, which have the last word.
func clamp(q int64) int64 { return max(0, min(q, cluster.MaxQuantity)) }

// most is what one container may ask for at most: 2⁵⁰ of anything, 2³² cores. A
// thousand of them still add up in 64 bits, in thousandths. Beyond that
// upstream's sums wrap around, and its filters let pass what no node can hold.
func most(name v1.ResourceName) int64 {
	if name == v1.ResourceCPU {
		return 1 << 32
	}
	return 1 << 50
}

// absurd says what the pod asks for that no node can have; it is empty for all
// other pods.
func absurd(pod *v1.Pod) string {
	why := absurdIn(pod.Spec.Overhead)
	if pod.Spec.Resources != nil {
		why = cmp.Or(why, absurdIn(pod.Spec.Resources.Requests))
	}
	for _, containers := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			why = cmp.Or(why, absurdIn(containers[i].Resources.Requests))
		}
	}
	return why
}

// absurdIn says which of the requests no node can meet: of several the first by its name.
func absurdIn(requests v1.ResourceList) string {
	var first v1.ResourceName
	for name, q := range requests {
		if q.CmpInt64(most(name)) > 0 && (first == "" || name < first) {
			first = name
		}
	}
	if first == "" {
		return ""
	}
	q := requests[first]
	return fmt.Sprintf("it asks for %s of %s, more than any node can have", q.String(), first)
}

// place is where a resource stands among those that come in devices, as the configuration lists
// them: the first is the one that policies for devices go by. All others come behind.
func (k *Columns) place(name v1.ResourceName) int {
	if at := slices.Index(k.devices, name); at >= 0 {
		return at
	}
	return len(k.devices)
}
