package judge

// The profile is upstream's default configuration, minus what is not about feasibility or is decided by Fairlead's own policies. It is written as
// what is left out, so that a filter which a later Kubernetes adds to its default profile becomes active here without a change.

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

type profileBuilder func() (*config.KubeSchedulerProfile, error)

// leftOut are default plugins that the judge does not run: gates and gangs are handled before a pod gets here, preemption and the balance of resources
// are policies of Fairlead's core, and image locality would need every node's images.
func leftOut() []string {
	return []string{
		names.SchedulingGates, names.DefaultPreemption, names.DeferredPodScheduling,
		names.GangScheduling, names.TopologyPlacementGenerator, names.PodGroupPodsCount,
		names.NodeResourcesBalancedAllocation, names.ImageLocality,
	}
}

// nodeLocal are the filters whose result depends on the pod's own spec and the node object alone. PrioritySort and DefaultBinder never run; upstream
// refuses to build a framework without them.
func nodeLocal() []string {
	return []string{
		names.PrioritySort, names.DefaultBinder,
		names.NodeName, names.NodeUnschedulable, names.TaintToleration, names.NodeAffinity, names.NodeDeclaredFeatures,
	}
}

// fullProfile has every filter of upstream's default configuration. It scores taints, node affinity, spread, pod affinity and volumes, but not resources:
// how full a node should be is for Fairlead's policies to decide.
func fullProfile() (*config.KubeSchedulerProfile, error) {
	profile, err := defaultProfile("fairlead")
	if err != nil {
		return nil, err
	}
	drop := leftOut()
	profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(p config.Plugin) bool {
		return slices.Contains(drop, p.Name)
	})
	resources := []config.Plugin{{Name: names.NodeResourcesFit}}
	profile.Plugins.PreScore.Disabled = resources
	profile.Plugins.Score.Disabled = resources
	return profile, nil
}

// localProfile has the node-local filters and no scores.
func localProfile() (*config.KubeSchedulerProfile, error) {
	profile, err := defaultProfile("fairlead-local")
	if err != nil {
		return nil, err
	}
	keep := nodeLocal()
	profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(p config.Plugin) bool {
		return !slices.Contains(keep, p.Name)
	})
	everything := []config.Plugin{{Name: "*"}}
	profile.Plugins.PreScore.Disabled = everything
	profile.Plugins.Score.Disabled = everything
	return profile, nil
}

// defaultProfile is upstream's profile under our name. Upstream would spread pods without constraints of their own softly over hosts and zones, by
// listing services and replica sets for every pod; the judge spreads only by explicit constraints. Feasibility is the same either way, since upstream's
// system constraints are all ScheduleAnyway.
func defaultProfile(name string) (*config.KubeSchedulerProfile, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("read upstream's default configuration: %w", err)
	}
	if len(defaults.Profiles) != 1 || defaults.Profiles[0].Plugins == nil {
		return nil, fmt.Errorf("upstream's default configuration has %d profiles, where one with plugins was expected: adapt kube/judge/profile.go", len(defaults.Profiles))
	}
	profile := &defaults.Profiles[0]
	profile.SchedulerName = name
	for i := range profile.PluginConfig {
		if args, ok := profile.PluginConfig[i].Args.(*config.PodTopologySpreadArgs); ok {
			args.DefaultingType = config.ListDefaulting
			args.DefaultConstraints = nil
		}
	}
	return profile, nil
}

// registry is upstream's registry of plugins with exact spread counts in place of upstream's; see spread.go.
func registry() frameworkruntime.Registry {
	registry := plugins.NewInTreeRegistry()
	upstream := registry[names.PodTopologySpread]
	registry[names.PodTopologySpread] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := upstream(ctx, args, handle)
		if err != nil {
			return nil, err
		}
		return &spread{plugin.(*podtopologyspread.PodTopologySpread)}, nil
	}
	return registry
}

// Plugins returns the names of the plugins that the judge runs as filters, in the order in which upstream runs them.
func (j *Judge) Plugins() []string {
	enabled := j.full.ListPlugins().Filter.Enabled
	filters := make([]string, len(enabled))
	for i, plugin := range enabled {
		filters[i] = plugin.Name
	}
	return filters
}
