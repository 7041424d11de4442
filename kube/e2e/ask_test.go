package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/explain"
)

// This file asks of a list of the bed why pods wait, and holds the answers against what kube-scheduler says of the same pods.

// said is what kube-scheduler says where our reason has one of the words.
func said() []struct {
	theirs string
	ours   []string
} {
	return []struct {
		theirs string
		ours   []string
	}{
		{"untolerated taint", []string{"have the taint"}},
		{"affinity/selector", []string{"lack the label", "do not match"}},
		{"Insufficient cpu", []string{"lack cpu", "too small: cpu"}},
		{"Insufficient nvidia.com/gpu", []string{"lack nvidia.com/gpu", "too small: nvidia.com/gpu", "have no nvidia.com/gpu"}},
		{"free ports", []string{"host port"}},
		{"anti-affinity rules", []string{"podAntiAffinity", "hold another task"}},
		{"topology spread constraints", []string{"topologySpreadConstraints"}},
		{"PersistentVolume's node affinity", []string{"out of reach of"}},
		{"not found", []string{"it is not there"}},
		{"unschedulable", []string{"are cordoned"}},
	}
}

// TestWhyPodsWait: the same pods wait, and what would have to change first by our reason is among what kube-scheduler names.
// With FAIRLEAD_DUMP the list is kept in that file.
func TestWhyPodsWait(t *testing.T) {
	skipIfShort(t)
	c := bare(t)
	waiting := c.questionable()
	startKubeScheduler(c)
	messages := map[string]string{}
	c.await(time.Minute, func() string {
		for _, name := range waiting {
			if messages[name] = condition(c.pod(name)).Message; messages[name] == "" {
				return "a decision about pod " + name
			}
		}
		return ""
	})
	path := filepath.Join(t.TempDir(), "me.json")
	c.list(path)
	if keep := os.Getenv("FAIRLEAD_DUMP"); keep != "" {
		text, err := os.ReadFile(path)
		c.must(err)
		c.must(os.WriteFile(keep, text, 0o600))
	}
	var out, failed bytes.Buffer
	if code := cli.Run([]string{"explain", "--cluster", path, "--policy", "kube", "-o", "json"}, &out, &failed); code != 0 {
		t.Fatalf("exit code %d: %s", code, &failed)
	}
	var answer explain.Answer
	c.must(json.Unmarshal(out.Bytes(), &answer))
	var ours []string
	for _, g := range answer.Waiting {
		for _, name := range g.Names {
			name = strings.TrimPrefix(name, c.namespace+"/")
			ours = append(ours, name)
			t.Logf("%s: %s\n  kube-scheduler: %s", name, g.Why, messages[name])
			if name != "gated" && !agrees(g.Why, messages[name]) {
				t.Errorf("%s: %s; kube-scheduler says: %s", name, g.Why, messages[name])
			}
		}
	}
	slices.Sort(ours)
	slices.Sort(waiting)
	if !slices.Equal(ours, waiting) || len(answer.Placed) > 0 {
		t.Errorf("%v wait, and %d find a place; of kube-scheduler's %v do", ours, len(answer.Placed), waiting)
	}
}

// agrees reports whether the first cause of our reason is one that the message names.
func agrees(why, message string) bool {
	_, causes, _ := strings.Cut(why, ": ")
	first := regexp.MustCompile(`[,;] \d+ `).Split(causes, 2)[0]
	for _, s := range said() {
		if strings.Contains(message, s.theirs) && slices.ContainsFunc(s.ours, func(word string) bool { return strings.Contains(first, word) }) {
			return true
		}
	}
	return false
}

// questionable makes a cluster with pods of every sort that a bed without kubelets can have, and returns those that wait.
func (c *cluster) questionable() (waiting []string) {
	c.t.Helper()
	c.addNodes(9, "n-", "4")
	c.addNodes(2, "g-", "16")
	ctx, api := c.t.Context(), c.client
	for _, n := range c.nodes() {
		switch {
		case strings.HasPrefix(n.Name, "g-"):
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "gpu", Value: "yes", Effect: v1.TaintEffectNoSchedule})
			updated, err := api.CoreV1().Nodes().Update(ctx, &n, metav1.UpdateOptions{})
			c.must(err)
			updated.Status.Capacity[gpus], updated.Status.Allocatable[gpus] = resource.MustParse("4"), resource.MustParse("4")
			_, err = api.CoreV1().Nodes().UpdateStatus(ctx, updated, metav1.UpdateOptions{})
			c.must(err)
		case n.Name == "n-00008":
			n.Spec.Unschedulable = true
			_, err := api.CoreV1().Nodes().Update(ctx, &n, metav1.UpdateOptions{})
			c.must(err)
		}
	}
	never := v1.PreemptNever
	for name, value := range map[string]int32{"low": 10, "polite": 1000} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: c.namespace + "-" + name}, Value: value}
		if name == "polite" {
			class.PreemptionPolicy = &never
		}
		_, err := api.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
		c.must(err)
		c.t.Cleanup(func() {
			c.must(api.SchedulingV1().PriorityClasses().Delete(context.Background(), class.Name, metav1.DeleteOptions{}))
		})
	}
	least := intstr.FromInt32(3)
	_, err := api.PolicyV1().PodDisruptionBudgets(c.namespace).Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: apps("db")},
	}, metav1.CreateOptions{})
	c.must(err)
	for i := range 3 {
		c.boundClaim(fmt.Sprintf("data-db-%d", i), fmt.Sprintf("z%d", i))
	}
	c.boundClaim("stuck", "z0")
	c.runAll()
	by := scheduledBy(v1.DefaultSchedulerName)
	c.create(
		newPod("lost", by, selecting(v1.LabelTopologyZone, "z9")),
		newPod("untolerated", by, gpu("1")),
		newPod("greedy", by, gpu("5"), tolerant),
		newPod("huge", by, cpu("64")),
		newPod("cordoned", by, selecting(v1.LabelHostname, "n-00008")),
		newPod("port", by, hostPort(8080), selecting(v1.LabelTopologyZone, "z0")),
		newPod("apart", by, label("app", "db"), awayFrom("db", v1.LabelTopologyZone)),
		newPod("stuck", by, selecting(v1.LabelTopologyZone, "z1"), mounting("stuck")),
		newPod("claimless", by, mounting("nowhere")),
		newPod("polite", by, cpu("3900m"), func(p *v1.Pod) { p.Spec.PriorityClassName = c.namespace + "-polite" }),
		newPod("gated", by, func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/quota"}} }),
		newPod("foreign", scheduledBy("volcano")),
	)
	return []string{"lost", "untolerated", "greedy", "huge", "cordoned", "port", "apart", "stuck", "claimless", "polite", "gated"}
}

func tolerant(p *v1.Pod) {
	p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: "gpu", Operator: v1.TolerationOpExists})
}

func mounting(claim string) option {
	return func(p *v1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
}

// runAll creates pods that run, on nodes that are chosen for them: a spread workload, a database with volumes, work of low priority,
// and a pod of a DaemonSet on each node.
func (c *cluster) runAll() {
	c.t.Helper()
	owned := func(kind, name string) option {
		return func(p *v1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: "uid-1", Controller: new(true)}}
			p.Spec.SchedulerName = v1.DefaultSchedulerName
		}
	}
	on := func(node string) option { return func(p *v1.Pod) { p.Spec.NodeName = node } }
	var pods []*v1.Pod
	for i := range 6 {
		pods = append(pods, newPod(fmt.Sprintf("web-5d4f-%d", i), owned("ReplicaSet", "web-5d4f"), on(fmt.Sprintf("n-%05d", i)), label("app", "web"), label("pod-template-hash", "5d4f"), spread("web", v1.LabelTopologyZone), hostPort(8080)))
	}
	for i := range 3 {
		pods = append(pods, newPod(fmt.Sprintf("db-%d", i), owned("StatefulSet", "db"), on(fmt.Sprintf("n-%05d", i)), label("app", "db"), awayFrom("db", v1.LabelHostname), mounting(fmt.Sprintf("data-db-%d", i))))
	}
	for i := range 8 {
		pods = append(pods, newPod(fmt.Sprintf("crunch-%d", i), owned("Job", "crunch"), on(fmt.Sprintf("n-%05d", i)), func(p *v1.Pod) { p.Spec.PriorityClassName = c.namespace + "-low" }))
	}
	pods = append(pods, newPod("other-port", owned("ReplicaSet", "other"), on("n-00006"), hostPort(8080)))
	for _, n := range c.nodes() {
		pods = append(pods, newPod("agent-"+n.Name, owned("DaemonSet", "agent"), on(n.Name), cpu("100m"), label("app", "agent")))
	}
	c.create(pods...)
}

// boundClaim makes a claim that is bound to a volume in a zone.
func (c *cluster) boundClaim(name, zone string) {
	c.t.Helper()
	ctx, api := c.t.Context(), c.client.CoreV1()
	class, gib := "", v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: c.namespace + "-" + name},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Capacity: gib,
			ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.namespace, Name: name},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: name}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}},
			}}}},
		},
	}
	_, err := api.PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	c.must(err)
	c.t.Cleanup(func() {
		c.must(api.PersistentVolumes().Delete(context.Background(), volume.Name, metav1.DeleteOptions{}))
	})
	claim, err := api.PersistentVolumeClaims(c.namespace).Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: volume.Spec.AccessModes, StorageClassName: &class, VolumeName: volume.Name, Resources: v1.VolumeResourceRequirements{Requests: gib},
		},
	}, metav1.CreateOptions{})
	c.must(err)
	claim.Status = v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound, AccessModes: volume.Spec.AccessModes, Capacity: gib}
	_, err = api.PersistentVolumeClaims(c.namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	c.must(err)
}
