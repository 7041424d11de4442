package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
)

// This file is the objects, their fields called as in Kubernetes.

// Object is as much of a Node or a Pod as is read: the fields by which upstream's
// scheduler decides where a pod may go and what it takes there. Those that are
// read only to be refused, or to be counted, are here too.
type Object struct {
	Kind     string   `json:"kind"`
	Metadata Metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`
	Status   Status   `json:"status"`
	PriorityClass
	StorageClass
	StorageCapacity
}

// PriorityClass is what an object of that kind says.
type PriorityClass struct {
	Value            int32  `json:"value"`
	GlobalDefault    bool   `json:"globalDefault"`
	PreemptionPolicy string `json:"preemptionPolicy"`
}

// Metadata is who an object is, and whose.
type Metadata struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	Labels            map[string]string `json:"labels"`
	OwnerReferences   []Owner           `json:"ownerReferences"`
	CreationTimestamp string            `json:"creationTimestamp"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
	Annotations       Annotations       `json:"annotations"`
}

// Annotations are Fairlead's own, JSON each: what it says of nodes and pods, and Kubernetes
// does not; and those that Kubernetes itself goes by.
type Annotations struct {
	Groups string `json:"fairlead.dev/groups"` // of a node: an object of texts
	Tags   string `json:"fairlead.dev/tags"`   // of a pod: a list of texts
	ClaimAnnotations
}

// Owner is who has made an object.
type Owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// Spec is that of a Node and that of a Pod, and that of a PlacementConstraint: they share no
// field.
type Spec struct {
	Rule
	Controller

	Unschedulable bool    `json:"unschedulable"`
	Taints        []Taint `json:"taints"`

	Queueing

	NodeName                  string              `json:"nodeName"`
	Containers                []Container         `json:"containers"`
	InitContainers            []Container         `json:"initContainers"`
	Overhead                  map[string]Quantity `json:"overhead"`
	Resources                 Resources           `json:"resources"`
	NodeSelector              map[string]string   `json:"nodeSelector"`
	Affinity                  Affinity            `json:"affinity"`
	Tolerations               []Toleration        `json:"tolerations"`
	TopologySpreadConstraints []Spread            `json:"topologySpreadConstraints"`
	ResourceClaims            []struct{}          `json:"resourceClaims"`
	Storage
}

// Rule is what a PlacementConstraint says, or a PodDisruptionBudget.
type Rule struct {
	Owner      string `json:"owner,omitempty"`
	Constraint Said   `json:"constraint,omitempty"`
	Disruption
}

// Said is what a PlacementConstraint says as a text; OfAPI where it is one of the API's.
type Said string

// OfAPI is what an object of fairlead.dev/v1alpha1 says, of which nothing is read.
const OfAPI Said = "{}"

// UnmarshalJSON reads a text, or passes over an object.
func (s *Said) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("{")) {
		*s = OfAPI
		return nil
	}
	return json.Unmarshal(text, (*string)(s))
}

// Controller is what makes pods: how many, and what they are like.
type Controller struct {
	Replicas             *int32          `json:"replicas,omitempty"`
	Parallelism          *int32          `json:"parallelism,omitempty"`
	Completions          *int32          `json:"completions,omitempty"`
	Suspend              bool            `json:"suspend,omitempty"` // of a Job: it has no pods for now
	Template             *Template       `json:"template,omitempty"`
	VolumeClaimTemplates []ClaimTemplate `json:"volumeClaimTemplates,omitempty"`
}

// Template is the pods of a controller.
type Template struct {
	Metadata Metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`
}

// Queueing is who places a pod, when, before whom, and with whom.
type Queueing struct {
	Gang

	SchedulerName    string `json:"schedulerName"`
	SchedulingGates  []Gate `json:"schedulingGates"`
	Priority         int32  `json:"priority"`
	ClassName        string `json:"priorityClassName"`
	PreemptionPolicy string `json:"preemptionPolicy"`
	RestartPolicy    string `json:"restartPolicy"` // empty is Always
}

// Gang is whose pods are placed together: the group that a pod names, and what a PodGroup says, of Kubernetes or of the coscheduling plugin.
type Gang struct {
	SchedulingGroup *struct {
		PodGroupName string `json:"podGroupName"`
	} `json:"schedulingGroup"`
	SchedulingPolicy struct {
		Gang *struct {
			MinCount int32 `json:"minCount"`
		} `json:"gang"`
	} `json:"schedulingPolicy"`
	SchedulingConstraints struct {
		Topology []struct{} `json:"topology"`
	} `json:"schedulingConstraints"`
	Parent    string `json:"parentCompositePodGroupName"`
	MinMember int32  `json:"minMember"`
}

// Gate keeps a pod from being placed until somebody takes it away.
type Gate struct {
	Name string `json:"name"`
}

// Taint keeps pods off a node that do not tolerate it.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// Toleration is which taints are no obstacle.
type Toleration struct {
	Key      string `json:"key"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
	Effect   string `json:"effect"`
}

// Container is a container of a pod.
type Container struct {
	RestartPolicy string    `json:"restartPolicy"`
	Resources     Resources `json:"resources"`
	Ports         []struct {
		HostPort int32  `json:"hostPort"`
		HostIP   string `json:"hostIP"`
		Protocol string `json:"protocol"`
	} `json:"ports"`
}

// Resources are what a container, or a pod as a whole, asks for.
type Resources struct {
	Requests map[string]Quantity `json:"requests"`
	Limits   map[string]Quantity `json:"limits"`
}

// Affinity is which nodes, and whose company, a pod seeks or shuns.
type Affinity struct {
	NodeAffinity    NodeAffinity `json:"nodeAffinity"`
	PodAffinity     PodAffinity  `json:"podAffinity"`
	PodAntiAffinity PodAffinity  `json:"podAntiAffinity"`
}

// NodeAffinity is which nodes a pod seeks.
type NodeAffinity struct {
	Required  *NodeSelector      `json:"requiredDuringSchedulingIgnoredDuringExecution"`
	Preferred []WeightedNodeTerm `json:"preferredDuringSchedulingIgnoredDuringExecution"`
}

// WeightedNodeTerm is a preference for nodes, of a weight from 1 to 100.
type WeightedNodeTerm struct {
	Weight     int32    `json:"weight"`
	Preference NodeTerm `json:"preference"`
}

// NodeSelector is met where one of its terms is.
type NodeSelector struct {
	NodeSelectorTerms []NodeTerm `json:"nodeSelectorTerms"`
}

// NodeTerm is met where all of it is; one without any is met nowhere.
type NodeTerm struct {
	MatchExpressions []Expression `json:"matchExpressions,omitempty"`
	MatchFields      []Expression `json:"matchFields,omitempty"`
}

// Expression is a condition on one label. A node's has the operators In, NotIn,
// Exists, DoesNotExist, Gt and Lt, a pod's the first four.
type Expression struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// PodAffinity is whose company a pod seeks, or shuns.
type PodAffinity struct {
	Required  []PodTerm      `json:"requiredDuringSchedulingIgnoredDuringExecution"`
	Preferred []WeightedTerm `json:"preferredDuringSchedulingIgnoredDuringExecution"`
}

// PodTerm selects pods. What matchLabelKeys and mismatchLabelKeys say is in its
// labelSelector, too, when an API server hands it out.
type PodTerm struct {
	LabelSelector     *LabelSelector `json:"labelSelector"`
	TopologyKey       string         `json:"topologyKey"`
	Namespaces        []string       `json:"namespaces"`
	NamespaceSelector *LabelSelector `json:"namespaceSelector"`
	MatchLabelKeys    []string       `json:"matchLabelKeys"`
	MismatchLabelKeys []string       `json:"mismatchLabelKeys"`
}

// WeightedTerm is a preference, of a weight from 1 to 100.
type WeightedTerm struct {
	Weight          int32   `json:"weight"`
	PodAffinityTerm PodTerm `json:"podAffinityTerm"`
}

// LabelSelector is met where all of it is; an empty one by all pods.
type LabelSelector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []Expression      `json:"matchExpressions,omitempty"`
}

// Spread asks that the pods which it selects be spread over the values of a node label:
// none has more than MaxSkew more of them than the one that has the fewest.
type Spread struct {
	MaxSkew            int32          `json:"maxSkew"`
	TopologyKey        string         `json:"topologyKey"`
	WhenUnsatisfiable  string         `json:"whenUnsatisfiable"`
	LabelSelector      *LabelSelector `json:"labelSelector"`
	MinDomains         *int32         `json:"minDomains"`
	NodeAffinityPolicy string         `json:"nodeAffinityPolicy"`
	NodeTaintsPolicy   string         `json:"nodeTaintsPolicy"`
	MatchLabelKeys     []string       `json:"matchLabelKeys"`
}

// Status is that of a Node and that of a Pod.
type Status struct {
	Phase       string              `json:"phase"`
	QOSClass    string              `json:"qosClass"`
	Capacity    map[string]Quantity `json:"capacity"`
	Allocatable map[string]Quantity `json:"allocatable"`
	Conditions  []Condition         `json:"conditions"`
}

// Condition is one of those that a node is in.
type Condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

// IsStatic reports whether the pod comes from a file of its node, as those of
// many control planes do.
func (o *Object) IsStatic() bool {
	return o.Spec.NodeName != "" && slices.ContainsFunc(o.Metadata.OwnerReferences, func(w Owner) bool { return w.Kind == "Node" })
}
