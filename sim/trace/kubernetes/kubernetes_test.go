package kubernetes

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
)

// write puts a text into a file of that name in a new folder.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// read gives all records of a file or a folder.
func read(t *testing.T, path string, o Options) ([]trace.Record, *Source, error) {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		return nil, nil, err
	}
	var all []trace.Record
	for {
		var r trace.Record
		if err := s.Next(&r); errors.Is(err, io.EOF) {
			return all, s, nil
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

// readText reads a text as YAML.
func readText(t *testing.T, text string) ([]trace.Record, *Source, error) {
	t.Helper()
	return read(t, write(t, "cluster.yaml", text), Options{})
}

// picture prints a record a line: nodes without their names as labels, with their groups in
// braces; constraints as they are written; tags in angle brackets.
func picture(s *Source, all []trace.Record) string {
	var b strings.Builder
	vector := func(v cluster.Vector) {
		for k, q := range v {
			if q > 0 {
				fmt.Fprintf(&b, " %s=%s", s.kinds[k].Name, s.kinds[k].Format(q))
			}
		}
	}
	for _, r := range all {
		if r.What == trace.NodeAdded {
			fmt.Fprintf(&b, "%d %s", r.Node.ID, r.Node.Name)
			vector(r.Node.Capacity)
			for _, l := range r.Node.Labels {
				if l.Key != manifest.NameKey && l.Key != hostname {
					fmt.Fprintf(&b, " [%s=%s]", l.Key, l.Value)
				}
			}
			for _, l := range r.Node.Groups {
				fmt.Fprintf(&b, " {%s=%s}", l.Key, l.Value)
			}
			b.WriteString("\n")
			continue
		}
		if r.What == trace.ConstraintAdded {
			fmt.Fprintf(&b, "%s: %s\n", r.Constraint.Name, constraint.Format(&r.Constraint))
			continue
		}
		if r.What == trace.BudgetAdded {
			fmt.Fprintf(&b, "%s wants %d", r.Budget.Name, r.Budget.Least)
			if r.Budget.FreesUnready {
				b.WriteString(" and frees unready ones")
			}
			b.WriteString("\n")
			continue
		}
		t := r.Task
		fmt.Fprintf(&b, "%s %d/%d of %d user=%s class=%d priority=%d", t.Name, t.Job, t.Index, t.JobTasks, t.User, t.Class, t.Priority)
		vector(t.Demand)
		if t.Running {
			fmt.Fprintf(&b, " on %d", t.OnNode)
		}
		if t.Foreign != "" {
			fmt.Fprintf(&b, " by %s", t.Foreign)
		}
		if t.PerNode > 0 {
			fmt.Fprintf(&b, " %d a node", t.PerNode)
		}
		for _, p := range t.Prefers {
			fmt.Fprintf(&b, " %d for%s", p.Weight, p.Requirements)
		}
		for _, q := range t.Requirements {
			fmt.Fprintf(&b, " [%s]", q)
		}
		for _, tag := range t.Tags {
			fmt.Fprintf(&b, " <%s>", tag)
		}
		if len(t.Budgets) > 0 {
			fmt.Fprintf(&b, " of %s", strings.Join(t.Budgets, " and "))
		}
		if t.Unready {
			b.WriteString(" unready")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func wantPicture(t *testing.T, s *Source, all []trace.Record, want string) {
	t.Helper()
	if diff := gocmp.Diff(strings.TrimLeft(want, "\n"), picture(s, all)); diff != "" {
		t.Error(diff)
	}
}

const small = `
apiVersion: v1
kind: List
items:
- kind: Node
  metadata: {name: n2, labels: {zone: b}}
  spec: {unschedulable: true}
  status: {capacity: {cpu: 2, memory: 4Gi, pods: 10}}
- kind: Node
  metadata: {name: n1, labels: {zone: a}}
  status:
    capacity: {cpu: 8, memory: 32Gi, pods: 110}
    allocatable: {cpu: 7500m, memory: 30Gi, pods: 110, nvidia.com/gpu: 2, example.com/tape: "3", hugepages-2Mi: "0"}
    conditions: [{type: Ready, status: "True"}]
---
kind: Pod
metadata: {name: late, namespace: web, creationTimestamp: "2026-01-31T12:00:01Z", ownerReferences: [{kind: ReplicaSet, name: web, uid: u1, controller: true}]}
spec: {priority: 7, containers: [{resources: {requests: {cpu: 1, example.com/tape: 2}}}]}
status: {phase: Pending, qosClass: Burstable}
---
kind: Pod
metadata: {name: early, namespace: web, creationTimestamp: "2026-01-31T12:00:00Z", ownerReferences: [{kind: ReplicaSet, name: web, uid: u1, controller: true}]}
spec: {nodeName: n1, containers: [{resources: {requests: {cpu: 100m, memory: 128Mi, nvidia.com/gpu: 1}}}]}
status: {phase: Running, qosClass: Guaranteed}
---
kind: Pod
metadata: {name: alone, creationTimestamp: "2026-01-31T12:00:01Z"}
---
kind: Pod
metadata: {name: over}
status: {phase: Succeeded}
---
kind: Pod
metadata: {name: gated}
spec: {schedulingGates: [{name: wait}]}
---
kind: Pod
metadata: {name: leaving, deletionTimestamp: "2026-01-31T12:00:00Z"}
---
kind: Service
metadata: {name: web}
spec: {nodeName: 3}
`

const smallPicture = `
0 n1 cpu=7.5 memory=30 pods=110 example.com/tape=3 nvidia.com/gpu=2 [zone=a]
1 n2 cpu=2 memory=4 pods=10 [spec.taints=node.kubernetes.io/unschedulable:NoSchedule] [zone=b]
default/gated 0/0 of 1 user=default class=0 priority=0 pods=1 [spec.taints!=node.kubernetes.io/unschedulable:NoSchedule]
web/early 1/0 of 2 user=web class=2 priority=0 cpu=0.1 memory=0.125 pods=1 nvidia.com/gpu=1 on 0 [spec.taints!=node.kubernetes.io/unschedulable:NoSchedule]
default/alone 2/0 of 1 user=default class=0 priority=0 pods=1 [spec.taints!=node.kubernetes.io/unschedulable:NoSchedule]
web/late 1/1 of 2 user=web class=1 priority=7 cpu=1 pods=1 example.com/tape=2 [spec.taints!=node.kubernetes.io/unschedulable:NoSchedule]
`

func TestRead(t *testing.T) {
	all, s, err := readText(t, small)
	if err != nil {
		t.Fatal(err)
	}
	wantPicture(t, s, all, smallPicture)
	for _, r := range all {
		if r.Time != 0 || r.What == trace.TaskSubmitted && r.Task.Work != cluster.Never {
			t.Errorf("%+v is not for ever from time 0", r)
		}
	}
	notes := []string{
		"passed over 1 objects of kind Service",
		"left out 1 pods that are being deleted and have no node",
		"left out 1 pods that are done",
	}
	if diff := gocmp.Diff(notes, s.Notes()); diff != "" {
		t.Error(diff)
	}
	if !s.kinds[4].Devices || s.kinds[3].Devices {
		t.Errorf("the kinds are %+v; want GPUs alone to come in devices", s.kinds)
	}
}

// The same objects in any of the forms that kubectl has are the same records.
func TestForms(t *testing.T) {
	node := `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "2", "pods": 10}}}`
	pod := func(name string) string {
		return `{"metadata": {"name": "` + name + `"}, "kind": "Pod", "spec": {"nodeName": "n1"}}`
	}
	zip := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	list := `{"items": [` + node + "," + pod("p") + "," + pod("q") + `], "apiVersion": "v1", "kind": "List", "metadata": {}}`
	raw := `{"kind": "PodList", "items": [{"metadata": {"name": "p"}, "spec": {"nodeName": "n1"}}, {"metadata": {"name": "q"}, "spec": {"nodeName": "n1"}}]}`
	for name, files := range map[string]map[string]string{
		"list":          {"a.json": list},
		"byte order":    {"a.json": "\xef\xbb\xbf" + list},
		"concatenated":  {"a.json": node + pod("p") + "\n" + pod("q")},
		"array":         {"a.json": " [" + node + "," + pod("p") + "]" + pod("q")},
		"raw":           {"a.json": node + raw},
		"raw in YAML":   {"a.yaml": "kind: NodeList\nitems:\n- metadata: {name: n1}\n  status: {capacity: {cpu: 2, pods: 10}}\n---\n" + raw},
		"gzip":          {"a.json.gz": zip(list)},
		"documents":     {"a.yaml": "---\n" + node + "\n---\n" + pod("p") + "\n---\n# nothing\n---\n" + pod("q")},
		"folder":        {"a.yml": "# a node\n" + node, "b.json": pod("q"), "c.yaml.gz": zip("---\n" + pod("p")), "README": "<html>"},
		"empty and all": {"a.json": `{"kind": "List", "items": null}` + list},
	} {
		dir := t.TempDir()
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		all, s, err := read(t, dir, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := "0 n1 cpu=2 pods=10\n" +
			"default/p 0/0 of 1 user=default class=0 priority=0 pods=1 on 0\n" +
			"default/q 1/0 of 1 user=default class=0 priority=0 pods=1 on 0\n"
		if diff := gocmp.Diff(want, picture(s, all)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Without the nodes of its own, a pod runs nowhere.
func TestElsewhere(t *testing.T) {
	all, _, err := read(t, write(t, "a.json", `{"kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n1"}}`), Options{Elsewhere: true})
	if err != nil || len(all) != 1 || all[0].Task.Running {
		t.Errorf("%+v, %v; want a pod that waits", all, err)
	}
	either := write(t, "a.yaml", affine(`[{matchExpressions: [{key: zone, operator: Exists}]}, {matchExpressions: [{key: cores, operator: Exists}]}]`))
	if _, _, err := read(t, either, Options{Elsewhere: true}); err == nil || !strings.Contains(err.Error(), "pod default/p: "+termsField+": want a field that is simulated") {
		t.Errorf("several terms: %v", err)
	}
	all, _, err = read(t, either, Options{Elsewhere: true, Lenient: true})
	if err != nil || len(all[len(all)-1].Task.Requirements) > 0 {
		t.Errorf("several terms, lenient: %+v, %v", all, err)
	}
}
