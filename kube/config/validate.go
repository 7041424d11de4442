package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
)

// Validate returns everything that is wrong with the values. It is called
// once, when file and flags have both spoken. Profiles may name the policies of Fairlead, and
// the others.
func (c *SchedulerConfiguration) Validate(others ...policies.Info) field.ErrorList {
	errs := c.ClientConnection.validate(field.NewPath("clientConnection"))
	if c.LeaderElection.LeaderElect {
		errs = append(errs, c.LeaderElection.validate(field.NewPath("leaderElection"))...)
	}
	errs = append(errs, c.validateShadow()...)
	errs = append(errs, validateProfiles(c.Profiles, append(policies.All(), others...), field.NewPath("profiles"))...)
	if c.PodInitialBackoffSeconds < 1 {
		errs = append(errs, field.Invalid(field.NewPath("podInitialBackoffSeconds"), c.PodInitialBackoffSeconds, "must be at least 1"))
	}
	if c.PodMaxBackoffSeconds < c.PodInitialBackoffSeconds {
		errs = append(errs, field.Invalid(field.NewPath("podMaxBackoffSeconds"), c.PodMaxBackoffSeconds,
			fmt.Sprintf("must be at least podInitialBackoffSeconds, which is %d", c.PodInitialBackoffSeconds)))
	}
	if c.BindWorkers < 1 || c.BindWorkers > 4096 {
		errs = append(errs, field.Invalid(field.NewPath("bindWorkers"), c.BindWorkers, "must be between 1 and 4096"))
	}
	if c.BindTimeout.Duration < time.Second {
		errs = append(errs, field.Invalid(field.NewPath("bindTimeout"), c.BindTimeout.Duration.String(),
			"must be at least 1s; a bind that is given up too early leaves an outcome to look up"))
	}
	if c.RackLabel != "" {
		for _, problem := range validation.IsQualifiedName(c.RackLabel) {
			errs = append(errs, field.Invalid(field.NewPath("rackLabel"), c.RackLabel, problem))
		}
	}
	errs = append(errs, validateDevices(c.Devices, field.NewPath("devices"))...)
	errs = append(errs, c.Classes.validate(field.NewPath("classes"))...)
	if c.Record.Path != "" {
		errs = append(errs, c.Record.validate(field.NewPath("record"))...)
	}
	return errs
}

// Cautions are sentences about values that are valid and need care.
func (c *SchedulerConfiguration) Cautions() []string {
	var cautions []string
	if is, shares := c.TakesOver(); is && !shares {
		// Pods that name no scheduler get this name, so all of them become
		// ours. Nothing in the API keeps two schedulers off the same pod:
		// both would bind, one would lose each time, and each would count
		// capacity on which the other has already decided.
		cautions = append(cautions, fmt.Sprintf(
			"a profile takes over %s, and with it every pod that names no scheduler; make sure that kube-scheduler does not start with that name, or share its lease (leaderElection.resourceName: %s)",
			corev1.DefaultSchedulerName, UpstreamLease))
	}
	if !c.LeaderElection.LeaderElect {
		cautions = append(cautions, "leader election is off; make sure that only one replica runs")
	}
	return append(cautions, c.Old...)
}

func (c ClientConnection) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.QPS == 0 {
		errs = append(errs, field.Invalid(path.Child("qps"), c.QPS,
			"must not be 0, which the client would take for its own default of 5; -1 lifts the limit"))
	}
	if c.QPS > 0 && c.Burst < 1 {
		errs = append(errs, field.Invalid(path.Child("burst"), c.Burst, "must be at least 1 where qps sets a limit"))
	}
	switch c.ContentType {
	case "application/json", "application/vnd.kubernetes.protobuf":
	default:
		errs = append(errs, field.NotSupported(path.Child("contentType"), c.ContentType,
			[]string{"application/json", "application/vnd.kubernetes.protobuf"}))
	}
	return errs
}

func (l LeaderElection) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if l.LeaseDuration.Duration < time.Second {
		errs = append(errs, field.Invalid(path.Child("leaseDuration"), l.LeaseDuration.Duration.String(),
			"must be at least 1s, because a Lease counts whole seconds"))
	}
	if l.LeaseDuration.Duration <= l.RenewDeadline.Duration {
		errs = append(errs, field.Invalid(path.Child("leaseDuration"), l.LeaseDuration.Duration.String(), fmt.Sprintf(
			"must be longer than renewDeadline, which is %s; else another replica takes over while this one still renews", l.RenewDeadline.Duration)))
	}
	// The client waits up to 1.2 times the retry period between two attempts.
	if float64(l.RenewDeadline.Duration) <= 1.2*float64(l.RetryPeriod.Duration) {
		errs = append(errs, field.Invalid(path.Child("renewDeadline"), l.RenewDeadline.Duration.String(), fmt.Sprintf(
			"must be longer than 1.2 times retryPeriod, which is %s; else there may be no second attempt", l.RetryPeriod.Duration)))
	}
	if l.RetryPeriod.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("retryPeriod"), l.RetryPeriod.Duration.String(), "must be longer than 0s"))
	}
	if l.ResourceLock != "leases" {
		errs = append(errs, field.NotSupported(path.Child("resourceLock"), l.ResourceLock, []string{"leases"}))
	}
	for _, problem := range validation.IsDNS1123Subdomain(l.ResourceName) {
		errs = append(errs, field.Invalid(path.Child("resourceName"), l.ResourceName, problem))
	}
	for _, problem := range validation.IsDNS1123Label(l.ResourceNamespace) {
		errs = append(errs, field.Invalid(path.Child("resourceNamespace"), l.ResourceNamespace, problem))
	}
	return errs
}

func (r Record) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.MaxFileBytes < 1<<20 {
		errs = append(errs, field.Invalid(path.Child("maxFileBytes"), r.MaxFileBytes, "must be at least 1048576, which is 1 MiB"))
	}
	if r.MaxFiles < 1 {
		errs = append(errs, field.Invalid(path.Child("maxFiles"), r.MaxFiles, "must be at least 1"))
	}
	return errs
}

// validateDevices wants extended resources, each once, and no more than a node has places for.
func validateDevices(names []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(names) > cluster.MaxDevices {
		errs = append(errs, field.TooMany(path, len(names), cluster.MaxDevices))
	}
	for i, name := range names {
		at := path.Index(i)
		switch problems := validation.IsQualifiedName(name); {
		case len(problems) > 0:
			errs = append(errs, field.Invalid(at, name, strings.Join(problems, "; ")))
		case !strings.Contains(name, "/"):
			errs = append(errs, field.Invalid(at, name, "is no extended resource; want one such as nvidia.com/gpu"))
		case slices.Contains(names[:i], name):
			errs = append(errs, field.Duplicate(at, name))
		}
	}
	return errs
}
