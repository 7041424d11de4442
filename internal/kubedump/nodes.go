package kubedump

import "fmt"

// This file is the nodes: four pools in three zones, some of them out of use.

const (
	zoneKey = "topology.kubernetes.io/zone"
	hostKey = "kubernetes.io/hostname"
	poolKey = "pool"
)

// node is a node with the room that it has left.
type node struct {
	name, zone, pool string
	taints           []fields
	cordoned         bool
	ready            bool
	milliCPU, bytes  int64
	pods, devices    int64
	left             ask
}

// ask is what a pod asks for, or a node has left.
type ask struct{ milliCPU, bytes, pods, devices int64 }

const gib = 1 << 30

func (m *maker) makeNodes() {
	for i := range m.Nodes {
		n := &node{
			name: fmt.Sprintf("node-%04d", i), zone: string(rune('a' + i%3)), pool: "general", ready: true,
			milliCPU: 15890, bytes: 61 * gib, pods: 110,
		}
		switch {
		case i < 3:
			n.pool, n.milliCPU, n.bytes = "control", 3920, 14*gib
			n.taints = append(n.taints, taint("node-role.kubernetes.io/control-plane", "", "NoSchedule"))
		case i%12 == 5:
			n.pool, n.milliCPU, n.bytes, n.devices = "gpu", 63770, 480*gib, 8
			n.taints = append(n.taints, taint("gpu", "yes", "NoSchedule"))
		case i%10 == 7:
			n.pool, n.milliCPU, n.bytes = "batch", 7910, 28*gib
			n.taints = append(n.taints, taint("dedicated", "batch", "NoSchedule"))
		case i%16 == 9:
			n.taints = append(n.taints, taint("maintenance", "soon", "PreferNoSchedule"))
		}
		if i > 10 && i%97 == 13 {
			n.cordoned = true
			n.taints = append(n.taints, taint("node.kubernetes.io/unschedulable", "", "NoSchedule"))
		}
		if i > 10 && i%101 == 19 {
			n.ready = false
			n.taints = append(n.taints, taint("node.kubernetes.io/not-ready", "", "NoSchedule"))
		}
		n.left = ask{n.milliCPU, n.bytes, n.pods, n.devices}
		m.nodes = append(m.nodes, n)
	}
}

func taint(key, value, effect string) fields {
	t := fields{"key": key, "effect": effect}
	if value != "" {
		t["value"] = value
	}
	return t
}

// hard reports whether the node has a taint that keeps pods away which do not tolerate its pool.
func (n *node) hard(tolerated string) bool {
	return n.cordoned || !n.ready || n.pool != "general" && n.pool != tolerated
}

func (n *node) object() fields {
	ready := "True"
	if !n.ready {
		ready = "False"
	}
	room := fields{
		"cpu": fmt.Sprintf("%dm", n.milliCPU), "memory": fmt.Sprint(n.bytes), "pods": fmt.Sprint(n.pods), "ephemeral-storage": "95Gi",
	}
	if n.devices > 0 {
		room["nvidia.com/gpu"] = fmt.Sprint(n.devices)
	}
	o := object("v1", "Node", "", n.name, fields{
		"spec":   fields{"taints": n.taints, "unschedulable": n.cordoned},
		"status": fields{"allocatable": room, "capacity": room, "conditions": []fields{{"type": "Ready", "status": ready}}},
	})
	o["metadata"].(fields)["labels"] = fields{
		hostKey: n.name, zoneKey: n.zone, "topology.kubernetes.io/region": "here", poolKey: n.pool, "kubernetes.io/os": "linux",
		"kubernetes.io/arch": map[bool]string{true: "arm64", false: "amd64"}[n.pool == "batch"],
	}
	return o
}

// takes reports whether the node has that much left.
func (n *node) takes(a ask) bool {
	return n.left.milliCPU >= a.milliCPU && n.left.bytes >= a.bytes && n.left.pods >= 1 && n.left.devices >= a.devices
}

func (n *node) take(a ask) {
	n.left.milliCPU -= a.milliCPU
	n.left.bytes -= a.bytes
	n.left.pods--
	n.left.devices -= a.devices
}
