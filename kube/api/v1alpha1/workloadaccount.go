package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WorkloadAccount says how the replicas of a workload have spent their time, against what is promised to them. Fairlead writes it, and a new leader goes on from it. It is known by kind and name of the workload, so that making that anew does not wash it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=wa,categories=fairlead
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.status.class`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.status.target`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.available`
// +kubebuilder:printcolumn:name="Slack",type=string,JSONPath=`.status.slack`
// +kubebuilder:printcolumn:name="At Risk",type=integer,JSONPath=`.status.atRisk`
// +kubebuilder:printcolumn:name="Credit",type=string,JSONPath=`.status.credit`
// +kubebuilder:printcolumn:name="Observed",type=date,JSONPath=`.status.observedAt`
type WorkloadAccount struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Status WorkloadAccountStatus `json:"status,omitempty"`
}

// WorkloadAccountStatus is how a workload stood at a moment.
type WorkloadAccountStatus struct {
	// Kind, in small letters, and Name are those of the workload: of a Deployment's pods the Deployment, of others their controller, of a pod without one the pod itself.
	//
	// +optional
	Kind string `json:"kind,omitempty"`
	// +optional
	Name string `json:"name,omitempty"`
	// ObservedAt is the moment: what a replica does it has done since, and goes on doing.
	//
	// +optional
	ObservedAt metav1.MicroTime `json:"observedAt,omitempty"`

	// Class is the class of the replicas, and Target the availability that it promises; of several classes those of the one that matters most.
	//
	// +optional
	Class string `json:"class,omitempty"`
	// +optional
	Target string `json:"target,omitempty"`
	// Available is the share of their time that the replicas have run, all in all.
	//
	// +optional
	Available string `json:"available,omitempty"`
	// Slack is how much longer the replica that is closest to it may be without running before it is critical; below 0 it is.
	//
	// +optional
	Slack string `json:"slack,omitempty"`
	// AtRisk is how many replicas are critical.
	//
	// +optional
	AtRisk int32 `json:"atRisk"`
	// Overhead is the share of their time that the replicas have spent on beginning anew.
	//
	// +optional
	Overhead string `json:"overhead,omitempty"`
	// Preemptions is how many of their pods Fairlead has evicted.
	//
	// +optional
	Preemptions int64 `json:"preemptions"`
	// Charge is what the replicas have cost by the price of their classes as it is now, and Credit what is given back as promises were broken: a share of the price of what was promised, so that it may be more.
	//
	// +optional
	Charge string `json:"charge,omitempty"`
	// +optional
	Credit string `json:"credit,omitempty"`

	// Conditions: EnoughReplicas says whether the workload has as many pods as its class says, where that says more than one.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Replicas are the accounts of single replicas, at most 256: those that there are first, then those that nobody has any more, which are kept for a day.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Replicas []ReplicaAccount `json:"replicas,omitempty"`
	// Others is how many there are beyond these, and what they have spent together.
	//
	// +optional
	Others *OtherReplicas `json:"others,omitempty"`
}

// ReplicaAccount is how one replica has spent its time, up to the moment of observation.
type ReplicaAccount struct {
	// Pod and UID are those of its pod; of one without a pod the name is that of its last one.
	//
	// +optional
	Pod string `json:"pod,omitempty"`
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// +required
	Class string `json:"class"`
	// State is what it does: Waiting and Starting count against it, Running counts for it, and Absent does not count.
	//
	// +required
	// +kubebuilder:validation:Enum=Waiting;Starting;Running;Absent
	State string `json:"state"`
	// +optional
	Submitted metav1.MicroTime `json:"submitted,omitempty"`
	// AbsentSince is when it is counted as gone, of one that nobody has any more: it is kept for a day from then on.
	//
	// +optional
	AbsentSince *metav1.MicroTime `json:"absentSince,omitempty"`
	// FirstRun is when it first ran; none before that.
	//
	// +optional
	FirstRun *metav1.MicroTime `json:"firstRun,omitempty"`

	Spent `json:",inline"`
}

// Spent is what time was spent on, in microseconds: of each at most a hundred years. Millicores is what was asked for meanwhile, by which it is priced.
type Spent struct {
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3153600000000000
	WaitingMicroseconds int64 `json:"waitingMicroseconds"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3153600000000000
	RunningMicroseconds int64 `json:"runningMicroseconds"`
	// OverheadMicroseconds is starting and leaving; RestartingMicroseconds the part of it since it first ran.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3153600000000000
	OverheadMicroseconds int64 `json:"overheadMicroseconds"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3153600000000000
	RestartingMicroseconds int64 `json:"restartingMicroseconds"`
	// +optional
	Preemptions int32 `json:"preemptions"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1125899906842624
	Millicores int64 `json:"millicores,omitempty"`
}

// OtherReplicas are replicas that have no account of their own here.
type OtherReplicas struct {
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=150000
	Count int32 `json:"count"`

	Spent `json:",inline"`
}

// WorkloadAccountList is a list of them.
//
// +kubebuilder:object:root=true
type WorkloadAccountList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []WorkloadAccount `json:"items"`
}
