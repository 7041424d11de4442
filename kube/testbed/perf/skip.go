package perf

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	_ "k8s.io/kubernetes/pkg/features" // the feature gates, and what is locked
)

// Reason is why a workload is not run. The list is closed.
type Reason string

// The reasons.
const (
	// InProcess: upstream's benchmark exchanges a part of the scheduler, which it has in its own process, or looks into it.
	InProcess Reason = "needs the scheduler in the process of the test"
	// Gate: this version of Kubernetes does not let the feature gate be set so.
	Gate Reason = "a feature gate that cannot be set so"
	// Configuration: the scheduler does not understand the configuration that upstream gives to kube-scheduler.
	Configuration Reason = "a configuration of kube-scheduler's that has no counterpart"
	// Allocation: claims are to be allocated to nobody, as if pods had them; the API has no way to ask for that.
	Allocation Reason = "claims that are allocated without a pod"
)

// Skip is why a workload is not run.
type Skip struct {
	Reason Reason
	Detail string
}

func (s *Skip) String() string { return string(s.Reason) + ": " + s.Detail }

// declared is a parameter that Go code beside the file reads, which exchanges the features that nodes may declare.
const declared = "numNodeDeclaredFeatures"

// Skipped says why no scheduler can run a workload on a bed, or nil. A parameter that nobody reads is an error, as upstream has it.
func (w *Workload) Skipped() (*Skip, error) {
	if typos := slices.DeleteFunc(slices.Clone(w.Unread), func(param string) bool { return param == declared }); len(typos) > 0 {
		return nil, fmt.Errorf("%s: no operation reads the parameters %q", w.FullName(), typos)
	}
	if len(w.Unread) > 0 {
		return &Skip{InProcess, "nodes declare features that upstream's test makes up"}, nil
	}
	if allocates, err := w.allocates(); err != nil || allocates {
		return &Skip{Allocation, "allocResourceClaims"}, err
	}
	for _, op := range w.Ops {
		if _, ok := op.(*StartCollectingProfile); ok {
			return &Skip{InProcess, "startCollectingProfile"}, nil
		}
	}
	gates := utilfeature.DefaultMutableFeatureGate.GetAll()
	for _, name := range slices.Sorted(maps.Keys(w.Gates)) {
		gate, known := gates[featuregate.Feature(name)]
		switch on := w.Gates[name]; {
		case !known:
			return &Skip{Gate, "there is no " + name}, nil
		case gate.LockToDefault && gate.Default != on:
			return &Skip{Gate, fmt.Sprintf("%s is locked to %t", name, gate.Default)}, nil
		}
	}
	return nil, nil
}

// allocates reports whether there are claims that allocResourceClaims would allocate. In workloads without claims upstream has it, too.
func (w *Workload) allocates() (bool, error) {
	claims := map[string]int{} // by namespace
	for _, op := range w.Ops {
		switch op := op.(type) {
		case *CreateAny:
			if op.count() == 0 {
				continue
			}
			s, err := newStencil(op.TemplatePath, op.TemplateParams, op.count())
			if err != nil {
				return false, err
			}
			var first unstructured.Unstructured
			if err := s.fill(0, &first); err != nil {
				return false, err
			}
			if first.GetKind() == "ResourceClaim" {
				claims[op.Namespace] += op.count()
			}
		case *CreateResourceClaims:
			claims[op.Namespace] += op.count()
		case *AllocResourceClaims:
			if claims[op.Namespace] > 0 {
				return true, nil
			}
		default:
		}
	}
	return false, nil
}
