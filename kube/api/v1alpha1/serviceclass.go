package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Level is one of three.
//
// +kubebuilder:validation:Enum=Premium;Advanced;BestEffort
type Level string

// Share is a share of something, such as 0.999 or 99.9%: at most 1, and no finer than a millionth.
//
// +kubebuilder:validation:Pattern=`^(0(\.[0-9]{1,6})?|1(\.0{1,6})?|(100(\.0{1,4})?|[0-9]{1,2}(\.[0-9]{1,4})?)%)$`
type Share string

// Span is a time with its unit, such as 30s, 1h30m or 2d.
//
// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(d|h|m|s|ms|us))+$`
// +kubebuilder:validation:MaxLength=40
type Span string

// Factor is how many times as much something may become, such as 2 or 1.5: at least 1, at most 100, and no finer than a hundredth.
//
// +kubebuilder:validation:Pattern=`^([1-9][0-9]?(\.[0-9]{1,2})?|100(\.0{1,2})?)$`
type Factor string

// Surcharge is a share of a price on top of it, such as 25% or 0.25: at most a hundredfold, and no finer than a millionth.
//
// +kubebuilder:validation:Pattern=`^(100(\.0{1,6})?|[0-9]{1,2}(\.[0-9]{1,6})?|(10000(\.0{1,4})?|[0-9]{1,4}(\.[0-9]{1,4})?)%)$`
type Surcharge string

// Amount is money of a currency that has no name, such as 0.04: at most a million, and no finer than a millionth.
//
// +kubebuilder:validation:Pattern=`^(1000000(\.0{1,6})?|[0-9]{1,6}(\.[0-9]{1,6})?)$`
type Amount string

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
type LabelValue string

// ServiceClass says what is promised to the pods of a class, and which namespaces may use it. A pod names its class by the label
// fairlead.dev/class; where it names none, it has the first that its priority reaches and its namespace may use.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=svcclass,categories=fairlead
// +kubebuilder:printcolumn:name="Importance",type=integer,JSONPath=`.spec.importance`
// +kubebuilder:printcolumn:name="Availability",type=string,JSONPath=`.spec.availability`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priorityAtLeast`
// +kubebuilder:printcolumn:name="Default",type=boolean,JSONPath=`.spec.default`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Workloads",type=integer,JSONPath=`.status.workloads`
// +kubebuilder:printcolumn:name="Kept",type=integer,JSONPath=`.status.kept`
// +kubebuilder:printcolumn:name="At Risk",type=integer,JSONPath=`.status.atRisk`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="the name is the value of a label: want at most 63 small letters, digits and -, with a letter or digit at both ends"
// +kubebuilder:validation:XValidation:rule="self.metadata.name != 'all' && self.metadata.name != 'none'",message="all is what reports call all classes together, and none the class of pods that have no other; choose another name"
type ServiceClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ServiceClassSpec `json:"spec"`
	// +optional
	Status ServiceClassStatus `json:"status,omitempty"`
}

// ServiceClassSpec is what is promised to whom. What is left out is not promised.
//
// +kubebuilder:validation:XValidation:rule="has(self.availability) || !(has(self.margin) || has(self.restart) || has(self.overheadBudget) || has(self.credits))",message="margin, restart, overheadBudget and credits are of no use without availability; give one, or remove them"
type ServiceClassSpec struct {
	// Importance orders classes; the smallest number matters most.
	//
	// +required
	Importance int32 `json:"importance"`

	// Availability is the share of its time, from when it first waits on, that each replica of a workload is to run.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^0*([.]0*)?%?$')",message="want more than 0; to promise nothing, leave availability out"
	Availability *Share `json:"availability,omitempty"`
	// Margin is how long before a violation a replica is critical.
	//
	// +optional
	Margin *Span `json:"margin,omitempty"`
	// Restart is how long a replica takes on average to begin anew; it counts on top of the margin.
	//
	// +optional
	Restart *Span `json:"restart,omitempty"`
	// OverheadBudget is the share of its time that a replica may have spent on beginning anew and still be evicted; at 0 it never is. Left out it is what availability leaves.
	//
	// +optional
	OverheadBudget *Share `json:"overheadBudget,omitempty"`
	// Evicted is what becomes of what a pod had done when it is evicted. Those that keep it take turns sooner.
	//
	// +optional
	// +kubebuilder:validation:Enum=Lost;Kept
	// +kubebuilder:default=Lost
	Evicted string `json:"evicted,omitempty"`
	// LeastRun is for how long a pod is not evicted to make room once it has been bound, whatever the policy: spot capacity with a promised duration. A node that is lost takes it along all the same, and another leader, or one that begins anew, counts anew from then.
	//
	// +optional
	LeastRun *Span `json:"leastRun,omitempty"`

	Levels  `json:",inline"`
	Billing `json:",inline"`

	// Tier is the labels that a node must have for pods of the class, beside what they select themselves.
	//
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	Tier map[string]LabelValue `json:"tier,omitempty"`
	// Replicas is how many pods of a workload are to run at once. From 2 on those of one owner stand on different nodes, each on its own. Owners are not written: one that wants fewer is said to in the WorkloadAccount.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`
	// Sizes is to how many times its requests a pod may grow, while it runs and its node has the room. It is placed with its requests, and what it has beyond them is taken back before anybody is evicted.
	//
	// +optional
	Sizes *Sizes `json:"sizes,omitempty"`

	// PriorityAtLeast makes this the class of pods that name none and whose priority is at least this, unless that of another class is reached that asks for more. Left out, pods have it by name alone.
	//
	// +optional
	PriorityAtLeast *int32 `json:"priorityAtLeast,omitempty"`
	// Default makes this the class of pods that have no other. Of two the older one is.
	//
	// +optional
	Default bool `json:"default,omitempty"`
	// NamespaceSelector says by their labels which namespaces may use the class; {} is all. Left out, no namespace may, or all if it is the default.
	//
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// Levels are what policies go by that order by levels.
type Levels struct {
	// Urgency is the place in the queue under policies that order by levels.
	//
	// +optional
	Urgency *Level `json:"urgency,omitempty"`
	// Size is how much of what its node has left a pod gets beside others whose sizes are open, and Redundancy what it is worth to have copies, under policies that order by levels.
	//
	// +optional
	Size *Level `json:"size,omitempty"`
	// +optional
	Redundancy *Level `json:"redundancy,omitempty"`
}

// Billing is what pods of the class cost, and what is given back where a promise was broken. Nobody is charged: WorkloadAccounts say both.
type Billing struct {
	// Price is what its pods cost. What is left out of it goes by what is promised: a core costs 1 an hour, times the availability where there is one, and a quarter more for each level of urgency above BestEffort.
	//
	// +optional
	Price *Price `json:"price,omitempty"`
	// Credits are rows of what is given back, of which the first counts that is attained. They fall, what is given back rises, and the last row is for 0. Left out, 10% are given back from 99% of what was promised on, 30% from 95% on, and else all.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Credits []Credit `json:"credits,omitempty"`
}

// Price is what pods of a class cost.
//
// +kubebuilder:validation:MinProperties=1
type Price struct {
	// UnitHour is for a core that a pod requests, for an hour in which it runs.
	//
	// +optional
	UnitHour *Amount `json:"unitHour,omitempty"`
	// Urgency and Tier are on top of that, for the place in the queue and the nodes.
	//
	// +optional
	Urgency *Surcharge `json:"urgency,omitempty"`
	// +optional
	Tier *Surcharge `json:"tier,omitempty"`
}

// Credit is what is given back.
type Credit struct {
	// Attained is the least share of the promised availability for the row.
	//
	// +required
	Attained Share `json:"attained"`
	// Back is the share of the price of what was promised that is given back.
	//
	// +required
	Back Share `json:"back"`
}

// Sizes is by which factors requests may grow; what is left out stays as it is.
//
// +kubebuilder:validation:MinProperties=1
type Sizes struct {
	// +optional
	CPU *Factor `json:"cpu,omitempty"`
	// +optional
	Memory *Factor `json:"memory,omitempty"`
}

// ServiceClassStatus is what Fairlead says of a class.
type ServiceClassStatus struct {
	// Workloads is how many workloads have replicas of the class, where that promises an availability: Kept is to how many of these it is kept so far, by all replicas, and AtRisk how many have a replica that is critical.
	//
	// +optional
	Workloads int32 `json:"workloads"`
	// +optional
	Kept int32 `json:"kept"`
	// +optional
	AtRisk int32 `json:"atRisk"`

	// Conditions: Accepted says whether the class counts.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServiceClassList is a list of them.
//
// +kubebuilder:object:root=true
type ServiceClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ServiceClass `json:"items"`
}
