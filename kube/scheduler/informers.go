package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"

	"fairlead.dev/fairlead/kube/classes"
	"fairlead.dev/fairlead/kube/world"
)

// This file connects the informers to the world. Objects are stripped, as they
// come in, of what no decision looks at: at 150,000 pods that is most of the
// memory.

// newInformers makes the informers. Pods that are over are watched too, stripped
// to the bone: how a pod ended says whether its owner will replace it.
func newInformers(o *Options, budgets bool) informers.SharedInformerFactory {
	strip := stripping(&o.Metrics.Cluster)
	if o.Config.Shadow() {
		strip = withoutHints(strip, o.Config.Owns)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(o.Client, 0, informers.WithTransform(strip))
	doWithout(factory, o.Lacks)
	if o.Workloads != nil {
		readWorkloads(factory, o.Workloads)
	}
	factory.Core().V1().Nodes().Informer()
	factory.Core().V1().Pods().Informer()
	factory.Core().V1().Services().Informer()
	if o.PodGroups {
		factory.Scheduling().V1beta1().PodGroups().Informer()
	}
	if o.CompositePodGroups {
		factory.Scheduling().V1alpha3().CompositePodGroups().Informer()
	}
	if budgets {
		factory.Policy().V1().PodDisruptionBudgets().Informer()
	}
	return factory
}

// intake brings what the informers hold, and what they see, to the loop.
type intake struct {
	s            *Scheduler
	informers    informers.SharedInformerFactory
	coscheduling *coscheduling // nil where there are no groups of that plugin
	// serviceClasses is nil where there are none.
	serviceClasses *serviceClasses
	constraints    *placementConstraints // nil where there are none
	autoscalers    *autoscalers          // nil where there are none, or nobody to whom they matter
	landed         landed
}

func newIntake(s *Scheduler) *intake {
	return &intake{
		s: s, informers: newInformers(&s.Options, s.evicts()), coscheduling: newCoscheduling(s), serviceClasses: newServiceClasses(s),
		constraints: newPlacementConstraints(s), autoscalers: newAutoscalers(s),
		landed: landed{nodes: map[types.UID]string{}},
	}
}

// Pods are those that the scheduler knows, in the API server's words, with all that decisions look at. Any goroutine may ask.
func Pods(s *Scheduler) corelisters.PodLister { return s.intake.informers.Core().V1().Pods().Lister() }

// unlisted waits until the informers have listed, but not when stop is closed. It returns the types of which they have not, by name.
func (in *intake) unlisted(stop <-chan struct{}) []string {
	var missing []string
	for kind, synced := range in.informers.WaitForCacheSync(stop) {
		if !synced {
			missing = append(missing, kind.String())
		}
	}
	for _, factory := range dynamicOf(in) {
		for kind, synced := range factory.WaitForCacheSync(stop) {
			if !synced {
				missing = append(missing, kind.GroupResource().String())
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// dynamicOf are what makes the informers of types for which no client is linked in.
func dynamicOf(in *intake) (all []dynamicinformer.DynamicSharedInformerFactory) {
	if in.coscheduling != nil {
		all = append(all, in.coscheduling.informers)
	}
	if in.serviceClasses != nil {
		all = append(all, in.serviceClasses.informers)
	}
	if in.constraints != nil {
		all = append(all, in.constraints.informers)
	}
	if in.autoscalers != nil {
		all = append(all, in.autoscalers.informers)
	}
	return all
}

// typed is what an informer of objects of ours holds, as the type that it is.
func typed[T any](ctx context.Context, informer cache.SharedIndexInformer) (all []*T) {
	for _, o := range informer.GetStore().List() {
		object, err := as[T](o)
		if err != nil { // the schema of the API lets no such thing in
			klog.FromContext(ctx).Error(err, "An object of fairlead.dev cannot be read, and counts for nobody; are the definitions in kube/deploy/api those of this version?")
			continue
		}
		all = append(all, object)
	}
	return all
}

// as reads what such an informer holds.
func as[T any](object any) (*T, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("it is a %T", object)
	}
	of := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, of); err != nil {
		return nil, fmt.Errorf("%s %s: %w", u.GetKind(), klog.KObj(u), err)
	}
	return of, nil
}

// survey takes in all nodes and pods that the informers hold, oldest first, so
// that those that have waited the longest come first in line.
func (in *intake) survey() {
	nodes := listed(in.informers.Core().V1().Nodes().Lister().List(labels.Everything()))
	slices.SortFunc(nodes, func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range nodes {
		in.seeNode(n)
	}
	in.surveyNamespaces() // before their pods
	in.surveyServices()
	in.surveyStorage()
	in.surveyComposites()
	in.surveyPodGroups()
	in.coscheduling.survey()
	in.autoscalers.survey()
	in.surveyBudgets()
	pods := listed(in.informers.Core().V1().Pods().Lister().List(labels.Everything()))
	slices.SortFunc(pods, byTurn)
	for _, p := range pods {
		in.takeIn(in.landed.asBound(p))
		if taken := in.s.world.Pod(p.UID); taken != nil {
			in.s.explainer.inherit(in.s, taken)
		}
	}
	in.s.subject.handling(nil)
}

// byTurn puts pods first for which whoever led before, be it kube-scheduler, has made room: of pods that are as important the others would else take that, and the room would have
// to be made again.
func byTurn(a, b *v1.Pod) int {
	turn := func(p *v1.Pod) int {
		if p.Spec.NodeName == "" && p.Status.NominatedNodeName != "" {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(turn(a), turn(b)), byAge(a, b))
}

// listed is what a cache lists, which does not fail.
func listed[T any](all []T, err error) []T {
	if err != nil {
		panic(fmt.Sprintf("scheduler: listing a cache failed: %v", err))
	}
	return all
}

// surveyNamespaces takes in all namespaces.
func (in *intake) surveyNamespaces() {
	all := listed(in.informers.Core().V1().Namespaces().Lister().List(labels.Everything()))
	for _, n := range all {
		in.seeNamespace(n)
	}
}

// surveyServices takes in all Services.
func (in *intake) surveyServices() {
	all := listed(in.informers.Core().V1().Services().Lister().List(labels.Everything()))
	for _, o := range all {
		in.seeService(o)
	}
}

// surveyStorage takes in all that there is of volumes.
func (in *intake) surveyStorage() {
	for _, informer := range in.storage() {
		store := informer.GetStore()
		keys := store.ListKeys()
		slices.Sort(keys)
		for _, key := range keys {
			if object, there, err := store.GetByKey(key); err == nil && there {
				in.seeStorage(object.(runtime.Object))
			}
		}
	}
}

// seeStorage takes in a claim, a volume, or what else the world knows of storage.
func (in *intake) seeStorage(object runtime.Object) {
	dealWith(in.s, object.(apiObject), func(o apiObject) { world.VolumesOf(in.s.world).See(o) })
}

// loseStorage takes in that it is gone.
func (in *intake) loseStorage(object runtime.Object) {
	dealWithLoss(in.s, object.(apiObject), func(o apiObject) { world.VolumesOf(in.s.world).Lose(o) })
}

// storage are the informers of what the world knows of volumes.
func (in *intake) storage() []cache.SharedIndexInformer {
	core, storage := in.informers.Core().V1(), in.informers.Storage().V1()
	return []cache.SharedIndexInformer{
		storage.StorageClasses().Informer(), storage.CSIDrivers().Informer(), storage.CSINodes().Informer(),
		core.PersistentVolumes().Informer(), core.PersistentVolumeClaims().Informer(), storage.VolumeAttachments().Informer(),
	}
}

// seeService takes in a Service.
func (in *intake) seeService(object *v1.Service) {
	dealWith(in.s, object, func(o *v1.Service) { world.SeeService(in.s.world, o) })
}

// loseService takes in that a Service is gone.
func (in *intake) loseService(object *v1.Service) {
	dealWithLoss(in.s, object, func(o *v1.Service) { world.LoseService(in.s.world, o) })
}

// seeNode takes in a node, unless it is set aside.
func (in *intake) seeNode(object *v1.Node) {
	dealWith(in.s, object, func(o *v1.Node) { in.s.world.SeeNode(o) })
}

// loseNode takes in that a node is gone.
func (in *intake) loseNode(object *v1.Node) {
	dealWithLoss(in.s, object, func(o *v1.Node) { in.s.world.LoseNode(o.Name) })
}

// losePod takes in that a pod is gone.
func (in *intake) losePod(object *v1.Pod) {
	in.s.aside.forget(object.UID)
	in.landed.forget(object.UID)
	in.s.subject.handling(object)
	in.s.world.LosePod(object)
}

// seeNamespace takes in a namespace, and has its pods reported if they will not be placed any more.
func (in *intake) seeNamespace(object any) {
	dealWith(in.s, object.(*v1.Namespace), func(n *v1.Namespace) { in.s.explainer.want(world.SeeNamespace(in.s.world, n)) })
}

// loseNamespace takes in that a namespace is gone.
func (in *intake) loseNamespace(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if n, ok := object.(*v1.Namespace); ok {
		dealWithLoss(in.s, n, func(n *v1.Namespace) { world.LoseNamespace(in.s.world, n.Name) })
	}
}

// seePod takes in a pod that the API server reported.
func (in *intake) seePod(object *v1.Pod) {
	if object.Spec.NodeName != "" {
		in.landed.forget(object.UID)
	}
	relabelled := false
	if p := in.s.world.Pod(object.UID); p != nil {
		relabelled = p.Object().Labels[classes.Label] != object.Labels[classes.Label]
	}
	in.takeIn(object)
	if p, notes := in.s.world.Pod(object.UID), notesOf(in.s); p != nil && notes != nil {
		notes.Preempted(p)
	}
	if !relabelled {
		return
	}
	if p := in.s.world.Pod(object.UID); p != nil {
		if why := world.Relabelled(in.s.world, p); why != "" {
			in.s.recorders[object.Spec.SchedulerName].keepsClass(object, why)
		}
	}
}

// takeIn takes in a pod, unless it is set aside, and has it reported if it will not
// be placed as it is.
func (in *intake) takeIn(object *v1.Pod) {
	if in.s.aside.keeps(object) {
		return
	}
	in.s.subject.handling(object)
	in.s.world.SeePod(object)
	if p := in.s.world.Pod(object.UID); p != nil && p.Why != "" {
		in.s.explainer.want([]*world.Pod{p})
	}
}

// watch lets the informers report to the loop what they see. The returned function
// ends that.
func (in *intake) watch() (func(), error) {
	var stops []func()
	stop := func() {
		for _, f := range stops {
			f()
		}
	}
	for _, watched := range in.watched() {
		registration, err := watched.informer.AddEventHandler(watched.handler)
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, func() { _ = watched.informer.RemoveEventHandler(registration) })
	}
	if claims := in.s.judge.Claims(); claims != nil {
		claims.AddEventHandler(in.markingDirty())
	}
	return stop, nil
}

type watched struct {
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandler
}

func (in *intake) watched() []watched {
	f := in.informers
	storage, core, resource := f.Storage().V1(), f.Core().V1(), f.Resource().V1()
	inbox := in.s.inbox
	list := []watched{
		{core.Nodes().Informer(), handle(in.s, in.seeNode, in.loseNode)},
		{core.Pods().Informer(), handle(in.s, in.seePod, in.losePod)},
		{core.Services().Informer(), handle(in.s, in.seeService, in.loseService)},
		{core.Namespaces().Informer(), cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { inbox.put(func() { in.seeNamespace(o); in.s.judge.Renew(); in.s.world.MarkDirty() }) },
			UpdateFunc: func(_, o any) { inbox.put(func() { in.seeNamespace(o); in.s.judge.Renew(); in.s.world.MarkDirty() }) },
			DeleteFunc: func(o any) { inbox.put(func() { in.loseNamespace(o); in.s.judge.Renew() }) },
		}},
	}
	for _, informer := range in.storage() {
		list = append(list, watched{informer, handle(in.s, in.seeStorage, in.loseStorage)})
	}
	for _, informer := range []cache.SharedIndexInformer{storage.CSIStorageCapacities().Informer(), resource.ResourceSlices().Informer()} {
		list = append(list, watched{informer, in.markingDirty()})
	}
	if in.s.PodGroups {
		list = append(list, watched{f.Scheduling().V1beta1().PodGroups().Informer(), handle(in.s, in.seePodGroup, in.losePodGroup)})
	}
	if in.coscheduling != nil {
		list = append(list, watched{in.coscheduling.informer(), handle(in.s, in.coscheduling.see, in.coscheduling.lose)})
	}
	if in.serviceClasses != nil {
		list = append(list, watched{in.serviceClasses.informer(), handle(in.s, in.serviceClasses.see, in.serviceClasses.lose)})
	}
	if in.autoscalers != nil {
		list = append(list, watched{in.autoscalers.informer(), handle(in.s, in.autoscalers.see, in.autoscalers.lose)})
	}
	list = append(list, in.constraints.watched()...)
	if in.s.CompositePodGroups {
		list = append(list, watched{f.Scheduling().V1alpha3().CompositePodGroups().Informer(), handle(in.s, in.seeComposite, in.loseComposite)})
	}
	if in.s.evicts() {
		list = append(list, watched{f.Policy().V1().PodDisruptionBudgets().Informer(), handle(in.s, in.seeBudget, in.loseBudget)})
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules) {
		list = append(list, watched{resource.DeviceTaintRules().Informer(), in.markingDirty()})
	}
	// Which pods need a query at all follows the device classes.
	return append(list, watched{resource.DeviceClasses().Informer(), in.calling(in.s.world.Reconsider)})
}

// markingDirty is a handler for objects that only pods with a query depend on. Filters
// may hear of such an object a little later than we do; World.Due makes up for
// that.
func (in *intake) markingDirty() cache.ResourceEventHandler { return in.calling(in.s.world.MarkDirty) }

// calling is a handler that has the loop call something for every change.
func (in *intake) calling(call func()) cache.ResourceEventHandler {
	inbox := in.s.inbox
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { inbox.put(call) },
		UpdateFunc: func(before, after any) {
			if version(before) != version(after) {
				inbox.put(call)
			}
		},
		DeleteFunc: func(any) { inbox.put(call) },
	}
}

func version(object any) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}

// identity is the uid of an object.
func identity(object any) types.UID {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return accessor.GetUID()
}

// handle lets the loop see and lose objects of one type.
func handle[T any](s *Scheduler, see, lose func(T)) cache.ResourceEventHandler {
	inbox := s.inbox
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { inbox.put(func() { see(o.(T)) }) },
		UpdateFunc: func(before, o any) {
			inbox.put(func() {
				// A watch that was interrupted reports an object that was
				// deleted and made anew under the same name as of one change.
				if identity(before) != identity(o) {
					lose(before.(T))
				}
				see(o.(T))
			})
		},
		DeleteFunc: func(o any) {
			if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = unknown.Obj
			}
			if object, ok := o.(T); ok {
				inbox.put(func() { lose(object) })
			}
		},
	}
}
