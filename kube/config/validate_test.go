package config_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
)

func TestDefaultIsValid(t *testing.T) {
	if errs := config.Default().Validate(); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	if cautions := config.Default().Cautions(); len(cautions) > 0 {
		t.Errorf("the default needs care: %q", cautions)
	}
}

// Every policy is valid with the tie-break that it gets by default; those that
// evict unless that is not allowed, but for fairlead, which then does without.
func TestEveryPolicyIsValid(t *testing.T) {
	for _, policy := range policies.All() {
		for _, evictions := range []string{"", ", evictions: {enabled: false}"} {
			c, err := config.Parse("f.yaml", []byte(header+"profiles: [{policy: "+policy.Name+evictions+"}]"))
			if err != nil {
				t.Fatal(err)
			}
			if errs := c.Validate(); len(errs) > 0 != (policy.Evicts && policy.Name != "fairlead" && evictions != "") {
				t.Errorf("%s%s: %v", policy.Name, evictions, errs.ToAggregate())
			}
			if _, err := policies.All().NewChosen(policy.Name, c.Profiles[0].Policy.Options, policies.Options{}); err != nil {
				t.Errorf("%s: %v", policy.Name, err)
			}
		}
	}
}

// Where a profile allows no evictions, fairlead decides without, and without what else is switched off; what is
// written of the profile says nothing of it, so that evictions are allowed by one word.
func TestFairleadEvictsWhereAllowed(t *testing.T) {
	for _, test := range []struct{ profile, without, written string }{
		{"{}", "", ""},
		{"{policy: fairlead, evictions: {enabled: false}}", "evictions", ""},
		{"{policy: fairlead, evictions: {perMinute: 3}}", "", ""},
		{"{policy: {name: fairlead, options: {without: claims}}, evictions: {enabled: false}}", "claims+evictions", "claims"},
		{"{policy: {name: fairlead, options: {without: evictions+claims}}}", "evictions+claims", "evictions+claims"},
		{"{policy: {name: fairlead, options: {without: evictions}}}", "evictions", "evictions"},
		{"{policy: kube}", "", ""},
	} {
		c, err := config.Parse("f.yaml", []byte(header+"profiles: ["+test.profile+"]"))
		if err != nil {
			t.Fatal(err)
		}
		if errs := c.Validate(); len(errs) > 0 {
			t.Errorf("%s: %v", test.profile, errs.ToAggregate())
		}
		p := &c.Profiles[0]
		decides, ok := p.Decides(policies.All())
		if got, is := decides.Options["without"], p.Policy.Options["without"]; !ok || got != test.without || is != test.written {
			t.Errorf("%s: decides without %q, and says %q, %t", test.profile, got, is, ok)
		}
	}
}

func TestValidate(t *testing.T) {
	profile := func(p config.Profile) func(*config.SchedulerConfiguration) {
		return func(c *config.SchedulerConfiguration) { c.Profiles = []config.Profile{p} }
	}
	for _, test := range []struct {
		name   string
		change func(*config.SchedulerConfiguration)
		path   string // of the only complaint
		says   string // a part of it
	}{
		{
			"lease not longer than the renewal", func(c *config.SchedulerConfiguration) { c.LeaderElection.LeaseDuration.Duration = 10 * time.Second },
			"leaderElection.leaseDuration", "longer than renewDeadline, which is 10s",
		},
		{
			"renewal of one attempt", func(c *config.SchedulerConfiguration) {
				c.LeaderElection.RenewDeadline.Duration = 2400 * time.Millisecond
			},
			"leaderElection.renewDeadline", "1.2 times retryPeriod, which is 2s",
		},
		{
			"no pause between attempts", func(c *config.SchedulerConfiguration) { c.LeaderElection.RetryPeriod.Duration = 0 },
			"leaderElection.retryPeriod", "longer than 0s",
		},
		{
			"old kind of lock", func(c *config.SchedulerConfiguration) { c.LeaderElection.ResourceLock = "endpoints" },
			"leaderElection.resourceLock", `supported values: "leases"`,
		},
		{
			"name of the lease", func(c *config.SchedulerConfiguration) { c.LeaderElection.ResourceName = "Fairlead" },
			"leaderElection.resourceName", "lower case",
		},
		{
			"no namespace", func(c *config.SchedulerConfiguration) { c.LeaderElection.ResourceNamespace = "" },
			"leaderElection.resourceNamespace", "RFC 1123",
		},
		{
			"no requests", func(c *config.SchedulerConfiguration) { c.ClientConnection.QPS = 0 },
			"clientConnection.qps", "-1 lifts the limit",
		},
		{
			"no burst", func(c *config.SchedulerConfiguration) { c.ClientConnection.Burst = 0 },
			"clientConnection.burst", "at least 1",
		},
		{
			"content type", func(c *config.SchedulerConfiguration) { c.ClientConnection.ContentType = "text/html" },
			"clientConnection.contentType", "application/json",
		},
		{"no profile", func(c *config.SchedulerConfiguration) { c.Profiles = nil }, "profiles", "has no pods"},
		{
			"one name twice", func(c *config.SchedulerConfiguration) { c.Profiles = append(c.Profiles, c.Profiles[0]) },
			"profiles[1].schedulerName", "Duplicate value",
		},
		{
			"unknown policy", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "kub", Options: policies.Settings{"tie_break": "fixed"}}}),
			"profiles[0].policy.name", `unknown policy "kub"; did you mean kube?`,
		},
		{
			"unknown tie-break", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "kube", Options: policies.Settings{"tie_break": "highest"}}}),
			"profiles[0].policy.options.tie_break", "there are fixed, lowest, random",
		},
		{
			"a tie-break that the policy would ignore", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "first-fit", Options: policies.Settings{"tie_break": "random"}}}),
			"profiles[0].policy.options.tie_break", "defined by lowest",
		},
		{
			"a name that events cannot carry", profile(config.Profile{SchedulerName: "my scheduler", Policy: chosen.Policy{Name: "kube", Options: policies.Settings{"tie_break": "fixed"}}}),
			"profiles[0].schedulerName", "alphanumeric",
		},
		{
			"a policy that evicts", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "priority", Options: policies.Settings{"tie_break": "fixed"}}}),
			"profiles[0].policy", "profiles[0].evictions.enabled does not allow; set it to true",
		},
		{
			"a flow policy that evicts", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "quincy"}}),
			"profiles[0].policy", "profiles[0].evictions.enabled",
		},
		{
			"evictions that never come", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "quincy"}, Evictions: config.Evictions{Enabled: true, Pace: config.Pace{AtOnce: 1}, Moves: config.Pace{AtOnce: 1, PerMinute: 1}, Budgets: config.Hard}}),
			"profiles[0].evictions.perMinute", "between 1 and",
		},
		{
			"budgets that are something else", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "quincy"}, Evictions: config.Evictions{Enabled: true, Pace: config.Pace{AtOnce: 1, PerMinute: 1}, Moves: config.Pace{AtOnce: 1, PerMinute: 1}, Budgets: "besteffort"}}),
			"profiles[0].evictions.budgets", `supported values: "hard", "bestEffort"`,
		},
		{
			"evictions without an end", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "quincy"}, Evictions: config.Evictions{Enabled: true, Pace: config.Pace{AtOnce: 1 << 20, PerMinute: 1}, Moves: config.Pace{AtOnce: 1, PerMinute: 1}, Budgets: config.Hard}}),
			"profiles[0].evictions.atOnce", "between 1 and 4096",
		},
		{
			"a tie-break of a policy without", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "cpu-mem", Options: policies.Settings{"tie_break": "random"}}}),
			"profiles[0].policy.options.tie_break", "has no use for it; leave it out",
		},
		{
			"a solver of a policy without", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "kube", Options: policies.Settings{"tie_break": "fixed", "solver": "relaxation"}}}),
			"profiles[0].policy.options.solver", "has no use for it",
		},
		{
			"a solver that there is not", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "cpu-mem", Options: policies.Settings{"solver": "relaxatoin"}}}),
			"profiles[0].policy.options.solver", "did you mean relaxation?",
		},
		{
			"a solver of another family", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "cpu-mem", Options: policies.Settings{"solver": "ssp-literal"}}}),
			"profiles[0].policy.options.solver", "ecsched",
		},
		{
			"a race of another family", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "ecsched-dp", Options: policies.Settings{"solver": "race"}}}),
			"profiles[0].policy.options.solver", "race",
		},
		{
			"moves without evictions", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "quincy", Options: policies.Settings{"migrations": "1"}}}),
			"profiles[0].policy", "profiles[0].evictions.enabled does not allow",
		},
		{
			"moves of a flow policy without", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "cpu-mem", Options: policies.Settings{"migrations": "1"}}}),
			"profiles[0].policy.options.migrations", "has no use for it; leave it out",
		},
		{
			"moves of a policy without", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "kube", Options: policies.Settings{"tie_break": "fixed", "migrations": "1"}}}),
			"profiles[0].policy.options.migrations", "has no use for it",
		},
		{
			"fewer moves than none", profile(config.Profile{SchedulerName: "a", Policy: chosen.Policy{Name: "quincy", Options: policies.Settings{"migrations": "-1"}}, Evictions: config.Evictions{Enabled: true, Pace: config.Pace{AtOnce: 1, PerMinute: 1}, Moves: config.Pace{AtOnce: 1, PerMinute: 1}, Budgets: config.BestEffort}}),
			"profiles[0].policy.options.migrations", "want a number from 0",
		},
		{"a rack that is no label", func(c *config.SchedulerConfiguration) { c.RackLabel = "my rack" }, "rackLabel", "alphanumeric"},
		{"devices that are a core resource", func(c *config.SchedulerConfiguration) { c.Devices = []string{"cpu"} }, "devices[0]", "no extended resource"},
		{"devices that have no name", func(c *config.SchedulerConfiguration) { c.Devices = []string{"a.com/gpu", "b.com/"} }, "devices[1]", "must be non-empty"},
		{"devices twice", func(c *config.SchedulerConfiguration) { c.Devices = []string{"a.com/gpu", "a.com/gpu"} }, "devices[1]", "a.com/gpu"},
		{"no backoff", func(c *config.SchedulerConfiguration) { c.PodInitialBackoffSeconds = 0 }, "podInitialBackoffSeconds", "at least 1"},
		{
			"backoff that shrinks", func(c *config.SchedulerConfiguration) { c.PodInitialBackoffSeconds = 11 },
			"podMaxBackoffSeconds", "which is 11",
		},
		{"no workers", func(c *config.SchedulerConfiguration) { c.BindWorkers = 0 }, "bindWorkers", "between 1 and 4096"},
		{"hasty bind", func(c *config.SchedulerConfiguration) { c.BindTimeout.Duration = time.Millisecond }, "bindTimeout", "at least 1s"},
		{
			"tiny recordings", func(c *config.SchedulerConfiguration) { c.Record.Path, c.Record.MaxFileBytes = "r", 1 },
			"record.maxFileBytes", "1 MiB",
		},
		{"no recordings", func(c *config.SchedulerConfiguration) { c.Record.Path, c.Record.MaxFiles = "r", 0 }, "record.maxFiles", "at least 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := config.Default()
			test.change(c)
			errs := c.Validate()
			if len(errs) != 1 || errs[0].Field != test.path || !strings.Contains(errs[0].Error(), test.says) {
				t.Errorf("got %v, expected one complaint about %s that says %q", errs.ToAggregate(), test.path, test.says)
			}
		})
	}
}

// What is switched off is not judged.
func TestSwitchedOffIsNotJudged(t *testing.T) {
	c := config.Default()
	c.LeaderElection = config.LeaderElection{}
	c.Record = config.Record{}
	if errs := c.Validate(); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
}

// Taking over the cluster's default scheduler must be asked for by name, and
// is answered with a caution.
func TestCautions(t *testing.T) {
	c := config.Default()
	c.LeaderElection.LeaderElect = false
	c.Profiles[0].SchedulerName = "default-scheduler"
	cautions := strings.Join(c.Cautions(), "\n")
	for _, part := range []string{"a profile takes over default-scheduler", "only one replica"} {
		if !strings.Contains(cautions, part) {
			t.Errorf("no caution says %q: %s", part, cautions)
		}
	}
}
