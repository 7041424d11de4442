package testbed

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// etcdQuota is enough for every benchmark of 5,000 nodes; at etcd's default of
// 2 GiB writes would fail in the middle of one.
const etcdQuota = 8 << 30

func (b *Bed) startEtcd(ctx context.Context) error {
	client := fmt.Sprintf("http://127.0.0.1:%d", b.ports.etcd)
	peer := fmt.Sprintf("http://127.0.0.1:%d", b.ports.etcdPeer)
	p, err := b.run("etcd", b.Program("etcd"),
		"--data-dir="+b.data,
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		fmt.Sprintf("--quota-backend-bytes=%d", etcdQuota))
	if err != nil {
		return err
	}
	return b.await(ctx, p, func(ctx context.Context) error { return get(ctx, client+"/health", `"health":"true"`) })
}

const apiServer = "kube-apiserver"

// StartAPIServer starts the API server again after KillAPIServer, on the same
// port and with the same data, and waits until it is ready.
func (b *Bed) StartAPIServer(ctx context.Context) error {
	key := b.path("service-account.key")
	args := []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", b.ports.etcd),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", b.ports.apiServer),
		// The certificate that it makes for itself survives a restart here.
		"--cert-dir=" + b.path("certificates"),
		"--token-auth-file=" + b.path("tokens.csv"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true",
		// Endpoints must not be loopback addresses, so the API server would
		// fail to publish its own.
		"--endpoint-reconciler-type=none",
	}
	if !b.options.ControllerManager {
		args = append(args, "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
	}
	args = append(args, b.options.gates()...)
	p, err := b.run(apiServer, b.Program(apiServer), append(args, b.options.APIServerFlags...)...)
	if err != nil {
		return err
	}
	return b.await(ctx, p, b.apiServerReady)
}

// gates is the flag of a component of upstream's that says its feature gates, if there is anything to say.
func (o Options) gates() []string {
	if o.FeatureGates == "" {
		return nil
	}
	return []string{"--feature-gates=" + o.FeatureGates}
}

// apiServerReady also waits for the namespace that everybody uses, because the
// API server says ready before it has made it.
func (b *Bed) apiServerReady(ctx context.Context) error {
	client, err := b.Client(Admin) // It fails until the certificate is there.
	if err != nil {
		return err
	}
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	return err
}

// KillAPIServer ends the API server as a power failure would. What etcd had
// acknowledged stays.
func (b *Bed) KillAPIServer() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.processes {
		if p.name == apiServer && !p.ended() {
			p.stop(syscall.SIGKILL)
			return nil
		}
	}
	return errors.New("test bed: kill the API server: it does not run")
}

// get asks a server on the loopback interface whether it is well: status 200 and
// a text in the answer. Certificates are not verified: each server makes its own.
func get(ctx context.Context, url, want string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // Only read.
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read what %s answered: %w", url, err)
	}
	if response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
		return fmt.Errorf("%s answered %s: %s", url, response.Status, body)
	}
	return nil
}
