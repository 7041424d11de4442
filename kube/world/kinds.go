package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
)

// This file says how Kubernetes' resources become quantities of a vector.
// Host ports are columns too. An address-less port excludes every other user
// of its number, so it asks for the whole column; a port on one address asks
// for one unit of it, and for the whole of a column of its own.
//
// Which need a column stands for is said in columns.go.

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

// capacity is a node's vector. It rounds down.
func (k *kinds) capacity(node *v1.Node) cluster.Vector {
	r := framework.NewResource(node.Status.Allocatable)
	v := make(cluster.Vector, len(k.list))
	v[cpuColumn] = clamp(r.MilliCPU)
	v[memoryColumn] = clamp(r.Memory)
	v[storageColumn] = clamp(r.EphemeralStorage)
	v[podsColumn] = clamp(int64(r.AllowedPodNumber))
	for i, c := range k.columns {
		v[firstExtended+i] = c.need.of(r)
	}
	return v
}

// demand is a pod's vector, as upstream's NodeResourcesFit and NodePorts count
// it. It returns false if some of it has no column, or comes from a device where
// a node does not offer it: a vector cannot say "or". A pod that is to be placed
// takes no column for what no node offers.
func (w *World) demand(p *Pod, info *framework.PodInfo) (cluster.Vector, bool) {
	r := judge.Requests(info)
	v := make(cluster.Vector, len(w.kinds.list))
	v[cpuColumn] = clamp(r.MilliCPU)
	v[memoryColumn] = clamp(r.Memory)
	v[storageColumn] = clamp(r.EphemeralStorage)
	v[podsColumn] = 1
	p.needs = p.needs[:0]
	complete := true
	take := func(n need, q, most int64) {
		p.needs = append(p.needs, n)
		c, ok := w.column(n, v)
		if ok {
			v[c] = min(most, v[c]+q)
		}
		complete = complete && ok
	}
	for _, name := range slices.Sorted(maps.Keys(r.ScalarResources)) {
		switch q := clamp(r.ScalarResources[name]); {
		case r.ScalarResources[name] == 0:
		case w.judge.ProvidesDevices(name) || !p.placed() && w.kinds.offers[name] == 0:
			complete = false
		default:
			take(need{resource: name}, q, cluster.MaxQuantity)
		}
	}
	for _, want := range util.GetHostPorts(p.object) {
		for _, share := range portShares(want) {
			take(need{port: share.port}, share.units, wholePort)
		}
	}
	return v, complete
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
	lists := []v1.ResourceList{pod.Spec.Overhead}
	if pod.Spec.Resources != nil {
		lists = append(lists, pod.Spec.Resources.Requests)
	}
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			lists = append(lists, containers[i].Resources.Requests)
		}
	}
	for _, list := range lists {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if q := list[name]; q.CmpInt64(most(name)) > 0 {
				return fmt.Sprintf("it asks for %s of %s, more than any node can have", q.String(), name)
			}
		}
	}
	return ""
}
