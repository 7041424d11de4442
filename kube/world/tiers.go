package world

import (
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// This file keeps pods to the tier of nodes that their class asks for: labels that a node must have. Upstream's filters know of no classes; so a pod is shown to them, and to all else that decides, as if its own node selector said that too, and reasons name the label.

// dress has the pod select the tier of the class that it would have.
func (c *classes) dress(p *Pod) {
	if tier := c.rowOf(p).manner.Tier; !maps.Equal(tier, p.tier) {
		p.tier = tier
		p.object = p.dressed(p.seen)
		p.refresh(false)
	}
}

// dressed is the object as if it selected the pod's tier.
func (p *sight) dressed(object *v1.Pod) *v1.Pod {
	if len(p.tier) == 0 {
		return object
	}
	selects := labels.Merge(object.Spec.NodeSelector, p.tier)
	with := *object
	with.Spec.NodeSelector = selects
	return &with
}

// torn says that the pod selects other nodes than those of its tier; empty if it does not.
func (c *classes) torn(p *Pod) string {
	for _, key := range sortedKeys(p.tier) {
		if own, selects := p.seen.Spec.NodeSelector[key]; selects && own != p.tier[key] {
			return fmt.Sprintf("the tier of ServiceClass %s wants %s=%s, and its nodeSelector %s=%s: no node has both", c.rowOf(p).class.Name, key, p.tier[key], key, own)
		}
	}
	return ""
}

// TierOf says which tier of nodes a pod is kept to by its class; empty if it may use any.
func TierOf(w *World, p *Pod) string {
	if len(p.tier) == 0 {
		return ""
	}
	why := fmt.Sprintf("the tier of ServiceClass %s wants %s", w.slots.classes.rowOf(p).class.Name, p.tier)
	if _, asks := p.tier[ReputationLabel]; asks && w.nodes.reputations.at != nil {
		why += "; " + w.nodes.reputations.report()
	}
	return why
}
