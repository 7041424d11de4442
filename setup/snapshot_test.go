package setup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
)

// Two nodes, one of which runs a pod of a ReplicaSet and one of a DaemonSet; a third pod waits, although there is room.
const small = `---
{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}}
---
{kind: Pod, metadata: {name: web-1, namespace: shop, ownerReferences: [{kind: ReplicaSet, name: web-5d9f, uid: u1, controller: true}]},
 spec: {nodeName: n1, containers: [{name: a, resources: {requests: {cpu: "1"}}}]}}
---
{kind: Pod, metadata: {name: log-1, namespace: shop, ownerReferences: [{kind: DaemonSet, name: log, uid: u2, controller: true}]},
 spec: {nodeName: n1, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
   {matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}},
   containers: [{name: a, resources: {requests: {cpu: 500m}}}]}}
---
{kind: Pod, metadata: {name: waits, namespace: shop}, spec: {containers: [{name: a, resources: {requests: {cpu: "1"}}}]}}
`

// TestSnapshot looks at a dump in which nobody has decided anything.
func TestSnapshot(t *testing.T) {
	s := snapshot(t, "kubernetes:"+write(t, small), 0)
	view := s.Core.View()
	if got := view.Used(0); got[0] != 1500 || view.InPhase(cluster.Running) != 2 || view.InPhase(cluster.Waiting) != 1 {
		t.Errorf("n1 uses %v, %d run and %d wait; want 1.5 cores, 2 and 1", got, view.InPhase(cluster.Running), view.InPhase(cluster.Waiting))
	}
	want := []string{"shop/log-1 of shop/daemonset/log true", "shop/waits of shop/pod/waits false", "shop/web-1 of shop/replicaset/web-5d9f false"}
	var got []string
	for row, name := range s.Names {
		got = append(got, fmt.Sprintf("%s of %s %v", name, s.Owners[row], s.Pinned[row]))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSnapshotAt looks at a source in which tasks come later.
func TestSnapshotAt(t *testing.T) {
	const source = "synthetic:ec2?nodes=20&tasks=5&load=0.5"
	before, after := snapshot(t, source, 0), snapshot(t, source, 2*cluster.Second)
	if before.Core.View().InPhase(cluster.Waiting) != 0 || after.Core.View().InPhase(cluster.Waiting) != 5 {
		t.Errorf("%d wait at the start and %d after 2 s, want 0 and 5", before.Core.View().InPhase(cluster.Waiting), after.Core.View().InPhase(cluster.Waiting))
	}
}

func snapshot(t *testing.T, source string, at cluster.Time) sim.Ending {
	t.Helper()
	spec := setup.Default()
	spec.Source.Cluster = source
	plan, err := spec.Plan(policies.All())
	if err != nil {
		t.Fatal(err)
	}
	opened, err := plan.Sources.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close() //nolint:errcheck // it was only read
	s, err := plan.Snapshot(opened, at, setup.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "me.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
