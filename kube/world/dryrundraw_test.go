package world

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// This file draws clusters in which somebody would have to leave for a pod: half of them with a bit of everything, as other tests have them, and half
// with one thing that keeps the pod off, so that each is met often.

// mayLeaveFor are the things of which one keeps a pod off, beside room.
func mayLeaveFor() []string {
	return []string{
		"everything", "room", "hard spread", "hard spread by two keys", "required anti-affinity", "anti-affinity of others", "required affinity", "host ports",
		"settled volumes", "volumes to be made", "volumes to be made, and anti-affinity", "volumes to be made, and hard spread", "volumes to be made, and ports", "volumes of a driver that has to be there",
		"a claim of a device", "disks of its own",
	}
}

// drawDryRun fills nodes, and draws a pod that no node may take, and what keeps it off.
func (r *rig) drawDryRun(t *rapid.T) (pod *v1.Pod, why string) {
	why = "everything"
	if often(t, 2, "one thing") {
		why = pick(t, "thing", mayLeaveFor()...)
	}
	few := why != "everything"
	for i := range 1 + number(t, 4, "nodes") {
		if few {
			r.seeNode(drawPlainNode(t, i))
		} else {
			r.seeNode(drawNode(t, i))
		}
	}
	r.restart()
	if why == "volumes of a driver that has to be there" || often(t, 6, "strict driver") {
		r.keep(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: new(true)}}, true)
		r.keep(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: nodeName(number(t, 4, "without drivers"))}}, false)
	}
	for _, name := range []string{"a", "b"} {
		if often(t, 2, "budget") {
			r.seeBudget(makeBudget(name, pick(t, "of", "web", "db", ""), int32(number(t, 3, "spare"))))
		}
	}
	for i := range number(t, 20, "bound pods") {
		name := fmt.Sprintf("bound-%d", i)
		bound := drawVictim(t, name)
		if few {
			bound = drawPlainPod(t, name)
			if often(t, 3, "alike") {
				drawReason(t, bound, why)
			}
		}
		bound.Spec.Priority = new(pick(t, "priority", int32(-5), 0, 0, 1, 7))
		if r.policy == "fairlead" { // which breaks ties in its own way, where kube-scheduler goes by who started last
			bound.Spec.Priority = new(100**bound.Spec.Priority + int32(i))
		}
		node := nodeName(number(t, len(r.nodes), "on"))
		if r.takes(bound, node, nil) {
			bound.Spec.NodeName = node
			bound.Spec.SchedulerName = pick(t, "scheduler", ours, "other")
			r.seePod(bound)
		}
	}
	r.now += 20 * cluster.Second
	r.turn()
	if few {
		pod = drawPlainPod(t, "asks")
		drawReason(t, pod, why)
	} else {
		pod = drawVictim(t, "asks")
	}
	pod.Spec.Priority = new(pick(t, "own priority", int32(0), 500, 10_000))
	return pod, why
}

// drawPlainNode draws a node that nearly all pods may go to.
func drawPlainNode(t *rapid.T, i int) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), UID: types.UID("uid-" + nodeName(i)), Labels: map[string]string{v1.LabelHostname: nodeName(i)}}}
	if zone := pick(t, "zone", "a", "a", "b", "c", ""); zone != "" {
		node.Labels[v1.LabelTopologyZone] = zone
	}
	if often(t, 6, "tainted") {
		node.Spec.Taints = []v1.Taint{{Key: "k1", Effect: v1.TaintEffectNoSchedule}}
	}
	node.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(pick(t, "cpu", "8", "4")), v1.ResourceMemory: resource.MustParse("16Gi"), v1.ResourcePods: resource.MustParse(pick(t, "pods", "10", "10", "3")),
	}
	return node
}

// drawPlainPod draws a pod that asks for room alone.
func drawPlainPod(t *rapid.T, name string) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name), Labels: map[string]string{"app": pick(t, "app", "web", "web", "db")}},
		Spec:       v1.PodSpec{SchedulerName: ours},
	}
	cpu := resource.MustParse(pick(t, "cpu", "500m", "1", "2", "3"))
	pod.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: cpu}}}}
	if often(t, 6, "tolerates") {
		pod.Spec.Tolerations = []v1.Toleration{{Key: "k1", Operator: v1.TolerationOpExists}}
	}
	return pod
}

// drawReason gives the pod something that may keep it off.
func drawReason(t *rapid.T, pod *v1.Pod, why string) {
	claim := func(names ...string) {
		claims := []string{pick(t, "claim", names...), pick(t, "claim", append(names, "")...)}
		slices.Sort(claims)
		for _, name := range slices.Compact(claims) {
			if name != "" {
				pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
			}
		}
	}
	unsettled := func() { claim("made-1", "made-2", "waits") }
	term := func() v1.PodAffinityTerm {
		app := &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(t, "selector", "web", "web", "db")}}
		return v1.PodAffinityTerm{TopologyKey: pick(t, "topology", v1.LabelTopologyZone, v1.LabelHostname), LabelSelector: app}
	}
	away := func() {
		affinity(pod).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term()}}
	}
	switch why {
	case "hard spread":
		drawHardSpread(t, pod, v1.LabelTopologyZone)
	case "hard spread by two keys":
		drawHardSpread(t, pod, v1.LabelTopologyZone, v1.LabelHostname)
	case "required anti-affinity":
		away()
	case "anti-affinity of others":
		if pod.Name != "asks" {
			away()
		}
	case "required affinity":
		affinity(pod).PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term()}}
	case "host ports":
		drawPorts(t, pod)
	case "settled volumes":
		claim("csi-1", "csi-2", "csi-3", "csi-4", "csi-5", "csi-6", "once")
	case "volumes of a driver that has to be there":
		if pod.Name == "asks" {
			claim("made-1", "made-2", "csi-1")
		}
	case "volumes to be made":
		if pod.Name != "asks" {
			claim("csi-1", "csi-2", "csi-3", "csi-4", "csi-5", "csi-6")
		} else {
			unsettled()
		}
	case "volumes to be made, and anti-affinity":
		away()
		unsettled()
	case "volumes to be made, and hard spread":
		drawHardSpread(t, pod, v1.LabelTopologyZone)
		unsettled()
	case "a claim of a device":
		if pod.Name == "asks" {
			pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimName: new(pick(t, "device", "device-n1", "device-free"))}}
		}
		away()
	case "disks of its own":
		of := v1.GCEPersistentDiskVolumeSource{PDName: pick(t, "disk", "shared", "shared", "other"), ReadOnly: pod.Name != "asks" && often(t, 3, "reads")}
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "disk", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &of}})
	case "volumes to be made, and ports":
		drawPorts(t, pod)
		unsettled()
	}
}

// drawHardSpread draws a constraint of hard spread by each of the keys.
func drawHardSpread(t *rapid.T, pod *v1.Pod, keys ...string) {
	for _, key := range keys {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: pick(t, "skew", int32(1), 1, 1, 2), TopologyKey: key, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector:      &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(t, "selector", "web", "web", "db")}},
			MinDomains:         pick(t, "domains", nil, nil, nil, new(int32(2)), new(int32(4))),
			NodeAffinityPolicy: pick(t, "affinity policy", nil, new(v1.NodeInclusionPolicyHonor), new(v1.NodeInclusionPolicyIgnore)),
			NodeTaintsPolicy:   pick(t, "taints policy", nil, new(v1.NodeInclusionPolicyHonor), new(v1.NodeInclusionPolicyIgnore)),
		})
	}
}

// drawVictim draws a pod with all that evictions look at: its claims of devices are not among it, nor are volumes that are not settled.
func drawVictim(t *rapid.T, name string) *v1.Pod {
	pod := drawPod(t, name)
	pod.Spec.Volumes, pod.Spec.ResourceClaims = nil, nil
	if pod.Namespace != "default" { // where the claims are
		return pod
	}
	claims := []string{pick(t, "claim for one pod", "once", "once", "")}
	for range max(0, number(t, 5, "claims")-2) {
		claims = append(claims, pick(t, "claim", "in-a", "labelled-a", "csi-1", "csi-2", "csi-3"))
	}
	slices.Sort(claims)
	for _, claim := range slices.Compact(claims) {
		if claim != "" {
			pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: claim, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
		}
	}
	return pod
}
