package world

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"fairlead.dev/fairlead/kube/judge"
)

// This file holds what all tests stand on: the judge over a fake API server,
// and its rival, which is upstream's framework with its own plugins over
// upstream's own snapshot, made anew for every query.

type bench struct {
	client     *fake.Clientset
	judge      *judge.Judge
	rival      *rival
	factory    informers.SharedInformerFactory
	namespaces []*v1.Namespace  // at first
	storage    []runtime.Object // what the API server has of volumes, which each world is told
}

type rival struct {
	ctx       context.Context
	framework framework.Framework
	snapshot  *swapped
}

// swapped lets one framework look at one snapshot after the other.
type swapped struct{ fwk.SharedLister }

// newBench makes a bench whose API server holds the objects.
func newBench(tb testing.TB, objects ...runtime.Object) *bench {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	j, err := judge.New(ctx, judge.Options{Client: client, Informers: factory, Parallelism: 1})
	if err != nil {
		tb.Fatal(err)
	}
	b := &bench{factory: factory, client: client, judge: j, rival: newRival(ctx, tb, j, client, factory), storage: slices.DeleteFunc(slices.Clone(objects), func(o runtime.Object) bool { return !isStorage(o) })}
	for _, object := range objects {
		if n, is := object.(*v1.Namespace); is {
			b.namespaces = append(b.namespaces, n)
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	waitForPlugins()
	return b
}

// waitForPlugins waits until the handlers that plugins have put on informers
// were called. Nothing tells when they were, as each has its own goroutine.
func waitForPlugins() { time.Sleep(100 * time.Millisecond) }

func newRival(ctx context.Context, tb testing.TB, j *judge.Judge, client *fake.Clientset, factory informers.SharedInformerFactory) *rival {
	tb.Helper()
	resourceSlices, err := tracker.StartTracker(ctx, tracker.Options{SliceInformer: factory.Resource().V1().ResourceSlices(), KubeClient: client})
	if err != nil {
		tb.Fatal(err)
	}
	devices := dynamicresources.NewDRAManager(ctx, j.Claims(), resourceSlices, factory)
	// Upstream's scheduler, too, tells the manager of device classes itself.
	if _, err := factory.Resource().V1().DeviceClasses().Informer().AddEventHandler(devices.DeviceClassResolver().(clientcache.ResourceEventHandler)); err != nil {
		tb.Fatal(err)
	}
	snapshot := &swapped{cache.NewEmptySnapshot()}
	built, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), rivalProfile(tb),
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedDRAManager(devices),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithParallelism(1),
	)
	if err != nil {
		tb.Fatal(err)
	}
	return &rival{ctx: ctx, framework: built, snapshot: snapshot}
}

// rivalProfile is upstream's default, without what is no question of
// feasibility and wants more of a scheduler than there is here.
func rivalProfile(tb testing.TB) *config.KubeSchedulerProfile {
	tb.Helper()
	defaults, err := latest.Default()
	if err != nil {
		tb.Fatal(err)
	}
	profile := &defaults.Profiles[0]
	profile.SchedulerName = "rival"
	without := []string{
		names.SchedulingGates, names.DefaultPreemption, names.DeferredPodScheduling,
		names.GangScheduling, names.TopologyPlacementGenerator, names.PodGroupPodsCount,
	}
	profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(p config.Plugin) bool {
		return slices.Contains(without, p.Name)
	})
	return profile
}

// verdicts are the answers for the pod and every node, in a cluster of these
// nodes and the pods on them, whose specs name the node.
func (r *rival) verdicts(nodes []*v1.Node, placed []*v1.Pod, pod *v1.Pod) map[string]*fwk.Status {
	r.snapshot.SharedLister = cache.NewSnapshot(placed, nodes)
	infos, _ := r.snapshot.NodeInfos().List()
	state := framework.NewCycleState()
	result, status, _ := r.framework.RunPreFilterPlugins(r.ctx, state, pod)
	answers := map[string]*fwk.Status{}
	for _, info := range infos {
		name := info.Node().Name
		switch {
		case !status.IsSuccess():
			answers[name] = status
		case !result.AllNodes() && !result.NodeNames.Has(name):
			answers[name] = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "left out by PreFilter").WithPlugin("PreFilter")
		default:
			answers[name] = r.framework.RunFilterPlugins(r.ctx, state, pod, info)
		}
	}
	return answers
}

// judgedNodes are the judge's nodes with their pods, which it shows nobody: a
// pod that it forgot, or did not forget, would be seen only by chance.
func judgedNodes(j *judge.Judge) map[string]*framework.NodeInfo {
	byName := reflect.ValueOf(j).Elem().FieldByName("view").Elem().FieldByName("byName")
	return *(*map[string]*framework.NodeInfo)(byName.Addr().UnsafePointer())
}

// isStorage reports whether it is one of the objects that have to do with volumes.
func isStorage(object runtime.Object) bool {
	switch object.(type) {
	case *v1.PersistentVolumeClaim, *v1.PersistentVolume, *storagev1.StorageClass, *storagev1.CSINode, *storagev1.CSIDriver, *storagev1.VolumeAttachment:
		return true
	}
	return false
}

// create puts an object into the API server.
func (b *bench) create(tb failer, object runtime.Object) {
	tb.Helper()
	if err := b.client.Tracker().Add(object); err != nil {
		tb.Fatal(err)
	}
}

func makeNamespace(name, team string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
}
