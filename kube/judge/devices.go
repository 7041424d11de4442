package judge

// What the DynamicResources plugin shares with the rest of a scheduler. In upstream this is spread over the constructor of the scheduler and its event
// handlers: without the handler on device classes, extended resources that a class provides are silently unknown.

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// selectorsKept is how many compiled selectors are kept.
const selectorsKept = 64

// trackDevices sets up the cache of claims with assumed allocations, the resource slices with device taints applied, and the extended resources of device
// classes.
func (j *Judge) trackDevices(o Options) error {
	enabled := utilfeature.DefaultFeatureGate.Enabled
	if !enabled(features.DynamicResourceAllocation) {
		return nil
	}
	resources := o.Informers.Resource().V1()
	j.claims = assumecache.NewAssumeCache(klog.FromContext(j.ctx), resources.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	if SharesClaims() {
		j.view.groups = o.Informers.Scheduling().V1beta1().PodGroups().Lister()
	}
	options := tracker.Options{
		EnableDeviceTaintRules:   enabled(features.DRADeviceTaintRules),
		EnableConsumableCapacity: enabled(features.DRAConsumableCapacity),
		SliceInformer:            resources.ResourceSlices(),
		KubeClient:               o.Client,
	}
	if options.EnableDeviceTaintRules {
		options.TaintInformer = resources.DeviceTaintRules()
	}
	slices, err := tracker.StartTracker(j.ctx, options)
	if err != nil {
		return fmt.Errorf("judge: start the tracker of resource slices: %w", err)
	}
	manager := dynamicresources.NewDRAManager(j.ctx, j.claims, slices, o.Informers)
	j.steered = &steered{SharedDRAManager: manager}
	j.devices = j.steered
	j.selectors = cel.NewCache(selectorsKept, cel.Features{
		EnableConsumableCapacity: enabled(features.DRAConsumableCapacity), EnableListTypeAttributes: enabled(features.DRAListTypeAttributes),
	})
	j.synced = append(j.synced, slices.HasSynced, j.claims.AddEventHandler(cache.ResourceEventHandlerFuncs{}).HasSynced)
	if enabled(features.DRAExtendedResource) {
		registration, err := resources.DeviceClasses().Informer().AddEventHandler(manager.DeviceClassResolver().(cache.ResourceEventHandler))
		if err != nil {
			return fmt.Errorf("judge: follow device classes: %w", err)
		}
		j.synced = append(j.synced, registration.HasSynced)
	}
	return nil
}

// WaitForSync returns when the judge has seen the claims, slices and device classes that its informers have. The caller calls it after the informers have
// synced and before the first query.
func (j *Judge) WaitForSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		for _, synced := range j.synced {
			if !synced() {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("judge: wait for resource claims, slices and device classes: %w", err)
	}
	return nil
}

// Claims is the cache of resource claims, with what reservations assumed. Event handlers on resource claims belong here, not on the informer, so that
// they see a change no earlier than the filters do. It is nil when dynamic resource allocation is off.
func (j *Judge) Claims() *assumecache.AssumeCache { return j.claims }

// SharesClaims tells whether the pods of a group may share claims of devices, which are the group's then.
func SharesClaims() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.DRAWorkloadResourceClaims)
}
