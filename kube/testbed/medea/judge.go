package medea

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

// This file judges constraints by nothing but what the API server says of nodes, pods and constraints, and shares no code with the scheduler that placed the pods, nor with what it says of them.
//
// A violation is avoidable if its constraint is hard, or if some node has room for one pod, so that with it there fewer constraints would be violated, and no more hard ones: the pod that is bound or, where every set is, any of those that are counted.

// Stands is how a constraint stands.
type Stands struct {
	Object *v1alpha1.PlacementConstraint
	// Bound is how many pods it binds, or sets, once for each bound of the alternative that is violated least; for Violating of them it does not hold, and Avoidable of these need not be.
	Bound, Violating, Avoidable int
}

// Judge says how the constraints stand, in their order. Pods that have ended do not count.
func Judge(nodes []corev1.Node, pods []corev1.Pod, objects []v1alpha1.PlacementConstraint) ([]Stands, error) {
	pods = slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.Spec.NodeName == ""
	})
	row := map[string]int{}
	for i := range nodes {
		row[nodes[i].Name] = i
	}
	free := roomOf(nodes)
	for i := range pods {
		at, known := row[pods[i].Spec.NodeName]
		if !known {
			return nil, fmt.Errorf("pod %s/%s is on node %s, which there is not", pods[i].Namespace, pods[i].Name, pods[i].Spec.NodeName)
		}
		free[at] = free[at].without(requests(&pods[i]))
	}
	courts := map[string]*court{}
	stands := make([]Stands, len(objects))
	for i := range objects {
		o := &objects[i]
		c := courts[o.Namespace]
		if c == nil {
			c = &court{nodes: nodes, free: free}
			for j := range pods {
				if pods[j].Namespace == o.Namespace {
					c.pods, c.at = append(c.pods, &pods[j]), append(c.at, row[pods[j].Spec.NodeName])
				}
			}
			courts[o.Namespace] = c
		}
		l, err := c.read(&o.Spec.Constraint)
		if err != nil {
			return nil, fmt.Errorf("constraint %s/%s: %w", o.Namespace, o.Name, err)
		}
		l.stands = &stands[i]
		l.stands.Object = o
		c.laws = append(c.laws, l)
	}
	for _, c := range courts {
		c.judge()
	}
	return stands, nil
}

// court judges the constraints of a namespace, which bind and count its pods alone.
type court struct {
	nodes []corev1.Node
	free  []room
	pods  []*corev1.Pod
	at    []int // by pod: its node
	laws  []law
	helps map[int]bool // by pod: whether fewer would be violated with it elsewhere
}

// law is a constraint that has been read.
type law struct {
	hard   bool
	any    [][]clause
	stands *Stands
}

// clause is a bound.
type clause struct {
	subject, target []bool // by pod; no subject where every set is bound
	setOf           []int  // by node: its set; nowhere if it is in none
	sets            int
	least, most     int
	counted         bool
}

const nowhere = -1

// read reads a constraint in fields.
func (c *court) read(of *v1alpha1.Constraint) (l law, err error) {
	if len(of.AnyOf) == 0 {
		return l, fmt.Errorf("%q is a text, and only fields are judged", of.Text)
	}
	l.hard = of.Hard
	for i := range of.AnyOf {
		var all []clause
		for j := range of.AnyOf[i].AllOf {
			b := &of.AnyOf[i].AllOf[j]
			if b.NodeGroup != "" {
				return l, fmt.Errorf("it names the node group %s, and only keys of labels are judged", b.NodeGroup)
			}
			one := clause{most: len(c.pods), counted: b.Counted}
			if b.Min != nil {
				one.least = int(*b.Min)
			}
			if b.Max != nil {
				one.most = int(*b.Max)
			}
			if b.Subject != nil {
				if one.subject, err = c.selected(b.Subject); err != nil {
					return l, err
				}
			}
			if one.target, err = c.selected(&b.Target); err != nil {
				return l, err
			}
			one.setOf, one.sets = c.sets(b.TopologyKey)
			all = append(all, one)
		}
		l.any = append(l.any, all)
	}
	return l, nil
}

// selected says which pods a selector selects.
func (c *court) selected(by *metav1.LabelSelector) ([]bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(by)
	if err != nil {
		return nil, err
	}
	is := make([]bool, len(c.pods))
	for i, p := range c.pods {
		is[i] = selector.Matches(labels.Set(p.Labels))
	}
	return is, nil
}

// sets are those that the values of a label make of the nodes.
func (c *court) sets(key string) (of []int, count int) {
	of = make([]int, len(c.nodes))
	known := map[string]int{}
	for i := range c.nodes {
		value, has := c.nodes[i].Labels[key]
		if !has {
			of[i] = nowhere
			continue
		}
		if _, seen := known[value]; !seen {
			known[value] = len(known)
		}
		of[i] = known[value]
	}
	return of, len(known)
}

// violating calls blame with each pod, or set, for which the clause does not hold, and returns how many are bound.
func (c *court) violating(of *clause, blame func(who int)) (bound int) {
	count := make([]int, of.sets)
	for i, node := range c.at {
		if set := of.setOf[node]; of.target[i] && set != nowhere {
			count[set]++
		}
	}
	if of.subject == nil {
		for set, n := range count {
			if n < of.least || n > of.most {
				blame(set)
			}
		}
		return of.sets
	}
	for i, node := range c.at {
		if !of.subject[i] {
			continue
		}
		bound++
		n := 0
		if set := of.setOf[node]; set != nowhere {
			n = count[set]
			if of.target[i] && !of.counted {
				n--
			}
		}
		if n < of.least || n > of.most {
			blame(i)
		}
	}
	return bound
}

// chosen is the alternative that is violated least, how many it binds, and for how many of them it does not hold.
func (c *court) chosen(l *law) (alternative []clause, bound, violating int) {
	for i, all := range l.any {
		binds, broken := 0, 0
		for j := range all {
			binds += c.violating(&all[j], func(int) { broken++ })
		}
		if i == 0 || broken < violating {
			alternative, bound, violating = all, binds, broken
		}
	}
	return alternative, bound, violating
}

// sum is how many violations there are, and how many of hard constraints.
func (c *court) sum() (all, hard int) {
	for i := range c.laws {
		_, _, violating := c.chosen(&c.laws[i])
		all += violating
		if c.laws[i].hard {
			hard += violating
		}
	}
	return all, hard
}

// judge says how each constraint stands.
func (c *court) judge() {
	c.helps = map[int]bool{}
	for i := range c.laws {
		l := &c.laws[i]
		alternative, bound, violating := c.chosen(l)
		l.stands.Bound, l.stands.Violating = bound, violating
		for j := range alternative {
			var blamed []int
			c.violating(&alternative[j], func(who int) { blamed = append(blamed, who) })
			for _, who := range blamed {
				if l.hard || c.avoidable(&alternative[j], who) {
					l.stands.Avoidable++
				}
			}
		}
	}
}

// avoidable reports whether fewer would be violated with one pod elsewhere, of those whom a violation concerns.
func (c *court) avoidable(of *clause, who int) bool {
	if of.subject != nil {
		return c.wouldHelp(who)
	}
	for pod, counts := range of.target {
		if counts && c.wouldHelp(pod) {
			return true
		}
	}
	return false
}

// wouldHelp reports whether some node has room for the pod on which there would be fewer violations with it.
func (c *court) wouldHelp(pod int) bool {
	if known, looked := c.helps[pod]; looked {
		return known
	}
	is, all, hard := c.at[pod], 0, 0
	all, hard = c.sum()
	defer func() { c.at[pod] = is }()
	needs := requests(c.pods[pod])
	for node := range c.nodes {
		if node == is || !needs.fits(c.free[node]) {
			continue
		}
		c.at[pod] = node
		if then, hardly := c.sum(); then < all && hardly <= hard {
			c.helps[pod] = true
			return true
		}
	}
	c.helps[pod] = false
	return false
}

// room is thousandths of cores, bytes of memory, and pods.
type room struct{ cpu, memory, pods int64 }

func roomIn(list corev1.ResourceList) room {
	return room{list.Cpu().MilliValue(), list.Memory().Value(), list.Pods().Value()}
}

// roomOf is what nodes offer.
func roomOf(nodes []corev1.Node) []room {
	free := make([]room, len(nodes))
	for i := range nodes {
		free[i] = roomIn(nodes[i].Status.Allocatable)
	}
	return free
}

// requests is what a pod asks for.
func requests(p *corev1.Pod) room {
	sum := room{pods: 1}
	for i := range p.Spec.Containers {
		one := roomIn(p.Spec.Containers[i].Resources.Requests)
		sum.cpu, sum.memory = sum.cpu+one.cpu, sum.memory+one.memory
	}
	return sum
}

func (r room) without(o room) room { return room{r.cpu - o.cpu, r.memory - o.memory, r.pods - o.pods} }

func (r room) fits(in room) bool {
	return r.cpu <= in.cpu && r.memory <= in.memory && r.pods <= in.pods
}
