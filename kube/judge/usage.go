package judge

// A claim that is reserved for a pod group does not list the pods that use it, by which the API server would know that it is needed. So who is on the way to a node
// with such a claim is counted here. Where a gang is given up after devices were written to its claim, these are given back when nobody uses it, and a
// pod that is decided meanwhile waits until that is done, or all of those are prepared for who brought the devices.

import (
	"sync"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
)

// usage is who is on the way, by claim.
type usage struct {
	mu sync.Mutex
	by map[types.UID]*users
}

// users are the pods on the way with one claim.
type users struct {
	count, prepared int
	// company brings devices to the claim; nil once all of it are prepared for, and where there were some.
	company *Company
	leaving bool // the devices are being given back
}

// ofGroup reports whether the claim is reserved for a group, not for pods.
func (c podClaim) ofGroup() bool { return c.user.APIGroup == schedulingv1beta1.GroupName }

// enter takes in that a pod is on the way with the claims, unless another company has yet to bring devices to one of them or they are being given back.
func (u *usage) enter(claims []podClaim, company *Company) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range claims {
		if of := u.by[c.UID]; of != nil && c.ofGroup() && (of.leaving || of.company != nil && of.company != company) {
			return false
		}
	}
	for _, c := range claims {
		if !c.ofGroup() {
			continue
		}
		if u.by[c.UID] == nil {
			u.by[c.UID] = &users{}
		}
		if u.by[c.UID].count++; c.Status.Allocation == nil {
			u.by[c.UID].company = company
		}
	}
	return true
}

// prepared takes in that one of the pods is prepared for. It may be bound from now on, once its company is.
func (u *usage) prepared(claims []podClaim) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range claims {
		if of := u.by[c.UID]; of != nil && c.ofGroup() {
			if of.prepared++; of.prepared >= of.count {
				of.company = nil
			}
		}
	}
}

// leave takes in that a pod is bound, or will not be.
func (u *usage) leave(claims []podClaim) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range claims {
		if of := u.by[c.UID]; of != nil && c.ofGroup() {
			if of.count--; of.count == 0 {
				delete(u.by, c.UID)
			}
		}
	}
}

// leaveLast is leave, but claims that nobody else is on the way with are kept from being used until left is called: it returns these.
func (u *usage) leaveLast(claims []podClaim) (last []types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range claims {
		of := u.by[c.UID]
		if of == nil || !c.ofGroup() {
			continue
		}
		if of.count--; of.count == 0 {
			of.leaving = true
			last = append(last, c.UID)
		}
	}
	return last
}

// left lets the claims be used again.
func (u *usage) left(claims []types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, claim := range claims {
		delete(u.by, claim)
	}
}
