package judge

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// What panics beside the owner's goroutine panics on it, once all are done.
func TestFaultsReachWhoAsked(t *testing.T) {
	var done sync.WaitGroup
	var fault fault
	for i := range 10 {
		done.Go(func() {
			defer fault.keep()
			if i == 7 {
				panic("a filter's fault")
			}
		})
	}
	done.Wait()
	defer func() {
		if cause := fmt.Sprint(recover()); !strings.Contains(cause, "a filter's fault") || !strings.Contains(cause, "fault_test.go") {
			t.Errorf("panics with %s", cause)
		}
	}()
	fault.raise()
}
