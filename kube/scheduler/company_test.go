package scheduler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// Nobody of a company goes on before all are prepared for, and nobody does where that fails for one, said or not.
func TestCompanyAgrees(t *testing.T) {
	failure := errors.New("no disk")
	for _, test := range []struct {
		name string
		last func(*company) error
		want error
	}{
		{"all are prepared for", func(c *company) error { return c.agree(context.Background(), nil) }, nil},
		{"one fails", func(c *company) error { return c.agree(context.Background(), failure) }, failure},
		{"one panics", func(c *company) error { c.say(failure); return failure }, failure},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCompany(3)
				ends := make(chan error, 2)
				for range 2 {
					go func() { ends <- c.agree(context.Background(), nil) }()
				}
				synctest.Wait()
				if len(ends) > 0 {
					t.Fatal("a pod goes on before its company is prepared for")
				}
				if err := test.last(c); !errors.Is(err, test.want) {
					t.Errorf("the last hears %v, want %v", err, test.want)
				}
				for range 2 {
					if err := <-ends; !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
						t.Errorf("another hears %v, want %v", err, test.want)
					}
				}
			})
		})
	}
	if err := (*company)(nil).agree(t.Context(), failure); !errors.Is(err, failure) {
		t.Errorf("a pod without company hears %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newCompany(2).agree(ended, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a pod whose scheduler stops hears %v", err)
	}
}
