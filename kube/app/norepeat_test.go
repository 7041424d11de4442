package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/fairlead/kube/config"
)

// An API server that has too much to do refuses a bind with a time to wait. The
// caller gets the first answer, and does not wait until the request has timed out.
func TestRefusalsReachTheCaller(t *testing.T) {
	budget := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,` +
		`"details":{"causes":[{"reason":"DisruptionBudget"}],"retryAfterSeconds":10}}`
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Retry-After", "7")
		if strings.HasSuffix(r.URL.Path, "/eviction") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(budget))
			return
		}
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: '" + server.URL + "'}}]}"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	connection := config.Default().ClientConnection
	connection.Kubeconfig = kubeconfig
	to, err := connect(connection)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(to)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err = client.CoreV1().Pods("default").Bind(ctx, &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, metav1.CreateOptions{})
	if seconds, _ := errors.SuggestsClientDelay(err); asked != 1 || !errors.IsTooManyRequests(err) || seconds != 7 {
		t.Errorf("a bind was sent %d times and ended with %v, to wait for %d s; want one refusal, and 7 s", asked, err, seconds)
	}
	err = client.PolicyV1().Evictions("default").Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"}})
	if asked != 2 || !errors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		t.Errorf("an eviction was sent %d times and ended with %v; want one refusal by a budget", asked-1, err)
	}
}
