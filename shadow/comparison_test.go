package shadow_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/shadow"
)

// watched is a core that decides for the tasks of another scheduler, recorded, and a comparison that follows it.
type watched struct {
	t     *testing.T
	dir   string
	core  *recording.Recorder
	to    *recording.Writer
	live  *shadow.Comparison
	now   cluster.Time
	tasks cluster.TaskID
}

func policyOf(l recording.Lane) (sched.Policy, error) {
	return chosen.Make(policies.All(), &l, policies.Options{})
}

func header() recording.Header {
	return recording.Header{
		Origin:  time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC),
		Kinds:   []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}},
		Classes: []cluster.Class{{Name: "none"}, {Name: "gold", Importance: 1, Availability: cluster.Whole / 10 * 9}},
		Lanes:   []recording.Lane{{Name: "d", User: "d", Policy: "fairlead", Seed: 1}},
	}
}

// watch is a core of three nodes: n0 and n1 have 4 cpu, n2 has 8. The job 0 is the other scheduler's.
func watch(t *testing.T) *watched {
	t.Helper()
	w := &watched{t: t, dir: t.TempDir(), live: shadow.New(header().Origin, "d")}
	var err error
	if w.to, err = recording.NewWriter(w.dir, header(), recording.Limits{}); err != nil {
		t.Fatal(err)
	}
	w.begin()
	return w
}

// begin begins a core.
func (w *watched) begin() {
	w.t.Helper()
	h := header()
	policy, err := policyOf(h.Lanes[0])
	if err != nil {
		w.t.Fatal(err)
	}
	core, err := sched.New(cluster.NewState(h.Kinds, h.Classes), h.Lanes[0].Of(policy))
	if err != nil {
		w.t.Fatal(err)
	}
	w.core, w.tasks = recording.NewRecorder(core, w.to), 0
	in := []cluster.Event{cluster.JobSubmitted{Job: 0, Name: "shop/web", User: "d"}}
	for n, cpu := range []int64{4000, 4000, 8000} {
		in = append(in, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: cluster.Vector{cpu}}})
	}
	for shape, cpu := range []int64{1000, 3000, 100_000} {
		in = append(in, cluster.ShapeDefined{Shape: cluster.ShapeID(shape), Spec: cluster.Shape{Demand: cluster.Vector{cpu}}})
	}
	_, err = w.core.Snapshot(w.now, in, nil)
	w.followed(true, in, nil, err)
}

func (w *watched) followed(snapshot bool, in []cluster.Event, out []sched.Decision, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	w.live.Follow(&shadow.Call{At: w.now, Snapshot: snapshot, In: in, Out: out, View: w.core.View(), Rounds: w.core.Counts().Rounds, Undecided: w.core.Undecided})
}

// step has so much time pass, and then this happen.
func (w *watched) step(after cluster.Time, in ...cluster.Event) []sched.Decision {
	w.t.Helper()
	w.now += after
	out, _, err := w.core.Step(w.now, in, nil)
	w.followed(false, in, out, err)
	if len(out) > 0 { // they are out by then
		w.now += cluster.Second / 4
		_, err := w.core.Observe(w.now, nil, nil)
		w.followed(false, nil, nil, err)
	}
	return out
}

// comes is a task that comes to wait, of a shape and priority.
func (w *watched) comes(shape cluster.ShapeID, priority int32) (cluster.TaskID, []cluster.Event) {
	t := w.tasks
	w.tasks++
	return t, []cluster.Event{
		cluster.TaskSubmitted{Task: t, Seq: cluster.Seq(t), Shape: shape, Priority: priority, Gated: true}, cluster.TaskUngated{Task: t, Seq: cluster.Seq(t)},
	}
}

// elsewhere is that the other scheduler has bound a task for which we had decided another node.
func elsewhere(d sched.Decision, n cluster.NodeID) []cluster.Event {
	return []cluster.Event{
		cluster.BindRefused{Task: d.Task, Attempt: d.Attempt}, cluster.TaskGated{Task: d.Task, Seq: d.Seq}, cluster.TaskFound{Task: d.Task, Seq: d.Seq, Node: n},
	}
}

// report is what the comparison says, after what a replay of the recording says was held against it.
func (w *watched) report() *shadow.Report {
	w.t.Helper()
	live := w.live.Report()
	if err := w.to.Close(); err != nil {
		w.t.Fatal(err)
	}
	files, err := recording.Files(w.dir)
	if err != nil || len(files) == 0 {
		w.t.Fatal(files, err)
	}
	again := shadow.New(time.Time{})
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			w.t.Fatal(err)
		}
		result, err := again.Replay(in, file, policyOf)
		if err != nil || result.Difference != nil || result.Wrong > 0 || result.Cut != "" {
			w.t.Fatalf("%s: %v, %v, %d wrong, cut %q", file, err, result.Difference, result.Wrong, result.Cut)
		}
		if err := in.Close(); err != nil {
			w.t.Fatal(err)
		}
	}
	if diff := cmp.Diff(live, again.Report()); diff != "" {
		w.t.Errorf("a replay says otherwise (-live +replay):\n%s", diff)
	}
	return live
}

// counts are the numbers of pods, in words.
func counts(s *shadow.Sums) string {
	return fmt.Sprintf("decided %d, bound %d: same %d, different %d, unplaced %d, earlier %d; refused %d", s.Decided, s.Bound, s.Same, s.Different, s.Unplaced, s.Earlier, s.Refused)
}

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Where they bind to our node nothing differs but when; elsewhere each side has its own choice, on the same cluster.
func TestSameAndDifferent(t *testing.T) {
	w := watch(t)
	_, in := w.comes(1, 0)
	d := w.step(cluster.Second, in...)[0]
	w.step(2*cluster.Second, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
	expect(t, "the node", d.Node, 0)

	_, in = w.comes(0, 0)
	d = w.step(cluster.Second, in...)[0]
	expect(t, "the node", d.Node, 0) // which is full by that
	w.step(4*cluster.Second, elsewhere(d, 2)...)

	r := w.report()
	expect(t, "the count", counts(&r.Sums), "decided 2, bound 2: same 1, different 1, unplaced 0, earlier 0; refused 0")
	expect(t, "our latency", r.Sums.Ours.Latency.Max, 0.25)
	expect(t, "their latency", fmt.Sprint(r.Sums.Theirs.Latency.Mean, r.Sums.Theirs.Latency.Max), "3.25 4.25")
	expect(t, "nodes opened", fmt.Sprint(r.Sums.Ours.NodesOpened, r.Sums.Theirs.NodesOpened), "1 2")
	expect(t, "fill", fmt.Sprint(r.Sums.Ours.Fill, r.Sums.Theirs.Fill), "0.875 0.4375") // .75 and 1, .75 and 1/8
	expect(t, "nodes in use", r.Now.InUse, 2)
	text, err := json.Marshal(r.Differences)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "the difference", string(text), `[{"kind":"node","at":"2026-12-01T11:00:08.5Z","job":"shop/web",`+
		`"ours":{"node":"n0","latency_s":0.25,"fill":1},"theirs":{"node":"n2","latency_s":4.25,"opened":true,"fill":0.125}}]`)
}

// Of several that come at once each is looked at as if those after it were not there yet, on either side; and what we have decided is not there for theirs.
func TestBatch(t *testing.T) {
	w := watch(t)
	var in []cluster.Event
	for range 2 {
		_, comes := w.comes(0, 0)
		in = append(in, comes...)
	}
	out := w.step(cluster.Second, in...)
	expect(t, "the nodes", fmt.Sprint(out[0].Node, out[1].Node), "0 0")
	w.step(cluster.Second, append(elsewhere(out[0], 1), elsewhere(out[1], 1)...)...)
	_, in = w.comes(0, 0)
	d := w.step(cluster.Second, in...)[0]
	_, in = w.comes(1, 0)
	e := w.step(cluster.Second, in...)[0]
	expect(t, "the nodes", fmt.Sprint(d.Node, e.Node), "0 0")
	w.step(cluster.Second, elsewhere(d, e.Node)...) // to where they have nobody
	r := w.report()
	expect(t, "nodes opened", fmt.Sprint(r.Sums.Ours.NodesOpened, r.Sums.Theirs.NodesOpened), "2 2")
	expect(t, "fill", fmt.Sprint(r.Sums.Ours.Fill, r.Sums.Theirs.Fill), "0.333333 0.333333") // a quarter, a half and a quarter of n0; of n1, and of n0
}

// Of what they bind before a round, or where we find no place, nothing is compared, and it is counted.
func TestEarlierAndUnplaced(t *testing.T) {
	w := watch(t)
	first, in := w.comes(0, 0)
	w.step(cluster.Second, append(in, cluster.TaskFound{Task: first, Seq: cluster.Seq(first), Node: 1})...) // it waits and is bound in one
	never, in := w.comes(0, 0)
	w.step(cluster.Second, in[0], cluster.TaskFound{Task: never, Seq: cluster.Seq(never), Node: 1}) // it was never seen to wait
	large, in := w.comes(2, 0)
	if out := w.step(cluster.Second, in...); len(out) > 0 {
		t.Fatal(out)
	}
	expect(t, "how many we have wait", w.live.Report().Now.WeWait, 1)
	w.step(cluster.Second, cluster.TaskFound{Task: large, Seq: cluster.Seq(large), Node: 1})
	r := w.report()
	expect(t, "the count", counts(&r.Sums), "decided 0, bound 3: same 0, different 0, unplaced 1, earlier 2; refused 0")
	if r.Sums.Ours.Latency != nil || len(r.Differences) != 3 || r.Differences[0].Kind != shadow.Unplaced || r.Differences[0].Theirs.Latency != 1 {
		t.Errorf("latency %v, differences %+v", r.Sums.Ours.Latency, r.Differences)
	}
}

// A decision that was taken back at once does not count, and the task waits on; one that has stood for a minute does.
func TestTakenBack(t *testing.T) {
	w := watch(t)
	task, in := w.comes(0, 0)
	d := w.step(cluster.Second, in...)[0]
	back := []cluster.Event{cluster.BindRefused{Task: task, Attempt: d.Attempt}, cluster.TaskGated{Task: task, Seq: d.Seq}}
	w.step(cluster.Second, append(back, cluster.TaskUngated{Task: task, Seq: d.Seq})...) // which decides anew
	expect(t, "the count", counts(new(w.live.Sums())), "decided 2, bound 0: same 0, different 0, unplaced 0, earlier 0; refused 1")
	expect(t, "how many they have wait", w.live.Report().Now.TheyWait, 1)

	w.step(shadow.Holds-cluster.Second/4, cluster.BindRefused{Task: task, Attempt: d.Attempt + 1}, cluster.TaskGated{Task: task, Seq: d.Seq})
	w.step(cluster.Minute, cluster.TaskFound{Task: task, Seq: d.Seq, Node: 2})
	r := w.report()
	expect(t, "the count", counts(&r.Sums), "decided 2, bound 1: same 0, different 1, unplaced 0, earlier 0; refused 1")
	expect(t, "latencies", fmt.Sprint(r.Sums.Ours.Latency.Max, r.Sums.Theirs.Latency.Max), "1.5 121.25")
}

// Whom others are to leave for is decided for once, though nobody leaves; whom they have leave is counted.
func TestPreemptions(t *testing.T) {
	w := watch(t)
	var in []cluster.Event
	for n := range cluster.NodeID(3) {
		for range []int{1, 1, 2}[n] {
			task, comes := w.comes(1, 0)
			in = append(in, comes[0], cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Node: n})
		}
	}
	w.step(cluster.Second, in...)
	task, in := w.comes(1, 10)
	out := w.step(cluster.Second, in...)
	if len(out) != 1 || out[0].Kind != sched.Evict {
		t.Fatalf("decided %+v", out)
	}
	w.step(0, cluster.TaskGated{Task: task, Seq: cluster.Seq(task)}, cluster.EvictRefused{Task: out[0].Task, Attempt: out[0].Attempt})
	w.step(cluster.Second, cluster.TaskProtected{Task: 1, Attempt: 1, Until: cluster.Never, Reason: shadow.Preempted})
	w.step(cluster.Second, cluster.TaskLeft{Task: 1, Attempt: 1}, cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Node: 1})
	r := w.report()
	expect(t, "preemptions", fmt.Sprint(r.Sums.Ours.Preemptors, r.Sums.Ours.Victims, r.Sums.Theirs.Victims), "1 1 1")
	expect(t, "compared", r.Sums.Same+r.Sums.Different, 1)
	expect(t, "victims", r.Sums.Ours.Moves, 0)
}

// A new core begins anew with the tasks that wait, and goes on with the sums.
func TestNextCore(t *testing.T) {
	w := watch(t)
	_, in := w.comes(0, 0)
	w.step(cluster.Second, in...)
	if err := w.to.Rotate(header()); err != nil {
		t.Fatal(err)
	}
	w.now += cluster.Second
	w.begin()
	_, in = w.comes(0, 0)
	d := w.step(cluster.Second, in...)[0]
	w.step(cluster.Second, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
	r := w.report()
	expect(t, "the count", counts(&r.Sums), "decided 2, bound 1: same 1, different 0, unplaced 0, earlier 0; refused 0")
	if day := w.live.Cut(w.now); day.Sums.Bound != 1 || w.live.Cut(w.now).Sums.Bound != 0 || w.live.Sums().Bound != 1 {
		t.Errorf("the day is %+v", day)
	}
}

// A promise that they break by binding late is kept had the task begun when we decided; also while they have not bound it yet, and after the world has taken the decision back.
func TestPromises(t *testing.T) {
	w := watch(t)
	gold := func(shape cluster.ShapeID) (cluster.TaskID, []cluster.Event) {
		task, in := w.comes(shape, 0)
		submitted := in[0].(cluster.TaskSubmitted)
		submitted.Class = 1
		in[0] = submitted
		return task, in
	}
	broken := func(what string, tasks, ours, theirs int64) {
		t.Helper()
		p := w.live.Report().Now.Promises
		if len(p) != 1 || p[0] != (shadow.Promise{Class: "gold", Target: 0.9, Tasks: tasks, BrokenOurs: ours, BrokenTheirs: theirs}) {
			t.Errorf("%s: %+v, want %d of gold, and %d and %d broken", what, p, tasks, ours, theirs)
		}
	}
	_, in := gold(0)
	d := w.step(cluster.Second, in...)[0]
	w.step(10 * cluster.Second)
	broken("decided", 1, 0, 1)
	w.step(0, elsewhere(d, 1)...)
	w.step(10 * cluster.Second)
	broken("bound late", 1, 0, 1)
	_, in = gold(2) // which fits nowhere
	w.step(cluster.Second, in...)
	w.step(10 * cluster.Second)
	broken("never decided", 2, 1, 2)
	_, in = gold(0)
	d = w.step(cluster.Second, in...)[0]
	w.step(shadow.Holds, cluster.BindRefused{Task: d.Task, Attempt: d.Attempt}, cluster.TaskGated{Task: d.Task, Seq: d.Seq})
	w.step(cluster.Second)
	broken("taken back", 3, 1, 3)
	w.report()
}

// Whoever breaks a rule is counted; of theirs, unless a decision of ours that is not bound yet has a part in the rule.
func TestRulesViolated(t *testing.T) {
	for _, hard := range []bool{true, false} {
		t.Run(fmt.Sprint("hard ", hard), func(t *testing.T) {
			w := watch(t)
			db := []string{"db"}
			apart := cluster.Constraint{Name: "apart", Hard: hard, Any: [][]cluster.Bound{{{Subject: db, Target: db, Max: 0, Group: cluster.EachNode}}}}
			if !hard {
				apart.Weight = cluster.DefaultWeight
			}
			w.step(0, cluster.ConstraintDefined{Spec: apart}, cluster.ShapeDefined{Shape: 9, Spec: cluster.Shape{Demand: cluster.Vector{1000}, Tags: db}})
			var decided []sched.Decision
			for range 3 {
				_, in := w.comes(9, 0)
				decided = append(decided, w.step(cluster.Second, in...)...)
			}
			w.step(cluster.Second, elsewhere(decided[0], 1)...)
			w.step(cluster.Second, elsewhere(decided[1], 1)...) // beside the first; the third is ours to come
			w.step(cluster.Second, elsewhere(decided[2], 1)...)
			r := w.report()
			broken := func(s *shadow.Side) int64 {
				if hard {
					return s.HardViolated
				}
				return s.SoftViolated
			}
			expect(t, "compared", r.Sums.Bound-r.Sums.Earlier-r.Sums.Unplaced, 3)
			expect(t, "rules violated", fmt.Sprint(broken(&r.Sums.Ours), broken(&r.Sums.Theirs)), "0 1")
			expect(t, "of the other kind", r.Sums.Theirs.HardViolated+r.Sums.Theirs.SoftViolated, 1)
		})
	}
}

// The latest differences are kept, and no more.
func TestDifferencesAreBounded(t *testing.T) {
	w := watch(t)
	for range shadow.MostDifferences + 5 {
		task, in := w.comes(0, 0)
		w.step(cluster.Second, in[0], cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Node: 1})
	}
	r := w.report()
	if len(r.Differences) != shadow.MostDifferences || !r.Differences[0].At.Equal(r.Until) || !strings.HasPrefix(counts(&r.Sums), "decided 0, bound 261:") {
		t.Errorf("%d differences, the first at %v of %v", len(r.Differences), r.Differences[0].At, r.Until)
	}
}

// What is printed has both sides, and names who differs.
func TestWrite(t *testing.T) {
	w := watch(t)
	_, in := w.comes(1, 0)
	d := w.step(cluster.Second, in...)[0]
	w.step(2*cluster.Second, elsewhere(d, 2)...)
	large, in := w.comes(2, 0)
	w.step(cluster.Second, in...)
	w.step(cluster.Second, cluster.TaskFound{Task: large, Seq: cluster.Seq(large), Node: 1})
	var out strings.Builder
	if err := w.report().Write(&out); err != nil {
		t.Fatal(err)
	}
	want := `shadow of d, from 2026-12-01T11:00:00Z to 2026-12-01T11:00:05Z
2 pods bound: 0 on the same node, 1 on another one, 1 for which we found no place, 0 before we looked

                               ours  theirs
                 latency p50  250ms   2.25s
                 latency p99  250ms   2.25s
            nodes as full as   75 %  37.5 %
                nodes opened      1       1
         hard rules violated      0       0
         soft rules violated      0       0
  pods that leave for others      0       0
              pods that move      0       0
          pods that wait now      0       0

the last differences  ours      theirs
shop/web              no place  n1
shop/web              n0        n2
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}
