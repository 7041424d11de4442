package testbed

import (
	"os"
	"testing"
)

// requireEnv turns a skipped test into a failed one, so that continuous
// integration cannot pass without having tested anything.
const requireEnv = "FAIRLEAD_TESTBED"

// ForTest starts a bed that ends with the test, and shows the ends of all logs
// if the test fails. Without the programs the test is skipped, unless
// FAIRLEAD_TESTBED=require.
func ForTest(tb testing.TB, options Options) *Bed {
	tb.Helper()
	SkipUnlessBuilt(tb)
	b, err := Start(tb.Context(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			for _, tail := range b.logTails() {
				tb.Log(tail)
			}
		}
		if err := b.Close(); err != nil {
			tb.Error(err)
		}
	})
	return b
}

// SkipUnlessBuilt is for tests that call Start themselves.
func SkipUnlessBuilt(tb testing.TB) {
	tb.Helper()
	if _, ok := Built(); ok {
		return
	}
	if os.Getenv(requireEnv) == "require" {
		tb.Fatalf("the test bed is not built, and %s=require; %s", requireEnv, howToBuildKubernetes())
	}
	tb.Skipf("the test bed is not built; %s", howToBuildKubernetes())
}

// SkipUnlessContainers skips the test where StartKubelet cannot work, and says
// all the reasons. A machine that cannot run containers fails no test, whatever
// is required; that the kubelet is not built does, if FAIRLEAD_TESTBED=require.
func SkipUnlessContainers(tb testing.TB) {
	tb.Helper()
	if err := CanRunContainers(tb.Context()); err != nil {
		tb.Skipf("this machine cannot run containers: %v", err)
	}
	SkipUnlessBuilt(tb)
	if KubeletBuilt() {
		return
	}
	if os.Getenv(requireEnv) == "require" {
		tb.Fatalf("the kubelet is not built, and %s=require; %s", requireEnv, howToBuildKubelet)
	}
	tb.Skipf("the kubelet is not built; %s", howToBuildKubelet)
}
