package testbed

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// Only one process builds at a time, and one that waits can be told to stop.
func TestBuildLock(t *testing.T) {
	path := t.TempDir() + "/lock"
	unlock, err := lock(t.Context(), path, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var said strings.Builder
	if _, err := lock(ctx, path, &said); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second lock: %v, want that it waits", err)
	}
	if !strings.Contains(said.String(), "waiting") {
		t.Errorf("who waits is told %q", said.String())
	}
	unlock()
	unlock, err = lock(t.Context(), path, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// Tidying go.mod leaves the key of the cache alone; a new version changes it.
func TestVersions(t *testing.T) {
	const untidy = `module m
require (
	k8s.io/kubernetes v1.37.0
	a.dev/a v1.0.0 // indirect
)
`
	const tidy = `module m

require (
	a.dev/a v1.0.0
)

require (
	k8s.io/kubernetes v1.37.0 // indirect
)
`
	if a, b := versions(untidy), versions(tidy); !slices.Equal(a, b) {
		t.Errorf("tidied: %q, before: %q", b, a)
	}
	if a, b := versions(tidy), versions(strings.ReplaceAll(tidy, "1.37.0", "1.37.1")); slices.Equal(a, b) {
		t.Errorf("another version has the same versions: %q", a)
	}
}
