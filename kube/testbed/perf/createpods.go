package perf

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// This file is what workloads do with pods, and the volumes that are made for them.

// basePod is the pod of workloads that name no template.
func basePod() *corev1.Pod {
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("500Mi")}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "pause", Image: "registry.k8s.io/pause:3.10.2",
			Ports:     []corev1.ContainerPort{{ContainerPort: 80}},
			Resources: corev1.ResourceRequirements{Requests: room, Limits: room},
		}}},
	}
}

// podMaker makes the pods of an operation.
type podMaker struct {
	namespace          string
	pod, volume, claim *stencil // nil: the base pod; no volumes
	alike              int      // pods one after the other with the same label
}

func (op *CreatePods) maker(namespace string) (m *podMaker, err error) {
	m = &podMaker{namespace: namespace, alike: max(op.SignatureBatchSize, 1)}
	for _, s := range []struct {
		path   string
		params map[string]any
		into   **stencil
	}{{op.Template, op.TemplateParams, &m.pod}, {op.Volume, nil, &m.volume}, {op.Claim, nil, &m.claim}} {
		if s.path == "" {
			continue
		}
		if *s.into, err = newStencil(s.path, s.params, op.count()); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// create creates a pod and, before, its volume.
func (m *podMaker) create(ctx context.Context, r *runner, i int) error {
	pod := basePod()
	if m.pod != nil {
		pod = &corev1.Pod{}
		if err := m.pod.fill(i, pod); err != nil {
			return err
		}
		if pod.Labels == nil {
			pod.Labels = map[string]string{}
		}
		// Upstream's label by which workloads say which pods are alike.
		pod.Labels["signature"] = fmt.Sprintf("signature-label-%d", i/m.alike)
	}
	if m.volume != nil {
		claim, err := m.createVolume(ctx, r, i)
		if err != nil {
			return err
		}
		pod.Spec.Volumes = []corev1.Volume{{Name: "vol", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
	}
	if _, err := r.client.CoreV1().Pods(m.namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create pod %d in %s: %w", i, m.namespace, err)
	}
	return nil
}

// createVolume creates a volume and a claim that are bound to each other.
func (m *podMaker) createVolume(ctx context.Context, r *runner, i int) (name string, err error) {
	claim, volume := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	if err := m.claim.fill(i, claim); err != nil {
		return "", err
	}
	if err := m.volume.fill(i, volume); err != nil {
		return "", err
	}
	claim.Name = fmt.Sprintf("pvc-%d", i)
	volume.Name = fmt.Sprintf("%s-vol-%d", m.namespace, i)
	switch source := &volume.Spec.PersistentVolumeSource; {
	case source.CSI != nil:
		source.CSI.VolumeHandle = volume.Name
	case source.AWSElasticBlockStore != nil:
		source.AWSElasticBlockStore.VolumeID = volume.Name
	}
	claim.Spec.VolumeName = volume.Name
	volume.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: m.namespace, Name: claim.Name}
	claims, volumes := r.client.CoreV1().PersistentVolumeClaims(m.namespace), r.client.CoreV1().PersistentVolumes()
	if claim, err = claims.Create(ctx, claim, metav1.CreateOptions{}); err == nil {
		claim.Status.Phase = corev1.ClaimBound
		_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	}
	if err == nil {
		volume, err = volumes.Create(ctx, volume, metav1.CreateOptions{})
	}
	if err == nil {
		volume.Status.Phase = corev1.VolumeBound
		_, err = volumes.UpdateStatus(ctx, volume, metav1.UpdateOptions{})
	}
	if err != nil {
		return "", fmt.Errorf("create volume %d in %s: %w", i, m.namespace, err)
	}
	return claim.Name, nil
}

func (r *runner) createPods(ctx context.Context, namespace string, op *CreatePods) error {
	if op.Namespace != "" {
		namespace = op.Namespace
	}
	if err := r.use(ctx, namespace); err != nil {
		return err
	}
	maker, err := op.maker(namespace)
	if err != nil {
		return err
	}
	of := group{namespaces: []string{namespace}}
	if op.Measure {
		if err := r.start(namespace, of); err != nil {
			return err
		}
	}
	err = parallel(ctx, op.count(), func(ctx context.Context, i int) error { return maker.create(ctx, r, i) })
	switch {
	case err != nil:
		return err
	case op.NoWait:
		r.awaited[namespace] += op.count()
	case op.Steady:
		err = r.keepSteady(ctx, maker, op)
	default:
		err = r.await(ctx, of, op.count(), false)
	}
	if err == nil && op.Measure {
		err = r.stop()
	}
	return err
}

// keepSteady replaces every pod of the namespace that is bound by another, for as long as the operation says.
func (r *runner) keepSteady(ctx context.Context, maker *podMaker, op *CreatePods) error {
	deleted := map[string]bool{}
	now := int64(0)
	for until := time.Now().Add(op.Duration.Duration); time.Now().Before(until); {
		var due []string
		for _, name := range r.pods.boundIn(maker.namespace) {
			if !deleted[name] {
				deleted[name] = true
				due = append(due, name)
			}
		}
		err := parallel(ctx, len(due), func(ctx context.Context, i int) error {
			err := r.client.CoreV1().Pods(maker.namespace).Delete(ctx, due[i], metav1.DeleteOptions{GracePeriodSeconds: &now})
			if err != nil && !apierrors.IsNotFound(err) { // it went by itself
				return fmt.Errorf("delete pod %s that is bound: %w", due[i], err)
			}
			return maker.create(ctx, r, 0)
		})
		if err != nil {
			return err
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) deletePods(ctx context.Context, op *DeletePods) error {
	pods := r.client.CoreV1().Pods(op.Namespace)
	remove := func() error {
		if op.DeletePodsPerSecond == 0 {
			return pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(op.LabelSelector).String()})
		}
		return nil
	}
	if op.DeletePodsPerSecond > 0 {
		names := r.pods.named(group{[]string{op.Namespace}, op.LabelSelector})
		remove = func() error {
			return every(ctx, op.DeletePodsPerSecond, len(names), func(i int) error {
				if err := pods.Delete(ctx, names[i], metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
					return fmt.Errorf("delete pod %s/%s: %w", op.Namespace, names[i], err)
				}
				return nil
			})
		}
	}
	if op.NoWait {
		r.beside(ctx, remove)
		return nil
	}
	return remove()
}
