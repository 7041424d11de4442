package kubedump

import "fmt"

// This file is pods that wait, one kind of cause each.

// makePending makes the fifteen pods that wait in every cluster, by what is in the way of each:
//
//	shop/lost-0       asks for zone z, and there is none
//	ml/untolerated-0  asks for a GPU, and does not tolerate the taint gpu=yes:NoSchedule
//	ml/greedy-0       asks for nine GPUs, and a node has eight
//	data/huge-0       asks for 500 cores
//	shop/labelled-0   asks for the label disk=ssd, and no node has it
//	data/roomy-0..3   each ask for 60 cores of nodes that have 15.9 of them, or are tainted
//	shop/gated-0      is behind a scheduling gate
//	shop/apart-0      shuns zones in which a pod like it runs, and one runs in each
//	shop/cordoned-0   asks for node-0013, which is cordoned
//	shop/unready-0    asks for node-0019, which is not ready
//	shop/port-0       asks for port 6443 of a node of the control plane, where each has an API server
//	batch/polite-0    asks for a core more than is left of a node, where pods of lower priority run, and evicts nobody
//
// Where there are volumes, there are two more, on whose claims they wait:
//
//	data/stuck-0      asks for zone b, and has a claim that is bound in zone a
//	data/unbound-0    has a claim that is not bound, and its class binds at once
//
// And batch/foreign-0 waits for another scheduler.
func (m *maker) makePending() {
	one := func(namespace, name string, t template) {
		t.namespace, t.name, t.labels = namespace, name, fields{"app": name}
		if t.ask == (ask{}) {
			t.ask = ask{milliCPU: 100, bytes: 128 << 20}
		}
		m.pod(&t, name+"-0", nil)
	}
	one("shop", "lost", template{})
	m.last()["nodeSelector"] = fields{zoneKey: "z"}
	one("ml", "untolerated", template{ask: ask{milliCPU: 1000, bytes: gib, devices: 1}})
	one("ml", "greedy", template{pool: "gpu", ask: ask{milliCPU: 1000, bytes: gib, devices: 9}})
	one("data", "huge", template{ask: ask{milliCPU: 500_000, bytes: gib}})
	one("shop", "labelled", template{})
	m.last()["affinity"] = fields{"nodeAffinity": fields{"requiredDuringSchedulingIgnoredDuringExecution": fields{"nodeSelectorTerms": []fields{
		{"matchExpressions": []fields{{"key": "disk", "operator": "In", "values": []string{"ssd"}}}},
	}}}}
	roomy := &template{namespace: "data", kind: "StatefulSet", name: "roomy", labels: fields{"app": "roomy"}, ask: ask{milliCPU: 60_000, bytes: gib}}
	for k := range 4 {
		m.pod(roomy, fmt.Sprintf("roomy-%d", k), nil)
	}
	one("shop", "cordoned", template{})
	m.last()["nodeSelector"] = fields{hostKey: "node-0013"}
	one("shop", "unready", template{})
	m.last()["nodeSelector"] = fields{hostKey: "node-0019"}
	one("shop", "port", template{})
	m.last()["nodeSelector"] = fields{poolKey: "control"}
	tolerateAll(m.items[len(m.items)-1])
	m.last()["containers"].([]fields)[0]["ports"] = []fields{{"containerPort": 6443, "hostPort": 6443}}
	m.makePolite()
	if m.Volumes {
		m.makeStuck()
	}
	one("batch", "foreign", template{})
	m.last()["schedulerName"] = "volcano"
	one("shop", "gated", template{})
	m.last()["schedulingGates"] = []fields{{"name": "example.com/quota"}}
	apart := &template{
		namespace: "shop", kind: "ReplicaSet", name: "apart", labels: fields{"app": "apart"}, ask: ask{milliCPU: 10, bytes: 1 << 20},
		affinity: fields{"podAntiAffinity": fields{"requiredDuringSchedulingIgnoredDuringExecution": []fields{term("apart", zoneKey)}}},
	}
	for k, zone := range []string{"a", "b", "c"} {
		for _, n := range m.nodes {
			if n.zone == zone && !n.hard("") && n.takes(apart.ask) {
				m.pod(apart, fmt.Sprintf("apart-%d", k+1), n)
				break
			}
		}
	}
	m.pod(apart, "apart-0", nil)
}

// makePolite makes the pod that asks for more than is left of the fullest node of the general pool, and evicts nobody.
func (m *maker) makePolite() {
	var on *node
	for _, n := range m.nodes {
		if n.pool == "general" && !n.hard("") && (on == nil || n.left.milliCPU < on.left.milliCPU) {
			on = n
		}
	}
	m.pod(&template{
		namespace: "batch", name: "polite", labels: fields{"app": "polite"}, priority: 2000, class: "urgent", preemption: "Never",
		ask: ask{milliCPU: on.left.milliCPU + 1000, bytes: 128 << 20},
	}, "polite-0", nil)
	m.last()["nodeSelector"] = fields{hostKey: on.name}
}

// makeStuck makes the pods that wait for their claims.
func (m *maker) makeStuck() {
	small := ask{milliCPU: 100, bytes: 128 << 20}
	with := func(name, claim string) {
		m.pod(&template{
			namespace: "data", name: name, labels: fields{"app": name}, ask: small,
			volumes: func(string) []fields {
				return []fields{{"name": "data", "persistentVolumeClaim": fields{"claimName": claim}}}
			},
		}, name+"-0", nil)
	}
	with("stuck", "data-stuck-0")
	m.last()["nodeSelector"] = fields{zoneKey: "b"}
	m.claim("data", "data-stuck-0", "a")
	with("unbound", "data-unbound-0")
	m.items = append(m.items, object("v1", "PersistentVolumeClaim", "data", "data-unbound-0", fields{
		"spec":   fields{"accessModes": []string{"ReadWriteOnce"}, "storageClassName": "at-once", "resources": fields{"requests": fields{"storage": "10Gi"}}},
		"status": fields{"phase": "Pending"},
	}))
}

// last is the spec of the pod made last.
func (m *maker) last() fields { return m.items[len(m.items)-1]["spec"].(fields) }
