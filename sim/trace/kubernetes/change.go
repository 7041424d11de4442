package kubernetes

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/sim/trace"
)

// This file makes of the cluster in the files the one that it would be: with nodes more or fewer, others drained,
// workloads of another size or new ones. It does to nodes and pods what their controllers would: the pods of a
// node that is drained wait, but for those that belong to it; a node that is added brings its own; a workload grows
// by pods like those that it has, and shrinks by those that its controller would take first.

// Changes are what is to be different.
type Changes struct {
	Add    []Copies
	Drain  []string // nodes that are to take no pods, and keep only their own
	Remove []string // nodes that are to go
	Scale  []Size
	Apply  []string // files with manifests of workloads, which take the place of those of their names
	Texts  []Text   // manifests likewise, which are in no file
	// Namespace is that of manifests that name none; empty: default.
	Namespace string
}

// Text is manifests that are in no file, with what errors call them.
type Text struct {
	Name      string
	Manifests []byte
}

// Copies are nodes like one that is there.
type Copies struct {
	Count int
	Like  string
}

// Size is how many pods a workload is to have.
type Size struct {
	Owner string // such as shop/deployment/web, or web where there is one of that name
	Pods  int
}

// Standing is where a pod stands.
type Standing struct {
	Pod, Owner string
	Node       string // empty: it waits
	Pinned     bool   // it belongs to its node
	Unowned    bool   // nobody makes it again
}

// Changed is what was before the changes, and what they took away.
type Changed struct {
	Nodes  int        // before
	Before []Standing // where all pods stand without the changes
	Gone   []Standing // the pods that the changes end

	as *Source // the cluster without them, which may have to be finished yet
}

// none reports whether nothing is to be different.
func (c *Changes) none() bool {
	return len(c.Add)+len(c.Drain)+len(c.Remove)+len(c.Scale)+len(c.Apply)+len(c.Texts) == 0
}

// Changed is what the changes of the options made different; nil without any.
func (s *Source) Changed() *Changed { return s.changed }

// Unchanged is the cluster as it would be without the changes. It is made at the first call, from which the next ones are to be apart.
func (c *Changed) Unchanged() (*Source, error) {
	if c.as.kinds == nil { // it has none yet
		if err := finish(c.as, ""); err != nil {
			return nil, err
		}
	}
	return c.as.Again(), nil
}

// copyOf is what was read so far, once more; nothing that is done to one of the two is seen by the other.
func copyOf(s *Source) *Source {
	c := *s
	c.nodes, c.pods = slices.Clone(s.nodes), slices.Clone(s.pods)
	c.names, c.notes, c.skips = maps.Clone(s.names), newNotes(), trace.Skips{Lenient: true} // what there is to be said is said by the other
	c.options.Lenient = true
	c.rules = make(map[string]*rules, len(s.rules))
	for i := range c.pods {
		p := &c.pods[i]
		own := *p.rules
		p.rules, p.tags, p.budgets = c.shared(&own), slices.Clone(p.tags), slices.Clone(p.budgets)
	}
	c.constraints = slices.Clone(s.constraints)
	c.storage.claims, c.storage.seen = maps.Clone(s.storage.claims), maps.Clone(s.storage.seen)
	c.guards.budgets, c.guards.scale, c.gangs = slices.Clone(s.guards.budgets), maps.Clone(s.guards.scale), maps.Clone(s.gangs)
	return &c
}

// changer makes the changes.
type changer struct {
	*Source
	*Changed
}

// change makes the changes that the options ask for.
func (s *Source) change() error {
	s.sort()
	s.makers.resolve(s.pods)
	s.gangs.resolve(s.pods, &s.notes)
	asked := s.options.Changes
	if asked == nil {
		return nil
	}
	c := &changer{s, &Changed{Nodes: len(s.nodes), Before: make([]Standing, len(s.pods)), as: s}}
	if !asked.none() {
		c.as = copyOf(s)
	}
	for i := range s.pods {
		c.Before[i] = s.gangs.standing(&s.pods[i])
	}
	var errs []error
	for _, step := range []func(*Changes) error{c.addNodes, c.drain, c.remove, c.apply, c.scale} {
		errs = append(errs, step(asked))
	}
	s.sort()
	s.changed = c.Changed
	return errors.Join(errs...)
}

// standing is where a pod stands.
func (all gangs) standing(p *pod) Standing {
	return Standing{Pod: p.name, Owner: all.maker(p), Node: p.node, Pinned: p.pinned, Unowned: isBare(p.application)}
}

// node returns the place of a node by its name.
func (s *changer) nodeNamed(name string) (int, error) {
	at := slices.IndexFunc(s.nodes, func(n node) bool { return n.name == name })
	if at < 0 {
		var names []string
		for _, n := range s.nodes {
			names = append(names, n.name)
		}
		return 0, nearest.Unknown("node", name, names)
	}
	return at, nil
}

// mostAdded bounds how many nodes or pods are added at once.
const mostAdded = 100_000

func (s *changer) addNodes(c *Changes) error {
	added := map[string]int{}
	for _, add := range c.Add {
		at, err := s.nodeNamed(add.Like)
		if err != nil {
			return fmt.Errorf("add nodes: %w", err)
		}
		if add.Count < 1 || add.Count > mostAdded {
			return fmt.Errorf("add nodes: %d like %s, want 1 to %d", add.Count, add.Like, mostAdded)
		}
		for range add.Count {
			added[add.Like]++
			if err := s.addNode(s.nodes[at], added[add.Like]); err != nil {
				return err
			}
		}
	}
	return nil
}

// addNode adds the i-th node like that one, ready and open, with the pods of its own.
func (s *changer) addNode(like node, i int) error {
	n := like
	n.name = fmt.Sprintf("%s-new-%d", like.name, i)
	if err := s.once("node " + n.name); err != nil {
		return err
	}
	n.labels, n.groups = maps.Clone(like.labels), slices.Clone(like.groups)
	if _, has := n.labels[hostname]; has {
		n.labels[hostname] = n.name
	}
	n.taints = slices.DeleteFunc(slices.Clone(like.taints), func(t manifest.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") })
	s.nodes = append(s.nodes, n)
	for k := range s.pods {
		if p := s.pods[k]; p.pinned && p.node == like.name {
			p.name, p.node = fmt.Sprintf("%s-new-%d", p.name, i), n.name
			p.rules = s.shared(&rules{Static: n.name})
			if err := s.once("pod " + p.name); err != nil {
				return err
			}
			s.pods = append(s.pods, p)
		}
	}
	return nil
}

func (s *changer) drain(c *Changes) error {
	for _, name := range c.Drain {
		at, err := s.nodeNamed(name)
		if err != nil {
			return fmt.Errorf("drain: %w", err)
		}
		s.nodes[at].taints = manifest.Cordoned(s.nodes[at].taints)
		s.unbind(name, false)
	}
	return nil
}

func (s *changer) remove(c *Changes) error {
	for _, name := range c.Remove {
		at, err := s.nodeNamed(name)
		if err != nil {
			return fmt.Errorf("remove: %w", err)
		}
		s.nodes = slices.Delete(s.nodes, at, at+1)
		delete(s.names, "node "+name)
		s.unbind(name, true)
	}
	return nil
}

// unbind lets the pods of a node wait, as those do that their controllers make in their place; those that belong to
// it stay, or go with it, and those that nobody would make again are gone.
func (s *changer) unbind(node string, withNode bool) {
	late := s.latest()
	s.pods = slices.DeleteFunc(s.pods, func(p pod) bool {
		goes := p.node == node && (p.pinned && withNode || !p.pinned && isBare(p.application))
		if goes {
			s.Gone = append(s.Gone, s.gangs.standing(&p))
		}
		return goes
	})
	for i := range s.pods {
		if p := &s.pods[i]; p.node == node && !p.pinned {
			p.node, p.created = "", late
		}
	}
}

// isBare reports whether nobody owns the pod.
func isBare(owner string) bool { return strings.Contains(owner, "/pod/") }

// latest is after all pods were created.
func (s *changer) latest() time.Time {
	late := time.Time{}
	for i := range s.pods {
		if s.pods[i].created.After(late) {
			late = s.pods[i].created
		}
	}
	return late.Add(time.Second)
}

// ownerNamed is the owner that a name means: shop/deployment/web, deployment/web, deploy/web or web.
func (s *changer) ownerNamed(text string) (string, error) {
	short := map[string]string{
		"deploy": "deployment", "deployments": "deployment", "sts": "statefulset", "statefulsets": "statefulset", "rs": "replicaset", "replicasets": "replicaset",
		"jobs": "job", "ds": "daemonset", "daemonsets": "daemonset", "rc": "replicationcontroller", "replicationcontrollers": "replicationcontroller", "po": "pod", "pods": "pod",
	}
	parts := strings.Split(text, "/")
	if len(parts) > 1 {
		kind := &parts[len(parts)-2]
		*kind = strings.ToLower(*kind)
		*kind = cmp.Or(short[*kind], *kind)
	}
	wanted := "/" + strings.Join(parts, "/")
	all := map[string]bool{}
	for i := range s.pods {
		all[s.pods[i].application] = true
	}
	for name := range s.makers.of {
		all[name] = true
	}
	for name := range s.makers.owners { // those in between are nobody's to scale
		delete(all, name)
	}
	names := slices.Sorted(maps.Keys(all))
	var found []string
	for _, name := range names {
		if strings.HasSuffix("/"+name, wanted) {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", nearest.Unknown("workload", text, names)
	}
	return "", fmt.Errorf("%s may be any of %s; name its namespace and kind", text, strings.Join(found[:min(len(found), 5)], ", "))
}

func (s *changer) scale(c *Changes) error {
	for _, size := range c.Scale {
		owner, err := s.ownerNamed(size.Owner)
		if err != nil {
			return fmt.Errorf("scale: %w", err)
		}
		if size.Pods < 0 || size.Pods > mostAdded {
			return fmt.Errorf("scale %s: %d pods, want 0 to %d", owner, size.Pods, mostAdded)
		}
		if err := s.scaleTo(owner, size.Pods); err != nil {
			return fmt.Errorf("scale %s: %w", owner, err)
		}
	}
	return nil
}

// scaleTo gives the owner so many pods.
func (s *changer) scaleTo(owner string, pods int) error {
	delete(s.guards.scale, owner)
	var own []int
	for i := range s.pods {
		if s.pods[i].application == owner {
			own = append(own, i)
		}
	}
	switch {
	case len(own) > 0 && s.pods[own[0]].pinned || isBare(owner):
		return errors.New("it has a pod for each node, or is one, and no number of them")
	case pods < len(own):
		s.shrink(owner, s.firstToGo(own)[:len(own)-pods])
	case len(own) == 0 && pods > 0:
		o := s.makers.of[owner]
		if o == nil {
			return errors.New("no pod of it is there to be copied, and no template")
		}
		return s.make("", o, 0, pods)
	case pods > len(own):
		like := s.pods[own[len(own)-1]]
		like.node, like.created = "", s.latest()
		free := 0 // the least number that no pod of a StatefulSet has
		for i := range pods - len(own) {
			p := like
			p.name = fmt.Sprintf("%s-new-%d", like.name, i+1)
			if stem, _, is := numbered(&like); is {
				for p.name = fmt.Sprint(stem, free); s.names["pod "+p.name]; p.name = fmt.Sprint(stem, free) {
					free++
				}
			}
			s.storage.renew(&p, like.name)
			if err := s.once("pod " + p.name); err != nil {
				return err
			}
			s.pods = append(s.pods, p)
		}
	}
	return nil
}

// numbered takes the name of a pod of a StatefulSet apart; false for one that is of none.
func numbered(p *pod) (stem string, number int, is bool) {
	at := strings.LastIndex(p.name, "-") + 1
	number, err := strconv.Atoi(p.name[at:])
	return p.name[:at], number, err == nil && strings.Contains(p.application, "/statefulset/")
}

// firstToGo orders pods of one owner as controllers take them when it shrinks: those of a StatefulSet from the last number down, of others
// those first that wait, then those on nodes with most of them, then the youngest.
func (s *changer) firstToGo(own []int) []int {
	if _, _, is := numbered(&s.pods[own[0]]); is {
		slices.SortFunc(own, func(a, b int) int {
			_, m, _ := numbered(&s.pods[a])
			_, n, _ := numbered(&s.pods[b])
			return cmp.Compare(n, m)
		})
		return own
	}
	beside := map[string]int{}
	for _, i := range own {
		beside[s.pods[i].node]++
	}
	waits := func(i int) int {
		if s.pods[i].node == "" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(own, func(a, b int) int {
		p, q := &s.pods[a], &s.pods[b]
		return cmp.Or(cmp.Compare(waits(a), waits(b)), cmp.Compare(beside[q.node], beside[p.node]), q.created.Compare(p.created), cmp.Compare(q.name, p.name))
	})
	return own
}

// shrink takes these pods away.
func (s *changer) shrink(owner string, rows []int) {
	going := map[string]bool{}
	for _, i := range rows {
		going[s.pods[i].name] = true
	}
	s.pods = slices.DeleteFunc(s.pods, func(p pod) bool {
		goes := p.application == owner && going[p.name]
		if goes {
			s.Gone = append(s.Gone, s.gangs.standing(&p))
		}
		return goes
	})
}

// make adds pods of a controller, which stands in that file.
func (s *changer) make(file string, o *manifest.Object, from, to int) error {
	late := s.latest().Format(time.RFC3339)
	for i := from; i < to; i++ {
		p, err := s.makers.pod(o, i)
		if err != nil {
			return err
		}
		p.Metadata.CreationTimestamp = late
		if err := s.takePod(file, p); err != nil {
			return manifest.Within("spec.template", err)
		}
	}
	return nil
}

// apply adds the workloads and nodes of files and texts.
func (s *changer) apply(c *Changes) error {
	add := func(file, place string, o *manifest.Object, err error) error {
		if err == nil && o.Kind == "Node" {
			return s.take(file, place, o, nil)
		}
		if err == nil {
			place = strings.ToLower(o.Kind) + " " + o.Metadata.Name
			o.Metadata.Namespace = cmp.Or(o.Metadata.Namespace, c.Namespace, "default")
			err = s.applyOne(file, o)
		}
		if wrong, ok := errors.AsType[manifest.FieldError](err); ok {
			err = &trace.Error{File: file, At: place + ": " + wrong.Path, Want: wrong.Want, Got: shorten(wrong.Got)}
		}
		return err
	}
	if err := readFiles(c.Apply, add); err != nil {
		return err
	}
	for _, text := range c.Texts {
		r := reader{file: text.Name, add: add}
		if err := r.read(bytes.NewReader(text.Manifests)); err != nil {
			return err
		}
	}
	return nil
}

// applyOne adds one object: the pods of a workload in the place of those that it has, or one pod.
func (s *changer) applyOne(file string, o *manifest.Object) error {
	switch o.Kind {
	case "Pod":
		o.Spec.NodeName, o.Status.Phase = "", "Pending"
		o.Spec.Containers, o.Status.QOSClass = requested(o.Spec.Containers), qualityOf(&o.Spec)
		o.Metadata.CreationTimestamp = s.latest().Format(time.RFC3339)
		if err := s.makers.prioritize(&o.Spec); err != nil {
			return err
		}
		s.replace(func(p *pod) bool { return p.name == o.Metadata.Namespace+"/"+o.Metadata.Name })
		return s.takePod(file, o)
	case "Deployment", "ReplicaSet", "StatefulSet", "Job", "ReplicationController":
	case "DaemonSet":
		return manifest.Wrong("kind", "a workload with a number of pods", o.Kind)
	case "PodGroup":
		s.gangs.take(o, &s.notes)
		return nil
	case "CronJob":
		return manifest.Wrong("kind", "a Job, as one of these has no pods before its time comes", o.Kind)
	default:
		s.notes.passed[o.Kind]++
		return nil
	}
	if o.Spec.Template == nil {
		return manifest.Wrong("spec.template", "a template of its pods", "")
	}
	if o.Metadata.Name == "" {
		return manifest.Wrong("metadata.name", "a name", "")
	}
	owner := ownerName(o.Metadata.Namespace, o.Kind, o.Metadata.Name)
	delete(s.guards.scale, owner)
	s.replace(func(p *pod) bool { return p.application == owner })
	return s.make(file, o, 0, int(count(o)))
}

// replace takes away the pods in whose place others come, which may have their names.
func (s *changer) replace(goes func(*pod) bool) {
	s.pods = slices.DeleteFunc(s.pods, func(p pod) bool {
		if !goes(&p) {
			return false
		}
		s.Gone = append(s.Gone, s.gangs.standing(&p))
		delete(s.names, "pod "+p.name)
		return true
	})
}
