package app

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"
)

// This file lets those who only read wait for an API server that is away. An informer whose watch cannot be begun again backs off, longer each time, up to
// a minute; so after an outage of half a minute it may take another one until the scheduler sees a pod. Instead, its request waits here until the
// API server answers again, which one probe finds out for all. Only a connection that is refused, was cut or leads nowhere, or no answer in time counts as being away: whatever the
// API server answers is handed on, errors as well. Requests that change something do not wait, as nobody knows whether they were done; nor does
// whoever asks for a lease, as it has to know in time that it cannot renew it.

const (
	// probeEvery is the pause between two probes of an API server that is away.
	probeEvery = 250 * time.Millisecond
	// probeLasts is how long one probe waits for an answer.
	probeLasts = 2 * time.Second
	// readyWithin is how long an API server that answers again may take to be ready. After that it is asked all the same, and may say itself what is wrong.
	readyWithin = 10 * time.Second
)

// retryReads is a transport whose readers wait while the API server is away. A request waits once: if it fails again, its sender has to know.
type retryReads struct {
	http.RoundTripper
	outages *outages
}

// RoundTrip sends the request, and sends it again when the API server is back.
func (p retryReads) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.RoundTripper.RoundTrip(r)
	if err == nil || !reads(r) || !isAway(err) || r.Context().Err() != nil {
		return answer, err
	}
	if !p.outages.await(r.Context(), func(ctx context.Context) (bool, bool) { return p.probe(ctx, r) }) {
		return nil, err
	}
	return p.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper is what client-go looks through for the transport below.
func (p retryReads) WrappedRoundTripper() http.RoundTripper { return p.RoundTripper }

// reads reports whether the request is an informer's, or looks up a pod.
func reads(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	query := r.URL.Query()
	return query.Has("watch") || query.Has("resourceVersion") || strings.Contains(r.URL.Path, "/pods/")
}

// isAway reports whether nobody answered.
func isAway(err error) bool {
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsTimeout(err) ||
		errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// probe asks the API server of the request whether it answers, and whether it is ready, with the same credentials. That it does not let us
// ask counts as being ready.
func (p retryReads) probe(ctx context.Context, of *http.Request) (answers, ready bool) {
	ctx, end := context.WithTimeout(ctx, probeLasts)
	defer end()
	before, _, _ := strings.Cut(of.URL.Path, "/api") // where the API does not begin at the root
	to := url.URL{Scheme: of.URL.Scheme, Host: of.URL.Host, Path: before + "/readyz"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), http.NoBody)
	if err != nil {
		return false, false
	}
	for _, key := range []string{"Authorization", "User-Agent"} {
		request.Header[key] = of.Header[key]
	}
	answer, err := p.RoundTripper.RoundTrip(request)
	if err != nil {
		return !isAway(err), !isAway(err) // with what went wrong otherwise its sender is to deal
	}
	_ = answer.Body.Close()
	return true, answer.StatusCode < http.StatusInternalServerError
}

// outages is what the clients of one API server share.
type outages struct {
	mu  sync.Mutex
	now *outage // nil while nobody waits
}

// outage is a time for which the API server is away.
type outage struct {
	over    chan struct{} // closed when it is back
	waiting int           // requests; the last one that gives up ends the probes
	end     context.CancelFunc
}

// await waits until the probe says that the API server is back, and reports whether it is; it is not when the context ends first.
func (o *outages) await(ctx context.Context, probe func(context.Context) (answers, ready bool)) bool {
	of := o.join(ctx, probe)
	defer o.leave(of)
	select {
	case <-of.over:
		return true
	case <-ctx.Done():
		return false
	}
}

// join waits in the present outage, which begins if there is none.
func (o *outages) join(ctx context.Context, probe func(context.Context) (answers, ready bool)) *outage {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now == nil {
		probing, end := context.WithCancel(context.WithoutCancel(ctx))
		o.now = &outage{over: make(chan struct{}), end: end}
		go o.watch(probing, o.now, probe)
	}
	o.now.waiting++
	return o.now
}

func (o *outages) leave(of *outage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if of.waiting--; of.waiting > 0 {
		return
	}
	of.end()
	if o.now == of {
		o.now = nil
	}
}

// watch probes until the API server is ready, or nobody waits any more.
func (o *outages) watch(ctx context.Context, of *outage, probe func(context.Context) (answers, ready bool)) {
	began := time.Now()
	klog.FromContext(ctx).Info("The API server is away; those who watch it wait until it is back")
	var answered time.Time
	for {
		answers, ready := probe(ctx)
		switch {
		case !answers:
			answered = time.Time{}
		case answered.IsZero():
			answered = time.Now()
		}
		if answers && (ready || time.Since(answered) >= readyWithin) {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(probeEvery):
		}
	}
	klog.FromContext(ctx).Info("The API server is back", "away", time.Since(began).Round(time.Millisecond))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now == of {
		o.now = nil
	}
	close(of.over)
}
