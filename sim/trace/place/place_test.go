package place_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/constraint/request"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/place"
)

const shop = `
nodes:
  - {name: a, capacity: {cpu: 8, gpu: 4}, labels: {disk: ssd}, groups: {zone: z1}, used: {cpu: 1, gpu: 2.5}}
  - {name: b, capacity: {cpu: 8}}
applications:
  - name: store
    containers: [{name: db, demand: {cpu: 4}, tags: [db], runs_on: [a]}]
  - name: shop
    containers: [{name: web, count: 2, demand: {cpu: 1}, per_node: 1}, {name: cache, demand: {cpu: 2}, where: {disk: ssd}}]
    constraints: [{name: near, text: "{app:shop, {db, 1, inf}, node}"}]
  - name: late
    containers: [{name: one, demand: {cpu: 1}}]
    constraints: [{name: near, text: "{app:late, {db, 0, 0}, node}: hard"}]
constraints: ["{db, {db, 0, 0}, zone}: hard"]
`

// line is a record as the tests write it.
func line(r *trace.Record) string {
	at := fmt.Sprintf("%v %s ", r.Time, r.What)
	switch {
	case r.What.OfNode():
		return at + fmt.Sprint(r.Node.ID, r.Node.Name, r.Node.Capacity, r.Node.Labels, r.Node.Groups)
	case r.What == trace.ConstraintAdded:
		return at + fmt.Sprint(r.Constraint.Name, " ", r.Constraint.Hard)
	}
	task := &r.Task
	text := at + fmt.Sprint(task.Job, "/", task.Index, " ", task.Name, task.Demand, task.Tags, task.Requirements)
	if task.Running {
		text += fmt.Sprint(" on ", task.OnNode)
	}
	if task.LongRunning {
		text += " long-running"
	}
	return text
}

// all reads a source to its end.
func all(t *testing.T, s trace.Source) (records []trace.Record) {
	t.Helper()
	for {
		var r trace.Record
		err := s.Next(&r)
		if errors.Is(err, io.EOF) {
			return records
		}
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
}

func TestRequestAsWorkload(t *testing.T) {
	r, err := request.Read("shop", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range all(t, place.New(r, place.Options{Together: 1, Every: 10 * cluster.Second, Priority: 3})) {
		got = append(got, line(&r))
		if r.What == trace.TaskSubmitted && (r.Task.Priority != 3 || r.Task.Work != cluster.Never) {
			t.Errorf("%s: priority %d, works for %v", line(&r), r.Task.Priority, r.Task.Work)
		}
	}
	want := strings.Split(strings.TrimSpace(`
0s node added 1a[8000 0 4000] [{disk ssd} {may-use/shop/cache yes}] [{zone z1}]
0s node added 2b[8000 0 0] [] []
0s task submitted 0/0 others-on-a[1000 0 2000] [] [] on 1
0s task submitted 0/1 others-on-a-1[0 0 500] [] [] on 1
0s constraint added {db, {db, 0, 0}, zone}: hard true
0s task submitted 1/0 store/db-0[4000 0 0] [app:store db] [] on 1 long-running
0s constraint added near false
0s task submitted 2/0 shop/web-0[1000 0 0] [app:shop] [] long-running
0s task submitted 2/1 shop/web-1[1000 0 0] [app:shop] [] long-running
0s task submitted 2/2 shop/cache-0[2000 0 0] [app:shop] [may-use/shop/cache=yes] long-running
10s constraint added near (2) true
10s task submitted 3/0 late/one-0[1000 0 0] [app:late] [] long-running
`), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Where the containers are said to stand already, nothing is left to be placed, and what runs
// and what others use is no more than the nodes have.
func TestPlaced(t *testing.T) {
	d, err := planted.Draw(planted.Options{Nodes: 60, Applications: 5, Running: 2, Utilisation: 600, InterApp: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	room := map[uint64]cluster.Vector{}
	waiting, running := 0, 0
	for _, placed := range []constraint.Assignment{nil, d.Witness} {
		waiting, running = 0, 0
		for _, r := range all(t, place.New(request.New(d.Problem, d.Parts), place.Options{Placed: placed})) {
			switch {
			case r.What == trace.NodeAdded:
				room[r.Node.ID] = slices.Clone(r.Node.Capacity)
			case r.What == trace.TaskSubmitted && !r.Task.Running:
				waiting++
			case r.What == trace.TaskSubmitted:
				running++
				for k, q := range r.Task.Demand {
					if room[r.Task.OnNode][k] -= q; room[r.Task.OnNode][k] < 0 {
						t.Fatalf("node %d has not the room for %s", r.Task.OnNode, r.Task.Name)
					}
				}
			}
		}
		if (placed == nil) != (waiting > 0) || running == 0 {
			t.Errorf("placed %t: %d wait, %d run", placed != nil, waiting, running)
		}
	}
}
