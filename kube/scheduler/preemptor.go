package scheduler

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"fairlead.dev/fairlead/kube/world"
)

// preemptor is for whom others leave, as kube-scheduler calls it in events, conditions and metrics: a pod, or the pod group that it is of, or the root of the
// composite ones above that.
type preemptor struct {
	pod    *v1.Pod        // that comes to the room
	object runtime.Object // itself, or its group
	uid    types.UID
	kind   fwk.EntityKeyType
}

// preemptorOf is the preemptor whose pod this is. Groups that labels alone make are none to kube-scheduler.
func preemptorOf(p *world.Pod) *preemptor {
	pod, g := p.Object(), p.Group()
	if g == nil || g.Object == nil {
		return &preemptor{pod, pod, pod.UID, fwk.PodKeyType}
	}
	if above := g.Above(); len(above) > 0 {
		root := above[len(above)-1].Object
		return &preemptor{pod, root, root.UID, fwk.CompositePodGroupKeyType}
	}
	return &preemptor{pod, g.Object, g.Object.UID, fwk.PodGroupKeyType}
}
