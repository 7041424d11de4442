package scheduler

import (
	"cmp"
	"context"
	"time"
)

// This file keeps requests within the lease. Nothing can be sent for certain before it ends, as the API server knows nothing of it: between the
// look at the clock and the moment at which a request is taken in whatever time may pass. So the look comes right
// before the request, and the request ends with the lease, by the clock of this process, however long its timeout is; a lease that is renewed meanwhile lets it go on.

// fence says why nothing may be sent any more. It is asked before each request, as a client
// may not look at its context. What ends with the life hears of its end one after the other, so
// that a worker which was freed by the end could be taken before whoever waits for it has heard.
func (b *binder) fence(ctx context.Context) error {
	if err := cmp.Or(b.life.Err(), ctx.Err()); err != nil {
		return err
	}
	_, err := held(b.s)
	return err
}

// held is until when the lease is held as it is now, zero if it does not end, or why it is not held.
func held(s *Scheduler) (until time.Time, err error) {
	if s.Holds == nil {
		return time.Time{}, nil
	}
	return s.Holds()
}

// newRequest is the context of a request, which ends with the timeout of binds or with the lease, or why none may be sent.
func newRequest(ctx context.Context, b *binder) (context.Context, context.CancelFunc, error) {
	if err := b.fence(ctx); err != nil {
		return nil, nil, err
	}
	bounded, expire := context.WithTimeout(ctx, b.s.Config.BindTimeout.Duration)
	leased, end := whileHeld(bounded, b.s)
	return leased, func() { end(); expire() }, nil
}

// whileHeld is the context until the lease ends by the clock. It has to be ended.
func whileHeld(ctx context.Context, s *Scheduler) (context.Context, context.CancelFunc) {
	leased, end := context.WithCancelCause(ctx)
	go func() {
		for {
			until, err := held(s)
			if err != nil {
				end(err)
				return
			}
			if until.IsZero() {
				return
			}
			select {
			case <-leased.Done():
				return
			case <-time.After(time.Until(until)): // it may have been renewed by now
			}
		}
	}()
	return leased, func() { end(context.Canceled) }
}
