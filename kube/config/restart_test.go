package config_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
)

// TestNeedRestart: all that differs is named by its path, but for the classes, which may
// change under way.
func TestNeedRestart(t *testing.T) {
	for _, c := range []struct {
		change func(*config.SchedulerConfiguration)
		want   string
	}{
		{func(*config.SchedulerConfiguration) {}, ""},
		{func(c *config.SchedulerConfiguration) {
			c.Classes = config.Classes{Name: "google", Table: class.Google()}
		}, ""},
		{func(c *config.SchedulerConfiguration) {
			c.Classes.Table = class.Google()
			c.Classes.Table.Criteria = class.SAFC()
		}, "classes.weights"},
		{func(c *config.SchedulerConfiguration) { c.Profiles[0].Seed = 2 }, "profiles"},
		{func(c *config.SchedulerConfiguration) { c.Profiles[0].Policy.Watchdog = new(chosen.Time) }, "profiles"},
		{func(c *config.SchedulerConfiguration) { c.Old = []string{"an old name"} }, ""},
		{func(c *config.SchedulerConfiguration) {
			c.Profiles[0].Policy.Options = policies.Settings{"tie_break": "random"}
		}, "profiles"},
		{func(c *config.SchedulerConfiguration) {
			c.BindWorkers++
			c.BindTimeout.Duration += time.Second
			c.LeaderElection.RetryPeriod.Duration += time.Second
			c.Devices = []string{"nvidia.com/gpu"}
			c.Record.Path = "elsewhere"
		}, "leaderElection.retryPeriod bindWorkers bindTimeout devices record.path"},
	} {
		other := config.Default()
		c.change(other)
		if got := strings.Join(config.Default().NeedRestart(other), " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
