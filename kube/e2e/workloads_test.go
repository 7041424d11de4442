package e2e

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Deployment's replicas run, with events and conditions as kube-scheduler
// leaves them, when it is created, scaled down and up, and rolled over.
func TestDeployment(t *testing.T) {
	c := living(t)
	c.start(settings{})
	replicas := int32(40)
	deployments := c.client.AppsV1().Deployments(c.namespace)
	_, err := deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: apps("web"), Template: template("web")},
	}, metav1.CreateOptions{})
	c.must(err)
	available := func(count int32) {
		t.Helper()
		c.await(time.Minute, func() string {
			d, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
			c.must(err)
			if s := d.Status; s.AvailableReplicas != count || s.UpdatedReplicas != count || s.Replicas != count || s.ObservedGeneration != d.Generation {
				return fmt.Sprintf("%d replicas available; there are %d, %d available, %d of the newest template", count, s.Replicas, s.AvailableReplicas, s.UpdatedReplicas)
			}
			return ""
		})
	}
	patch := func(patch string) {
		t.Helper()
		_, err := deployments.Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		c.must(err)
	}
	available(40)
	c.checkScheduledOnce()
	for _, p := range c.bound() {
		if condition(&p).Status != v1.ConditionTrue {
			t.Errorf("pod %s is bound with the condition %+v", p.Name, condition(&p))
		}
	}
	patch(`{"spec":{"replicas":10}}`)
	available(10)
	patch(`{"spec":{"replicas":25}}`)
	available(25)
	patch(`{"spec":{"template":{"metadata":{"labels":{"version":"2"}}}}}`)
	available(25)
	c.checkRoom()
}

// A Job's pods run to their end, and those that are over leave their room.
func TestJob(t *testing.T) {
	c := living(t)
	c.start(settings{})
	completions, parallelism := int32(60), int32(30)
	// Half of the cores of the cluster each time.
	pods := template("job", cpu("4"))
	pods.Spec.RestartPolicy = v1.RestartPolicyNever
	_, err := c.client.BatchV1().Jobs(c.namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec:       batchv1.JobSpec{Completions: &completions, Parallelism: &parallelism, Template: pods},
	}, metav1.CreateOptions{})
	c.must(err)
	c.await(time.Minute, func() string {
		j, err := c.client.BatchV1().Jobs(c.namespace).Get(t.Context(), "job", metav1.GetOptions{})
		c.must(err)
		if j.Status.Succeeded != completions {
			return fmt.Sprintf("%d pods of the job that succeeded; there are %d and %d active", completions, j.Status.Succeeded, j.Status.Active)
		}
		return ""
	})
	c.checkRoom()
	c.checkScheduledOnce()
}

// A DaemonSet has one pod on each node, as its pods name the nodes.
func TestDaemonSet(t *testing.T) {
	c := living(t)
	c.start(settings{})
	_, err := c.client.AppsV1().DaemonSets(c.namespace).Create(t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: apps("agent"), Template: template("agent", cpu("100m"), hostPort(9100))},
	}, metav1.CreateOptions{})
	c.must(err)
	c.awaitBound(time.Minute, livingNodes)
	if nodes := perNode(c.bound()); len(nodes) != livingNodes {
		t.Errorf("the daemon's pods are on %d nodes, want %d", len(nodes), livingNodes)
	}
	c.checkRoom()
}

// template is for the pods of controllers.
func template(app string, options ...option) v1.PodTemplateSpec {
	p := newPod("", append(options, label("app", app))...)
	return v1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}
}
