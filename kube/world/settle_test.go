package world

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// keptRoom is a world whose pods all wait for room that others have yet to leave,
// and what says so.
func keptRoom(tb testing.TB, pods int) (w *World, reserved func(cluster.TaskID) bool) {
	tb.Helper()
	w = newRig(tb, newBench(tb, makeNamespace("default", "red"))).world
	for i := range pods {
		pod, err := makePod(&line{of: "pod", name: fmt.Sprintf("p%d", i)})
		if err != nil {
			tb.Fatal(err)
		}
		w.SeePod(pod)
	}
	w.Admit(func() bool { return false })
	if got := w.Counts().Waiting; got != pods {
		tb.Fatalf("%d of %d pods wait in the core", got, pods)
	}
	return w, func(cluster.TaskID) bool { return true }
}

// A turn asks once about each pod for which room is kept, and needs no memory for
// it: there may be thousands, turn after turn.
func TestSettleKeepsReservedPods(t *testing.T) {
	const pods = 500
	w, reserved := keptRoom(t, pods)
	asked := 0
	if got := w.Settle(func(cluster.TaskID) bool { asked++; return true }); len(got) != 0 {
		t.Errorf("%d pods count as not placed although room is kept for them", len(got))
	}
	if asked != pods || len(w.queue.offered) != pods {
		t.Errorf("asked %d times, and %d pods are still offered; want %d", asked, len(w.queue.offered), pods)
	}
	if allocated := testing.AllocsPerRun(10, func() { w.Settle(reserved) }); allocated != 0 {
		t.Errorf("a turn allocates %v times for pods that go on waiting", allocated)
	}
	if got := w.Settle(func(cluster.TaskID) bool { return false }); len(got) != pods || len(w.queue.offered) != 0 {
		t.Errorf("without their room, %d pods are not placed and %d are still offered; want %d and none", len(got), len(w.queue.offered), pods)
	}
	w.Reconsider()
	w.Admit(func() bool { return false })
	if got := w.Settle(reserved); len(got) != 0 || len(w.queue.offered) != pods {
		t.Errorf("offered anew, %d pods count as not placed and %d as offered; want none and %d", len(got), len(w.queue.offered), pods)
	}
}

// A pod that was taken back and offered again within a turn is settled once.
func TestSettledOnce(t *testing.T) {
	w, reserved := keptRoom(t, 3)
	w.Reconsider()
	w.Admit(func() bool { return false })
	if len(w.queue.offered) != 3 {
		t.Errorf("%d pods are offered, of 3", len(w.queue.offered))
	}
	w.Settle(reserved)
	w.Restart(nil)
	w.Admit(func() bool { return false })
	if got := w.Settle(func(cluster.TaskID) bool { return false }); len(got) != 3 {
		t.Errorf("a new core could not place %d pods, want each of 3 once", len(got))
	}
}

// BenchmarkSettle is a turn in which room is kept for that many pods.
func BenchmarkSettle(b *testing.B) {
	for _, pods := range []int{1000, 8000} {
		b.Run(fmt.Sprintf("reserved=%d", pods), func(b *testing.B) {
			w, reserved := keptRoom(b, pods)
			b.ReportAllocs()
			for b.Loop() {
				w.Settle(reserved)
			}
		})
	}
}
