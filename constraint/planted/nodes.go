package planted

import (
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// This file draws the cluster, and the work on it that is nobody's application.

const (
	core = 1000    // of the kind cpu
	gib  = 1 << 30 // of the kind memory

	// A rack has from leastRack to mostRack nodes, but for the last one.
	leastRack, mostRack = 20, 40
	upgradeDomains      = 10
)

// drawNodes draws nodes of two sizes in racks.
func (d *drawing) drawNodes() {
	d.Problem.Kinds = []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: core}, {Name: "memory", Unit: "GiB", PerUnit: gib}}
	var names, rackOf, domainOf []string
	for rack := 1; len(names) < d.Nodes; rack++ {
		for range min(leastRack+d.rand.IntN(mostRack-leastRack+1), d.Nodes-len(names)) {
			node := len(names)
			capacity := cluster.Vector{16 * core, 64 * gib}
			if d.rand.IntN(4) == 0 {
				capacity = cluster.Vector{32 * core, 128 * gib}
			}
			names = append(names, "n"+strconv.Itoa(node+1))
			rackOf = append(rackOf, "r"+strconv.Itoa(rack))
			domainOf = append(domainOf, "u"+strconv.Itoa(node%upgradeDomains+1))
			d.left = append(d.left, slices.Clone(capacity))
			d.Problem.Nodes = append(d.Problem.Nodes, constraint.Node{
				ID: cluster.NodeID(node), Name: names[node], Capacity: capacity, Free: slices.Clone(capacity),
			})
		}
	}
	racks := constraint.GroupOf(Rack, rackOf)
	d.Problem.Groups = []constraint.Group{
		constraint.GroupOf(cluster.EachNode, names), racks, constraint.GroupOf(UpgradeDomain, domainOf),
	}
	d.racks = make([][]int32, len(racks.Sets))
	for node, set := range racks.SetOf {
		d.racks[set] = append(d.racks[set], int32(node))
	}
}

// capacity is that of all nodes.
func (d *drawing) capacity() cluster.Vector {
	sum := make(cluster.Vector, len(d.Problem.Kinds))
	for i := range d.Problem.Nodes {
		for k, q := range d.Problem.Nodes[i].Capacity {
			sum[k] += q
		}
	}
	return sum
}

// wanted is what shall be taken of the cluster in the end.
func (d *drawing) wanted() cluster.Vector {
	sum := d.capacity()
	for k := range sum {
		sum[k] = sum[k] / wholeCluster * d.Utilisation
	}
	return sum
}

// fill takes what applications leave short of the utilisation, rack by rack in random order
// and of each node a random part of what is left: some racks end nearly full, and others
// have much room. It goes round until enough is taken.
func (d *drawing) fill() {
	short := d.wanted()
	for c := range d.Problem.Containers {
		take(short, d.Problem.Shapes[d.Problem.Containers[c].Shape].Demand)
	}
	grain := cluster.Vector{core / 10, gib / 8}
	const rounds = 20 // each takes half of what is left
	for range rounds {
		for _, rack := range d.rand.Perm(len(d.racks)) {
			for _, node := range d.racks[rack] {
				share := d.rand.Int64N(wholeCluster + 1)
				for k, left := range d.left[node] {
					q := max(min(left*share/wholeCluster, short[k]), 0) / grain[k] * grain[k]
					short[k] -= q
					d.left[node][k] -= q
					d.Problem.Nodes[node].Free[k] -= q
				}
			}
		}
	}
}
