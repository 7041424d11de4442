package scheduler

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/world"
)

// This file writes into the status of ServiceClasses to how many workloads they are kept.

// countsEvery is how often that is counted.
const countsEvery = 30 * cluster.Second

// classCounts is what is written of a class.
type classCounts struct {
	object *v1alpha1.ServiceClass
	kept   world.Kept
}

// countClasses counts if it is time to, has written what is new, and returns when to count again.
func countClasses(s *Scheduler) cluster.Time {
	c := s.intake.serviceClasses
	if c == nil || s.WorkloadAccounts == nil || s.epochs.core == nil || s.epochs.mistakes.broken {
		return cluster.Never
	}
	stored := c.informer().GetStore().List()
	if len(stored) == 0 {
		return cluster.Never
	}
	if s.now() < c.counts {
		return c.counts
	}
	c.counts = s.now() + countsEvery
	kept := world.KeptOf(s.world)
	for _, o := range stored {
		object, err := as[v1alpha1.ServiceClass](o)
		if err != nil { // which is said where it is read
			continue
		}
		now := kept[object.Name]
		if was := &object.Status; now != (world.Kept{Workloads: was.Workloads, Kept: was.Kept, AtRisk: was.AtRisk}) {
			s.explainer.writer.put(condition{written: &classCounts{object, now}})
		}
	}
	return c.counts
}

// key is by which one write of the counts follows the other.
func (c *classCounts) key() types.UID { return types.UID("counts/" + c.object.Name) }

// unwritten needs nothing: they are counted again.
func (c *classCounts) unwritten(*Scheduler) {}

// write writes them, and reports that this needs no repetition: they are counted again.
func (c *classCounts) write(s *Scheduler) bool {
	if _, err := held(s); err != nil {
		return true
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": c.object.UID},
		"status":   map[string]any{"workloads": c.kept.Workloads, "kept": c.kept.Kept, "atRisk": c.kept.AtRisk},
	})
	if err != nil {
		panic(fmt.Sprintf("scheduler: a status does not marshal: %v", err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Config.BindTimeout.Duration)
	defer cancel()
	_, err = s.ServiceClasses.Resource(ServiceClasses()).Patch(ctx, c.object.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	s.Metrics.Binds.Wrote("serviceclasses/status", "patch", outcome(err))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		klog.Background().V(1).Info("cannot write to how many workloads a class is kept", "serviceClass", c.object.Name, "err", err)
	}
	return true
}
