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

// The module of another Kubernetes requires what upstream's does, with the modules of upstream's repository from the proxy.
func TestModuleOf(t *testing.T) {
	const upstream = `module k8s.io/kubernetes

go 1.26.0

require (
	a.dev/a v1.0.0
	k8s.io/api v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
)
`
	const want = `module fairlead.dev/fairlead/kube/testbed/kubernetes

go 1.26.0

require (
	a.dev/a v1.0.0
	k8s.io/api v0.0.0
)

replace (
	k8s.io/api => k8s.io/api v0.36.3
)

require k8s.io/kubernetes v1.36.3
`
	if got, err := moduleOf(upstream, "v1.36.3"); err != nil || got != want {
		t.Errorf("%v; the module is\n%s", err, got)
	}
	if _, err := moduleOf("module k8s.io/kubernetes\n", "v1.20.0"); err == nil {
		t.Error("a go.mod without folders is taken")
	}
}

// Beds run the programs of the Kubernetes that is asked for, and everybody else's as they are.
func TestOtherKubernetes(t *testing.T) {
	for _, test := range []struct {
		version, server string
		before          bool
	}{
		{"", "/b/kube-apiserver", false},
		{"v1.36.3", "/b/kubernetes-v1.36.3/kube-apiserver", true},
		{"v1.37.0", "/b/kubernetes-v1.37.0/kube-apiserver", false},
	} {
		t.Setenv(KubernetesEnv, test.version)
		if got := program("/b", "kube-apiserver"); got != test.server {
			t.Errorf("%q: the API server is %s", test.version, got)
		}
		if got := program("/b", "etcd"); got != "/b/etcd" {
			t.Errorf("%q: etcd is %s", test.version, got)
		}
		if got := Before(37); got != test.before {
			t.Errorf("%q is before 1.37: %t", test.version, got)
		}
	}
}

// Who asks for a Kubernetes that cannot be had hears why, and how versions are written.
func TestKubernetesThatCannotBeFound(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	_, err := findKubernetes(t.Context(), "v9.9.9")
	if err == nil || !strings.Contains(err.Error(), "GOPROXY=off") || !strings.Contains(err.Error(), "such as v1.36.3") {
		t.Errorf("it says %v", err)
	}
}
