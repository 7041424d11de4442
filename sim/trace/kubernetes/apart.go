package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/manifest"
)

// This file is required anti-affinity. One form of it is understood: pods that
// keep each other off their nodes, as replicas do. In the model they are the
// tasks of one job of which a node may hold one. So pods whose anti-affinity
// has the same selector, which selects them, are one job, whoever owns them; and
// the selector must select nobody else.

const hostname = "kubernetes.io/hostname"

const antiAffinity = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"

// group is pods that keep each other off their nodes.
type group struct {
	namespace string
	key       string
	selector  *manifest.LabelSelector
}

// groupOf reads the anti-affinity of a pod. What of it is not understood is in
// gaps.
func groupOf(o *manifest.Object) (g *group, gaps []gap, err error) {
	for i, term := range o.Spec.Affinity.PodAntiAffinity.Required {
		at := fmt.Sprintf("%s[%d]", antiAffinity, i)
		if term.LabelSelector == nil {
			continue // it selects nothing
		}
		if err := term.LabelSelector.Check(); err != nil {
			return nil, nil, manifest.Within(at+".labelSelector", err)
		}
		own := term.NamespaceSelector == nil && !slices.ContainsFunc(term.Namespaces, func(n string) bool { return n != o.Metadata.Namespace })
		switch {
		case term.TopologyKey != hostname:
			gaps = append(gaps, gap{at + ".topologyKey", "only " + hostname + " is simulated"})
		case !own || !term.LabelSelector.Matches(o.Metadata.Labels):
			gaps = append(gaps, gap{at, "only pods that keep their like away are simulated; this selects others"})
		case g != nil:
			gaps = append(gaps, gap{at, "only one term is simulated"})
		default:
			text, err := json.Marshal(term.LabelSelector)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", at, err)
			}
			g = &group{namespace: o.Metadata.Namespace, key: o.Metadata.Namespace + "\n" + string(text), selector: term.LabelSelector}
		}
	}
	return g, gaps, nil
}

// checkGroups drops the groups that cannot be jobs, and says why.
func (s *Source) checkGroups() {
	members := map[string][]*pod{}
	spaces := map[string][]*pod{}
	for i := range s.pods {
		p := &s.pods[i]
		spaces[p.namespace] = append(spaces[p.namespace], p)
		if p.group != nil {
			members[p.group.key] = append(members[p.group.key], p)
		}
	}
	alike := s.hostnames()
	for _, key := range slices.Sorted(maps.Keys(members)) {
		own := members[key]
		g, why := own[0].group, alike
		if other := outsider(spaces[g.namespace], g); why == "" && other != nil {
			why = fmt.Sprintf("it also selects pod %s, whose anti-affinity is another", other.name)
		}
		if why == "" {
			continue
		}
		for _, p := range own {
			p.group = nil
			s.gap(p.file, p.name, gap{antiAffinity, why})
		}
	}
}

// outsider returns a pod that the group selects and that is not of it.
func outsider(pods []*pod, g *group) *pod {
	selected := map[string]bool{} // by labels, as replicas have the same
	for _, p := range pods {
		if p.group != nil && p.group.key == g.key {
			continue
		}
		matches, known := selected[p.labelsKey]
		if !known {
			matches = g.selector.Matches(p.labels)
			selected[p.labelsKey] = matches
		}
		if matches {
			return p
		}
	}
	return nil
}

// hostnames says which node cannot be told from others by its hostname.
func (s *Source) hostnames() string {
	seen := map[string]bool{}
	for _, n := range s.nodes {
		name, there := n.labels[hostname]
		if !there || seen[name] {
			return fmt.Sprintf("node %s has no label %s of its own", n.name, hostname)
		}
		seen[name] = true
	}
	return ""
}

// labelsKey is the same for the same labels.
func labelsKey(labels map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&b, "%s=%s,", key, labels[key])
	}
	return b.String()
}
