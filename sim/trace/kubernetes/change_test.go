package kubernetes

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/kubedump"
	"fairlead.dev/fairlead/sim/trace"
)

// recordsOf are all of a source, from its beginning.
func recordsOf(t *testing.T, s *Source) []trace.Record {
	t.Helper()
	var all []trace.Record
	for {
		var r trace.Record
		if err := s.Next(&r); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

// budgetsIn are the budgets among records.
func budgetsIn(all []trace.Record) (list []cluster.Budget) {
	for _, r := range all {
		if r.What == trace.BudgetAdded {
			list = append(list, r.Budget)
		}
	}
	return list
}

// TestUnchanged makes changes of every sort to a cluster: as it was it is what a reader without changes finds.
func TestUnchanged(t *testing.T) {
	var dump bytes.Buffer
	if err := kubedump.Write(&dump, kubedump.Options{Nodes: 40, PodsPerNode: 12, Volumes: true}); err != nil {
		t.Fatal(err)
	}
	file := write(t, "cluster.json", dump.String())
	app := write(t, "app.yaml", `
kind: Deployment
metadata: {name: web-1, namespace: shop}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: web-1}}
    spec:
      containers: [{name: main, resources: {requests: {cpu: 1}}}]
`)
	plain, err := Open(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := recordsOf(t, plain)
	for _, c := range []Changes{
		{},
		{Add: []Copies{{Count: 3, Like: "node-0007"}}},
		{Drain: []string{"node-0004", "node-0009"}},
		{Remove: []string{"node-0000"}},
		{Scale: []Size{{"shop/deployment/web-0", 40}, {"data/statefulset/db-3", 9}, {"shop/deployment/web-2", 0}}},
		{Apply: []string{app}},
	} {
		s, err := Open(file, Options{Changes: &c})
		if err != nil {
			t.Fatal(err)
		}
		after := recordsOf(t, s)
		if !c.none() && cmp.Equal(after, want) {
			t.Errorf("%+v changes nothing", c)
		}
		if diff := cmp.Diff(budgetsIn(want), budgetsIn(after)); diff != "" && len(c.Scale)+len(c.Apply) == 0 {
			t.Errorf("%+v: budgets of workloads that are the same (-before +after):\n%s", c, diff)
		}
		for range 2 {
			before, err := s.Changed().Unchanged()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, recordsOf(t, before)); diff != "" {
				t.Errorf("%+v: without the changes (-want +got):\n%s", c, diff[:min(len(diff), 2000)])
			}
		}
		if diff := cmp.Diff(after, recordsOf(t, s.Again())); diff != "" {
			t.Errorf("%+v: afterwards (-before +after):\n%s", c, diff[:min(len(diff), 2000)])
		}
	}
}

// TestOrder: pods of one second come in the order in which fairlead-scheduler takes them in, by namespace and then by name.
func TestOrder(t *testing.T) {
	file := write(t, "cluster.yaml", `
kind: Pod
metadata: {namespace: a-b, name: x, creationTimestamp: "2026-01-31T12:00:00Z"}
---
kind: Pod
metadata: {namespace: a, name: y, creationTimestamp: "2026-01-31T12:00:00Z"}
---
kind: Pod
metadata: {namespace: b, name: z, creationTimestamp: "2026-01-31T11:59:59Z"}
`)
	for _, one := range []bool{false, true} {
		s, err := Open(file, Options{OneUser: one})
		if err != nil {
			t.Fatal(err)
		}
		var got, users []string
		for _, r := range recordsOf(t, s) {
			got, users = append(got, r.Task.Name), append(users, r.Task.User)
		}
		if want := []string{"b/z", "a/y", "a-b/x"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if want := map[bool][]string{false: {"b", "a", "a-b"}, true: {"", "", ""}}[one]; !slices.Equal(users, want) {
			t.Errorf("users %q, want %q", users, want)
		}
	}
}
