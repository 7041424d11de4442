package world

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// This file makes nodes and pods out of lines of arguments. An argument that is
// not known is an error, as it would silently make a story weaker.
//
//	node NAME [cpu=4] [mem=8Gi] [disk=…] [pods=10] [zone=…] [label=K=V] [taint=K=V:EFFECT]
//	          [ext=NAME:N] [cordoned] [feature=…] [uid=…]
//	pod NAME [cpu=100m] [mem=…] [disk=…] [ext=NAME:N] [overhead=…] [init=…] [sidecar=…] [whole=…]: cpu of each
//	         [app=…] [label=K=V] [ns=default] [uid=…] [owner=…] [priority=N] [preempts=Never] [scheduler=…] [node=…]
//	         [gate] [group=G] [nominated=NODE] [deleting] [mirror] [version=N]
//	         [select=K=V] [require=KEY:OP:VALUE] [field=NODE] [like=K=V] [tolerate=K=V:EFFECT | K:EFFECT | *]
//	         [port=[IP:]N[/UDP]] [anti=app=A@TOPOLOGY] [near=app=A@TOPOLOGY] [spread=app=A@TOPOLOGY:SKEW] [softly=…, as spread]
//	         [claim=PVC] [ephemeral=VOLUME] [pd=DISK] [device=CLAIM] [feature]
//
// Several values of one argument are written (A, B). TOPOLOGY is host or zone.
// Capacities and requests of - are left out.

// line takes arguments out one by one; what is left at the end is unknown.
type line struct {
	of, name string
	list     []datadriven.CmdArg
}

func parse(text string) (*line, error) {
	of, list, err := datadriven.ParseLine(text)
	if err != nil {
		return nil, err
	}
	l := &line{of: of}
	for i, arg := range list {
		if i == 0 && arg.Vals == nil {
			l.name = arg.Key
			continue
		}
		l.list = append(l.list, arg)
	}
	return l, nil
}

func (l *line) done() error {
	if len(l.list) > 0 {
		return fmt.Errorf("%s %s: unknown argument %s", l.of, l.name, l.list[0].Key)
	}
	return nil
}

// all takes every value of the argument, the last one if it is there twice: a
// changed pod's.
func (l *line) all(key string) []string {
	var values []string
	l.list = slices.DeleteFunc(l.list, func(a datadriven.CmdArg) bool {
		if a.Key != key || a.Vals == nil {
			return false
		}
		values = a.Vals
		return true
	})
	return values
}

// one takes the argument's only value.
func (l *line) one(key, otherwise string) string {
	if values := l.all(key); len(values) > 0 {
		return strings.Join(values, ",")
	}
	return otherwise
}

func (l *line) flag(key string) bool {
	at := slices.IndexFunc(l.list, func(a datadriven.CmdArg) bool { return a.Key == key && a.Vals == nil })
	if at >= 0 {
		l.list = slices.Delete(l.list, at, at+1)
	}
	return at >= 0
}

// pairs takes K=V values.
func (l *line) pairs(key string, into map[string]string) {
	for _, text := range l.all(key) {
		k, v, _ := strings.Cut(text, "=")
		into[k] = v
	}
}

// amounts takes quantities.
func (l *line) amounts(otherwise map[string]string) v1.ResourceList {
	list := v1.ResourceList{}
	for key, name := range map[string]v1.ResourceName{
		"cpu": v1.ResourceCPU, "mem": v1.ResourceMemory, "disk": v1.ResourceEphemeralStorage, "pods": v1.ResourcePods,
	} {
		if text := l.one(key, otherwise[key]); text != "" && text != "-" {
			list[name] = resource.MustParse(text)
		}
	}
	for _, text := range l.all("ext") {
		name, n, _ := strings.Cut(text, ":")
		list[v1.ResourceName(name)] = resource.MustParse(n)
	}
	return list
}

func makeNode(l *line) (*v1.Node, error) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: l.name, UID: types.UID(l.one("uid", "uid-"+l.name)), Labels: map[string]string{v1.LabelHostname: l.name}}}
	if zone := l.one("zone", ""); zone != "" {
		node.Labels[v1.LabelTopologyZone] = zone
	}
	l.pairs("label", node.Labels)
	for _, text := range l.all("taint") {
		mark, effect, _ := strings.Cut(text, ":")
		key, value, _ := strings.Cut(mark, "=")
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: key, Value: value, Effect: v1.TaintEffect(effect)})
	}
	node.Spec.Unschedulable = l.flag("cordoned")
	node.Status.DeclaredFeatures = l.all("feature")
	node.Status.Allocatable = l.amounts(map[string]string{"cpu": "4", "mem": "8Gi", "disk": "100Gi", "pods": "10"})
	return node, l.done()
}

// makeComposite makes a composite pod group, of which at least so many parts are placed together.
func makeComposite(l *line) (*schedulingv1alpha3.CompositePodGroup, error) {
	c := &schedulingv1alpha3.CompositePodGroup{ObjectMeta: metav1.ObjectMeta{Name: l.name, Namespace: "default", UID: types.UID("uid-composite-" + l.name)}}
	spec := &c.Spec
	spec.SchedulingPolicy.Basic = &schedulingv1alpha3.CompositeBasicSchedulingPolicy{}
	if text := l.one("least", ""); text != "" {
		least, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, err
		}
		spec.SchedulingPolicy = schedulingv1alpha3.CompositePodGroupSchedulingPolicy{Gang: &schedulingv1alpha3.CompositeGangSchedulingPolicy{MinGroupCount: int32(least)}}
	}
	if text := l.one("priority", ""); text != "" {
		priority, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, err
		}
		spec.Priority = new(int32(priority))
	}
	if l.flag("all") {
		spec.DisruptionMode = &schedulingv1alpha3.CompositeDisruptionMode{All: &schedulingv1alpha3.AllCompositeDisruptionMode{}}
	}
	if policy := schedulingv1alpha3.PreemptionPolicy(l.one("preempts", "")); policy != "" {
		spec.PreemptionPolicy = &policy
	}
	if key := l.one("topology", ""); key != "" {
		spec.SchedulingConstraints = &schedulingv1alpha3.CompositePodGroupSchedulingConstraints{Topology: []schedulingv1alpha3.TopologyConstraint{{Key: key}}}
	}
	if parent := l.one("parent", ""); parent != "" {
		spec.ParentCompositePodGroupName = &parent
	}
	return c, l.done()
}

func makeGroup(l *line) (*schedulingv1beta1.PodGroup, error) {
	g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: l.name, Namespace: "default", UID: types.UID("uid-group-" + l.name)}}
	least, err := strconv.ParseInt(l.one("least", "0"), 10, 32)
	if err != nil {
		return nil, err
	}
	if least > 0 {
		g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(least)}
	} else {
		g.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	}
	if priority := l.one("priority", ""); priority != "" {
		n, err := strconv.ParseInt(priority, 10, 32)
		if err != nil {
			return nil, err
		}
		g.Spec.Priority = new(int32(n))
	}
	if key := l.one("topology", ""); key != "" {
		g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: key}}}
	}
	if parent := l.one("parent", ""); parent != "" {
		g.Spec.ParentCompositePodGroupName = &parent
	}
	if l.flag("all") {
		g.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
	}
	return g, l.done()
}

func makeService(l *line) (*v1.Service, error) {
	o := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: l.name, Namespace: l.one("ns", "default"), UID: types.UID("uid-service-" + l.name)}}
	if app := l.one("app", ""); app != "" {
		o.Spec.Selector = map[string]string{"app": app}
	}
	return o, l.done()
}

func makePod(l *line) (*v1.Pod, error) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: l.name, Namespace: l.one("ns", "default"), UID: types.UID(l.one("uid", "uid-"+l.name)), Labels: map[string]string{},
		ResourceVersion: l.one("version", ""),
	}}
	if owner := l.one("owner", ""); owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: l.one("kind", ""), Name: owner, UID: types.UID("uid-" + owner), Controller: new(true)}}
	}
	if app := l.one("app", ""); app != "" {
		pod.Labels["app"] = app
	}
	l.pairs("label", pod.Labels)
	pod.Spec.SchedulerName, pod.Spec.NodeName = l.one("scheduler", ours), l.one("node", "")
	pod.Status.NominatedNodeName = l.one("nominated", "")
	if priority := l.one("priority", ""); priority != "" {
		n, err := strconv.ParseInt(priority, 10, 32)
		if err != nil {
			return nil, err
		}
		pod.Spec.Priority = new(int32(n))
	}
	if policy := l.one("preempts", ""); policy != "" {
		pod.Spec.PreemptionPolicy = new(v1.PreemptionPolicy(policy))
	}
	if l.flag("gate") {
		pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
	}
	if name := l.one("group", ""); name != "" {
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
	}
	if l.flag("mirror") {
		pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "hash"}
	}
	if l.flag("deleting") {
		pod.DeletionTimestamp = &metav1.Time{}
	}
	asksFor(l, pod)
	goesWhere(l, pod)
	if err := standsBeside(l, pod); err != nil {
		return nil, err
	}
	return pod, l.done()
}

// asksFor reads resources, ports and volumes.
func asksFor(l *line, pod *v1.Pod) {
	main := v1.Container{Name: "main", Resources: v1.ResourceRequirements{Requests: l.amounts(map[string]string{"cpu": "100m"})}}
	cpu := func(text string) v1.ResourceRequirements {
		return v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(text)}}
	}
	if text := l.one("init", ""); text != "" {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: "init", Resources: cpu(text)})
	}
	if text := l.one("sidecar", ""); text != "" {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: "sidecar", RestartPolicy: new(v1.ContainerRestartPolicyAlways), Resources: cpu(text)})
	}
	if text := l.one("overhead", ""); text != "" {
		pod.Spec.Overhead = cpu(text).Requests
	}
	if text := l.one("whole", ""); text != "" {
		pod.Spec.Resources = new(cpu(text))
	}
	for _, text := range l.all("port") {
		main.Ports = append(main.Ports, makePort(text))
	}
	if l.flag("feature") {
		main.RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
	}
	pod.Spec.Containers = []v1.Container{main}
	for _, name := range l.all("claim") {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
	}
	for _, name := range l.all("ephemeral") {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{
			VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{},
		}}})
	}
	for _, name := range l.all("pd") {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: name}}})
	}
	for _, name := range l.all("device") {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: name, ResourceClaimName: new(name)})
	}
}

// makePort reads [IP:]N[/PROTOCOL].
func makePort(text string) v1.ContainerPort {
	text, protocol, _ := strings.Cut(text, "/")
	address, number, has := strings.Cut(text, ":")
	if !has {
		address, number = "", text
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		panic(fmt.Sprintf("port %q has no number", text))
	}
	return v1.ContainerPort{HostPort: int32(n), ContainerPort: int32(n), HostIP: address, Protocol: v1.Protocol(protocol)}
}

// goesWhere reads what the pod says of nodes.
func goesWhere(l *line, pod *v1.Pod) {
	selector := map[string]string{}
	if l.pairs("select", selector); len(selector) > 0 {
		pod.Spec.NodeSelector = selector
	}
	var term v1.NodeSelectorTerm
	for _, text := range l.all("require") {
		parts := append(strings.SplitN(text, ":", 3), "", "")
		requirement := v1.NodeSelectorRequirement{Key: parts[0], Operator: v1.NodeSelectorOperator(parts[1])}
		if parts[2] != "" {
			requirement.Values = strings.Split(parts[2], "|")
		}
		term.MatchExpressions = append(term.MatchExpressions, requirement)
	}
	for _, name := range l.all("field") {
		term.MatchFields = append(term.MatchFields, v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}})
	}
	if len(term.MatchExpressions)+len(term.MatchFields) > 0 {
		nodeAffinity(pod).RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}
	}
	for _, text := range l.all("like") {
		key, value, _ := strings.Cut(text, "=")
		a := nodeAffinity(pod)
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution, v1.PreferredSchedulingTerm{
			Weight: 10, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}},
		})
	}
	for _, text := range l.all("tolerate") {
		mark, effect, _ := strings.Cut(text, ":")
		key, value, valued := strings.Cut(mark, "=")
		t := v1.Toleration{Key: key, Value: value, Effect: v1.TaintEffect(effect)}
		if !valued {
			t.Operator = v1.TolerationOpExists
		}
		if key == "*" {
			t.Key = ""
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, t)
	}
}

func affinity(pod *v1.Pod) *v1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	return pod.Spec.Affinity
}

func nodeAffinity(pod *v1.Pod) *v1.NodeAffinity {
	if affinity(pod).NodeAffinity == nil {
		affinity(pod).NodeAffinity = &v1.NodeAffinity{}
	}
	return pod.Spec.Affinity.NodeAffinity
}

// standsBeside reads what the pod says of other pods.
func standsBeside(l *line, pod *v1.Pod) error {
	if terms := podTerms(l.all("anti")); terms != nil {
		affinity(pod).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
	}
	if terms := podTerms(l.all("near")); terms != nil {
		affinity(pod).PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
	}
	for key, action := range map[string]v1.UnsatisfiableConstraintAction{"spread": v1.DoNotSchedule, "softly": v1.ScheduleAnyway} {
		for _, text := range l.all(key) {
			text, skew, _ := strings.Cut(text, ":")
			n, err := strconv.ParseInt(skew, 10, 32)
			if err != nil {
				return fmt.Errorf("%s=%s: no skew", key, text)
			}
			term := podTerms([]string{text})[0]
			pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
				MaxSkew: int32(n), TopologyKey: term.TopologyKey, WhenUnsatisfiable: action, LabelSelector: term.LabelSelector,
			})
		}
	}
	return nil
}

// podTerms reads K=V@TOPOLOGY.
func podTerms(texts []string) []v1.PodAffinityTerm {
	var terms []v1.PodAffinityTerm
	for _, text := range texts {
		mark, topology, _ := strings.Cut(text, "@")
		key, value, _ := strings.Cut(mark, "=")
		terms = append(terms, v1.PodAffinityTerm{
			TopologyKey:   map[string]string{"host": v1.LabelHostname, "zone": v1.LabelTopologyZone}[topology],
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
		})
	}
	return terms
}

// tolerates is upstream's rule in plain words, for what the tests use of it.
func tolerates(t *v1.Toleration, taint *v1.Taint) bool {
	return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
		(t.Operator == v1.TolerationOpExists || t.Value == taint.Value)
}
