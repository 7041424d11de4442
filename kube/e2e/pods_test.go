package e2e

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file builds pods: a plain one for our scheduler, changed by options.

type option func(*v1.Pod)

func newPod(name string, options ...option) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "e2e"}},
		Spec:       podSpec(),
	}
	for _, o := range options {
		o(p)
	}
	return p
}

// podSpec is that of a pod of one core for our scheduler.
func podSpec() v1.PodSpec {
	noToken, now := false, int64(0)
	return v1.PodSpec{
		SchedulerName:                 testbed.FairleadProfile,
		AutomountServiceAccountToken:  &noToken,
		TerminationGracePeriodSeconds: &now,
		Containers: []v1.Container{{Name: "c", Image: "pause", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")},
		}}},
	}
}

// several makes pods named prefix-0 and on.
func several(count int, prefix string, options ...option) []*v1.Pod {
	pods := make([]*v1.Pod, count)
	for i := range pods {
		pods[i] = newPod(fmt.Sprintf("%s-%d", prefix, i), options...)
	}
	return pods
}

func request(name v1.ResourceName, quantity string) option {
	return func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(quantity) }
}

func cpu(quantity string) option { return request(v1.ResourceCPU, quantity) }

func label(key, value string) option { return func(p *v1.Pod) { p.Labels[key] = value } }

func scheduledBy(name string) option { return func(p *v1.Pod) { p.Spec.SchedulerName = name } }

func hostPort(number int32) option {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, v1.ContainerPort{ContainerPort: number, HostPort: number})
	}
}

// takesItsTime has a pod stay when it is deleted, until it is let go.
func takesItsTime(p *v1.Pod) { p.Finalizers = []string{"example.com/takes-its-time"} }

// selecting keeps the pod to nodes with a label.
func selecting(key, value string) option {
	return func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

func affinity(p *v1.Pod) *v1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	return p.Spec.Affinity
}

func near(app, topology string) option {
	return func(p *v1.Pod) {
		affinity(p).PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(app, topology)}
	}
}

func awayFrom(app, topology string) option {
	return func(p *v1.Pod) {
		affinity(p).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(app, topology)}
	}
}

func term(app, topology string) []v1.PodAffinityTerm {
	return []v1.PodAffinityTerm{{TopologyKey: topology, LabelSelector: apps(app)}}
}

func apps(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func spread(app, topology string) option {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: apps(app),
		})
	}
}

// of is for pods with a label app.
func of(app string) func(*v1.Pod) bool { return func(p *v1.Pod) bool { return p.Labels["app"] == app } }
