package cli

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestUntil: what does not end by itself is left to itself when the context has ended, and what ends in time counts.
func TestUntil(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	forever := make(chan int)
	time.AfterFunc(10*time.Millisecond, stop)
	if _, err := until(ctx, 10*time.Millisecond, func() (int, error) { return <-forever, nil }); !errors.Is(err, errInterrupted) {
		t.Errorf("what never ends: %v", err)
	}
	late := make(chan int, 1)
	time.AfterFunc(10*time.Millisecond, func() { late <- 7 })
	if n, err := until(ctx, time.Minute, func() (int, error) { return <-late, nil }); n != 7 || err != nil {
		t.Errorf("what ends within the grace: %d, %v", n, err)
	}
}
