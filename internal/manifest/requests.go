package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file adds up what a pod asks for by Kubernetes' own rule: the containers
// and sidecars together, or the largest moment of starting, when an init
// container runs beside the sidecars before it; for cpu, memory and huge pages
// what the pod asks for as a whole, if it does; and the overhead. A pod that is
// being resized counts as its spec says.

// Amounts are so much of each resource.
type Amounts map[string]Amount

func (a Amounts) plus(other Amounts) {
	for name, q := range other {
		a[name] = a[name].plus(q)
	}
}

func (a Amounts) atLeast(other Amounts) {
	for name, q := range other {
		if a[name].less(q) {
			a[name] = q
		}
	}
}

// ParseAll reads the quantities of a field.
func ParseAll(field string, texts map[string]Quantity) (Amounts, error) {
	all := make(Amounts, len(texts))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		q, ok := texts[name].parse()
		if !ok {
			return nil, FieldError{field + "." + name, "a quantity that is not negative, such as 2, 500m or 1.5Gi", string(texts[name])}
		}
		all[name] = q
	}
	return all, nil
}

// Requests is what the pod asks for.
func (s *Spec) Requests() (Amounts, error) {
	total := Amounts{}
	for i := range s.Containers {
		own, err := ParseAll(fmt.Sprintf("spec.containers[%d].resources.requests", i), s.Containers[i].Resources.Requests)
		if err != nil {
			return nil, err
		}
		total.plus(own)
	}
	starting, sidecars := Amounts{}, Amounts{}
	for i := range s.InitContainers {
		c := &s.InitContainers[i]
		own, err := ParseAll(fmt.Sprintf("spec.initContainers[%d].resources.requests", i), c.Resources.Requests)
		if err != nil {
			return nil, err
		}
		if c.isSidecar() {
			total.plus(own)
			sidecars.plus(own)
			own = sidecars
		} else {
			own.plus(sidecars)
		}
		starting.atLeast(own)
	}
	total.atLeast(starting)
	whole, err := ParseAll("spec.resources.requests", s.Resources.Requests)
	if err != nil {
		return nil, err
	}
	for name, q := range whole {
		if name == "cpu" || name == "memory" || strings.HasPrefix(name, "hugepages-") {
			total[name] = q
		}
	}
	overhead, err := ParseAll("spec.overhead", s.Overhead)
	if err != nil {
		return nil, err
	}
	total.plus(overhead)
	return total, nil
}

// isSidecar reports whether an init container runs on beside the others.
func (c *Container) isSidecar() bool { return c.RestartPolicy == "Always" }

// The resources that every cluster has.
const (
	CPUName     = "cpu"
	memoryName  = "memory"
	StorageName = "ephemeral-storage"
	PodsName    = "pods"
	GPUName     = "nvidia.com/gpu"
)

// Maxima are the resources that a cluster has, with how many whole ones of each a node offers or a pod asks
// for at most.
type Maxima map[string]int64

// Note takes in what a node offers or a pod asks for.
func (r Maxima) Note(all Amounts) {
	for name, q := range all {
		if !q.IsZero() {
			r[name] = max(r[name], q.Whole)
		}
	}
}

// Kinds returns the kinds for these resources, cpu, memory and pods among them, in a fixed order. Those
// that are named come in devices, unless there are too many to tell them apart.
func (r Maxima) Kinds(devices []string) []cluster.Kind {
	kinds := []cluster.Kind{
		{Name: CPUName, Unit: "cores", PerUnit: 1000},
		{Name: memoryName, Unit: "GiB", PerUnit: 1 << 30},
		{Name: PodsName, Unit: "pods", PerUnit: 1},
	}
	devices = r.inDevices(devices)
	names, next := slices.Sorted(maps.Keys(r)), 0
	for i, name := range names {
		if slices.Contains(devices, name) { // among each other devices keep the order in which they are named
			names[i] = devices[next]
			next++
		}
	}
	for _, name := range names {
		unit := "units"
		if name == GPUName {
			unit = "GPUs"
		}
		switch {
		case name == CPUName || name == memoryName || name == PodsName:
		case name == StorageName || strings.HasPrefix(name, "hugepages-"):
			kinds = append(kinds, cluster.Kind{Name: name, Unit: "GiB", PerUnit: 1 << 30})
		case slices.Contains(devices, name):
			kinds = append(kinds, cluster.Kind{Name: name, Unit: unit, PerUnit: 1000, Devices: true})
		default:
			kinds = append(kinds, cluster.Kind{Name: name, PerUnit: 1})
		}
	}
	return kinds
}

// inDevices are those of the named resources that come in devices. A node has an equal share of
// cluster.MaxDevices of each of them; the one of which some node or pod has the most is left out as long as
// that is more, as nodes may have it that share theirs by time.
func (r Maxima) inDevices(named []string) []string {
	list := slices.DeleteFunc(slices.Clone(named), func(name string) bool { _, there := r[name]; return !there })
	for len(list) > 0 {
		most := slices.MaxFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(r[a], r[b]), cmp.Compare(b, a)) })
		if r[most] <= int64(cluster.MaxDevices/len(list)) {
			break
		}
		list = slices.DeleteFunc(list, func(name string) bool { return name == most })
	}
	return list
}

// partsOf is in how many parts of a unit of Kubernetes the kind is counted.
func partsOf(k cluster.Kind) int64 {
	if k.Name == CPUName || k.Devices {
		return 1000
	}
	return 1
}

// CapacityOf rounds down, and counts what is beyond counting as the most there
// can be. Of devices it has whole ones.
func CapacityOf(k cluster.Kind, a Amount) int64 {
	q, _ := a.in(partsOf(k), false, cluster.MaxQuantity)
	if k.Devices {
		q -= q % k.PerUnit
	}
	return q
}

// DemandOf rounds up, devices to whole ones.
func DemandOf(k cluster.Kind, a Amount) (int64, bool) {
	q, ok := a.in(partsOf(k), true, cluster.MaxQuantity-1000)
	if k.Devices {
		q = (q + k.PerUnit - 1) / k.PerUnit * k.PerUnit
	}
	return q, ok
}
