package testbed

import (
	"context"
	"math"
	"os"
	"slices"
	"time"
)

// A measurement is taken from outside, as a user would: by one clock, from the
// moment before a pod's create request is sent to the moment when a watcher
// hears of its node. It holds the API server's share too, so compare it with
// that of Floor and look at the CPU of each process.

// stalled is how long nothing may be bound before a measurement gives up.
const stalled = time.Minute

// LoadName is the name under which CPU counts the process that creates and
// watches the pods.
const LoadName = "load"

// Result is what one load cost.
type Result struct {
	Pods          int
	Elapsed       time.Duration // from the first create to the last bind
	P50, P99, Max time.Duration // from created to bound
	// CPU is the processor time that each process used meanwhile.
	CPU map[string]time.Duration
}

// PerSecond is how many pods were bound per second.
func (r Result) PerSecond() float64 { return float64(r.Pods) / r.Elapsed.Seconds() }

// CPUPerPod is the processor time of a process divided by the pods.
func (r Result) CPUPerPod(name string) time.Duration { return r.CPU[name] / time.Duration(r.Pods) }

// Measure creates the pods of a load while its scheduler runs, and waits until
// all are bound. With Via other than Pods, a pod counts as created when the
// watcher first hears of it.
func (b *Bed) Measure(ctx context.Context, load Load) (Result, error) {
	return b.measure(ctx, load, nil)
}

// MeasureBacklog creates the pods first, then calls start, which starts their
// scheduler, and measures how it works off the backlog. Elapsed is from the
// first bind to the last, so that the scheduler's own start does not count;
// latencies are from the call of start.
func (b *Bed) MeasureBacklog(ctx context.Context, load Load, start func(context.Context) error) (Result, error) {
	return b.measure(ctx, load, start)
}

// Burden creates pods that no node has room for, and waits until their scheduler has said so of each. They stay.
func Burden(ctx context.Context, b *Bed, load Load) error {
	load, err := load.withDefaults()
	if err != nil {
		return err
	}
	load.tooLarge = true
	client, err := b.Client(Admin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := newTracker(load.Pods)
	if err := t.watch(ctx, client, appLabel+"="+load.Name); err != nil {
		return err
	}
	if err := load.create(ctx, client, t.send); err != nil {
		return err
	}
	return t.await(ctx, t.unfit)
}

// measure has a backlog if there is a start.
func (b *Bed) measure(ctx context.Context, load Load, start func(context.Context) error) (Result, error) {
	load, err := load.withDefaults()
	if err != nil {
		return Result{}, err
	}
	client, err := b.Client(Admin)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if err := b.Wait(ctx); err != nil {
			cancel(err) // Nobody would bind the rest.
		}
	}()
	t := newTracker(load.Pods)
	if err := t.watch(ctx, client, appLabel+"="+load.Name); err != nil {
		return Result{}, err
	}
	b.Watch(LoadName, os.Getpid())
	before := b.CPU()
	if err := load.create(ctx, client, t.send); err != nil {
		return Result{}, preferCause(ctx, err)
	}
	var started time.Time
	if start != nil {
		if err := t.await(ctx, t.seen); err != nil {
			return Result{}, err
		}
		started, before = time.Now(), b.CPU()
		if err := start(ctx); err != nil {
			return Result{}, err
		}
	}
	if err := t.await(ctx, t.bound); err != nil {
		return Result{}, err
	}
	used := map[string]time.Duration{}
	for name, cpu := range b.CPU() {
		used[name] = cpu - before[name]
	}
	return t.result(started, used), nil
}

// preferCause returns the reason for a cancelled context, such as a process that
// died, rather than the error of the request that was under way.
func preferCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// result sums up a tracker whose pods are all bound. A started that is not zero
// says that they were a backlog until then.
func (t *tracker) result(started time.Time, cpu map[string]time.Duration) Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first, last time.Time
	var latencies []time.Duration
	for name, bound := range t.bound.at {
		created := t.created(name)
		begin := created
		if !started.IsZero() {
			created, begin = started, bound
		}
		latencies = append(latencies, bound.Sub(created))
		if first.IsZero() || begin.Before(first) {
			first = begin
		}
		if bound.After(last) {
			last = bound
		}
	}
	return Summarize(last.Sub(first), latencies, cpu)
}

// Summarize is the result of pods that were bound after these times, of which there is at least one.
func Summarize(elapsed time.Duration, latencies []time.Duration, cpu map[string]time.Duration) Result {
	latencies = slices.Sorted(slices.Values(latencies))
	return Result{
		Pods: len(latencies), Elapsed: elapsed, CPU: cpu,
		P50: percentile(latencies, 50), P99: percentile(latencies, 99), Max: percentile(latencies, 100),
	}
}

// percentile is the smallest value that p percent of the sorted values do not
// exceed.
func percentile(sorted []time.Duration, p float64) time.Duration {
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}
