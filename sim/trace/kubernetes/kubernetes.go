// Package kubernetes reads a cluster as kubectl prints it,
//
//	kubectl get -A -o json nodes,pods,ns,pc,deploy,rs,sts,ds,jobs,pdb,pvc,pv,sc,csinodes,csidrivers,csistoragecapacities > me.json
//
// as JSON or YAML, in one file or in a folder of them, perhaps compressed with
// gzip. Objects of other kinds are passed over and counted.
//
// A file is a moment: all of it is at time 0, and no pod ends. A pod with a node
// runs there; one without waits. Pods come in the order in which they were
// created, so that a run that places them anew does so in that order. Those that
// are done, those that leave without having a node, and those that wait for another scheduler
// are left out; those behind a scheduling gate wait, and are not placed. Those that another scheduler has placed take room, and are left alone. What a DaemonSet or a
// node itself has made belongs to its node (owners.go).
//
// The kinds are cpu, memory, pods, and whatever else nodes offer or pods ask
// for; nvidia.com/gpu comes in devices, or what Options.Devices names. Demands are added up as Kubernetes does
// (requests.go), and rounded up; capacities are what nodes can allocate, rounded
// down. Host ports that pods could compete for are kinds too (ports.go).
//
// A job is what one owner has made, a pod without one is a job of its own. The
// user is the namespace. The class is the quality of service: 0 BestEffort, 1
// Burstable, 2 Guaranteed. Node selectors, required node affinity, taints and
// cordons become requirements (place.go); required anti-affinity among replicas
// becomes a limit per node (apart.go); all other required affinity and anti-affinity,
// and hard spread, become hard constraints (company.go). Claims of volumes become requirements, too,
// and kinds of which nodes have so many (volumes.go). Budgets of disruption come before the pods that
// count for them (budgets.go).
//
// What else restricts a pod and cannot be simulated is refused by the name of
// its field, or ignored and counted if Options.Lenient: claims of
// devices above all.
//
// What pods prefer is kept as well: nodes, by their labels and by taints PreferNoSchedule (prefer.go); company, its absence and
// soft spread as soft constraints.
package kubernetes

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fairlead/cluster"
	constraints "fairlead.dev/fairlead/constraint/kubernetes"
	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
)

// Options say how a file is read.
type Options struct {
	// Lenient leaves out and counts what cannot be read, and ignores and counts
	// what cannot be simulated.
	Lenient bool
	// Elsewhere says that the nodes come from a source that is no cluster of Kubernetes: pods then run
	// nowhere, whatever their nodeName, and honour the labels of those nodes but
	// not their taints.
	Elsewhere bool
	// Nodes is another cluster, whose nodes, with the pods that belong to them, take the place of those in the files: see
	// elsewhere.go. Empty: none does.
	Nodes string
	// Devices are the extended resources that come in devices; nil is nvidia.com/gpu alone.
	Devices []string
	// Schedulers are those whose waiting pods are to be placed; nil is what a cluster has unless told otherwise,
	// and Fairlead's. Pods of others that wait are left out and counted.
	Schedulers []string
	// OneUser says that namespaces share nothing out among themselves: all pods are one user's.
	OneUser bool
	// AllPorts says that a host port is a kind also where no two pods could want it of a node, as it is to fairlead-scheduler.
	AllPorts bool
	// Changes is what is to be different; nil: nothing.
	Changes *Changes
}

// defaultScheduler is whose pods are that name no scheduler.
const defaultScheduler = "default-scheduler"

// places reports whether pods of the scheduler of that name are to be placed.
func (o Options) places(scheduler string) bool {
	if o.Schedulers == nil {
		return scheduler == "" || scheduler == defaultScheduler || strings.HasPrefix(scheduler, "fairlead")
	}
	return slices.Contains(o.Schedulers, cmp.Or(scheduler, defaultScheduler))
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if len(o.Devices) > cluster.MaxDevices {
		return fmt.Errorf("devices: %d names, want at most %d", len(o.Devices), cluster.MaxDevices)
	}
	for i, name := range o.Devices {
		if vendor, rest, is := strings.Cut(name, "/"); !is || vendor == "" || rest == "" {
			return fmt.Errorf("devices: %q is no extended resource; want one such as %s", name, manifest.GPUName)
		}
		if slices.Contains(o.Devices[:i], name) {
			return fmt.Errorf("devices: %s is named twice", name)
		}
	}
	return nil
}

// Source is a file or a folder, read.
type Source struct {
	options  Options
	skips    trace.Skips
	kinds    []cluster.Kind
	nodes    []node
	pods     []pod
	names    map[string]bool // of nodes, and of pods behind their namespace
	notes    notes
	capacity []cluster.Vector
	given    int // records given out so far
	tasks    []trace.Task

	makers makers
	alike
	others
	constraints []cluster.Constraint
	changed     *Changed
}

// alike is what pods say that others say as well, and share with them.
type alike struct {
	rules   map[string]*rules
	company map[string]*company
}

// others are what else the files hold.
type others struct {
	namespaces map[string]map[string]string // their labels
	storage    storage
	guards     guards
	gangs      gangs
}

// pod is a pod as it was read.
type pod struct {
	file      string
	namespace string
	name      string // behind its namespace
	labels    map[string]string
	labelsKey string
	owner     string
	created   time.Time
	standing
	asks
	node  string
	rules *rules
	group *group

	application string   // who made it, as people call that
	company     *company // nil: anyone's
	tags        []string
}

// asks is what a pod takes of its node.
type asks struct {
	requests manifest.Amounts
	ports    []manifest.Port
	volumes  []mount
}

// standing is what may become of a pod.
type standing struct {
	class         uint8
	priority      int32
	promise       string // the class that its label names
	pinned        bool   // it belongs to its node
	foreign       string // who places it, if that is somebody else
	neverPreempts bool
	gate          string
	gang          string // the group that it names
	stays         bool   // its containers are started again whenever they end
	whole         bool   // it is of an application by its own tags, which is placed whole
	budgets       []string
	unready       bool // it runs, and is not available
	leaving       bool
}

// Open reads the whole file, or all files of the folder.
func Open(path string, o Options) (*Source, error) {
	s := &Source{
		options: o, skips: trace.Skips{Lenient: o.Lenient}, names: map[string]bool{}, alike: alike{map[string]*rules{}, map[string]*company{}}, notes: newNotes(),
		makers: newMakers(), others: others{namespaces: map[string]map[string]string{}, storage: newStorage(), guards: guards{scale: map[string]int64{}}, gangs: gangs{}},
	}
	if err := (elsewhere{s}).read(path); err != nil {
		return nil, err
	}
	if err := s.checkNodes(); err != nil {
		return nil, err
	}
	if err := s.change(); err != nil {
		return nil, err
	}
	if err := finish(s, path); err != nil {
		return nil, err
	}
	return s, nil
}

// finish makes of the objects read nodes, tasks, constraints and budgets.
func finish(s *Source, path string) error {
	s.sort()
	s.gangs.resolve(s.pods, &s.notes)
	s.checkGroups()
	mountAll(s)
	guardPods(s)
	if err := s.constrain(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := s.notes.refusals(s.options.Lenient); err != nil {
		return err
	}
	if err := s.resolve(); err != nil {
		return err
	}
	if len(s.nodes)+len(s.tasks) == 0 {
		return nothing(path, &s.skips)
	}
	s.forget()
	return nil
}

// forget lets go of what only those need who make records of it, which is more than half of all that was read.
func (s *Source) forget() {
	s.pods, s.names, s.namespaces = nil, nil, nil
	s.makers, s.alike, s.storage = makers{}, alike{}, storage{}
}

// sort puts nodes and pods into their order, which is the one in which fairlead-scheduler takes in what it finds.
func (s *Source) sort() {
	slices.SortFunc(s.nodes, func(a, b node) int { return cmp.Compare(a.name, b.name) })
	slices.SortFunc(s.pods, func(a, b pod) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}

// nothing says why there is neither a node nor a pod.
func nothing(path string, skips *trace.Skips) error {
	if len(skips.First) > 0 {
		only := *skips.First[0]
		only.Hint = "nothing that is there could be read"
		return &only
	}
	return &trace.Error{File: path, Want: kubectl, Err: errors.New("no Node is in it, and no Pod that is there to stay")}
}

// take takes in an object, or the reason why it could not be read.
func (s *Source) take(file, place string, o *manifest.Object, err error) error {
	stored := false
	if err == nil {
		stored, err = s.storage.take(o)
	}
	if err == nil && !stored {
		stored, err = s.guards.take(o)
	}
	switch {
	case stored:
		place = called(place, strings.ToLower(o.Kind)+" ", strings.TrimPrefix(o.Metadata.Namespace+"/"+o.Metadata.Name, "/"))
	case err != nil:
	case o.Kind == "Node":
		place, err = called(place, "node ", o.Metadata.Name), s.takeNode(o)
	case o.Kind == "Pod":
		o.Metadata.Namespace = cmp.Or(o.Metadata.Namespace, "default")
		place, err = called(place, "pod "+o.Metadata.Namespace+"/", o.Metadata.Name), s.takePod(file, o)
	case o.Kind == placementConstraint && o.Spec.Constraint == manifest.OfAPI: // which kubectl fairlead reads
		s.notes.passed[o.Kind]++
	case o.Kind == placementConstraint:
		place, err = called(place, "constraint ", o.Metadata.Name), s.takeConstraint(o)
	case o.Kind == "Namespace":
		s.namespaces[o.Metadata.Name] = o.Metadata.Labels
	case s.makers.take(o), s.gangs.take(o, &s.notes):
	case o.Kind == "PriorityClass":
		s.makers.classes[o.Metadata.Name] = o.PriorityClass
	case o.Kind == "":
		err = manifest.Wrong("kind", "Node or Pod", "")
	default:
		s.notes.passed[o.Kind]++
	}
	if wrong, ok := errors.AsType[manifest.FieldError](err); ok {
		err = &trace.Error{File: file, At: place + ": " + wrong.Path, Want: wrong.Want, Got: shorten(wrong.Got)}
	}
	return s.skips.Refuse(err)
}

// called is how errors call an object: by its name if it has one.
func called(place, kind, name string) string {
	if name == "" {
		return place
	}
	return kind + name
}

func (s *Source) takeNode(o *manifest.Object) error {
	groups, err := groupsOf(o)
	if err != nil {
		return err
	}
	n := node{name: o.Metadata.Name, csi: o.Metadata.Name, labels: o.Metadata.Labels, groups: groups}
	if n.name == "" {
		return manifest.Wrong("metadata.name", "a name", "")
	}
	for _, key := range slices.Sorted(maps.Keys(n.labels)) {
		if key == manifest.NameKey || key == trace.Taints || strings.HasPrefix(key, trace.SoftTaint) || !manifest.Plain(n.labels[key]) {
			return manifest.Wrong("metadata.labels."+key, manifest.WantPlain, n.labels[key])
		}
	}
	field, quantities := "status.allocatable", o.Status.Allocatable
	if len(quantities) == 0 {
		field, quantities = "status.capacity", o.Status.Capacity
	}
	if n.capacity, err = manifest.ParseAll(field, quantities); err != nil {
		return err
	}
	if n.taints, n.soft, err = manifest.TaintsOf(o); err != nil {
		return err
	}
	if err := s.once("node " + n.name); err != nil {
		return err
	}
	s.nodes = append(s.nodes, n)
	return nil
}

// once says that an object is there twice.
func (s *Source) once(name string) error {
	if s.names[name] {
		return manifest.Wrong("metadata.name", "each object once", name)
	}
	s.names[name] = true
	return nil
}

func (s *Source) takePod(file string, o *manifest.Object) error {
	m, spec := &o.Metadata, &o.Spec
	p := pod{
		file: file, namespace: m.Namespace, name: m.Namespace + "/" + m.Name,
		labels: m.Labels, labelsKey: labelsKey(m.Labels), standing: s.options.standingOf(o), node: spec.NodeName,
		asks: asks{ports: spec.HostPorts(), volumes: mountsOf(spec)},
	}
	if m.Name == "" {
		return manifest.Wrong("metadata.name", "a name", "")
	}
	if err := s.once("pod " + p.name); err != nil {
		return err
	}
	switch {
	case o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed":
		s.notes.leftOut["are done"]++
		return nil
	case m.DeletionTimestamp != "" && p.node == "":
		s.notes.leftOut["are being deleted and have no node"]++
		return nil
	case p.node == "" && p.foreign != "":
		s.notes.leftOut[fmt.Sprintf("wait for the scheduler %s; ?schedulers=%s takes them in", shorten(p.foreign), shorten(p.foreign))]++
		return nil
	}
	var err error
	if m.CreationTimestamp != "" {
		if p.created, err = time.Parse(time.RFC3339, m.CreationTimestamp); err != nil {
			return manifest.Wrong("metadata.creationTimestamp", "a time such as 2026-01-31T12:00:00Z", m.CreationTimestamp)
		}
	}
	if p.class, err = class(o.Status.QOSClass); err != nil {
		return err
	}
	if p.requests, err = spec.Requests(); err != nil {
		return err
	}
	r, err := rulesOf(o)
	if err != nil {
		return err
	}
	if p.tags, err = tagsOf(o); err != nil {
		return err
	}
	p.whole = p.stays && slices.ContainsFunc(p.tags, func(tag string) bool { return !constraints.Translated(tag) })
	if p.company, err = companyOf(o); err != nil {
		return err
	}
	p.company = s.sharedCompany(p.company)
	p.group, p.application = groupOf(o), applicationOf(o)
	gaps := gapsOf(spec)
	if s.options.Elsewhere && len(r.Terms) > 1 {
		gaps = append(gaps, gap{termsField, "whether one of several terms is met is known only of nodes in the same files"})
		r.Terms = nil
	}
	p.owner, p.rules = ownerKey(o), s.shared(r)
	for _, g := range gaps {
		s.gap(file, p.name, g)
	}
	if p.leaving {
		s.notes.leaving++
	}
	s.pods = append(s.pods, p)
	return nil
}

// class is the quality of service, from the lowest.
func class(name string) (uint8, error) {
	switch name {
	case "", "BestEffort":
		return 0, nil
	case "Burstable":
		return 1, nil
	case "Guaranteed":
		return 2, nil
	}
	return 0, manifest.Wrong("status.qosClass", "BestEffort, Burstable or Guaranteed", name)
}

// ownerOf is who made the pod: its controller, or else its first owner. What
// comes from a file of its node is nobody else's.
func ownerOf(o *manifest.Object) *manifest.Owner {
	m := &o.Metadata
	at := max(slices.IndexFunc(m.OwnerReferences, func(w manifest.Owner) bool { return w.Controller }), 0)
	if len(m.OwnerReferences) == 0 || o.IsStatic() {
		return nil
	}
	return &m.OwnerReferences[at]
}

// ownerKey tells the pod's owner from all others; itself, if it has none.
func ownerKey(o *manifest.Object) string {
	w := ownerOf(o)
	if w == nil {
		return "pod " + o.Metadata.Namespace + "/" + o.Metadata.Name
	}
	return cmp.Or(w.UID, o.Metadata.Namespace+"/"+w.Kind+"/"+w.Name)
}

// checkNodes says which pod is on a node that is not there.
func (s *Source) checkNodes() error {
	if s.options.Elsewhere || len(s.nodes) == 0 {
		return nil
	}
	kept := s.pods[:0]
	for _, p := range s.pods {
		if p.node != "" && !s.names["node "+p.node] {
			err := s.skips.Refuse(&trace.Error{File: p.file, At: "pod " + p.name + ": spec.nodeName", Want: "a node that is there", Got: p.node, Hint: "take nodes and pods in one command; --lenient leaves such pods out"})
			if err != nil {
				return err
			}
			continue
		}
		kept = append(kept, p)
	}
	s.pods = kept
	return nil
}

// resolve makes vectors and tasks of what was read.
func (s *Source) resolve() error {
	var column map[manifest.Port]int
	s.kinds, column = s.findKinds()
	for _, n := range s.nodes {
		v := make(cluster.Vector, len(s.kinds))
		for k, kind := range s.kinds {
			v[k] = manifest.CapacityOf(kind, n.capacity[kind.Name])
		}
		for _, at := range column {
			v[at] = wholePort
		}
		s.capacity = append(s.capacity, v)
	}
	t := newTranslator(s.nodes)
	for _, p := range s.pods {
		if !p.rules.translated {
			p.rules.requirements, p.rules.translated = t.translate(p.rules), true
			p.rules.preferences = t.preferences(p.rules)
		}
	}
	jobs := map[string]*job{}
	var of []*job // each task
	for i := range s.pods {
		p := &s.pods[i]
		demand, err := s.demand(p)
		if err := s.skips.Refuse(err); err != nil {
			return err
		}
		if demand == nil {
			continue
		}
		takePorts(demand, p.ports, column)
		key := s.gangs.job(p)
		j := jobs[key]
		if j == nil {
			j = &job{number: uint64(len(jobs))}
			jobs[key] = j
		}
		s.tasks = append(s.tasks, s.task(p, demand, j))
		of = append(of, j)
	}
	for i, j := range of {
		s.tasks[i].JobTasks = j.tasks
	}
	return nil
}

// findKinds returns the kinds, and which of them the contested ports are.
func (s *Source) findKinds() ([]cluster.Kind, map[manifest.Port]int) {
	resources := manifest.Maxima{}
	for i := range s.nodes {
		resources.Note(s.nodes[i].capacity)
	}
	for i := range s.pods {
		resources.Note(s.pods[i].requests)
	}
	devices := s.options.Devices
	if devices == nil {
		devices = []string{manifest.GPUName}
	}
	kinds := resources.Kinds(devices)
	for _, name := range s.options.Devices {
		if !slices.ContainsFunc(kinds, func(k cluster.Kind) bool { return k.Name == name && k.Devices }) {
			s.notes.numbers = append(s.notes.numbers, numberNote(name, resources))
		}
	}
	column := map[manifest.Port]int{}
	ports := contested(s.pods)
	if all := allPorts(s.pods); s.options.AllPorts && len(all) <= mostPorts {
		ports = all
	}
	for _, p := range ports {
		column[p] = len(kinds)
		kinds = append(kinds, portKind(p))
	}
	return kinds, column
}

// demand is the pod's vector without its ports.
func (s *Source) demand(p *pod) (cluster.Vector, error) {
	v := make(cluster.Vector, len(s.kinds))
	for k, kind := range s.kinds {
		a := p.requests[kind.Name]
		if kind.Name == manifest.PodsName {
			a = manifest.Amount{Whole: 1}
		}
		q, ok := manifest.DemandOf(kind, a)
		if !ok {
			return nil, &trace.Error{
				File: p.file, At: "pod " + p.name + ": requests of " + kind.Name, Got: fmt.Sprint(a.Whole),
				Want: fmt.Sprintf("at most %s %s in all", kind.Format(cluster.MaxQuantity), kind.Unit),
			}
		}
		v[k] = q
	}
	return v, nil
}

// job is the pods of one owner, or those that come together, or keep each other away.
type job struct {
	number uint64
	tasks  uint32 // so far
}

// job tells the job of a pod from all others.
func (all gangs) job(p *pod) string {
	switch {
	case p.foreign != "": // of one owner some may be placed by others
		return p.foreign + " " + p.owner
	case all.together(p):
		return "gang " + p.gang
	case p.group != nil:
		return "apart " + p.group.key
	}
	return p.owner
}

// task is the pod as the next task of the job.
func (s *Source) task(p *pod, demand cluster.Vector, j *job) trace.Task {
	t := trace.Task{
		Job: j.number, Index: j.tasks, Name: p.name, Owner: s.gangs.maker(p), Gang: s.gangs[p.gang], User: p.namespace, Class: p.class, Priority: p.priority,
		Promise: p.promise, Pinned: p.pinned, Foreign: p.foreign, Unowned: isBare(p.application) && !p.pinned, NeverPreempts: p.neverPreempts, Gate: p.gate, LongRunning: p.whole, Service: p.stays, Budgets: p.budgets,
		Demand: demand, Requirements: p.rules.requirements, Prefers: p.rules.preferences, Work: cluster.Never, Tags: p.tags,
	}
	j.tasks++
	if s.options.OneUser {
		t.User = ""
	}
	if p.group != nil {
		t.PerNode = 1
	}
	if p.node != "" && !s.options.Elsewhere {
		at, there := slices.BinarySearchFunc(s.nodes, p.node, func(n node, name string) int { return cmp.Compare(n.name, name) })
		t.Running, t.OnNode = there, uint64(at)
		t.Unready = there && p.unready && len(p.budgets) > 0
	}
	return t
}

// shared returns the rules that mean the same as these.
func (a *alike) shared(r *rules) *rules {
	key := r.key()
	if a.rules[key] == nil {
		a.rules[key] = r
	}
	return a.rules[key]
}

// blind reports whether the files say nothing of the nodes that pods are to go to; a change that takes all of them away does.
func blind(s *Source) bool {
	return s.options.Elsewhere || len(s.nodes) == 0 && (s.changed == nil || s.changed.Nodes == 0)
}

// Again is the same source from its beginning. Both can be read, also at the same time.
func (s *Source) Again() *Source {
	again := *s
	again.given = 0
	return &again
}

// Kinds are what nodes offer and pods ask for.
func (s *Source) Kinds() []cluster.Kind { return s.kinds }

// Next gives the nodes by name, then the constraints, the budgets, and the pods by age, all at time 0.
func (s *Source) Next(r *trace.Record) error {
	i := s.given
	bound := i - len(s.nodes)
	budgets := bound - len(s.constraints)
	pods := budgets - len(s.guards.budgets)
	switch {
	case bound < 0:
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{
			ID: uint64(i), Name: s.nodes[i].name, Capacity: s.capacity[i], Labels: s.nodes[i].modelLabels(), Groups: s.nodes[i].groups,
		}}
	case budgets < 0:
		*r = trace.Record{What: trace.ConstraintAdded, Constraint: s.constraints[bound]}
	case pods < 0:
		*r = trace.Record{What: trace.BudgetAdded, Budget: s.guards.budgets[budgets].Budget}
	case pods < len(s.tasks):
		*r = trace.Record{What: trace.TaskSubmitted, Task: s.tasks[pods]}
	default:
		return io.EOF
	}
	s.given++
	return nil
}

// End is when a run stops unless told otherwise. Nothing happens after the pods
// are placed; an hour of that makes means over time say what came of it, and not
// how the first microseconds went.
func (s *Source) End() cluster.Time { return cluster.Hour }

// Close does nothing: the files are closed already.
func (s *Source) Close() error { return nil }
