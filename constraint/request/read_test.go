package request

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

const shop = `
nodes:
  - {name: a, count: 2, capacity: {cpu: 8, memory: 32}, labels: {disk: ssd}, groups: {zone: z1}}
  - {name: g, capacity: {cpu: 16, memory: 64, gpu: 4}, used: {cpu: 500m, gpu: 1.25}, groups: {zone: z2}}
applications:
  - name: store
    containers: [{name: db, demand: {cpu: 4, memory: 512Mi}, tags: [sql, db], runs_on: [a2, a1], movable: true}]
  - name: learn
    containers:
      - {name: worker, count: 2, demand: {gpu: 0.5}, per_node: 2, where: {zone: [z2, z3]}}
      - {name: reader, demand: {gpu: 2}}
constraints: ["{db, {db, 0, 0}, node}: hard"]
`

// picture draws a request, a line for each node, shape and container that runs.
func picture(r *Request) string {
	var b strings.Builder
	p := &r.Problem
	for _, k := range p.Kinds {
		fmt.Fprintf(&b, "%s/%d ", k.Name, k.PerUnit)
	}
	for n := range p.Nodes {
		node := &p.Nodes[n]
		fmt.Fprintf(&b, "\n%s %v free %v devices %v", node.Name, node.Capacity, node.Free, node.Devices)
		for _, g := range p.Groups {
			set := "-"
			if g.SetOf[n] != constraint.Nowhere {
				set = g.Sets[g.SetOf[n]]
			}
			fmt.Fprintf(&b, " %s=%s", g.Name, set)
		}
	}
	for c := range p.Shapes {
		shape := &p.Shapes[c]
		fmt.Fprintf(&b, "\n%s %s %v need %v tags %v eligible %v per node %d", p.Applications[shape.Application].Name, r.Parts[c], shape.Demand, needs(shape.Needs), shape.Tags, shape.Eligible, shape.PerNode)
	}
	for c := range p.Containers {
		container := &p.Containers[c]
		fmt.Fprintf(&b, "\n%s at %d fixed %v devices %b", r.Container(int32(c)), container.At, container.Fixed, container.Devices)
	}
	for _, a := range p.Applications {
		fmt.Fprintf(&b, "\n%s %d to %d deployed %v", a.Name, a.First, a.End, a.Deployed)
	}
	for i := range p.Constraints {
		fmt.Fprintf(&b, "\n%s", constraint.Title(&p.Constraints[i]))
	}
	return b.String() + "\n"
}

func TestRead(t *testing.T) {
	r, err := Read("shop.yaml", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	want := `cpu/1000 memory/1073741824 gpu/1000 
a1 [8000 34359738368 0] free [4000 33822867456 0] devices [] node=a1 zone=z1
a2 [8000 34359738368 0] free [4000 33822867456 0] devices [] node=a2 zone=z1
g [16000 68719476736 4000] free [15500 68719476736 2750] devices [0 750 1000 1000] node=g zone=z2
store db [4000 536870912 0] need [] tags [app:store db sql] eligible [] per node 0
learn worker [0 0 500] need [1 of 500] tags [app:learn] eligible [false false true] per node 2
learn reader [0 0 2000] need [2 of 1000] tags [app:learn] eligible [] per node 0
db-0 at 1 fixed false devices 0
db-1 at 0 fixed false devices 0
worker-0 at -1 fixed false devices 0
worker-1 at -1 fixed false devices 0
reader-0 at -1 fixed false devices 0
store 0 to 2 deployed true
learn 2 to 5 deployed false
{db, {db, 0, 0}, node}: hard
`
	if diff := cmp.Diff(want, picture(r)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

// needs prints how many devices are asked for, and how much of each.
func needs(list cluster.DeviceNeeds) (words []string) {
	for _, need := range list {
		words = append(words, fmt.Sprintf("%d of %d", need.Count, need.Share))
	}
	return words
}

// Without anybody who has or asks for devices there is no such kind.
func TestReadWithoutDevices(t *testing.T) {
	r, err := Read("f", []byte(`{"nodes": [{"name": "a", "capacity": {"cpu": 0.0015}}], "objective": {"least": {"memory": 1}, "moved": 0.25}}`))
	if err != nil {
		t.Fatal(err)
	}
	p := &r.Problem
	if len(p.Kinds) != 2 || p.Nodes[0].Capacity[0] != 1 || len(p.Objective.Least) != 2 || p.Objective.Moved != 250 {
		t.Errorf("kinds %v, node %+v, objective %+v", p.Kinds, p.Nodes[0], p.Objective)
	}
}

// Costs that an int64 does not hold are refused, not counted wrongly; the largest weights of
// the objective alone are none.
func TestReadWeights(t *testing.T) {
	for _, tc := range []struct{ constraint, objective, want string }{
		{"{db, {db, 0, 0}, node}: hard", "violation: 1000000000, extent: 1000000000, peak: 1000000000, unplaced: 1000000000", ""},
		{"{db, {db, 0, 0}, node}", "violation: 1000000000, extent: 1000000000", ""},
		{"{db, {db, 0, 0}, node}: 1000000", "", ""},
		{"{db, {x, 9, inf}, node}: 1000000", "violation: 1000000000", "f: a plan may cost 200000000"},
		{"{db, {x, 9, inf}, node}: 1000000", "extent: 1000000000", "f: a plan may cost 200000000"},
	} {
		text := strings.Replace(shop, "{db, {db, 0, 0}, node}: hard", tc.constraint, 1) + "objective: {" + tc.objective + "}\n"
		switch _, err := Read("f", []byte(text)); {
		case tc.want == "" && err != nil:
			t.Errorf("%s, objective %s: %v", tc.constraint, tc.objective, err)
		case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)):
			t.Errorf("%s, objective %s: %v, want %s", tc.constraint, tc.objective, err, tc.want)
		}
	}
}

// As every node may be in a set of each group, there are not any number of groups.
func TestReadManyGroups(t *testing.T) {
	var groups []string
	for i := range mostGroups {
		groups = append(groups, fmt.Sprintf("g%03d: x", i))
	}
	text := fmt.Sprintf("nodes:\n- {name: a, capacity: {cpu: 1}, groups: {%s}}\n", strings.Join(groups, ", "))
	if _, err := Read("f", []byte(text)); err != nil {
		t.Error(err)
	}
	_, err := Read("f", []byte(text+"- {name: b, capacity: {cpu: 1}, groups: {zone: z}}\n"))
	const want = `f:3:41: nodes[1].groups: zone is one group more than the 256 that there may be; what only "where" asks for is a label`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// Every node is a set of the group node, of which where may ask as of any other.
func TestReadWhereNode(t *testing.T) {
	r, err := Read("f", []byte(strings.Replace(shop, "{zone: [z2, z3]}", "{node: [a2, g]}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{false, true, true}, r.Problem.Shapes[1].Eligible); diff != "" {
		t.Errorf("eligible: want (-), got (+):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, tc := range []struct{ old, new, want string }{
		{shop, "", "f: the file says nothing; see docs/place.md"},
		{shop, "a: [", "f: neither YAML nor JSON: "},
		{shop, "kinds: [slots]\n", "f:1:9: kinds[0]: expected fields"},
		{shop, "nodes: [{name: a, capacity: {cpu: 4, slot: 3, disk: 1}}]\nkinds: [{name: slots}]", `f:1:30: nodes[0].capacity.cpu: unknown kind, as "kinds:" replaces cpu, memory and gpu, and does not list it; there are slots
f:1:38: nodes[0].capacity.slot: unknown kind; did you mean slots?
f:1:47: nodes[0].capacity.disk: unknown kind; there are slots`},
		{shop, "nodes: []", "f:1:8: nodes: there are no nodes"},
		{shop, "applications: []", "f:1:1: there are no nodes; list them under \"nodes:\""},
		{"nodes:", "nodse:", "f:2:1: nodse: unknown field; did you mean nodes?"},
		{"zone: z1}", "node: z1}", "f:3:86: nodes[0].groups: node is the group in which every node is a set by itself; call this one otherwise"},
		{"name: g,", "name: a1,", "f:4:5: nodes[1]: there is a node a1 already"},
		{"gpu: 4}", "gpu: 4.5}", "f:4:5: nodes[1]: has 4.5 gpu, want whole devices, at most 64"},
		{"cpu: 500m", "cpu: 500Mi", `f:4:68: nodes[1].used.cpu: "500Mi" is not a quantity of cpu, want a number of cores such as 2 or 0.5`},
		{"cpu: 500m", "cpu: -1", `f:4:68: nodes[1].used.cpu: "-1" is not a quantity of cpu, want a number of cores such as 2 or 0.5`},
		{"memory: 512Mi", "memroy: 512Mi", "f:7:46: applications[0].containers[0].demand.memroy: unknown kind; did you mean memory?"},
		{"[a2, a1]", "[a2, a3]", "f:7:93: applications[0].containers[0].runs_on[1]: there is no node a3; there are a1, a2, g"},
		{"name: db,", "name: db, count: 3,", `f:7:18: applications[0].containers[0]: "runs_on" names 2 nodes, and there are 3 containers: want a node for each`},
		{"per_node: 2", "movable: true", `f:10:9: applications[1].containers[0]: "movable" is of use only for containers that run: say with "runs_on:" where, or remove it`},
		{"name: reader", "name: worker", "f:11:9: applications[1].containers[1]: there are containers worker in the application already"},
		{"name: learn", "name: store", "f:8:5: applications[1]: there is an application store already"},
		{"where: {zone:", "where: {zoen:", "f:10:9: applications[1].containers[0]: no node has a label zoen; did you mean zone?"},
		{"{gpu: 2}", "{gpu: 2.5}", "f:11:9: applications[1].containers[1]: asks for 2.5 gpu, want a share of one or whole devices"},
		{"{gpu: 2}", "{gpu: 3}, runs_on: [g]", "f:11:9: applications[1].containers[1]: runs on node g, whose devices cannot hold it beside the others"},
		{"{gpu: 2}", "{gpu: 2}, runs_on: [g]", "f:10:7: applications[1].containers: 1 of 3 containers of application learn run; say"},
		{"{db, {db, 0", "{db, {db, x", "f:12:15: constraints[0]: "},
		{"constraints:", "objective: {moved: 0.0001}\nconstraints:", "f:12:20: objective.moved: is finer than a thousandth"},
		{"constraints:", "kinds: [{name: a}, {name: a}]\nconstraints:", "f:12:20: kinds[1]: there is a kind a already"},
		{"constraints:", "planted: {shop: {}}\nconstraints:", "f:12:11: planted.shop: there is no such application"},
		{"constraints:", "planted: {store: {db: [a1]}}\nconstraints:", "f:12:23: planted.store.db: names 1 nodes, want one for each container"},
	} {
		_, err := Read("f", []byte(strings.Replace(shop, tc.old, tc.new, 1)))
		if err == nil || !strings.Contains("\n"+err.Error(), "\n"+tc.want) {
			t.Errorf("%s -> %s:\n%v\nwant %s", tc.old, tc.new, err, tc.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(shop)
	f.Add(`{"nodes": [{"name": "a", "count": 3, "capacity": {"cpu": 1}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read("f", []byte(text))
		if err != nil || len(r.Problem.Nodes) > 1000 || len(r.Problem.Containers) > 1000 {
			return
		}
		written, err := r.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read("written", written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if len(again.Problem.Containers) != len(r.Problem.Containers) || len(again.Problem.Constraints) != len(r.Problem.Constraints) {
			t.Fatalf("written otherwise:\n%s", written)
		}
	})
}
