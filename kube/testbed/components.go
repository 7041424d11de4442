package testbed

import (
	"context"
	"fmt"
	"os"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What runs beside the API server. Nothing elects a leader: there is one of each
// and it should work at once.

// StartControllerManager starts upstream's controllers and waits until they have
// made the service account that pods of the default namespace need.
func (b *Bed) StartControllerManager(ctx context.Context) error {
	const name = "kube-controller-manager"
	p, err := b.run(name, b.Program(name), append(append(b.serving(ControllerManager, b.ports.controllerManager), b.options.gates()...),
		"--kubeconfig="+b.Kubeconfig(ControllerManager),
		"--leader-elect=false",
		"--service-account-private-key-file="+b.path("service-account.key"),
		"--root-ca-file="+b.certificate(),
		// The roles of the controllers are bound to accounts of their own.
		"--use-service-account-credentials=true",
		"--kube-api-qps=5000", "--kube-api-burst=5000")...)
	if err != nil {
		return err
	}
	client, err := b.Client(Admin)
	if err != nil {
		return err
	}
	return b.await(ctx, p, func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// StartControllers starts some of upstream's controllers alone, as a user who may do everything, on a bed without a controller manager.
func StartControllers(ctx context.Context, b *Bed, controllers ...string) error {
	const name = "kube-controller-manager"
	p, err := b.run(name, b.Program(name), append(append(b.serving(Admin, b.ports.controllerManager), b.options.gates()...),
		"--kubeconfig="+b.Kubeconfig(Admin),
		"--leader-elect=false",
		"--controllers="+strings.Join(controllers, ","),
		"--kube-api-qps=5000", "--kube-api-burst=5000")...)
	if err != nil {
		return err
	}
	url := fmt.Sprintf("https://127.0.0.1:%d/healthz", b.ports.controllerManager)
	return b.await(ctx, p, func(ctx context.Context) error { return get(ctx, url, "ok") })
}

// StartKwok starts what keeps fake nodes alive and lets their pods run.
func (b *Bed) StartKwok(ctx context.Context) error {
	address := fmt.Sprintf("127.0.0.1:%d", b.ports.kwok)
	file, err := stages(b)
	if err != nil {
		return err
	}
	p, err := b.run("kwok", b.Program("kwok"),
		"--kubeconfig="+b.Kubeconfig(Kwok), "--config="+file,
		"--manage-all-nodes=false", "--manage-nodes-with-annotation-selector="+fakeNode+"=fake",
		"--cidr=10.0.0.1/8", "--node-ip=127.0.0.1", "--node-lease-duration-seconds=40",
		"--server-address="+address)
	if err != nil {
		return err
	}
	return b.await(ctx, p, func(ctx context.Context) error { return get(ctx, "http://"+address+"/healthz", "ok") })
}

// stages is the file of what kwok does.
func stages(b *Bed) (path string, err error) {
	if !b.options.NodesAlone {
		return b.Program(stagesFile), nil
	}
	all, err := os.ReadFile(b.Program(stagesFile))
	if err != nil {
		return "", fmt.Errorf("test bed: read the stages of kwok: %w", err)
	}
	var kept []string
	for stage := range strings.SplitSeq(string(all), "---\n") {
		if strings.Contains(stage, "kind: Node\n") {
			kept = append(kept, stage)
		}
	}
	return b.writeConfig("kwok", strings.Join(kept, "---\n"))
}

// StartKubeScheduler starts upstream's scheduler. Its client sends qps requests
// a second; upstream's default of 50 would compare rate limiters. More lines of
// KubeSchedulerConfiguration may follow, for example its profiles.
func (b *Bed) StartKubeScheduler(ctx context.Context, qps int, config ...string) error {
	const name = "kube-scheduler"
	text := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %q
  contentType: application/vnd.kubernetes.protobuf
  qps: %d
  burst: %d
%s
`, b.Kubeconfig(KubeScheduler), qps, qps, strings.Join(config, "\n"))
	file, err := b.writeConfig(name, text)
	if err != nil {
		return err
	}
	args := append(b.serving(KubeScheduler, b.ports.kubeScheduler), "--config="+file)
	p, err := b.run(name, b.Program(name), append(args, b.options.gates()...)...)
	if err != nil {
		return err
	}
	return b.awaitReadyz(ctx, p, b.ports.kubeScheduler)
}

// FairleadName is the process that StartFairlead starts, and FairleadProfile the
// schedulerName that it serves.
const (
	FairleadName    = "fairlead-scheduler"
	FairleadProfile = "fairlead"
)

// ProfileOf is the profile of that name with the policy, for StartFairlead.
func ProfileOf(policy string) string {
	return fmt.Sprintf("{schedulerName: %s, policy: %s}", FairleadProfile, policy)
}

// StartFairlead starts a built fairlead-scheduler with the profile, as its configuration has it, as
// the user Fairlead, who needs roles for that (see GrantRoles), and waits until it is ready. More arguments
// follow those of the bed and win over them.
func (b *Bed) StartFairlead(ctx context.Context, program, profile string, qps int, args ...string) error {
	record := ""
	if b.options.Records {
		record = Recording(b)
	}
	text := fmt.Sprintf(`apiVersion: fairlead.dev/v1alpha1
kind: SchedulerConfiguration
record: {path: %q}
clientConnection:
  kubeconfig: %q
  qps: %d
  burst: %d
leaderElection:
  leaderElect: false
profiles:
- %s
`, record, b.Kubeconfig(Fairlead), qps, qps, profile)
	file, err := b.writeConfig(FairleadName, text)
	if err != nil {
		return err
	}
	all := append([]string{"--config=" + file}, b.serving(Fairlead, b.ports.fairlead)...)
	p, err := b.run(FairleadName, program, append(all, args...)...)
	if err != nil {
		return err
	}
	return b.awaitReadyz(ctx, p, b.ports.fairlead)
}

// Recording is the folder of what fairlead-scheduler records, of a bed with Records; it is written to the end when the scheduler has been stopped.
func Recording(b *Bed) string { return b.path("recording") }

// awaitReadyz waits until a component says that its caches are filled.
func (b *Bed) awaitReadyz(ctx context.Context, p *process, port int) error {
	url := fmt.Sprintf("https://127.0.0.1:%d/readyz", port)
	return b.await(ctx, p, func(ctx context.Context) error { return get(ctx, url, "ok") })
}

// Grant binds a cluster role to a user.
func (b *Bed) Grant(ctx context.Context, user User, role string) error {
	client, err := b.Client(Admin)
	if err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "testbed:" + string(user) + ":" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: b.account(user).name}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("test bed: grant %s to %s: %w", role, user, err)
	}
	return nil
}

func (b *Bed) writeConfig(name, text string) (path string, err error) {
	path = b.path(name + ".yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("test bed: write the configuration of %s: %w", name, err)
	}
	return path, nil
}

// serving are the flags about the port on which a component tells its health.
func (b *Bed) serving(user User, port int) []string {
	kubeconfig := b.Kubeconfig(user)
	return []string{
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + b.path("certificates-"+string(user)),
	}
}
