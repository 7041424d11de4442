package scheduler

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// This file does without types of objects that the API server does not serve, or that the role may not list. Their informers have listed at once, and hold nothing, so that nobody
// waits for them, and whoever reads them, upstream's plugins included, finds none.

// optional is a type that the scheduler reads and may do without.
type optional struct {
	resource schema.GroupVersionResource
	object   runtime.Object
}

func optionals() []optional {
	policy, resource, storage := policyv1.SchemeGroupVersion, resourcev1.SchemeGroupVersion, storagev1.SchemeGroupVersion
	return []optional{
		{policy.WithResource("poddisruptionbudgets"), &policyv1.PodDisruptionBudget{}},
		{resource.WithResource("deviceclasses"), &resourcev1.DeviceClass{}},
		{resource.WithResource("resourceclaims"), &resourcev1.ResourceClaim{}},
		{resource.WithResource("resourceslices"), &resourcev1.ResourceSlice{}},
		{resource.WithResource("devicetaintrules"), &resourcev1.DeviceTaintRule{}},
		{storage.WithResource("csidrivers"), &storagev1.CSIDriver{}},
		{storage.WithResource("csinodes"), &storagev1.CSINode{}},
		{storage.WithResource("csistoragecapacities"), &storagev1.CSIStorageCapacity{}},
		{storage.WithResource("storageclasses"), &storagev1.StorageClass{}},
		{storage.WithResource("volumeattachments"), &storagev1.VolumeAttachment{}},
	}
}

// Optional are the types of a group that the scheduler reads and may do without. Pod groups are asked for apart.
func Optional(group string) []schema.GroupVersionResource {
	var all []schema.GroupVersionResource
	for _, o := range optionals() {
		if o.resource.Group == group {
			all = append(all, o.resource)
		}
	}
	return all
}

// doWithout has the factory find nothing of the types that the scheduler lacks, whoever asks for them later.
func doWithout(factory informers.SharedInformerFactory, lacks map[schema.GroupVersionResource]string) {
	for _, o := range optionals() {
		if _, is := lacks[o.resource]; is {
			factory.InformerFor(o.object, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
				return informerOf(nothing{}, o.object)
			})
		}
	}
}

// informerOf is an informer as the factory makes them.
func informerOf(of cache.ListerWatcher, object runtime.Object) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformerWithOptions(of, object, cache.SharedIndexInformerOptions{Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}})
}

// nothing lists and watches a type of which there is nothing.
type nothing struct{}

// List lists nothing.
func (nothing) List(metav1.ListOptions) (runtime.Object, error) { return &metav1.List{}, nil }

// Watch sees nothing, until it is stopped.
func (nothing) Watch(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }

// IsWatchListSemanticsUnSupported has client-go list before it watches, which has no end here.
func (nothing) IsWatchListSemanticsUnSupported() bool { return true }
