package world

import (
	"fmt"
	"math"
	"math/bits"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// This file draws nodes and pods that use everything that a filter looks at.
// Values come from small stocks, so that they often meet.

// number draws one of 0 to n-1, each as often as any other, where rapid would
// mostly draw the small ones. It shrinks to 0.
func number(t *rapid.T, n int, what string) int {
	return rapid.Custom(func(t *rapid.T) int {
		drawn := 0
		for range bits.Len(uint(n-1)) + 3 {
			drawn <<= 1
			if rapid.Bool().Draw(t, "bit") {
				drawn++
			}
		}
		return drawn % n
	}).Draw(t, what)
}

// often draws true once in n times, and shrinks to false.
func often(t *rapid.T, n int, what string) bool { return number(t, n, what) == n-1 }

func pick[T any](t *rapid.T, what string, of ...T) T { return of[number(t, len(of), what)] }

func drawNode(t *rapid.T, i int) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), UID: types.UID("uid-" + nodeName(i)), Labels: map[string]string{v1.LabelHostname: nodeName(i)}}}
	if zone := pick(t, "zone", "a", "b", "c", ""); zone != "" {
		node.Labels[v1.LabelTopologyZone] = zone
		if often(t, 2, "zone of disks") {
			node.Labels["topology.gke.io/zone"] = zone
		}
		if often(t, 4, "region") {
			node.Labels[v1.LabelTopologyRegion] = pick(t, "region", "r", "s")
		}
	}
	if size := pick(t, "size", "", "1", "5", "x"); size != "" {
		node.Labels["size"] = size
	}
	for range max(0, number(t, 6, "taints")-3) {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{
			Key: pick(t, "taint", "k1", "k2"), Value: pick(t, "value", "", "v"),
			Effect: pick(t, "effect", v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute),
		})
	}
	node.Spec.Unschedulable = often(t, 12, "cordoned")
	if often(t, 2, "features") {
		node.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"}
	}
	node.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(pick(t, "cpu", "8", "8", "4", "1", "0")), v1.ResourceMemory: resource.MustParse(pick(t, "mem", "16Gi", "8Gi", "1Gi")),
		v1.ResourcePods: resource.MustParse(pick(t, "pods", "10", "10", "10", "2", "1")),
	}
	if often(t, 2, "disk") {
		node.Status.Allocatable[v1.ResourceEphemeralStorage] = resource.MustParse("10Gi")
	}
	if often(t, 3, "extended") {
		node.Status.Allocatable[pick(t, "extended name", v1.ResourceName("example.com/a"), "hugepages-2Mi", "example.com/device")] = resource.MustParse("2Gi")
	}
	return node
}

// drawPod draws a pod with few demands, of all kinds.
func drawPod(t *rapid.T, name string) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: pick(t, "namespace", "default", "default", "other"), UID: types.UID("uid-" + name), Labels: map[string]string{}},
		Spec:       v1.PodSpec{SchedulerName: ours},
	}
	if app := pick(t, "app", "", "web", "db"); app != "" {
		pod.Labels["app"] = app
	}
	pod.Spec.Containers = []v1.Container{{Name: "main", Resources: drawRequests(t)}}
	for _, draw := range []func(*rapid.T, *v1.Pod){drawSize, drawPorts, drawTolerations, drawNodes, drawVolumes, drawDevices, drawCompany, drawSpread} {
		if often(t, 5, "more") {
			draw(t, pod)
		}
	}
	if len(pod.Spec.Volumes) == 0 && often(t, 4, "volumes") {
		drawVolumes(t, pod)
	}
	return pod
}

func drawRequests(t *rapid.T) v1.ResourceRequirements {
	list := v1.ResourceList{}
	if text := pick(t, "cpu", "", "500m", "1", "0", "3"); text != "" {
		list[v1.ResourceCPU] = resource.MustParse(text)
	}
	if text := pick(t, "mem", "", "512Mi", "0", "2Gi"); text != "" {
		list[v1.ResourceMemory] = resource.MustParse(text)
	}
	if often(t, 6, "disk") {
		list[v1.ResourceEphemeralStorage] = resource.MustParse("6Gi")
	}
	if often(t, 6, "extended") {
		name := pick(t, "extended name", v1.ResourceName("example.com/a"), "hugepages-2Mi", "example.com/none", "example.com/device")
		list[name] = resource.MustParse(pick(t, "amount", "1", "0", "1Gi", "2Gi"))
	}
	return v1.ResourceRequirements{Requests: list}
}

// drawSize draws what else counts towards the pod's requests.
func drawSize(t *rapid.T, pod *v1.Pod) {
	cpu := func(what string) v1.ResourceRequirements {
		return v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(pick(t, what, "250m", "2"))}}
	}
	if often(t, 2, "second container") {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "second", Resources: cpu("second")})
	}
	if often(t, 3, "init") {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: "init", Resources: cpu("init cpu")})
	}
	if often(t, 3, "sidecar") {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: "sidecar", Resources: cpu("sidecar cpu"), RestartPolicy: new(v1.ContainerRestartPolicyAlways)})
	}
	if often(t, 3, "overhead") {
		pod.Spec.Overhead = cpu("overhead cpu").Requests
	}
	if often(t, 3, "whole") {
		pod.Spec.Resources = new(cpu("whole cpu"))
	}
	if often(t, 3, "feature") {
		pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
	}
}

func drawPorts(t *rapid.T, pod *v1.Pod) {
	for range 1 + number(t, 3, "ports") {
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, v1.ContainerPort{
			ContainerPort: 80, HostPort: pick(t, "port", int32(0), 1, 2, 3, 4, 5, 6, 7, 8),
			HostIP: pick(t, "address", "", "0.0.0.0", "10.0.0.1", "10.0.0.2", "::", "::1"), Protocol: pick(t, "protocol", v1.ProtocolTCP, v1.ProtocolUDP, ""),
		})
	}
}

func drawTolerations(t *rapid.T, pod *v1.Pod) {
	for range 1 + number(t, 2, "tolerations") {
		toleration := v1.Toleration{
			Key: pick(t, "key", "k1", "k2", v1.TaintNodeUnschedulable, ""), Operator: pick(t, "operator", v1.TolerationOpExists, v1.TolerationOpEqual, ""),
			Effect: pick(t, "effect", "", v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute),
		}
		if toleration.Key == "" {
			toleration.Operator = v1.TolerationOpExists
		}
		if toleration.Operator != v1.TolerationOpExists {
			toleration.Value = pick(t, "value", "", "v")
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
	}
}

// drawNodes draws selectors of nodes.
func drawNodes(t *rapid.T, pod *v1.Pod) {
	if often(t, 3, "selector") {
		pod.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: pick(t, "zone", "a", "b", "z")}
	}
	var terms []v1.NodeSelectorTerm
	for range number(t, 3, "terms") {
		terms = append(terms, drawTerm(t))
	}
	if len(terms) > 0 {
		nodeAffinity(pod).RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: terms}
	}
	if often(t, 3, "prefers") {
		nodeAffinity(pod).PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{{Weight: 5, Preference: drawTerm(t)}}
	}
}

func drawTerm(t *rapid.T) v1.NodeSelectorTerm {
	var term v1.NodeSelectorTerm
	if often(t, 3, "field") {
		term.MatchFields = []v1.NodeSelectorRequirement{{
			Key: "metadata.name", Operator: pick(t, "field operator", v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn), Values: []string{pick(t, "name", "n0", "n1", "n9")},
		}}
	}
	if often(t, 2, "expression") {
		r := v1.NodeSelectorRequirement{Key: "size", Operator: pick(t, "operator",
			v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt)}
		switch r.Operator {
		case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		default:
			r.Values = []string{pick(t, "size", "1", "3", "5")}
		}
		term.MatchExpressions = []v1.NodeSelectorRequirement{r}
	}
	return term
}

func drawVolumes(t *rapid.T, pod *v1.Pod) {
	for i := range 1 + number(t, 2, "volumes") {
		volume := v1.Volume{Name: fmt.Sprint("volume-", i)}
		switch pick(t, "kind of volume", "claim", "claim", "claim", "claim", "claim", "disk", "ebs", "empty", "ephemeral") {
		case "claim":
			volume.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: pick(t, "claim", append(libraryClaims(), "csi-1", "csi-2", "csi-3", "csi-4", "csi-5", "csi-6", "csi-7", "csi-8", "csi-9")...)}
		case "disk":
			volume.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: "disk", ReadOnly: often(t, 2, "read only")}
		case "ebs":
			volume.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "ebs"}
		case "empty":
			volume.EmptyDir = &v1.EmptyDirVolumeSource{}
		case "ephemeral":
			volume.Ephemeral = &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	}
}

func drawDevices(t *rapid.T, pod *v1.Pod) {
	if name := pick(t, "device", libraryDevices()...); often(t, 2, "with a device") {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimName: &name}}
	}
}

func drawPodSelector(t *rapid.T) *metav1.LabelSelector {
	app := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	}
	return pick(t, "selector", app("web"), app("web"), app("db"), &metav1.LabelSelector{}, nil)
}

func drawTopology(t *rapid.T) string {
	return pick(t, "topology", v1.LabelTopologyZone, v1.LabelHostname)
}

// drawCompany draws affinity to pods and away from them.
func drawCompany(t *rapid.T, pod *v1.Pod) {
	term := func() v1.PodAffinityTerm {
		term := v1.PodAffinityTerm{TopologyKey: drawTopology(t), LabelSelector: drawPodSelector(t)}
		switch number(t, 5, "namespaces") {
		case 1:
			term.Namespaces = []string{"other"}
		case 2:
			term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}
		}
		return term
	}
	a := affinity(pod)
	if often(t, 2, "away") {
		a.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term()}}
	}
	if often(t, 2, "near") {
		a.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term()}}
	}
	if often(t, 4, "rather near") {
		a.PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 5, PodAffinityTerm: term()}}}
	}
}

func drawSpread(t *rapid.T, pod *v1.Pod) {
	defer func() {
		if one := &pod.Spec.TopologySpreadConstraints[0]; one.WhenUnsatisfiable == v1.DoNotSchedule {
			one.MinDomains = pick(t, "domains", nil, nil, nil, new(int32(2)), new(int32(math.MaxInt32)))
		}
	}()
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: pick(t, "skew", int32(1), 1, 1, 2, 2, math.MaxInt32), TopologyKey: drawTopology(t), LabelSelector: drawPodSelector(t),
		WhenUnsatisfiable:  pick(t, "action", v1.DoNotSchedule, v1.DoNotSchedule, v1.ScheduleAnyway),
		NodeAffinityPolicy: pick(t, "affinity policy", nil, new(v1.NodeInclusionPolicyHonor), new(v1.NodeInclusionPolicyIgnore)),
		NodeTaintsPolicy:   pick(t, "taints policy", nil, new(v1.NodeInclusionPolicyHonor), new(v1.NodeInclusionPolicyIgnore)),
	}}
}

// drawPrices draws what preferences are part of the price of a place.
func (r *rig) drawPrices(t *rapid.T) {
	priced := Prices{Nodes: often(t, 2, "priced"), Company: often(t, 2, "company priced")}
	r.world.shapes.prices = func(string) Prices { return priced }
	r.world.rules.wishes = priced.Company
}
