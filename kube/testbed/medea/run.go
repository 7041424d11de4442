package medea

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/testbed"
)

// This file brings a workload to a bed.

const (
	// patience is how long no pod of the applications may be bound before those that wait are given up: more than a round beside
	// the scheduler's core takes, in which integer programs have half a minute.
	patience = 60 * time.Second
	// settles is how long nothing may happen before nobody is moved any more: more than such a round, and the minute after
	// which the scheduler looks for moves where nothing waits.
	settles = 100 * time.Second
	// writers is how many requests are under way at once before anything is measured.
	writers = 64
	// toldWithin is how long what is said of constraints may take to be what is: it is looked at every five seconds.
	toldWithin = 15 * time.Second
)

// Run is a workload on a bed, which serves the objects of Fairlead.
type Run struct {
	workload *Workload
	client   kubernetes.Interface
	objects  dynamic.NamespaceableResourceInterface
}

// Prepare creates nodes, with other work on them, and the namespaces of the applications.
func Prepare(ctx context.Context, bed *testbed.Bed, w *Workload) (*Run, error) {
	client, err := bed.Client(testbed.Admin)
	if err != nil {
		return nil, err
	}
	ours, err := dynamic.NewForConfig(bed.Config(testbed.Admin))
	if err != nil {
		return nil, fmt.Errorf("make a client of constraints: %w", err)
	}
	r := &Run{w, client, ours.Resource(v1alpha1.GroupVersion.WithResource("placementconstraints"))}
	names := make([]string, len(w.drawn.Problem.Nodes))
	err = testbed.AddNodes(ctx, client, testbed.NodeOptions{Count: len(names), Vary: func(i int, node *corev1.Node) {
		names[i] = node.Name
		w.vary(i, node)
	}})
	if err != nil {
		return nil, err
	}
	for _, name := range w.inNamespaces() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, pod := range w.others(names) {
		group.Go(func() error { return r.create(running, pod) })
	}
	return r, group.Wait()
}

// inNamespaces are the namespaces of the applications.
func (w *Workload) inNamespaces() (names []string) {
	for i := range w.applications {
		names = append(names, w.applications[i].namespace)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (r *Run) create(ctx context.Context, pod *corev1.Pod) error {
	if _, err := r.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// Outcome is what became of the applications.
type Outcome struct {
	// Placed is how long each of those took of which all pods were bound: from when the last of them was created.
	Placed []time.Duration
	// Bound is how many pods of all applications were bound in the end, Moved how many were bound before and went, and Took how long after the first began to come the last of either was.
	Bound, Moved int
	Took         time.Duration
}

// Pace is how fast applications come.
type Pace struct {
	// Every is from when one begins to come until the next one does, if that has come by then.
	Every time.Duration
	// Rate is how many pods of an application are created a second; without a pause when 0.
	Rate float64
}

// Submit creates the applications one after the other, each once its constraints are accepted. It returns when all pods are bound, or none was for as long as its patience lasts. Where pods
// may be moved, all that are bound have to settle first.
func (r *Run) Submit(ctx context.Context, pace Pace) (Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	now := time.Now()
	b := &binds{began: now, last: now, want: map[string]int{}, of: map[string]int{}, there: map[types.UID]bool{}, whole: map[string]time.Time{}}
	for i := range r.workload.applications {
		b.want[r.workload.applications[i].name] = len(r.workload.applications[i].pods)
	}
	if err := testbed.FollowPods(ctx, r.client.CoreV1().Pods(metav1.NamespaceAll), member, b.see); err != nil {
		return Outcome{}, err
	}
	created := make([]time.Time, len(r.workload.applications))
	for i := range r.workload.applications {
		if err := sleepUntil(ctx, b.began.Add(time.Duration(i)*pace.Every)); err != nil {
			return Outcome{}, err
		}
		if err := r.submit(ctx, &r.workload.applications[i], pace.Rate); err != nil {
			return Outcome{}, err
		}
		created[i] = time.Now()
	}
	if err := b.await(ctx, r.workload.Pods(), r.workload.moves()); err != nil {
		return Outcome{}, err
	}
	return r.workload.outcome(b, created), nil
}

// submit creates an application.
func (r *Run) submit(ctx context.Context, a *application, rate float64) error {
	if err := r.constrain(ctx, a); err != nil {
		return err
	}
	if r.workload.owned {
		for _, set := range r.workload.replicaSets(a) {
			if _, err := r.client.AppsV1().ReplicaSets(set.Namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create ReplicaSet %s/%s: %w", set.Namespace, set.Name, err)
			}
		}
		return nil
	}
	next := time.Now()
	for _, pod := range a.pods {
		if err := sleepUntil(ctx, next); err != nil {
			return err
		}
		if rate > 0 {
			next = time.Now().Add(time.Duration(float64(time.Second) / rate))
		}
		if err := r.create(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

func sleepUntil(ctx context.Context, at time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(at)):
		return nil
	}
}

// outcome sums up when pods were bound.
func (w *Workload) outcome(b *binds, created []time.Time) Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := Outcome{Bound: len(b.there), Moved: b.moved, Took: b.last.Sub(b.began)}
	for i := range w.applications {
		if at, whole := b.whole[w.applications[i].name]; whole {
			o.Placed = append(o.Placed, max(0, at.Sub(created[i])))
		}
	}
	slices.Sort(o.Placed)
	return o
}

// constrain creates the constraints of an application, and waits until they are accepted: pods that were placed before would not be bound by them.
func (r *Run) constrain(ctx context.Context, a *application) error {
	of := r.objects.Namespace(a.namespace)
	for _, c := range a.constraints {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
		if err != nil {
			return fmt.Errorf("write constraint %s: %w", c.Name, err)
		}
		if _, err := of.Create(ctx, &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create constraint %s/%s: %w", c.Namespace, c.Name, err)
		}
	}
	for _, c := range a.constraints {
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, toldWithin, true, func(ctx context.Context) (bool, error) {
			object, err := of.Get(ctx, c.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			said, err := typed(object)
			if err != nil {
				return false, err
			}
			return meta.IsStatusConditionTrue(said.Status.Conditions, v1alpha1.Accepted), nil
		})
		if err != nil {
			return fmt.Errorf("wait for constraint %s/%s to be accepted: %w", c.Namespace, c.Name, err)
		}
	}
	return nil
}

func typed(object *unstructured.Unstructured) (*v1alpha1.PlacementConstraint, error) {
	c := &v1alpha1.PlacementConstraint{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, c); err != nil {
		return nil, fmt.Errorf("read constraint %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	return c, nil
}

// binds notes when pods were bound.
type binds struct {
	began time.Time      // what is watched
	want  map[string]int // by application: of how many pods it is

	mu    sync.Mutex
	there map[types.UID]bool   // pods that are bound
	of    map[string]int       // how many these are, by application
	whole map[string]time.Time // by application: when all of its pods were bound for the first time
	moved int                  // how many were bound, and are gone
	last  time.Time            // when anything was bound, or went
}

// see is called with each pod that changes.
func (b *binds) see(pod *corev1.Pod, gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	app, now, known := pod.Labels[appLabel], time.Now(), b.there[pod.UID]
	switch {
	case gone && known:
		delete(b.there, pod.UID)
		b.of[app]--
		b.moved++
	case gone || known || pod.Spec.NodeName == "":
		return
	default:
		b.there[pod.UID] = true
		b.of[app]++
	}
	b.last = now
	if _, was := b.whole[app]; !was && b.of[app] == b.want[app] {
		b.whole[app] = now
	}
}

// await waits until so many are bound, and have settled if they may be moved; or until its patience ends.
func (b *binds) await(ctx context.Context, want int, moves bool) error {
	since := time.Now()
	for {
		b.mu.Lock()
		quiet := min(time.Since(since), time.Since(b.last))
		done := quiet > patience
		if len(b.there) == want {
			done = !moves || quiet > settles
		}
		b.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Verdict is how all constraints stand.
type Verdict struct {
	// Constraints is how many there are, Bound how many pods or sets they bind, of which they do not hold for Violating. Hard of these are of hard constraints, and Avoidable, which counts them, too, need not be.
	Constraints, Bound, Violating, Hard, Avoidable int
	// Contradicted is how many constraints have a status that says another number.
	Contradicted int
	// Notes say which constraints are violated, and which statuses say another number.
	Notes []string
}

// Judge judges the constraints as they stand, once what is said of them has had the time to be true.
func (r *Run) Judge(ctx context.Context) (v Verdict, err error) {
	for deadline := time.Now().Add(toldWithin); ; {
		if v, err = r.judge(ctx); err != nil || v.Contradicted == 0 || time.Now().After(deadline) {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

func (r *Run) judge(ctx context.Context) (v Verdict, err error) {
	nodes, err := r.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return v, fmt.Errorf("list nodes: %w", err)
	}
	pods, err := r.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return v, fmt.Errorf("list pods: %w", err)
	}
	list, err := r.objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return v, fmt.Errorf("list constraints: %w", err)
	}
	var objects []v1alpha1.PlacementConstraint
	for i := range list.Items {
		c, wrong := typed(&list.Items[i])
		if wrong != nil {
			err = errors.Join(err, wrong)
			continue
		}
		objects = append(objects, *c)
	}
	if err != nil {
		return v, err
	}
	stands, err := Judge(nodes.Items, pods.Items, objects)
	for i := range stands {
		v.add(&stands[i])
	}
	return v, err
}

// add adds a constraint.
func (v *Verdict) add(s *Stands) {
	v.Constraints++
	v.Bound += s.Bound
	v.Violating += s.Violating
	v.Avoidable += s.Avoidable
	if s.Object.Spec.Constraint.Hard {
		v.Hard += s.Violating
	}
	name := s.Object.Namespace + "/" + s.Object.Name
	if s.Violating > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%s does not hold for %d of %d, and need not for %d fewer", name, s.Violating, s.Bound, s.Avoidable))
	}
	said := s.Object.Status
	if said.Bound == nil || said.Violating == nil || int(*said.Bound) != s.Bound || int(*said.Violating) != s.Violating {
		v.Contradicted++
		v.Notes = append(v.Notes, fmt.Sprintf("the status of %s says %s, and it is %d of %d", name, inStatus(&said), s.Violating, s.Bound))
	}
}

// inStatus are the numbers that a status says.
func inStatus(s *v1alpha1.PlacementConstraintStatus) string {
	if s.Bound == nil || s.Violating == nil {
		return "nothing"
	}
	return fmt.Sprintf("%d of %d", *s.Violating, *s.Bound)
}

// String is for a test's log.
func (v *Verdict) String() string {
	return fmt.Sprintf("%d constraints bind %d, %d violate them, %d a hard one, and %d need not\n%s", v.Constraints, v.Bound, v.Violating, v.Hard, v.Avoidable, strings.Join(v.Notes, "\n"))
}
