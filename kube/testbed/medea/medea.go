// Package medea brings applications of the shapes of Medea (EuroSys 2018) to a bed, and judges how they stand there.
//
// They are those that constraint/planted draws: applications like HBase, TensorFlow, Storm, memcached and web servers, groups of which are tied to one another, on nodes in racks that other work has taken in part, and of which a placement that
// violates nothing is known. Here each is a number of pods, and what it asks for are PlacementConstraints of the namespace that it shares with those to which it is tied. What is asked of single nodes, cardinality and anti-affinity, is hard, as whoever
// finds no such node may wait; what is asked of racks and upgrade domains, and company, is soft.
//
// Pods may be of ReplicaSets, one for each kind of an application's pods. Otherwise nobody would make another in place of one that is moved, so that none is, and what is judged is how they were placed.
package medea

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

// Options say what is drawn. Equal ones give equal workloads.
type Options struct {
	Nodes, Applications int
	// Utilisation is what part of the nodes applications and other work take together, in thousandths.
	Utilisation int64
	// Tied is how many applications are tied to one another.
	Tied int
	Seed uint64
	// Scheduler is the schedulerName of the applications' pods.
	Scheduler string
	// Owned has ReplicaSets make these pods, so that one that is moved comes again. A controller must be there for that.
	Owned bool
}

// Workload is nodes, other work on them, and applications that are to come.
type Workload struct {
	drawn        *planted.Instance
	scheduler    string
	owned        bool // ReplicaSets make the pods
	unbound      bool // by constraints, which were taken away
	applications []application
}

// application is one of them.
type application struct {
	name, namespace string
	first           int32 // of its containers, as they were drawn
	constraints     []*v1alpha1.PlacementConstraint
	names           []string // applications that these name
	pods            []*corev1.Pod
}

// Labels of nodes, and of the pods of applications.
const (
	prefix        = "testbed.fairlead.dev/"
	rack          = prefix + "rack"
	upgradeDomain = prefix + "upgrade-domain"
	member        = prefix + "application"
	replicaSet    = prefix + "replica-set" // that makes the pod
	appLabel      = "app"                  // of the application's name
	yes           = "true"
)

// Draw draws a workload.
func Draw(o Options) (*Workload, error) {
	drawn, err := planted.Draw(planted.Options{
		Nodes: o.Nodes, Applications: o.Applications, Utilisation: o.Utilisation, InterApp: o.Tied, Seed: o.Seed,
	})
	if err != nil {
		return nil, fmt.Errorf("draw applications: %w", err)
	}
	w := &Workload{drawn: drawn, scheduler: o.Scheduler, owned: o.Owned}
	p := &drawn.Problem
	for i := range p.Applications {
		of := &p.Applications[i]
		a := application{name: of.Name, first: of.First}
		for j := range p.Constraints {
			if c := &p.Constraints[j]; c.Owner == a.name {
				a.constraints, a.names = append(a.constraints, object(c)), append(a.names, named(c)...)
			}
		}
		for c := of.First; c < of.End; c++ {
			a.pods = append(a.pods, w.pod(&a, int(c-of.First), int(p.Containers[c].Shape)))
		}
		w.applications = append(w.applications, a)
	}
	w.order()
	w.enter()
	return w, nil
}

// order has whoever names another come after it, as one names what there is.
func (w *Workload) order() {
	var ordered []application
	came := map[string]bool{}
	for left := w.applications; len(left) > 0; {
		next := slices.IndexFunc(left, func(a application) bool {
			return !slices.ContainsFunc(a.names, func(name string) bool { return name != a.name && !came[name] })
		})
		next = max(next, 0) // of a ring of names, which is not drawn, somebody has to be first
		ordered, came[left[next].name] = append(ordered, left[next]), true
		left = slices.Delete(left, next, next+1)
	}
	w.applications = ordered
}

// enter has whoever names another share a namespace with it.
func (w *Workload) enter() {
	of := map[string]string{}
	for i := range w.applications {
		of[w.applications[i].name] = fmt.Sprintf("tied-%d", i+1)
	}
	for i := range w.applications {
		for _, name := range w.applications[i].names {
			from, to := of[w.applications[i].name], of[name]
			for who, namespace := range of {
				if namespace == from {
					of[who] = to
				}
			}
		}
	}
	for i := range w.applications {
		a := &w.applications[i]
		for _, c := range a.constraints {
			c.Namespace = of[a.name]
		}
		for _, p := range a.pods {
			p.Namespace = of[a.name]
		}
		a.namespace = of[a.name]
	}
}

// Unbind takes all constraints away.
func (w *Workload) Unbind() {
	w.unbound = true
	for i := range w.applications {
		w.applications[i].constraints = nil
	}
}

// moves reports whether pods may be moved to end violations.
func (w *Workload) moves() bool { return w.owned && !w.unbound }

// Applications is how many applications there are.
func (w *Workload) Applications() int { return len(w.applications) }

// Pods is how many pods all applications have.
func (w *Workload) Pods() (sum int) {
	for i := range w.applications {
		sum += len(w.applications[i].pods)
	}
	return sum
}

// named are the applications that a constraint names.
func named(c *cluster.Constraint) (names []string) {
	for _, bounds := range c.Any {
		for i := range bounds {
			for _, tag := range bounds[i].Target {
				if name, is := strings.CutPrefix(tag, cluster.AppTag("")); is {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// pod is a pod of the application, of that shape.
func (w *Workload) pod(a *application, number, shape int) *corev1.Pod {
	labels := labelled(w.drawn.Problem.Shapes[shape].Tags)
	labels[member] = yes
	pod := newPod(fmt.Sprintf("%s-%s-%d", a.name, w.drawn.Parts[shape], number), w.drawn.Problem.Shapes[shape].Demand)
	pod.Labels, pod.Spec.SchedulerName = labels, w.scheduler
	return pod
}

// replicaSets make the pods of the application: one for those of each shape, which come one after the other.
func (w *Workload) replicaSets(a *application) (sets []*appsv1.ReplicaSet) {
	shape := int32(-1)
	for i, pod := range a.pods {
		if of := w.drawn.Problem.Containers[int(a.first)+i].Shape; of != shape {
			shape = of
			name := a.name + "-" + w.drawn.Parts[shape]
			template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(pod.Labels)}, Spec: *pod.Spec.DeepCopy()}
			template.Labels[replicaSet] = name
			template.Spec.TerminationGracePeriodSeconds = new(int64) // no kubelet says that one has ended
			sets = append(sets, &appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name},
				Spec: appsv1.ReplicaSetSpec{
					Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{replicaSet: name}}, Template: template,
				},
			})
		}
		*sets[len(sets)-1].Spec.Replicas++
	}
	return sets
}

// newPod is a pod that requests as much.
func newPod(name string, demand cluster.Vector) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(bool),
			Containers: []corev1.Container{{
				Name: "c", Image: "registry.k8s.io/pause", Resources: corev1.ResourceRequirements{Requests: quantities(demand)},
			}},
		},
	}
}

// quantities has planted kinds, thousandths of cores and bytes, as Kubernetes has them.
func quantities(v cluster.Vector) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewMilliQuantity(v[0], resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(v[1], resource.BinarySI),
	}
}

// labelled are tags as labels.
func labelled(tags []string) map[string]string {
	labels := map[string]string{}
	for _, tag := range tags {
		if name, is := strings.CutPrefix(tag, cluster.AppTag("")); is {
			labels[appLabel] = name
		} else {
			labels[tag] = yes
		}
	}
	return labels
}

// object is a constraint as an object.
func object(c *cluster.Constraint) *v1alpha1.PlacementConstraint {
	o := &v1alpha1.PlacementConstraint{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "PlacementConstraint"},
		ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(c.Name, "/", ".")},
	}
	keys := map[string]string{cluster.EachNode: corev1.LabelHostname, planted.Rack: rack, planted.UpgradeDomain: upgradeDomain}
	hard := len(c.Any) == 1
	for _, bounds := range c.Any {
		var all v1alpha1.Alternative
		for i := range bounds {
			b := &bounds[i]
			bound := v1alpha1.Bound{
				Target: metav1.LabelSelector{MatchLabels: labelled(b.Target)}, Min: new(b.Min), TopologyKey: keys[b.Group], Counted: b.SelfCounted,
				EverySet: len(b.Subject) == 0,
			}
			if !bound.EverySet {
				bound.Subject = &metav1.LabelSelector{MatchLabels: labelled(b.Subject)}
			}
			if b.Max != cluster.Unbounded {
				bound.Max = new(b.Max)
			}
			hard = hard && b.Group == cluster.EachNode && b.Min == 0
			all.AllOf = append(all.AllOf, bound)
		}
		o.Spec.Constraint.AnyOf = append(o.Spec.Constraint.AnyOf, all)
	}
	o.Spec.Constraint.Hard = hard
	return o
}

// vary makes a node of the bed that with the number.
func (w *Workload) vary(i int, node *corev1.Node) {
	of := &w.drawn.Problem.Nodes[i]
	maps.Copy(node.Status.Capacity, quantities(of.Capacity))
	node.Status.Allocatable = node.Status.Capacity
	for _, g := range w.drawn.Problem.Groups {
		switch g.Name {
		case planted.Rack:
			node.Labels[rack] = g.Sets[g.SetOf[i]]
		case planted.UpgradeDomain:
			node.Labels[upgradeDomain] = g.Sets[g.SetOf[i]]
		}
	}
}

// others are pods for what other work has taken, each on its node already; nodes are named so by their number.
func (w *Workload) others(nodes []string) (pods []*corev1.Pod) {
	for i, name := range nodes {
		of := &w.drawn.Problem.Nodes[i]
		taken := cluster.Vector{of.Capacity[0] - of.Free[0], of.Capacity[1] - of.Free[1]}
		if taken[0] <= 0 && taken[1] <= 0 {
			continue
		}
		pod := newPod(fmt.Sprintf("other-%05d", i), taken)
		pod.Spec.SchedulerName, pod.Spec.NodeName = "other", name
		pods = append(pods, pod)
	}
	return pods
}
