package app

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// apiServer is an API server as its clients' transport sees it.
type apiServer struct {
	mu       sync.Mutex
	err      error // of each request; nil if it answers
	unready  bool
	probes   int
	requests int
}

func (s *apiServer) set(err error, unready bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.unready = err, unready
}

func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := http.StatusOK
	if r.URL.Path == "/readyz" {
		s.probes++
		if s.unready {
			code = http.StatusInternalServerError
		}
	} else {
		s.requests++
	}
	if s.err != nil {
		return nil, s.err
	}
	answer := httptest.NewRecorder()
	answer.WriteHeader(code)
	return answer.Result(), nil
}

// send sends a request through a transport that retries reads, and returns what came of it and when.
func send(ctx context.Context, t *testing.T, p retryReads, method, url string) (code int, took time.Duration, err error) {
	t.Helper()
	began := time.Now()
	r, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := p.RoundTrip(r)
	if err == nil {
		code = answer.StatusCode
		_ = answer.Body.Close()
	}
	return code, time.Since(began), err
}

const (
	watchOfPods = "https://api/api/v1/pods?watch=true"
	listOfNodes = "https://api/api/v1/nodes?resourceVersion=0"
)

// Watches, lists and looks at a pod wait for an API server that is away, and are answered within a moment of its return; nobody else waits.
func TestReadersWaitForTheServer(t *testing.T) {
	for _, test := range []struct {
		name, method, url string
		err               error
		waits             bool
	}{
		{"watch", http.MethodGet, watchOfPods, syscall.ECONNREFUSED, true},
		{"list", http.MethodGet, listOfNodes, syscall.ECONNREFUSED, true},
		{"pod", http.MethodGet, "https://api/api/v1/namespaces/default/pods/web-0", syscall.ECONNREFUSED, true},
		{"cut off", http.MethodGet, watchOfPods, syscall.ECONNRESET, true},
		{"no way there", http.MethodGet, watchOfPods, syscall.EHOSTUNREACH, true},
		{"no answer in time", http.MethodGet, watchOfPods, &timeout{}, true},
		{"lease", http.MethodGet, "https://api/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/fairlead-scheduler", syscall.ECONNREFUSED, false},
		{"bind", http.MethodPost, "https://api/api/v1/namespaces/default/pods/web-0/binding", syscall.ECONNREFUSED, false},
		{"another error", http.MethodGet, watchOfPods, errors.New("x509: certificate signed by unknown authority"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &apiServer{err: test.err}
				p := retryReads{s, &outages{}}
				time.AfterFunc(23*time.Second, func() { s.set(nil, false) })
				code, took, err := send(t.Context(), t, p, test.method, test.url)
				switch {
				case !test.waits && (took > 0 || !errors.Is(err, test.err)):
					t.Errorf("it ended after %s with %d and %v, want %v at once", took, code, err, test.err)
				case test.waits && (code != http.StatusOK || took < 23*time.Second || took > 23*time.Second+2*probeEvery):
					t.Errorf("it ended after %s with %d and %v, want 200 as soon as the server is back after 23 s", took, code, err)
				}
			})
		})
	}
}

type timeout struct{}

func (timeout) Error() string   { return "i/o timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

// However many wait, the server is probed once at a time, and by nobody when all have given up.
func TestOneProbeForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &apiServer{err: syscall.ECONNREFUSED}
		p := retryReads{s, &outages{}}
		ctx, end := context.WithCancel(t.Context())
		var answered atomic.Int32
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, _, err := send(ctx, t, p, http.MethodGet, watchOfPods); errors.Is(err, syscall.ECONNREFUSED) {
					answered.Add(1)
				}
			})
		}
		time.Sleep(10*probeEvery + time.Millisecond)
		if s.probes != 11 || s.requests != 100 {
			t.Errorf("100 waited, and the server was probed %d times and asked %d times, want 11 and 100", s.probes, s.requests)
		}
		end()
		all.Wait()
		time.Sleep(time.Minute)
		if answered.Load() != 100 || s.probes > 12 {
			t.Errorf("%d of 100 were told why when they gave up, and the server was probed %d times in the end", answered.Load(), s.probes)
		}
	})
}

// A server that answers and is not ready is waited for, but not for ever: then it says itself what is wrong. One that is away again at once is the sender's to deal with.
func TestAServerThatIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &apiServer{err: syscall.ECONNREFUSED}
		p := retryReads{s, &outages{}}
		time.AfterFunc(5*time.Second, func() { s.set(nil, true) })
		code, took, err := send(t.Context(), t, p, http.MethodGet, watchOfPods)
		if want := 5*time.Second + readyWithin; code != http.StatusOK || took < want || took > want+2*probeEvery {
			t.Errorf("it ended after %s with %d and %v, want 200 after %s", took, code, err, want)
		}
		s.set(syscall.ECONNREFUSED, false)
		time.AfterFunc(5*time.Second, func() { s.set(nil, false) })
		away := awayAfterProbe{s}
		if _, _, err := send(t.Context(), t, retryReads{away, &outages{}}, http.MethodGet, watchOfPods); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("it ended with %v, want the second refusal", err)
		}
	})
}

// awayAfterProbe is a server that answers probes alone.
type awayAfterProbe struct{ *apiServer }

func (s awayAfterProbe) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/readyz" {
		return nil, syscall.ECONNREFUSED
	}
	return s.apiServer.RoundTrip(r)
}
