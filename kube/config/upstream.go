package config

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file is kube-scheduler's own configuration, which is read as it is: what it says of the connection, the
// election, the names of profiles and back-off means the same here. What has no counterpart is refused by its path
// (advice.go). Who brings it along wants its place taken: pods that name no scheduler are ours, pods may be evicted, as by
// kube-scheduler, and the lease is kube-scheduler's, so that the two never schedule at once.

// What such a file says about itself.
const (
	upstreamAPIVersion = "kubescheduler.config.k8s.io/v1"
	upstreamKind       = "KubeSchedulerConfiguration"
)

// UpstreamLease is the name of kube-scheduler's lease, in the namespace kube-system.
const UpstreamLease = "kube-scheduler"

// counterparts are the fields that both have, of types of which we have others besides.
func counterparts(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[SchedulerConfiguration]():
		return []string{"apiVersion", "kind", "clientConnection", "leaderElection", "profiles", "podInitialBackoffSeconds", "podMaxBackoffSeconds", "enableProfiling"}
	case reflect.TypeFor[Profile]():
		return []string{"schedulerName"}
	}
	return nil
}

// standIn sets the defaults of kube-scheduler that differ from ours, before its file is read.
func (c *SchedulerConfiguration) standIn() { c.LeaderElection.ResourceName = UpstreamLease }

// adopt makes what was read one of ours.
func (c *SchedulerConfiguration) adopt() {
	c.TypeMeta = metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}
	if len(c.Profiles) == 0 {
		c.Profiles = []Profile{silent()}
	}
	for i := range c.Profiles {
		if p := &c.Profiles[i]; p.SchedulerName == "" {
			p.SchedulerName = corev1.DefaultSchedulerName
		}
	}
}

// TakesOver reports whether pods that name no scheduler are ours to place, and whether that cannot happen while kube-scheduler
// schedules, as they share a lease.
func (c *SchedulerConfiguration) TakesOver() (is, shares bool) {
	for i := range c.Profiles {
		is = is || c.Profiles[i].SchedulerName == corev1.DefaultSchedulerName && !c.Shadow()
	}
	l := &c.LeaderElection
	return is, l.LeaderElect && l.ResourceName == UpstreamLease && l.ResourceNamespace == metav1.NamespaceSystem
}
