package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file is about an API server that serves less than it does by default, and about a role that lacks rights.

// evictingBy is a profile that evicts, honouring budgets so.
func evictingBy(budgets string) string {
	return "{schedulerName: " + testbed.FairleadProfile + ", policy: fairlead, evictions: {enabled: true, budgets: " + budgets + "}}"
}

// expectEnd starts the program, which is to end with these words.
func (c *cluster) expectEnd(program, profile, words string) {
	c.t.Helper()
	if err := c.bed.StartFairlead(c.t.Context(), program, profile, 10_000); err == nil || !strings.Contains(err.Error(), words) {
		c.t.Errorf("with the profile %s the program says %v, want %q", profile, err, words)
	}
}

// awaitMadeRoom waits until a pod that needs all of the only node is on it, in place of one that is less important.
func (c *cluster) awaitMadeRoom(low int32) {
	c.t.Helper()
	c.create(newPod("low", cpu("3"), priority(c, low)))
	c.awaitBound(20*time.Second, 1, named("low"))
	c.create(newPod("high", cpu("3"), priority(c, low+1)))
	c.awaitBound(30*time.Second, 1, named("high"))
}

// An API server that serves no devices, nothing of storage and no budgets is served. Pods with claims of devices are held, and say what is not served. Where budgets are to be honoured the
// program ends, as the Eviction API lets no pod go.
func TestAbsentAPIs(t *testing.T) {
	bed := ownBedOf(t, testbed.Options{Tmpfs: true, APIServerFlags: []string{
		"--runtime-config=resource.k8s.io/v1=false,policy/v1=false,storage.k8s.io/v1=false",
		"--disable-admission-plugins=DefaultStorageClass,PersistentVolumeClaimResize", // which wait for storage classes
	}})
	c := newCluster(t, bed)
	program := build(t)
	c.expectEnd(program, evictingBy("hard"), "the API server served no poddisruptionbudgets of policy/v1 when fairlead-scheduler began, without which its Eviction API lets no pod go")
	c.must(bed.StartFairlead(t.Context(), program, evictingBy("bestEffort"), 10_000))
	c.addNodes(1, "n", "4")
	c.create(newPod("claims", claiming), newPod("first"))
	c.awaitBound(20*time.Second, 1, named("first"))
	why := c.awaitCondition("claims", held)
	if !strings.Contains(why, "it has claims of devices (1 in spec.resourceClaims), and none is read: the API server served no deviceclasses of resource.k8s.io/v1 when fairlead-scheduler began") {
		t.Errorf("a pod with a claim says %q", why)
	}
	t.Log(says + why)
	c.awaitMadeRoom(10)
}

// A role that may not list budgets does for evictions that the Eviction API decides about, and not for others; one that may not list devices has pods with claims held. For what volumes need the program ends.
func TestRoleWithoutRights(t *testing.T) {
	bed := ownBed(t)
	c := newCluster(t, bed)
	program := build(t)
	c.take("policy", "poddisruptionbudgets")
	c.take("resource.k8s.io", "resourceslices")
	c.expectEnd(program, evictingBy("bestEffort"), "may not list and watch poddisruptionbudgets of policy/v1")
	c.must(bed.StartFairlead(t.Context(), program, evictingBy("hard"), 10_000))
	c.addNodes(1, "n", "4")
	c.create(newPod("claims", claiming), newPod("first"))
	c.awaitBound(20*time.Second, 1, named("first"))
	if why := c.awaitCondition("claims", held); !strings.Contains(why, "the role of fairlead-scheduler may not list and watch resourceslices of resource.k8s.io/v1") {
		t.Errorf("a pod with a claim says %q", why)
	}
	c.awaitMadeRoom(20)
}

// take takes from our role the right to read a type, and waits until the API server honours that.
func (c *cluster) take(group, resource string) {
	c.t.Helper()
	roles := c.client.RbacV1().ClusterRoles()
	role, err := roles.Get(c.t.Context(), "fairlead-scheduler", metav1.GetOptions{})
	c.must(err)
	for i := range role.Rules {
		if slices.Contains(role.Rules[i].APIGroups, group) {
			role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return r == resource })
		}
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Resources) == 0 })
	_, err = roles.Update(c.t.Context(), role, metav1.UpdateOptions{})
	c.must(err)
	ours, err := c.bed.Client(testbed.Fairlead)
	c.must(err)
	c.await(20*time.Second, func() string {
		answer, err := ours.AuthorizationV1().SelfSubjectAccessReviews().Create(c.t.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: resource}},
		}, metav1.CreateOptions{})
		if c.must(err); answer.Status.Allowed {
			return "a role that may not list " + resource
		}
		return ""
	})
}
