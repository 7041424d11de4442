package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file keeps the two beds that all tests share, because a start takes
// longer than many a test: one of etcd and API server alone, whose nodes each
// test brings and takes away, and one where controllers and kwok live too.

// sharedBed starts with the first test that wants it.
type sharedBed struct {
	options testbed.Options
	once    sync.Once
	bed     *testbed.Bed
	err     error
}

var (
	bareBed   = sharedBed{options: withPodGroups(testbed.Options{Tmpfs: true})}
	livingBed = sharedBed{options: withPodGroups(testbed.Options{Tmpfs: true, ControllerManager: true, Kwok: true})}
)

// withPodGroups has the bed serve pod groups and take their topology keys and claims, which Kubernetes 1.37 does only with these gates and flags. Older ones end when
// they are told of an API that they do not know.
func withPodGroups(o testbed.Options) testbed.Options {
	if !testbed.Before(37) {
		o.FeatureGates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,DRAWorkloadResourceClaims=true"
		o.APIServerFlags = []string{"--runtime-config=scheduling.k8s.io/v1beta1=true"}
	}
	return o
}

func (s *sharedBed) get(t *testing.T) *testbed.Bed {
	t.Helper()
	testbed.SkipUnlessBuilt(t)
	s.once.Do(func() {
		// Not the test's context: the bed outlives the test.
		if s.bed, s.err = testbed.Start(context.Background(), s.options); s.err == nil {
			s.err = testbed.GrantRoles(context.Background(), s.bed)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.bed
}

// ownBed starts a bed of nothing but an API server that the test has for itself: on the shared one Kubernetes' own scheduler may run.
func ownBed(t *testing.T) *testbed.Bed {
	t.Helper()
	return ownBedOf(t, testbed.Options{Tmpfs: true})
}

func ownBedOf(t *testing.T, options testbed.Options) *testbed.Bed {
	t.Helper()
	s := &sharedBed{options: options}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s.get(t)
}

func (s *sharedBed) close() error {
	if s.bed == nil {
		return nil
	}
	return s.bed.Close()
}

// long makes loads larger and faults longer.
var long = os.Getenv("FAIRLEAD_LONG") == "1"

// normally returns the first value, in long runs the second.
func normally[T any](usual, extended T) T {
	if long {
		return extended
	}
	return usual
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := errors.Join(bareBed.close(), livingBed.close(), growingBed.close(), compositeBed.close(), removeProgram()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
