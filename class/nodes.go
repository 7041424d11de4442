package class

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file holds a table against the nodes of a cluster: what was promised that no
// node, or too few, can give.

// Node is what a promise may want of a node.
type Node struct {
	Tier int32
	Size int64 // quantity of the first kind, which levels of size are shares of
}

// Wants reports whether the table asks anything of nodes: a tier, copies or a size.
func (t *Table) Wants() bool {
	return slices.ContainsFunc(t.Classes, func(c Class) bool { return c.Tier > 0 || c.Replicas > 1 || c.Size > 0 })
}

// CheckNodes says which promises the nodes cannot keep, whatever runs on them, each
// with the path of its field.
func (t *Table) CheckNodes(nodes []Node) error {
	var errs []error
	tiered := slices.ContainsFunc(nodes, func(n Node) bool { return n.Tier > 0 })
	for i := range t.Classes {
		c := &t.Classes[i]
		path := fmt.Sprintf("classes[%d]", i)
		are := len(able(c, nodes))
		switch {
		case c.Tier > 0 && are == 0:
			hint := ""
			if !tiered {
				hint = ", nor any other tier"
			}
			errs = append(errs, fmt.Errorf("%s.tier: no node has the tier %s%s", path, TierName(c.Tier), hint))
		case int(c.Replicas) > are && c.Tier > 0:
			errs = append(errs, fmt.Errorf("%s.replicas: %d copies on nodes of the tier %s, of which there are %d", path, c.Replicas, TierName(c.Tier), are))
		case int(c.Replicas) > are:
			errs = append(errs, fmt.Errorf("%s.replicas: %d copies on nodes of their own, of which there are %d", path, c.Replicas, are))
		}
	}
	return errors.Join(errs...)
}

// NodeNotes are sentences about promises that the nodes can keep, and hardly: of a
// class of a large size, with copies, only one task at a time may find room. The first
// kind has perUnit quantities to a unit.
func (t *Table) NodeNotes(nodes []Node, perUnit int64) []string {
	if len(nodes) == 0 {
		return nil
	}
	// Sizes are shares of the smallest node of all (SLA classes, specification §4).
	smallest, per := Cores(slices.MinFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Size, b.Size) }).Size, perUnit)
	var notes []string
	for i := range t.Classes {
		c := &t.Classes[i]
		usable := able(c, nodes)
		copies := max(int(c.Replicas), 1)
		if c.Size == 0 || len(usable) < copies {
			continue
		}
		least, _ := Bounds(c.Size, smallest)
		room := 0 // for the copies of two tasks, no two of one task on a node
		for _, n := range usable {
			room += int(min(n.Size/(least*per), 2))
		}
		if room < 2*copies {
			notes = append(notes, fmt.Sprintf(
				"classes[%d].size: only one task of the class %s can run at a time: it takes more than %d/%d of the smallest node on each of %s%s",
				i, c.Name, c.Size-1, cluster.Levels, counted(copies, "node"), ofTier(c, len(usable))))
		}
	}
	return notes
}

// able are the nodes that tasks of the class may use.
func able(c *Class, nodes []Node) []Node {
	var list []Node
	for _, n := range nodes {
		if c.Tier == 0 || n.Tier == int32(c.Tier) {
			list = append(list, n)
		}
	}
	return list
}

func ofTier(c *Class, are int) string {
	if c.Tier == 0 {
		return fmt.Sprintf(", and there are %d", are)
	}
	return fmt.Sprintf(", and the tier %s has %d", TierName(c.Tier), are)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
