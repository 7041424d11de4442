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
	Size int64 // how much of the first kind it may hold, which levels of size are shares of
}

// Wants reports whether the table asks anything of nodes: a tier, copies or a size.
func (t *Table) Wants() bool {
	return slices.ContainsFunc(t.Classes, func(c Class) bool { return c.Tier > 0 || c.Replicas > 1 || c.Size > 0 })
}

// CheckKind says which sizes there cannot be of the first kind, each with the path of its
// field: they are ranges, and devices are given as they were asked for.
func (t *Table) CheckKind(kind cluster.Kind) error {
	var errs []error
	for i := range t.Classes {
		if kind.Devices && t.Classes[i].Size > 0 {
			errs = append(errs, fmt.Errorf("classes[%d].size: the first kind, %s, comes in devices, which have no range; remove the line", i, kind.Name))
		}
	}
	return errors.Join(errs...)
}

// CheckNodes says which promises the nodes cannot keep, whatever runs on them, each
// with the path of its field. The kind is the first one, of which sizes are shares.
func (t *Table) CheckNodes(nodes []Node, kind cluster.Kind) error {
	var errs []error
	tiered := slices.ContainsFunc(nodes, func(n Node) bool { return n.Tier > 0 })
	for i := range t.Classes {
		c := &t.Classes[i]
		path := fmt.Sprintf("classes[%d]", i)
		admitted, are := len(admit(c, nodes)), len(able(c, nodes))
		of, where := "", "nodes of their own"
		if c.Tier > 0 {
			of = " of the tier " + TierName(c.Tier)
			where = "nodes" + of
		}
		if are < admitted {
			where += " that have " + kind.Name
		}
		switch {
		case c.Tier > 0 && admitted == 0:
			hint := ""
			if !tiered {
				hint = ", nor any other tier"
			}
			errs = append(errs, fmt.Errorf("%s.tier: no node has the tier %s%s", path, TierName(c.Tier), hint))
		case are == 0 && admitted > 0:
			errs = append(errs, fmt.Errorf("%s.size: a share of %s, which no node%s has", path, kind.Name, of))
		case int(c.Replicas) > are:
			errs = append(errs, fmt.Errorf("%s.replicas: %d copies on %s, of which there are %d", path, c.Replicas, where, are))
		}
	}
	return errors.Join(errs...)
}

// NodeNotes are sentences about promises that the nodes can keep, and hardly: of a
// class of a large size, with copies, only one task at a time may find room. The kind
// is the first one, of which sizes are shares.
func (t *Table) NodeNotes(nodes []Node, kind cluster.Kind) []string {
	// Sizes are shares of the smallest node of all (SLA classes, specification §4); a
	// node without the kind has none to share.
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return n.Size == 0 })
	sized := slices.IndexFunc(t.Classes, func(c Class) bool { return c.Size > 0 })
	switch {
	case sized < 0:
		return nil
	case len(nodes) == 0:
		return []string{fmt.Sprintf("classes[%d].size: a share of %s, which no node has at the start; a task that comes before one has keeps what it asks for", sized, kind.Name)}
	}
	smallest, per := Cores(slices.MinFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Size, b.Size) }).Size, kind.PerUnit)
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

// admit are the nodes that tasks of the class may use.
func admit(c *Class, nodes []Node) []Node {
	var list []Node
	for _, n := range nodes {
		if c.Tier == 0 || n.Tier == int32(c.Tier) {
			list = append(list, n)
		}
	}
	return list
}

// able are those of them that can hold one: all, but for a class with a size, whose tasks
// take something of the first kind and no more than the smallest node has that has any.
func able(c *Class, nodes []Node) []Node {
	return slices.DeleteFunc(admit(c, nodes), func(n Node) bool { return c.Size > 0 && n.Size == 0 })
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
