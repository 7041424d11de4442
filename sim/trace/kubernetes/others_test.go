package kubernetes

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

const othersPods = `
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8"}}
---
kind: Pod
metadata: {name: a, ownerReferences: [{kind: ReplicaSet, name: r}]}
spec: {nodeName: n1, schedulerName: volcano}
---
kind: Pod
metadata: {name: b, ownerReferences: [{kind: ReplicaSet, name: r}]}
spec: {nodeName: n1}
---
kind: Pod
metadata: {name: c, ownerReferences: [{kind: Node, name: n1}]}
spec: {nodeName: n1}
---
kind: Pod
metadata: {name: d, ownerReferences: [{kind: DaemonSet, name: d}]}
spec: {nodeName: n1, schedulerName: fairlead}
---
kind: Pod
metadata: {name: e}
spec: {schedulerName: volcano}
`

// TestPodsOfOthers: a pod that another scheduler has placed, or a node by itself, is somebody else's, also where its owner's
// other pods are not; one that waits for another scheduler is left out.
func TestPodsOfOthers(t *testing.T) {
	all, s, err := readText(t, othersPods)
	if err != nil {
		t.Fatal(err)
	}
	const want = `
0 n1 cpu=8
default/a 0/0 of 1 user=default class=0 priority=0 pods=1 on 0 by volcano
default/b 1/0 of 1 user=default class=0 priority=0 pods=1 on 0
default/c 2/0 of 1 user=default class=0 priority=0 pods=1 on 0 by kubelet [metadata.name=n1]
default/d 3/0 of 1 user=default class=0 priority=0 pods=1 on 0
`
	wantPicture(t, s, all, want)
	for _, c := range []struct {
		schedulers []string
		by         string // of a, b, c, d and e, behind each other
	}{
		{[]string{"volcano"}, "|default-scheduler|kubelet|fairlead||"},
		{[]string{"volcano", "default-scheduler", "fairlead"}, "||kubelet|||"},
	} {
		s, err := Open(write(t, "cluster.yaml", othersPods), Options{Schedulers: c.schedulers})
		if err != nil {
			t.Fatal(err)
		}
		var by strings.Builder
		for _, r := range recordsOf(t, s)[1:] {
			by.WriteString(r.Task.Foreign + "|")
		}
		if by.String() != c.by {
			t.Errorf("placed by %s, with %v taken in want %s", &by, c.schedulers, c.by)
		}
	}
	s, err = Open(write(t, "cluster.yaml", othersPods), Options{Elsewhere: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recordsOf(t, s) {
		if r.Task.Foreign != "" {
			t.Errorf("%s is placed by %s, want all to be placed anew on nodes that are not their cluster's", r.Task.Name, r.Task.Foreign)
		}
	}
}

// TestAllPorts: to fairlead-scheduler each host port is a column, and so it is a kind where a plan is to be the same.
func TestAllPorts(t *testing.T) {
	const alone = `
kind: Pod
metadata: {name: a}
spec: {containers: [{ports: [{hostPort: 80}, {hostPort: 81, hostIP: 10.0.0.1}]}]}
`
	for all, want := range map[bool]int{false: 0, true: 3} {
		s, err := Open(write(t, "cluster.yaml", alone), Options{AllPorts: all})
		if err != nil {
			t.Fatal(err)
		}
		ports := 0
		for _, k := range s.Kinds() {
			if k.Unit == cluster.ExclusiveUnit {
				ports++
			}
		}
		if ports != want {
			t.Errorf("AllPorts %v: %d kinds are ports, want %d", all, ports, want)
		}
	}
}
