package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PlacementConstraint says where pods of its namespace run relative to each other: on the same node, on different ones, or so many in a zone. It binds and counts the pods of its namespace alone.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=plc,categories=fairlead
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Bound",type=integer,JSONPath=`.status.bound`
// +kubebuilder:printcolumn:name="Violated",type=integer,JSONPath=`.status.violating`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.violatingSince`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PlacementConstraint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec PlacementConstraintSpec `json:"spec"`
	// +optional
	Status PlacementConstraintStatus `json:"status,omitempty"`
}

// PlacementConstraintSpec is what is asked.
type PlacementConstraintSpec struct {
	// +required
	Constraint Constraint `json:"constraint"`
}

// PlacementConstraintList is a list of them.
//
// +kubebuilder:object:root=true
type PlacementConstraintList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PlacementConstraint `json:"items"`
}

// ClusterPlacementConstraint says where pods of several namespaces run relative to each other.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cplc,categories=fairlead
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Bound",type=integer,JSONPath=`.status.bound`
// +kubebuilder:printcolumn:name="Violated",type=integer,JSONPath=`.status.violating`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.violatingSince`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterPlacementConstraint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ClusterPlacementConstraintSpec `json:"spec"`
	// +optional
	Status PlacementConstraintStatus `json:"status,omitempty"`
}

// ClusterPlacementConstraintSpec is what is asked, and of the pods of which namespaces.
type ClusterPlacementConstraintSpec struct {
	// +required
	Constraint Constraint `json:"constraint"`
	// SubjectNamespaces says by their labels in which namespaces pods are bound. Left out, in all.
	//
	// +optional
	SubjectNamespaces *metav1.LabelSelector `json:"subjectNamespaces,omitempty"`
	// TargetNamespaces says by their labels in which namespaces pods are counted. Left out, in all.
	//
	// +optional
	TargetNamespaces *metav1.LabelSelector `json:"targetNamespaces,omitempty"`
}

// ClusterPlacementConstraintList is a list of them.
//
// +kubebuilder:object:root=true
type ClusterPlacementConstraintList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterPlacementConstraint `json:"items"`
}

// Constraint is a text of the constraint language, or the same in fields: at least one of the alternatives holds, in all of its bounds.
//
// +kubebuilder:validation:XValidation:rule="has(self.text) != has(self.anyOf)",message="give either text or anyOf"
// +kubebuilder:validation:XValidation:rule="!has(self.text) || !(has(self.weight) || has(self.hard) && self.hard)",message="a text says itself whether it is hard, or what it weighs: {web, {batch, 0, 0}, node}: hard"
// +kubebuilder:validation:XValidation:rule="!(has(self.weight) && has(self.hard) && self.hard)",message="a hard constraint weighs nothing; leave weight out, or hard"
type Constraint struct {
	// Text is a constraint such as {app=web, {app=cache, 1, inf}, zone}: hard. A tag is a label, as key=value or key, which any value fits. A group is node, zone, region, rack where fairlead-scheduler has a rackLabel, the key of a label of nodes, or a NodeGroup as group:NAME.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Text string `json:"text,omitempty"`

	// AnyOf are the alternatives, of which one is chosen for all pods together.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	AnyOf []Alternative `json:"anyOf,omitempty"`
	// Weight is what each violation costs, if the constraint is not hard; 1 if it is left out.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Weight *int32 `json:"weight,omitempty"`
	// Hard says that no pod is placed so that more would violate it; such a pod waits.
	//
	// +optional
	Hard bool `json:"hard,omitempty"`
}

// Alternative is bounds all of which hold.
type Alternative struct {
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	AllOf []Bound `json:"allOf"`
}

// Bound says how many pods that the target selects there are beside each pod that the subject selects, in the same set of nodes.
//
// +kubebuilder:validation:XValidation:rule="has(self.subject) != (has(self.everySet) && self.everySet)",message="give a subject, or everySet: true to bind every set of nodes"
// +kubebuilder:validation:XValidation:rule="has(self.topologyKey) != has(self.nodeGroup)",message="give either topologyKey or nodeGroup"
// +kubebuilder:validation:XValidation:rule="has(self.min) || has(self.max)",message="give min, max, or both"
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || self.min <= self.max",message="max is at least min"
// +kubebuilder:validation:XValidation:rule="!(has(self.counted) && self.counted) || has(self.subject)",message="counted counts the subject itself, and everySet has none"
type Bound struct {
	// Subject selects the pods that are bound; {} selects all.
	//
	// +optional
	Subject *metav1.LabelSelector `json:"subject,omitempty"`
	// EverySet binds each set of nodes, whether or not a pod stands there.
	//
	// +optional
	EverySet bool `json:"everySet,omitempty"`
	// Target selects the pods that are counted; {} selects all.
	//
	// +required
	Target metav1.LabelSelector `json:"target"`
	// Min is how many there are at least; 0 if it is left out.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Min *int32 `json:"min,omitempty"`
	// Max is how many there are at most; any number if it is left out.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Max *int32 `json:"max,omitempty"`
	// TopologyKey is the label of nodes whose values make the sets: kubernetes.io/hostname is each node by itself.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	TopologyKey string `json:"topologyKey,omitempty"`
	// NodeGroup names a NodeGroup, which says what the sets are.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NodeGroup string `json:"nodeGroup,omitempty"`
	// Counted counts a subject that the target selects for itself, too; else others alone count.
	//
	// +optional
	Counted bool `json:"counted,omitempty"`
}

// Contradicts is the condition that says that a constraint cannot hold together with others, or with itself.
const Contradicts = "Contradicts"

// More reasons of conditions.
const (
	// ReasonContradiction: there are such others, which the message names as far as they are in the same namespace.
	ReasonContradiction = "Contradiction"
	// ReasonNone: none are known.
	ReasonNone = "NoneKnown"
	// ReasonNoNodeGroup: it names a NodeGroup that there is not, or that is not accepted, and does not count until there is.
	ReasonNoNodeGroup = "NoNodeGroup"
)

// PlacementConstraintStatus is how a constraint stands.
type PlacementConstraintStatus struct {
	// Conditions: Accepted says whether the constraint counts, and Contradicts whether it cannot hold together with others.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Bound is how many pods on nodes it binds, once for each bound of the alternative that is violated least; of everySet how many sets.
	//
	// +optional
	Bound *int64 `json:"bound,omitempty"`
	// Violating is for how many of these it does not hold.
	//
	// +optional
	Violating *int64 `json:"violating,omitempty"`
	// ViolatingSince is since when it has held for fewer than all of them.
	//
	// +optional
	ViolatingSince *metav1.Time `json:"violatingSince,omitempty"`
}
