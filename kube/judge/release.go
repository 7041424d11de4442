package judge

// Where a whole gang is given up, its pods may need other devices than those that were found, and another gang may need these. Upstream leaves what was written to a claim
// there, and with it the node to the pod.

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Release is Unreserve, and takes devices from the pod's claims, if nobody else uses them. It does not ask who wrote them: a write that was given up may have come
// through, and be what an earlier try has left; it must not be on its way any more. But of a claim of a group it is not known who uses it: devices are taken from those alone
// that were to be written for this pod, by the last that leaves.
func (r *Reservation) Release(ctx context.Context) error {
	if r.state == nil {
		return nil
	}
	var failed error
	func() {
		left := r.judge.usage.leaveLast(r.claims)
		defer r.judge.usage.left(left)
		r.unreserve(ctx)
		for _, claim := range r.claims {
			if !claim.ofGroup() || claim.Status.Allocation == nil && slices.Contains(left, claim.UID) {
				failed = cmp.Or(failed, r.release(ctx, claim))
			}
		}
	}()
	return cmp.Or(failed, r.releaseExtended(ctx))
}

// release takes the pod, and devices if nobody else uses them, from one claim. One of a group is reserved for that, whoever uses it.
func (r *Reservation) release(ctx context.Context, of podClaim) error {
	claims := r.judge.full.ClientSet().ResourceV1().ResourceClaims(of.Namespace)
	claim, err := claims.Get(ctx, of.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && (claim.UID != of.UID || claim.Status.Allocation == nil) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // it names the claim
	}
	// It may still be reserved for the pod: where PreBind was ended while it wrote, Unreserve does not know that.
	others := slices.DeleteFunc(slices.Clone(claim.Status.ReservedFor), func(user resourceapi.ResourceClaimConsumerReference) bool { return user.UID == of.user.UID })
	if len(others) == len(claim.Status.ReservedFor) && len(others) > 0 {
		return nil
	}
	if claim.Status.ReservedFor = others; len(others) == 0 {
		claim.Status.Allocation, claim.Status.Devices = nil, nil
	}
	updated, err := claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	if err == nil { // what is decided next must not go by the claim as it was; one that is seen already to be newer stays
		_ = r.judge.steered.SharedDRAManager.ResourceClaims().AssumeClaimAfterAPICall(updated)
	}
	return err //nolint:wrapcheck // it names the claim
}

// releaseExtended deletes claims that upstream has made for the pod's extended resources: as long as one is there, and Unreserve did not hear that it was made, the pod fits nowhere.
func (r *Reservation) releaseExtended(ctx context.Context) error {
	if r.judge.devices == nil || !r.judge.usesDeviceClass(r.pod) {
		return nil
	}
	claims := r.judge.full.ClientSet().ResourceV1().ResourceClaims(r.pod.Namespace)
	list, err := claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list resource claims: %w", err)
	}
	for i := range list.Items {
		claim := &list.Items[i]
		if claim.Annotations[resourceapi.ExtendedResourceClaimAnnotation] != "true" || !metav1.IsControlledBy(claim, r.pod) {
			continue
		}
		if at := slices.Index(claim.Finalizers, resourceapi.Finalizer); at >= 0 {
			claim.Finalizers = slices.Delete(claim.Finalizers, at, at+1)
			if _, err := claims.Update(ctx, claim, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err //nolint:wrapcheck // it names the claim
			}
		}
		if err := claims.Delete(ctx, claim.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err //nolint:wrapcheck // it names the claim
		}
	}
	return nil
}
