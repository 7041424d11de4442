package judge

// From commit to bind: volumes that wait for their first consumer and resource claims must be reserved for the pod and written to the API server before
// it is bound. A reservation holds the plugins' state for one pod, so that it can be carried to the goroutine that binds while the loop goes on.

import (
	"cmp"
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	fwk "k8s.io/kube-scheduler/framework"
)

// Reservation is a pod on its way to a node. Its methods may run on any goroutine, one at a time.
type Reservation struct {
	judge *Judge
	// state is nil for a pod that no plugin reserves anything for.
	state fwk.CycleState
	pod   *v1.Pod
	node  string
	// claims are those of devices that the pod has, as they were before.
	claims []*resourceapi.ResourceClaim
}

// SetsAside reports whether Reserve sets anything aside for the pod.
func (j *Judge) SetsAside(pod *v1.Pod) bool { return j.personal(pod) }

// Reserve lets the plugins set aside for the pod what it needs on the node, after LastWord said yes to the same pod and node. It comes before AddPod, as
// it runs every filter once more, unless LastWord was the last thing that was asked. On a refusal everything is given back already and there is no reservation.
func (j *Judge) Reserve(ctx context.Context, c *Case, pod *v1.Pod, node string) (*Reservation, *fwk.Status) {
	if !j.SetsAside(pod) {
		return &Reservation{judge: j, pod: pod, node: node}, nil
	}
	// The state must be this pod's own and must have passed Filter on this node, where VolumeBinding finds the volumes.
	if c.upkeep.stale || c.choice != nil || c.passed != (passage{pod.UID, node, j.reservations}) {
		if status := c.LastWord(pod, node); !status.IsSuccess() {
			return nil, status
		}
	}
	// Plugins read the node from the pod, as upstream's assumed pod has it.
	assumed := *pod // of which they change nothing
	assumed.Spec.NodeName = node
	r := &Reservation{judge: j, state: c.state, pod: &assumed, node: node, claims: claimsOf(j, pod)}
	// The case gets a state of its own at its next query; this one belongs to the reservation from now on.
	c.upkeep.stale = true
	j.reservations++
	if status := j.full.RunReservePluginsReserve(ctx, r.state, r.pod, node); !status.IsSuccess() {
		r.Unreserve(ctx)
		return nil, status
	}
	return r, nil
}

// Empty reports whether nothing was set aside, so that PreBind has nothing to wait for.
func (r *Reservation) Empty() bool { return r.state == nil }

// PreBind writes what was reserved to the API server and waits for what must happen there before the pod can be bound, which may take minutes for a new
// volume. On a failure the caller calls Unreserve.
func (r *Reservation) PreBind(ctx context.Context) *fwk.Status {
	if r.state == nil {
		return nil
	}
	status := r.judge.full.RunPreBindPreFlights(ctx, r.state, r.pod, r.node)
	if status.IsSkip() {
		return nil
	}
	if !status.IsSuccess() {
		return status
	}
	return r.judge.full.RunPreBindPlugins(ctx, r.state, r.pod, r.node)
}

// Unreserve gives back what was reserved.
func (r *Reservation) Unreserve(ctx context.Context) {
	if r.state != nil {
		r.judge.full.RunReservePluginsUnreserve(ctx, r.state, r.pod, r.node)
	}
}

// Release takes devices from the pod's claims, if nobody else uses them. It comes after Unreserve, which leaves them to the claims, and with them the
// node to the pod: where a whole gang is given up it may need others. It does not ask who wrote them: a write that was given up may have come through, and be
// what an earlier try has left.
func (r *Reservation) Release(ctx context.Context) error {
	var failed error
	for _, known := range r.claims {
		claims := r.judge.full.ClientSet().ResourceV1().ResourceClaims(known.Namespace)
		claim, err := claims.Get(ctx, known.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && (claim.UID != known.UID || claim.Status.Allocation == nil || r.isOthers(claim)) {
			continue
		}
		if err == nil {
			claim.Status.Allocation, claim.Status.Devices, claim.Status.ReservedFor = nil, nil, nil
			_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
		}
		failed = cmp.Or(failed, err)
	}
	return failed
}

// isOthers reports whether the claim is reserved for somebody else.
func (r *Reservation) isOthers(claim *resourceapi.ResourceClaim) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor, func(by resourceapi.ResourceClaimConsumerReference) bool { return by.UID != r.pod.UID })
}

// claimsOf are the pod's claims of devices that are there.
func claimsOf(j *Judge, pod *v1.Pod) []*resourceapi.ResourceClaim {
	var claims []*resourceapi.ResourceClaim
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil || j.devices == nil {
			continue
		}
		if claim, err := j.devices.ResourceClaims().Get(pod.Namespace, *name); err == nil {
			claims = append(claims, claim)
		}
	}
	return claims
}

// PostBind reports to the plugins that the pod is bound.
func (r *Reservation) PostBind(ctx context.Context) {
	if r.state != nil {
		r.judge.full.RunPostBindPlugins(ctx, r.state, r.pod, r.node)
	}
}
