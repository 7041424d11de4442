package app

import (
	"slices"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics/legacyregistry"
)

// gather returns our metrics, and those of the libraries: client, server,
// election, process. Upstream's plugins may bring metrics whose names we have
// too, such as scheduler_pending_pods. Ours are the true ones, because theirs
// belong to parts of kube-scheduler that do not run here.
func (e endpoints) gather() ([]*dto.MetricFamily, error) {
	ours, err := e.registry.Gather()
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, family := range ours {
		taken[family.GetName()] = true
	}
	theirs, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		return nil, err
	}
	theirs = slices.DeleteFunc(theirs, func(f *dto.MetricFamily) bool { return taken[f.GetName()] })
	return slices.Concat(ours, theirs), nil
}
