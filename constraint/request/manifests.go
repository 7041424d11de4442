package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/kubernetes"
	"fairlead.dev/fairlead/internal/document"
)

// This file makes a request of Kubernetes' manifests: nodes and pods as kubectl prints them,
// and controllers whose pods are to be placed.

// File is a text with its name.
type File struct {
	Name string
	Text []byte
}

// ReadAll reads a request from one file, or from several with manifests. The notes say what of
// the manifests is not honoured, or not exactly.
func ReadAll(files []File) (r *Request, notes []string, err error) {
	manifests := slices.ContainsFunc(files, func(f File) bool { return isManifest(f.Text) })
	switch {
	case manifests:
		return readManifests(files)
	case len(files) > 1:
		return nil, nil, fmt.Errorf("%s and %d more files: want one, or several with Kubernetes' manifests", files[0].Name, len(files)-1)
	}
	r, err = Read(files[0].Name, files[0].Text)
	return r, nil, err
}

// isManifest reports whether the text begins with an object of Kubernetes.
func isManifest(text []byte) bool {
	var head map[string]yaml.Node
	err := document.StreamOf(text).Next(&head)
	_, versioned := head["apiVersion"]
	_, nodes := head["nodes"]
	return err == nil && versioned && !nodes
}

func readManifests(files []File) (*Request, []string, error) {
	var objects kubernetes.Objects
	for _, f := range files {
		err := document.StreamOf(f.Text).Each(func(number int, said any) error {
			text, err := json.Marshal(said)
			if err == nil {
				err = objects.Add(text)
			}
			if err != nil {
				return fmt.Errorf("%s: document %d: %w", f.Name, number, err)
			}
			return nil
		}, func(err error) error { return fmt.Errorf("%s: neither YAML nor JSON: %w", f.Name, err) })
		if err != nil {
			return nil, nil, err
		}
	}
	c, err := objects.Cluster()
	if err != nil {
		return nil, nil, err
	}
	if len(c.Nodes) == 0 {
		return nil, nil, errors.New("there are no nodes; give what 'kubectl get nodes -o yaml' prints beside the workloads")
	}
	t, err := kubernetes.Translate(c)
	if err != nil {
		return nil, nil, err
	}
	notes := c.Notes
	for _, note := range t.Notes {
		notes = append(notes, note.Text)
	}
	r, err := translated(c, t)
	return r, notes, err
}

// translated is the request of a cluster whose rules were translated.
func translated(c *kubernetes.Cluster, t *kubernetes.Translation) (*Request, error) {
	p := constraint.Problem{Kinds: c.Kinds, Constraints: t.Constraints, Objective: constraint.Standard()}
	r := &Request{Problem: p}
	for n := range c.Nodes {
		r.addKubernetesNode(&c.Nodes[n])
	}
	r.Problem.Groups = groupsOf(c, t)
	var names []string
	workloads := map[string][]int{}
	for i := range c.Workloads {
		name := c.Workloads[i].Application
		if workloads[name] == nil {
			names = append(names, name)
		}
		workloads[name] = append(workloads[name], i)
	}
	for _, name := range names {
		for _, runs := range [2]bool{true, false} {
			if err := r.addPods(c, t, workloads[name], runs); err != nil {
				return nil, err
			}
		}
	}
	r.index()
	return r, nil
}

// addPods makes an application of those workloads of one that run, or of those that wait: what
// waits beside pods that run is placed whole or not at all, as any other application is, and
// counts as not placed if it is not.
func (r *Request) addPods(c *kubernetes.Cluster, t *kubernetes.Translation, workloads []int, runs bool) error {
	p := &r.Problem
	app := constraint.Application{First: int32(len(p.Containers)), Deployed: runs}
	for _, i := range workloads {
		w := &c.Workloads[i]
		if w.Runs() != runs {
			continue
		}
		app.Name = w.Application
		shape := constraint.Shape{Application: int32(len(p.Applications)), Demand: w.Demand, Tags: t.Tags[i], Eligible: t.Eligible[i]}
		if err := r.addWorkload(w, shape); err != nil {
			return err
		}
	}
	if app.End = int32(len(p.Containers)); app.End > app.First {
		p.Applications = append(p.Applications, app)
	}
	return nil
}

func (r *Request) addKubernetesNode(node *kubernetes.Node) {
	p := &r.Problem
	n := constraint.Node{ID: cluster.NodeID(len(p.Nodes)), Name: node.Name, Capacity: node.Capacity, Free: slices.Clone(node.Capacity)}
	n.WholeDevices(p.Kinds)
	p.Nodes = append(p.Nodes, n)
	var labels []cluster.Label
	for _, key := range slices.Sorted(maps.Keys(node.Labels)) {
		labels = append(labels, cluster.Label{Key: key, Value: node.Labels[key]})
	}
	r.Labels = append(r.Labels, labels)
}

// addWorkload adds the pods of a workload, those that run on their nodes, where they stay.
func (r *Request) addWorkload(w *kubernetes.Workload, shape constraint.Shape) error {
	p := &r.Problem
	shape.Needs = cluster.NeedsOf(cluster.DeviceKinds(p.Kinds), w.Demand)
	row := int32(len(p.Shapes))
	p.Shapes = append(p.Shapes, shape)
	r.Parts = append(r.Parts, path.Base(w.Application))
	r.Where = append(r.Where, nil)
	for _, pod := range w.Pods {
		container := constraint.Container{Task: cluster.TaskID(len(p.Containers)), Shape: row, At: pod.Node}
		if pod.Node != kubernetes.Waiting {
			container.Fixed = true
			if !settle(&p.Nodes[pod.Node], &shape, &container) {
				return fmt.Errorf("pod %s runs on node %s, whose devices cannot hold it beside the others", pod.Name, p.Nodes[pod.Node].Name)
			}
		}
		p.Containers = append(p.Containers, container)
		r.names = append(r.names, pod.Name)
	}
	return nil
}

// groupsOf are the groups of the translation.
func groupsOf(c *kubernetes.Cluster, t *kubernetes.Translation) []constraint.Group {
	names := make([]string, len(c.Nodes))
	sets := map[string][]string{}
	for n := range c.Nodes {
		names[n] = c.Nodes[n].Name
		for _, group := range t.Groups[n] {
			if sets[group.Key] == nil {
				sets[group.Key] = make([]string, len(c.Nodes))
			}
			sets[group.Key][n] = group.Value
		}
	}
	groups := []constraint.Group{constraint.GroupOf(cluster.EachNode, names)}
	for _, key := range slices.Sorted(maps.Keys(sets)) {
		groups = append(groups, constraint.GroupOf(key, sets[key]))
	}
	return groups
}
