// Package config is the configuration of fairlead-scheduler: one YAML file of
// apiVersion fairlead.dev/v1alpha1 and kind SchedulerConfiguration.
//
// A field is named as in kube-scheduler's configuration where it means the
// same, so that what an operator knows stays true. Load reads a file and fills
// in what it leaves out, Validate checks the result once the command line has
// had its say, and Write writes it down.
package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/policies"
)

// What a configuration file must say about itself.
const (
	APIVersion = "fairlead.dev/v1alpha1"
	Kind       = "SchedulerConfiguration"
)

// DefaultSchedulerName is what pods put into spec.schedulerName to be
// scheduled by Fairlead, unless a profile says otherwise. It is not the
// cluster's default scheduler: to take that over must be asked for by name.
const DefaultSchedulerName = "fairlead"

// DefaultPolicy is the policy of a profile that names none.
const DefaultPolicy = "fairlead"

// SchedulerConfiguration is everything that fairlead-scheduler can be told.
type SchedulerConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	ClientConnection ClientConnection `json:"clientConnection"`
	LeaderElection   LeaderElection   `json:"leaderElection"`
	// Profiles say which pods are ours, and by which policy each is placed.
	Profiles []Profile `json:"profiles"`

	// A pod that could not be placed waits this long before the next attempt,
	// twice as long after each further one, up to the maximum.
	PodInitialBackoffSeconds int64 `json:"podInitialBackoffSeconds"`
	PodMaxBackoffSeconds     int64 `json:"podMaxBackoffSeconds"`

	// EnableProfiling serves /debug/pprof to those who are authorized to read it.
	EnableProfiling bool `json:"enableProfiling"`

	// BindWorkers is how many pods are bound at the same time.
	BindWorkers int `json:"bindWorkers"`
	// BindTimeout is how long one bind may take until its outcome counts as
	// unknown and is looked up.
	BindTimeout metav1.Duration `json:"bindTimeout"`

	// RackLabel is the label of nodes whose value is the rack that a node stands
	// in. Kubernetes has no such label of its own, so it is empty unless given,
	// and then nodes stand in no rack.
	RackLabel string `json:"rackLabel"`

	// Devices are the extended resources of which policies see the single devices of a node,
	// such as nvidia.com/gpu: for policies that place by them. To all others they are
	// numbers, as other resources are.
	Devices []string `json:"devices,omitempty"`

	// Classes is what is promised to which pods: the name of a table that comes with
	// Fairlead, a file, or the table itself. A pod has the class that its label
	// fairlead.dev/class names, or else the one that its priority leads to. Without a
	// table nothing is promised to anybody.
	Classes Classes `json:"classes"`

	Record Record `json:"record"`

	// Old says of each field that the file gives under an old name how to write it now.
	Old []string `json:"-"`
}

// ClientConnection is how the API server is reached.
type ClientConnection struct {
	// Kubeconfig is a path; empty means the service account of the pod.
	Kubeconfig string `json:"kubeconfig"`
	// QPS and Burst limit the requests per second; a negative QPS lifts the
	// limit.
	QPS                float32 `json:"qps"`
	Burst              int32   `json:"burst"`
	ContentType        string  `json:"contentType"`
	AcceptContentTypes string  `json:"acceptContentTypes"`
}

// LeaderElection is how several replicas agree on the one that schedules.
type LeaderElection struct {
	LeaderElect bool `json:"leaderElect"`
	// LeaseDuration is how long the others wait for a leader that went silent.
	LeaseDuration metav1.Duration `json:"leaseDuration"`
	// RenewDeadline is how long a leader tries to renew before it gives up.
	RenewDeadline metav1.Duration `json:"renewDeadline"`
	// RetryPeriod is the pause between two attempts.
	RetryPeriod       metav1.Duration `json:"retryPeriod"`
	ResourceLock      string          `json:"resourceLock"`
	ResourceName      string          `json:"resourceName"`
	ResourceNamespace string          `json:"resourceNamespace"`
}

// Record is the recording of what was seen and decided, from which a run can
// be replayed without Kubernetes. An empty path means none.
type Record struct {
	Path string `json:"path"`
	// MaxFileBytes is the size at which a new file is begun, and MaxFiles how
	// many are kept.
	MaxFileBytes int64 `json:"maxFileBytes"`
	MaxFiles     int   `json:"maxFiles"`
}

// Default is the configuration of an empty file.
func Default() *SchedulerConfiguration {
	c := blank()
	c.complete(policies.All())
	return c
}

// blank is what a file is decoded over, so that a field that is left out keeps
// its default. It has no profile, because decoding into one that is already
// there would mix the two.
func blank() *SchedulerConfiguration {
	return &SchedulerConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
		ClientConnection: ClientConnection{
			// kube-scheduler's 50 would be the bottleneck. More than an API
			// server on two cores answers, and still a stop to a loop gone wild.
			QPS: 2000, Burst: 4000,
			ContentType: "application/vnd.kubernetes.protobuf",
		},
		LeaderElection: LeaderElection{
			LeaderElect:       true,
			LeaseDuration:     metav1.Duration{Duration: 15 * time.Second},
			RenewDeadline:     metav1.Duration{Duration: 10 * time.Second},
			RetryPeriod:       metav1.Duration{Duration: 2 * time.Second},
			ResourceLock:      "leases",
			ResourceName:      DefaultLease,
			ResourceNamespace: metav1.NamespaceSystem,
		},
		PodInitialBackoffSeconds: 1,
		PodMaxBackoffSeconds:     10,
		EnableProfiling:          true,
		BindWorkers:              64,
		BindTimeout:              metav1.Duration{Duration: 15 * time.Second},
		Record:                   Record{MaxFileBytes: 256 << 20, MaxFiles: 8},
	}
}

// complete fills in the profiles, whose defaults depend on each other.
func (c *SchedulerConfiguration) complete(known policies.List) {
	if len(c.Profiles) == 0 {
		c.Profiles = []Profile{silent()}
	}
	for i := range c.Profiles {
		c.Profiles[i].complete(known)
	}
	if l := &c.LeaderElection; c.Shadow() && l.ResourceName == DefaultLease {
		l.ResourceName = ShadowLease // whoever places goes on with its own
	}
}
