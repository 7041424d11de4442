package scheduler

import (
	"fmt"
	"runtime"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// BenchmarkHeap reports the live heap of a scheduler that knows 30 running pods on each of its nodes, half of them its
// own. Each pod comes as it would over the wire: decoded on its own, so that no two share a string, then stripped,
// and kept in an informer's store.
func BenchmarkHeap(b *testing.B) {
	for _, nodes := range []int{5000, 15_000} {
		b.Run(fmt.Sprintf("nodes=%d/pods=%d", nodes, 30*nodes), func(b *testing.B) {
			needsLong(b, nodes)
			for b.Loop() {
				benchHeap(b, nodes, 30*nodes)
			}
		})
	}
}

func benchHeap(b *testing.B, nodes, pods int) {
	b.Helper()
	s := offline(b, 0)
	before := liveHeap()
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for i := range nodes {
		n := bigNode(i)
		if err := store.Add(n); err != nil {
			b.Fatal(err)
		}
		s.world.SeeNode(n)
	}
	for i := range pods {
		p := overTheWire(b, runningPod(i, nodes))
		if err := store.Add(p); err != nil {
			b.Fatal(err)
		}
		s.world.SeePod(p)
	}
	if err := s.restart("start"); err != nil {
		b.Fatal(err)
	}
	_, _ = s.decideOffline(b)
	b.ReportMetric(float64(liveHeap()-before)/(1<<20), "heap-MiB")
	runtime.KeepAlive(s)
	runtime.KeepAlive(store)
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// overTheWire decodes the pod from its encoding, as an informer does.
func overTheWire(b *testing.B, pod *v1.Pod) *v1.Pod {
	b.Helper()
	data, err := pod.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	decoded := &v1.Pod{}
	if err := decoded.Unmarshal(data); err != nil {
		b.Fatal(err)
	}
	strip(decoded)
	return decoded
}

// runningPod is a pod of a Deployment, with what admission and a kubelet add.
func runningPod(i, nodes int) *v1.Pod {
	p := plainPod(i)
	owner := fmt.Sprintf("app-%d", i/50)
	p.Name, p.UID = fmt.Sprintf("%s-6c5b9d8f7-%05d", owner, i), types.UID(fmt.Sprintf("0b0c8c80-7f1d-4b1e-9f0e-%012d", i))
	p.Labels = map[string]string{"app": owner, "pod-template-hash": "6c5b9d8f7", "app.kubernetes.io/instance": owner}
	p.OwnerReferences[0].Name, p.OwnerReferences[0].UID = owner, types.UID(owner)
	p.Annotations = map[string]string{"prometheus.io/scrape": "true", "kubernetes.io/config.hash": "abcdef"}
	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(string(make([]byte, 2000)))}}
	p.Spec.NodeName = bigNode(i % nodes).Name
	if i%2 == 0 {
		p.Spec.SchedulerName = "default-scheduler"
	}
	seconds := int64(300)
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
	p.Spec.Volumes = []v1.Volume{{Name: "kube-api-access-abcde", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
		Sources: []v1.VolumeProjection{{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token"}}, {ConfigMap: &v1.ConfigMapProjection{}}},
	}}}}
	c := &p.Spec.Containers[0]
	c.Image = "registry.example.com/team/" + owner + ":v1.2.3"
	c.VolumeMounts = []v1.VolumeMount{{Name: "kube-api-access-abcde", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}}
	for e := range 10 {
		c.Env = append(c.Env, v1.EnvVar{Name: fmt.Sprintf("SETTING_%d", e), Value: "some value or other"})
	}
	p.Status = v1.PodStatus{
		Phase: v1.PodRunning, PodIP: "10.0.0.1", HostIP: "192.168.0.1",
		Conditions: []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}, {Type: v1.PodReady, Status: v1.ConditionTrue}},
		ContainerStatuses: []v1.ContainerStatus{{
			Name: "c", Ready: true, Image: c.Image, ContainerID: "containerd://0123456789abcdef", Resources: &c.Resources, AllocatedResources: c.Resources.Requests,
		}},
	}
	return p
}
