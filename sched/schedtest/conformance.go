package schedtest

import (
	"fmt"
	"hash/crc32"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Conformance checks a policy in a hostile world, from many seeds: decisions
// take time, binds fail, or time out and happen after all, victims leave late
// or not at all, reports come late, twice and out of order, nodes vanish,
// come back and shrink, foreign tasks appear, tasks are killed, held back and
// reshaped, sets and shapes come, change and go. The world keeps its own record
// of what runs where, and holds the core with the policy to this:
//
//   - no placement takes a node over its limit, breaks eligibility or apartness,
//     or starts a task that has a run already;
//   - a run that began although nobody wants it is told to leave at once;
//   - no task is lost, and State.Check holds after every step;
//   - once the faults are over, every task that fits on some node is placed,
//     within a bound of steps, and at the end nothing takes room any more (of a
//     policy with a method KeepsTogether, a job that wants to stand together
//     counts as one task; of one with a method PlacesWhole nothing is demanded of
//     several tasks of a job that wait while none of it has a place; of one with a method
//     PlacesCopies the copies of a job count as one task, on as many nodes);
//   - the same seed gives the same decisions, also where somebody asks about tasks after each
//     step, and in a calm world a policy that works on a view decides as one that works on the
//     state itself;
//   - in a world where nothing happens but tasks that come and end, no eviction is without
//     a placement; elsewhere it may be, as whom it serves may end, or be refused (nor is anything
//     demanded of a policy with a method BreaksPromises);
//   - tasks that must stand beside others of their job come together, as many as it
//     takes (not of a policy with a method PlacesWhole);
//   - no decision leaves a gang with fewer tasks than its number and more than it had before, though none of it
//     was told to leave.
//
// It tries two seeds, others for each name of a test, so that all policies together meet many worlds; one with -short, 60 with FAIRLEAD_LONG set, and as many as FAIRLEAD_CASES says.
func Conformance(t *testing.T, newPolicy func(seed uint64) sched.Policy) {
	t.Helper()
	collectLess()
	first, seeds := uint64(crc32.ChecksumIEEE([]byte(t.Name()))%6), uint64(2)
	switch cases := os.Getenv("FAIRLEAD_CASES"); {
	case cases != "":
		tries, err := strconv.ParseUint(cases, 10, 16)
		if err != nil || tries == 0 {
			t.Fatalf("FAIRLEAD_CASES=%s, want how many seeds to try", cases)
		}
		first, seeds = 0, tries
	case os.Getenv("FAIRLEAD_LONG") != "":
		first, seeds = 0, 60
	case testing.Short():
		seeds = 1
	}
	if err := keepCompany(newPolicy); err != nil {
		t.Fatal(err)
	}
	for seed := first; seed < first+seeds; seed++ {
		if err := conform(newPolicy, seed, nil); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// collectLess lets the heap grow to five times of what is used. Worlds are small and make much garbage: otherwise nearly half of the time goes into collecting it.
func collectLess() { debug.SetGCPercent(400) }

// Triggered is a policy that is to be put to the test under a trigger of its own, as one
// is that would else go round and round.
type Triggered struct {
	sched.Policy
	When sched.Trigger
}

// conform runs the worlds of one seed and returns the first broken promise.
func conform(newPolicy func(seed uint64) sched.Policy, seed uint64, tamper *tamper) error {
	first, err := live(newPolicy, mode{seed: seed, hostile: true, tamper: tamper})
	if err != nil {
		return fmt.Errorf("in a hostile world: %w", err)
	}
	again, err := live(newPolicy, mode{seed: seed, hostile: true, asks: true, tamper: tamper})
	if err != nil {
		return fmt.Errorf("in a hostile world, again: %w", err)
	}
	if err := sameLog(first, again); err != nil {
		return fmt.Errorf("the same seed decides differently, or one that is asked for reasons: %w", err)
	}
	direct, err := live(newPolicy, mode{seed: seed, tamper: tamper})
	if err != nil {
		return fmt.Errorf("in a calm world: %w", err)
	}
	viewed, err := live(newPolicy, mode{seed: seed, views: true, tamper: tamper})
	if err != nil {
		return fmt.Errorf("in a calm world, on views: %w", err)
	}
	if err := sameLog(direct, viewed); err != nil {
		return fmt.Errorf("decides differently on a view: %w", err)
	}
	quiet, err := live(newPolicy, mode{seed: seed, quiet: true, tamper: tamper})
	if err != nil {
		return fmt.Errorf("in a quiet world: %w", err)
	}
	if c := quiet.core.Counts(); c.WithoutPlacement > 0 && !breaks(newPolicy(seed)) {
		return fmt.Errorf("in a quiet world: %d of %d evictions were without a placement", c.WithoutPlacement, c.Evicted)
	}
	return nil
}

// breaks reports whether the policy takes away what it has promised.
func breaks(p sched.Policy) bool {
	_, is := p.(interface{ BreaksPromises() })
	return is
}

// sameLog compares what two worlds saw decided.
func sameLog(a, b *world) error {
	for i := range max(len(a.log), len(b.log)) {
		switch {
		case i >= len(a.log):
			return fmt.Errorf("decision %d: nothing, then %q", i, b.log[i])
		case i >= len(b.log):
			return fmt.Errorf("decision %d: %q, then nothing", i, a.log[i])
		case a.log[i] != b.log[i]:
			return fmt.Errorf("decision %d: %q, then %q", i, a.log[i], b.log[i])
		}
	}
	return nil
}

// mode says how a world behaves.
type mode struct {
	seed    uint64
	hostile bool
	quiet   bool // nothing happens but tasks that come, and end when they have done their work
	views   bool // each round runs on a view
	asks    bool // somebody asks about a task after each step
	tamper  *tamper
}

// tamper lets a test break what passes between the core and the world, to show
// that the world notices.
type tamper struct {
	decisions func(*world, []sched.Decision) []sched.Decision
	events    func(*world, []cluster.Event) []cluster.Event
	step      func(*world)
}

// span is how many things happen before the faults end.
const span = 250

// live runs a world from its beginning to the end of its last task.
func live(newPolicy func(seed uint64) sched.Policy, m mode) (*world, error) {
	w, err := newWorld(newPolicy, m)
	if err != nil {
		return nil, err
	}
	defer w.join()
	for w.fates < span {
		if err := w.turn(); err != nil {
			return w, err
		}
	}
	w.calmDown()
	bound := w.age + 500 + 60*len(w.tasks)
	for w.unfinished() {
		if w.age > bound {
			return w, fmt.Errorf("%d steps after the faults ended, tasks still wait: %s", 500+60*len(w.tasks), w.whoWaits())
		}
		if w.idle() {
			return w, fmt.Errorf("nothing is due and nothing will happen, but tasks that fit still wait: %s", w.whoWaits())
		}
		if err := w.turn(); err != nil {
			return w, err
		}
	}
	return w, w.checkEmpty()
}

// checkEmpty checks that nothing is left once every task has ended that could
// be placed.
func (w *world) checkEmpty() error {
	for range 10_000 {
		if len(w.mail) == 0 {
			break
		}
		if err := w.turn(); err != nil {
			return err
		}
	}
	s := w.core.View()
	if used := s.Totals().Used; slices.ContainsFunc(used, func(q int64) bool { return q != 0 }) {
		return fmt.Errorf("every task has ended, and %v is still taken:\n%s", used, s.Picture())
	}
	if n := w.core.Ledger().OpenBundles(); n > 0 {
		return fmt.Errorf("every task has ended, and %d bundles are still open", n)
	}
	for _, r := range w.order {
		if r.present {
			return fmt.Errorf("task row %d attempt %d still runs at the end", r.id.task, r.id.attempt)
		}
	}
	return nil
}

// whoWaits names the first few tasks that fit somewhere and were not placed,
// with the policy's reasons.
func (w *world) whoWaits() string {
	text, n := "", 0
	for _, t := range w.tasks {
		if t.gone || !w.fitsSomewhere(t) {
			continue
		}
		if n++; n > 3 {
			break
		}
		s := w.core.View()
		text += fmt.Sprintf("\n%s %s: %s", s.TaskName(t.row), s.Task(t.row).Phase, w.core.Why(t.row).Text(s.Kinds()))
	}
	return text + "\n" + w.core.View().Picture()
}
