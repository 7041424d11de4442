package kubernetes

import (
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the nodes on which pods would rather be, by preferred node affinity, and on which they had rather not be, by
// taints PreferNoSchedule that they do not tolerate. Both become preferences for nodes that meet requirements: an affinity with
// its weight, a taint with the largest weight there is, against it.

// preferences are those that the rules come to.
func (t *translator) preferences(r *rules) (all []trace.Preference) {
	if r.Static != "" {
		return nil
	}
	for i := range r.Prefers {
		if wanted := t.term(&r.Prefers[i].Preference); len(wanted) > 0 { // a term without any is met nowhere
			all = append(all, trace.Preference{Requirements: wanted, Weight: r.Prefers[i].Weight})
		}
	}
	for _, x := range t.soft {
		if !manifest.Tolerated([]manifest.Taint{x}, r.Tolerations) {
			has := cluster.Requirement{Key: trace.SoftTaint + x.String(), Op: cluster.Equal, Value: yes}
			all = append(all, trace.Preference{Requirements: []cluster.Requirement{has}, Weight: -cluster.MostPreference})
		}
	}
	return all
}

// prefers turns the task's preferences back into preferred node affinity and tolerations of soft taints.
func (w *writer) prefers(r *trace.Record) (terms []manifest.WeightedNodeTerm, tolerates []manifest.Toleration, err error) {
	against := map[string]bool{}
	for _, p := range r.Task.Prefers {
		key := p.Requirements[0].Key
		switch {
		case p.Weight == -cluster.MostPreference && len(p.Requirements) == 1 && w.soft[key] != manifest.Taint{}:
			against[key] = true
		case p.Weight < 0:
			if err := w.refuse(r, "preferences against nodes for other reasons than taints"); err != nil {
				return nil, nil, err
			}
		default:
			term, err := w.term(r, p.Requirements)
			if err != nil {
				return nil, nil, err
			}
			terms = append(terms, manifest.WeightedNodeTerm{Weight: p.Weight, Preference: term})
		}
	}
	for key, x := range w.soft {
		if !against[key] {
			tolerates = append(tolerates, manifest.Toleration{Key: x.Key, Operator: "Equal", Value: x.Value, Effect: x.Effect})
		}
	}
	return terms, tolerates, nil
}

// softTaint is the taint that the label of the model stands for, if it stands for one.
func (w *writer) softTaint(l cluster.Label) (x manifest.Taint, is bool) {
	text, is := strings.CutPrefix(l.Key, trace.SoftTaint)
	if is {
		x = taintOf(text)
		w.soft[l.Key] = x
	}
	return x, is
}
