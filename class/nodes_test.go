package class

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// nodes is so many nodes of 32 cores in the tiers high, average and low.
func nodes(high, average, low int) []Node {
	var list []Node
	for i, n := range []int{high, average, low} {
		list = append(list, slices.Repeat([]Node{{Tier: int32(cluster.Levels - i), Size: 32}}, n)...)
	}
	return list
}

func TestCheckNodes(t *testing.T) {
	spread := &Table{Classes: []Class{{Class: cluster.Class{Name: "a", Replicas: 3}}}}
	sized := &Table{Classes: []Class{{Class: cluster.Class{Name: "a", Size: cluster.Premium}}}}
	for _, c := range []struct {
		table *Table
		nodes []Node
		want  string
	}{
		{SLA(), nodes(5, 5, 5), ""},
		{SLA(), nodes(3, 2, 1), ""},
		{Google(), nil, ""},
		{SLA(), nodes(0, 5, 5), "classes[0].tier: no node has the tier high"},
		{SLA(), nodes(2, 1, 0), "classes[0].replicas: 3 copies on nodes of the tier high, of which there are 2\n" +
			"classes[1].replicas: 2 copies on nodes of the tier average, of which there are 1\n" +
			"classes[2].tier: no node has the tier low"},
		{SLA(), make([]Node, 9), "classes[0].tier: no node has the tier high, nor any other tier\n" +
			"classes[1].tier: no node has the tier average, nor any other tier\n" +
			"classes[2].tier: no node has the tier low, nor any other tier"},
		{spread, make([]Node, 3), ""},
		{spread, make([]Node, 2), "classes[0].replicas: 3 copies on nodes of their own, of which there are 2"},
		// Nodes without the kind hold no task that gets a share of it.
		{SLA(), append(nodes(3, 2, 1), Node{Tier: 1}, Node{}), ""},
		{SLA(), append(nodes(2, 2, 0), Node{Tier: 3}, Node{Tier: 1}), "classes[0].replicas: 3 copies on nodes of the tier high that have cpu, of which there are 2\n" +
			"classes[2].size: a share of cpu, which no node of the tier low has"},
		{sized, make([]Node, 1), "classes[0].size: a share of cpu, which no node has"},
	} {
		got := ""
		if err := c.table.CheckNodes(c.nodes, cluster.Kind{Name: "cpu"}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v of %d nodes:\n%s\nwant\n%s", c.table.Names(), len(c.nodes), got, c.want)
		}
	}
}

func TestCheckKind(t *testing.T) {
	gpu := cluster.Kind{Name: "gpu", Devices: true}
	err := SLA().CheckKind(gpu)
	if want := "classes[0].size: the first kind, gpu, comes in devices, which have no range; remove the line\nclasses[1].size: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if err := errors.Join(SLA().CheckKind(cluster.Kind{Name: "cpu"}), Google().CheckKind(gpu)); err != nil {
		t.Error(err)
	}
}

// TestNodeNotes: "Premium minimum 22 of 32 with 3 copies on 5 nodes → one Premium
// container at a time" (specification, Ambiguities).
func TestNodeNotes(t *testing.T) {
	const premium = "classes[0].size: only one task of the class premium can run at a time: it takes more than 2/3 of the smallest node on each of 3 nodes, and the tier high has 5"
	const none = "classes[0].size: a share of cpu, which no node has at the start; a task that comes before one has keeps what it asks for"
	for _, c := range []struct {
		table *Table
		nodes []Node
		want  string
	}{
		{SLA(), nodes(5, 5, 5), premium},
		{SLA(), nodes(6, 5, 5), ""},
		{SLA(), append(nodes(5, 5, 5), Node{Tier: 3, Size: 64}), ""},
		{SLA(), append(nodes(4, 5, 5), Node{Tier: 3, Size: 64}), ""},           // a node for both
		{SLA(), nodes(3, 2, 1), strings.Replace(premium, "has 5", "has 3", 1)}, // an advanced task takes 11 of 32
		{SLA(), append(nodes(5, 5, 4), Node{Tier: 1, Size: 9}), ""},            // premium is 7 to 9
		{SLA(), append(nodes(5, 5, 5), Node{}, Node{Tier: 3}), premium},        // nodes without the kind have nothing to share
		{SLA(), make([]Node, 9), none},
		{SLA(), nil, none},
		{Google(), nodes(1, 0, 0), ""},
		{Google(), nil, ""},
	} {
		if got := strings.Join(c.table.NodeNotes(c.nodes, cluster.Kind{Name: "cpu", PerUnit: 1}), "\n"); got != c.want {
			t.Errorf("%v of %d nodes: %q, want %q", c.table.Names(), len(c.nodes), got, c.want)
		}
		milli := slices.Clone(c.nodes)
		for i := range milli {
			milli[i].Size *= 1000
		}
		if got := strings.Join(c.table.NodeNotes(milli, cluster.Kind{Name: "cpu", PerUnit: 1000}), "\n"); got != c.want {
			t.Errorf("%v of %d nodes in thousandths: %q, want %q", c.table.Names(), len(c.nodes), got, c.want)
		}
	}
}
