package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/cri-streaming/pkg/streaming/portforward"

	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/shadow"
)

// forwarder is as much of a kubelet as forwards ports: to this machine's own.
type forwarder struct{}

// PortForward copies both ways until one end is done.
func (forwarder) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	var d net.Dialer
	to, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer to.Close()
	done := make(chan error, 2)
	go func() { _, err := io.Copy(to, stream); done <- err }()
	go func() { _, err := io.Copy(stream, to); done <- err }()
	return <-done
}

// forwards makes a node that forwards ports, and on it the pod of this machine's name, as whose the processes of the test hold leases.
func (c *cluster) forwards() {
	c.t.Helper()
	address := outward()
	if address == "" {
		c.t.Skip("the API server forwards to no loopback address, and this machine has no other")
	}
	kubelet := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		portforward.ServePortForward(w, r, forwarder{}, "", "", &portforward.V4Options{}, time.Minute, 10*time.Second, portforward.SupportedProtocols)
	}))
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	c.must(err)
	c.must(kubelet.Listener.Close())
	kubelet.Listener = listener
	kubelet.StartTLS()
	c.t.Cleanup(kubelet.CloseClientConnections)
	ctx, api := c.t.Context(), c.client.CoreV1()
	node, err := api.Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "forwards"}}, metav1.CreateOptions{})
	c.must(err)
	node.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(listener.Addr().(*net.TCPAddr).Port)
	_, err = api.Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	c.must(err)
	host, err := os.Hostname()
	c.must(err)
	pod := newPod(host)
	pod.Spec.NodeName = node.Name
	_, err = api.Pods(metav1.NamespaceSystem).Create(ctx, pod, metav1.CreateOptions{})
	c.must(err)
}

// outward is an address of this machine that is no loopback one.
func outward() string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range addresses {
		if n, is := a.(*net.IPNet); is && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return ""
}

// letDiffer creates what the manifest says, and gives the operator the role.
func (c *cluster) letDiffer() {
	c.t.Helper()
	text, err := os.ReadFile("../deploy/plugin/diff.yaml")
	c.must(err)
	ctx := c.t.Context()
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		c.must(err)
		switch o := object.(type) {
		case *v1.ServiceAccount:
			_, err = c.client.CoreV1().ServiceAccounts(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
		case *rbacv1.ClusterRole:
			_, err = c.client.RbacV1().ClusterRoles().Create(ctx, o, metav1.CreateOptions{})
		case *rbacv1.ClusterRoleBinding:
			_, err = c.client.RbacV1().ClusterRoleBindings().Create(ctx, o, metav1.CreateOptions{})
		case *rbacv1.Role:
			_, err = c.client.RbacV1().Roles(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
		default:
			err = fmt.Errorf("what to do with a %T?", o)
		}
		c.must(err)
	}
	_, err = c.client.RbacV1().RoleBindings(metav1.NamespaceSystem).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "fairlead-shadow-diff"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "fairlead-shadow-diff"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operator}},
	}, metav1.CreateOptions{})
	c.must(err)
}

// The report of a shadow comes through a forward by the API server to who has the role, in the name of an account that may read nothing else; who has it not is told which is missing.
func TestPluginDiffersFromTheShadow(t *testing.T) {
	skipIfShort(t)
	c := newCluster(t, ownBed(t))
	c.letDiffer()
	if got := c.kubectlFairlead(operator, "diff"); got.code != 1 || !strings.Contains(got.failed, "no shadow runs: there is no lease fairlead-shadow in namespace kube-system") {
		t.Errorf("%+v", got)
	}
	c.addNodes(2, "n-", "4")
	w := c.watch()
	c.await(time.Minute, func() string {
		if status, _ := w.ask(testbed.Admin); status != http.StatusOK {
			return fmt.Sprintf("a report, there is %d", status)
		}
		return ""
	})
	c.forwards()
	at, err := url.Parse(w.url)
	c.must(err)
	c.create(newPod("web", scheduledBy(v1.DefaultSchedulerName), cpu("1")))
	c.await(20*time.Second, func() string {
		if _, report := w.ask(testbed.Admin); report.Sums.Decided == 0 {
			return "a decision of the shadow"
		}
		return ""
	})
	c.bind("web", "n-00001")
	c.await(20*time.Second, func() string {
		if _, report := w.ask(testbed.Admin); report.Sums.Bound == 0 {
			return "a pod that was bound"
		}
		return ""
	})
	got := c.kubectlFairlead(operator, "diff", "--port", at.Port(), "-o", "json")
	report := &shadow.Report{}
	if err := json.Unmarshal([]byte(got.out), report); got.code != 0 || err != nil || report.Sums.Bound != 1 {
		t.Errorf("%v: %+v", err, got)
	}
	if got := c.kubectlFairlead(operator, "diff", "--port", at.Port()); got.code != 0 || !strings.Contains(got.out, "shadow of default-scheduler") {
		t.Errorf("%+v", got)
	}
	if got := c.kubectlFairlead(tenant, "diff", "--port", at.Port()); got.code != 1 || !strings.Contains(got.failed, "you may not see who leads; the role fairlead-shadow-diff in namespace kube-system is for who is to") {
		t.Errorf("%+v", got)
	}
	// Whom the shadow knows is the account, not the caller, who may do everything here.
	c.must(c.client.RbacV1().ClusterRoleBindings().Delete(t.Context(), "fairlead-shadow-reader", metav1.DeleteOptions{}))
	c.await(30*time.Second, func() string {
		got := c.kubectlFairlead("", "diff", "--port", at.Port())
		if got.code != 1 || !strings.Contains(got.failed, "403") || !strings.Contains(got.failed, "system:serviceaccount:kube-system:fairlead-shadow-reader") {
			return fmt.Sprintf("a refusal of the account: %+v", got)
		}
		return ""
	})
}
