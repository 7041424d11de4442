package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/pkg/features"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
)

// call runs the command line and returns what it printed and its error.
func call(t *testing.T, args ...string) (string, error) {
	t.Helper()
	if err := logsapi.ResetForTest(nil); err != nil { // logging can be set up once in a process
		t.Fatal(err)
	}
	command := newCommand(func(context.Context, scheduler.Options) (runner, error) { return &scripted{}, nil })
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs(args)
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

func TestHelpAndVersion(t *testing.T) {
	help, err := call(t, "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"spec.schedulerName", "Exit codes", "Examples:\n", "Override flags:", "--config string", "--record string", "--leader-elect ",
		"--write-config-to string", "--secure-port int", "--bind-address ip", "--cert-dir string", "--authentication-kubeconfig string",
		"--authorization-kubeconfig string", "-v, --v Level", `Permitted formats: "json"`, "--version ",
	} {
		if !strings.Contains(help, part) {
			t.Errorf("the help does not say %q:\n%s", part, help)
		}
	}
	if got, err := call(t, "--version"); err != nil || !strings.HasPrefix(got, "fairlead-scheduler ") {
		t.Errorf("--version printed %q, error %v", got, err)
	}
}

// TestConfiguration: a flag that is given changes the file, and one that is
// not leaves it alone, whatever the flag's default.
func TestConfiguration(t *testing.T) {
	dir := t.TempDir()
	given, written := filepath.Join(dir, "given.yaml"), filepath.Join(dir, "written.yaml")
	text := "apiVersion: fairlead.dev/v1alpha1\nkind: SchedulerConfiguration\nbindWorkers: 5\nleaderElection: {leaderElect: false}\nrecord: {path: old}\n"
	if err := os.WriteFile(given, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, "--config", given, "--record", "new", "--kubeconfig", "k", "--write-config-to", written); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(written)
	if err != nil {
		t.Fatal(err)
	}
	if c.BindWorkers != 5 || c.LeaderElection.LeaderElect || c.Record.Path != "new" || c.ClientConnection.Kubeconfig != "k" {
		t.Errorf("wrote %+v", c)
	}
}

// TestOwnPolicy: a policy from elsewhere may be that of a profile, with its option.
func TestOwnPolicy(t *testing.T) {
	mine := policies.Info{
		Name: "mine", Family: "own", Options: []policies.Option{{Name: "bad_mood", Values: []string{"yes", "no"}, Default: "no"}},
		Make: func(o policies.Options) (sched.Policy, error) { return policies.New("kube", o) },
	}
	dir := t.TempDir()
	given, written := filepath.Join(dir, "given.yaml"), filepath.Join(dir, "written.yaml")
	configure := func(profile string, own ...policies.Info) error {
		text := "apiVersion: fairlead.dev/v1alpha1\nkind: SchedulerConfiguration\nprofiles: [" + profile + "]\n"
		if err := os.WriteFile(given, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := logsapi.ResetForTest(nil); err != nil {
			t.Fatal(err)
		}
		command := newCommand(nil, own...)
		command.SetArgs([]string{"--config", given, "--write-config-to", written})
		return command.ExecuteContext(t.Context())
	}
	for _, test := range []struct {
		profile string
		own     []policies.Info
		says    string // empty: nothing
	}{
		{"{policy: {name: mine, options: {bad_mood: 'yes'}}}", []policies.Info{mine}, ""},
		{"{policy: {name: mine, options: {bad_mood: maybe}}}", []policies.Info{mine}, "profiles[0].policy.options.bad_mood: Invalid value: \"maybe\": unknown bad-mood"},
		{"{policy: {name: mine, options: {tie_break: fixed}}}", []policies.Info{mine}, "profiles[0].policy.options.tie_break: Invalid value: \"fixed\": the policy mine has no use for it"},
		{"{policy: mine}", nil, "profiles[0].policy.name: Invalid value: \"mine\": unknown policy \"mine\""},
		{"{policy: mine, badMood: 'yes'}", nil, "given.yaml:3:27: profiles[0].badMood: unknown field; there are evictions, learnReputation, mode, policy"},
		{"{policy: mine, badMood: 'yes'}", []policies.Info{mine}, ""}, // as options were written once
	} {
		err := configure(test.profile, test.own...)
		if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v, want %q", test.profile, err, test.says)
		}
	}
	c, err := config.Load(written, mine)
	if err != nil || c.Profiles[0].Policy.Options["bad_mood"] != "yes" {
		t.Errorf("wrote %+v, %v", c, err)
	}
}

// TestUsageErrors: each says what to do and is told from failures, which may
// go away by themselves.
func TestUsageErrors(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // not in a cluster
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("apiVersion: fairlead.dev/v1alpha1\nkind: SchedulerConfiguration\nbindWorkers: 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"now"}, `unexpected argument "now"`},
		{[]string{"--confg", "x"}, "unknown flag: --confg"},
		{[]string{"--config", filepath.Join(dir, "none.yaml")}, "cannot read the configuration"},
		{[]string{"--config", bad}, "bad.yaml: bindWorkers: Invalid value: 0: must be between 1 and 4096"},
		{[]string{"--secure-port", "70000"}, "--secure-port 70000 must be between"},
		{[]string{"--logging-format", "xml"}, "xml"},
		{[]string{"--feature-gates", "NoSuchGate=true"}, `--feature-gates: Kubernetes has no feature gate "NoSuchGate"`},
		{[]string{"--feature-gates", "DRAListTypeAttributes=perhaps"}, "perhaps"},
		{nil, "--kubeconfig FILE"},
	} {
		_, err := call(t, test.args...)
		if _, ok := errors.AsType[usageError](err); !ok || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v: got %v, expected a usage error that says %q", test.args, err, test.says)
		}
	}
}

// TestFeatureGates: upstream's filters, which ask for the gates of the process, are told of them.
func TestFeatureGates(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAListTypeAttributes, false)
	if out, err := call(t, "--kubeconfig", "x", "--feature-gates", "DRAListTypeAttributes=true", "--write-config-to", filepath.Join(t.TempDir(), "config.yaml")); err != nil {
		t.Fatal(err, out)
	}
	if !utilfeature.DefaultFeatureGate.Enabled(features.DRAListTypeAttributes) {
		t.Error("the gate is off")
	}
}

// TestDeployment: the flags and probes of deploy/deployment.yaml are ones that
// this command knows.
func TestDeployment(t *testing.T) {
	text, err := os.ReadFile("../deploy/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checked := false
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var deployment appsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &deployment); err != nil {
			t.Fatal(err)
		}
		if deployment.Kind != "Deployment" {
			continue
		}
		container := deployment.Spec.Template.Spec.Containers[0]
		o := newOptions()
		command := newCommand(nil)
		if err := command.ParseFlags(container.Args); err != nil {
			t.Error(err)
		}
		port, err := command.Flags().GetInt("secure-port")
		if err != nil {
			t.Fatal(err)
		}
		if port != container.LivenessProbe.HTTPGet.Port.IntValue() || port != container.ReadinessProbe.HTTPGet.Port.IntValue() {
			t.Errorf("probes ask port %v and %v, but the command serves on %d",
				container.LivenessProbe.HTTPGet.Port, container.ReadinessProbe.HTTPGet.Port, port)
		}
		for _, path := range []string{container.LivenessProbe.HTTPGet.Path, container.ReadinessProbe.HTTPGet.Path} {
			if !slices.Contains(o.authorization.AlwaysAllowPaths, path) {
				t.Errorf("the kubelet may not read %s", path)
			}
		}
		longest := config.Default().BindTimeout.Duration + afterBinds
		if got := *deployment.Spec.Template.Spec.TerminationGracePeriodSeconds; float64(got) <= longest.Seconds() {
			t.Errorf("the kubelet kills after %ds, but stopping may take %s", got, longest)
		}
		checked = true
	}
	if !checked {
		t.Error("found no Deployment")
	}
}
