package app

import (
	"net/http"

	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/metrics/resources"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/scheduler"
)

// This file serves what pods request, and are limited to, in the way of kube-scheduler.

// podsOf are the pods of which that is said; nil of a shadow, beside which the scheduler of the pods says it.
func podsOf(c *config.SchedulerConfiguration, placer runner) corelisters.PodLister {
	knows, is := placer.(*scheduler.Scheduler)
	if !is || c.Shadow() {
		return nil
	}
	return scheduler.Pods(knows)
}

// podResources serves that of all pods but those that are over; nil without pods. A replica that does not lead says nothing, as two would count twice what a cluster has.
func podResources(pods corelisters.PodLister, leads func() bool) http.Handler {
	if pods == nil {
		return nil
	}
	all := resources.Handler(pods)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if leads() {
			all.ServeHTTP(w, r)
		}
	})
}
