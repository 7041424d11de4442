package plugin

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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

You need the role fairlead-shadow-diff in the namespace of the shadow. Your own credentials go
to the API server alone: the shadow is shown a token, of ten minutes, of a service account that
may read its report and nothing else.

The shadow is found by the label app.kubernetes.io/component=shadow of its pods, where you may
list those of all namespaces; otherwise it is fairlead-shadow in kube-system, unless the flags
name another: --lease is the name that the chart has for its objects (name), the lease among
them.`

// differ is what diff is told by its flags.
type differ struct {
	namespace, lease, account string
	port                      uint16
	format                    string

	pods []v1.Pod // of the shadow, as far as the caller may list them
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
	f.StringVar(&d.namespace, "shadow-namespace", "", "the `NAMESPACE` of the shadow (default: where its pods are found, or kube-system)")
	f.StringVar(&d.lease, "lease", "", "the `NAME` of the lease that the shadow holds (default: that of its pods, or fairlead-shadow)")
	f.StringVar(&d.account, "as-account", "", "the service account of that namespace by whose `NAME` the shadow is asked (default: the lease's name, with -reader behind it)")
	f.Uint16Var(&d.port, "port", 0, "the secure port of the shadow (default: the port https of its pod, or 10259)")
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
	if err := d.find(ctx, client); err != nil {
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

// isShadow selects the pods of shadows, however they were installed. Their label app.kubernetes.io/name is the name of the lease, and of all else that belongs to one.
const isShadow, nameLabel = "app.kubernetes.io/component=shadow", "app.kubernetes.io/name"

// find finds the shadow that the flags leave open.
func (d *differ) find(ctx context.Context, client dynamic.Interface) error {
	list, err := client.Resource(pods()).Namespace(d.namespace).List(ctx, metav1.ListOptions{LabelSelector: isShadow})
	if apierrors.IsForbidden(err) && d.namespace == "" { // of the one namespace it may be allowed
		list, err = client.Resource(pods()).Namespace(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: isShadow})
	}
	if err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("find the shadow: %w", err)
	}
	named := map[string]bool{}
	for i := 0; err == nil && i < len(list.Items); i++ {
		pod := v1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &pod); err != nil {
			return err
		}
		if name := pod.Labels[nameLabel]; d.lease == "" || name == d.lease {
			d.pods = append(d.pods, pod)
			named[pod.Namespace+"/"+name] = true
		}
	}
	if len(named) > 1 {
		return fmt.Errorf("there are several shadows, %s: say which by --shadow-namespace and --lease", strings.Join(slices.Sorted(maps.Keys(named)), ", "))
	}
	if len(d.pods) > 0 {
		d.namespace, d.lease = d.pods[0].Namespace, d.pods[0].Labels[nameLabel]
	}
	d.namespace, d.lease = cmp.Or(d.namespace, metav1.NamespaceSystem), cmp.Or(d.lease, "fairlead-shadow")
	d.account = cmp.Or(d.account, d.lease+"-reader")
	return nil
}

// pod is the one whose process calls its host so: the host has the name of the pod, or of its node where that lends the pod its network.
func (d *differ) pod(host string) string {
	name := host
	for i := range d.pods {
		p := &d.pods[i]
		if p.Name != host && (!p.Spec.HostNetwork || p.Spec.NodeName != host) {
			continue
		}
		name = p.Name
		for _, port := range p.Spec.Containers[0].Ports {
			if port.Name == "https" && d.port == 0 {
				d.port = uint16(port.ContainerPort)
			}
		}
	}
	d.port = cmp.Or(d.port, 10259)
	return name
}

// leader is the pod that holds the lease: its host name begins who holds it.
func (d *differ) leader(ctx context.Context, client dynamic.Interface) (string, error) {
	object, err := client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(d.namespace).Get(ctx, d.lease, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("no shadow runs: there is no lease %s in namespace %s; --lease and --shadow-namespace name another", d.lease, d.namespace)
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("you may not see who leads; the role %s-diff in namespace %s is for who is to: %w", d.lease, d.namespace, err)
	case err != nil:
		return "", err
	}
	holder, _, _ := unstructured.NestedString(object.Object, "spec", "holderIdentity")
	host, _, _ := strings.Cut(holder, "_")
	if host == "" {
		return "", fmt.Errorf("nobody holds the lease %s/%s: no shadow leads for now", d.namespace, d.lease)
	}
	return d.pod(host), nil
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
		return "", fmt.Errorf("you may not ask in the name of %s/%s; the role %s-diff there is for who is to: %w", d.namespace, d.account, d.lease, err)
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("there is no service account %s/%s; the chart has it in mode shadow, and kube/deploy/plugin/diff.yaml: %w", d.namespace, d.account, err)
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
