package app

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"
	apiserver "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies"
)

// defaultPort is kube-scheduler's, so that probes, scrapes and firewalls that
// are set up for it fit.
const defaultPort = 10259

// options are the flags. Those named as a field of the configuration override
// the field if they are given.
type options struct {
	configFile    string
	writeConfigTo string

	policies []policies.Info        // that profiles may name besides Fairlead's own
	given    func(flag string) bool // whether the flag was
	sections cliflag.NamedFlagSets  // the flags, once they are declared

	kubeconfig  string
	leaderElect bool
	record      string
	gates       map[string]bool

	serving        *apiserver.SecureServingOptions
	authentication *apiserver.DelegatingAuthenticationOptions
	authorization  *apiserver.DelegatingAuthorizationOptions
	logs           *logs.Options
}

func newOptions() *options {
	o := &options{
		serving:        apiserver.NewSecureServingOptions(),
		authentication: apiserver.NewDelegatingAuthenticationOptions(),
		authorization:  apiserver.NewDelegatingAuthorizationOptions(),
		logs:           logs.NewOptions(),
	}
	o.serving.BindPort = defaultPort
	// No directory: a certificate that nobody gave is made in memory, because
	// the root file system is read-only.
	o.serving.ServerCert.CertDirectory = ""
	o.serving.ServerCert.PairName = "fairlead-scheduler"
	// Scheduling must not depend on being able to say who reads the metrics.
	o.authentication.RemoteKubeConfigFileOptional = true
	o.authentication.TolerateInClusterLookupFailure = true
	o.authorization.RemoteKubeConfigFileOptional = true
	return o
}

// flags declares the flags, by section of the help.
func (o *options) flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	general := sections.FlagSet("general")
	general.StringVar(&o.configFile, "config", "", "configuration file of apiVersion "+config.APIVersion+" and kind "+config.Kind)
	general.StringVar(&o.writeConfigTo, "write-config-to", "", "write the configuration, with all defaults and flags, to this file and exit")
	general.Var(cliflag.NewMapStringBool(&o.gates), "feature-gates",
		"those of Kubernetes that upstream's filters honour and that are not as by default, as NAME=true,NAME=false; say here what the API server was told of scheduling and devices")
	general.BoolP("help", "h", false, "print this help")
	general.Bool("version", false, "print the version and exit")

	overrides := sections.FlagSet("override")
	overrides.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the API server; empty means the service account of the pod (clientConnection.kubeconfig)")
	overrides.BoolVar(&o.leaderElect, "leader-elect", true, "schedule only while holding the lease that replicas share (leaderElection.leaderElect)")
	overrides.StringVar(&o.record, "record", "", "record what is seen and decided to files in this directory, to be replayed without a cluster (record.path)")

	o.serving.AddFlags(sections.FlagSet("secure serving"))
	o.authentication.AddFlags(sections.FlagSet("authentication"))
	o.authorization.AddFlags(sections.FlagSet("authorization"))
	describe(sections.FlagSet("authentication"), "authentication-kubeconfig", "how to reach the API server that says who a client of this server is; empty means --kubeconfig")
	describe(sections.FlagSet("authorization"), "authorization-kubeconfig", "how to reach the API server that says what a client of this server may read; empty means --kubeconfig")
	logsapi.AddFlags(o.logs, sections.FlagSet("logs"))
	o.sections = sections
	return sections
}

func describe(flags *pflag.FlagSet, name, usage string) { flags.Lookup(name).Usage = usage }

// configuration is the file, changed by the flags that were given.
func (o *options) configuration() (*config.SchedulerConfiguration, error) {
	c := config.Default()
	if o.configFile != "" {
		var err error
		if c, err = config.Load(o.configFile, o.policies...); err != nil {
			return nil, err
		}
	}
	if o.given("kubeconfig") {
		c.ClientConnection.Kubeconfig = o.kubeconfig
	}
	if o.given("leader-elect") {
		c.LeaderElection.LeaderElect = o.leaderElect
	}
	if o.given("record") {
		c.Record.Path = o.record
	}
	if errs := c.Validate(o.policies...); len(errs) > 0 {
		where := "the configuration"
		if o.configFile != "" {
			where = o.configFile
		}
		return nil, fmt.Errorf("%s: %w", where, errs.ToAggregate())
	}
	return c, o.checkServing()
}

// files are those that the configuration stands in: its own, and that of the classes.
func (o *options) files(c *config.SchedulerConfiguration) []string {
	return []string{o.configFile, c.Classes.Name}
}

// setGates sets upstream's feature gates, before anything of upstream's asks for them.
func (o *options) setGates() error {
	known := utilfeature.DefaultMutableFeatureGate.GetAll()
	for _, name := range slices.Sorted(maps.Keys(o.gates)) {
		if _, is := known[featuregate.Feature(name)]; !is { // one that was tried would be in the way of all others
			return fmt.Errorf("--feature-gates: Kubernetes has no feature gate %q", name)
		}
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(o.gates); err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	return nil
}

func (o *options) checkServing() error {
	errs := o.serving.Validate()
	errs = append(errs, o.authentication.Validate()...)
	errs = append(errs, o.authorization.Validate()...)
	if len(errs) > 0 {
		return errs[0]
	}
	return nil
}
