// Package request reads and writes the file of fairlead place: a cluster, the applications that
// are to be placed on it or run there, and what is asked of the placement. It makes a
// constraint.Problem of it.
package request

import (
	"fmt"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/document"
)

// Request is a problem with the names that its file gives.
type Request struct {
	Problem constraint.Problem
	// Parts are what the containers of each shape are called in their application, by
	// shape: web, of which the containers are web-0, web-1 and so on.
	Parts []string
	// Where are the labels that the nodes of each shape must have, by shape.
	Where [][]Requirement
	// Labels are those of each node, by node, sorted by key.
	Labels [][]cluster.Label
	// Planted is a placement that the file knows of; nil if it knows none. Solvers do not
	// see it.
	Planted constraint.Assignment
	first   []int32    // container of each shape
	names   []string   // of containers that have names of their own, by container; else nil
	source  string     // what errors call the file
	written []position // where each constraint is written; nil for what no file wrote, or manifests
}

// position is a place of the file, from 1.
type position struct{ line, column int }

// Requirement says that the label, or the group, of that key has one of the values.
type Requirement struct {
	Key    string
	Values []string
}

// Container is what the container is called in its application.
func (r *Request) Container(container int32) string {
	if r.names != nil {
		return r.names[container]
	}
	shape := r.Problem.Containers[container].Shape
	return r.Parts[shape] + "-" + strconv.Itoa(int(container-r.first[shape]))
}

// Count is how many containers the shape has.
func (r *Request) Count(shape int) int {
	app := &r.Problem.Applications[r.Problem.Shapes[shape].Application]
	n := 0
	for _, c := range r.Problem.Containers[app.First:app.End] {
		if c.Shape == int32(shape) {
			n++
		}
	}
	return n
}

// index finds the first container of each shape, whose containers stand together.
func (r *Request) index() {
	r.first = make([]int32, len(r.Problem.Shapes))
	for c, container := range slices.Backward(r.Problem.Containers) {
		r.first[container.Shape] = int32(c)
	}
}

// reading is a file that is being read.
type reading struct {
	*document.Reader
	Request
	nodes    map[string]int32 // rows by name
	keys     []string         // of groups, in the order of the file
	sets     [][]string       // by key, the set of each node; shorter where the last nodes have none
	ownKinds bool             // the file lists kinds
	mentions []bool           // by kind: somebody has it or asks for it
}

// Read reads a file; errors call it name.
func Read(name string, text []byte) (*Request, error) {
	reader, top, err := document.Open(name, text)
	if err != nil {
		return nil, fmt.Errorf("%w; see docs/place.md", err)
	}
	r := &reading{Reader: reader, nodes: map[string]int32{}}
	r.source = name
	r.Problem.Kinds = usualKinds()
	r.Problem.Objective = constraint.Standard()
	r.read(top)
	if err := reader.Err(); err != nil {
		return nil, err
	}
	r.dropKinds()
	r.index()
	if err := r.checkScore(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &r.Request, nil
}

// read reads the fields in an order in which each finds what it speaks of, whatever their
// order in the file.
func (r *reading) read(top document.Value) {
	var kinds, nodes, applications, constraints, objective, planted document.Value
	into := func(v *document.Value) func(document.Value) { return func(read document.Value) { *v = read } }
	r.Fields(top, []document.Field{
		{Name: "nodes", Read: into(&nodes)},
		{Name: "applications", Read: into(&applications)},
		{Name: "constraints", Read: into(&constraints)},
		{Name: "objective", Read: into(&objective)},
		{Name: "kinds", Read: into(&kinds)},
		{Name: "planted", Read: into(&planted)},
	})
	if kinds.Given() {
		r.readKinds(kinds)
	}
	r.mentions = make([]bool, len(r.Problem.Kinds))
	if !nodes.Given() {
		r.Complain(top, "there are no nodes; list them under \"nodes:\"")
		return
	}
	r.readNodes(nodes)
	if r.Failed() {
		return // what follows would seem wrong only because of that
	}
	if applications.Given() {
		r.readApplications(applications)
	}
	if constraints.Given() {
		r.readConstraints(constraints, "")
	}
	if objective.Given() {
		r.readObjective(objective)
	}
	if planted.Given() {
		r.readPlanted(planted)
	}
}

// dropKinds leaves out the usual kinds that nobody has or asks for.
func (r *reading) dropKinds() {
	p := &r.Problem
	for k, kind := range slices.Backward(slices.Clone(p.Kinds)) {
		if r.mentions[k] || kind.Name != gpu {
			continue
		}
		p.Kinds = slices.Delete(p.Kinds, k, k+1)
		drop := func(v *cluster.Vector) {
			if *v != nil {
				*v = slices.Delete(*v, k, k+1)
			}
		}
		for n := range p.Nodes {
			drop(&p.Nodes[n].Capacity)
			drop(&p.Nodes[n].Free)
		}
		for c := range p.Shapes {
			drop(&p.Shapes[c].Demand)
		}
		drop(&p.Objective.Least)
	}
}

// readPlanted reads a placement: by application and part, the nodes of the containers.
func (r *reading) readPlanted(v document.Value) {
	r.index()
	r.Planted = r.Problem.Start()
	r.Pairs(v, "application", func(key, parts document.Value) {
		row := slices.IndexFunc(r.Problem.Applications, func(a constraint.Application) bool { return a.Name == key.Node.Value })
		if row < 0 {
			r.Complain(key, "there is no such application")
			return
		}
		r.Pairs(parts, "part", func(key, nodes document.Value) {
			at := slices.IndexFunc(r.Problem.Shapes, func(c constraint.Shape) bool { return c.Application == int32(row) })
			for at >= 0 && at < len(r.Parts) && r.Problem.Shapes[at].Application == int32(row) && r.Parts[at] != key.Node.Value {
				at++
			}
			if at < 0 || at == len(r.Parts) || r.Problem.Shapes[at].Application != int32(row) {
				r.Complain(key, "the application has no such containers")
				return
			}
			on := r.readNodeNames(nodes)
			if len(on) != r.Count(at) {
				r.Complain(nodes, "names %d nodes, want one for each container", len(on))
				return
			}
			copy(r.Planted[r.first[at]:], on)
		})
	})
}
