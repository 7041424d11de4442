package judge

// Who would have to leave a node for the sake of one pod, by what whoever decides who leaves cannot count by itself: devices, disks, and rules and resources that
// it has no words for. It is upstream's dry run of an eviction, one node at a time, with two differences: nobody takes room, as that is counted elsewhere, and
// devices are free that nobody has but those who leave, or who are gone already.

import (
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

// Way is who may leave for a pod, or for pods of a gang, and what does not matter. It is for these at one moment.
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

// claimUsers are the claims that have devices, by the pods that use them. Those of the pods that ask, and of groups, are left out, as they are not given back.
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
	if c.judge.steered == nil || !ClaimsDevices(c.judge, c.pod) || !w.Read(c.judge, c.pod) || !w.Idle() {
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

// spare lets those of the list stay who need not go, the first first.
func (c *Case) spare(info *framework.NodeInfo, list []*framework.PodInfo, gone map[types.UID]*framework.PodInfo, w *Way) {
	move := func(some []*framework.PodInfo, goes bool) {
		for _, pod := range some {
			if delete(gone, pod.Pod.UID); goes {
				gone[pod.Pod.UID] = pod
			}
		}
	}
	Spare(list, move, func() bool { return c.passes(info, gone, w) })
}

// Spare lets those of the list stay who need not go, the first first, by halves: most of them have nothing that is lacked. All of them go before, and that is enough. Move has some
// go, or stay.
func Spare[T any](list []T, move func(some []T, goes bool), enough func() bool) {
	if len(list) == 0 {
		return
	}
	if move(list, false); enough() {
		return
	}
	move(list, true)
	if half := len(list) / 2; half > 0 {
		Spare(list[:half], move, enough)
		Spare(list[half:], move, enough)
	}
}

// passes reports whether the node takes the pod of the case without those pods, room aside. Some of them may be on other nodes.
func (c *Case) passes(info *framework.NodeInfo, gone map[types.UID]*framework.PodInfo, w *Way) (passes bool) {
	w.Tries++
	left, uids := info.SnapshotConcrete(), map[types.UID]bool{}
	var here []*framework.PodInfo
	for _, of := range info.Pods {
		if pod := gone[of.GetPod().UID]; pod != nil {
			here = append(here, pod)
		}
	}
	for _, pod := range here {
		if err := left.RemovePod(klog.FromContext(c.judge.ctx), pod.Pod); err != nil {
			return false
		}
	}
	for uid := range gone {
		uids[uid] = true
	}
	c.without(uids, w, func(p *prefilter) {
		if p.refusal != nil || p.names != nil && !p.names.Has(info.Node().Name) {
			return
		}
		for _, pod := range here {
			if !c.judge.full.RunPreFilterExtensionRemovePod(c.judge.ctx, p.state, c.pod, pod, left).IsSuccess() {
				return
			}
		}
		skip(p.state, w.Counted)
		passes = len(c.feasible(p.state, []fwk.NodeInfo{withoutUse(left, w.Taken)}, nil)) > 0
	})
	return passes
}

// without does something with what PreFilter finds once those pods are gone, and their claims given back.
func (c *Case) without(gone map[types.UID]bool, w *Way, do func(*prefilter)) {
	find := func() {
		p := c.judge.prefilter(c.judge.full, c.pod)
		do(&p)
	}
	switch {
	case c.judge.steered == nil || !ClaimsDevices(c.judge, c.pod):
		find()
	case w.Read(c.judge, c.pod):
		w.givenBack(c.judge, gone, find)
	}
}

// givenBack does something while devices are free of claims that only those pods use, or nobody who is there.
func (w *Way) givenBack(j *Judge, gone map[types.UID]bool, do func()) {
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
	j.steered.freed.Store(&freed)
	defer j.steered.freed.Store(nil)
	do()
}

// Read finds out who uses which claims, but those of the pods that ask, and reports whether it is known.
func (w *Way) Read(j *Judge, pods ...*v1.Pod) bool {
	if w.claims != nil {
		return true
	}
	claims, err := j.steered.SharedDRAManager.ResourceClaims().List()
	if err != nil {
		return false
	}
	w.claims = &claimUsers{of: map[types.UID][]*resourceapi.ResourceClaim{}}
	own := map[types.UID]bool{}
	for _, pod := range pods {
		for _, claim := range claimsOf(j, pod) {
			own[claim.UID] = true
		}
	}
	for _, claim := range claims {
		users := claim.Status.ReservedFor
		if claim.Status.Allocation == nil || own[claim.UID] || slices.ContainsFunc(users, func(user resourceapi.ResourceClaimConsumerReference) bool {
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

// Idle reports whether there are claims with devices that nobody uses any more.
func (w *Way) Idle() bool { return len(w.claims.idle) > 0 }

// Uses reports whether the pod uses claims with devices that are given back once all their users are gone.
func (w *Way) Uses(uid types.UID) bool { return len(w.claims.of[uid]) > 0 }

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
