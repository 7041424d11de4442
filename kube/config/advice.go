package config

import (
	"fmt"
	"slices"
	"strings"
)

// advice says what to do about a field that does not exist.
func advice(name string, names []string) string {
	if why := foreign(name); why != "" {
		return why
	}
	return nearest(name, names)
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

// nearest names what was probably meant, or else all there is.
func nearest(name string, names []string) string {
	lower := strings.ToLower(name)
	var near []string
	for _, candidate := range names {
		other := strings.ToLower(candidate)
		d := distance(lower, other)
		if d <= 2 && d < len(other) || len(lower) > 2 && strings.HasPrefix(other, lower) {
			near = append(near, candidate)
		}
	}
	if len(near) > 0 {
		return fmt.Sprintf("did you mean %s?", strings.Join(near, " or "))
	}
	return "there are " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// distance is how many letters must be changed, added or taken away to turn a
// into b. Names longer than any of ours are simply far.
func distance(a, b string) int {
	if len(a) > 100 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
