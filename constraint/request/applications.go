package request

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	constraintfile "fairlead.dev/fairlead/constraint/file"
	"fairlead.dev/fairlead/internal/document"
)

// This file reads applications: groups of equal containers, and where those run that run
// already.

// part is a group of equal containers as it is written.
type part struct {
	name    string
	count   int64
	demand  cluster.Vector
	tags    []string
	perNode int32
	where   []Requirement
	on      []int32 // the nodes on which they run
	movable bool
}

func (r *reading) readApplications(v document.Value) {
	known := map[string]bool{}
	r.List(v, "applications", func(v document.Value) {
		app := constraint.Application{First: int32(len(r.Problem.Containers))}
		var containers, constraints document.Value
		given := r.Fields(v, []document.Field{
			{Name: "name", Read: func(v document.Value) { app.Name = r.Text(v) }},
			{Name: "containers", Read: func(v document.Value) { containers = v }},
			{Name: "constraints", Read: func(v document.Value) { constraints = v }},
		})
		if !given["name"] || !given["containers"] {
			r.Complain(v, "wants a name and containers, such as [{name: web, count: 3, demand: {cpu: 1}}]")
			return
		}
		if known[app.Name] {
			r.Complain(v, "there is an application %s already", app.Name)
			return
		}
		known[app.Name] = true
		r.readParts(containers, &app)
		if constraints.Given() {
			r.readConstraints(constraints, app.Name)
		}
		r.Problem.Applications = append(r.Problem.Applications, app)
	})
}

// readParts reads the containers of an application, which run all or none.
func (r *reading) readParts(v document.Value, app *constraint.Application) {
	running := 0
	names := map[string]bool{}
	r.List(v, "containers", func(v document.Value) {
		p, ok := r.readPart(v)
		if !ok {
			return
		}
		if names[p.name] {
			r.Complain(v, "there are containers %s in the application already", p.name)
		}
		names[p.name] = true
		if len(r.Problem.Containers)+int(p.count) > mostNodes {
			r.Complain(v, "makes more than %d containers", mostNodes)
			return
		}
		running += len(p.on)
		r.addPart(v, &p, app.Name)
	})
	app.End = int32(len(r.Problem.Containers))
	app.Deployed = running > 0
	switch all := int(app.End - app.First); {
	case all == 0 && len(v.Node.Content) == 0:
		r.Complain(v, "application %s has no containers", app.Name)
	case running > 0 && running < all:
		r.Complain(v, "%d of %d containers of application %s run; say with \"runs_on:\" where each runs, and write what comes to them as an application of its own", running, all, app.Name)
	}
}

// readPart reads a group of equal containers.
func (r *reading) readPart(v document.Value) (part, bool) {
	p := part{}
	given := r.Fields(v, []document.Field{
		{Name: "name", Read: func(v document.Value) { p.name = r.Text(v) }},
		{Name: "count", Read: func(v document.Value) { p.count = r.Whole(v, 1, mostNodes) }},
		{Name: "demand", Read: func(v document.Value) { p.demand = r.vector(v, true) }},
		{Name: "tags", Read: func(v document.Value) { p.tags = r.tags(v) }},
		{Name: "per_node", Read: func(v document.Value) { p.perNode = int32(r.Whole(v, 1, mostNodes)) }},
		{Name: "where", Read: func(v document.Value) { p.where = r.requirements(v) }},
		{Name: "runs_on", Read: func(v document.Value) { p.on = r.readNodeNames(v) }},
		{Name: "movable", Read: func(v document.Value) { p.movable = r.Bool(v) }},
	})
	if !given["name"] || !given["demand"] {
		r.Complain(v, "wants a name and a demand, such as {cpu: 1, memory: 2}")
		return p, false
	}
	if !given["count"] {
		p.count = int64(max(1, len(p.on)))
	}
	switch {
	case given["runs_on"] && len(p.on) != int(p.count):
		r.Complain(v, "\"runs_on\" names %d nodes, and there are %d containers: want a node for each", len(p.on), p.count)
		return p, false
	case given["movable"] && !given["runs_on"]:
		r.Complain(v, "\"movable\" is of use only for containers that run: say with \"runs_on:\" where, or remove it")
	}
	return p, true
}

// addPart makes a shape of equal containers, and the containers.
func (r *reading) addPart(v document.Value, p *part, application string) {
	shape := constraint.Shape{
		Application: int32(len(r.Problem.Applications)),
		Demand:      p.demand,
		Tags:        sorted(append(p.tags, cluster.AppTag(application))),
		Eligible:    r.eligible(v, p.where),
		PerNode:     p.perNode,
	}
	devices := cluster.DeviceKinds(r.Problem.Kinds)
	for _, of := range devices {
		if q := p.demand[of.Kind]; q > of.Size && q%of.Size != 0 {
			kind := r.Problem.Kinds[of.Kind]
			r.Complain(v, "asks for %s %s, want a share of one or whole devices", kind.Format(q), kind.Name)
		}
	}
	shape.Needs = cluster.NeedsOf(devices, p.demand)
	row := int32(len(r.Problem.Shapes))
	r.Problem.Shapes = append(r.Problem.Shapes, shape)
	r.Parts = append(r.Parts, p.name)
	r.Where = append(r.Where, p.where)
	for n := range p.count {
		c := constraint.Container{Task: cluster.TaskID(len(r.Problem.Containers)), Shape: row, At: constraint.Nowhere}
		if len(p.on) > 0 {
			c.At, c.Fixed = p.on[n], !p.movable
			if !settle(&r.Problem.Nodes[c.At], &shape, &c) {
				r.Complain(v, "runs on node %s, whose devices cannot hold it beside the others", r.Problem.Nodes[c.At].Name)
			}
		}
		r.Problem.Containers = append(r.Problem.Containers, c)
	}
}

// settle takes the container's room on its node, and picks its devices: those that have
// the least left of those that suffice. It returns false if they do not suffice.
func settle(node *constraint.Node, shape *constraint.Shape, c *constraint.Container) bool {
	for k, q := range shape.Demand {
		node.Free[k] -= q
	}
	set, enough := shape.Needs.Pick(node.Devices)
	shape.Needs.Give(node.Devices, set, -1)
	c.Devices = set
	return enough
}

// eligible says which nodes meet the requirements; nil is all.
func (r *reading) eligible(v document.Value, where []Requirement) []bool {
	if len(where) == 0 {
		return nil
	}
	eligible := make([]bool, len(r.Problem.Nodes))
	known := append([]string{cluster.EachNode}, r.keys...)
	for n := range eligible {
		for _, label := range r.Labels[n] {
			if !slices.Contains(known, label.Key) {
				known = append(known, label.Key)
			}
		}
	}
	for _, q := range where {
		if !slices.Contains(known, q.Key) {
			r.Complain(v, "no node has a label %s; %s", q.Key, document.Meant(q.Key, known))
		}
	}
	for n := range eligible {
		eligible[n] = !slices.ContainsFunc(where, func(q Requirement) bool { return !slices.Contains(q.Values, r.label(n, q.Key)) })
	}
	return eligible
}

// label is the node's label, or the set of the group of that name; empty if it has
// neither.
func (r *Request) label(node int, key string) string {
	for _, label := range r.Labels[node] {
		if label.Key == key {
			return label.Value
		}
	}
	for i := range r.Problem.Groups {
		if g := &r.Problem.Groups[i]; g.Name == key && g.SetOf[node] != constraint.Nowhere {
			return g.Sets[g.SetOf[node]]
		}
	}
	return ""
}

// requirements reads labels with a value or a list of values each.
func (r *reading) requirements(v document.Value) []Requirement {
	var where []Requirement
	r.Pairs(v, "key", func(key, value document.Value) {
		q := Requirement{Key: key.Node.Value}
		if value.Node.Kind == yaml.SequenceNode {
			q.Values = r.texts(value, "values")
		} else {
			q.Values = []string{r.Text(value)}
		}
		where = append(where, q)
	})
	return where
}

// tags reads the tags of containers.
func (r *reading) tags(v document.Value) []string {
	return r.texts(v, "tags")
}

func (r *reading) texts(v document.Value, what string) []string {
	var texts []string
	r.List(v, what, func(v document.Value) { texts = append(texts, r.Text(v)) })
	return texts
}

// sorted are the texts in order, each once.
func sorted(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// readConstraints reads the constraints of an application, or of the operator.
func (r *reading) readConstraints(v document.Value, owner string) {
	read := constraintfile.Read(r.Reader, v, constraintfile.Defaults{Owner: owner})
	r.Problem.Constraints = append(r.Problem.Constraints, read.Constraints...)
	for i := range read.Constraints {
		r.written = append(r.written, position{read.Lines[i], read.Columns[i]})
	}
}
