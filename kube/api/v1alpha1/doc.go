// Package v1alpha1 is the API that Fairlead brings to Kubernetes: the objects of fairlead.dev/v1alpha1. What each field means stands here, and goes from here into
// the definitions in kube/deploy/api, which `go generate ./api/...` writes.
//
// +kubebuilder:object:generate=true
// +groupName=fairlead.dev
package v1alpha1

//go:generate go tool -modfile=../generate/go.mod controller-gen object paths=. crd:headerFile=../generate/crd.txt paths=. output:crd:dir=../../deploy/api

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is that of all objects here.
//
//nolint:gochecknoglobals // a value that Go cannot make a constant
var GroupVersion = schema.GroupVersion{Group: "fairlead.dev", Version: "v1alpha1"}

// Accepted is the condition that says whether an object counts.
const Accepted = "Accepted"

// The reasons of Accepted.
const (
	// ReasonAccepted: it counts, as it is.
	ReasonAccepted = "Accepted"
	// ReasonInvalid: something in it means nothing, and the message says where.
	ReasonInvalid = "Invalid"
	// ReasonConflict: it counts but for what an older one says as well, which the message names.
	ReasonConflict = "Conflict"
	// ReasonTooMany: there are more than can be told apart.
	ReasonTooMany = "TooMany"
	// ReasonConfiguration: the configuration of fairlead-scheduler says what classes there are.
	ReasonConfiguration = "Configuration"
)

// EnoughReplicas is the condition of a WorkloadAccount that says whether its workload has as many pods as its class says.
const EnoughReplicas = "EnoughReplicas"

// The reasons of EnoughReplicas.
const (
	// ReasonEnough: it has.
	ReasonEnough = "Enough"
	// ReasonTooFew: its owner wants fewer, or they have yet to be made.
	ReasonTooFew = "TooFew"
)

// Sized is the condition of a pod that says whether it grows and shrinks, as the sizes of its ServiceClass have it.
const Sized = "fairlead.dev/Sized"

// The reasons of Sized.
const (
	// ReasonElastic: it does, and the message says from where on.
	ReasonElastic = "Elastic"
	// ReasonFixed: it stays as it is, and the message says why.
	ReasonFixed = "Fixed"
)
