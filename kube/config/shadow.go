package config

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file is what a configuration says whose profiles are in mode shadow. All of them are, or none: what the process may do is a matter of its role, and is the same for all that it does.

// The leases of processes that are not told another one.
const (
	DefaultLease = "fairlead-scheduler"
	ShadowLease  = "fairlead-shadow"
)

// Shadow reports whether the process decides for the pods of other schedulers, and carries nothing out.
func (c *SchedulerConfiguration) Shadow() bool {
	return len(c.Profiles) > 0 && c.Profiles[0].Mode == Shadow
}

// Owns reports whether some profile has the pods of that schedulerName.
func (c *SchedulerConfiguration) Owns(schedulerName string) bool {
	for i := range c.Profiles {
		if c.Profiles[i].SchedulerName == schedulerName {
			return true
		}
	}
	return false
}

// Title is what a recording says of whose it is.
func (c *SchedulerConfiguration) Title() string {
	if c.Shadow() {
		return "fairlead-scheduler in mode shadow"
	}
	return "fairlead-scheduler"
}

// validateShadow refuses a shadow that would keep from scheduling whom it watches.
func (c *SchedulerConfiguration) validateShadow() field.ErrorList {
	l := &c.LeaderElection
	if !c.Shadow() || !l.LeaderElect || l.ResourceName != UpstreamLease || l.ResourceNamespace != metav1.NamespaceSystem {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("leaderElection", "resourceName"), l.ResourceName,
		fmt.Sprintf("is kube-scheduler's lease, and a shadow that holds it would keep kube-scheduler from scheduling; write %s", ShadowLease))}
}
