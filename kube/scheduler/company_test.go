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
		{"one panics", func(c *company) error { c.prepared(failure); return failure }, failure},
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

// Of a company that fails nothing is reported before the last has ended, and of one that was prepared for of each when it has.
func TestCompanyIsReportedTogether(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want []int // how many have been reported when the first, second and third have ended
	}{
		{"prepared for", nil, []int{1, 2, 3}},
		{"failed", errors.New("no disk"), []int{0, 0, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCompany(3)
			for range 3 {
				c.prepared(test.err)
			}
			reported := 0
			for i, want := range test.want {
				if c.together(func() { reported++ }, func(put func()) { put() }); reported != want {
					t.Errorf("%d are reported when %d have ended, want %d", reported, i+1, want)
				}
			}
		})
	}
}

// Who is called back while its company is prepared for takes the others along, whose preparations end.
func TestCompanyFailsWithWhoIsCalledBack(t *testing.T) {
	c := newCompany(2)
	preparing, _ := c.preparing(t.Context())
	recalled, callBack := context.WithCancel(t.Context())
	callBack()
	if err := c.agree(recalled, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who is called back hears %v", err)
	}
	if preparing.Err() == nil {
		t.Error("the preparation for the other one goes on")
	}
	if err := c.agree(t.Context(), preparing.Err()); !errors.Is(err, context.Canceled) {
		t.Errorf("the other one hears %v", err)
	}
}
