package world

import (
	"maps"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"fairlead.dev/fairlead/kube/judge"
)

// This file spares reading what pods of one owner have in common. That upstream adds up what a plain pod requests, and signs it, costs
// more than all else that becomes of it until it is decided. The pods of an owner mostly ask for the same, and share it.

// reading is what was read of a pod.
type reading struct {
	info *framework.PodInfo // with what it requests
	// local is its key among those that node-local filters judge alike, wherever it is; empty until it is asked for.
	local string
}

// readings keeps, of each owner, what was read of its pod that came last; those without an owner are as of one.
type readings map[types.UID]*reading

// mostReadings are kept at a time.
const mostReadings = 10_000

// share takes over for a pod that is new what was read of the one before, as far as it is the same.
func (r readings) share(p *Pod) {
	if p.object.UID == "" || hasSizes(&p.object.Status) {
		return
	}
	owner := types.UID("")
	if of := metav1.GetControllerOfNoCopy(p.object); of != nil {
		owner = of.UID
	}
	last := r[owner]
	switch {
	case last != nil && isSame(last.info.Pod, p.object):
		p.reading, p.info = last, like(last.info, p.object)
		return
	case last != nil && isPlain(last.info.Pod) && isPlain(p.object) && requestSame(last.info.Pod, p.object):
		p.info = like(last.info, p.object)
	default:
		info, err := p.read()
		if err != nil {
			return
		}
		judge.Requests(info)
	}
	if len(r) >= mostReadings { // most of them of owners that are gone
		clear(r)
	}
	p.reading = &reading{info: p.info}
	r[owner] = p.reading
}

// like is what was read of one pod as of another one, with what it requests.
func like(info *framework.PodInfo, pod *v1.Pod) *framework.PodInfo {
	of := *info
	of.Pod = pod
	return &of
}

// localKey is the key of the pod among those that node-local filters judge alike, wherever it is.
func (p *sight) localKey(j *judge.Judge) string {
	if p.reading != nil && p.reading.local != "" {
		return p.reading.local
	}
	object := p.object
	if object.Spec.NodeName != "" {
		anywhere := *object
		anywhere.Spec.NodeName = ""
		object = &anywhere
	}
	key := j.LocalKey(object)
	if p.reading != nil && p.info != nil && p.info.Pod == p.object && !strings.HasSuffix(key, string(p.object.UID)) { // else it is the pod's own
		p.reading.local = key
	}
	return key
}

// hasSizes reports whether the status says what the pod was given, other than what its spec asks for.
func hasSizes(s *v1.PodStatus) bool {
	return len(s.ContainerStatuses)+len(s.InitContainerStatuses)+len(s.NodeAllocatableResourceClaimStatuses) > 0 || s.Resources != nil || s.AllocatedResources != nil
}

// isSame reports whether two pods are the same to upstream, but for their names and labels, and the nodes they are on. It may say no of some that are.
func isSame(a, b *v1.Pod) bool {
	if a.Namespace != b.Namespace || len(a.Spec.Volumes) != len(b.Spec.Volumes) || a.Spec.Hostname != b.Spec.Hostname {
		return false
	}
	spec := &a.Spec
	if spec.NodeName != b.Spec.NodeName {
		placed := *spec
		placed.NodeName = b.Spec.NodeName
		spec = &placed
	}
	return reflect.DeepEqual(spec, &b.Spec) // the API's own equality takes longer than what it would spare
}

// isPlain reports whether the requests of a pod's containers say all that goes into its sum, and nothing else is read of it.
func isPlain(pod *v1.Pod) bool {
	spec := &pod.Spec
	return len(spec.InitContainers) == 0 && spec.Overhead == nil && spec.Resources == nil &&
		(spec.Affinity == nil || spec.Affinity.PodAffinity == nil && spec.Affinity.PodAntiAffinity == nil)
}

// requestSame reports whether two plain pods request the same.
func requestSame(a, b *v1.Pod) bool {
	if len(a.Spec.Containers) != len(b.Spec.Containers) {
		return false
	}
	for i := range a.Spec.Containers {
		if !maps.EqualFunc(a.Spec.Containers[i].Resources.Requests, b.Spec.Containers[i].Resources.Requests, equalQuantity) {
			return false
		}
	}
	return true
}
