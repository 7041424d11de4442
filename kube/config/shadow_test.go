package config_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/kube/config"
)

// parsed is a configuration with these lines.
func parsed(t *testing.T, lines ...string) *config.SchedulerConfiguration {
	t.Helper()
	c, err := config.Parse("config.yaml", []byte("apiVersion: fairlead.dev/v1alpha1\nkind: SchedulerConfiguration\n"+strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A shadow takes nobody's place, has a lease of its own, and is one with all of its profiles.
func TestShadow(t *testing.T) {
	c := parsed(t, "profiles: [{schedulerName: default-scheduler, mode: shadow}, {schedulerName: other, mode: shadow, policy: kube}]")
	if errs := c.Validate(); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	if is, _ := c.TakesOver(); is || !c.Shadow() || c.LeaderElection.ResourceName != config.ShadowLease || len(c.Cautions()) > 0 {
		t.Errorf("takes over %t, a shadow %t, lease %s, cautions %q", is, c.Shadow(), c.LeaderElection.ResourceName, c.Cautions())
	}
	if !c.Owns(corev1.DefaultSchedulerName) || !c.Owns("other") || c.Owns("fairlead") {
		t.Error("it watches others than its profiles say")
	}
	if c := parsed(t, "profiles: [{mode: schedule}]"); c.Shadow() || c.LeaderElection.ResourceName != config.DefaultLease || len(c.Validate()) > 0 {
		t.Errorf("mode schedule: a shadow %t, lease %s, %v", c.Shadow(), c.LeaderElection.ResourceName, c.Validate())
	}
	if c := parsed(t, "profiles: [{mode: shadow}]", "leaderElection: {resourceName: mine}"); c.LeaderElection.ResourceName != "mine" || len(c.Validate()) > 0 {
		t.Errorf("a lease that is given is %s, %v", c.LeaderElection.ResourceName, c.Validate())
	}
}

func TestShadowMistakes(t *testing.T) {
	for _, tc := range []struct{ lines, want string }{
		{"profiles: [{mode: shadows}]", `profiles[0].mode: Unsupported value: "shadows"`},
		{"profiles: [{schedulerName: default-scheduler, mode: shadow}, {schedulerName: fairlead}]", `profiles[1].mode: Invalid value: "": must be that of profiles[0], "shadow"`},
		{"profiles: [{schedulerName: fairlead}, {schedulerName: default-scheduler, mode: shadow}]", `profiles[1].mode: Invalid value: "shadow": must be that of profiles[0], ""`},
		{"profiles: [{mode: shadow}]\nleaderElection: {resourceName: kube-scheduler}", "leaderElection.resourceName: Invalid value: \"kube-scheduler\": is kube-scheduler's lease"},
	} {
		errs := parsed(t, tc.lines).Validate()
		if !slices.ContainsFunc(errs.ToAggregate().Errors(), func(err error) bool { return strings.HasPrefix(err.Error(), tc.want) }) {
			t.Errorf("%s\ngot %v, want %s", tc.lines, errs, tc.want)
		}
	}
}
