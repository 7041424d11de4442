package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file replays moves. Before each it asks whether the pod may leave, by who made it and by its budgets, and whether the
// scheduler would let it come to the other node, once it has left.

type answer struct {
	Goal  string
	Done  []struct{ Node string }
	Left  []struct{ Node string }
	Moves []struct{ Pod, From, To string }
	Bound int
}

type pod struct {
	*object

	requests map[string]float64
}

type cluster struct {
	objects []*object
	nodes   map[string]*object
	pods    map[string]*pod
	on      map[string]map[string]*pod // by node
	wrong   []error                    // quantities that are not understood
}

func newCluster(objects []*object) *cluster {
	c := &cluster{objects: objects, nodes: map[string]*object{}, pods: map[string]*pod{}, on: map[string]map[string]*pod{}}
	for _, o := range objects {
		switch o.Kind {
		case "Node":
			if o.Spec.Unschedulable {
				o.Spec.Taints = append(o.Spec.Taints, taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"})
			}
			for _, condition := range o.Status.Conditions {
				if condition.Type == "Ready" && condition.Status != "True" {
					o.Spec.Taints = append(o.Spec.Taints, taint{Key: "node.kubernetes.io/not-ready", Effect: "NoExecute"})
				}
			}
			c.nodes[o.Metadata.Name], c.on[o.Metadata.Name] = o, map[string]*pod{}
		case "Pod":
			c.pods[o.name()] = &pod{object: o, requests: c.requests(o)}
		}
	}
	for name, p := range c.pods {
		if on := c.on[p.Spec.NodeName]; on != nil {
			on[name] = p
		}
	}
	return c
}

// requests are what the scheduler reserves: the sum of containers and sidecars, or what those that start before them take, if that
// is more.
func (c *cluster) requests(o *object) map[string]float64 {
	sum := map[string]float64{"pods": 1000}
	add := func(to map[string]float64, of *container) {
		for kind, text := range of.Resources.Requests {
			q, err := quantity(text)
			if err != nil {
				c.wrong = append(c.wrong, fmt.Errorf("%s: %w", o.name(), err))
			}
			to[kind] += q
		}
	}
	for i := range o.Spec.Containers {
		add(sum, &o.Spec.Containers[i])
	}
	sidecars, most := map[string]float64{}, map[string]float64{}
	for i := range o.Spec.InitContainers {
		init := &o.Spec.InitContainers[i]
		if init.RestartPolicy == "Always" {
			add(sidecars, init)
			add(sum, init)
			continue
		}
		own := map[string]float64{}
		add(own, init)
		for kind, q := range own {
			most[kind] = max(most[kind], q+sidecars[kind])
		}
	}
	for kind, q := range most {
		sum[kind] = max(sum[kind], q)
	}
	return sum
}

// replay says which move is the first that is not safe.
func (c *cluster) replay(a *answer) error {
	for i, m := range a.Moves {
		p, to := c.pods[m.Pod], c.nodes[m.To]
		if p == nil || to == nil || p.Spec.NodeName != m.From || m.From == m.To {
			return fmt.Errorf("move %d: there is no pod %s that could move from %s to %s", i+1, m.Pod, m.From, m.To)
		}
		err := c.mayLeave(p)
		delete(c.on[m.From], m.Pod)
		p.Spec.NodeName = ""
		if err == nil {
			err = c.mayCome(p, to)
		}
		if err != nil {
			return fmt.Errorf("move %d, %s from %s to %s: %w", i+1, m.Pod, m.From, m.To, err)
		}
		c.on[m.To][m.Pod], p.Spec.NodeName = p, m.To
	}
	for _, n := range a.Done {
		for name, p := range c.on[n.Node] {
			if a.Goal != "level" && p.owner() != "DaemonSet" && p.owner() != "Node" {
				return fmt.Errorf("node %s is done, and runs %s", n.Node, name)
			}
		}
	}
	if len(a.Left) < a.Bound {
		return fmt.Errorf("%d nodes are left, and %d are said to be inevitable", len(a.Left), a.Bound)
	}
	return errors.Join(c.wrong...)
}

// mayLeave says why the pod may not be evicted: nobody would make it again, or a budget would be broken while it is gone.
func (c *cluster) mayLeave(p *pod) error {
	if owner := p.owner(); owner == "" || owner == "DaemonSet" || owner == "Node" {
		return fmt.Errorf("pods of %q never move", owner)
	}
	budgets := 0
	for _, b := range c.objects {
		if b.Kind != "PodDisruptionBudget" || b.Metadata.Namespace != p.Metadata.Namespace || !b.Spec.Selector.matches(p.Metadata.Labels) {
			continue
		}
		run, all := 0, 0
		for _, other := range c.pods {
			if other.Metadata.Namespace == b.Metadata.Namespace && b.Spec.Selector.matches(other.Metadata.Labels) {
				all++
				if other.Spec.NodeName != "" {
					run++
				}
			}
		}
		if least := c.least(b, p, all); run-1 < least {
			return fmt.Errorf("budget %s wants %d of its pods to run, %d do", b.name(), least, run)
		}
		budgets++
	}
	if budgets > 1 {
		return errors.New("no pod of several budgets can be evicted")
	}
	return nil
}

// least is how many pods the budget wants to run, of so many as there are to be: as their maker says, or as many as there are.
func (c *cluster) least(b *object, p *pod, all int) int {
	for _, o := range c.objects {
		if o.Spec.Replicas != nil && o.Kind == p.owner() && o.Metadata.Namespace == p.Metadata.Namespace && strings.HasPrefix(p.Metadata.Name, o.Metadata.Name+"-") {
			all = *o.Spec.Replicas
		}
	}
	if b.Spec.MaxUnavailable != nil {
		return all - share(b.Spec.MaxUnavailable, all)
	}
	return share(b.Spec.MinAvailable, all)
}

// share is a number, or a part of all, rounded up.
func share(of any, all int) int {
	text := fmt.Sprint(of)
	if percent, is := strings.CutSuffix(text, "%"); is {
		n, _ := strconv.Atoi(percent)
		return int(math.Ceil(float64(n*all) / 100))
	}
	n, _ := strconv.Atoi(text)
	return n
}

// mayCome says what keeps the pod off the node.
func (c *cluster) mayCome(p *pod, n *object) error {
	for kind, q := range p.requests {
		left, err := quantity(orZero(n.Status.Allocatable[kind]))
		if err != nil {
			return err
		}
		for _, other := range c.on[n.Metadata.Name] {
			left -= other.requests[kind]
		}
		if q > left {
			return fmt.Errorf("needs %g of %s, left are %g (in thousandths)", q, kind, left)
		}
	}
	for key, value := range p.Spec.NodeSelector {
		if n.Metadata.Labels[key] != value {
			return fmt.Errorf("wants the label %s=%s", key, value)
		}
	}
	if !p.Spec.Affinity.NodeAffinity.Required.matches(n) {
		return errors.New("its node affinity matches others")
	}
	for _, t := range n.Spec.Taints {
		if t.Effect != "PreferNoSchedule" && !slices.ContainsFunc(p.Spec.Tolerations, func(by toleration) bool { return by.tolerates(t) }) {
			return fmt.Errorf("does not tolerate the taint %s=%s", t.Key, t.Value)
		}
	}
	if port := c.takenPort(p, n); port != "" {
		return fmt.Errorf("the host port %s is taken", port)
	}
	return errors.Join(c.reaches(p, n), c.company(p, n), c.evenly(p, n))
}

func orZero(text string) string {
	if text == "" {
		return "0"
	}
	return text
}

// takenPort is a host port of the pod that another pod of the node has.
func (c *cluster) takenPort(p *pod, n *object) string {
	taken := map[string]bool{}
	each := func(of *pod, do func(port string)) {
		for _, container := range of.Spec.Containers {
			for _, port := range container.Ports {
				if port.HostPort > 0 {
					do(fmt.Sprint(port.HostPort, port.Protocol))
				}
			}
		}
	}
	for _, other := range c.on[n.Metadata.Name] {
		each(other, func(port string) { taken[port] = true })
	}
	found := ""
	each(p, func(port string) {
		if taken[port] {
			found = port
		}
	})
	return found
}

// reaches says which volume the node does not reach.
func (c *cluster) reaches(p *pod, n *object) error {
	for _, v := range p.Spec.Volumes {
		for _, claim := range c.objects {
			if claim.Kind != "PersistentVolumeClaim" || claim.Metadata.Name != v.PersistentVolumeClaim.ClaimName || claim.Metadata.Namespace != p.Metadata.Namespace {
				continue
			}
			for _, volume := range c.objects {
				if volume.Kind == "PersistentVolume" && volume.Metadata.Name == claim.Spec.VolumeName && !volume.reachedFrom(n) {
					return fmt.Errorf("the volume %s is out of reach", volume.Metadata.Name)
				}
			}
		}
	}
	return nil
}

// reachedFrom reports whether a volume's node affinity matches, and the labels of zone and region that it has.
func (o *object) reachedFrom(n *object) bool {
	for _, key := range []string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region"} {
		if zone, has := o.Metadata.Labels[key]; has && !slices.Contains(strings.Split(zone, "__"), n.Metadata.Labels[key]) {
			return false
		}
	}
	return o.Spec.NodeAffinity.Required.matches(n)
}
