package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/shadow"
)

// What a shadow found is served as JSON to whoever GETs it; a replica that does not lead says so, and a scheduler that is no shadow has no such page.
func TestShadowIsServed(t *testing.T) {
	for _, tc := range []struct {
		name, method string
		shadow       shadowed
		want         int
	}{
		{"no shadow", http.MethodGet, nil, http.StatusNotFound},
		{"leads", http.MethodGet, func(context.Context) (*shadow.Report, error) {
			return &shadow.Report{Version: shadow.Version, Sums: shadow.Sums{Bound: 7}}, nil
		}, http.StatusOK},
		{"does not lead", http.MethodGet, func(context.Context) (*shadow.Report, error) { return nil, errors.New("not here") }, http.StatusServiceUnavailable},
		{"another method", http.MethodPost, func(context.Context) (*shadow.Report, error) { return nil, errors.New("asked") }, http.StatusMethodNotAllowed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(endpoints{config: config.Default, registry: prometheus.NewRegistry(), shadow: tc.shadow}.handler())
			defer server.Close()
			request, err := http.NewRequestWithContext(t.Context(), tc.method, server.URL+"/shadow", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != tc.want {
				t.Errorf("status %d, want %d: %s, %v", response.StatusCode, tc.want, text, err)
			}
			var report shadow.Report
			if tc.want == http.StatusOK && (json.Unmarshal(text, &report) != nil || report.Sums.Bound != 7 || response.Header.Get("Content-Type") != "application/json") {
				t.Errorf("got %s", text)
			}
		})
	}
}

// A shadow asks for no right to change anything, which its role has not: it would be told that it lacks them, and ask again for a while before it begins.
func TestShadowAsksToReadAlone(t *testing.T) {
	client, asked := fake.NewClientset(), 0
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		asked++
		if of := review.Spec.ResourceAttributes; of.Verb != "list" && of.Verb != "watch" {
			t.Errorf("it asks whether it may %s %s/%s", of.Verb, of.Resource, of.Subresource)
		}
		review.Status.Allowed = true
		return true, review, nil
	})
	profile := config.Profile{Mode: config.Shadow, Evictions: config.Evictions{Enabled: true, Budgets: config.BestEffort}}
	served := Served{PodGroups: true, ServiceClasses: true, PlacementConstraints: true, WorkloadAccounts: true}
	if err := served.honourRights(t.Context(), client.AuthorizationV1().SelfSubjectAccessReviews(), &config.SchedulerConfiguration{Profiles: []config.Profile{profile}}); err != nil {
		t.Fatal(err)
	}
	if asked == 0 {
		t.Error("it asked for nothing")
	}
}

// sent is a server that notes what reaches it.
type sent []string

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	*s = append(*s, r.Method+" "+r.URL.Path)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// A shadow sends nothing that changes anything but a lease, whatever its role lets it do.
func TestShadowSendsNoWrites(t *testing.T) {
	lease := "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
	for request, passes := range map[string]bool{
		"GET /api/v1/pods":                  true,
		"HEAD /readyz":                      true,
		"POST " + lease:                     true,
		"PUT " + lease + "/fairlead-shadow": true,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":     true,
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews":         true,
		"POST /apis/authentication.k8s.io/v1/tokenreviews":                true,
		"POST /api/v1/namespaces/default/pods/a/binding":                  false,
		"POST /api/v1/namespaces/default/pods/a/eviction":                 false,
		"DELETE /api/v1/namespaces/default/pods/a":                        false,
		"PATCH /api/v1/namespaces/default/pods/a/status":                  false,
		"POST /apis/events.k8s.io/v1/namespaces/default/events":           false,
		"PUT " + lease + "/a/status":                                      false,
		"POST /api/v1/namespaces/leases/pods":                             false,
		"PATCH /apis/resource.k8s.io/v1/namespaces/a/resourceclaims/b":    false,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews/one": false,
	} {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, "https://api"+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		var reached sent
		response, err := newReadOnly(&reached).RoundTrip(r)
		if err == nil {
			_ = response.Body.Close()
		}
		if (err == nil) != passes || (len(reached) == 1) != passes {
			t.Errorf("%s: error %v, sent %v, want it sent: %t", request, err, reached, passes)
		}
	}
}
