package request

import (
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/document"
)

// This file reads the nodes and the groups that they are in.

// mostNodes is how many nodes, and as many containers, a file may have.
const mostNodes = 100_000

// mostGroups is how many groups a file may have: for each, every node has a set or none.
const mostGroups = 256

// template is a node as it is written, of which there may be several.
type template struct {
	name           string
	count          int64 // 0 where none is given
	capacity, used cluster.Vector
	labels, groups []cluster.Label
}

func (r *reading) readNodes(v document.Value) {
	r.List(v, "nodes", func(v document.Value) {
		t := template{}
		given := r.Fields(v, []document.Field{
			{Name: "name", Read: func(v document.Value) { t.name = r.Text(v) }},
			{Name: "count", Read: func(v document.Value) { t.count = r.Whole(v, 1, mostNodes) }},
			{Name: "capacity", Read: func(v document.Value) { t.capacity = r.vector(v, false) }},
			{Name: "used", Read: func(v document.Value) { t.used = r.vector(v, true) }},
			{Name: "labels", Read: func(v document.Value) { t.labels = r.labels(v) }},
			{Name: "groups", Read: func(v document.Value) { t.groups = r.groupsOf(v) }},
		})
		switch {
		case !given["name"]:
			r.Complain(v, "has no name")
		case !given["capacity"]:
			r.Complain(v, "has no capacity, such as {cpu: 16, memory: 64}")
		case len(r.Problem.Nodes)+int(t.count) > mostNodes:
			r.Complain(v, "makes more than %d nodes", mostNodes)
		default:
			r.addNodes(v, &t)
		}
	})
	if len(r.Problem.Nodes) == 0 && len(v.Node.Content) == 0 {
		r.Complain(v, "there are no nodes")
	}
	names := make([]string, len(r.Problem.Nodes))
	for i := range names {
		names[i] = r.Problem.Nodes[i].Name
	}
	r.Problem.Groups = []constraint.Group{constraint.GroupOf(cluster.EachNode, names)}
	for i, key := range r.keys {
		setOf := make([]string, len(names))
		copy(setOf, r.sets[i])
		r.Problem.Groups = append(r.Problem.Groups, constraint.GroupOf(key, setOf))
	}
}

// addNodes adds the nodes of a template: name if it has no count, else name1, name2 and so
// on.
func (r *reading) addNodes(v document.Value, t *template) {
	for n := range max(t.count, 1) {
		name := t.name
		if t.count > 0 {
			name += strconv.FormatInt(n+1, 10)
		}
		row := int32(len(r.Problem.Nodes))
		if _, twice := r.nodes[name]; twice {
			r.Complain(v, "there is a node %s already", name)
			return
		}
		r.nodes[name] = row
		node := constraint.Node{ID: cluster.NodeID(row), Name: name, Capacity: slices.Clone(t.capacity), Free: slices.Clone(t.capacity)}
		for k, q := range t.used {
			node.Free[k] -= q
		}
		if !r.devices(v, &node) {
			return
		}
		r.Problem.Nodes = append(r.Problem.Nodes, node)
		r.Labels = append(r.Labels, t.labels)
		for _, group := range t.groups {
			at := slices.Index(r.keys, group.Key)
			r.sets[at] = append(append(r.sets[at], make([]string, int(row)-len(r.sets[at]))...), group.Value)
		}
	}
}

// devices says what is left of each device: what is used is taken of one after the other.
func (r *reading) devices(v document.Value, node *constraint.Node) bool {
	for _, of := range cluster.DeviceKinds(r.Problem.Kinds) {
		q, count := node.Capacity[of.Kind], of.Count(node.Capacity)
		if q%of.Size != 0 || count > of.Most {
			kind := r.Problem.Kinds[of.Kind]
			r.Complain(v, "has %s %s, want whole devices, at most %d", kind.Format(q), kind.Name, of.Most)
			return false
		}
		used := q - node.Free[of.Kind]
		for range count {
			taken := min(used, of.Size)
			node.AddDevices(of, of.Size-taken)
			used -= taken
		}
	}
	return true
}

// labels reads keys with a value each, sorted by key.
func (r *reading) labels(v document.Value) []cluster.Label {
	var labels []cluster.Label
	r.Pairs(v, "key", func(key, value document.Value) {
		labels = append(labels, cluster.Label{Key: key.Node.Value, Value: r.Text(value)})
	})
	slices.SortFunc(labels, func(a, b cluster.Label) int { return strings.Compare(a.Key, b.Key) })
	return labels
}

// groupsOf reads in which set of each group a node is.
func (r *reading) groupsOf(v document.Value) []cluster.Label {
	groups := r.labels(v)
	for _, g := range groups {
		if g.Key == cluster.EachNode {
			r.Complain(v, "%s is the group in which every node is a set by itself; call this one otherwise", g.Key)
		}
	}
	groups = slices.DeleteFunc(groups, func(g cluster.Label) bool { return g.Key == cluster.EachNode })
	for _, g := range groups {
		if !slices.Contains(r.keys, g.Key) {
			if len(r.keys) == mostGroups {
				r.Complain(v, "%s is one group more than the %d that there may be; what only \"where\" asks for is a label", g.Key, mostGroups)
				return nil
			}
			r.keys = append(r.keys, g.Key)
			r.sets = append(r.sets, nil)
		}
	}
	return groups
}

// readNodeNames reads a list of names of nodes, and returns their rows.
func (r *reading) readNodeNames(v document.Value) []int32 {
	var rows []int32
	r.List(v, "nodes", func(v document.Value) {
		name := r.Text(v)
		row, known := r.nodes[name]
		if !known && name != "" {
			r.Complain(v, "there is no node %s%s", name, r.nearestNode(name))
			return
		}
		rows = append(rows, row)
	})
	return rows
}

// nearestNode is which node may have been meant, behind a semicolon; empty if none is
// near.
func (r *reading) nearestNode(name string) string {
	names := make([]string, len(r.Problem.Nodes))
	for i := range names {
		names[i] = r.Problem.Nodes[i].Name
	}
	return "; " + document.Meant(name, names)
}
