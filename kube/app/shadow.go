package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/shadow"
)

// This file is what a process does otherwise whose profiles are in mode shadow: it serves what it found, and whatever its role may allow it sends nothing that changes anything but its lease.

// waitsForLoop is how long an answer may take.
const waitsForLoop = 5 * time.Second

// shadowed answers how the decisions of a shadow differ from what the other scheduler does, as JSON (shadow.Report).
type shadowed func(context.Context) (*shadow.Report, error)

// shadowOf is that of the scheduler, nil if it is no shadow.
func shadowOf(c *config.SchedulerConfiguration, placer runner) shadowed {
	watcher, is := placer.(*scheduler.Scheduler)
	if !is || !c.Shadow() {
		return nil
	}
	return func(ctx context.Context) (*shadow.Report, error) { return scheduler.Shadow(ctx, watcher) }
}

// ServeHTTP answers GET.
func (s shadowed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "only GET is answered here", http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), waitsForLoop)
	defer cancel()
	report, err := s(ctx)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	text, err := json.Marshal(report)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a client that went away is not our concern
}

// readOnly refuses to send what changes anything but a lease. A role without such rights has the API server refuse it as well; this is for a shadow that was given more.
type readOnly struct {
	next   http.RoundTripper
	writes *regexp.Regexp // the paths to which others than GET may go
}

func newReadOnly(next http.RoundTripper) http.RoundTripper {
	// Reviews are questions that are asked by POST.
	return readOnly{next, regexp.MustCompile(`^/apis/(coordination\.k8s\.io/v1/namespaces/[^/]+/leases(/[^/]+)?|authorization\.k8s\.io/v1/(self)?subjectaccessreviews|authentication\.k8s\.io/v1/tokenreviews)$`)}
}

// RoundTrip sends a request, or refuses it.
func (o readOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !o.writes.MatchString(r.URL.Path) {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, fmt.Errorf("a shadow writes nothing: %s %s was not sent; this is a mistake of Fairlead's", r.Method, r.URL.Path)
	}
	return o.next.RoundTrip(r)
}
