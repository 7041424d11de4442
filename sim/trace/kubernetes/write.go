package kubernetes

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
)

// This file writes a source as kubectl prints a cluster, so that Open reads the
// same nodes and tasks from it. Kinds that Kubernetes knows by name keep their
// meaning: cores are cpu, GiB are bytes, devices are nvidia.com/gpu; others
// become extended resources. Constraints, with groups of nodes and tags of pods, are written
// as our own (own.go). A file is a moment, so the order of tasks is kept
// and their times are not. Names and labels stay as they are, even where no API
// server would take them.

// Refuse is asked about a record of which the file cannot hold what, in the
// plural. An error from it ends the writing; otherwise that is left out.
type Refuse func(r *trace.Record, what string) error

// jobLabel tells the pods that keep each other off their nodes.
const jobLabel = "fairlead.dev/job"

// manyPods is how many pods a node may run where a source does not count them.
const manyPods = 1_000_000

type writer struct {
	kinds  []cluster.Kind
	shared []bool // kinds whose resource is that of a kind before them
	refuse Refuse
	names  map[uint64]string           // of nodes
	taken  map[string]bool             // names of nodes, and of pods behind their namespace
	taints map[string][]manifest.Taint // the sets that nodes have, by text
	tasks  int                         // so far

	soft    map[string]manifest.Taint // those that keep nobody off, by the label that stands for each
	budgets map[string]string         // the labels of those that they select, by their names
}

type fields = map[string]any

func newWriter(kinds []cluster.Kind, refuse Refuse) *writer {
	w := &writer{kinds: kinds, refuse: refuse, names: map[uint64]string{}, taken: map[string]bool{}, taints: map[string][]manifest.Taint{}, soft: map[string]manifest.Taint{}, budgets: map[string]string{}}
	resources := map[string]bool{}
	for _, k := range kinds {
		name, _ := textOf(k, 0)
		w.shared = append(w.shared, resources[name] && !isPort(k))
		resources[name] = resources[name] || !isPort(k)
	}
	return w
}

// Write reads src to its end and writes it as a List of Nodes and Pods.
func Write(to io.Writer, src trace.Source, refuse Refuse) error {
	w := newWriter(src.Kinds(), refuse)
	out := bufio.NewWriterSize(to, 1<<16)
	separator := "{\"apiVersion\":\"v1\",\"items\":[\n"
	var r trace.Record
	for {
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		item, err := w.item(&r)
		if err != nil {
			return err
		}
		if item == nil {
			continue
		}
		text, err := json.Marshal(item)
		if err != nil {
			return err
		}
		// The buffer keeps the first error for Flush.
		_, _ = out.WriteString(separator)
		_, _ = out.Write(text)
		separator = ",\n"
	}
	if w.tasks+len(w.names) == 0 {
		_, _ = out.WriteString(separator)
	}
	_, _ = out.WriteString("\n],\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"\"}}\n")
	return out.Flush()
}

// item is a record as an object; nil if nothing of it can be held.
func (w *writer) item(r *trace.Record) (fields, error) {
	switch {
	case r.What == trace.NodeAdded && r.Time == 0:
		return w.node(r)
	case r.What == trace.TaskSubmitted:
		return w.pod(r)
	case r.What == trace.TaskKilled:
		return nil, w.refuse(r, "kills")
	case r.What == trace.BudgetAdded && r.Time == 0:
		return w.budget(&r.Budget), nil
	case r.What == trace.BudgetAdded:
		return nil, w.refuse(r, "budgets that come later, or of tasks of several users")
	case r.What == trace.ConstraintAdded && r.Time == 0:
		return constraintObject(&r.Constraint), nil
	case r.What == trace.ConstraintAdded || r.What == trace.ConstraintRemoved:
		return nil, w.refuse(r, "constraints that come later, or go")
	case r.What == trace.NodeUsed:
		return nil, w.refuse(r, "usage of nodes")
	}
	return nil, w.refuse(r, "changes of nodes")
}

func (w *writer) node(r *trace.Record) (fields, error) {
	n := &r.Node
	name, err := w.own(r, "node ", cmp.Or(n.Name, fmt.Sprint("node-", n.ID)), n.ID)
	if err != nil {
		return nil, err
	}
	w.names[n.ID] = name
	labels := map[string]string{hostname: name}
	var taints []manifest.Taint
	for _, l := range n.Labels {
		soft, is := w.softTaint(l)
		switch {
		case is:
			taints = append(taints, soft)
		case l.Key == manifest.NameKey:
		case l.Key == trace.Taints:
			taints = append(taints, w.taintsOf(l.Value)...)
		case l.Value == manifest.EmptyValue || manifest.Plain(l.Value):
			labels[l.Key] = strings.TrimPrefix(l.Value, manifest.EmptyValue)
		default:
			if err := w.refuse(r, "labels with | or a quotation mark"); err != nil {
				return nil, err
			}
		}
	}
	allocatable := map[string]string{manifest.PodsName: fmt.Sprint(manyPods)}
	for k, kind := range w.kinds {
		if !isPort(kind) && !w.shared[k] {
			name, text := textOf(kind, n.Capacity[k])
			allocatable[name] = text
		}
	}
	if n.Tier != 0 {
		if err := w.refuse(r, "tiers of nodes"); err != nil {
			return nil, err
		}
	}
	if err := w.merged(r, n.Capacity); err != nil {
		return nil, err
	}
	spec := fields{}
	if taints != nil {
		spec["taints"] = taints
	}
	metadata := fields{"name": name, "labels": labels}
	annotate(metadata, n.Groups, nil)
	return fields{
		"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec,
		"status": fields{"allocatable": allocatable, "capacity": allocatable, "conditions": []fields{{"type": "Ready", "status": "True"}}},
	}, nil
}

// own returns the name, or one with the number behind it where an object of the
// sort has the name already.
func (w *writer) own(r *trace.Record, sort, name string, number uint64) (string, error) {
	if w.taken[sort+name] {
		if err := w.refuse(r, "names that are there twice"); err != nil {
			return "", err
		}
	}
	for w.taken[sort+name] {
		name = fmt.Sprint(name, "-", number)
	}
	w.taken[sort+name] = true
	return name, nil
}

// merged asks about quantities that are left out because another kind has the
// name of their resource.
func (w *writer) merged(r *trace.Record, v cluster.Vector) error {
	for k, shared := range w.shared {
		if name, _ := textOf(w.kinds[k], 0); shared && v[k] > 0 {
			return w.refuse(r, "second kinds of the resource "+name)
		}
	}
	return nil
}

// taintsOf reads a set of taints as taintsText writes it.
func (w *writer) taintsOf(text string) []manifest.Taint {
	var set []manifest.Taint
	for one := range strings.SplitSeq(text, ",") {
		set = append(set, taintOf(one))
	}
	w.taints[text] = set
	return set
}

// taintOf reads a taint as it is printed.
func taintOf(text string) manifest.Taint {
	at := strings.LastIndex(text, ":")
	key, value, _ := strings.Cut(text[:max(at, 0)], "=")
	return manifest.Taint{Key: key, Value: value, Effect: text[at+1:]}
}

func (w *writer) pod(r *trace.Record) (fields, error) {
	t := &r.Task
	namespace := cmp.Or(t.User, "default")
	name := cmp.Or(strings.TrimPrefix(t.Name, namespace+"/"), fmt.Sprintf("job-%d-%d", t.Job, t.Index))
	name, err := w.own(r, "pod "+namespace+"/", name, uint64(w.tasks))
	if err != nil {
		return nil, err
	}
	w.tasks++
	created := time.Date(2000, 1, 1, 0, 0, w.tasks, 0, time.UTC).Format(time.RFC3339)
	metadata := fields{"name": name, "namespace": namespace, "creationTimestamp": created}
	annotate(metadata, nil, t.Tags)
	if owner := ownerReference(t); owner != nil {
		metadata["ownerReferences"] = []fields{owner}
	}
	spec := fields{"priority": t.Priority, "restartPolicy": "Never"}
	if t.LongRunning || t.Service {
		spec["restartPolicy"] = "Always"
	}
	if t.NeverPreempts {
		spec["preemptionPolicy"] = "Never"
	}
	if t.Foreign != "" && t.Foreign != kubelet {
		spec["schedulerName"] = t.Foreign
	}
	if t.Gate != "" {
		spec["schedulingGates"] = []fields{{"name": t.Gate}}
	}
	status := fields{"phase": "Pending", "qosClass": [...]string{"BestEffort", "Burstable", "Guaranteed"}[min(t.Class, 2)]}
	if on, there := w.names[t.OnNode]; t.Running && there {
		spec["nodeName"], status["phase"] = on, "Running"
	}
	affinity := fields{}
	labels := map[string]string{}
	metadata["labels"] = labels
	if t.Promise != "" {
		labels[classLabel] = t.Promise
	}
	if err := w.guarded(r, namespace, labels); err != nil {
		return nil, err
	}
	if t.Unready {
		status["conditions"] = []fields{{"type": "Ready", "status": "False"}}
	}
	if t.PerNode == 1 {
		labels[jobLabel] = fmt.Sprint(t.Job)
		affinity["podAntiAffinity"] = fields{"requiredDuringSchedulingIgnoredDuringExecution": []manifest.PodTerm{{
			TopologyKey: hostname, LabelSelector: &manifest.LabelSelector{MatchLabels: map[string]string{jobLabel: fmt.Sprint(t.Job)}},
		}}}
	}
	if err := w.rules(r, spec, affinity); err != nil {
		return nil, err
	}
	spec["affinity"] = affinity
	spec["containers"] = []fields{w.container(t.Demand)}
	return fields{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}, w.lost(r)
}

// budget is a budget as an object, which selects pods by a label of its own.
func (w *writer) budget(b *cluster.Budget) fields {
	label := fmt.Sprint("fairlead.dev/budget-", len(w.budgets))
	w.budgets[b.Name] = label
	namespace, name, named := strings.Cut(b.Name, "/")
	if !named {
		namespace, name = "default", b.Name
	}
	spec := fields{"minAvailable": b.Least, "selector": manifest.LabelSelector{MatchLabels: map[string]string{label: yes}}}
	if b.FreesUnready {
		spec["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
	}
	return fields{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": fields{"name": name, "namespace": namespace}, "spec": spec}
}

// guarded gives a pod the labels by which its budgets select it, as far as these are of its namespace.
func (w *writer) guarded(r *trace.Record, namespace string, labels map[string]string) error {
	for _, name := range r.Task.Budgets {
		of, _, named := strings.Cut(name, "/")
		if !named {
			of = "default"
		}
		if label, there := w.budgets[name]; there && of == namespace {
			labels[label] = yes
		} else if err := w.refuse(r, "budgets that come later, or of tasks of several users"); err != nil {
			return err
		}
	}
	return nil
}

// ownerReference is who has made the pod: whom it names, or else its job; nil for a pod by itself.
func ownerReference(t *trace.Task) fields {
	uid := fmt.Sprint(t.Job)
	owner := fields{"apiVersion": "batch/v1", "kind": "Job", "name": uid, "uid": uid, "controller": true}
	parts := strings.Split(t.Owner, "/")
	switch {
	case t.Pinned && !strings.Contains(t.Owner, "/daemonset/"):
		owner["kind"] = "Node"
	case t.Unowned:
		return nil
	case len(parts) == 3 && parts[1] != "pod":
		owner["apiVersion"], owner["kind"], owner["name"] = "apps/v1", kindNamed(parts[1]), parts[2]
	case t.JobTasks == 1:
		return nil
	}
	return owner
}

// kindNamed is the kind of that name in lower case, as far as it is known.
func kindNamed(lower string) string {
	for _, kind := range []string{"ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController"} {
		if strings.EqualFold(kind, lower) {
			return kind
		}
	}
	return lower
}

// lost asks about what the file does not hold of a task.
func (w *writer) lost(r *trace.Record) error {
	t := &r.Task
	each := cluster.Vector(nil)
	for k, kind := range w.kinds {
		if kind.Devices && t.Demand[k]%kind.PerUnit != 0 {
			each = t.Demand
		}
	}
	for _, c := range []struct {
		lost bool
		what string
	}{
		{r.Time > 0, "times of submission"},
		{t.Work != cluster.Never || t.Fails, "ends of tasks"},
		{t.Class > 2, "classes above 2"},
		{t.PerNode > 1, "limits of several tasks a node"},
		{t.Max != nil, "demands that are ranges"},
		{each != nil, "shares of a device"},
		{t.Together, "jobs that want to stand together"},
		{t.Gang > 1, "gangs"},
		{len(t.Input) > 0, "input of tasks"},
	} {
		if c.lost {
			if err := w.refuse(r, c.what); err != nil {
				return err
			}
		}
	}
	return w.merged(r, t.Demand)
}

// container asks for the demand.
func (w *writer) container(demand cluster.Vector) fields {
	requests := map[string]string{}
	var ports []fields
	for k, kind := range w.kinds {
		q := demand[k]
		switch {
		case q == 0 || kind.Name == manifest.PodsName || w.shared[k]:
		case !isPort(kind):
			name, text := textOf(kind, q)
			requests[name] = text
		case q == kind.PerUnit:
			ports = append(ports, portOf(kind))
		}
	}
	return fields{"name": "main", "ports": ports, "resources": fields{"requests": requests}}
}

func isPort(k cluster.Kind) bool {
	return k.Exclusive() && strings.HasPrefix(k.Name, "host port ")
}

// portOf reads the name of a kind as port.String writes it.
func portOf(k cluster.Kind) fields {
	rest, address, _ := strings.Cut(strings.TrimPrefix(k.Name, "host port "), " on ")
	protocol, number, _ := strings.Cut(rest, "/")
	return fields{"hostPort": json.Number(number), "hostIP": address, "protocol": protocol}
}

// textOf is a quantity of the kind as Kubernetes names and writes it. Of a
// device it takes the whole.
func textOf(k cluster.Kind, q int64) (name, text string) {
	switch {
	case k.Devices && strings.Contains(k.Name, "/"):
		return k.Name, fmt.Sprint((q + k.PerUnit - 1) / k.PerUnit)
	case k.Devices:
		return manifest.GPUName, fmt.Sprint((q + k.PerUnit - 1) / k.PerUnit)
	case k.Name == manifest.CPUName && k.Unit == "cores" && 1000%k.PerUnit == 0:
		return manifest.CPUName, fmt.Sprintf("%dm", q*(1000/k.PerUnit))
	case k.Unit == "GiB" && (1<<30)%k.PerUnit == 0:
		q *= (1 << 30) / k.PerUnit
		if k.Name == "disk" {
			return manifest.StorageName, fmt.Sprint(q)
		}
		return k.Name, fmt.Sprint(q)
	case k.Name == manifest.PodsName || strings.Contains(k.Name, "/") || isReadAs(k):
		return k.Name, fmt.Sprint(q)
	}
	return "fairlead.dev/" + k.Name, fmt.Sprint(q)
}

// isReadAs reports whether Open makes this kind of a resource of its name, such
// as attachable-volumes-aws-ebs.
func isReadAs(k cluster.Kind) bool {
	return slices.Contains(manifest.Maxima{k.Name: 0}.Kinds(nil), k)
}

// rules turns the task's requirements and preferences back into node affinity and tolerations.
func (w *writer) rules(r *trace.Record, spec, affinity fields) error {
	tolerates := func(string) bool { return true }
	var others []cluster.Requirement
	for _, q := range r.Task.Requirements {
		if q.Key != trace.Taints {
			others = append(others, q)
			continue
		}
		list := strings.Split(q.Value, "|")
		tolerates = func(text string) bool { return slices.Contains(list, text) == (q.Op == cluster.Equal) }
	}
	term, err := w.term(r, others)
	if err != nil {
		return err
	}
	preferred, tolerated, err := w.prefers(r)
	if err != nil {
		return err
	}
	node := fields{}
	if len(term.MatchExpressions)+len(term.MatchFields) > 0 {
		node["requiredDuringSchedulingIgnoredDuringExecution"] = manifest.NodeSelector{NodeSelectorTerms: []manifest.NodeTerm{term}}
	}
	if len(preferred) > 0 {
		node["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
	}
	if len(node) > 0 {
		affinity["nodeAffinity"] = node
	}
	exact := true
	if len(w.taints) > 0 {
		var hard []manifest.Toleration
		hard, exact = w.tolerations(tolerates)
		tolerated = append(hard, tolerated...)
	}
	if len(w.taints)+len(w.soft) > 0 {
		slices.SortFunc(tolerated, func(a, b manifest.Toleration) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Effect, b.Effect))
		})
		spec["tolerations"] = tolerated
	}
	if !exact {
		return w.refuse(r, "taints that are tolerated one by one and not together")
	}
	return nil
}

// term turns requirements back into a term.
func (w *writer) term(r *trace.Record, all []cluster.Requirement) (term manifest.NodeTerm, err error) {
	for i, q := range all {
		list := strings.Split(q.Value, "|")
		switch {
		case q.Key == manifest.NameKey && q.Op == cluster.Equal:
			term.MatchFields = append(term.MatchFields, manifest.Expression{Key: q.Key, Operator: manifest.OpIn, Values: list})
			continue
		case q.Key == manifest.NameKey && q.Op == cluster.NotEqual:
			term.MatchFields = append(term.MatchFields, manifest.Expression{Key: q.Key, Operator: manifest.OpNotIn, Values: list})
			continue
		case i > 0 && compares(all[i-1], q):
			continue
		}
		following := cluster.Requirement{}
		if i+1 < len(all) {
			following = all[i+1]
		}
		es, ok := expressions(q, following)
		if !ok {
			if err := w.refuse(r, "requirements that a missing label meets"); err != nil {
				return term, err
			}
		}
		term.MatchExpressions = append(term.MatchExpressions, es...)
	}
	return term, nil
}

// compares reports whether the second requirement is there so that the first
// compares no label that is missing, as translator.expression has it.
func compares(first, second cluster.Requirement) bool {
	return (first.Op == cluster.Less || first.Op == cluster.Greater) && first.Key == second.Key &&
		second.Op == cluster.NotEqual && strings.HasPrefix(second.Value+"|", "|") &&
		!slices.ContainsFunc(strings.Split(second.Value, "|"), manifest.IsInteger)
}

// expressions say what a requirement says, if expressions can.
func expressions(q, following cluster.Requirement) ([]manifest.Expression, bool) {
	list := strings.Split(q.Value, "|")
	missing := slices.Contains(list, "")
	list = slices.DeleteFunc(list, func(v string) bool { return v == "" })
	for i, v := range list {
		list[i] = strings.TrimPrefix(v, manifest.EmptyValue)
	}
	switch {
	case q.Op == cluster.Equal && !missing:
		return []manifest.Expression{{Key: q.Key, Operator: manifest.OpIn, Values: list}}, true
	case q.Op == cluster.Equal && len(list) == 0:
		return []manifest.Expression{{Key: q.Key, Operator: manifest.OpDoesNotExist}}, true
	case q.Op == cluster.NotEqual && !missing:
		return []manifest.Expression{{Key: q.Key, Operator: manifest.OpNotIn, Values: list}}, true
	case q.Op == cluster.NotEqual && len(list) == 0:
		return []manifest.Expression{{Key: q.Key, Operator: manifest.OpExists}}, true
	case q.Op == cluster.NotEqual:
		return []manifest.Expression{{Key: q.Key, Operator: manifest.OpExists}, {Key: q.Key, Operator: manifest.OpNotIn, Values: list}}, true
	case q.Op == cluster.Greater && (manifest.Integer(q.Value) >= 0 || compares(q, following)):
		return []manifest.Expression{{Key: q.Key, Operator: manifest.OpGt, Values: list}}, true
	case q.Op == cluster.Less && (manifest.Integer(q.Value) <= 0 || compares(q, following)):
		return []manifest.Expression{{Key: q.Key, Operator: manifest.OpLt, Values: list}}, true
	}
	return nil, false
}

// tolerations tolerate the taints of the sets that are tolerated. They are exact
// if every other set has a taint that is not among these: a set of taints that
// are tolerated one by one is tolerated too.
func (w *writer) tolerations(tolerates func(string) bool) (all []manifest.Toleration, exact bool) {
	tolerated := map[manifest.Taint]bool{}
	for text, set := range w.taints {
		if !tolerates(text) {
			continue
		}
		for _, x := range set {
			tolerated[x] = true
		}
	}
	exact = true
	for text, set := range w.taints {
		left := slices.ContainsFunc(set, func(x manifest.Taint) bool { return !tolerated[x] })
		exact = exact && (left || tolerates(text))
	}
	for x := range tolerated {
		all = append(all, manifest.Toleration{Key: x.Key, Operator: "Equal", Value: x.Value, Effect: x.Effect})
	}
	return all, exact
}
