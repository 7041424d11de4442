// Package kubernetes says with constraints over tags what Kubernetes says with pod
// affinity, pod anti-affinity, topology spread and host ports.
//
// Objects reads manifests into a Cluster, its nodes and the workloads that run on it or are
// to be placed there; Translate gives constraints, the tags that they count, the groups that
// they are about, and the nodes that each workload may use. It is about the end state of
// placing all that waits at once: a placement violates none of the hard constraints exactly
// where there is an order of pods in which Kubernetes' own filters would have let each go
// where it is. Stepwise does so for who places one pod at a time. Notes say where that is not so.
// docs/constraints-kubernetes.md has the whole account.
package kubernetes

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
)

// Cluster is nodes, and what runs on them or is to be placed.
type Cluster struct {
	Kinds     []cluster.Kind
	Nodes     []Node
	Workloads []Workload
	// Namespaces are the labels of namespaces that selectors may ask for, by name.
	Namespaces map[string]map[string]string
	// Notes say what of the manifests is not honoured.
	Notes []string

	labelled map[label][]int // workloads by each of their labels; made when it is asked for
}

// Node is a node as Kubernetes has it.
type Node struct {
	Name     string
	Labels   map[string]string
	Taints   []manifest.Taint // that keep pods off, a cordon among them
	Capacity cluster.Vector
}

// Workload is pods that nothing distinguishes: all of them wait, or all of them run.
type Workload struct {
	// Application is what they are placed with, whole or not at all:
	// namespace/kind/name.
	Application string
	Namespace   string
	Labels      map[string]string
	Spec        *manifest.Spec
	Demand      cluster.Vector // of each pod, devices in their sum
	Pods        []Pod
	// Leaving says that they are being deleted: spread does not count them, as Kubernetes has it, and affinity does.
	Leaving bool
}

// Pod is one pod.
type Pod struct {
	Name string
	Node int32 // row of the node that it runs on; Waiting if it is to be placed
}

// Waiting is the node of a pod that has none.
const Waiting int32 = -1

// Runs reports whether the pods have nodes.
func (w *Workload) Runs() bool { return len(w.Pods) > 0 && w.Pods[0].Node != Waiting }

// Translation is a cluster's rules as constraints.
type Translation struct {
	Constraints []cluster.Constraint
	// Tags are those of each workload's pods, sorted, cluster.AppTag among them.
	Tags [][]string
	// Eligible says, of each workload that waits, which nodes Kubernetes would let it use
	// whoever else is there; nil of those that run.
	Eligible [][]bool
	// Groups are the sets that each node belongs to, for NodeSpec.Groups: topology keys
	// that constraints are about, and such families as the zones one workload may use.
	Groups [][]cluster.Label
	// Notes say where the constraints are not exactly what Kubernetes asks.
	Notes []Note
}

// Note is something in which the hard constraints differ from Kubernetes: they rule out what
// Kubernetes' filters could lead to.
type Note struct {
	Text string
	// Unreachable says that, beside that, they may allow what no order of pods leads to:
	// pods placed there satisfy every rule, but kube-scheduler would not have found the way.
	Unreachable bool
}

// weightOfPreference is what a point of a preferred term's weight, of which it has up to
// 100, is worth: at 100 as much as a soft constraint that names no weight.
const weightOfPreference = cluster.DefaultWeight / 100

// translator is a translation in the making.
type translator struct {
	*Translation
	cluster *Cluster
	subject [][]string // the tags that each workload alone has
	tagged  map[string]bool
	ordered bool // some workload has required affinity, so that the order of pods matters
	groups  []group
	byKey   map[string]string // groups of all nodes that have the key

	stepwise bool            // constraints hold after each pod
	named    map[string]bool // names of constraints that are taken
}

// Translate says with constraints what the workloads ask for.
func Translate(c *Cluster) (*Translation, error) {
	t, err := newTranslator(c)
	if err != nil {
		return nil, err
	}
	for i := range c.Workloads {
		t.separatePorts(i)
		t.separate(i)
	}
	t.gather()
	for i := range c.Workloads {
		t.prefer(i)
	}
	t.spread()
	return t.end()
}

// newTranslator names the workloads, and says which nodes they may use.
func newTranslator(c *Cluster) (*translator, error) {
	t := &translator{Translation: &Translation{}, cluster: c, tagged: map[string]bool{}, byKey: map[string]string{}}
	for i := range c.Workloads {
		if err := Check(c.Workloads[i].Spec); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Workloads[i].Application, err)
		}
	}
	t.nameWorkloads()
	for i := range c.Workloads {
		t.Eligible = append(t.Eligible, t.eligible(&c.Workloads[i]))
		t.tagPorts(i)
	}
	return t, nil
}

// end checks what was translated, and sorts it.
func (t *translator) end() (*Translation, error) {
	for i := range t.Constraints {
		if err := cluster.CheckConstraint(&t.Constraints[i]); err != nil {
			return nil, err
		}
	}
	t.finish()
	return t.Translation, nil
}

// AtMost is the constraint that no set of the group holds more than so many of an
// application's containers: so many per node, or per zone.
func AtMost(application string, most int32, group string) cluster.Constraint {
	tags := []string{cluster.AppTag(application)}
	return cluster.Constraint{
		Name: fmt.Sprintf("%s: at most %d per %s", application, most, group), Owner: application, Hard: true,
		Any: [][]cluster.Bound{{{Subject: tags, Target: tags, Max: most, Group: group, SelfCounted: true}}},
	}
}

// nameWorkloads gives workloads the tags of their labels, and those by which they are
// bound: that of the application where all of its pods are alike, else one of their own.
func (t *translator) nameWorkloads() {
	parts := map[string]int{}
	for i := range t.cluster.Workloads {
		parts[t.cluster.Workloads[i].Application]++
	}
	seen := map[string]int{}
	for i := range t.cluster.Workloads {
		w := &t.cluster.Workloads[i]
		own := cluster.AppTag(w.Application)
		tags := []string{own, tagPrefix + w.Namespace}
		for key, value := range w.Labels {
			e := manifest.Expression{Key: key, Operator: manifest.OpIn, Values: []string{value}}
			tags = append(tags, requirementTag(w.Namespace, &e))
		}
		if parts[w.Application] > 1 {
			seen[w.Application]++
			own = fmt.Sprintf("%s#%d", own, seen[w.Application])
			tags = append(tags, own)
		}
		t.Tags = append(t.Tags, tags)
		t.subject = append(t.subject, []string{own})
	}
}

// note says a thing once.
func (t *translator) note(unreachable bool, format string, of ...any) {
	note := Note{fmt.Sprintf(format, of...), unreachable}
	if !slices.Contains(t.Notes, note) {
		t.Notes = append(t.Notes, note)
	}
}

// hard adds a constraint that must hold.
func (t *translator) hard(i int, name string, alternatives [][]cluster.Bound) {
	owner := t.cluster.Workloads[i].Application
	t.Constraints = append(t.Constraints, cluster.Constraint{Name: owner + ": " + name, Owner: owner, Any: alternatives, Hard: true})
}

// soft adds a constraint that should.
func (t *translator) soft(i int, name string, alternatives [][]cluster.Bound, weight int64) {
	owner := t.cluster.Workloads[i].Application
	t.Constraints = append(t.Constraints, cluster.Constraint{Name: owner + ": " + name, Owner: owner, Any: alternatives, Weight: weight})
}

// finish sorts what was gathered.
func (t *translator) finish() {
	for i := range t.Tags {
		slices.Sort(t.Tags[i])
		t.Tags[i] = slices.Compact(t.Tags[i])
	}
	t.Groups = make([][]cluster.Label, len(t.cluster.Nodes))
	for _, g := range t.groups {
		if g.name == cluster.EachNode {
			continue
		}
		for n, set := range g.setOf {
			if set != "" {
				t.Groups[n] = append(t.Groups[n], cluster.Label{Key: g.name, Value: set})
			}
		}
	}
	for n := range t.Groups {
		slices.SortFunc(t.Groups[n], func(a, b cluster.Label) int { return cmp.Compare(a.Key, b.Key) })
	}
}
