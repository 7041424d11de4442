package kubernetes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
)

// This file finds the nodes that a claim lets pods go to (volumes.go). What decides that is the same for most
// claims of a cluster, so it is looked at once for all that are alike; and nodes are found by the labels that
// volumes name, as each local volume names one node.

// place is the nodes that some claims let pods go to.
type place struct {
	first  string // of the claims
	claims int
	where  string
	rows   []int // of nodes
}

// key is the label that these nodes have. It names the claim where it is one alone: each pod is to hear of its own.
func (p *place) key() string {
	name := ""
	if p.claims == 1 {
		name = p.first + " "
	}
	return trace.Claims + name + "(" + p.where + ")"
}

// places finds the nodes of each claim.
type places struct {
	*storage
	nodes    []node
	rows     map[string]map[string][]int           // of nodes, by label and value
	kept     map[string]*manifest.PersistentVolume // for a claim
	ofClass  map[string][]*manifest.PersistentVolume
	ofClaim  map[string]*place
	alike    map[string]*place // by what decides it
	together map[string]*place // by the nodes, and the words for them
}

func newPlaces(s *storage, nodes []node) *places {
	p := &places{
		storage: s, nodes: nodes, rows: map[string]map[string][]int{}, kept: map[string]*manifest.PersistentVolume{},
		ofClass: map[string][]*manifest.PersistentVolume{}, ofClaim: map[string]*place{}, alike: map[string]*place{}, together: map[string]*place{},
	}
	for _, name := range slices.Sorted(maps.Keys(s.volumes)) {
		v := s.volumes[name]
		p.ofClass[v.Class] = append(p.ofClass[v.Class], v)
		if claim := v.For(); claim != "" {
			p.kept[claim] = v
		}
	}
	return p
}

// of is the place of a claim that is not never to be had.
func (p *places) of(name string, c *manifest.Claim) *place {
	if known := p.ofClaim[name]; known != nil {
		return known
	}
	var text string
	if c.Bound {
		text = "bound " + p.volumes[c.Volume].Where()
	} else {
		text = fmt.Sprintf("%s %q", c.Text(), c.Node)
		if v := p.kept[name]; v != nil {
			text += " " + v.Name
		}
	}
	at := p.alike[text]
	if at == nil {
		where, rows := p.find(name, c)
		at = p.intern(name, where, rows)
		p.alike[text] = at
	}
	at.claims++
	p.ofClaim[name] = at
	return at
}

// intern returns the place of these nodes, which is one for all that are said to be there in the same words.
func (p *places) intern(first, where string, rows []int) *place {
	key := where + fmt.Sprint(rows)
	at := p.together[key]
	if at == nil {
		at = &place{first: first, where: where, rows: rows}
		p.together[key] = at
	}
	return at
}

// ofSeveral is the place of several claims of one pod that are not bound: a volume is there for one of them alone, and
// the smallest claim has the first choice, of the smallest volume that will do.
func (p *places) ofSeveral(names []string) *place {
	claims := map[string]*manifest.Claim{}
	on := map[string][][]*manifest.PersistentVolume{} // of each claim, by node
	for _, name := range names {
		c := p.claims[name]
		claims[name] = c
		on[name] = make([][]*manifest.PersistentVolume, len(p.nodes))
		list := p.candidates(name, c)
		slices.SortStableFunc(list, func(a, b *manifest.PersistentVolume) int { return a.Size.Compare(b.Size) })
		for _, v := range list {
			for _, row := range p.reached(v) {
				on[name][row] = append(on[name][row], v)
			}
		}
	}
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return claims[a].Size.Compare(claims[b].Size) })
	var rows []int
	for row := range p.nodes {
		chosen := map[*manifest.PersistentVolume]bool{}
		lacks := slices.ContainsFunc(names, func(name string) bool {
			at := slices.IndexFunc(on[name][row], func(v *manifest.PersistentVolume) bool { return !chosen[v] })
			if at < 0 {
				return !p.makes(claims[name], row)
			}
			chosen[on[name][row][at]] = true
			return false
		})
		if !lacks {
			rows = append(rows, row)
		}
	}
	at := p.intern(strings.Join(names, " with "), "a volume for each of them", rows)
	at.claims++
	return at
}

// makes reports whether the class of a claim makes a volume for it on the node.
func (p *places) makes(c *manifest.Claim, row int) bool {
	class, n := p.classes[c.Class], &p.nodes[row]
	return (c.Node == "" || c.Node == n.name) && class.Makes() && class.Allowed(n.labels) && p.hasRoom(c, class, n.labels)
}

// find says in words, and by their rows, which nodes the claim lets pods go to.
func (p *places) find(name string, c *manifest.Claim) (where string, rows []int) {
	if c.Bound {
		v := p.volumes[c.Volume]
		return v.Where(), slices.DeleteFunc(p.reached(v), func(row int) bool { return !v.InZone(p.nodes[row].labels) })
	}
	class := p.classes[c.Class]
	where = p.wants(c, class)
	if c.Node != "" {
		where += ", which is being made for node " + c.Node
	}
	has := make([]bool, len(p.nodes))
	for _, v := range p.candidates(name, c) {
		for _, row := range p.reached(v) {
			has[row] = true
		}
	}
	for row := range p.nodes {
		if has[row] || p.makes(c, row) {
			rows = append(rows, row)
		}
	}
	return where, rows
}

// wants says in words what an unbound claim needs.
func (p *places) wants(c *manifest.Claim, class *manifest.StorageClass) string {
	size := cmp.Or(string(c.SizeText), "any size")
	switch {
	case !class.Makes():
		return fmt.Sprintf("an available volume of class %s and %s", c.Class, size)
	case class.Where() != "":
		return fmt.Sprintf("a volume of class %s, for %s", c.Class, class.Where())
	}
	return fmt.Sprintf("a volume of class %s with room for %s", c.Class, size)
}

// candidates are the volumes that the claim may be bound to when its pod is placed.
func (p *places) candidates(name string, c *manifest.Claim) (list []*manifest.PersistentVolume) {
	if c.Node != "" {
		return nil
	}
	if v := p.kept[name]; v != nil {
		if may, kept := v.Serves(c); may && kept {
			return []*manifest.PersistentVolume{v}
		}
	}
	for _, v := range p.ofClass[c.Class] {
		if may, _ := v.Serves(c); may {
			list = append(list, v)
		}
	}
	return list
}

// hasRoom reports whether the driver, if it says how much room there is, has room for the claim on a node with these
// labels.
func (p *places) hasRoom(c *manifest.Claim, class *manifest.StorageClass, labels map[string]string) bool {
	publishes := p.publish[class.Provisioner]
	if !p.seen["CSIDriver"] {
		publishes = slices.ContainsFunc(p.rooms, func(r manifest.Room) bool { return r.Class == c.Class })
	}
	return !c.Sized || !publishes || slices.ContainsFunc(p.rooms, func(r manifest.Room) bool { return r.Holds(c, labels) })
}

// reached are the nodes from which the volume can be reached.
func (p *places) reached(v *manifest.PersistentVolume) (rows []int) {
	if v.Terms == nil {
		for row := range p.nodes {
			rows = append(rows, row)
		}
		return rows
	}
	for i := range v.Terms {
		for _, row := range p.perhaps(&v.Terms[i]) {
			if v.Terms[i].Matches("", p.nodes[row].labels) {
				rows = append(rows, row)
			}
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// perhaps are the nodes that may meet the term: most of them name a value of a label.
func (p *places) perhaps(t *manifest.NodeTerm) (rows []int) {
	at := slices.IndexFunc(t.MatchExpressions, func(e manifest.Expression) bool { return e.Operator == manifest.OpIn })
	if at < 0 {
		for row := range p.nodes {
			rows = append(rows, row)
		}
		return rows
	}
	key := t.MatchExpressions[at].Key
	if p.rows[key] == nil {
		p.rows[key] = map[string][]int{}
		for row := range p.nodes {
			if v, there := p.nodes[row].labels[key]; there {
				p.rows[key][v] = append(p.rows[key][v], row)
			}
		}
	}
	for _, v := range t.MatchExpressions[at].Values {
		rows = append(rows, p.rows[key][v]...)
	}
	return rows
}
