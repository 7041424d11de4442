package plugin

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/shadow"
)

// This file is the command diff: what a shadow would have done otherwise than the scheduler that it watches. The shadow serves that on its own port, to who may get /shadow. The way there is a forward of that port by the API server, which the caller needs the right to; and who
// he is the shadow does not learn: the plugin shows it a token, for ten minutes, of a service account that may do nothing but read what the shadow serves, which the API server gives to who may ask for it.

const diffHelp = `Diff says what a shadow (mode: shadow of a profile) would have done otherwise than the scheduler
that it watches: latency, packing, rules, promises, and the last pods that the two placed
differently, both sides beside each other.

You need the role fairlead-diff in the namespace of the shadow. Your own credentials go to the
API server alone: the shadow is shown a token, of ten minutes, of a service account that may
read its report and nothing else.`

// differ is what diff is told by its flags.
type differ struct {
	namespace, lease, account string
	port                      uint16
	format                    string
}

func newDiff(a *access) *cobra.Command {
	var d differ
	c := &cobra.Command{
		Use: "diff", Short: "Say what a shadow would have done otherwise than the scheduler that it watches", Long: diffHelp,
		Example: "  kubectl fairlead diff\n  kubectl fairlead diff -o json",
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := cobra.NoArgs(c, args); err != nil {
			return cli.Usage(c, err)
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := checkFormat(c); err != nil {
			return err
		}
		var found *shadow.Report
		err := interruptible(func(ctx context.Context) (err error) {
			found, err = d.report(ctx, a)
			return err
		})
		if err != nil {
			return err
		}
		if d.format == "json" {
			e := json.NewEncoder(c.OutOrStdout())
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			return e.Encode(found)
		}
		return found.Write(c.OutOrStdout())
	}
	f := c.Flags()
	f.StringVar(&d.namespace, "shadow-namespace", metav1.NamespaceSystem, "the `NAMESPACE` of the shadow")
	f.StringVar(&d.lease, "lease", "fairlead-shadow", "the `NAME` of the lease that the shadow holds")
	f.StringVar(&d.account, "as-account", "fairlead-shadow-reader", "the service account of that namespace by whose `NAME` the shadow is asked")
	f.Uint16Var(&d.port, "port", 10259, "the secure port of the shadow")
	f.StringVarP(&d.format, "output", "o", "text", "text or json")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// report asks the shadow that leads.
func (d *differ) report(ctx context.Context, a *access) (*shadow.Report, error) {
	config, err := a.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	pod, err := d.leader(ctx, client)
	if err != nil {
		return nil, err
	}
	token, err := d.token(ctx, client)
	if err != nil {
		return nil, err
	}
	dialer, err := dialerTo(config, d.namespace, pod)
	if err != nil {
		return nil, err
	}
	address, stop, err := forward(ctx, dialer, d.port)
	if err != nil {
		return nil, fmt.Errorf("forward port %d of pod %s/%s: %w", d.port, d.namespace, pod, err)
	}
	defer stop()
	return ask(ctx, "https://"+address+"/shadow", token)
}

// leader is the pod that holds the lease: its host name begins who holds it.
func (d *differ) leader(ctx context.Context, client dynamic.Interface) (string, error) {
	object, err := client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(d.namespace).Get(ctx, d.lease, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("no shadow runs: there is no lease %s in namespace %s; --lease and --shadow-namespace name another", d.lease, d.namespace)
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("you may not see who leads; the role fairlead-diff in namespace %s is for who is to: %w", d.namespace, err)
	case err != nil:
		return "", err
	}
	holder, _, _ := unstructured.NestedString(object.Object, "spec", "holderIdentity")
	pod, _, _ := strings.Cut(holder, "_")
	if pod == "" {
		return "", fmt.Errorf("nobody holds the lease %s/%s: no shadow leads for now", d.namespace, d.lease)
	}
	return pod, nil
}

// tokenLasts is how many seconds a token is good for, the least that the API server gives.
const tokenLasts = 600

// token is one of the service account.
func (d *differ) token(ctx context.Context, client dynamic.Interface) (string, error) {
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": authenticationv1.SchemeGroupVersion.String(), "kind": "TokenRequest",
		"metadata": map[string]any{"name": d.account, "namespace": d.namespace},
		"spec":     map[string]any{"expirationSeconds": int64(tokenLasts)},
	}}
	given, err := client.Resource(v1.SchemeGroupVersion.WithResource("serviceaccounts")).Namespace(d.namespace).Create(ctx, request, metav1.CreateOptions{}, "token")
	switch {
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("you may not ask in the name of %s/%s; the role fairlead-diff there is for who is to: %w", d.namespace, d.account, err)
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("there is no service account %s/%s; kube/deploy/plugin/diff.yaml has it: %w", d.namespace, d.account, err)
	case err != nil:
		return "", err
	}
	token, _, _ := unstructured.NestedString(given.Object, "status", "token")
	if token == "" {
		return "", fmt.Errorf("the API server gave no token of %s/%s", d.namespace, d.account)
	}
	return token, nil
}

// dialerTo dials to a pod by way of the API server, as kubectl does: by a WebSocket, or where that is not understood by SPDY.
func dialerTo(config *rest.Config, namespace, pod string) (httpstream.Dialer, error) {
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	to := &url.URL{Scheme: host.Scheme, Host: host.Host, Path: strings.TrimSuffix(host.Path, "/") + fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/portforward", namespace, pod)}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	tunnel, err := portforward.NewSPDYOverWebsocketDialerForStreaming(to, config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
	return portforward.NewFallbackDialerForStreaming(tunnel, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// forward forwards a free port of this machine's to that port, until it is stopped.
func forward(ctx context.Context, to httpstream.Dialer, port uint16) (address string, stop func(), err error) {
	ctx, stop = context.WithCancel(ctx)
	ready := make(chan struct{})
	f, err := portforward.NewOnAddressesForStreamingWithContext(ctx, to, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, ready, io.Discard, io.Discard)
	if err != nil {
		stop()
		return "", nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		stop()
		return "", nil, errors.Join(err, ctx.Err())
	}
	ports, err := f.GetPorts()
	if err != nil {
		stop()
		return "", nil, err
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), stop, nil
}

// askingLasts bounds how long an answer may take.
const askingLasts = 30 * time.Second

// ask gets the report. That the other end of the tunnel is the pod the API server vouches for, so that its certificate, which it may have made itself, is not looked at.
func ask(ctx context.Context, address, token string) (*shadow.Report, error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: askingLasts} //nolint:gosec // see above
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the shadow: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return nil, fmt.Errorf("ask the shadow: %w", err)
	}
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, errors.New("the process that leads is no shadow: none of its profiles has mode: shadow")
	default:
		return nil, fmt.Errorf("the shadow answers %s: %s", response.Status, strings.TrimSpace(string(text[:min(len(text), 300)])))
	}
	found := &shadow.Report{}
	if err := json.Unmarshal(text, found); err != nil {
		return nil, fmt.Errorf("the answer of the shadow: %w", err)
	}
	if found.Version != shadow.Version {
		return nil, fmt.Errorf("the shadow's report is of version %d, and this program reads %d: take the one of the shadow's release", found.Version, shadow.Version)
	}
	return found, nil
}
