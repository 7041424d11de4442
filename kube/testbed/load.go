package testbed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Feature is what the pods of a load ask of a scheduler beside room.
type Feature string

// The features of loads.
const (
	Plain  Feature = "plain"
	Anti   Feature = "anti"   // no two pods on a node; needs as many nodes as pods
	Spread Feature = "spread" // zones differ by one pod at most
	// What is preferred, where it can be.
	SoftSpread Feature = "soft-spread" // zones differ by one pod at most
	Near       Feature = "near"        // pods beside each other in a zone
	Apart      Feature = "apart"       // no two pods on a node
)

// Via is who creates the pods.
type Via string

// The creators of pods. The last two need a bed with a controller manager.
const (
	Pods        Via = "pods" // the load itself
	Deployments Via = "deployments"
	Jobs        Via = "jobs"
)

// Load is a number of equal pods. What is zero gets the value in parentheses.
type Load struct {
	Name      string // of this load; the label app of its pods and the prefix of their names (load)
	Scheduler string // the schedulerName of the pods (default-scheduler)
	Pods      int
	Rate      float64 // pods created per second; flat out when 0
	Feature   Feature // (plain)
	Via       Via     // (pods)
	Replicas  int     // of each Deployment or Job (1000)
	tooLarge  bool    // for any node
}

// Validate says what is wrong with a load, before a bed is started for it.
func (l Load) Validate() error {
	_, err := l.withDefaults()
	return err
}

func (l Load) withDefaults() (Load, error) {
	l.Name = cmp.Or(l.Name, "load")
	l.Scheduler = cmp.Or(l.Scheduler, corev1.DefaultSchedulerName)
	l.Feature = cmp.Or(l.Feature, Plain)
	l.Via = cmp.Or(l.Via, Pods)
	l.Replicas = min(cmp.Or(l.Replicas, 1000), l.Pods)
	if l.Pods <= 0 {
		return l, fmt.Errorf("test bed: a load of %d pods; want at least one", l.Pods)
	}
	switch l.Feature {
	case Plain, Anti, Spread, SoftSpread, Near, Apart:
	default:
		return l, fmt.Errorf("test bed: no feature %q; there are %s, %s, %s, %s, %s and %s", l.Feature, Plain, Anti, Spread, SoftSpread, Near, Apart)
	}
	switch l.Via {
	case Pods:
	case Deployments, Jobs:
		if l.Rate != 0 {
			return l, errors.New("test bed: a rate is kept for pods only: controllers create as fast as they can")
		}
	default:
		return l, fmt.Errorf("test bed: nobody called %q creates pods; there are %s, %s and %s", l.Via, Pods, Deployments, Jobs)
	}
	return l, nil
}

// create creates the pods, or what creates them, and calls sent with the name of
// each pod just before its request.
func (l Load) create(ctx context.Context, client kubernetes.Interface, sent func(pod string)) error {
	count := l.Pods
	if l.Via != Pods {
		count = (l.Pods + l.Replicas - 1) / l.Replicas
	}
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	began := time.Now()
	for i := range count {
		if !pace(running, began, i, l.Rate) {
			break
		}
		group.Go(func() error {
			if err := l.createOne(running, client, i, sent); err != nil {
				return fmt.Errorf("test bed: create number %d of %d %s: %w", i+1, count, l.Via, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// pace waits until it is time for the i-th request, and says whether to go on.
func pace(ctx context.Context, began time.Time, i int, rate float64) bool {
	if rate == 0 {
		return ctx.Err() == nil
	}
	due := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Until(due)):
		return true
	}
}

func (l Load) createOne(ctx context.Context, client kubernetes.Interface, i int, sent func(pod string)) error {
	name := fmt.Sprintf("%s-%06d", l.Name, i)
	meta := metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, Labels: map[string]string{appLabel: l.Name}}
	if l.Via == Pods {
		sent(name)
		_, err := client.CoreV1().Pods(meta.Namespace).Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: l.spec()}, metav1.CreateOptions{})
		return err
	}
	replicas := int32(min(l.Replicas, l.Pods-i*l.Replicas))
	owner := map[string]string{"owner": name}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appLabel: l.Name, "owner": name}},
		Spec:       l.spec(),
	}
	var err error
	if l.Via == Deployments {
		_, err = client.AppsV1().Deployments(meta.Namespace).Create(ctx, &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: owner}, Template: template,
		}}, metav1.CreateOptions{})
		return err
	}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err = client.BatchV1().Jobs(meta.Namespace).Create(ctx, &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{
		Parallelism: &replicas, Completions: &replicas, Template: template,
	}}, metav1.CreateOptions{})
	return err
}

// appLabel tells one load from another.
const appLabel = "app"

func (l Load) spec() corev1.PodSpec {
	noToken := false
	spec := corev1.PodSpec{
		SchedulerName:                l.Scheduler,
		AutomountServiceAccountToken: &noToken,
		Containers: []corev1.Container{{
			Name: "pause", Image: "registry.k8s.io/pause",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("100m"),
				corev1.ResourceMemory: resource.MustParse("128Mi"),
			}},
		}},
		Tolerations: []corev1.Toleration{{Key: fakeNode, Operator: corev1.TolerationOpExists}},
	}
	if l.tooLarge {
		spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1000")
	}
	same := &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: l.Name}}
	spread := func(otherwise corev1.UnsatisfiableConstraintAction) {
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: otherwise, LabelSelector: same,
		}}
	}
	prefers := func(key string) []corev1.WeightedPodAffinityTerm {
		return []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: same}}}
	}
	switch l.Feature {
	case Spread:
		spread(corev1.DoNotSchedule)
	case SoftSpread:
		spread(corev1.ScheduleAnyway)
	case Near:
		spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: prefers(corev1.LabelTopologyZone)}}
	case Apart:
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: prefers(corev1.LabelHostname)}}
	case Anti:
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: same}},
		}}
	default: // Plain asks for nothing.
	}
	return spec
}
