package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/errors"
)

// This file reports to the scheduler each refusal of a bind or an eviction that comes
// with a time to wait. client-go keeps such an answer to itself and repeats the
// request, ten times or until it has timed out. What then looks like no answer, after
// which a bind has to be looked up, was a refusal each time. The scheduler waits by
// itself.

// noRepeat is a transport whose refusals to bind or evict do not make the client
// repeat the request. They contain the time to wait in their body, not in a header.
type noRepeat struct{ http.RoundTripper }

// longestRefusal bounds what is read of an answer that is no object of the API.
const longestRefusal = 1 << 10

// RoundTrip sends the request.
func (n noRepeat) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := n.RoundTripper.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusTooManyRequests || !bindsOrEvicts(r) {
		return answer, err
	}
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	answer.Header.Del("Retry-After")
	if kind := answer.Header.Get("Content-Type"); strings.HasPrefix(kind, "application/") {
		return answer, nil // an object of the API, which contains it
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, longestRefusal))
	_ = answer.Body.Close()
	status := errors.NewTooManyRequests(strings.TrimSpace(string(text)), seconds).Status()
	status.APIVersion, status.Kind = "v1", "Status"
	body, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("the API server refused, and its words cannot be written: %w", err)
	}
	answer.Header.Set("Content-Type", "application/json")
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return answer, nil
}

// WrappedRoundTripper is what client-go looks through for the transport below.
func (n noRepeat) WrappedRoundTripper() http.RoundTripper { return n.RoundTripper }

func bindsOrEvicts(r *http.Request) bool {
	return r.Method == http.MethodPost && (strings.HasSuffix(r.URL.Path, "/binding") || strings.HasSuffix(r.URL.Path, "/eviction")) ||
		r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/pods/")
}
