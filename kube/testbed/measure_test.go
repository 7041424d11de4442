package testbed

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The floor binds everything, and what it cost is accounted for.
func TestFloorBinds(t *testing.T) {
	b := ForTest(t, Options{Tmpfs: true})
	if err := AddNodes(t.Context(), clientOf(t, b, Admin), NodeOptions{Count: 20}); err != nil {
		t.Fatal(err)
	}
	if err := b.Grant(t.Context(), Fairlead, "system:kube-scheduler"); err != nil {
		t.Fatal(err)
	}
	floor := newFloorOf(t, b)
	live := Load{Name: "live", Scheduler: "floor", Pods: 200}
	backlog := Load{Name: "backlog", Scheduler: "floor", Pods: 100}

	t.Run("backlog", func(t *testing.T) {
		r, err := b.MeasureBacklog(t.Context(), backlog, func(context.Context) error { floor(); return nil })
		if err != nil {
			t.Fatal(err)
		}
		check(t, b, r, backlog)
	})
	t.Run("live", func(t *testing.T) {
		r, err := b.Measure(t.Context(), live)
		if err != nil {
			t.Fatal(err)
		}
		check(t, b, r, live)
	})
	t.Run("paced", func(t *testing.T) {
		paced := Load{Name: "paced", Scheduler: "floor", Pods: 21, Rate: 40}
		r, err := b.Measure(t.Context(), paced)
		if err != nil {
			t.Fatal(err)
		}
		check(t, b, r, paced)
		if r.Elapsed < 500*time.Millisecond { // 20 gaps of 25 ms
			t.Errorf("21 pods at 40 a second in %s, want half a second at least", r.Elapsed)
		}
	})
	told := 0
	for range 50 { // it is written once the pod is bound
		list, err := clientOf(t, b, Admin).EventsV1().Events("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		told = 0
		for i := range list.Items {
			if list.Items[i].Reason == "Scheduled" {
				told++
			}
		}
		if told == 321 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%d events say that a pod was bound, want 321", told)
}

// newFloorOf returns how to start the floor scheduler of a bed, in this process.
func newFloorOf(t *testing.T, b *Bed) (start func()) {
	t.Helper()
	var group errgroup.Group
	ctx := t.Context() // It ends just before the cleanup.
	t.Cleanup(func() {
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
	client := clientOf(t, b, Fairlead)
	return func() { group.Go(func() error { return Floor(ctx, client, "floor", true) }) }
}

func check(t *testing.T, b *Bed, r Result, load Load) {
	t.Helper()
	t.Logf("%.0f pods/s, p50 %s, p99 %s, max %s, CPU %v", r.PerSecond(), r.P50, r.P99, r.Max, r.CPU)
	if r.Pods != load.Pods {
		t.Errorf("%d pods bound, want %d", r.Pods, load.Pods)
	}
	if r.P50 <= 0 || r.P50 > r.P99 || r.P99 > r.Max || r.Elapsed <= 0 {
		t.Errorf("latencies %s, %s, %s in %s", r.P50, r.P99, r.Max, r.Elapsed)
	}
	for _, name := range []string{"etcd", "kube-apiserver", LoadName} {
		if _, ok := r.CPU[name]; !ok {
			t.Errorf("no CPU time of %s in %v", name, r.CPU)
		}
	}
	if load.Pods >= 100 && r.CPU["kube-apiserver"] == 0 {
		t.Error("the API server bound a hundred pods for nothing")
	}
}

// A scheduler that dies ends the measurement with its last words, and not with
// the patience of whoever waits.
func TestMeasureReportsADeadScheduler(t *testing.T) {
	b := ForTest(t, Options{Tmpfs: true})
	began := time.Now()
	_, err := b.MeasureBacklog(t.Context(), Load{Scheduler: "dead", Pods: 3}, func(context.Context) error {
		return b.Run("dead", "/bin/sh", "-c", "echo the dog ate it; exit 3")
	})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "the dog ate it") {
		t.Errorf("a scheduler that dies: %v", err)
	}
	if took := time.Since(began); took > stalled/2 {
		t.Errorf("it took %s to notice", took)
	}
}

func TestLoadsAreChecked(t *testing.T) {
	for _, test := range []struct {
		load Load
		want string
	}{
		{Load{}, "0 pods"},
		{Load{Pods: 1, Feature: "purple"}, `no feature "purple"`},
		{Load{Pods: 1, Via: "magic"}, `nobody called "magic"`},
		{Load{Pods: 1, Via: Jobs, Rate: 5}, "a rate is kept for pods only"},
	} {
		if err := test.load.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.load, err, test.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	for _, test := range []struct {
		sorted []time.Duration
		p      float64
		want   time.Duration
	}{
		{[]time.Duration{7}, 50, 7},
		{[]time.Duration{7}, 100, 7},
		{[]time.Duration{1, 2, 3, 4}, 50, 2},
		{[]time.Duration{1, 2, 3, 4}, 99, 4},
		{[]time.Duration{1, 2, 3, 4}, 100, 4},
	} {
		if got := percentile(test.sorted, test.p); got != test.want {
			t.Errorf("percentile %g of %v is %d, want %d", test.p, test.sorted, got, test.want)
		}
	}
}

// The clock of /proc agrees with what this process has burned.
func TestCPUOf(t *testing.T) {
	before := cpuOf(os.Getpid())
	var used syscall.Rusage
	begin := usage(t, &used)
	for usage(t, &used)-begin < 300*time.Millisecond { // of processor time, however busy the machine is
	}
	if used := cpuOf(os.Getpid()) - before; used < 250*time.Millisecond || used > 3*time.Second {
		t.Errorf("a loop of 300 ms used %s", used)
	}
	if used := cpuOf(-1); used != 0 {
		t.Errorf("a process that does not exist used %s", used)
	}
}

// usage is the processor time of this process, as the kernel has it.
func usage(t *testing.T, of *syscall.Rusage) time.Duration {
	t.Helper()
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, of); err != nil {
		t.Fatal(err)
	}
	return time.Duration(of.Utime.Nano() + of.Stime.Nano())
}
