package scheduler

import "sync"

// inbox holds what happened until the loop gets to it. Anybody may put; the
// loop alone takes. Its length is bounded by what it stands for: a watch
// delivers an object's next change only when the informer has handed over the
// one before, and a bind has one outcome.
type inbox struct {
	mu    sync.Mutex
	items []func()
	spare []func()
	wake  chan struct{} // holds a token while items may be waiting
	shut  bool          // the loop is over; what is put is dropped
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// put leaves something for the loop to call.
func (b *inbox) put(item func()) {
	b.mu.Lock()
	if !b.shut {
		b.items = append(b.items, item)
	}
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// close drops all that waits and whatever is put from now on.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut, b.items = true, nil
}

// take returns all that was put since, in order. It is valid until the next
// call.
func (b *inbox) take() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.spare)
	taken := b.items
	b.items, b.spare = b.spare[:0], taken
	return taken
}
