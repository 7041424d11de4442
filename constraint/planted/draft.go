package planted

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file has the applications: of what parts each kind consists, and what it wishes for.

// draft is an application before it is placed.
type draft struct {
	name        string
	row         int32 // in the problem, and its place in the order of arrival
	parts       []part
	constraints []cluster.Constraint
	// spread is over how many racks its first part is planted. The other parts stand in the
	// first of them.
	spread int
	// tied are the tags of its containers that may wish to be near another application;
	// unless it roams, they stand in the first of its racks.
	tied    []string
	roams   bool
	perches bool    // they may wish for its nodes, too
	nodes   []int32 // on which its containers are planted, by container
}

// part is a number of equal containers.
type part struct {
	name         string
	count        int
	demand       cluster.Vector
	tags         []string
	shape, first int32 // rows
}

// drawApplications draws the applications that run and those to be placed.
func (d *drawing) drawApplications() ([]*draft, error) {
	var drafts []*draft
	short := d.wanted()
	for {
		if d.Applications > 0 && len(drafts) == d.Running+d.Applications {
			return drafts, nil
		}
		a := d.draft(len(drafts) + 1)
		for _, part := range a.parts {
			for range part.count {
				take(short, part.demand)
			}
		}
		switch over := slices.Min(short) < 0; {
		case over && d.Applications == 0 && len(drafts) > d.Running:
			return drafts, nil
		case over:
			return nil, fmt.Errorf("%d applications take more than %d thousandths of %d nodes: ask for fewer, or for a higher utilisation",
				max(d.Running+d.Applications, d.Running+1), d.Utilisation, d.Nodes)
		}
		drafts = append(drafts, a)
	}
}

// draft draws one application, of each kind as often as of any other.
func (d *drawing) draft(number int) *draft {
	kinds := []struct {
		name string
		draw func(*draft, *drawing)
	}{
		{"hbase", (*draft).hbase},
		{"tensorflow", (*draft).tensorflow},
		{"storm", (*draft).storm},
		{"memcached", (*draft).memcached},
		{"web", (*draft).web},
	}
	kind := kinds[d.rand.IntN(len(kinds))]
	a := &draft{name: fmt.Sprintf("%s-%d", kind.name, number)}
	kind.draw(a, d)
	return a
}

// between draws a number from least to most.
func (d *drawing) between(least, most int) int { return least + d.rand.IntN(most-least+1) }

// tagged are the tags with that of the application.
func (a *draft) tagged(tags ...string) []string {
	all := append([]string{cluster.AppTag(a.name)}, tags...)
	slices.Sort(all)
	return all
}

// add adds a part.
func (a *draft) add(name string, count int, demand cluster.Vector, tags ...string) {
	a.parts = append(a.parts, part{name: name, count: count, demand: demand, tags: a.tagged(tags...)})
}

// wish adds a constraint; each alternative is one bound.
func (a *draft) wish(what string, alternatives ...cluster.Bound) {
	c := cluster.Constraint{Name: a.name + "/" + what, Owner: a.name, Weight: cluster.DefaultWeight}
	for _, bound := range alternatives {
		c.Any = append(c.Any, []cluster.Bound{bound})
	}
	a.constraints = append(a.constraints, c)
}

// few bounds how many containers with the tag there are at most beside one of them.
func (a *draft) few(tag string, most int, group string) cluster.Bound {
	return cluster.Bound{Subject: a.tagged(tag), Target: a.tagged(tag), Max: int32(most), Group: group}
}

// near wants containers with the target's tag in the rack of each with the subject's.
func (a *draft) near(subject, target string, least int) cluster.Bound {
	return cluster.Bound{Subject: a.tagged(subject), Target: a.tagged(target), Min: int32(least), Max: cluster.Unbounded, Group: Rack}
}

// hbase has region servers, at most two on a node, in the rack of their masters, which
// stand on different nodes.
func (a *draft) hbase(d *drawing) {
	a.add("region", d.between(9, 26), cluster.Vector{2 * core, 8 * gib}, "hb", "hb_rs")
	a.add("master", d.between(1, 3), cluster.Vector{core, 4 * gib}, "hb", "hb_m")
	a.wish("two-a-node", a.few("hb_rs", 1, cluster.EachNode))
	a.wish("masters-apart", a.few("hb_m", 0, cluster.EachNode))
	a.wish("rack-of-master", a.near("hb_rs", "hb_m", 1))
	a.spread, a.tied = 1, a.tagged("hb")
}

// tensorflow has workers, at most four on a node, in the rack of a parameter server.
func (a *draft) tensorflow(d *drawing) {
	a.add("worker", d.between(8, 26), cluster.Vector{2 * core, 6 * gib}, "tf", "tf_w")
	a.add("parameter", d.between(2, 4), cluster.Vector{2 * core, 12 * gib}, "tf", "tf_ps")
	a.wish("four-a-node", a.few("tf_w", 3, cluster.EachNode))
	a.wish("parameters-apart", a.few("tf_ps", 0, cluster.EachNode))
	a.wish("rack-of-parameters", a.near("tf_w", "tf_ps", 1))
	a.spread, a.tied = 1, a.tagged("tf")
}

// storm has supervisors, from 4 to 11 in each rack that holds some, and a nimbus among
// them.
func (a *draft) storm(d *drawing) {
	supervisors := d.between(9, 29)
	a.add("supervisor", supervisors, cluster.Vector{core, 4 * gib}, "storm", "supervisor")
	a.add("nimbus", 1, cluster.Vector{core, 4 * gib}, "storm", "nimbus")
	crowd := a.near("supervisor", "supervisor", 3)
	crowd.Max = 10
	a.wish("racks-of-4-to-11", crowd)
	a.wish("nimbus-by-supervisors", a.near("nimbus", "supervisor", 3))
	a.spread, a.tied = (supervisors+8)/9, a.tagged("nimbus")
	a.perches = true
}

// memcached has servers on different nodes, in few or in many racks, and no upgrade domain
// holds many of them.
func (a *draft) memcached(d *drawing) {
	servers := d.between(10, 30)
	a.add("server", servers, cluster.Vector{core, 6 * gib}, "mem")
	a.wish("apart", a.few("mem", 0, cluster.EachNode))
	a.wish("upgrades", a.few("mem", (servers-1)/upgradeDomains, UpgradeDomain))
	together, apart := a.near("mem", "mem", servers-1), a.few("mem", 2, Rack)
	a.spread, a.tied = 1, a.tagged("mem")
	if many := (servers + 2) / 3; servers > leastRack && many <= len(d.racks) {
		together, apart = apart, together
		a.spread = many
	}
	a.wish("one-rack-or-many", together, apart)
}

// web has servers over all upgrade domains, at most two on a node.
func (a *draft) web(d *drawing) {
	servers := d.between(10, 30)
	a.add("server", servers, cluster.Vector{core, 2 * gib}, "web")
	a.wish("two-a-node", a.few("web", 1, cluster.EachNode))
	a.wish("every-upgrade", cluster.Bound{
		Target: a.tagged("web"), Min: int32(servers / upgradeDomains), Max: int32(servers/upgradeDomains + 1), Group: UpgradeDomain,
	})
	a.spread, a.tied, a.roams = min(3, len(d.racks)), a.tagged("web"), true
	a.perches = true
}
