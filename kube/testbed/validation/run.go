package validation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/experiment"
	"fairlead.dev/fairlead/kube/classes"
	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/sched"
)

// This file is a test on a bed. What makes another pod in place of one that was evicted is Kubernetes' own controller of ReplicaSets.

// The hosts and requests of the tests: ten requests fill a host.
const (
	hosts         = 20
	hostCPU       = "3750m"
	hostMemory    = "3750Mi"
	requestCPU    = "375m"
	requestMemory = "375Mi"
)

// Options are a test. Times are the paper's; on the bed they are Pace times as short.
type Options struct {
	Test   string // v1 or v2
	Data   string // the folder with the order of the authors; empty: a random order
	Seed   uint64 // of that
	Policy string
	Pace   int64
	Margin time.Duration // of the classes, and the watchdog of a policy that has one
	Length time.Duration
	// Scheduler is the path of a fairlead-scheduler.
	Scheduler string
}

// Outcome is how the requests fared on the bed.
type Outcome struct {
	experiment.Fared
	replica experiment.Replica
	bursts  []cluster.Time
	// began and left are when pods were seen to have a node, and when those that had one to be gone.
	began, left []time.Time
	ended       time.Time
	CPU         map[string]time.Duration // of each process
	Took        time.Duration
}

// Run runs the test on a bed of its own.
func Run(ctx context.Context, o Options) (out Outcome, err error) {
	folder, err := os.MkdirTemp("", "validation-")
	if err != nil {
		return out, fmt.Errorf("make a folder for what is recorded: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	out, recorded, err := o.serve(ctx, filepath.Join(folder, "bed"))
	if err != nil {
		return out, err
	}
	took, err := readLatencies(recorded, out.ended)
	if err != nil {
		return out, err
	}
	out.replica.First, out.replica.Again, out.replica.Leave = times(took.first), times(took.again), times(took.leave)
	out.replica.Anew = times(took.anew)
	out.replica.Bursts = took.bursts(out.ended.Add(-time.Duration(out.replica.Until)*time.Microsecond), time.Duration(out.replica.Trigger.Watchdog)*time.Microsecond/2)
	out.replica.Kept = took.kept(out.began, out.left)
	return out, nil
}

// serve has the scheduler serve the requests on a bed in the folder, and counts. It says where that has recorded what it did.
func (o *Options) serve(ctx context.Context, folder string) (out Outcome, recorded string, err error) {
	requests, trigger, err := o.prepare()
	if err != nil {
		return out, "", err
	}
	bed, err := testbed.Start(ctx, testbed.Options{Tmpfs: true, Dir: folder, Records: true})
	if err != nil {
		return out, "", err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	table := experiment.ValidationClasses(cluster.Time(o.Margin.Microseconds()), o.Pace)
	if err := o.fill(ctx, bed, table, trigger); err != nil {
		return out, "", err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if err := bed.Wait(ctx); err != nil {
			cancel(err)
		}
	}()
	client, err := bed.Client(testbed.Admin)
	if err != nil {
		return out, "", err
	}
	c := newCounter()
	see := func(pod *corev1.Pod, gone bool) { c.see(pod, gone, time.Now()) }
	if err := testbed.FollowPods(ctx, client.CoreV1().Pods(metav1.NamespaceDefault), requestLabel, see); err != nil {
		return out, "", err
	}
	bed.Watch(testbed.LoadName, os.Getpid())
	before, began := bed.CPU(), time.Now()
	for i, promise := range requests {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(o.Pace))
		if err := sleep(ctx, due); err != nil {
			return out, "", err
		}
		if err := ask(ctx, client, i, promise); err != nil {
			return out, "", err
		}
	}
	end := began.Add(o.Length / time.Duration(o.Pace))
	if err := sleep(ctx, end); err != nil {
		return out, "", err
	}
	out = c.outcome(requests, began, end)
	out.replica.Policy, out.replica.Trigger, out.replica.Classes = o.Policy, trigger, table
	out.CPU, out.Took = bed.CPU(), time.Since(began)
	for name, used := range before {
		out.CPU[name] -= used
	}
	return out, testbed.Recording(bed), bed.Err()
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	_, _, err := o.prepare()
	return err
}

// prepare checks the options, and returns the requests and what starts the rounds of the policy.
func (o *Options) prepare() ([]string, sched.Trigger, error) {
	requests, err := experiment.ValidationRequests(o.Test, o.Data, o.Seed)
	if err != nil {
		return nil, sched.Trigger{}, err
	}
	info, err := policies.Find(o.Policy)
	if err != nil {
		return nil, sched.Trigger{}, err
	}
	if o.Pace < 1 || o.Margin < 0 || o.Length < time.Duration(len(requests))*time.Second {
		return nil, sched.Trigger{}, fmt.Errorf("pace %d, margin %v, length %v: want a pace of 1 or more, no negative margin, and as many seconds as there are requests: %d", o.Pace, o.Margin, o.Length, len(requests))
	}
	trigger := info.When
	if trigger.Watchdog > 0 {
		trigger.Watchdog = cluster.Time(o.Margin.Microseconds())
	}
	trigger.Watchdog /= cluster.Time(o.Pace)
	trigger.Heartbeat /= cluster.Time(o.Pace)
	return requests, trigger, nil
}

// fill adds nodes, classes, the controller of ReplicaSets and the scheduler.
func (o *Options) fill(ctx context.Context, bed *testbed.Bed, table *class.Table, trigger sched.Trigger) error {
	if err := errors.Join(testbed.Define(ctx, bed), testbed.GrantRoles(ctx, bed)); err != nil {
		return err
	}
	client, err := bed.Client(testbed.Admin)
	if err != nil {
		return err
	}
	if err := testbed.AddNodes(ctx, client, testbed.NodeOptions{Count: hosts, CPU: hostCPU, Memory: hostMemory}); err != nil {
		return err
	}
	if err := define(ctx, bed, table); err != nil {
		return err
	}
	if err := testbed.StartControllers(ctx, bed, "replicaset-controller"); err != nil {
		return err
	}
	policy := fmt.Sprintf("{name: %s, watchdog: %s, heartbeat: %s}", o.Policy, span(trigger.Watchdog), span(trigger.Heartbeat))
	return bed.StartFairlead(ctx, o.Scheduler, testbed.ProfileOf(policy), flatOut)
}

// flatOut is a limit of requests a second that nothing reaches.
const flatOut = 10_000

// span is a time as configurations and objects have it.
func span(t cluster.Time) string { return chosen.Time(t).String() }

// define makes ServiceClasses of the classes.
func define(ctx context.Context, bed *testbed.Bed, table *class.Table) error {
	client, err := dynamic.NewForConfig(bed.Config(testbed.Admin))
	if err != nil {
		return fmt.Errorf("make a client of ServiceClasses: %w", err)
	}
	for i := range table.Classes {
		c := &table.Classes[i]
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "fairlead.dev/v1alpha1", "kind": "ServiceClass", "metadata": map[string]any{"name": c.Name},
			"spec": map[string]any{
				"importance": int64(c.Importance), "availability": fmt.Sprintf("%.6f", float64(c.Availability)/float64(cluster.Whole)),
				"margin": span(c.Margin), "restart": span(c.Restart), "evicted": "Kept", "namespaceSelector": map[string]any{},
			},
		}}
		_, err := client.Resource(scheduler.ServiceClasses()).Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			return fmt.Errorf("create the ServiceClass %s: %w", c.Name, err)
		}
	}
	return nil
}

// nameOf is the name of a request.
func nameOf(i int) string { return fmt.Sprintf("request-%04d", i) }

// ask creates a request of the class of that name.
func ask(ctx context.Context, client kubernetes.Interface, i int, promise string) error {
	name, labels := nameOf(i), map[string]string{requestLabel: nameOf(i)}
	spec := corev1.PodSpec{
		SchedulerName: testbed.FairleadProfile, AutomountServiceAccountToken: new(false),
		TerminationGracePeriodSeconds: new(int64), // as in the proof of concept
		Containers: []corev1.Container{{
			Name: "pause", Image: "registry.k8s.io/pause",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(requestCPU), corev1.ResourceMemory: resource.MustParse(requestMemory),
			}},
		}},
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)}, Spec: spec}
	template.Labels[classes.Label] = promise
	_, err := client.AppsV1().ReplicaSets(metav1.NamespaceDefault).Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the ReplicaSet %s: %w", name, preferCause(ctx, err))
	}
	return nil
}

// preferCause is why the context ended, or else the error.
func preferCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// sleep waits until that time, or says why it does not.
func sleep(ctx context.Context, until time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(until)):
		return nil
	}
}

// outcome is how the requests have fared up to the end.
func (c *counter) outcome(requests []string, began, end time.Time) Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := Outcome{Fared: experiment.Fared{Availability: map[string][]float64{}}}
	promises := map[string]string{}
	for i, promise := range requests {
		promises[nameOf(i)] = promise
	}
	for _, name := range c.came() {
		r, promise := c.requests[name], promises[name]
		out.Preemptions += r.preemptions
		out.Availability[promise] = append(out.Availability[promise], r.availability(end))
		out.replica.Requests = append(out.replica.Requests, promise)
		out.replica.Arrivals = append(out.replica.Arrivals, cluster.Time(r.came.Sub(began).Microseconds()))
	}
	out.bursts, out.began, out.left = micros(c.bursts()), slices.Clone(c.began), slices.Clone(c.left)
	out.ended = end
	out.replica.Until = cluster.Time(end.Sub(began).Microseconds())
	return out
}

func micros(list []time.Duration) []cluster.Time {
	times := make([]cluster.Time, len(list))
	for i, d := range list {
		times[i] = cluster.Time(d.Microseconds())
	}
	return times
}
