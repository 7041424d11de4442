package kubernetes

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the pods of one cluster on the nodes of another (Options.Nodes). The nodes come with what says how many
// volumes they attach and have room for, and with the pods that belong to them: those of their DaemonSets, and static ones. All
// else is of the cluster whose pods are to be placed, its claims, volumes and budgets among it. None of its pods has
// a node, and those that belong to its own nodes are left out. Which classes of storage and namespaces there are both say, the
// latter more.

// elsewhere is a source whose pods may have to go to other nodes.
type elsewhere struct{ *Source }

// read reads the files, and before them those of the other nodes, if there are such.
func (s elsewhere) read(path string) error {
	if s.options.Nodes == "" {
		return readAll(path, s.take)
	}
	if err := readAll(s.options.Nodes, s.takeAsNodes); err != nil {
		return err
	}
	if err := readAll(path, s.takeAsPods); err != nil {
		return err
	}
	return s.checkGroupsOf(path)
}

// checkGroupsOf says which constraint of our own is about groups that the other nodes are not in: those of a cluster that was
// converted are of its own nodes.
func (s elsewhere) checkGroupsOf(path string) error {
	for i := range s.constraints {
		for _, bounds := range s.constraints[i].Any {
			for _, b := range bounds {
				in := func(n node) bool {
					return slices.ContainsFunc(n.groups, func(l cluster.Label) bool { return l.Key == b.Group })
				}
				if b.Group != cluster.EachNode && !slices.ContainsFunc(s.nodes, in) {
					return &trace.Error{
						File: path, At: "constraint " + s.constraints[i].Name, Want: "a group that nodes of " + s.options.Nodes + " are in", Got: b.Group,
						Hint: "take the pods as kubectl prints them, or --redact keeps them",
					}
				}
			}
		}
	}
	return nil
}

// takeAsNodes takes in an object of the cluster that gives the nodes.
func (s elsewhere) takeAsNodes(file, place string, o *manifest.Object, err error) error {
	if err == nil {
		switch o.Kind {
		case "Node", "CSINode", "CSIStorageCapacity", "CSIDriver", "StorageClass", "Namespace", "":
		case "Pod":
			if !s.options.standingOf(o).pinned {
				return nil
			}
			o.Spec.Volumes = nil // its claims are not here, and it stays where it is
		default:
			return nil
		}
	}
	return s.take(file, place, o, err)
}

// takeAsPods takes in an object of the cluster that gives the pods.
func (s elsewhere) takeAsPods(file, place string, o *manifest.Object, err error) error {
	if err == nil {
		switch o.Kind {
		case "Node", "CSINode", "CSIStorageCapacity":
			return nil
		case "Pod":
			if s.options.standingOf(o).pinned {
				s.notes.leftOut["belong to the nodes of their own cluster"]++
				return nil
			}
			if o.Spec.NodeName != "" { // it is placed anew, whoever has placed it
				o.Spec.NodeName, o.Spec.SchedulerName, o.Spec.SchedulingGates = "", "", nil
			}
		}
	}
	return s.take(file, place, o, err)
}
