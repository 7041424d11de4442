package kubernetes

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is preferences for those who place one pod at a time: soft constraints that bind who comes, as Kubernetes' scores do. Workloads which
// prefer the same share one. They bind pods that run, too: in Kubernetes what those prefer counts for who comes.
//
// Policies that score as kube-scheduler does read weights and skews off these constraints, so their form is fixed: an affinity is
// one bound of at least 1, an anti-affinity one bound of 0, and a spread one bound of maxSkew over the fewest.

// wish is a preferred term of a workload.
type wish struct {
	target []string
	key    string
	weight int32
}

// preferAlike is preferred affinity and anti-affinity.
func preferAlike(t *translator) {
	for _, away := range []bool{false, true} {
		var all alike
		wishes := map[string]wish{}
		for i := range t.cluster.Workloads {
			for _, one := range wishesOf(t, i, away) {
				text, _ := all.add(i, append(slices.Clone(one.target), "", one.key, fmt.Sprint(one.weight))...)
				wishes[text] = one
			}
		}
		for _, text := range all.texts {
			one, field, least, most := wishes[text], "preferred podAffinity", int32(1), cluster.Unbounded
			if away {
				field, least, most = "preferred podAntiAffinity", 0, 0
			}
			r := t.rule(field, all.members[text])
			want(t, &r, cluster.Bound{Subject: r.subject, Target: one.target, Min: least, Max: most, Group: t.topology(one.key)}, int64(one.weight)*weightOfPreference)
		}
	}
}

// wishesOf are the preferred terms of a workload, those that ask for the same as one with the sum of their weights.
func wishesOf(t *translator, i int, away bool) (all []wish) {
	w := &t.cluster.Workloads[i]
	preferred := w.Spec.Affinity.PodAffinity.Preferred
	if away {
		preferred = w.Spec.Affinity.PodAntiAffinity.Preferred
	}
	for k := range preferred {
		term := &preferred[k].PodAffinityTerm
		by := t.selectorOf(w, term)
		if by.none {
			continue
		}
		one := wish{t.target(by), term.TopologyKey, preferred[k].Weight}
		at := slices.IndexFunc(all, func(o wish) bool { return o.key == one.key && slices.Equal(o.target, one.target) })
		if at < 0 {
			all = append(all, one)
		} else {
			all[at].weight += one.weight
		}
	}
	return all
}

// want adds the soft constraint of a rule.
func want(t *translator, r *rule, b cluster.Bound, weight int64) {
	t.Constraints = append(t.Constraints, cluster.Constraint{
		Name: r.name, Owner: t.cluster.Workloads[r.members[0]].Application, Any: [][]cluster.Bound{{b}}, Weight: weight, Arriving: true,
	})
}
