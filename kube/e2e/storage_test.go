package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const selectedNode = "volume.kubernetes.io/selected-node"

// A StatefulSet's volumes are made on the node that was chosen for the first
// pod, and every later pod of that name goes where its volume is.
func TestStatefulSet(t *testing.T) {
	c := living(t)
	c.start(settings{})
	class := c.provide()
	replicas := int32(4)
	_, err := c.client.AppsV1().StatefulSets(c.namespace).Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: apps("db"), ServiceName: "db",
			Template:             template("db", cpu("6")), // one to a node
			VolumeClaimTemplates: []v1.PersistentVolumeClaim{dataClaim(class)},
		},
	}, metav1.CreateOptions{})
	c.must(err)
	c.awaitBound(time.Minute, 4)
	home := map[string]string{}
	for _, p := range c.bound() {
		home[p.Name] = p.Spec.NodeName
		claim, err := c.client.CoreV1().PersistentVolumeClaims(c.namespace).Get(t.Context(), "data-"+p.Name, metav1.GetOptions{})
		c.must(err)
		if claim.Annotations[selectedNode] != p.Spec.NodeName || claim.Status.Phase != v1.ClaimBound {
			t.Errorf("pod %s is on %s, its claim %s with the node %q", p.Name, p.Spec.NodeName, claim.Status.Phase, claim.Annotations[selectedNode])
		}
	}
	before := c.pod("db-1").UID
	c.delete("db-1")
	c.await(time.Minute, func() string {
		for _, p := range c.bound() {
			if p.Name == "db-1" && p.UID != before {
				return ""
			}
		}
		return "the next pod db-1"
	})
	if now := c.pod("db-1").Spec.NodeName; now != home["db-1"] {
		t.Errorf("pod db-1 is on %s, its volume on %s", now, home["db-1"])
	}
	c.checkRoom()
}

// A pod whose claim does not exist is told so in kube-scheduler's words, and is
// placed when it does.
func TestMissingClaim(t *testing.T) {
	c := living(t)
	c.start(settings{})
	class := c.provide()
	c.create(newPod("early", func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
	}))
	c.expectRefusal("early", `0/30 nodes are available: persistentvolumeclaim "data" not found\.`)
	claim := dataClaim(class)
	_, err := c.client.CoreV1().PersistentVolumeClaims(c.namespace).Create(t.Context(), &claim, metav1.CreateOptions{})
	c.must(err)
	c.awaitBound(30*time.Second, 1)
}

// dataClaim asks for a volume of a class, as "data".
func dataClaim(class string) v1.PersistentVolumeClaim {
	return v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// provide makes a storage class whose volumes wait for their first consumer, and
// does until the test ends what an external provisioner does: it makes a volume
// on the node that the scheduler chose. It returns the name of the class.
func (c *cluster) provide() string {
	c.t.Helper()
	name, mode, keep := c.namespace, storagev1.VolumeBindingWaitForFirstConsumer, v1.PersistentVolumeReclaimRetain
	_, err := c.client.StorageV1().StorageClasses().Create(c.t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "e2e.fairlead.dev/disk", VolumeBindingMode: &mode, ReclaimPolicy: &keep,
	}, metav1.CreateOptions{})
	c.must(err)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.provision(ctx) }()
	c.t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			c.t.Errorf("provisioner: %v", err)
		}
		c.must(c.client.StorageV1().StorageClasses().Delete(context.Background(), name, metav1.DeleteOptions{}))
		c.must(c.client.CoreV1().PersistentVolumes().DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "test=" + name}))
	})
	return name
}

func (c *cluster) provision(ctx context.Context) error {
	watch, err := c.client.CoreV1().PersistentVolumeClaims(c.namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watch.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-watch.ResultChan():
			if !ok {
				return fmt.Errorf("the watch ended: %w", context.Cause(ctx))
			}
			claim, isClaim := event.Object.(*v1.PersistentVolumeClaim)
			if !isClaim || claim.Annotations[selectedNode] == "" || claim.Spec.VolumeName != "" {
				continue
			}
			_, err := c.client.CoreV1().PersistentVolumes().Create(ctx, c.volumeFor(claim), metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) && ctx.Err() == nil {
				return err
			}
		}
	}
}

func (c *cluster) volumeFor(claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + string(claim.UID), Labels: map[string]string{"test": c.namespace}},
		Spec: v1.PersistentVolumeSpec{
			Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: *claim.Spec.StorageClassName,
			PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/tmp"}},
			ClaimRef:                      &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: host, Operator: v1.NodeSelectorOpIn, Values: []string{claim.Annotations[selectedNode]}}},
			}}}},
		},
	}
}
