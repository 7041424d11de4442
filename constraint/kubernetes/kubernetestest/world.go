// Package kubernetestest draws small clusters with rules of all kinds, and finds out which
// end states Kubernetes' filters can lead to and which the translation allows. The filters
// are a model of Kubernetes' documentation, or whatever else one has: the Kubernetes front
// end's tests bring upstream's own.
package kubernetestest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/constraint/kubernetes"
	"fairlead.dev/fairlead/internal/manifest"
)

// World is a small cluster, as manifests and as what came of them.
type World struct {
	Nodes, Pods []json.RawMessage // as Kubernetes has them; pods of a controller behind each other
	Cluster     *kubernetes.Cluster
	Rules       *kubernetes.Translation

	nodes, pods []manifest.Object
	workload    []int // by pod
	start       []int // by pod: its node; Nowhere if it waits
}

// Nowhere is the node of a pod that has none.
const Nowhere = -1

// Features are the rules that a world may have. Broken says that what runs may break some.
type Features struct{ Away, Together, Spread, Soft, Running, Broken bool }

// object is a manifest in the making.
type object = map[string]any

// list is a list in the making.
type list = []any

// The names that worlds have. Few, so that they meet.
func keys() []string { return []string{"zone", "rack", "kubernetes.io/hostname"} }

// Draw draws a world in which what runs breaks none of the rules, unless it may.
func Draw(t *rapid.T, f Features) *World {
	d := drawer{t, f}
	w := &World{}
	for n := range rapid.IntRange(2, 4).Draw(t, "nodes") {
		w.Nodes = append(w.Nodes, d.node(n))
	}
	waiting := 0
	for range rapid.IntRange(1, 3).Draw(t, "workloads") {
		count := min(rapid.IntRange(1, 4).Draw(t, "pods"), 4-waiting)
		waiting += count
		d.workload(w, count, false)
	}
	if f.Running {
		for range rapid.IntRange(0, 2).Draw(t, "running workloads") {
			d.workload(w, rapid.IntRange(1, 2).Draw(t, "pods"), true)
		}
	}
	w.read(t)
	if !f.Broken && !w.Holds(w.start) {
		t.Skip("what runs breaks a rule already")
	}
	return w
}

// Read makes a world of a cluster's nodes and pods.
func Read(t TB, nodes, pods []json.RawMessage) *World {
	w := &World{Nodes: nodes, Pods: pods}
	w.read(t)
	return w
}

// TB is what worlds need of a test.
type TB interface {
	Fatalf(format string, of ...any)
}

// read makes everything of the manifests.
func (w *World) read(t TB) {
	var objects kubernetes.Objects
	for i, text := range append(append([]json.RawMessage{}, w.Nodes...), w.Pods...) {
		if err := objects.Add(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var o manifest.Object
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatalf("%v", err)
		}
		o.Metadata.Namespace = cmp.Or(o.Metadata.Namespace, "default")
		if i < len(w.Nodes) {
			w.nodes = append(w.nodes, o)
		} else {
			w.pods = append(w.pods, o)
		}
	}
	var err error
	if w.Cluster, err = objects.Cluster(); err != nil {
		t.Fatalf("%v", err)
	}
	if w.Rules, err = kubernetes.Translate(w.Cluster); err != nil {
		t.Fatalf("%v", err)
	}
	w.workload, w.start = make([]int, len(w.pods)), make([]int, len(w.pods))
	for i := range w.Cluster.Workloads {
		for _, p := range w.Cluster.Workloads[i].Pods {
			for at := range w.pods {
				if w.pods[at].Metadata.Name == p.Name && w.pods[at].Metadata.Namespace == w.Cluster.Workloads[i].Namespace {
					w.workload[at], w.start[at] = i, int(p.Node)
				}
			}
		}
	}
}

// drawer draws the parts of a world.
type drawer struct {
	*rapid.T
	f Features
}

// chance is true one time in so many.
func (d drawer) chance(of int, what string) bool { return rapid.IntRange(1, of).Draw(d.T, what) == of }

func (d drawer) one(what string, of ...string) string { return rapid.SampledFrom(of).Draw(d.T, what) }

func (d drawer) node(n int) json.RawMessage {
	name := fmt.Sprintf("n%d", n)
	labels := object{"kubernetes.io/hostname": name}
	for _, key := range []string{"zone", "rack"} {
		if !d.chance(6, "no "+key) {
			labels[key] = d.one(key, "a", "b")
		}
	}
	if d.chance(3, "disk") {
		labels["disk"] = "ssd"
	}
	node := object{
		"kind": "Node", "apiVersion": "v1", "metadata": object{"name": name, "labels": labels},
		"status": object{"allocatable": object{"cpu": "64", "memory": "64Gi", "pods": "100"}},
	}
	if d.chance(3, "taint") {
		node["spec"] = object{"taints": list{object{"key": "old", "effect": "NoSchedule"}}}
	}
	return text(node)
}

func text(o object) json.RawMessage {
	text, err := json.Marshal(o)
	if err != nil {
		panic("kubernetestest: " + err.Error())
	}
	return text
}

// workload adds so many pods of one controller.
func (d drawer) workload(w *World, count int, runs bool) {
	if count == 0 {
		return
	}
	namespace, owner := d.one("namespace", "one", "one", "two"), fmt.Sprintf("w%d", len(w.Pods))
	labels := object{"app": d.one("app", "x", "y")}
	if d.chance(2, "tier") {
		labels["tier"] = d.one("tier", "1", "2")
	}
	spec, ports := d.rules(), d.ports()
	for i := range count {
		own := object{"containers": list{object{"name": "main", "image": "x", "ports": ports}}}
		maps.Copy(own, spec)
		if runs {
			own["nodeName"] = fmt.Sprintf("n%d", rapid.IntRange(0, len(w.Nodes)-1).Draw(d.T, "node"))
		}
		name := fmt.Sprintf("%s-%d", owner, i)
		w.Pods = append(w.Pods, text(object{
			"kind": "Pod", "apiVersion": "v1", "spec": own,
			"metadata": object{
				"name": name, "namespace": namespace, "labels": labels, "uid": name,
				"ownerReferences": list{object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": true}},
			},
		}))
	}
}

// ports are the host ports of a container, at most one.
func (d drawer) ports() list {
	if !d.f.Away || !d.chance(4, "port") {
		return list{}
	}
	return list{object{"containerPort": 80, "hostPort": 80, "protocol": d.one("protocol", "TCP", "UDP"), "hostIP": d.one("address", "", "0.0.0.0", "10.0.0.1", "10.0.0.2")}}
}

// rules are the parts of a pod's spec that say where it may go.
func (d drawer) rules() object {
	spec, affinity := object{}, object{}
	if d.chance(5, "node selector") {
		spec["nodeSelector"] = object{"disk": "ssd"}
	}
	if d.chance(5, "toleration") {
		spec["tolerations"] = list{object{"key": "old", "operator": "Exists"}}
	}
	company := func(kind string, some bool) {
		terms, weighted := d.terms(some), d.terms(d.f.Soft)
		for i, term := range weighted {
			weighted[i] = object{"weight": rapid.IntRange(1, 100).Draw(d.T, "weight"), "podAffinityTerm": term}
		}
		affinity[kind] = object{
			"requiredDuringSchedulingIgnoredDuringExecution": terms, "preferredDuringSchedulingIgnoredDuringExecution": weighted,
		}
	}
	company("podAffinity", d.f.Together)
	company("podAntiAffinity", d.f.Away)
	spec["affinity"] = affinity
	if d.f.Spread {
		spec["topologySpreadConstraints"] = d.spreads()
	}
	return spec
}

// terms are up to two terms of affinity.
func (d drawer) terms(some bool) list {
	all := list{}
	if !some {
		return all
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(d.T, "terms") {
		term := object{"topologyKey": d.one("key", keys()...), "labelSelector": d.selector()}
		switch rapid.IntRange(0, 7).Draw(d.T, "namespaces") {
		case 0:
			term["namespaces"] = list{"one", "two"}
		case 1:
			term["namespaceSelector"] = object{}
		case 2:
			delete(term, "labelSelector")
		}
		all = append(all, term)
	}
	return all
}

func (d drawer) selector() object {
	app := object{"matchLabels": object{"app": d.one("app", "x", "y")}}
	expression := func(e object) object { return object{"matchExpressions": list{e}} }
	switch rapid.IntRange(0, 8).Draw(d.T, "selector") {
	case 0:
		return object{}
	case 1:
		return expression(object{"key": "app", "operator": "In", "values": list{"y", "x"}})
	case 2:
		return expression(object{"key": "tier", "operator": "NotIn", "values": list{"1"}})
	case 3:
		return expression(object{"key": "tier", "operator": "Exists"})
	case 4:
		app["matchExpressions"] = list{object{"key": "tier", "operator": "DoesNotExist"}}
	}
	return app
}

// spreads are up to two topology spread constraints, of two keys.
func (d drawer) spreads() list {
	all := list{}
	one := []string{"zone"}
	if d.chance(4, "another spread") {
		one = append(one, "kubernetes.io/hostname")
	}
	for _, key := range one {
		c := object{
			"maxSkew": rapid.IntRange(1, 2).Draw(d.T, "skew"), "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": d.selector(),
		}
		if d.f.Soft && d.chance(4, "soft") {
			c["whenUnsatisfiable"] = "ScheduleAnyway"
		} else if d.chance(4, "domains") {
			c["minDomains"] = rapid.IntRange(1, 3).Draw(d.T, "least domains")
		}
		if d.chance(3, "affinity policy") {
			c["nodeAffinityPolicy"] = d.one("policy", "Honor", "Ignore")
		}
		if d.chance(2, "taints policy") {
			c["nodeTaintsPolicy"] = d.one("policy", "Honor", "Ignore")
		}
		if d.chance(6, "match label keys") {
			c["matchLabelKeys"] = list{"tier"}
		}
		all = append(all, c)
	}
	return all
}
