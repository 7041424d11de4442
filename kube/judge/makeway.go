package judge

// Who would have to leave a node for the sake of one pod, by what whoever decides who leaves cannot count by itself: devices, disks, and rules and resources that
// it has no words for. It is upstream's dry run of an eviction, one node at a time, with two differences: nobody takes room, as that is counted elsewhere, and
// devices are free that nobody but those who leave have, or who are gone already.

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/utils/ptr"
)

// Way is who may leave for a pod, and what does not matter.
type Way struct {
	// Stays says of a pod that it is there, and goes on: it is not gone, nor about to be.
	Stays func(types.UID) bool
	// May are the pods of a node that may leave, those first that are to stay if others do as well.
	May func(node string) []*framework.PodInfo
	// Taken are resources of which what others take counts.
	Taken []v1.ResourceName
	// Counted are the filters that do not matter.
	Counted []string
	// Tries is how often MakeWay has asked whether the node takes the pod. Where the pod claims devices, each looks at all that are in use anywhere.
	Tries int
}

// aboutOthers are the filters that go by who else is there.
var aboutOthers = []string{names.InterPodAffinity, names.PodTopologySpread, names.VolumeRestrictions, names.NodeVolumeLimits}

// Clearable returns the nodes that might take the pod once all have left who may, in the order in which they first reached the judge. Of some of them MakeWay
// says that they do not.
func (c *Case) Clearable(w *Way) []string {
	nodes, gone := []fwk.NodeInfo(nil), map[types.UID]bool{}
	for _, info := range c.judge.view.all {
		may := w.May(info.Node().Name)
		if len(may) == 0 {
			continue
		}
		for _, pod := range may {
			gone[pod.Pod.UID] = true
		}
		nodes = append(nodes, withoutUse(info.(*framework.NodeInfo), nil))
	}
	if len(nodes) == 0 {
		return nil
	}
	var list []string
	c.without(gone, w, func(p *prefilter) {
		if p.refusal == nil {
			p.state.SetSkipFilterPlugins(p.state.GetSkipFilterPlugins().Union(sets.New(append(aboutOthers, w.Counted...)...)))
			list = c.feasible(p.state, p.left(nodes), nil)
		}
	})
	return list
}

// MakeWay says who of those that may leave the node would have to, so that it takes the pod, room aside. It is false where that would not do. Where nobody would have to, the node takes
// the pod as soon as the claims of those are given back who are gone.
func (c *Case) MakeWay(node string, w *Way) (must []*framework.PodInfo, ok bool) {
	info, may := c.judge.view.byName[node], w.May(node)
	if info == nil {
		return nil, false
	}
	gone := map[types.UID]*framework.PodInfo{}
	for _, pod := range may {
		gone[pod.Pod.UID] = pod
	}
	if !c.passes(info, gone, w) {
		return nil, false
	}
	tries := [][]*framework.PodInfo{{}} // who is let stay after all: most of them have nothing that the pod lacks
	for _, pod := range may {
		if c.has(pod.Pod) {
			tries = append(tries, []*framework.PodInfo{pod})
		} else {
			tries[0] = append(tries[0], pod)
		}
	}
	for at := 0; at < len(tries); at++ {
		left := maps.Clone(gone)
		for _, pod := range tries[at] {
			delete(left, pod.Pod.UID)
		}
		switch {
		case len(left) == len(gone):
		case c.passes(info, left, w):
			gone = left
		case len(tries[at]) > 1: // one by one
			for _, pod := range tries[at] {
				tries = append(tries, []*framework.PodInfo{pod})
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(may), func(pod *framework.PodInfo) bool { return gone[pod.Pod.UID] == nil }), true
}

// has reports whether the pod has devices, which others may lack.
func (c *Case) has(pod *v1.Pod) bool { return ClaimsDevices(c.judge, pod) }

// passes reports whether the node takes the pod of the case without those pods, room aside.
func (c *Case) passes(info *framework.NodeInfo, gone map[types.UID]*framework.PodInfo, w *Way) (passes bool) {
	w.Tries++
	left := info.SnapshotConcrete()
	uids := map[types.UID]bool{}
	for _, uid := range slices.Sorted(maps.Keys(gone)) {
		uids[uid] = true
		if err := left.RemovePod(klog.FromContext(c.judge.ctx), gone[uid].Pod); err != nil {
			return false
		}
	}
	c.without(uids, w, func(p *prefilter) {
		if p.refusal != nil || p.names != nil && !p.names.Has(info.Node().Name) {
			return
		}
		for _, uid := range slices.Sorted(maps.Keys(gone)) {
			if !c.judge.full.RunPreFilterExtensionRemovePod(c.judge.ctx, p.state, c.pod, gone[uid], left).IsSuccess() {
				return
			}
		}
		p.state.SetSkipFilterPlugins(p.state.GetSkipFilterPlugins().Union(sets.New(w.Counted...)))
		passes = len(c.feasible(p.state, []fwk.NodeInfo{withoutUse(left, w.Taken)}, nil)) > 0
	})
	return passes
}

// without does something with what PreFilter finds where devices are free of claims that only those pods use, or nobody who stays.
func (c *Case) without(gone map[types.UID]bool, w *Way, do func(*prefilter)) {
	if steered := c.judge.steered; steered != nil && ClaimsDevices(c.judge, c.pod) {
		claims, err := steered.SharedDRAManager.ResourceClaims().List()
		if err != nil {
			return
		}
		freed := slices.DeleteFunc(claims, func(claim *resourceapi.ResourceClaim) bool {
			return claim.Status.Allocation == nil || slices.ContainsFunc(claim.Status.ReservedFor, func(user resourceapi.ResourceClaimConsumerReference) bool {
				return user.APIGroup != "" || user.Resource != "pods" || !gone[user.UID] && w.Stays(user.UID)
			})
		})
		steered.freed.Store(&freed)
		defer steered.freed.Store(nil)
	}
	p := c.judge.prefilter(c.judge.full, c.pod)
	do(&p)
}

// freedClaims are claims of which some are as good as given back.
type freedClaims struct {
	fwk.ResourceClaimTracker
	freed []*resourceapi.ResourceClaim
}

// ListAllAllocatedDevices are the devices in use.
func (f freedClaims) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	all, err := f.ResourceClaimTracker.ListAllAllocatedDevices()
	for _, claim := range f.freed {
		for _, d := range allocated(claim) {
			all.Delete(structured.MakeDeviceID(d.Driver, d.Pool, d.Device))
		}
	}
	return all, err //nolint:wrapcheck // upstream's to upstream
}

// GatherAllocatedState is what is in use of devices.
func (f freedClaims) GatherAllocatedState() (*structured.AllocatedState, error) {
	state, err := f.ResourceClaimTracker.GatherAllocatedState()
	if err != nil {
		return nil, err //nolint:wrapcheck // upstream's to upstream
	}
	for _, claim := range f.freed {
		for _, d := range allocated(claim) {
			id := structured.MakeDeviceID(d.Driver, d.Pool, d.Device)
			shared := structured.MakeSharedDeviceID(id, d.ShareID)
			switch {
			case d.ShareID == nil || !state.AllocatedSharedDeviceIDs.Has(shared):
				state.AllocatedDevices.Delete(id)
			case d.ConsumedCapacity != nil:
				state.AggregatedCapacity.Remove(structured.NewDeviceConsumedCapacity(id, d.ConsumedCapacity))
				fallthrough
			default:
				state.AllocatedSharedDeviceIDs.Delete(shared)
			}
		}
	}
	return state, nil
}

// allocated are the devices that the claim keeps others from.
func allocated(claim *resourceapi.ResourceClaim) []resourceapi.DeviceRequestAllocationResult {
	return slices.DeleteFunc(slices.Clone(claim.Status.Allocation.Devices.Results), func(d resourceapi.DeviceRequestAllocationResult) bool {
		return ptr.Deref(d.AdminAccess, false)
	})
}
