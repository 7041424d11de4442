// Package classes is who was promised what: a table of classes, and of each which namespaces may use it. It comes from the configuration, where anybody may name any class, or is read of the
// ServiceClasses of a cluster.
package classes

import (
	"fmt"
	"maps"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/kube/sizes"
)

// Label is the label of pods that names their class.
const Label = "fairlead.dev/class"

// Promises are what is promised to whom. They must not be changed once they are made.
type Promises struct {
	*class.Table
	// namespaces says of each class of the table which may use it; nil where all may use all.
	namespaces []labels.Selector
	// manners are, by place, what classes ask for that a row of the table does not say; nil where none does.
	manners []Manner
	// other is the place of the class of pods whose priority reaches none, if their namespace may use it; else it is the last one.
	other int
}

// Manner is what a ServiceClass says beside what a row of a table does.
type Manner struct {
	// Tier is the labels that a node must have for them; nil asks for none.
	Tier labels.Set
	// Sizes are by which factors their requests may grow.
	Sizes sizes.Factors
	// Credits are what is given back where the promise is broken; nil is what the table says.
	Credits []class.Credit
}

// Same reports whether both ask for the same.
func (m Manner) Same(o Manner) bool {
	return m.Sizes == o.Sizes && maps.Equal(m.Tier, o.Tier) && slices.Equal(m.Credits, o.Credits)
}

// Manner is that of the class at a place.
func (p *Promises) Manner(place int) Manner {
	if p.manners == nil {
		return Manner{}
	}
	return p.manners[place]
}

// Bill is what a replica of the class with that name has cost, and what it is given back, where it asks for so many thousandths of a core: by the prices of now, and nothing where there is no such class, or prices are for something else.
func (p *Promises) Bill(name string, a cluster.Account, millicores int64) (charge, credit class.Money) {
	at, known := p.ByName(name)
	if !known || p.Priced != "" && p.Priced != string(v1.ResourceCPU) {
		return 0, 0
	}
	c, credits := &p.Classes[at], p.Credits
	if own := p.Manner(int(at)).Credits; own != nil {
		credits = own
	}
	asks := class.Demand{Quantity: millicores, PerUnit: 1000, Work: cluster.Never}
	return c.Cost(a, asks), c.Refund(credits, a, asks)
}

// Nobodys is the class of all pods while nothing is promised to anybody.
const Nobodys = "all"

// Open are the promises of a table whose classes all namespaces may use; nil promises nothing to anybody.
func Open(table *class.Table) *Promises {
	if table == nil {
		table = &class.Table{Classes: []class.Class{{Class: cluster.Class{Name: Nobodys}}}}
	}
	return &Promises{Table: table, other: len(table.Classes) - 1}
}

// Nothing reports whether nothing is promised to anybody.
func (p *Promises) Nothing() bool {
	return len(p.Classes) == 1 && p.Classes[0].Class == cluster.Class{Name: Nobodys}
}

// Same reports whether both promise the same to the same.
func (p *Promises) Same(o *Promises) bool {
	return p.other == o.other && slices.Equal(p.Classes, o.Classes) && slices.EqualFunc(p.manners, o.manners, Manner.Same) &&
		slices.EqualFunc(p.namespaces, o.namespaces, func(a, b labels.Selector) bool { return a.String() == b.String() && a.Empty() == b.Empty() })
}

// ByNamespace reports whether labels of namespaces say which classes their pods may have.
func (p *Promises) ByNamespace() bool { return p.namespaces != nil }

// admits reports whether a namespace with these labels may use the class at that place; one of which the labels are not known, for they are nil, only what all may use.
func (p *Promises) admits(place int, namespace labels.Set) bool {
	return p.namespaces == nil || p.namespaces[place].Empty() || namespace != nil && p.namespaces[place].Matches(namespace)
}

// Pod is what decides which class a pod has.
type Pod struct {
	Name     string // that its label says
	Labelled bool
	Priority int32
	// Namespace is the labels of its namespace.
	Namespace labels.Set
}

// Of is the class of a pod, and why it is to be held: as nobody knows the class that it names, or its namespace may not use that. Its class is that of its priority then.
func (p *Promises) Of(pod Pod) (cluster.ClassID, error) {
	if !pod.Labelled || p.Nothing() {
		return p.byPriority(pod), nil
	}
	at, known := p.ByName(pod.Name)
	switch {
	case known && p.admits(int(at), pod.Namespace):
		return at, nil
	case known:
		return p.byPriority(pod), fmt.Errorf("namespaceSelector of the ServiceClass does not let this namespace use it, which may use %q", p.open(pod.Namespace))
	}
	return p.byPriority(pod), fmt.Errorf("no such class; %s", document.Meant(pod.Name, p.open(pod.Namespace)))
}

// byPriority is the class of a pod that names none: the first that its priority reaches and its namespace may use.
func (p *Promises) byPriority(pod Pod) cluster.ClassID {
	for i := range int(p.Least()) {
		if from := p.Classes[i].From; pod.Priority >= from && from != class.NoPriority && p.admits(i, pod.Namespace) {
			return cluster.ClassID(i)
		}
	}
	if p.admits(p.other, pod.Namespace) {
		return cluster.ClassID(p.other)
	}
	return p.Least()
}

// Least is the last class, which all may use.
func (p *Promises) Least() cluster.ClassID { return cluster.ClassID(len(p.Classes) - 1) }

// open are the names of the classes that a namespace may use.
func (p *Promises) open(namespace labels.Set) []string {
	var names []string
	for i := range p.Classes {
		if p.admits(i, namespace) {
			names = append(names, p.Classes[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// Alone is the table by itself, as files have it, which know no namespaces: tasks that no priority leads to a class have the default, which is last there.
func (p *Promises) Alone() *class.Table {
	t := *p.Table
	if last := len(t.Classes) - 1; p.other < last && t.Classes[p.other].From == class.NoPriority {
		t.Classes = slices.Clone(t.Classes)
		byDefault := t.Classes[p.other]
		byDefault.From = math.MinInt32
		t.Classes[last].From = class.NoPriority
		t.Classes = append(slices.Delete(t.Classes, p.other, p.other+1), byDefault)
	}
	return &t
}
