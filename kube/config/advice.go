package config

import (
	"slices"

	"fairlead.dev/fairlead/internal/document"
)

// advice says what to do about a field that does not exist.
func advice(name string, names []string) string {
	if why := foreign(name); why != "" {
		return why
	}
	return document.Meant(name, slices.Sorted(slices.Values(names)))
}

// strayed says what to do about a field of kube-scheduler's configuration that it and ours do not both have.
func strayed(name string, both, ours []string) string {
	if slices.Contains(ours, name) {
		return "it is Fairlead's own; write apiVersion: " + APIVersion + " and kind: " + Kind + " to use it (--write-config-to writes what this file means as such a one)"
	}
	return advice(name, both)
}

// foreign says why a field of kube-scheduler's configuration is not one of
// ours. These are what people bring along.
func foreign(name string) string {
	switch name {
	case "parallelism":
		return "it is kube-scheduler's; Fairlead decides in one thread, so remove it, and see bindWorkers for binds"
	case "percentageOfNodesToScore":
		return "it is kube-scheduler's; Fairlead considers every node, so remove it"
	case "plugins", "pluginConfig":
		return "it is kube-scheduler's; Fairlead runs upstream's filters as they come and scores by policy, so remove it and choose a policy"
	case "extenders":
		return "it is kube-scheduler's; Fairlead calls no extenders, so remove it"
	case "enableContentionProfiling", "delayCacheUntilActive":
		return "it is kube-scheduler's and has no counterpart, so remove it"
	default:
		return ""
	}
}
