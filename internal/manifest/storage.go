package manifest

// This file is the objects of storage: what pods mount, claims, volumes, classes and drivers.

// Storage is the volumes of a pod, and the specs of PersistentVolumeClaim, PersistentVolume, CSINode
// and CSIDriver, which share no field that means something else.
type Storage struct {
	Volumes []Volume `json:"volumes,omitempty"`

	AccessModes      []string `json:"accessModes,omitempty"`
	StorageClassName *string  `json:"storageClassName,omitempty"`
	VolumeMode       string   `json:"volumeMode,omitempty"`
	AttributesClass  string   `json:"volumeAttributesClassName,omitempty"`

	VolumeName string         `json:"volumeName,omitempty"` // of a claim
	Selector   *LabelSelector `json:"selector,omitempty"`   // of a claim: of volumes; of a PodDisruptionBudget: of pods

	Capacity     map[string]Quantity `json:"capacity,omitempty"` // of a volume, as all up to Disks
	ClaimRef     *ClaimRef           `json:"claimRef,omitempty"`
	NodeAffinity *VolumeAffinity     `json:"nodeAffinity,omitempty"`
	CSI          *CSIVolume          `json:"csi,omitempty"`
	Disks

	Drivers           []NodeDriver `json:"drivers,omitempty"`         // of a CSINode
	PublishesCapacity *bool        `json:"storageCapacity,omitempty"` // of a CSIDriver
}

// ClaimAnnotations are those of claims, volumes and classes.
type ClaimAnnotations struct {
	Bound        string  `json:"pv.kubernetes.io/bind-completed"`
	SelectedNode string  `json:"volume.kubernetes.io/selected-node"`
	Class        *string `json:"volume.beta.kubernetes.io/storage-class"`
	IsDefault    string  `json:"storageclass.kubernetes.io/is-default-class"`
}

// ClaimRef is the claim that a volume is bound to, or kept for.
type ClaimRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// VolumeAffinity is from which nodes a volume can be reached.
type VolumeAffinity struct {
	Required *NodeSelector `json:"required,omitempty"`
}

// CSIVolume is a volume by what its driver calls it.
type CSIVolume struct {
	Driver string `json:"driver"`
	Handle string `json:"volumeHandle"`
}

// Disks are volumes of clouds and networks that a pod names itself, or that stand behind a volume.
type Disks struct {
	AWS    *AWSDisk    `json:"awsElasticBlockStore,omitempty"`
	GCE    *GCEDisk    `json:"gcePersistentDisk,omitempty"`
	Azure  *AzureDisk  `json:"azureDisk,omitempty"`
	Cinder *CinderDisk `json:"cinder,omitempty"`
	ISCSI  *ISCSIDisk  `json:"iscsi,omitempty"`
	RBD    *RBDDisk    `json:"rbd,omitempty"`
}

// AWSDisk is a volume of Amazon's EBS.
type AWSDisk struct {
	Volume string `json:"volumeID"`
}

// GCEDisk is a disk of Google's.
type GCEDisk struct {
	Name     string `json:"pdName"`
	ReadOnly bool   `json:"readOnly"`
}

// AzureDisk is a disk of Microsoft's.
type AzureDisk struct {
	URI string `json:"diskURI"`
}

// CinderDisk is a disk of OpenStack's.
type CinderDisk struct {
	Volume string `json:"volumeID"`
}

// ISCSIDisk is a disk that is reached by iSCSI.
type ISCSIDisk struct {
	IQN      string `json:"iqn"`
	ReadOnly bool   `json:"readOnly"`
}

// RBDDisk is an image of Ceph's.
type RBDDisk struct {
	Pool     string `json:"pool"`
	Image    string `json:"image"`
	ReadOnly bool   `json:"readOnly"`
}

// NodeDriver is a driver on a node, and how many volumes of it the node attaches.
type NodeDriver struct {
	Name        string `json:"name"`
	Allocatable *struct {
		Count *int64 `json:"count"`
	} `json:"allocatable"`
}

// Volume is a volume of a pod.
type Volume struct {
	Name                  string          `json:"name,omitempty"`
	PersistentVolumeClaim *ClaimName      `json:"persistentVolumeClaim,omitempty"`
	Ephemeral             *EphemeralClaim `json:"ephemeral,omitempty"`
	Disks
}

// ClaimName names a claim in the pod's namespace.
type ClaimName struct {
	Name string `json:"claimName"`
	// Template is what the claim is made of where it is not there yet; nil where nobody makes it.
	Template *ClaimTemplate `json:"-"`
}

// EphemeralClaim is a claim that comes and goes with the pod.
type EphemeralClaim struct {
	Template *ClaimTemplate `json:"volumeClaimTemplate,omitempty"`
}

// ClaimTemplate is what a claim is made of.
type ClaimTemplate struct {
	Metadata struct {
		Name        string           `json:"name"`
		Annotations ClaimAnnotations `json:"annotations"`
	} `json:"metadata"`
	Spec ClaimSpec `json:"spec"`
}

// ClaimSpec is what a claim asks for.
type ClaimSpec struct {
	Resources        Resources      `json:"resources"`
	AccessModes      []string       `json:"accessModes"`
	StorageClassName *string        `json:"storageClassName"`
	VolumeMode       string         `json:"volumeMode"`
	AttributesClass  string         `json:"volumeAttributesClassName"`
	Selector         *LabelSelector `json:"selector"`
}

// StorageClass is what an object of that kind says.
type StorageClass struct {
	Provisioner       string         `json:"provisioner"`
	VolumeBindingMode string         `json:"volumeBindingMode"`
	AllowedTopologies []TopologyTerm `json:"allowedTopologies"`
}

// TopologyTerm is met where all of it is; one without any is met nowhere.
type TopologyTerm struct {
	MatchLabelExpressions []struct {
		Key    string   `json:"key"`
		Values []string `json:"values"`
	} `json:"matchLabelExpressions"`
}

// StorageCapacity is what a CSIStorageCapacity says: how large a volume of a class may be on some nodes.
type StorageCapacity struct {
	Class    string         `json:"storageClassName"`
	Nodes    *LabelSelector `json:"nodeTopology"`
	Capacity Quantity       `json:"capacity"`
	MaxSize  Quantity       `json:"maximumVolumeSize"`
}
