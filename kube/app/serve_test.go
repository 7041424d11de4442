package app

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/healthz"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	certutil "k8s.io/client-go/util/cert"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	componentmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	zpages "k8s.io/component-base/zpages/features"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
)

func get(t *testing.T, client *http.Client, url string) (status int, body string) {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// TestGuard serves over HTTPS with no API server to ask: probes are answered
// to anybody, and nothing else is.
func TestGuard(t *testing.T) {
	o := newOptions()
	o.flags()
	var err error
	if o.serving.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s := &scripted{syncsAt: time.Now().Add(time.Hour)}
	e := endpoints{config: config.Default, registry: prometheus.NewRegistry(), flags: flagz.NamedFlagSetsReader{FlagSets: o.sections}, ready: readiness(t.Context(), s)}
	if err := o.serve(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	url := "https://" + o.serving.Listener.Addr().String()
	expect := func(path string, want int) {
		t.Helper()
		if got, body := get(t, client, url+path); got != want {
			t.Errorf("%s: status %d, expected %d: %s", path, got, want, body)
		}
	}
	expect("/healthz", http.StatusOK)
	expect("/livez", http.StatusOK)
	expect("/readyz", http.StatusInternalServerError)
	s.syncsAt = time.Now()
	expect("/readyz", http.StatusOK)
	for _, path := range []string{"/metrics", "/metrics/slis", "/metrics/resources", "/shadow", "/configz", "/flagz", "/statusz", "/debug/pprof/", "/livez/ping", "/"} {
		expect(path, http.StatusForbidden)
	}
}

// A certificate that is renewed in its files is served without a restart.
func TestRenewedCertificateIsServed(t *testing.T) {
	o := newOptions()
	o.flags()
	dir := t.TempDir()
	o.serving.ServerCert.CertKey.CertFile, o.serving.ServerCert.CertKey.KeyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	renew := func() (serial string) {
		t.Helper()
		certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string][]byte{o.serving.ServerCert.CertKey.CertFile: certificate, o.serving.ServerCert.CertKey.KeyFile: key} {
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.SerialNumber.String()
	}
	first := renew()
	var err error
	if o.serving.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if err := o.serve(t.Context(), endpoints{config: config.Default, registry: prometheus.NewRegistry()}); err != nil {
		t.Fatal(err)
	}
	served := func() string {
		t.Helper()
		connection, err := tls.Dial("tcp", o.serving.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		return connection.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	if got := served(); got != first {
		t.Fatalf("certificate %s is served, want %s, of the file", got, first)
	}
	second := renew()
	for deadline := time.Now().Add(30 * time.Second); served() != second; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("certificate %s is still served, want %s", served(), second)
		}
	}
}

// A scheduler whose loop is stuck is not alive, and those who may read it are told
// since when.
func TestLivezFailsWhenStuck(t *testing.T) {
	placer := &scripted{}
	server := httptest.NewServer(endpoints{
		config: config.Default, registry: prometheus.NewRegistry(), live: []healthz.HealthChecker{liveness(placer)},
	}.handler())
	defer server.Close()
	if status, body := get(t, server.Client(), server.URL+"/livez"); status != http.StatusOK {
		t.Errorf("status %d, expected 200: %s", status, body)
	}
	placer.stuck = errors.New("a turn began at noon")
	for path, says := range map[string]string{"/livez": "[-]loop", "/livez/loop": "a turn began at noon"} {
		if status, body := get(t, server.Client(), server.URL+path); status != http.StatusInternalServerError || !strings.Contains(body, says) {
			t.Errorf("%s: status %d, expected 500 and %q: %s", path, status, says, body)
		}
	}
}

func TestReadyzFailsWhenStopping(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	stop()
	server := httptest.NewServer(endpoints{
		config: config.Default, registry: prometheus.NewRegistry(), ready: readiness(stopping, &scripted{}),
	}.handler())
	defer server.Close()
	if status, body := get(t, server.Client(), server.URL+"/readyz"); status != http.StatusInternalServerError || !strings.Contains(body, "[-]shutdown") {
		t.Errorf("status %d, expected 500 because of the shutdown: %s", status, body)
	}
}

// TestMetricsAreServed reads /metrics as Prometheus does. A library that
// brings a metric of a name that we have must not break it.
func TestMetricsAreServed(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics.New(registry).Pods.SetPending(metrics.Active, 7)
	theirs := componentmetrics.NewGaugeVec(&componentmetrics.GaugeOpts{Name: "scheduler_pending_pods", Help: "another"}, []string{"queue"})
	if err := legacyregistry.Register(theirs); err != nil {
		t.Fatal(err)
	}
	theirs.WithLabelValues("active").Set(8)
	server := httptest.NewServer(endpoints{config: config.Default, registry: registry}.handler())
	defer server.Close()
	status, body := get(t, server.Client(), server.URL+"/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fairlead_placements_total", "scheduler_pending_pods", "go_goroutines", "process_cpu_seconds_total"} {
		if families[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	if !strings.Contains(body, `scheduler_pending_pods{queue="active"} 7`) {
		t.Error("scheduler_pending_pods is not ours")
	}
}

// The pages that components of Kubernetes have about themselves are there, each under its gate, and show what this one was told.
func TestPages(t *testing.T) {
	o := newOptions()
	command := o.flags()
	if err := command.FlagSet("override").Parse([]string{"--record=tape"}); err != nil {
		t.Fatal(err)
	}
	e := endpoints{config: config.Default, registry: prometheus.NewRegistry(), flags: flagz.NamedFlagSetsReader{FlagSets: o.sections}}
	for path, shows := range map[string]string{
		"/configz": `^{"componentconfig":{"kind":"SchedulerConfiguration"`, "/flagz": `(?m)^record\W+tape$`, "/statusz": `/configz`,
		"/metrics/slis": `(?m)^kubernetes_healthcheck{name="ping",type="healthz"} 1$`,
	} {
		server := httptest.NewServer(e.handler())
		get(t, server.Client(), server.URL+"/healthz") // which is counted
		if status, body := get(t, server.Client(), server.URL+path); status != http.StatusOK || !regexp.MustCompile(shows).MatchString(body) {
			t.Errorf("%s: status %d, want 200 and %s:\n%s", path, status, shows, body)
		}
		server.Close()
	}
	featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{zpages.ComponentFlagz: false, zpages.ComponentStatusz: false})
	server := httptest.NewServer(e.handler())
	defer server.Close()
	for _, path := range []string{"/flagz", "/statusz"} {
		if status, _ := get(t, server.Client(), server.URL+path); status != http.StatusNotFound {
			t.Errorf("%s without its gate: status %d, want 404", path, status)
		}
	}
}

// What helps to debug is there only if it is asked for.
func TestProfiling(t *testing.T) {
	for _, test := range []struct {
		enabled bool
		want    int
	}{{true, http.StatusOK}, {false, http.StatusNotFound}} {
		c := config.Default()
		c.EnableProfiling = test.enabled
		server := httptest.NewServer(endpoints{config: func() *config.SchedulerConfiguration { return c }, registry: prometheus.NewRegistry()}.handler())
		for path, want := range map[string]int{"/configz": http.StatusOK, "/debug/pprof/": test.want} {
			if status, _ := get(t, server.Client(), server.URL+path); status != want {
				t.Errorf("enableProfiling %t: %s has status %d, expected %d", test.enabled, path, status, want)
			}
		}
		server.Close()
	}
}
