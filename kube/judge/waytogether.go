package judge

// Who of others would have to leave for pods of a gang that lack devices: nodes and devices are searched for all of these together as if those were gone, and upstream's filters
// are asked of each in the end.

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// TogetherWithout is Together once those pods are gone, and their claims given back. The way has been read.
func TogetherWithout(j *Judge, w *Way, gone map[types.UID]bool, members []Member, s Search) (found *Joint) {
	w.givenBack(j, gone, func() { found = Together(j, members, s) })
	return found
}

// Takes reports whether the node takes the pod of the case with the devices that were chosen for it, room aside, once those pods are gone.
func (c *Case) Takes(node string, choice *Choice, w *Way, gone map[types.UID]*framework.PodInfo) bool {
	info := c.judge.view.byName[node]
	if info == nil {
		return false
	}
	c.judge.steered.choice = choice
	defer func() { c.judge.steered.choice = nil }()
	return c.passes(info, gone, w)
}
