package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/report"
)

// This file is pod groups: those of Kubernetes 1.37 and of the coscheduling plugin, which are read, and those of older Kubernetes, which are not: fairlead-scheduler holds their pods, and says so, and so does what is worked out of a list.

// podGroups are those of Kubernetes, and coscheduled those of the plugin, whose pods name them by a label.
func podGroups() schema.GroupVersionResource {
	return schedulingv1beta1.SchemeGroupVersion.WithResource("podgroups")
}

func coscheduled() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "podgroups"}
}

const coscheduledLabel = "scheduling.x-k8s.io/pod-group"

// notRead says of pods of groups of Kubernetes why they are held, where it serves none that are read.
const notRead = "the cluster serves no podgroups of scheduling.k8s.io/v1beta1, as Kubernetes does from 1.37 on where they are switched on: pods with spec.schedulingGroup or spec.workloadRef are held"

// servesGroups reports whether the cluster serves the pod groups of Kubernetes that are read, in the namespace that the caller may ask about.
func servesGroups(ctx context.Context, client dynamic.Interface, namespace string) (bool, error) {
	_, err := client.Resource(podGroups()).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err == nil || apierrors.IsForbidden(err):
		return true, nil
	}
	return false, fmt.Errorf("list podgroups: %w", err)
}

// holdGrouped has a pod that names a group which is not read stand behind a gate, if it waits, and name none, or that would be said to be missing. It reports whether the pod is held.
func holdGrouped(o *unstructured.Unstructured) bool {
	grouped := false
	for _, field := range []string{"schedulingGroup", "workloadRef"} {
		if _, is, _ := unstructured.NestedMap(o.Object, "spec", field); !is {
			continue
		}
		unstructured.RemoveNestedField(o.Object, "spec", field)
		grouped = true
	}
	return grouped && holdBack(o, "fairlead.dev/group")
}

// toldOfGroup reads what is written on a pod group and its pods.
func (r *reader) toldOfGroup(ctx context.Context, about subject) (*told, error) {
	object, err := r.client.Resource(podGroups()).Namespace(about.namespace).Get(ctx, about.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return r.toldOfOtherGroup(ctx, about, err)
	}
	if err != nil {
		return nil, r.noSuch(ctx, podGroups(), about, err)
	}
	group := &schedulingv1beta1.PodGroup{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, group); err != nil {
		return nil, err
	}
	t := &told{Name: about.String()}
	for _, c := range group.Status.Conditions {
		if c.Status == metav1.ConditionFalse {
			t.Condition = &toldCondition{c.Reason, c.Message, r.ago(c.LastTransitionTime.Time)}
		}
	}
	least := int32(0)
	if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
		least = gang.MinCount
	}
	err = r.addPods(ctx, t, about.namespace, func(pod *v1.Pod) bool {
		g := pod.Spec.SchedulingGroup
		return g != nil && g.PodGroupName != nil && *g.PodGroupName == about.name
	})
	t.count(least)
	return t, err
}

// toldOfOtherGroup is toldOfGroup of one of the coscheduling plugin, if there is one of that name; else it says what there is of Kubernetes' own, which is not.
func (r *reader) toldOfOtherGroup(ctx context.Context, about subject, notFound error) (*told, error) {
	object, err := r.client.Resource(coscheduled()).Namespace(about.namespace).Get(ctx, about.name, metav1.GetOptions{})
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		switch served, err := servesGroups(ctx, r.client, about.namespace); {
		case err != nil:
			return nil, err
		case !served:
			return nil, errors.New("there is no " + about.String() + "; " + notRead)
		}
		return nil, r.noSuch(ctx, podGroups(), about, notFound)
	}
	group := struct {
		Spec struct {
			MinMember int32 `json:"minMember"`
		} `json:"spec"`
	}{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &group); err != nil {
		return nil, err
	}
	t := &told{Name: about.String()}
	err = r.addPods(ctx, t, about.namespace, func(pod *v1.Pod) bool { return pod.Labels[coscheduledLabel] == about.name })
	t.count(group.Spec.MinMember)
	return t, err
}

// addPods adds the pods of a group, as far as they may be read.
func (r *reader) addPods(ctx context.Context, t *told, namespace string, of func(*v1.Pod) bool) error {
	list, err := r.client.Resource(pods()).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		t.NotRead = append(t.NotRead, fmt.Sprintf("its pods: %v", err))
		return nil
	}
	for i := range list.Items {
		pod := &v1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, pod); err != nil {
			return err
		}
		if of(pod) {
			t.Pods = append(t.Pods, r.toldOfPod(pod))
		}
	}
	return nil
}

// count says how many pods of a group wait, and puts these first; so many come together, if it is a gang.
func (t *told) count(least int32) {
	waiting := 0
	for _, p := range t.Pods {
		t.Scheduler = p.Scheduler
		if p.waits {
			waiting++
		}
	}
	t.waits = waiting > 0
	slices.SortStableFunc(t.Pods, func(a, b *told) int {
		switch {
		case a.waits == b.waits:
			return cmp.Compare(a.Name, b.Name)
		case a.waits:
			return -1
		}
		return 1
	})
	t.State = fmt.Sprintf("has %s, of which %d wait", report.Count(len(t.Pods), "pod"), waiting)
	if least > 0 {
		t.State += fmt.Sprintf("; at least %d come together or none does", least)
	}
}
