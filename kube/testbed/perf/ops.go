package perf

import (
	"errors"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file is what a workload may do, an operation a type, after parameters were put in. Names and meanings are upstream's.

// Op is an operation of a workload.
//
//sumtype:decl
type Op interface {
	// validate says what is wrong with it.
	validate() error
	// templates are the files that it makes objects of.
	templates() []string
}

// opcodes are the operations by the names that they have in files.
func opcodes() map[string]func() Op {
	return map[string]func() Op{
		"allocResourceClaims":    func() Op { return &AllocResourceClaims{} },
		"barrier":                func() Op { return &Barrier{} },
		"churn":                  func() Op { return &Churn{} },
		"createAny":              func() Op { return &CreateAny{} },
		"createNamespaces":       func() Op { return &CreateNamespaces{} },
		"createNodes":            func() Op { return &CreateNodes{} },
		"createPodGroups":        func() Op { return &CreatePodGroups{} },
		"createPods":             func() Op { return &CreatePods{} },
		"createResourceClaims":   func() Op { return &CreateResourceClaims{} },
		"deletePods":             func() Op { return &DeletePods{} },
		"sleep":                  func() Op { return &Sleep{} },
		"startCollectingMetrics": func() Op { return &StartCollectingMetrics{} },
		"startCollectingProfile": func() Op { return &StartCollectingProfile{} },
		"stopCollectingMetrics":  func() Op { return &StopCollectingMetrics{} },
		"stopCollectingProfile":  func() Op { return &StopCollectingProfile{} },
		"updateAny":              func() Op { return &UpdateAny{} },
	}
}

// They bound counts, so that a slip of the pen is no cluster that never ends.
const (
	mostObjects = 10_000_000
	mostSets    = 10_000 // of createPodSets, each an operation
)

// Objects are what is made of a template, once for each index from 0 on.
type Objects struct {
	Count          *int
	TemplatePath   string
	TemplateParams map[string]any
	Namespace      string // none for objects of the cluster
}

func (o *Objects) templates() []string { return []string{o.TemplatePath} }

// check says what is wrong with them.
func (o *Objects) check() error {
	if o.TemplatePath == "" {
		return errors.New("templatePath is missing")
	}
	return validCount(o.count())
}

// count is one if nothing is said.
func (o *Objects) count() int {
	if o.Count == nil {
		return 1
	}
	return *o.Count
}

func validCount(n int) error {
	if n < 0 || n > mostObjects {
		return fmt.Errorf("count: %d; want 0 to %d", n, mostObjects)
	}
	return nil
}

// CreateAny creates objects of any kind.
type CreateAny struct{ Objects }

// CreateResourceClaims creates claims of devices.
type CreateResourceClaims struct{ Objects }

func (o *CreateAny) validate() error            { return o.check() }
func (o *CreateResourceClaims) validate() error { return o.check() }

// CreatePodGroups creates pod groups.
type CreatePodGroups struct{ Objects }

func (o *CreatePodGroups) validate() error {
	if o.Namespace == "" || o.Count == nil || *o.Count < 1 {
		return errors.New("namespace and count are missing; want a name, and 1 or more")
	}
	return o.check()
}

// UpdateAny replaces objects, each by what the template says, and then their status.
type UpdateAny struct {
	Objects
	UpdatePerSecond int // 0: at once
	Subresources    []string
}

func (o *UpdateAny) validate() error {
	if o.UpdatePerSecond < 0 {
		return fmt.Errorf("updatePerSecond: %d; want 0, which is at once, or more", o.UpdatePerSecond)
	}
	return o.check()
}

// AllocResourceClaims allocates the claims of a namespace as if pods had them.
type AllocResourceClaims struct{ Namespace string }

// CreateNodes creates nodes, which are ready.
type CreateNodes struct {
	Count          int
	Template       string `json:"nodeTemplatePath"` // empty: 4 CPUs, 32 GiB, 110 pods
	TemplateParams map[string]any
	Allocatable    *NodeAllocatable `json:"nodeAllocatableStrategy"`
	Label          *NodeLabel       `json:"labelNodePrepareStrategy"`
	UniqueLabel    *UniqueLabel     `json:"uniqueNodeLabelStrategy"`
}

// NodeAllocatable is what nodes may give to pods besides, and the volumes that drivers may attach.
type NodeAllocatable struct {
	Node     map[string]string                         `json:"nodeAllocatable"`
	CSI      map[string]*storagev1.VolumeNodeResources `json:"csiNodeAllocatable"`
	Migrated []string                                  `json:"migratedPlugins"`
}

// NodeLabel is a label whose values are given to nodes in turn.
type NodeLabel struct {
	Key    string   `json:"labelKey"`
	Values []string `json:"labelValues"`
}

// UniqueLabel is a label of which every node has another value.
type UniqueLabel struct {
	Key string `json:"labelKey"`
}

func (o *CreateNodes) validate() error {
	if o.Label != nil && len(o.Label.Values) == 0 {
		return errors.New("labelNodePrepareStrategy: labelValues: want at least one")
	}
	return validCount(o.Count)
}

func (o *CreateNodes) templates() []string { return given(o.Template) }

// CreateNamespaces creates namespaces PREFIX-0, PREFIX-1, ….
type CreateNamespaces struct {
	Prefix   string
	Count    int
	Template string `json:"namespaceTemplatePath"`
}

func (o *CreateNamespaces) validate() error     { return validCount(o.Count) }
func (o *CreateNamespaces) templates() []string { return given(o.Template) }

// CreatePods creates pods and, unless told not to, waits until they are bound.
type CreatePods struct {
	Count              int
	CountMultiplier    *int
	Namespace          string // empty: one of its own, by the number of the operation
	Template           string `json:"podTemplatePath"`
	TemplateParams     map[string]any
	SignatureBatchSize int
	Measure            bool            `json:"collectMetrics"`
	NoWait             bool            `json:"skipWaitToCompletion"`
	Steady             bool            `json:"steadyState"` // for Duration every bound pod is replaced by another
	Duration           metav1.Duration // of the steady state
	Volume             string          `json:"persistentVolumeTemplatePath"` // a volume for each pod, and its claim
	Claim              string          `json:"persistentVolumeClaimTemplatePath"`
}

func (o *CreatePods) validate() error {
	switch {
	case o.CountMultiplier != nil && *o.CountMultiplier < 0:
		return fmt.Errorf("countMultiplier: %d; want 0 or more", *o.CountMultiplier)
	case o.SignatureBatchSize < 0:
		return fmt.Errorf("signatureBatchSize: %d; want 0 or more", o.SignatureBatchSize)
	case o.Measure && o.NoWait:
		return errors.New("collectMetrics and skipWaitToCompletion: what is not awaited cannot be measured")
	case o.Steady && o.NoWait:
		return errors.New("steadyState and skipWaitToCompletion: what is not awaited is not steady")
	case o.Steady && o.Duration.Duration <= 0:
		return errors.New("steadyState: for how long? duration is missing")
	case (o.Volume == "") != (o.Claim == ""):
		return errors.New("persistentVolumeTemplatePath and persistentVolumeClaimTemplatePath: one of them is missing")
	}
	return validCount(o.count())
}

func (o *CreatePods) templates() []string { return given(o.Template, o.Volume, o.Claim) }

func (o *CreatePods) count() int {
	if o.CountMultiplier == nil {
		return o.Count
	}
	return o.Count * *o.CountMultiplier
}

// DeletePods deletes pods of a namespace, and does not wait until they are gone.
type DeletePods struct {
	Namespace           string
	LabelSelector       map[string]string
	NoWait              bool `json:"skipWaitToCompletion"` // go on meanwhile
	DeletePodsPerSecond int  // 0: at once
}

func (o *DeletePods) validate() error {
	if o.DeletePodsPerSecond < 0 {
		return fmt.Errorf("deletePodsPerSecond: %d; want 0, which is at once, or more", o.DeletePodsPerSecond)
	}
	return nil
}

// Churn creates objects until the workload ends and, with mode recreate, deletes them again in turn.
type Churn struct {
	Mode                 string // create or recreate
	Number               int    // of objects of each template; 0 is any number
	IntervalMilliseconds int64  // 0 is 500
	Namespace            string
	TemplatePaths        []string
}

func (o *Churn) validate() error {
	switch {
	case o.Mode != "create" && o.Mode != "recreate":
		return fmt.Errorf("mode: %q; there are create and recreate", o.Mode)
	case o.Number < 0 || o.Mode == "recreate" && o.Number == 0:
		return fmt.Errorf("number: %d; want 1 or more, or 0 for any number with mode create", o.Number)
	case o.IntervalMilliseconds < 0:
		return fmt.Errorf("intervalMilliseconds: %d; want 0, which is 500, or more", o.IntervalMilliseconds)
	case len(o.TemplatePaths) == 0:
		return errors.New("templatePaths: want at least one")
	}
	return nil
}

func (o *Churn) templates() []string { return o.TemplatePaths }

// Barrier waits for pods that were not awaited: until the scheduler has bound them or, with the stage Attempted, at least said that it
// cannot.
type Barrier struct {
	Namespaces       []string // empty: all that were used
	LabelSelector    map[string]string
	StageRequirement string // Scheduled (empty) or Attempted
}

func (o *Barrier) validate() error {
	switch o.StageRequirement {
	case "", "Scheduled", "Attempted":
		return nil
	}
	return fmt.Errorf("stageRequirement: %q; there are Scheduled and Attempted", o.StageRequirement)
}

// Sleep does nothing for a time.
type Sleep struct{ Duration metav1.Duration }

// StartCollectingMetrics begins a measurement of the pods of namespaces.
type StartCollectingMetrics struct {
	Name          string
	Namespaces    []string
	LabelSelector map[string]string
}

func (o *StartCollectingMetrics) validate() error {
	if len(o.Namespaces) == 0 {
		return errors.New("namespaces: want at least one")
	}
	return nil
}

// StopCollectingMetrics ends the measurement.
type StopCollectingMetrics struct{}

// StartCollectingProfile begins a profile of the scheduler, which upstream has in its own process.
type StartCollectingProfile struct{ Type, FilePath string }

// StopCollectingProfile ends it.
type StopCollectingProfile struct{ Type string }

func (*AllocResourceClaims) validate() error    { return nil }
func (*Sleep) validate() error                  { return nil }
func (*StopCollectingMetrics) validate() error  { return nil }
func (*StartCollectingProfile) validate() error { return nil }
func (*StopCollectingProfile) validate() error  { return nil }

func (*AllocResourceClaims) templates() []string    { return nil }
func (*Barrier) templates() []string                { return nil }
func (*DeletePods) templates() []string             { return nil }
func (*Sleep) templates() []string                  { return nil }
func (*StartCollectingMetrics) templates() []string { return nil }
func (*StopCollectingMetrics) templates() []string  { return nil }
func (*StartCollectingProfile) templates() []string { return nil }
func (*StopCollectingProfile) templates() []string  { return nil }

// measures reports whether an operation yields a measurement.
func measures(op Op) bool {
	switch op := op.(type) {
	case *CreatePods:
		return op.Measure
	case *StopCollectingMetrics:
		return true
	default:
		return false
	}
}

// given are the paths that are not empty.
func given(paths ...string) (list []string) {
	for _, path := range paths {
		if path != "" {
			list = append(list, path)
		}
	}
	return list
}
