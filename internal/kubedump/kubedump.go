// Package kubedump makes Kubernetes clusters by chance, as kubectl prints them: pools of nodes in
// three zones with taints, labels, cordons and devices; DaemonSets, static pods, Deployments,
// StatefulSets with volumes, and Jobs, whose pods run where they may; budgets, priorities,
// preferences. Beside them come pods that wait for causes that are known: see pending.go. It is for
// tests and measurements, which need dumps as large as clusters are, and without anybody's data.
package kubedump

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
)

// Of how many nodes a cluster may be, so that it has some of every kind and no name is longer than the others, and how
// many pods may be asked for on each.
const (
	LeastNodes      = 20
	MostNodes       = 10_000
	MostPodsPerNode = 100
)

// Options say what to make.
type Options struct {
	Nodes int // from LeastNodes to MostNodes
	// PodsPerNode is how many pods of Deployments, StatefulSets and Jobs there are for each node, from 1 to MostPodsPerNode.
	// There are fewer where they do not fit.
	PodsPerNode int
	Seed        uint64
	// Volumes gives StatefulSets claims, with the objects behind them.
	Volumes bool
}

// fields is an object, or a part of one.
type fields = map[string]any

// maker makes a cluster.
type maker struct {
	Options

	random *rand.Rand
	nodes  []*node
	items  []fields
	ticks  int // pods so far, by which they are created one after the other
}

// Write writes the cluster as a List.
func Write(to io.Writer, o Options) error {
	m := &maker{Options: o, random: rand.New(rand.NewPCG(o.Seed, 0))} //nolint:gosec // chance, not secrets
	m.makeNodes()
	m.makeDaemons()
	m.makeOwners()
	m.makePending()
	out := bufio.NewWriterSize(to, 1<<16)
	if _, err := out.WriteString("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n"); err != nil {
		return err
	}
	for i, item := range m.all() {
		text, err := json.Marshal(item)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte(",\n"), text...)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	if _, err := out.WriteString("\n]}\n"); err != nil {
		return err
	}
	return out.Flush()
}

// all is every object, nodes first.
func (m *maker) all() []fields {
	var all []fields
	for _, n := range m.nodes {
		all = append(all, n.object())
	}
	return append(all, m.items...)
}

// object makes one of a kind, which has no namespace where that is empty.
func object(version, kind, namespace, name string, rest fields) fields {
	metadata := fields{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	o := fields{"apiVersion": version, "kind": kind, "metadata": metadata}
	maps.Copy(o, rest)
	return o
}

// between draws a number.
func (m *maker) between(least, most int) int { return least + m.random.IntN(most-least+1) }
