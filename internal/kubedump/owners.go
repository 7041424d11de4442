package kubedump

import "fmt"

// This file is who owns the pods that could stand anywhere: Deployments by their ReplicaSets,
// StatefulSets, Jobs. Their pods stand on nodes drawn at random that may take them.

// owners are drawn until there are as many pods as are wanted, or the cluster is full.
func (m *maker) makeOwners() {
	for _, namespace := range []string{"kube-system", "shop", "data", "ml", "batch"} {
		o := object("v1", "Namespace", "", namespace, nil)
		o["metadata"].(fields)["labels"] = fields{"kubernetes.io/metadata.name": namespace}
		m.items = append(m.items, o)
	}
	for _, class := range []struct {
		name   string
		value  int
		policy string
	}{{"important", 1000, ""}, {"urgent", 2000, "Never"}} {
		rest := fields{"value": class.value}
		if class.policy != "" {
			rest["preemptionPolicy"] = class.policy
		}
		m.items = append(m.items, object("scheduling.k8s.io/v1", "PriorityClass", "", class.name, rest))
	}
	if m.Volumes {
		m.makeClasses()
	}
	futile := 0 // owners one after the other that found no place for a pod
	for pods, i := 0, 0; pods < m.Nodes*m.PodsPerNode && futile < mostFutile; i++ {
		made := 0
		switch i % 10 {
		case 3:
			made = m.set(i)
		case 5:
			made = m.job(i)
		case 8:
			made = m.training(i)
		default:
			made = m.deployment(i)
		}
		pods += made
		if futile++; made > 0 {
			futile = 0
		}
	}
}

// mostFutile is how many owners without a place say that the cluster is full.
const mostFutile = 20

// term selects the pods of an application over a topology.
func term(app, key string) fields {
	return fields{"labelSelector": fields{"matchLabels": fields{"app": app}}, "topologyKey": key}
}

func (m *maker) deployment(i int) int {
	name := fmt.Sprintf("web-%d", i)
	replicas := m.between(3, 40)
	t := &template{
		namespace: "shop", kind: "ReplicaSet", name: name + "-5d4f", labels: fields{"app": name, "pod-template-hash": "5d4f"},
		ask: ask{milliCPU: int64(m.between(1, 12)) * 125, bytes: int64(m.between(1, 16)) * 256 << 20},
	}
	switch i % 4 {
	case 0:
		t.spread = []fields{{"maxSkew": 1, "topologyKey": zoneKey, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": fields{"matchLabels": fields{"app": name}}}}
	case 1:
		t.affinity = fields{"podAntiAffinity": fields{"preferredDuringSchedulingIgnoredDuringExecution": []fields{{"weight": 50, "podAffinityTerm": term(name, hostKey)}}}}
	case 2:
		t.spread = []fields{{"maxSkew": 1, "topologyKey": hostKey, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": fields{"matchLabels": fields{"app": name}}}}
	}
	t.starts = i%6 == 2
	if i%5 == 0 {
		t.priority, t.class = 1000, "important"
	}
	m.items = append(m.items,
		object("apps/v1", "Deployment", "shop", name, fields{"spec": fields{"replicas": replicas, "selector": fields{"matchLabels": fields{"app": name}}}}),
		replicaSet("shop", t.name, name, replicas),
		object("policy/v1", "PodDisruptionBudget", "shop", name, fields{"spec": fields{"maxUnavailable": "25%", "selector": fields{"matchLabels": fields{"app": name}}}}),
	)
	return m.run(t, replicas, func(k int) string { return fmt.Sprintf("%s-%05d", t.name, k) }, i%4 == 0)
}

// replicaSet is one that a Deployment controls.
func replicaSet(namespace, name, of string, replicas int) fields {
	o := object("apps/v1", "ReplicaSet", namespace, name, fields{"spec": fields{"replicas": replicas}})
	o["metadata"].(fields)["ownerReferences"] = []fields{{"apiVersion": "apps/v1", "kind": "Deployment", "name": of, "uid": fmt.Sprintf("uid-%s-Deployment-%s", namespace, of), "controller": true}}
	return o
}

func (m *maker) set(i int) int {
	name := fmt.Sprintf("db-%d", i)
	t := &template{
		namespace: "data", kind: "StatefulSet", name: name, labels: fields{"app": name}, priority: 1000, class: "important",
		ask:      ask{milliCPU: int64(m.between(2, 16)) * 250, bytes: int64(m.between(2, 16)) * gib},
		affinity: fields{"podAntiAffinity": fields{"requiredDuringSchedulingIgnoredDuringExecution": []fields{term(name, hostKey)}}},
	}
	if m.Volumes {
		t.volumes = func(pod string) []fields {
			return []fields{{"name": "data", "persistentVolumeClaim": fields{"claimName": "data-" + pod}}}
		}
	}
	m.items = append(m.items,
		object("apps/v1", "StatefulSet", "data", name, fields{"spec": fields{"replicas": 3, "selector": fields{"matchLabels": fields{"app": name}}}}),
		object("policy/v1", "PodDisruptionBudget", "data", name, fields{"spec": fields{"minAvailable": 2, "selector": fields{"matchLabels": fields{"app": name}}}}),
	)
	return m.run(t, 3, func(k int) string { return fmt.Sprintf("%s-%d", name, k) }, false)
}

func (m *maker) job(i int) int {
	name := fmt.Sprintf("crunch-%d", i)
	t := &template{namespace: "batch", kind: "Job", name: name, labels: fields{"job-name": name}, pool: "batch", ask: ask{milliCPU: 1000, bytes: 2 * gib}, preemption: "Never"}
	m.items = append(m.items, object("batch/v1", "Job", "batch", name, fields{"spec": fields{"parallelism": 8}}))
	return m.run(t, m.between(2, 16), func(k int) string { return fmt.Sprintf("%s-%05d", name, k) }, false)
}

func (m *maker) training(i int) int {
	name := fmt.Sprintf("train-%d", i)
	t := &template{
		namespace: "ml", kind: "Job", name: name, labels: fields{"job-name": name}, pool: "gpu", priority: 100,
		ask: ask{milliCPU: 4000, bytes: 16 * gib, devices: int64([]int{1, 2, 4, 8}[m.random.IntN(4)])},
	}
	m.items = append(m.items, object("batch/v1", "Job", "ml", name, fields{"spec": fields{"parallelism": 4}}))
	return m.run(t, m.between(1, 6), func(k int) string { return fmt.Sprintf("%s-%05d", name, k) }, false)
}

// run places pods on nodes; those that find none wait, and the rest of their owner with them. Where
// zones are to be even, they take turns.
func (m *maker) run(t *template, pods int, name func(int) string, even bool) int {
	apart := map[*node]bool{}
	for k := range pods {
		var on *node
		for range 60 {
			n := m.nodes[m.random.IntN(len(m.nodes))]
			if n.hard(t.pool) || t.pool != "" && n.pool != t.pool || !n.takes(t.ask) || apart[n] || even && int(n.zone[0]-'a') != k%3 {
				continue
			}
			on = n
			break
		}
		if on == nil {
			return k
		}
		if t.kind == "StatefulSet" {
			apart[on] = true
		}
		m.pod(t, name(k), on)
		if m.Volumes && t.kind == "StatefulSet" {
			m.claim(t.namespace, "data-"+name(k), on.zone)
		}
	}
	return pods
}
