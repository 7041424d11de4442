package e2e

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds the faults that a transport makes.

// transport is a function that answers requests.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// bindOf returns the pod that a request binds, evictionOf the one that it asks to leave; empty if it is another request.
func bindOf(r *http.Request) string { return podOf(r, "/binding") }

func evictionOf(r *http.Request) string { return podOf(r, "/eviction") }

func podOf(r *http.Request, posted string) string {
	path, is := strings.CutSuffix(r.URL.Path, posted)
	if r.Method != http.MethodPost || !is {
		return ""
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// noAnswerError is what a client gets whose request or answer was lost.
type noAnswerError struct{}

func (noAnswerError) Error() string   { return "no answer: a test lost it" }
func (noAnswerError) Timeout() bool   { return true }
func (noAnswerError) Temporary() bool { return true }

// losingFirst loses something of the first request for each pod, of those kinds that are given: the answer, or the
// request too.
func losingFirst(request bool, kinds ...func(*http.Request) string) func(http.RoundTripper) http.RoundTripper {
	var met sync.Map
	return func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			pod := ""
			for _, of := range kinds {
				pod += of(r)
			}
			if pod == "" {
				return next.RoundTrip(r)
			}
			if _, again := met.LoadOrStore(pod, true); again {
				return next.RoundTrip(r)
			}
			if !request {
				if answer, err := next.RoundTrip(r); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
				}
			}
			return nil, noAnswerError{}
		})
	}
}

// atBind closes the channel when so many binds have been sent.
func atBind(count int64) (faults func(http.RoundTripper) http.RoundTripper, reached chan struct{}) {
	reached = make(chan struct{})
	var sent atomic.Int64
	return func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if bindOf(r) != "" && sent.Add(1) == count {
				close(reached)
			}
			return next.RoundTrip(r)
		})
	}, reached
}

// atEviction has a fault strike once so many evictions have been sent; the last of them, and those after it, wait until it has struck.
func atEviction(count int64, strike func()) func(http.RoundTripper) http.RoundTripper {
	strikes := sync.OnceFunc(strike)
	var sent atomic.Int64
	return func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if evictionOf(r) != "" && sent.Add(1) >= count {
				strikes()
			}
			return next.RoundTrip(r)
		})
	}
}

// changingWatches lets a function replace the body of every watch of a resource.
func changingWatches(resource string, change func(io.ReadCloser) io.ReadCloser) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err == nil && r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/"+resource) {
				answer.Body = change(answer.Body)
			}
			return answer, err
		})
	}
}

// sluice stops what flows through watches while it is closed; nothing is lost.
type sluice struct {
	mu   sync.RWMutex
	open chan struct{} // closed, as a channel, while watches may flow
}

func newSluice() *sluice {
	s := &sluice{open: make(chan struct{})}
	close(s.open)
	return s
}

func (s *sluice) gate() chan struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.open
}

// stall stops the watches until the returned function is called.
func (s *sluice) stall() (resume func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	closed := make(chan struct{})
	s.open = closed
	return sync.OnceFunc(func() { close(closed) })
}

type stalling struct {
	io.ReadCloser
	sluice *sluice
}

func (b stalling) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	<-b.sluice.gate()
	return n, err
}

// replaying tells the last few events of a watch a second time, in order, now
// and again: as a watch does that is begun anew from an older version.
type replaying struct {
	io.ReadCloser
	lines  *bufio.Reader
	recent [][]byte
	met    int
	out    bytes.Buffer
	count  func(events int)
}

const (
	replayEvery = 7
	replayed    = 20
)

func newReplaying(body io.ReadCloser, count func(int)) io.ReadCloser {
	return &replaying{ReadCloser: body, lines: bufio.NewReader(body), count: count}
}

func (b *replaying) Read(p []byte) (int, error) {
	for b.out.Len() == 0 {
		line, err := b.lines.ReadBytes('\n')
		if err != nil {
			return 0, err
		}
		b.out.Write(line)
		if bytes.Contains(line[:min(len(line), 40)], []byte("BOOKMARK")) {
			b.recent = nil // What was before it is history.
			continue
		}
		b.recent = append(b.recent, line)
		b.recent = b.recent[max(0, len(b.recent)-replayed):]
		if b.met++; b.met%replayEvery == 0 {
			for _, old := range b.recent {
				b.out.Write(old)
			}
			b.count(len(b.recent))
		}
	}
	return b.out.Read(p)
}

// late holds back what a watch tells.
type late struct {
	io.ReadCloser
	by time.Duration
}

func (b late) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	time.Sleep(b.by)
	return n, err
}
