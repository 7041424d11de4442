package judge

// Diagnose must say what kube-scheduler says. Each scenario runs upstream's whole scheduler against the same fake API server, without its preemption and with it, and
// reads the message that it writes into the pod's PodScheduled condition.

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

type scenario struct {
	name  string
	nodes []*v1.Node
	// bound are pods on nodes, each with its node's name in the spec.
	bound   []*v1.Pod
	objects []runtime.Object
	pod     *v1.Pod
	says    string
}

func on(node string, pod *v1.Pod) *v1.Pod {
	pod.Spec.NodeName = node
	return pod
}

func wanting(pod *v1.Pod, cpu string) *v1.Pod {
	pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse(cpu)
	return pod
}

func listening(pod *v1.Pod) *v1.Pod {
	pod.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: v1.ProtocolTCP}}
	return pod
}

func mounting(pod *v1.Pod, claim string) *v1.Pod {
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: claim, VolumeSource: v1.VolumeSource{
		PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}})
	return pod
}

func selectingNodes(pod *v1.Pod, key, value string) *v1.Pod {
	pod.Spec.NodeSelector = map[string]string{key: value}
	return pod
}

func onlyNode(pod *v1.Pod, name string) *v1.Pod {
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}},
		}}},
	}}}
	return pod
}

// storage is a class, and a claim of it that is not bound.
func storage(claim string, mode storagev1.VolumeBindingMode) []runtime.Object {
	return []runtime.Object{
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &mode},
		unboundClaim(claim),
	}
}

func unboundClaim(name string) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-claim"},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: new("disk"), AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending},
	}
}

func scenarios() []scenario {
	three := []*v1.Node{makeNode("n1", "zone=a"), makeNode("n2", "zone=b"), makeNode("n3", "zone=b")}
	return []scenario{
		{
			name: "too little cpu", nodes: three, pod: wanting(makePod("p"), "5"),
			says: "0/3 nodes are available: 3 Insufficient cpu.",
		},
		{
			name: "taints and cordon", pod: makePod("p"),
			nodes: []*v1.Node{makeNode("n1", "role=db:NoSchedule"), makeNode("n2", "role=web:NoExecute"), cordoned(makeNode("n3"))},
			says:  "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s).",
		},
		{
			name: "selector", nodes: three, pod: selectingNodes(makePod("p"), "zone", "c"),
			says: "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
		},
		{
			name: "one node by name", nodes: three, pod: wanting(onlyNode(makePod("p"), "n1"), "5"),
			says: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity].",
		},
		{
			name: "anti-affinity", nodes: three, pod: away(makePod("p", "app=web"), "zone", "app=web"),
			bound: []*v1.Pod{on("n1", makePod("x", "app=web")), on("n3", makePod("y", "app=web"))},
			says:  "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.",
		},
		{
			name: "kept away", nodes: three, pod: makePod("p", "app=web"),
			bound: []*v1.Pod{on("n1", away(makePod("x"), "zone", "app=web")), on("n3", away(makePod("y"), "zone", "app=web"))},
			says:  "0/3 nodes are available: 3 node(s) didn't satisfy existing pods anti-affinity rules.",
		},
		{
			name: "ports", nodes: three[:1], pod: listening(makePod("p")), bound: []*v1.Pod{on("n1", listening(makePod("x")))},
			says: "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
		},
		{
			name: "spread", pod: spreading(makePod("p", "app=web"), "zone", "app=web"),
			nodes: []*v1.Node{makeNode("n1", "zone=a"), cordoned(makeNode("n2", "zone=b"))},
			bound: []*v1.Pod{on("n1", makePod("x", "app=web"))},
			says:  "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) were unschedulable.",
		},
		{
			name: "unbound claim", nodes: three, pod: mounting(makePod("p"), "data"), objects: storage("data", storagev1.VolumeBindingImmediate),
			says: "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
		},
		{
			name: "missing claim", nodes: three, pod: mounting(makePod("p"), "data"),
			says: `0/3 nodes are available: persistentvolumeclaim "data" not found.`,
		},
	}
}

func cordoned(node *v1.Node) *v1.Node {
	node.Spec.Unschedulable = true
	return node
}

func (s scenario) all() []runtime.Object {
	objects := append([]runtime.Object{namespace("default", "red"), s.pod.DeepCopy()}, s.objects...)
	for _, node := range s.nodes {
		objects = append(objects, node.DeepCopy())
	}
	for _, pod := range s.bound {
		objects = append(objects, pod.DeepCopy())
	}
	return objects
}

func TestDiagnoseSpeaksAsUpstream(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			judge := newBench(t, s.all()...).judge
			for _, node := range s.nodes {
				judge.SetNode(node)
			}
			for _, pod := range s.bound {
				put(t, judge, pod, pod.Spec.NodeName)
			}
			fit := judge.Diagnose(s.pod)
			if fit == nil {
				t.Fatal("the judge finds a node")
			}
			if fit.Error() != s.says {
				t.Errorf("judge says\n%s\nwant\n%s", fit.Error(), s.says)
			}
			if upstream := upstreamSays(t, s, false); upstream != fit.Error() {
				t.Errorf("judge says\n%s\nkube-scheduler says\n%s", fit.Error(), upstream)
			}
			if fit.Diagnosis.PreFilterMsg != "" {
				return // kube-scheduler says "not found" then, which is an error of its plugin for devices
			}
			fit.Diagnosis.PostFilterMsg = "preemption: " + NoVictims(fit, Resolvable(fit)) // all pods are equally important
			if upstream := upstreamSays(t, s, true); upstream != fit.Error() {
				t.Errorf("judge says\n%s\nkube-scheduler, with preemption, says\n%s", fit.Error(), upstream)
			}
		})
	}
}

func TestDiagnoseOfAPodThatFits(t *testing.T) {
	judge := newBench(t).judge
	if fit := judge.Diagnose(makePod("p")); fit == nil || fit.Error() != "0/0 nodes are available: no nodes available to schedule pods." {
		t.Errorf("without nodes the judge says %v", fit)
	}
	judge.SetNode(makeNode("n1"))
	if fit := judge.Diagnose(makePod("p")); fit != nil {
		t.Errorf("the judge refuses a pod that fits: %v", fit)
	}
}

// upstreamSays runs kube-scheduler until it has given up on the pod.
func upstreamSays(t *testing.T, s scenario, preempts bool) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defaults, err := latest.Default()
	if err != nil {
		t.Fatal(err)
	}
	if !preempts {
		defaults.Profiles[0].Plugins.PostFilter.Disabled = []config.Plugin{{Name: "*"}, {Name: names.DefaultPreemption}}
	}
	client := fake.NewClientset(s.all()...)
	factory := informers.NewSharedInformerFactory(client, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	defer broadcaster.Shutdown()
	upstream, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster), scheduler.WithProfiles(defaults.Profiles...))
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := upstream.WaitForHandlersSync(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { upstream.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	for range 500 {
		pod, err := client.CoreV1().Pods(s.pod.Namespace).Get(ctx, s.pod.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
				return condition.Message
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("kube-scheduler gave no verdict within ten seconds")
	return ""
}
