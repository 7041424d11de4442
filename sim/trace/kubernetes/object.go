package kubernetes

// object is as much of a Node or a Pod as is read: the fields by which upstream's
// scheduler decides where a pod may go and what it takes there. Those that are
// read only to be refused, or to be counted, are here too.
type object struct {
	Kind     string   `json:"kind"`
	Metadata metadata `json:"metadata"`
	Spec     spec     `json:"spec"`
	Status   status   `json:"status"`
}

type metadata struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	Labels            map[string]string `json:"labels"`
	OwnerReferences   []owner           `json:"ownerReferences"`
	CreationTimestamp string            `json:"creationTimestamp"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
}

type owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// spec is that of a Node and that of a Pod: they share no field.
type spec struct {
	Unschedulable bool    `json:"unschedulable"`
	Taints        []taint `json:"taints"`

	NodeName                  string              `json:"nodeName"`
	Priority                  int32               `json:"priority"`
	Containers                []container         `json:"containers"`
	InitContainers            []container         `json:"initContainers"`
	Overhead                  map[string]quantity `json:"overhead"`
	Resources                 resources           `json:"resources"`
	NodeSelector              map[string]string   `json:"nodeSelector"`
	Affinity                  affinity            `json:"affinity"`
	Tolerations               []toleration        `json:"tolerations"`
	TopologySpreadConstraints []spread            `json:"topologySpreadConstraints"`
	Volumes                   []volume            `json:"volumes"`
	ResourceClaims            []struct{}          `json:"resourceClaims"`
	SchedulingGates           []struct{}          `json:"schedulingGates"`
}

type taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

type toleration struct {
	Key      string `json:"key"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
	Effect   string `json:"effect"`
}

type container struct {
	RestartPolicy string    `json:"restartPolicy"`
	Resources     resources `json:"resources"`
	Ports         []struct {
		HostPort int32  `json:"hostPort"`
		HostIP   string `json:"hostIP"`
		Protocol string `json:"protocol"`
	} `json:"ports"`
}

type resources struct {
	Requests map[string]quantity `json:"requests"`
}

type affinity struct {
	NodeAffinity    nodeAffinity `json:"nodeAffinity"`
	PodAffinity     podAffinity  `json:"podAffinity"`
	PodAntiAffinity podAffinity  `json:"podAntiAffinity"`
}

type nodeAffinity struct {
	Required  *nodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution"`
	Preferred []struct{}    `json:"preferredDuringSchedulingIgnoredDuringExecution"`
}

// nodeSelector is met where one of its terms is.
type nodeSelector struct {
	NodeSelectorTerms []nodeTerm `json:"nodeSelectorTerms"`
}

// nodeTerm is met where all of it is; one without any is met nowhere.
type nodeTerm struct {
	MatchExpressions []expression `json:"matchExpressions,omitempty"`
	MatchFields      []expression `json:"matchFields,omitempty"`
}

// expression is a condition on one label. A node's has the operators In, NotIn,
// Exists, DoesNotExist, Gt and Lt, a pod's the first four.
type expression struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

type podAffinity struct {
	Required  []podTerm  `json:"requiredDuringSchedulingIgnoredDuringExecution"`
	Preferred []struct{} `json:"preferredDuringSchedulingIgnoredDuringExecution"`
}

// podTerm selects pods. What matchLabelKeys says is in its labelSelector when
// an API server hands it out.
type podTerm struct {
	LabelSelector     *labelSelector `json:"labelSelector"`
	TopologyKey       string         `json:"topologyKey"`
	Namespaces        []string       `json:"namespaces"`
	NamespaceSelector *struct{}      `json:"namespaceSelector"`
}

type labelSelector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []expression      `json:"matchExpressions,omitempty"`
}

type spread struct {
	WhenUnsatisfiable string `json:"whenUnsatisfiable"`
}

type volume struct {
	PersistentVolumeClaim *struct{} `json:"persistentVolumeClaim"`
	Ephemeral             *struct{} `json:"ephemeral"`
}

type status struct {
	Phase       string              `json:"phase"`
	QOSClass    string              `json:"qosClass"`
	Capacity    map[string]quantity `json:"capacity"`
	Allocatable map[string]quantity `json:"allocatable"`
	Conditions  []condition         `json:"conditions"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}
