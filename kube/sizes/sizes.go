// Package sizes says how a pod grows and shrinks while it runs: from the requests that it came with to so many times as much, with its limits in proportion, so that its QoS class stays what it is; and which pods do not.
//
// What a pod came with is not to be seen any more once it has grown. So it is written into a condition of the pod before that, which those who make pods may not write: that was promised to it, and what it has beyond may be taken back.
package sizes

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
)

// Factors are to how many times as much requests may grow, in hundredths; 0, or 100, is that they stay as they are.
type Factors struct{ CPU, Memory int64 }

// None reports whether nothing grows by them.
func (f Factors) None() bool { return f.CPU <= same && f.Memory <= same }

// same is the factor by which nothing grows.
const same = 100

// Amount is so much of what grows: thousandths of a core, and bytes.
type Amount struct{ CPU, Memory int64 }

// kind is a resource that grows: in which unit, and by which factor.
type kind struct {
	name   v1.ResourceName
	unit   int64
	factor int64
	format resource.Format
}

// mebi is the unit in which memory grows: kernels count it in pages, and a limit of another number of bytes would never be quite what was asked for.
const mebi = 1 << 20

// kinds are those that grow.
func (f Factors) kinds() []kind {
	all := []kind{{v1.ResourceCPU, 1, f.CPU, resource.DecimalSI}, {v1.ResourceMemory, mebi, f.Memory, resource.BinarySI}}
	return slices.DeleteFunc(all, func(k kind) bool { return k.factor <= same })
}

// largest is how much of it one container may have at most, in thousandths of a core or in bytes: a thousand of them still add up in 64 bits.
const largest = 1 << 50

// of is how much of it there is.
func (k kind) of(list v1.ResourceList) int64 {
	q := list[k.name]
	if k.name == v1.ResourceCPU {
		if q.CmpInt64(math.MaxInt64/1000) > 0 {
			return math.MaxInt64
		}
		return q.MilliValue()
	}
	return q.Value()
}

// quantity is so much of it.
func (k kind) quantity(of int64) resource.Quantity {
	if k.name == v1.ResourceCPU {
		return *resource.NewMilliQuantity(of, k.format)
	}
	return *resource.NewQuantity(of, k.format)
}

// in is the part of an amount that is of the kind.
func (k kind) in(a *Amount) *int64 {
	if k.name == v1.ResourceCPU {
		return &a.CPU
	}
	return &a.Memory
}

// Range is between which sizes a pod is.
type Range struct {
	factors Factors
	// least is what each container came with of what grows, by its place in the pod.
	least []v1.ResourceRequirements
}

// Of is the range of a pod whose class has these factors, or why it stays as it is.
func Of(pod *v1.Pod, by Factors) (*Range, error) {
	if err := mayGrow(pod, by); err != nil {
		return nil, err
	}
	r := &Range{by, cameWith(pod, by)}
	if err := r.countable(pod); err != nil {
		return nil, err
	}
	least, most := r.Pod(pod, r.Least()), r.Pod(pod, r.Most())
	if was, is := qos.ComputePodQOS(pod), qos.ComputePodQOS(most); was != is {
		return nil, fmt.Errorf("its QoS class would change from %s to %s", was, is)
	}
	takes, may := resourcehelper.PodRequests(least, resourcehelper.PodResourcesOptions{}), resourcehelper.PodRequests(most, resourcehelper.PodResourcesOptions{})
	for _, k := range by.kinds() {
		if k.of(may)-k.of(takes) != *k.in(new(r.Most()))-*k.in(new(r.Least())) {
			return nil, fmt.Errorf("its init containers request more %s than its containers, so that these would have to outgrow them first", k.name)
		}
	}
	return r, nil
}

// countable says of what the pod came with why it cannot grow.
func (r *Range) countable(pod *v1.Pod) error {
	for _, k := range r.factors.kinds() {
		some := false
		for i := range r.least {
			requests, limit, name := k.of(r.least[i].Requests), k.of(r.least[i].Limits), pod.Spec.Containers[i].Name
			some = some || requests > 0
			switch {
			case share(max(requests, limit), k.factor, same) > largest:
				return fmt.Errorf("container %s could grow to more %s than any node has", name, k.name)
			case requests%k.unit != 0:
				return fmt.Errorf("container %s requests %d bytes of memory, which is no whole number of Mi", name, requests)
			}
		}
		if !some {
			return fmt.Errorf("no container of it requests any %s, of which there could be more", k.name)
		}
	}
	return nil
}

// OwnersMarks are the annotations by which a VerticalPodAutoscaler says that it owns the size of a pod.
func OwnersMarks() []string {
	return []string{"vpaObservedContainers", "vpaUpdates", "vpaInPlaceUpdated"}
}

// Owner is the annotation by which it says so of the pod; empty if it does not.
func Owner(pod *v1.Pod) string {
	if len(pod.Annotations) == 0 {
		return ""
	}
	for _, mark := range OwnersMarks() {
		if _, marked := pod.Annotations[mark]; marked {
			return mark
		}
	}
	return ""
}

// mayGrow says why a pod stays as it is.
func mayGrow(pod *v1.Pod, by Factors) error {
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		return fmt.Errorf("it has resources of the pod as a whole (spec.resources)")
	}
	if pod.Spec.OS != nil && pod.Spec.OS.Name == v1.Windows {
		return fmt.Errorf("pods of Windows cannot be resized")
	}
	if mark := Owner(pod); mark != "" {
		return fmt.Errorf("a VerticalPodAutoscaler owns its size (annotation %s)", mark)
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		for _, k := range by.kinds() {
			restarts := slices.ContainsFunc(c.ResizePolicy, func(p v1.ContainerResizePolicy) bool {
				return p.ResourceName == k.name && p.RestartPolicy == v1.RestartContainer
			})
			if restarts && k.of(c.Resources.Requests) > 0 {
				return fmt.Errorf("container %s would be restarted to change its %s (resizePolicy)", c.Name, k.name)
			}
		}
	}
	return nil
}

// Least is what the containers came with, in all.
func (r *Range) Least() (all Amount) {
	for _, k := range r.factors.kinds() {
		for i := range r.least {
			*k.in(&all) += k.of(r.least[i].Requests)
		}
	}
	return all
}

// Most is to what they may grow, in all.
func (r *Range) Most() Amount {
	all := r.Least()
	for _, k := range r.factors.kinds() {
		most := k.in(&all)
		*most = share(*most, k.factor, same) / k.unit * k.unit
	}
	return all
}

// Requested is what the containers of the pod request of what grows, as its spec has it.
func (r *Range) Requested(pod *v1.Pod) (all Amount) {
	for _, k := range r.factors.kinds() {
		for i := range pod.Spec.Containers {
			*k.in(&all) += k.of(pod.Spec.Containers[i].Resources.Requests)
		}
	}
	return all
}

// Granted is what its kubelet has granted to the containers; what they request, of those that it says nothing of.
func (r *Range) Granted(pod *v1.Pod) (all Amount) {
	for _, k := range r.factors.kinds() {
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			list := c.Resources.Requests
			at := slices.IndexFunc(pod.Status.ContainerStatuses, func(s v1.ContainerStatus) bool { return s.Name == c.Name })
			if at >= 0 && pod.Status.ContainerStatuses[at].AllocatedResources != nil {
				list = pod.Status.ContainerStatuses[at].AllocatedResources
			}
			*k.in(&all) += k.of(list)
		}
	}
	return all
}

// Containers is what each container requests, and may use, where they request so much in all: as much more than what they came with in proportion, and limits in proportion to requests.
func (r *Range) Containers(a Amount) []v1.ResourceRequirements {
	all := make([]v1.ResourceRequirements, len(r.least))
	for _, k := range r.factors.kinds() {
		least, sum := *k.in(new(r.Least())), *k.in(&a)
		left := sum
		for i := range r.least {
			came := k.of(r.least[i].Requests)
			if came == 0 {
				continue
			}
			gets := share(came, sum, least) / k.unit * k.unit
			if r.isLast(i, k) {
				gets = left
			}
			left -= gets
			put(&all[i].Requests, k, gets)
			switch limit := k.of(r.least[i].Limits); {
			case limit == came:
				put(&all[i].Limits, k, gets)
			case limit > 0:
				put(&all[i].Limits, k, (share(limit, gets, came)+k.unit-1)/k.unit*k.unit)
			}
		}
	}
	return all
}

// isLast reports whether no later container requests some of the kind.
func (r *Range) isLast(i int, k kind) bool {
	return !slices.ContainsFunc(r.least[i+1:], func(l v1.ResourceRequirements) bool { return k.of(l.Requests) > 0 })
}

// share is a × b / c, or the largest number if that is larger.
func share(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	whole, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(whole, math.MaxInt64))
}

func put(list *v1.ResourceList, k kind, of int64) {
	if *list == nil {
		*list = v1.ResourceList{}
	}
	(*list)[k.name] = k.quantity(of)
}

// Pod is the pod as if its containers requested so much, and had been given it.
func (r *Range) Pod(pod *v1.Pod, a Amount) *v1.Pod {
	sized := *pod
	sized.Spec.Containers = slices.Clone(pod.Spec.Containers)
	for i, now := range r.Containers(a) {
		of := &sized.Spec.Containers[i].Resources
		of.Requests, of.Limits = merged(of.Requests, now.Requests), merged(of.Limits, now.Limits)
	}
	sized.Status.ContainerStatuses, sized.Status.Resources, sized.Status.AllocatedResources = nil, nil, nil
	sized.Status.Conditions = slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c v1.PodCondition) bool {
		return c.Type == v1.PodResizePending || c.Type == v1.PodResizeInProgress
	})
	return &sized
}

// merged is the list with other quantities of what is in the second one.
func merged(list, with v1.ResourceList) v1.ResourceList {
	if len(with) == 0 {
		return list
	}
	list = maps.Clone(list)
	if list == nil {
		list = v1.ResourceList{}
	}
	maps.Copy(list, with)
	return list
}
