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
func ForTest(t testing.TB, options Options) *Bed {
	t.Helper()
	SkipUnlessBuilt(t)
	b, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, tail := range b.logTails() {
				t.Log(tail)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// SkipUnlessBuilt is for tests that call Start themselves.
func SkipUnlessBuilt(t testing.TB) {
	t.Helper()
	if _, ok := Built(); ok {
		return
	}
	if os.Getenv(requireEnv) == "require" {
		t.Fatalf("the test bed is not built, and %s=require; %s", requireEnv, howToBuild)
	}
	t.Skipf("the test bed is not built; %s", howToBuild)
}
