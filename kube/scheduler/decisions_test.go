package scheduler

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/sched"
)

// BenchmarkDecisions measures what one pod costs from the moment that it
// is seen until its bind would be sent, and is then known to have succeeded,
// with the API server out of the way. Pods come in batches of 1,000; 30 pods
// stand on each node.
func BenchmarkDecisions(b *testing.B) {
	for _, shape := range []struct {
		name string
		asks func(p *v1.Pod, i int)
	}{
		{"plain", func(*v1.Pod, int) {}},
		{"anti-affinity", func(p *v1.Pod, i int) { // services of 100 pods, one a node
			group := fmt.Sprintf("group-%d", i/100)
			p.Labels = map[string]string{"app": group}
			p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: termsOf(group, v1.LabelHostname)}}
		}},
		{"anti-affinity, stateful", func(p *v1.Pod, i int) { // and each has a label of its own
			group := fmt.Sprintf("group-%d", i/100)
			p.Labels = map[string]string{"app": group, "statefulset.kubernetes.io/pod-name": fmt.Sprintf("pod-%d", i)}
			p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: termsOf(group, v1.LabelHostname)}}
		}},
		{"affinity to a zone", func(p *v1.Pod, i int) {
			group := fmt.Sprintf("group-%d", i/100)
			p.Labels = map[string]string{"app": group}
			p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: termsOf(group, v1.LabelTopologyZone)}}
		}},
		{"spread over zones", func(p *v1.Pod, i int) { spreadBy(p, i, v1.LabelTopologyZone, v1.DoNotSchedule) }},
		{"spread over hosts", func(p *v1.Pod, i int) { spreadBy(p, i, v1.LabelHostname, v1.DoNotSchedule) }},
		{"soft spread over zones", func(p *v1.Pod, i int) { spreadBy(p, i, v1.LabelTopologyZone, v1.ScheduleAnyway) }},
		{"soft spread over hosts", func(p *v1.Pod, i int) { spreadBy(p, i, v1.LabelHostname, v1.ScheduleAnyway) }},
		{"preferred affinity to a zone", func(p *v1.Pod, i int) {
			p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: likedBy(p, i, v1.LabelTopologyZone)}}
		}},
		{"preferred affinity to a host", func(p *v1.Pod, i int) {
			p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: likedBy(p, i, v1.LabelHostname)}}
		}},
		{"preferred anti-affinity", func(p *v1.Pod, i int) {
			p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: likedBy(p, i, v1.LabelHostname)}}
		}},
		{"a disk by a claim of its own", func(p *v1.Pod, i int) { // which is bound, as scheduler_perf has them
			source := v1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("claim-%d", i)}
			p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &source}}}
		}},
		{"a disk of its own", func(p *v1.Pod, i int) { // of which upstream's filters are asked, as of all volumes
			p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: fmt.Sprintf("disk-%d", i)}}}}
		}},
	} {
		sizes := []int{1000, 5000}
		if shape.name == "plain" {
			sizes = append(sizes, 15_000)
		}
		for _, nodes := range sizes {
			b.Run(fmt.Sprintf("%s/nodes=%d", shape.name, nodes), func(b *testing.B) {
				needsLong(b, nodes)
				benchDecisions(b, nodes, shape.asks)
			})
		}
	}
}

// needsLong skips a cluster that takes a minute to make, unless FAIRLEAD_LONG asks for it.
func needsLong(b *testing.B, nodes int) {
	b.Helper()
	if nodes > 5000 && os.Getenv("FAIRLEAD_LONG") == "" {
		b.Skip("set FAIRLEAD_LONG=1")
	}
}

func termsOf(app, key string) []v1.PodAffinityTerm {
	return []v1.PodAffinityTerm{{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
}

// likedBy makes the pod one of a service of 100, and says that it has to do with the others.
func likedBy(p *v1.Pod, i int, key string) []v1.WeightedPodAffinityTerm {
	group := fmt.Sprintf("group-%d", i/100)
	p.Labels = map[string]string{"app": group}
	return []v1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: termsOf(group, key)[0]}}
}

// spreadBy makes the pod one of a service of 100 that are spread.
func spreadBy(p *v1.Pod, i int, key string, otherwise v1.UnsatisfiableConstraintAction) {
	group := fmt.Sprintf("group-%d", i/100)
	p.Labels = map[string]string{"app": group}
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: otherwise, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": group}},
	}}
}

func benchDecisions(b *testing.B, nodes int, asks func(*v1.Pod, int)) {
	b.Helper()
	const batch = 1000
	made, placed, template := 0, 0, plainPod(0)
	probe := *template
	asks(&probe, 0)
	var objects []runtime.Object
	if len(probe.Spec.Volumes) > 0 && probe.Spec.Volumes[0].PersistentVolumeClaim != nil {
		objects = boundClaims(nodes, claimsAtMost)
	}
	s := offline(b, nodes, objects...)
	b.ReportAllocs()
	for b.Loop() {
		for range batch {
			pod := *template
			pod.Name, pod.UID = fmt.Sprintf("pod-%d", made), types.UID(fmt.Sprintf("uid-%d", made))
			asks(&pod, made)
			s.world.SeePod(&pod)
			made++
		}
		now, _ := s.decideOffline(b)
		placed += now
	}
	if placed != made {
		b.Fatalf("placed %d of %d pods", placed, made)
	}
	b.ReportMetric(float64(placed)/b.Elapsed().Seconds(), "decisions/s")
}

// claimsAtMost is for how many pods there are claims.
const claimsAtMost = 20000

// boundClaims are claims that are bound to volumes of a CSI driver, of which each node takes 39.
func boundClaims(nodes, claims int) (objects []runtime.Object) {
	for i := range nodes {
		objects = append(objects, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: bigNode(i).Name},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
				{Name: "csi.example.com", NodeID: bigNode(i).Name, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(39))}},
			}},
		})
	}
	for i := range claims {
		claim, volume := fmt.Sprintf("claim-%d", i), fmt.Sprintf("volume-%d", i)
		objects = append(objects, &v1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claim, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "true"}},
			Spec:       v1.PersistentVolumeClaimSpec{VolumeName: volume, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}},
			Status:     v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
		}, &v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: volume},
			Spec: v1.PersistentVolumeSpec{
				ClaimRef:               &v1.ObjectReference{Namespace: "default", Name: claim},
				AccessModes:            []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: volume}},
			},
		})
	}
	return objects
}

// offline is a scheduler of nodes with pods on them, whose informers hold the objects and tell it of nothing more.
func offline(b *testing.B, nodes int, objects ...runtime.Object) *Scheduler {
	b.Helper()
	return offlineAs(b, config.Default(), nodes, objects...)
}

// offlineAs is offline with a configuration.
func offlineAs(b *testing.B, c *config.SchedulerConfiguration, nodes int, objects ...runtime.Object) *Scheduler {
	b.Helper()
	s, err := New(b.Context(), Options{
		Client: fake.NewSimpleClientset(objects...), Config: c, Metrics: metrics.New(prometheus.NewRegistry()), Clock: clock.RealClock{},
	})
	if err != nil {
		b.Fatal(err)
	}
	if len(objects) > 0 {
		s.intake.informers.Start(b.Context().Done())
		s.intake.informers.WaitForCacheSync(b.Context().Done())
		time.Sleep(time.Second) // until upstream's plugins have heard of it, which nothing tells
	}
	for i := range nodes {
		s.world.SeeNode(bigNode(i))
	}
	s.intake.surveyStorage()
	for i := range 30 * nodes {
		p := plainPod(-1 - i)
		p.Spec.NodeName = bigNode(i % nodes).Name
		p.Spec.SchedulerName = "default-scheduler"
		s.world.SeePod(p)
	}
	if err := s.restart("start"); err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkPreemptions measures what one pod costs that takes the place of another, from the moment that it is seen until its bind is known to
// have succeeded, with the API server out of the way. All nodes are full of 30 pods; pods come in batches of 1,000, each batch more
// important than all before.
func BenchmarkPreemptions(b *testing.B) {
	for _, nodes := range []int{1000, 5000, 15_000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			needsLong(b, nodes)
			c := config.Default()
			c.Profiles[0].Evictions = config.Evictions{Enabled: true, Pace: config.Pace{AtOnce: 30 * nodes, PerMinute: 60_000_000}, Moves: config.Pace{AtOnce: 1, PerMinute: 1}, Budgets: config.BestEffort}
			s := offlineAs(b, c, 0)
			for i := range nodes {
				s.world.SeeNode(sizedNode(i, "3", "30Gi", "110"))
			}
			for i := range 30 * nodes {
				p := plainPod(-1 - i)
				p.Spec.NodeName = bigNode(i % nodes).Name
				s.world.SeePod(p)
			}
			if err := s.restart("start"); err != nil {
				b.Fatal(err)
			}
			const batch = 1000
			made, placed := 0, 0
			for b.Loop() {
				important := int32(1 + made/batch)
				for range batch {
					p := plainPod(made)
					p.Spec.Priority = &important
					s.world.SeePod(p)
					made++
				}
				_, left := s.decideOffline(b)
				now, more := s.decideOffline(b)
				if placed += now; left != batch || more != 0 {
					b.Fatalf("%d pods have left, and %d more, for %d", left, more, batch)
				}
			}
			if placed != made {
				b.Fatalf("placed %d of %d pods", placed, made)
			}
			b.ReportMetric(float64(placed)/b.Elapsed().Seconds(), "preemptions/s")
		})
	}
}

// decideOffline does a turn of the loop; every bind succeeds, and who is evicted is gone at once.
func (s *Scheduler) decideOffline(tb testing.TB) (placed, left int) {
	tb.Helper()
	s.world.Advance(s.now())
	s.world.Admit(func() bool { return false })
	decisions, _, err := s.epochs.core.Step(s.now(), s.world.Take(), s.epochs.decisions[:0])
	if err != nil {
		tb.Fatal(err)
	}
	s.epochs.decisions = decisions
	for _, d := range decisions {
		if d.Kind == sched.Evict {
			s.world.Exits().Evict(d)
			continue
		}
		p, status := s.world.Binds().Judge(context.Background(), d)
		if !status.IsSuccess() {
			tb.Fatal(status.AsError())
		}
		s.world.Binds().Started(p)
		bound := *p.Object()
		bound.ResourceVersion, bound.Spec.NodeName = "2", p.Node()
		s.world.SeePod(&bound)
		placed++
	}
	for _, p := range s.world.Exits().Dismiss() {
		s.world.LosePod(p.Object())
		left++
	}
	s.world.Settle(s.epochs.reserved)
	return placed, left
}

func bigNode(i int) *v1.Node { return sizedNode(i, "1000", "4Ti", "100000") }

func sizedNode(i int, cpu, memory, pods string) *v1.Node {
	room := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory), v1.ResourcePods: resource.MustParse(pods),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{
			v1.LabelHostname: fmt.Sprintf("node-%d", i), v1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3),
		}},
		Status: v1.NodeStatus{Allocatable: room, Capacity: room},
	}
}

func plainPod(i int) *v1.Pod {
	yes := true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("pod-%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i)), ResourceVersion: "1", Generation: 1,
			Labels:          map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{UID: "web", Name: "web", Controller: &yes}},
		},
		Spec: v1.PodSpec{
			SchedulerName: config.DefaultSchedulerName,
			Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU: resource.MustParse("100m"), v1.ResourceMemory: resource.MustParse("128Mi"),
			}}}},
		},
	}
}
