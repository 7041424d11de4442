package kubernetes

import (
	"errors"
	"io"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
)

// again writes a source and reads what was written.
func again(t *testing.T, src trace.Source, refuse Refuse) ([]trace.Record, *Source) {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, src, refuse); err != nil {
		t.Fatal(err)
	}
	all, s, err := read(t, write(t, "again.json", b.String()), Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return all, s
}

func lossless(t *testing.T) Refuse {
	t.Helper()
	return func(r *trace.Record, what string) error {
		t.Errorf("%+v has lost %s", r, what)
		return nil
	}
}

// What was read is written so that it is read again as it was.
func TestWriteWhatWasRead(t *testing.T) {
	port := "---\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{ports: [{hostPort: 80}, {hostPort: 81, hostIP: 10.0.0.1}]}]}\n"
	for name, text := range map[string]string{
		"small":     small,
		"in":        affine(`[{matchExpressions: [{key: zone, operator: In, values: [b, a]}, {key: empty, operator: NotIn, values: [""]}]}]`),
		"exists":    affine(`[{matchExpressions: [{key: empty, operator: Exists}, {key: none, operator: DoesNotExist}]}]`),
		"below":     affine(`[{matchExpressions: [{key: cores, operator: Lt, values: ["4"]}, {key: cores, operator: Gt, values: ["-3"]}]}]`),
		"name":      affine(`[{matchFields: [{key: metadata.name, operator: In, values: [n3]}]}]`),
		"not name":  affine(`[{matchFields: [{key: metadata.name, operator: NotIn, values: [n3]}]}]`),
		"either":    affine(`[{matchExpressions: [{key: zone, operator: Exists}]}, {}]`),
		"taints":    ruledNodes + "---\nkind: Pod\nmetadata: {name: p}\n---\nkind: Pod\nmetadata: {name: q}\nspec: {tolerations: [{key: dedicated, operator: Exists}]}",
		"apart":     apartPods(own, ""),
		"ports":     "kind: Node\nmetadata: {name: n1}\n" + strings.Replace(port, "NAME", "a", 1) + strings.Replace(port, "NAME", "b", 1),
		"others":    othersPods,
		"no object": `{"kind": "Pod", "metadata": {"name": "p"}}`,
		"company":   zones + companion("web-0", "web", "n1", evenly) + companion("web-1", "web", "", evenly) + companion("db", "db", "", beside),
		"bound":     bound,
		"prefers":   preferring,
		"volumes":   "kind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {attachable-volumes-aws-ebs: 39, hugepages-2Mi: 4Mi, ephemeral-storage: 9Gi, disk: 3}}\n",
	} {
		all, s, err := readText(t, text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.given = 0
		got, second := again(t, s, lossless(t))
		if diff := gocmp.Diff(picture(s, all), picture(second, got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// records is a source of records that were thought up.
type records struct {
	kinds []cluster.Kind
	list  []trace.Record
}

func (r *records) Kinds() []cluster.Kind { return r.kinds }

func (r *records) Close() error { return nil }

func (r *records) Next(into *trace.Record) error {
	if len(r.list) == 0 {
		return io.EOF
	}
	*into, r.list = r.list[0], r.list[1:]
	return nil
}

// Sources of other formats keep what a moment of Kubernetes can hold; the rest
// is lost, each by its name.
func TestWriteOthers(t *testing.T) {
	src := func() *records {
		v := cluster.Vector{1500, 2048, 1300, 77, 1024}
		return &records{
			kinds: []cluster.Kind{
				{Name: "cpu", Unit: "cores", PerUnit: 1000},
				{Name: "memory", Unit: "GiB", PerUnit: 1024},
				{Name: "gpu", Unit: "GPUs", PerUnit: 1000, Devices: true},
				{Name: "slots", Unit: "slots", PerUnit: 1},
				{Name: "disk", Unit: "GiB", PerUnit: 1024},
			},
			list: []trace.Record{
				{What: trace.NodeAdded, Node: trace.Node{ID: 7, Capacity: cluster.Vector{64_000, 65_536, 8000, 100, 1 << 20}, Labels: []cluster.Label{{Key: "x", Value: "a|b"}, {Key: "y", Value: "1"}}, Tier: 3}},
				{What: trace.TaskSubmitted, Task: trace.Task{Job: 9, JobTasks: 2, Demand: v, Work: cluster.Never, Running: true, OnNode: 7}},
				{What: trace.TaskSubmitted, Time: 1, Task: trace.Task{
					Job: 9, Index: 1, JobTasks: 2, Demand: v, Max: v, Work: cluster.Second, Class: 3, Promise: "gold", PerNode: 4, Together: true, Input: []trace.Block{{Bytes: 1}},
					Requirements: []cluster.Requirement{{Key: "y", Op: cluster.Less, Value: "3"}, {Key: "y", Op: cluster.NotEqual, Value: "|9"}},
				}},
				{What: trace.NodeUsed, Time: 1},
				{What: trace.TaskKilled, Time: 2},
				{What: trace.NodeLost, Time: 2},
				{What: trace.NodeAdded, Time: 2},
			},
		}
	}
	lost := map[string]int{}
	all, s := again(t, src(), func(_ *trace.Record, what string) error { lost[what]++; return nil })
	wantPicture(t, s, all, `
0 node-7 cpu=64 memory=64 pods=1000000 ephemeral-storage=1024 fairlead.dev/slots=100 nvidia.com/gpu=8 [y=1]
default/job-9-0 0/0 of 2 user=default class=0 priority=0 cpu=1.5 memory=2 pods=1 ephemeral-storage=1 fairlead.dev/slots=77 nvidia.com/gpu=2 on 0
default/job-9-1 0/1 of 2 user=default class=2 priority=0 cpu=1.5 memory=2 pods=1 ephemeral-storage=1 fairlead.dev/slots=77 nvidia.com/gpu=2 [y!=] [y!=9]
`)
	want := map[string]int{
		"labels with | or a quotation mark": 1, "requirements that a missing label meets": 1, "times of submission": 1, "ends of tasks": 1,
		"classes above 2": 1, "limits of several tasks a node": 1, "demands that are ranges": 1, "shares of a device": 2, "kills": 1, "changes of nodes": 2,
		"usage of nodes": 1, "jobs that want to stand together": 1, "input of tasks": 1,
		"tiers of nodes": 1,
	}
	if diff := gocmp.Diff(want, lost); diff != "" {
		t.Error(diff)
	}
	broken := errors.New("not this")
	for what := range want {
		err := Write(io.Discard, src(), func(_ *trace.Record, w string) error {
			if w == what {
				return broken
			}
			return nil
		})
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v; want the refusal", what, err)
		}
	}
}

// What would merge in the file, or not be read again, is lost by its name, and
// what is written all the same is read.
func TestWriteApart(t *testing.T) {
	node := func(id uint64, name string, capacity ...int64) trace.Record {
		return trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: id, Name: name, Capacity: capacity}}
	}
	task := func(job uint64, name string, demand ...int64) trace.Record {
		return trace.Record{What: trace.TaskSubmitted, Task: trace.Task{Job: job, JobTasks: 1, Name: name, Demand: demand, Work: cluster.Never}}
	}
	tainted := func(id uint64, taints string) trace.Record {
		n := node(id, "", 1)
		n.Node.Labels = []cluster.Label{{Key: trace.Taints, Value: taints}}
		return n
	}
	tolerant := task(1, "p", 1)
	tolerant.Task.Requirements = []cluster.Requirement{{Key: trace.Taints, Op: cluster.Equal, Value: "|a:NoSchedule|b:NoSchedule"}}
	tape := []cluster.Kind{{Name: "tape", PerUnit: 1}}
	for name, c := range map[string]struct {
		kinds []cluster.Kind
		list  []trace.Record
		lost  string
		times int
		want  string
	}{
		"names": {
			tape,
			[]trace.Record{node(1, "a", 1), node(2, "a", 2), node(3, "", 1), task(1, "p", 1), task(2, "p", 1)},
			"names that are there twice", 2, `
0 a pods=1000000 tape=1
1 a-2 pods=1000000 tape=2
2 node-3 pods=1000000 tape=1
default/p 0/0 of 1 user=default class=0 priority=0 pods=1 tape=1
default/p-1 1/0 of 1 user=default class=0 priority=0 pods=1 tape=1
`,
		},
		"resources": {
			[]cluster.Kind{{Name: "gpu", Unit: "GPUs", PerUnit: 1, Devices: true}, {Name: manifest.GPUName, PerUnit: 1}},
			[]trace.Record{node(1, "a", 3, 7), node(2, "b", 3, 0), task(1, "p", 1, 2), task(2, "q", 1, 0)},
			"second kinds of the resource nvidia.com/gpu", 2, `
0 a pods=1000000 nvidia.com/gpu=3
1 b pods=1000000 nvidia.com/gpu=3
default/p 0/0 of 1 user=default class=0 priority=0 pods=1 nvidia.com/gpu=1
default/q 1/0 of 1 user=default class=0 priority=0 pods=1 nvidia.com/gpu=1
`,
		},
		"taints": {
			tape,
			[]trace.Record{tainted(1, "a:NoSchedule"), tainted(2, "b:NoSchedule"), tainted(3, "a:NoSchedule,b:NoSchedule"), tolerant},
			"taints that are tolerated one by one and not together", 1, `
0 node-1 pods=1000000 tape=1 [spec.taints=a:NoSchedule]
1 node-2 pods=1000000 tape=1 [spec.taints=b:NoSchedule]
2 node-3 pods=1000000 tape=1 [spec.taints=a:NoSchedule,b:NoSchedule]
default/p 0/0 of 1 user=default class=0 priority=0 pods=1 tape=1
`,
		},
	} {
		lost := map[string]int{}
		all, s := again(t, &records{c.kinds, c.list}, func(_ *trace.Record, what string) error { lost[what]++; return nil })
		if diff := gocmp.Diff(map[string]int{c.lost: c.times}, lost); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		wantPicture(t, s, all, c.want)
		if err := Write(io.Discard, &records{c.kinds, c.list}, new(trace.Losses).Refuse); err == nil || !strings.Contains(err.Error(), c.lost) {
			t.Errorf("%s: %v; want it refused", name, err)
		}
	}
}
