package cluster_test

import (
	"errors"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

func apply(t *testing.T, s *cluster.State, at cluster.Time, events ...cluster.Event) {
	t.Helper()
	for _, e := range events {
		if err := s.Apply(at*cluster.Second, e); err != nil {
			t.Fatalf("%T%+v: %v", e, e, err)
		}
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

func place(t *testing.T, s *cluster.State, task cluster.TaskID, n cluster.NodeID) {
	t.Helper()
	if r := s.Place(task, n, 0); r.Refused() {
		t.Fatalf("place task row %d on node row %d: %s", task, n, r.Code)
	}
}

func evict(t *testing.T, s *cluster.State, task cluster.TaskID) {
	t.Helper()
	if r := s.Evict(task); r.Refused() {
		t.Fatalf("evict task row %d: %s", task, r.Code)
	}
}

func picture(t *testing.T, s *cluster.State, want string) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if got := s.Picture(); got != want {
		t.Fatalf("the state is\n%s, want\n%s", got, want)
	}
}

// newCluster has the nodes n1 and n2 of 4 cpu and 8 memory, and three waiting
// tasks, rows and seqs 1 to 3, of the job a; each asks for 2 cpu and 1 memory.
func newCluster(t *testing.T) *cluster.State {
	t.Helper()
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil)
	capacity := cluster.Vector{4, 8}
	apply(t, s, 0,
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n1", Capacity: capacity}},
		cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "n2", Capacity: capacity}},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{2, 1}}},
		cluster.JobSubmitted{Job: 0, Name: "a", User: "u"},
		cluster.TaskSubmitted{Task: 1, Seq: 1},
		cluster.TaskSubmitted{Task: 2, Seq: 2},
		cluster.TaskSubmitted{Task: 3, Seq: 3},
	)
	return s
}

// TestShrinkingNode: a node may shrink below what runs on it. That is a fact
// to be shown, not an error; nothing more is placed there.
func TestShrinkingNode(t *testing.T) {
	s := newCluster(t)
	place(t, s, 1, 0)
	place(t, s, 2, 0)
	apply(t, s, 1, cluster.NodeChanged{Node: 0, Spec: cluster.NodeSpec{Name: "n1", Capacity: cluster.Vector{3, 8}}})
	picture(t, s, "n1  cpu 4/3! memory 2/8  a#1:starting a#2:starting\nn2  cpu 0/4 memory 0/8 \nwaiting: a#3\n")
	if !s.Overfull(0) || s.Overfull(1) {
		t.Errorf("overfull: n1 %v, n2 %v; want n1 alone", s.Overfull(0), s.Overfull(1))
	}
	want := cluster.Refusal{Code: cluster.NoRoom, Kind: 0, Need: 2, Have: -1}
	if r := s.Place(3, 0, 0); r != want {
		t.Errorf("place on the overfull node: %+v, want %+v", r, want)
	}
	evict(t, s, 1)
	if r := s.Place(3, 0, 0); r.Have != 1 {
		t.Errorf("place beside what leaves the overfull node: %+v, want 1 left", r)
	}
	apply(t, s, 2, cluster.TaskLeft{Task: 1, Attempt: 1})
	if s.Overfull(0) {
		t.Error("still overfull after one of two tasks left")
	}
}

// TestOrphan: a run that was given up and begins after all takes room from the
// moment it is known until it is gone, and nobody else's room.
func TestOrphan(t *testing.T) {
	s := newCluster(t)
	place(t, s, 1, 0)
	apply(t, s, 1, cluster.BindRefused{Task: 1, Attempt: 1})
	place(t, s, 1, 1)
	err := s.Apply(2*cluster.Second, cluster.TaskStarted{Task: 1, Attempt: 1, Node: 0})
	if !errors.Is(err, cluster.ErrOrphan) {
		t.Fatalf("the late run is answered with %v, want ErrOrphan", err)
	}
	picture(t, s, "n1  cpu 2/4 memory 1/8 \nn2  cpu 2/4 memory 1/8  a#1:starting\nwaiting: a#2 a#3\n")
	if got := s.LeavingDemand(0)[0]; got != 2 {
		t.Errorf("%d cpu leave n1, want the orphan's 2", got)
	}
	if err := s.Apply(2*cluster.Second, cluster.TaskStarted{Task: 1, Attempt: 1, Node: 0}); !errors.Is(err, cluster.ErrStale) {
		t.Errorf("the late run, reported twice, is answered with %v, want ErrStale", err)
	}
	// Room for two; the orphan holds one's, so that the second is reserved.
	place(t, s, 2, 0)
	place(t, s, 3, 0)
	picture(t, s, "n1  cpu 6/4! memory 3/8  a#2:starting a#3:reserved\nn2  cpu 2/4 memory 1/8  a#1:starting\n")
	if _, _, ok := s.Promote(0, cluster.NoJob); ok {
		t.Error("promoted into the orphan's room")
	}
	apply(t, s, 3, cluster.TaskEnded{Task: 1, Seq: 1}) // the orphan outlives its task
	picture(t, s, "n1  cpu 6/4! memory 3/8  a#2:starting a#3:reserved\nn2  cpu 0/4 memory 0/8 \n")
	apply(t, s, 4, cluster.TaskLeft{Task: 1, Attempt: 1})
	if task, phase, ok := s.Promote(0, cluster.NoJob); !ok || task != 3 || phase != cluster.Starting {
		t.Errorf("promoted task row %d to %s, %v; want 3 to starting", task, phase, ok)
	}
	picture(t, s, "n1  cpu 4/4 memory 2/8  a#2:starting a#3:starting\nn2  cpu 0/4 memory 0/8 \n")
}

// TestOrphanOfLostNode: an orphan dies with its node.
func TestOrphanOfLostNode(t *testing.T) {
	s := newCluster(t)
	place(t, s, 1, 0)
	apply(t, s, 1, cluster.BindRefused{Task: 1, Attempt: 1})
	place(t, s, 1, 1)
	if err := s.Apply(0, cluster.TaskStarted{Task: 1, Attempt: 1, Node: 0}); !errors.Is(err, cluster.ErrOrphan) {
		t.Fatal(err)
	}
	apply(t, s, 2, cluster.NodeLost{Node: 0})
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	apply(t, s, 2, cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n3", Capacity: cluster.Vector{2, 2}}})
	picture(t, s, "n3  cpu 0/2 memory 0/2 \nn2  cpu 2/4 memory 1/8  a#1:starting\nwaiting: a#2 a#3\n")
}

// TestNotBesideItself: a task that leaves a node cannot take it as its next.
// It would stand on the node twice (found by TestHistories, seed 6).
func TestNotBesideItself(t *testing.T) {
	s := newCluster(t)
	place(t, s, 1, 0)
	place(t, s, 2, 0)
	evict(t, s, 1)
	if r := s.Place(1, 0, 0); r.Code != cluster.NotApart {
		t.Errorf("placed beside itself: %s", r.Code)
	}
	place(t, s, 1, 1)
	picture(t, s, "n1  cpu 4/4 memory 2/8  a#1:leaving>n2 a#2:starting\nn2  cpu 2/4 memory 1/8  a#1:coming\nwaiting: a#3\n")
}

// TestMirrorSeesOrphansAndShapes: a copy that follows by CopyRow knows the
// orphans, and how many tasks each shape has (found by TestHistories, seed 0).
func TestMirrorSeesOrphansAndShapes(t *testing.T) {
	s := newCluster(t)
	mirror := cluster.NewState(s.Kinds(), s.Classes())
	place(t, s, 1, 0)
	apply(t, s, 1, cluster.BindRefused{Task: 1, Attempt: 1})
	place(t, s, 1, 1)
	mirror.CopyAll(&s.View)
	read := s.LogEnd()
	_ = s.Apply(0, cluster.TaskStarted{Task: 1, Attempt: 1, Node: 0})
	apply(t, s, 2, cluster.TaskEnded{Task: 3, Seq: 3})
	touches, _ := s.ChangesSince(read)
	mirror.CopyRows(&s.View, touches)
	picture(t, mirror, s.Picture())
	apply(t, s, 3, cluster.TaskLeft{Task: 1, Attempt: 1})
	touches, _ = s.ChangesSince(read)
	mirror.CopyRows(&s.View, touches)
	picture(t, mirror, s.Picture())
}

// TestAccount follows one task through its life.
func TestAccount(t *testing.T) {
	s := newCluster(t)
	at := func(moment cluster.Time, want cluster.Account) {
		t.Helper()
		s.Advance(moment * cluster.Second)
		task := s.Task(1)
		got := task.Account.At(s.Now(), task.Phase)
		got.Since = 0
		want.Waiting *= cluster.Second
		want.Overhead *= cluster.Second
		want.Restarting *= cluster.Second
		want.Running *= cluster.Second
		if want.FirstRun != cluster.Never {
			want.FirstRun *= cluster.Second
		}
		if got != want {
			t.Errorf("at %ds the account is %+v, want %+v", moment, got, want)
		}
	}
	at(3, cluster.Account{Waiting: 3, FirstRun: cluster.Never})
	place(t, s, 1, 0)
	at(5, cluster.Account{Waiting: 3, Overhead: 2, FirstRun: cluster.Never})
	apply(t, s, 6, cluster.TaskStarted{Task: 1, Attempt: 1, Node: 0})
	at(10, cluster.Account{Waiting: 3, Overhead: 3, Running: 4, FirstRun: 6})
	evict(t, s, 1)
	place(t, s, 1, 1) // and moves
	at(11, cluster.Account{Waiting: 3, Overhead: 4, Running: 4, FirstRun: 6, Restarting: 1})
	apply(t, s, 12, cluster.TaskLeft{Task: 1, Attempt: 1})
	at(14, cluster.Account{Waiting: 5, Overhead: 5, Running: 4, FirstRun: 6, Restarting: 2}) // reserved is waiting
	if _, phase, ok := s.Promote(1, cluster.NoJob); !ok || phase != cluster.Starting {
		t.Fatal("not promoted")
	}
	apply(t, s, 15, cluster.BindRefused{Task: 1, Attempt: 2})
	at(16, cluster.Account{Waiting: 6, Overhead: 6, Running: 4, FirstRun: 6, Restarting: 3})
	place(t, s, 1, 0)
	apply(t, s, 16, cluster.TaskStarted{Task: 1, Attempt: 3, Node: 0})
	at(20, cluster.Account{Waiting: 6, Overhead: 6, Running: 8, FirstRun: 6, Restarting: 3}) // the first run stays
	apply(t, s, 19, cluster.NodeLost{Node: 0})                                               // time does not go backwards
	at(22, cluster.Account{Waiting: 8, Overhead: 6, Running: 8, FirstRun: 6, Restarting: 3})
}

// TestGatedTimeIsNobodys: the account starts when the task may be placed.
func TestGatedTimeIsNobodys(t *testing.T) {
	s := newCluster(t)
	apply(t, s, 1, cluster.TaskSubmitted{Task: 9, Seq: 9, Gated: true})
	if r := s.Place(9, 0, 0); r.Code != cluster.NotWaiting {
		t.Errorf("place a gated task: %s", r.Code)
	}
	apply(t, s, 5, cluster.TaskUngated{Task: 9, Seq: 9})
	s.Advance(7 * cluster.Second)
	task := s.Task(9)
	if got := task.Account.At(s.Now(), task.Phase); got.Waiting != 2*cluster.Second || got.Submitted != cluster.Second {
		t.Errorf("the account is %+v, want 2s of waiting since 1s", got)
	}
	apply(t, s, 7, cluster.TaskGated{Task: 9, Seq: 9})
	apply(t, s, 20, cluster.TaskUngated{Task: 9, Seq: 9, Waited: 100 * cluster.Second})
	if got := s.Task(9).Account; got.Age() != 19*cluster.Second {
		t.Errorf("the account is %+v, want all of the 19s since it was submitted, and no more", got)
	}
}

// TestRows: rows come back in the order of giving, newest first, and never
// twice.
func TestRows(t *testing.T) {
	var rows cluster.Rows
	a, b := rows.Take(), rows.Take()
	rows.Give(a)
	rows.Give(b)
	if x, y, z := rows.Take(), rows.Take(), rows.Take(); x != b || y != a || z != 2 {
		t.Errorf("took %d %d %d, want %d %d 2", x, y, z, b, a)
	}
}

// TestTouchOfNoRow: touching what is not there notes nothing that a copy could
// stumble over (found by TestHistories, seed 0).
func TestTouchOfNoRow(t *testing.T) {
	s := newCluster(t)
	mirror := cluster.NewState(s.Kinds(), s.Classes())
	mirror.CopyAll(&s.View)
	read := s.LogEnd()
	s.Touch(77, 77)
	s.Touch(1, 1)
	touches, _ := s.ChangesSince(read)
	if len(touches) != 2 {
		t.Errorf("touched %v, want task row 1 and node row 1", touches)
	}
	mirror.CopyRows(&s.View, touches)
}

// TestLogReach: the log says when it does not reach back far enough.
func TestLogReach(t *testing.T) {
	s := newCluster(t)
	end := s.LogEnd()
	s.TrimLog(end - 2)
	if touches, ok := s.ChangesSince(end - 2); !ok || len(touches) != 2 {
		t.Errorf("since what is left: %v, %v; want 2 changes", touches, ok)
	}
	if _, ok := s.ChangesSince(end - 3); ok {
		t.Error("since before what is left: the log claims to reach so far")
	}
	s.TrimLog(0) // no way back
	s.TrimLog(end + 100)
	if touches, ok := s.ChangesSince(end); !ok || len(touches) != 0 || s.LogEnd() != end {
		t.Errorf("after trimming all: %v, %v, end %d; want none and %d", touches, ok, s.LogEnd(), end)
	}
}

// TestGrownReservationGivesWay: of two that are reserved, the one that grew
// waits again, although the other was there later.
func TestGrownReservationGivesWay(t *testing.T) {
	s := newCluster(t)
	apply(t, s, 0, cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{4, 1}}},
		cluster.ShapeDefined{Shape: 2, Spec: cluster.Shape{Demand: cluster.Vector{3, 1}}},
		cluster.TaskSubmitted{Task: 4, Seq: 4, Shape: 1})
	place(t, s, 4, 0)
	apply(t, s, 1, cluster.TaskStarted{Task: 4, Attempt: 1, Node: 0})
	evict(t, s, 4)
	place(t, s, 1, 0)
	place(t, s, 2, 0)
	apply(t, s, 2, cluster.TaskReshaped{Task: 2, Seq: 2, Shape: 2, Priority: 7})
	if task, _, moved := s.Promote(0, cluster.NoJob); moved {
		t.Errorf("task row %d lost or got its place", task)
	}
	picture(t, s, "n1  cpu 6/4! memory 2/8  a#4:leaving a#1:reserved\nn2  cpu 0/4 memory 0/8 \nwaiting: a#2 a#3\n")
	if s.Task(2).Priority != 7 {
		t.Errorf("priority %d, want 7", s.Task(2).Priority)
	}
}

// TestReservationIsNoRun: the world counts the runs that it was told of. A reservation
// that is given up, in whichever way, is none of them, so that what the world finds next
// has the number that both count, and its end is not taken for an older run's.
func TestReservationIsNoRun(t *testing.T) {
	for name, giveUp := range map[string]func(*cluster.State){
		"gated":     func(s *cluster.State) { apply(t, s, 2, cluster.TaskGated{Task: 3, Seq: 3}) },
		"evicted":   func(s *cluster.State) { evict(t, s, 3) },
		"node lost": func(s *cluster.State) { apply(t, s, 2, cluster.NodeLost{Node: 0}) },
	} {
		s := newCluster(t)
		for task := range cluster.TaskID(2) {
			place(t, s, task+1, 0)
			apply(t, s, 1, cluster.TaskStarted{Task: task + 1, Attempt: 1, Node: 0})
		}
		evict(t, s, 1)
		place(t, s, 3, 0)
		if s.Task(3).Phase != cluster.Reserved {
			t.Fatalf("%s: the task is %s, want it reserved", name, s.Task(3).Phase)
		}
		giveUp(s)
		apply(t, s, 3, cluster.TaskFound{Task: 3, Seq: 3, Node: 1}, cluster.TaskLeft{Task: 3, Attempt: 1}, cluster.TaskGated{Task: 3, Seq: 3})
		if got := s.Task(3); got.Phase != cluster.Gated || got.Attempt != 1 {
			t.Errorf("%s: after its first run it is %s with attempt %d", name, got.Phase, got.Attempt)
		}
	}
}

// TestReservationOfShrunkKind: a node that shrinks keeps its promises as far as what stays of it
// reaches, in each kind, the last unit of one too.
func TestReservationOfShrunkKind(t *testing.T) {
	for _, tc := range []struct {
		memory int64
		phase  cluster.Phase
	}{{2, cluster.Reserved}, {1, cluster.Waiting}} {
		s := newCluster(t)
		for task := range cluster.TaskID(2) {
			place(t, s, task+1, 0)
			apply(t, s, 1, cluster.TaskStarted{Task: task + 1, Attempt: 1, Node: 0})
		}
		evict(t, s, 1)
		place(t, s, 3, 0) // for which room there is once the first has left
		apply(t, s, 2, cluster.NodeChanged{Node: 0, Spec: cluster.NodeSpec{Name: "n1", Capacity: cluster.Vector{4, tc.memory}}})
		s.Promote(0, cluster.NoJob)
		if got := s.Task(3).Phase; got != tc.phase {
			t.Errorf("with %d memory the reserved task is %s, want %s", tc.memory, got, tc.phase)
		}
	}
}
