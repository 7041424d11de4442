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
)

// This file says how Kubernetes' resources become the columns of a vector.
// Host ports are columns too. An address-less port excludes every other user
// of its number, so it asks for the whole column; a port on one address asks
// for one unit of it, and for the whole of a column of its own.
//
// The columns are fixed while a core lives. Columns for ports are set aside in
// advance and take on a meaning when a port is first met; an extended resource
// that no column stands for asks for a new core, see World.Stale.

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

const (
	sparePorts = 8
	// maxPorts bounds the vectors. A pod that asks for a port beyond it is
	// judged by the full filters instead.
	maxPorts = 512
)

// port is what a column of ports stands for. No address means any.
type port struct {
	protocol v1.Protocol
	number   int32
	address  string
}

// String is the port as people write it.
func (p port) String() string {
	return strings.TrimSuffix(fmt.Sprintf("host port %s/%d on %s", p.protocol, p.number, p.address), " on ")
}

// kinds maps resources and ports to columns.
type kinds struct {
	list      []cluster.Kind
	extended  map[v1.ResourceName]int
	ports     map[port]int
	firstPort int
}

// newKinds makes the columns for the given extended resources and ports, with
// as many to spare as are in use.
func newKinds(extended []v1.ResourceName, ports []port) kinds {
	k := kinds{
		list: []cluster.Kind{
			{Name: "cpu", Unit: "cores", PerUnit: 1000},
			{Name: "memory", Unit: "GiB", PerUnit: 1 << 30},
			{Name: "ephemeral-storage", Unit: "GiB", PerUnit: 1 << 30},
			{Name: "pods", Unit: "pods", PerUnit: 1},
		},
		extended: map[v1.ResourceName]int{},
		ports:    map[port]int{},
	}
	slices.Sort(extended)
	for _, name := range slices.Compact(extended) {
		k.extended[name] = len(k.list)
		k.list = append(k.list, cluster.Kind{Name: string(name), PerUnit: 1})
	}
	k.firstPort = len(k.list)
	for i := range min(maxPorts, max(sparePorts, 2*len(ports))) {
		k.list = append(k.list, cluster.Kind{Name: fmt.Sprintf("host port %d", i+1), PerUnit: wholePort})
	}
	for _, p := range ports {
		k.column(p)
	}
	return k
}

// column returns the port's column, and false if none is left.
func (k *kinds) column(p port) (int, bool) {
	if c, ok := k.ports[p]; ok {
		return c, true
	}
	c := k.firstPort + len(k.ports)
	if c >= len(k.list) {
		return 0, false
	}
	k.ports[p] = c
	k.list[c].Name = p.String()
	return c, true
}

// lacks reports whether the port has no column and gets none.
func (k *kinds) lacks(share portShare) bool {
	_, ok := k.column(share.port)
	return !ok
}

// full reports whether more columns for ports could be made by a new core.
func (k *kinds) full() bool { return len(k.list)-k.firstPort >= maxPorts }

// capacity is a node's vector. It rounds down.
func (k *kinds) capacity(node *v1.Node) cluster.Vector {
	r := framework.NewResource(node.Status.Allocatable)
	v := make(cluster.Vector, len(k.list))
	v[cpuColumn] = clamp(r.MilliCPU)
	v[memoryColumn] = clamp(r.Memory)
	v[storageColumn] = clamp(r.EphemeralStorage)
	v[podsColumn] = clamp(int64(r.AllowedPodNumber))
	for name, q := range r.ScalarResources {
		if c, ok := k.extended[name]; ok {
			v[c] = clamp(q)
		}
	}
	for c := k.firstPort; c < len(v); c++ {
		v[c] = wholePort
	}
	return v
}

// demand is a pod's vector, as upstream's NodeResourcesFit and NodePorts count
// it. It returns false if some of it has no column, or comes from a device where
// a node does not offer it: a vector cannot say "or".
func (k *kinds) demand(pod *v1.Pod, r *framework.Resource, device func(v1.ResourceName) bool) (cluster.Vector, bool) {
	v := make(cluster.Vector, len(k.list))
	complete := true
	v[cpuColumn] = clamp(r.MilliCPU)
	v[memoryColumn] = clamp(r.Memory)
	v[storageColumn] = clamp(r.EphemeralStorage)
	v[podsColumn] = 1
	for name, q := range r.ScalarResources {
		c, ok := k.extended[name]
		ok = ok && !device(name)
		if ok {
			v[c] = clamp(q)
		}
		complete = complete && (ok || q == 0)
	}
	for _, want := range util.GetHostPorts(pod) {
		for _, share := range portShares(want) {
			c, ok := k.column(share.port)
			if ok {
				v[c] = min(wholePort, v[c]+share.units)
			}
			complete = complete && ok
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
