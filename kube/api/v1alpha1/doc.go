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
