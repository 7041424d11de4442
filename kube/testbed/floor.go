package testbed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Floor is the cheapest scheduler there can be: it binds each pending pod of a
// schedulerName to a random node, whether it fits or not. What it costs, every
// scheduler costs that binds through the API server; the difference is what
// thinking costs. It returns when the context ends.
//
// Events says that it writes the event Scheduled of each pod as well, as every scheduler does that people can ask
// what it did: then it is the floor of those.
func Floor(ctx context.Context, client kubernetes.Interface, schedulerName string, events bool) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("floor scheduler: list nodes: %w", err)
	}
	if len(list.Items) == 0 {
		return errors.New("floor scheduler: the cluster has no nodes; add them first")
	}
	var nodes []string
	for i := range list.Items {
		nodes = append(nodes, list.Items[i].Name)
	}
	queue := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](10*time.Millisecond, time.Second))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, queue.ShutDown)
	if err := enqueuePending(ctx, client, schedulerName, queue); err != nil {
		return err
	}
	for worker := range writers {
		chance := rand.New(rand.NewPCG(0, uint64(worker)))
		group.Go(func() error {
			for {
				pod, shutdown := queue.Get()
				if shutdown {
					return nil
				}
				node := nodes[chance.IntN(len(nodes))]
				bound, err := bindOne(ctx, client, pod, node, queue)
				if err != nil {
					return err
				}
				if bound && events {
					writeEvent(ctx, client, schedulerName, pod, node)
				}
			}
		})
	}
	return group.Wait()
}

type podQueue = workqueue.TypedRateLimitingInterface[types.NamespacedName]

// enqueuePending puts pods without a node into the queue, until the context
// ends.
func enqueuePending(ctx context.Context, client kubernetes.Interface, schedulerName string, queue podQueue) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			// Not also by spec.nodeName: the API server indexes pods by that field
			// and gives such watches, made for kubelets, a buffer of ten events.
			o.FieldSelector = "spec.schedulerName=" + schedulerName
		}))
	add := func(object any) {
		if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) == 0 {
			queue.Add(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
		}
	}
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
	})
	if err != nil {
		return fmt.Errorf("floor scheduler: watch pods: %w", err)
	}
	factory.Start(ctx.Done())
	return nil
}

// writeEvent writes that a pod was bound. Nobody waits for it, and nobody misses it.
func writeEvent(ctx context.Context, client kubernetes.Interface, schedulerName string, pod types.NamespacedName, node string) {
	_, _ = client.EventsV1().Events(pod.Namespace).Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name + ".bound"},
		EventTime:  metav1.NowMicro(), ReportingController: schedulerName, ReportingInstance: schedulerName + "-floor",
		Action: "Binding", Reason: "Scheduled", Type: corev1.EventTypeNormal,
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name},
		Note:      fmt.Sprintf("Successfully assigned %s to %s", pod, node),
	}, metav1.CreateOptions{})
}

// bindOne binds a pod, or leaves it for later if the API server is away, and reports whether it did. Only
// what will not mend is an error.
func bindOne(ctx context.Context, client kubernetes.Interface, pod types.NamespacedName, node string, queue podQueue) (bool, error) {
	defer queue.Done(pod)
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	err := client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err): // Bound, gone, or bound by another.
		queue.Forget(pod)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return false, fmt.Errorf("floor scheduler: bind pod %s; grant its user the role system:kube-scheduler: %w", pod, err)
	default:
		queue.AddRateLimited(pod)
	}
	return err == nil, nil
}
