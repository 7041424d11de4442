package judge

// Who would have to leave a node for the sake of one pod, by what whoever decides who leaves cannot count by itself: devices, disks, and rules and resources that
// it has no words for. It is upstream's dry run of an eviction, one node at a time, with two differences: nobody takes room, as that is counted elsewhere, and
// devices are free that nobody has but those who leave, or who are gone already.

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

// Way is who may leave for a pod, and what does not matter. It is for one pod at one moment.
type Way struct {
	// Known says of a pod that it is there.
	Known func(types.UID) bool
	// May are the pods of a node that may leave, those first that are to stay if others do as well.
	May func(node string) []*framework.PodInfo
	// Taken are resources of which what others take counts.
	Taken []v1.ResourceName
	// Counted are the filters that do not matter.
	Counted []string
	// Tries is how often a node was asked whether it takes the pod. Where the pod claims devices, each looks at all that are in use anywhere.
	Tries int

	claims *claimUsers
}

// claimUsers are the claims that have devices, by the pods that use them. Those of the pod that is asked about, and of groups, are left out, as they are not given back.
type claimUsers struct {
	idle []*resourceapi.ResourceClaim // whose users are all gone
	of   map[types.UID][]*resourceapi.ResourceClaim
}

// AboutOthers are the filters that go by which pods are where, beside those by room and devices.
func AboutOthers() []string {
	return []string{names.InterPodAffinity, names.PodTopologySpread, names.VolumeRestrictions, names.NodeVolumeLimits}
}

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
			skip(p.state, append(AboutOthers(), w.Counted...))
			list = c.feasible(p.state, p.left(nodes), nil)
		}
	})
	return list
}

// Soon returns the nodes that take the pod, room aside, as soon as claims are given back whose users are all gone, in the order in which they first reached the judge.
func (c *Case) Soon(w *Way) (list []string) {
	if c.judge.steered == nil || !ClaimsDevices(c.judge, c.pod) || w.claims == nil && !c.readClaims(w) || len(w.claims.idle) == 0 {
		return nil
	}
	c.without(nil, w, func(p *prefilter) {
		if p.refusal != nil {
			return
		}
		var nodes []fwk.NodeInfo
		for _, info := range p.left(c.judge.view.all) {
			nodes = append(nodes, withoutUse(info.(*framework.NodeInfo), w.Taken))
		}
		skip(p.state, w.Counted)
		list = c.feasible(p.state, nodes, nil)
	})
	return list
}

// MakeWay says who of those that may leave the node would have to, so that it takes the pod, room aside. It is false where that would not do.
func (c *Case) MakeWay(node string, w *Way) (must []*framework.PodInfo, ok bool) {
	info := c.judge.view.byName[node]
	if info == nil {
		return nil, false
	}
	may, gone := w.May(node), map[types.UID]*framework.PodInfo{}
	for _, pod := range may {
		gone[pod.Pod.UID] = pod
	}
	if !c.passes(info, gone, w) {
		return nil, false
	}
	c.spare(info, may, gone, w)
	return slices.DeleteFunc(slices.Clone(may), func(pod *framework.PodInfo) bool { return gone[pod.Pod.UID] == nil }), true
}

// spare lets those of the list stay who need not go, the first first, by halves: most of them have nothing that the pod lacks.
func (c *Case) spare(info *framework.NodeInfo, list []*framework.PodInfo, gone map[types.UID]*framework.PodInfo, w *Way) {
	if len(list) == 0 {
		return
	}
	for _, pod := range list {
		delete(gone, pod.Pod.UID)
	}
	if c.passes(info, gone, w) {
		return
	}
	for _, pod := range list {
		gone[pod.Pod.UID] = pod
	}
	if half := len(list) / 2; half > 0 {
		c.spare(info, list[:half], gone, w)
		c.spare(info, list[half:], gone, w)
	}
}

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
		skip(p.state, w.Counted)
		passes = len(c.feasible(p.state, []fwk.NodeInfo{withoutUse(left, w.Taken)}, nil)) > 0
	})
	return passes
}

// without does something with what PreFilter finds where devices are free of claims that only those pods use, or nobody who is there.
func (c *Case) without(gone map[types.UID]bool, w *Way, do func(*prefilter)) {
	if steered := c.judge.steered; steered != nil && ClaimsDevices(c.judge, c.pod) {
		if w.claims == nil && !c.readClaims(w) {
			return
		}
		freed, seen := slices.Clone(w.claims.idle), map[types.UID]bool{}
		for uid := range gone {
			for _, claim := range w.claims.of[uid] {
				if !seen[claim.UID] && !slices.ContainsFunc(claim.Status.ReservedFor, func(user resourceapi.ResourceClaimConsumerReference) bool {
					return !gone[user.UID] && w.Known(user.UID)
				}) {
					freed = append(freed, claim)
				}
				seen[claim.UID] = true
			}
		}
		steered.freed.Store(&freed)
		defer steered.freed.Store(nil)
	}
	p := c.judge.prefilter(c.judge.full, c.pod)
	do(&p)
}

// readClaims finds out who uses which claims.
func (c *Case) readClaims(w *Way) bool {
	claims, err := c.judge.steered.SharedDRAManager.ResourceClaims().List()
	if err != nil {
		return false
	}
	w.claims = &claimUsers{of: map[types.UID][]*resourceapi.ResourceClaim{}}
	own := claimsOf(c.judge, c.pod)
	for _, claim := range claims {
		users := claim.Status.ReservedFor
		if claim.Status.Allocation == nil || slices.ContainsFunc(own, func(o podClaim) bool { return o.UID == claim.UID }) ||
			slices.ContainsFunc(users, func(user resourceapi.ResourceClaimConsumerReference) bool {
				return user.APIGroup != "" || user.Resource != "pods"
			}) {
			continue
		}
		known := false
		for _, user := range users {
			if w.Known(user.UID) {
				w.claims.of[user.UID], known = append(w.claims.of[user.UID], claim), true
			}
		}
		if !known {
			w.claims.idle = append(w.claims.idle, claim)
		}
	}
	return true
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
