package judge

// Pods of a gang that are placed at once may share a claim of devices that has none yet: one of their group, or one that several of them name. Upstream's plugin
// lets the pods of a group use what was set aside for the first of them, but has each of them write it, so that all but one fail then and are tried again. Here
// the first that is reserved for writes the claim. To the others it looks as it will be by then, allocated and reserved: so they are admitted where its devices
// can be reached, and in the end add themselves to those that it is reserved for. They wait for the first, and go on with it or not at all.

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	fwk "k8s.io/kube-scheduler/framework"
)

// Company is pods of a gang that are placed at once, with the claims that one of them writes and others use. Its pods are reserved for one after the other, before any of
// them is prepared for.
type Company struct {
	mu     sync.Mutex
	claims map[types.UID]*shared
	turn   chan struct{} // of whom adds itself to claims: one at a time, as each write is in the others' way
}

// NewCompany is a company of nobody so far.
func NewCompany() *Company {
	return &Company{claims: map[types.UID]*shared{}, turn: make(chan struct{}, 1)}
}

// shared is a claim that one of a company writes.
type shared struct {
	claim   *resourceapi.ResourceClaim // as it will be
	settled chan struct{}              // closed when it is written, or will not be
	over    bool                       // it is closed
	failed  bool                       // it will not be; to be read when it is closed
	added   int                        // pods that add themselves to it when it is; the loop's
}

// settle takes in that the claim was written, or will not be. What is said later does not count.
func (c *Company) settle(s *shared, written bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.over {
		s.over, s.failed = true, !written
		close(s.settled)
	}
}

// find is what one of the company has set aside for the claim, and will write; nil if none has.
func (c *Company) find(claim types.UID) *shared {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.claims[claim]; s != nil && !s.over {
		return s
	}
	return nil
}

// claimsFor are claims as they look to those who come after who writes them.
type claimsFor struct {
	fwk.ResourceClaimTracker
	company *Company
}

// Get finds a claim as it is, or as it will be.
func (c claimsFor) Get(namespace, name string) (*resourceapi.ResourceClaim, error) {
	claim, err := c.ResourceClaimTracker.Get(namespace, name)
	if err == nil && claim.Status.Allocation == nil {
		if s := c.company.find(claim.UID); s != nil {
			return s.claim, nil
		}
	}
	return claim, err //nolint:wrapcheck // upstream's to upstream
}

// podClaim is a claim of a pod, and for whom it is reserved when the pod uses it.
type podClaim struct {
	*resourceapi.ResourceClaim
	user resourceapi.ResourceClaimConsumerReference
}

// claimsOf are the claims of a pod that are there.
func claimsOf(j *Judge, pod *v1.Pod) []podClaim {
	if j.steered == nil || len(pod.Spec.ResourceClaims) == 0 {
		return nil
	}
	var group *schedulingv1beta1.PodGroup
	if of := pod.Spec.SchedulingGroup; of != nil && of.PodGroupName != nil && j.view.groups != nil {
		group, _ = j.view.PodGroups().Get(pod.Namespace, *of.PodGroupName)
	}
	var claims []podClaim
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		claim, err := j.steered.SharedDRAManager.ResourceClaims().Get(pod.Namespace, *name)
		if err != nil {
			continue
		}
		if user, err := resourceclaim.BindTo(pod, group, &pod.Spec.ResourceClaims[i]); err == nil {
			claims = append(claims, podClaim{claim, user})
		}
	}
	return claims
}

// part is what a reservation has to do with claims of others.
type part struct {
	company *Company
	writes  []*shared
	follows []*shared
	adds    bool // it adds itself to a claim that it follows
}

// enter takes in who is placed together with the pod, and reports whether it may use its claims.
func (r *Reservation) enter() bool {
	if r.judge.steered != nil {
		r.part.company = r.judge.steered.company.Load()
	}
	return r.judge.usage.enter(r.claims, r.part.company)
}

// follow has the pod use the claims that others of its company write. What was set aside for these stays so until nobody needs it, whatever becomes of this pod.
func (r *Reservation) follow() error {
	company := r.part.company
	if company == nil {
		return nil
	}
	tracker := r.judge.steered.SharedDRAManager.ResourceClaims()
	for _, claim := range r.claims {
		s := company.find(claim.UID)
		if s == nil || claim.Status.Allocation != nil {
			continue
		}
		adds := !resourceclaim.IsReservedForPod(r.pod, s.claim, SharesClaims())
		if adds && len(s.claim.Status.ReservedFor)+s.added >= resourceapi.ResourceClaimReservedForMaxSize {
			return fmt.Errorf("%d pods use the resource claim %s, as many as may", resourceapi.ResourceClaimReservedForMaxSize, claim.Name)
		}
		if err := tracker.SignalClaimPendingAllocation(claim.UID, s.claim); err != nil {
			return fmt.Errorf("use what was set aside for claim %s: %w", claim.Name, err)
		}
		if r.part.follows = append(r.part.follows, s); adds {
			r.part.adds = true
			s.added++
		}
	}
	return nil
}

// lead has others of the company follow the pod with the claims that it writes.
func (r *Reservation) lead() {
	company := r.part.company
	if company == nil {
		return
	}
	tracker := r.judge.steered.SharedDRAManager.ResourceClaims()
	for _, claim := range r.claims {
		if claim.Status.Allocation != nil || company.find(claim.UID) != nil {
			continue
		}
		if allocation := tracker.GetPendingAllocation(claim.UID); allocation != nil {
			will := claim.DeepCopy()
			will.Status.Allocation, will.Status.ReservedFor = allocation, append(will.Status.ReservedFor, claim.user)
			r.part.writes = append(r.part.writes, company.write(will))
		}
	}
}

// write takes in a claim that one of the company will write.
func (c *Company) write(will *resourceapi.ResourceClaim) *shared {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &shared{claim: will, settled: make(chan struct{})}
	c.claims[will.UID] = s
	return s
}

// await waits until the claims that the pod follows are written, and it is the pod's turn. The caller calls done after its own writes.
func (p *part) await(ctx context.Context) (done func(), err error) {
	for _, s := range p.follows {
		select {
		case <-s.settled:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if s.failed {
			return nil, fmt.Errorf("claim %s got no devices", s.claim.Name)
		}
	}
	if !p.adds {
		return func() {}, nil
	}
	select {
	case p.company.turn <- struct{}{}:
		return func() { <-p.company.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// settle says of the claims that the pod writes whether it has.
func (p *part) settle(written bool) {
	for _, s := range p.writes {
		p.company.settle(s, written)
	}
}
