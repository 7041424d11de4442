package kubedump

import (
	"fmt"
	"maps"
	"time"
)

// This file is what all pods have in common, and those that belong to a node.

// template is how the pods of one owner are.
type template struct {
	namespace, kind, name string
	labels                fields
	ask                   ask
	pool                  string // that it tolerates the taint of, and asks for where it is not general
	priority              int
	class                 string // of its priority
	affinity              fields
	spread                []fields
	volumes               func(pod string) []fields
	preemption            string
	starts                bool // with a container that takes as much before the others
}

// pod makes one; on no node it waits.
func (m *maker) pod(t *template, name string, on *node) {
	m.ticks++
	spec := fields{
		"schedulerName": "default-scheduler", "priority": t.priority, "containers": []fields{{
			"name": "main", "image": "registry.example/" + t.name + ":1", "args": []string{"--verbose"}, "env": []fields{{"name": "TOKEN", "value": "secret"}},
			"resources": fields{"requests": t.requests()},
		}},
		"tolerations": []fields{{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}},
	}
	if t.starts {
		spec["initContainers"] = []fields{{"name": "migrate", "image": "registry.example/migrate:1", "resources": fields{"requests": t.requests()}}}
	}
	if t.class != "" {
		spec["priorityClassName"] = t.class
	}
	if t.preemption != "" {
		spec["preemptionPolicy"] = t.preemption
	}
	if t.pool != "" {
		spec["nodeSelector"] = fields{poolKey: t.pool}
		key, value := "dedicated", "batch"
		if t.pool == "gpu" {
			key, value = "gpu", "yes"
		}
		spec["tolerations"] = append(spec["tolerations"].([]fields), fields{"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"})
	}
	if t.affinity != nil {
		spec["affinity"] = t.affinity
	}
	if t.spread != nil {
		spec["topologySpreadConstraints"] = t.spread
	}
	if t.volumes != nil {
		spec["volumes"] = t.volumes(name)
	}
	status := fields{"phase": "Pending", "qosClass": "Burstable"}
	if on != nil {
		spec["nodeName"] = on.name
		status["phase"] = "Running"
		status["conditions"] = []fields{{"type": "Ready", "status": "True"}}
		on.take(t.ask)
	}
	p := object("v1", "Pod", t.namespace, name, fields{"spec": spec, "status": status})
	metadata := p["metadata"].(fields)
	metadata["labels"] = maps.Clone(t.labels)
	metadata["creationTimestamp"] = time.Unix(1_700_000_000+int64(m.ticks), 0).UTC().Format(time.RFC3339)
	metadata["annotations"] = fields{"kubectl.kubernetes.io/default-container": "main"}
	if t.kind != "" {
		metadata["ownerReferences"] = []fields{{"apiVersion": "apps/v1", "kind": t.kind, "name": t.name, "uid": fmt.Sprintf("uid-%s-%s-%s", t.namespace, t.kind, t.name), "controller": true}}
	}
	m.items = append(m.items, p)
}

func (t *template) requests() fields {
	r := fields{"cpu": fmt.Sprintf("%dm", t.ask.milliCPU), "memory": fmt.Sprint(t.ask.bytes)}
	if t.ask.devices > 0 {
		r["nvidia.com/gpu"] = fmt.Sprint(t.ask.devices)
	}
	return r
}

// makeDaemons makes the DaemonSets, whose pods tolerate all taints, and the static pods of the control plane.
func (m *maker) makeDaemons() {
	daemon := func(name string, a ask, on func(*node) bool) {
		for i, n := range m.nodes {
			if !on(n) {
				continue
			}
			t := &template{
				namespace: "kube-system", kind: "DaemonSet", name: name, labels: fields{"app": name}, ask: a, priority: 2_000_001_000, class: "system-node-critical",
				affinity: fields{"nodeAffinity": fields{"requiredDuringSchedulingIgnoredDuringExecution": fields{"nodeSelectorTerms": []fields{
					{"matchFields": []fields{{"key": "metadata.name", "operator": "In", "values": []string{n.name}}}},
				}}}},
			}
			m.pod(t, fmt.Sprintf("%s-%05d", name, i), n)
			tolerateAll(m.items[len(m.items)-1])
		}
		m.items = append(m.items, object("apps/v1", "DaemonSet", "kube-system", name, fields{"spec": fields{"selector": fields{"matchLabels": fields{"app": name}}}}))
	}
	daemon("kube-proxy", ask{milliCPU: 100, bytes: 128 << 20}, func(*node) bool { return true })
	daemon("log-agent", ask{milliCPU: 50, bytes: 200 << 20}, func(n *node) bool { return n.pool != "control" })
	daemon("gpu-driver", ask{milliCPU: 200, bytes: gib}, func(n *node) bool { return n.pool == "gpu" })
	for _, n := range m.nodes[:3] {
		for _, name := range []string{"etcd", "kube-apiserver"} {
			t := &template{namespace: "kube-system", kind: "Node", name: n.name, labels: fields{"component": name}, ask: ask{milliCPU: 250, bytes: gib}, priority: 2_000_001_000, class: "system-node-critical"}
			m.pod(t, name+"-"+n.name, n)
			if name == "kube-apiserver" {
				m.last()["containers"].([]fields)[0]["ports"] = []fields{{"containerPort": 6443, "hostPort": 6443}}
			}
		}
	}
}

func tolerateAll(pod fields) { pod["spec"].(fields)["tolerations"] = []fields{{"operator": "Exists"}} }
