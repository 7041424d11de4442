package kubedump

import "fmt"

// This file is pods that wait, one kind of cause each.

// makePending makes the eleven pods that wait in every cluster, by what is in the way of each:
//
//	shop/lost-0       asks for zone z, and there is none
//	ml/untolerated-0  asks for a GPU, and does not tolerate the taint gpu=yes:NoSchedule
//	ml/greedy-0       asks for nine GPUs, and a node has eight
//	data/huge-0       asks for 500 cores
//	shop/labelled-0   asks for the label disk=ssd, and no node has it
//	data/roomy-0..3   each ask for 60 cores of nodes that have 15.9 of them, or are tainted
//	shop/gated-0      is behind a scheduling gate
//	shop/apart-0      shuns zones in which a pod like it runs, and one runs in each
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

// last is the spec of the pod made last.
func (m *maker) last() fields { return m.items[len(m.items)-1]["spec"].(fields) }
