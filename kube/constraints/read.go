package constraints

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

// This file reads the objects. Of too many the younger do not count, so that no namespace can make the work of all others large.

const (
	// mostOfNamespace is how many constraints of a namespace count, and mostInAll of all.
	mostOfNamespace = 64
	mostInAll       = 4096
	// mostGroups is how many node groups count: each makes every node longer.
	mostGroups = 64
	// mostAlternatives and mostBounds are of a constraint and of an alternative, as the schema has them.
	mostAlternatives = 8
	mostBounds       = 8
	// mostKeys is how many keys of nodes the constraints of a namespace may name: each makes every node longer.
	mostKeys = 8
)

// Objects are those of a cluster.
type Objects struct {
	Namespaced []*v1alpha1.PlacementConstraint
	Cluster    []*v1alpha1.ClusterPlacementConstraint
	Groups     []*v1alpha1.NodeGroup
	// RackLabel is the label of nodes that the group rack of a text stands for; empty if there is none.
	RackLabel string
	// Handling is called with each of them just before it is read; nil is nobody.
	Handling func(metav1.Object)
}

// Verdict is what is said of an object.
type Verdict struct {
	// Object is one of Objects.
	Object metav1.Object
	// Reason is that of the condition Accepted, with its message.
	Reason, Message string
	// Contradicts is what the condition of that name says; empty if no contradiction is known. Node groups have none.
	Contradicts string
}

// Accepted reports whether the object counts.
func (v *Verdict) Accepted() bool { return v.Reason == v1alpha1.ReasonAccepted }

// Read makes the constraints that count, and says of each object whether it does.
func Read(o *Objects) (*Set, []Verdict) {
	handling := o.Handling
	if handling == nil {
		handling = func(metav1.Object) {}
	}
	r := reader{rackLabel: o.RackLabel, groups: map[string]bool{}, ofNamespace: map[string]int{}, keys: map[string]map[string]bool{}}
	for _, g := range inOrder(o.Groups) {
		handling(g)
		r.readGroup(g)
	}
	for _, c := range inOrder(o.Cluster) {
		handling(c)
		spec := &c.Spec
		subjects, err := everywhere("subjectNamespaces", spec.SubjectNamespaces)
		targets, wrong := everywhere("targetNamespaces", spec.TargetNamespaces)
		if err = errors.Join(err, wrong); err != nil {
			r.refuse(c, err)
			continue
		}
		r.readConstraint(c, &spec.Constraint, among{subjects, targets})
	}
	for _, c := range inOrder(o.Namespaced) {
		handling(c)
		own := Pods{Namespace: c.Namespace}
		r.readConstraint(c, &c.Spec.Constraint, among{own, own})
	}
	r.contradict()
	slices.SortFunc(r.set.Constraints, func(a, b Constraint) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	slices.SortFunc(r.set.Groups, func(a, b NodeGroup) int { return cmp.Compare(a.Name, b.Name) })
	return &r.set, r.verdicts
}

// inOrder are the objects, the older first.
func inOrder[T metav1.Object](objects []T) []T {
	objects = slices.Clone(objects)
	slices.SortFunc(objects, func(a, b T) int {
		x, y := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		return cmp.Or(x.Compare(y.Time), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects
}

// reader gathers what is read.
type reader struct {
	rackLabel   string
	set         Set
	verdicts    []Verdict
	of          []int // by constraint of the set: its verdict
	groups      map[string]bool
	ofNamespace map[string]int
	keys        map[string]map[string]bool // that constraints of a namespace name
}

func (r *reader) judge(object metav1.Object, reason, message string) {
	r.verdicts = append(r.verdicts, Verdict{Object: object, Reason: reason, Message: message})
}

func (r *reader) refuse(object metav1.Object, err error) {
	r.judge(object, v1alpha1.ReasonInvalid, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// readGroup reads a node group.
func (r *reader) readGroup(object *v1alpha1.NodeGroup) {
	if len(r.set.Groups) == mostGroups {
		r.judge(object, v1alpha1.ReasonTooMany, fmt.Sprintf("There are %d older ones, and no more count; remove some.", mostGroups))
		return
	}
	g := NodeGroup{Name: object.Name}
	for i := range object.Spec.Sets {
		s := &object.Spec.Sets[i]
		by, err := metav1.LabelSelectorAsSelector(&s.Selector)
		if err != nil {
			r.refuse(object, fmt.Errorf("spec.sets[%d].selector: %w", i, err))
			return
		}
		g.Sets = append(g.Sets, NodeSet{s.Name, by})
	}
	r.groups[g.Name] = true
	r.set.Groups = append(r.set.Groups, g)
	r.judge(object, v1alpha1.ReasonAccepted, "Constraints may name it.")
}

// among are the namespaces of subjects, and of targets, as pods with any labels.
type among struct{ subjects, targets Pods }

// everywhere are the pods of the namespaces that a selector selects; of all if there is none.
func everywhere(field string, by *metav1.LabelSelector) (Pods, error) {
	if by == nil {
		return Pods{Namespaces: labels.Everything()}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(by)
	if err != nil {
		return Pods{}, fmt.Errorf("spec.%s: %w", field, err)
	}
	return Pods{Namespaces: selector}, nil
}

// readConstraint reads a constraint of pods in these namespaces.
func (r *reader) readConstraint(object metav1.Object, of *v1alpha1.Constraint, in among) {
	key := Key{object.GetNamespace(), object.GetName()}
	if most := r.most(key.Namespace); most > 0 {
		r.judge(object, v1alpha1.ReasonTooMany, fmt.Sprintf("There are %d older ones, and no more count; remove some.", most))
		return
	}
	c := Constraint{Key: key, Object: object, Hard: of.Hard, Weight: cluster.DefaultWeight}
	var err error
	if of.Text != "" {
		err = r.readText(&c, of.Text, in)
	} else {
		err = c.readFields(of, in)
	}
	if err != nil {
		r.refuse(object, err)
		return
	}
	for _, bounds := range c.Any {
		for i := range bounds {
			if name := bounds[i].Group.NodeGroup; name != "" && !r.groups[name] {
				r.judge(object, v1alpha1.ReasonNoNodeGroup, fmt.Sprintf("No NodeGroup %s is accepted; it does not count until one is.", name))
				return
			}
		}
	}
	if !r.fewKeys(&c) {
		r.judge(object, v1alpha1.ReasonTooMany, fmt.Sprintf("Older ones of this namespace name %d keys of nodes by now, and no more are read; name one of these.", mostKeys))
		return
	}
	r.ofNamespace[key.Namespace]++
	r.set.Constraints, r.of = append(r.set.Constraints, c), append(r.of, len(r.verdicts))
	message := "Pods are placed by it."
	if !c.Hard {
		message = "Pods are placed by it where that is worth more than it costs, under policies that weigh constraints, as fairlead does."
	}
	r.judge(object, v1alpha1.ReasonAccepted, message)
}

// fewKeys notes the keys of nodes that a constraint names, and reports whether its namespace does not name too many with them. Those of the cluster name as many as they like.
func (r *reader) fewKeys(c *Constraint) bool {
	of := maps.Clone(r.keys[c.Key.Namespace])
	if of == nil {
		of = map[string]bool{}
	}
	for _, bounds := range c.Any {
		for i := range bounds {
			of[bounds[i].Group.TopologyKey] = true
		}
	}
	delete(of, "")
	if c.Key.Namespace != "" && len(of) > mostKeys {
		return false
	}
	r.keys[c.Key.Namespace] = of
	return true
}

// most is how many constraints count if that is why another one of the namespace does not; 0 if it does.
func (r *reader) most(namespace string) int {
	switch {
	case len(r.set.Constraints) == mostInAll:
		return mostInAll
	case namespace != "" && r.ofNamespace[namespace] == mostOfNamespace:
		return mostOfNamespace
	}
	return 0
}

// readFields reads what is said in fields.
func (c *Constraint) readFields(of *v1alpha1.Constraint, in among) error {
	if of.Weight != nil {
		c.Weight = int64(*of.Weight) * cluster.DefaultWeight
	}
	if c.Hard {
		c.Weight = 0
	}
	if len(of.AnyOf) == 0 {
		return errors.New("spec.constraint: give text or anyOf")
	}
	for i := range of.AnyOf {
		var bounds []Bound
		for j := range of.AnyOf[i].AllOf {
			b, err := readBound(&of.AnyOf[i].AllOf[j], in)
			if err != nil {
				return fmt.Errorf("spec.constraint.anyOf[%d].allOf[%d].%w", i, j, err)
			}
			bounds = append(bounds, b)
		}
		c.Any = append(c.Any, bounds)
	}
	return nil
}

// readBound reads a bound. An error begins with the field.
func readBound(of *v1alpha1.Bound, in among) (Bound, error) {
	b := Bound{Target: in.targets, Max: cluster.Unbounded, Group: Group{of.TopologyKey, of.NodeGroup}, Counted: of.Counted}
	var err error
	if of.Subject != nil {
		subject := in.subjects
		if subject.Labels, err = metav1.LabelSelectorAsSelector(of.Subject); err != nil {
			return b, fmt.Errorf("subject: %w", err)
		}
		b.Subject = &subject
	}
	if b.Target.Labels, err = metav1.LabelSelectorAsSelector(&of.Target); err != nil {
		return b, fmt.Errorf("target: %w", err)
	}
	if of.Min != nil {
		b.Min = *of.Min
	}
	if of.Max != nil {
		b.Max = *of.Max
	}
	if of.TopologyKey != "" {
		if wrong := validation.IsQualifiedName(of.TopologyKey); len(wrong) > 0 {
			return b, fmt.Errorf("topologyKey: %q is no key of a label: %s", of.TopologyKey, strings.Join(wrong, "; "))
		}
	}
	return b, nil
}

// readText reads a text of the language of constraints.
func (r *reader) readText(c *Constraint, text string, in among) error {
	parsed, err := constraint.Parse(text)
	if wrong := (*constraint.SyntaxError)(nil); errors.As(err, &wrong) { // a condition is no place for a picture
		_, column := wrong.Position()
		return fmt.Errorf("spec.constraint.text: column %d: %s: %s", column, wrong.Problem, wrong.Hint)
	}
	if err != nil {
		return fmt.Errorf("spec.constraint.text: %w", err)
	}
	if len(parsed.Any) > mostAlternatives {
		return fmt.Errorf("spec.constraint.text: it has %d alternatives, and at most %d are read", len(parsed.Any), mostAlternatives)
	}
	c.Hard, c.Weight = parsed.Hard, parsed.Weight
	for _, of := range parsed.Any {
		if len(of) > mostBounds {
			return fmt.Errorf("spec.constraint.text: an alternative has %d bounds, and at most %d are read", len(of), mostBounds)
		}
		var bounds []Bound
		for i := range of {
			b, err := r.translate(&of[i], in)
			if err != nil {
				return fmt.Errorf("spec.constraint.text: %w", err)
			}
			bounds = append(bounds, b)
		}
		c.Any = append(c.Any, bounds)
	}
	return nil
}

// translate reads the tags of a bound as labels, and its group as sets of nodes.
func (r *reader) translate(of *cluster.Bound, in among) (Bound, error) {
	b := Bound{Target: in.targets, Min: of.Min, Max: of.Max, Counted: of.SelfCounted}
	var err error
	if len(of.Subject) > 0 {
		subject := in.subjects
		if subject.Labels, err = labelled(of.Subject); err != nil {
			return b, err
		}
		b.Subject = &subject
	}
	if b.Target.Labels, err = labelled(of.Target); err != nil {
		return b, err
	}
	b.Group, err = r.group(of.Group)
	return b, err
}

// labelled selects the pods that have all of these tags as labels: key=value, or key with any value.
func labelled(tags []string) (labels.Selector, error) {
	selector := labels.NewSelector()
	for _, tag := range tags {
		key, value, exact := strings.Cut(tag, "=")
		operator, values := selection.Exists, []string(nil)
		if exact {
			operator, values = selection.Equals, []string{value}
		}
		requirement, err := labels.NewRequirement(key, operator, values)
		if err != nil {
			return nil, fmt.Errorf("the tag %q is no label, as key=value or key: %w", tag, err)
		}
		selector = selector.Add(*requirement)
	}
	return selector, nil
}

// groupPrefix begins the name of a NodeGroup in a text.
const groupPrefix = "group:"

// group is the sets that a text calls so.
func (r *reader) group(name string) (Group, error) {
	known := map[string]string{cluster.EachNode: v1.LabelHostname, "zone": v1.LabelTopologyZone, "region": v1.LabelTopologyRegion}
	if r.rackLabel != "" {
		known["rack"] = r.rackLabel
	}
	if key, is := known[name]; is {
		return Group{TopologyKey: key}, nil
	}
	if of, is := strings.CutPrefix(name, groupPrefix); is {
		return Group{NodeGroup: of}, nil
	}
	if len(validation.IsQualifiedName(name)) == 0 && strings.Contains(name, "/") {
		return Group{TopologyKey: name}, nil
	}
	names := []string{cluster.EachNode, "region", "zone"}
	if r.rackLabel != "" {
		names = append(names, "rack")
	}
	slices.Sort(names)
	return Group{}, fmt.Errorf("%q is no group of nodes: %s; or the key of a label, with its prefix, as example.com/row, or a NodeGroup as group:NAME", name, document.Meant(name, names))
}
