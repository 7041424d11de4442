package request

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// This file writes a request so that Read makes the same of it.

// file is the file as it is written, field by field.
type file struct {
	Kinds        []fileKind                              `json:"kinds,omitempty" yaml:"kinds,omitempty"`
	Nodes        []fileNode                              `json:"nodes" yaml:"nodes"`
	Applications []fileApplication                       `json:"applications,omitempty" yaml:"applications,omitempty"`
	Constraints  []any                                   `json:"constraints,omitempty" yaml:"constraints,omitempty"`
	Objective    map[string]any                          `json:"objective" yaml:"objective,flow"`
	Planted      map[string]map[string]oneLine[[]string] `json:"planted,omitempty" yaml:"planted,omitempty"`
}

type fileKind struct {
	Name    string `json:"name" yaml:"name"`
	Unit    string `json:"unit,omitempty" yaml:"unit,omitempty"`
	PerUnit int64  `json:"per_unit" yaml:"per_unit"`
	Devices bool   `json:"devices,omitempty" yaml:"devices,omitempty"`
}

type fileNode = oneLine[nodeFields]

type nodeFields struct {
	Name     string            `json:"name" yaml:"name"`
	Capacity map[string]Number `json:"capacity" yaml:"capacity"`
	Used     map[string]Number `json:"used,omitempty" yaml:"used,omitempty"`
	Labels   map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
	Groups   map[string]string `json:"groups,omitempty" yaml:"groups,omitempty"`
}

type fileApplication struct {
	Name        string     `json:"name" yaml:"name"`
	Containers  []filePart `json:"containers" yaml:"containers"`
	Constraints []any      `json:"constraints,omitempty" yaml:"constraints,omitempty"`
}

type filePart = oneLine[partFields]

type partFields struct {
	Name    string              `json:"name" yaml:"name"`
	Count   int                 `json:"count" yaml:"count"`
	Demand  map[string]Number   `json:"demand" yaml:"demand"`
	Tags    []string            `json:"tags,omitempty" yaml:"tags,omitempty"`
	PerNode int32               `json:"per_node,omitempty" yaml:"per_node,omitempty"`
	Where   map[string][]string `json:"where,omitempty" yaml:"where,omitempty"`
	On      []string            `json:"runs_on,omitempty" yaml:"runs_on,omitempty"`
	Movable bool                `json:"movable,omitempty" yaml:"movable,omitempty"`
}

type named struct {
	Name string `json:"name" yaml:"name"`
	Text string `json:"text" yaml:"text"`
}

// oneLine is a value that stands on one line in YAML.
type oneLine[T any] struct{ is T }

// MarshalJSON writes the value as JSON writes it.
func (o oneLine[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.is) }

// MarshalYAML writes the value in YAML's flow style.
func (o oneLine[T]) MarshalYAML() (any, error) {
	var node yaml.Node
	err := node.Encode(o.is)
	node.Style = yaml.FlowStyle
	return &node, err
}

// Number is a number that is written digit by digit.
type Number string

// MarshalJSON writes the digits.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// MarshalYAML writes the digits, without quotes.
func (n Number) MarshalYAML() (any, error) {
	tag := "!!int"
	if strings.Contains(string(n), ".") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: string(n)}, nil
}

// YAML is the request as a file in YAML, with a line to begin with.
func (r *Request) YAML() ([]byte, error) {
	text, err := yaml.Marshal(r.file())
	return append([]byte("# For 'fairlead place FILE'; docs/place.md says what the fields mean.\n"), text...), err
}

// JSON is the request as a file in JSON.
func (r *Request) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r.file(), "", " ")
	return append(text, '\n'), err
}

// New makes a request of a problem whose shapes are called so.
func New(p constraint.Problem, parts []string) *Request {
	r := &Request{
		Problem: p, Parts: parts,
		Where: make([][]Requirement, len(p.Shapes)), Labels: make([][]cluster.Label, len(p.Nodes)),
	}
	r.index()
	return r
}

func (r *Request) file() *file {
	p := &r.Problem
	f := &file{Objective: map[string]any{}}
	if usual := usualKinds(); !slices.Equal(p.Kinds, usual) && !slices.Equal(p.Kinds, usual[:len(usual)-1]) {
		for _, k := range p.Kinds {
			f.Kinds = append(f.Kinds, fileKind(k))
		}
	}
	f.Nodes = r.fileNodes()
	own := map[string][]any{}
	for i := range p.Constraints {
		c := &p.Constraints[i]
		own[c.Owner] = append(own[c.Owner], written(c))
	}
	f.Constraints = own[""]
	for i := range p.Applications {
		app := fileApplication{Name: p.Applications[i].Name, Constraints: own[p.Applications[i].Name]}
		for shape := range p.Shapes {
			if p.Shapes[shape].Application == int32(i) {
				app.Containers = append(app.Containers, r.filePart(shape, app.Name))
			}
		}
		f.Applications = append(f.Applications, app)
	}
	for _, w := range weights(&p.Objective) {
		f.Objective[w.name] = Thousandths(*w.is)
	}
	if p.Objective.Least != nil {
		f.Objective["least"] = r.amounts(p.Objective.Least, true)
	}
	if r.Planted != nil {
		f.Planted = r.filePlanted()
	}
	return f
}

// written is a constraint as a text, with its name if that is another one.
func written(c *cluster.Constraint) any {
	text := constraint.Format(c)
	if c.Name == text {
		return text
	}
	return oneLine[named]{named{c.Name, text}}
}

func (r *Request) fileNodes() []fileNode {
	p := &r.Problem
	used := make([]cluster.Vector, len(p.Nodes))
	for n := range p.Nodes {
		used[n] = slices.Clone(p.Nodes[n].Capacity)
		for k, q := range p.Nodes[n].Free {
			used[n][k] -= q
		}
	}
	for _, c := range p.Containers {
		if c.At != constraint.Nowhere {
			for k, q := range p.Shapes[c.Shape].Demand {
				used[c.At][k] -= q
			}
		}
	}
	nodes := make([]fileNode, len(p.Nodes))
	for n := range p.Nodes {
		fields := nodeFields{Name: p.Nodes[n].Name, Capacity: r.amounts(p.Nodes[n].Capacity, false), Used: r.amounts(used[n], true)}
		if len(r.Labels[n]) > 0 {
			fields.Labels = map[string]string{}
			for _, label := range r.Labels[n] {
				fields.Labels[label.Key] = label.Value
			}
		}
		for i := range p.Groups[1:] {
			if g := &p.Groups[1+i]; g.SetOf[n] != constraint.Nowhere {
				if fields.Groups == nil {
					fields.Groups = map[string]string{}
				}
				fields.Groups[g.Name] = g.Sets[g.SetOf[n]]
			}
		}
		nodes[n].is = fields
	}
	return nodes
}

func (r *Request) filePart(shape int, application string) filePart {
	p := &r.Problem
	c := &p.Shapes[shape]
	fields := partFields{Name: r.Parts[shape], Demand: r.amounts(c.Demand, true), PerNode: c.PerNode}
	fields.Tags = slices.DeleteFunc(slices.Clone(c.Tags), func(tag string) bool { return tag == cluster.AppTag(application) })
	for _, q := range r.Where[shape] {
		if fields.Where == nil {
			fields.Where = map[string][]string{}
		}
		fields.Where[q.Key] = q.Values
	}
	for i := int(r.first[shape]); i < len(p.Containers) && p.Containers[i].Shape == int32(shape); i++ {
		fields.Count++
		if at := p.Containers[i].At; at != constraint.Nowhere {
			fields.On = append(fields.On, p.Nodes[at].Name)
			fields.Movable = !p.Containers[i].Fixed
		}
	}
	return filePart{fields}
}

func (r *Request) filePlanted() map[string]map[string]oneLine[[]string] {
	p := &r.Problem
	planted := map[string]map[string]oneLine[[]string]{}
	for c, container := range p.Containers {
		if r.Planted[c] == constraint.Nowhere {
			continue
		}
		app := p.Applications[p.Shapes[container.Shape].Application].Name
		if planted[app] == nil {
			planted[app] = map[string]oneLine[[]string]{}
		}
		name := r.Parts[container.Shape]
		planted[app][name] = oneLine[[]string]{append(planted[app][name].is, p.Nodes[r.Planted[c]].Name)}
	}
	return planted
}

// amounts are the quantities that are not 0, by kind; those of demand are read rounded
// up, others down.
func (r *Request) amounts(v cluster.Vector, demand bool) map[string]Number {
	amounts := map[string]Number{}
	for k, q := range v {
		if q != 0 {
			amounts[r.Problem.Kinds[k].Name] = quotient(q, r.Problem.Kinds[k].PerUnit, demand)
		}
	}
	return amounts
}

// mostDigits is how many digits there are at most behind the point, where a quotient has no
// end.
const mostDigits = 30

// Thousandths writes so many thousandths, exactly.
func Thousandths(n int64) Number { return quotient(n, 1000, false) }

// quotient writes a/b: exactly if that has an end, else so that reading it in parts of b,
// rounded up or down, gives a again.
func quotient(a, b int64, up bool) Number {
	r := big.NewRat(a, b)
	digits, exact := r.FloatPrec()
	if exact {
		return Number(r.FloatString(digits))
	}
	text := r.FloatString(mostDigits)
	read, _ := new(big.Rat).SetString(text)
	last := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(mostDigits), nil))
	switch order := read.Cmp(r); {
	case up && order > 0:
		read.Sub(read, last)
	case !up && order < 0:
		read.Add(read, last)
	}
	return Number(read.FloatString(mostDigits))
}
