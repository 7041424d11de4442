package queue

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// TestQoSSlack is the worked example of the time to violation: after 200 s of 200 s of
// running, "bronze Q=200, silver 22.22, gold 0".
func TestQoSSlack(t *testing.T) {
	for _, c := range []struct {
		promised cluster.Share
		want     cluster.Time
	}{{cluster.Whole / 2, 200 * cluster.Second}, {cluster.Whole * 9 / 10, 22_222_222}, {cluster.Whole, 0}} {
		class := cluster.Class{Availability: c.promised}
		if got := class.Slack(cluster.Account{Running: 200 * cluster.Second}); got != c.want {
			t.Errorf("at a promise of %v the slack is %v, want %v", c.promised, got, c.want)
		}
	}
}

// oneSlot is a node with room for one task, and rounds only when a task comes.
func oneSlot(t *testing.T, classes ...cluster.Class) *lab {
	t.Helper()
	l := newLabOf(t, policyNamed(t, "qos"), classes, sched.Trigger{IgnoreOutcomes: true})
	l.node(1, 1)
	return l
}

// passAt runs a pass at that moment, and lets what comes of it happen at once.
func (l *lab) passAt(at cluster.Time) {
	l.now = at
	l.settle()
	r := l.core.Begin(0, l.now)
	r.Run(0)
	l.answer(l.core.Finish(r, l.now, nil))
	l.settle()
}

// settle lets happen what is to happen now.
func (l *lab) settle() {
	for len(l.pending) > 0 {
		l.step()
	}
}

// TestQoSOverheadLimit evicts a task whose start took long only while the share of
// its time that went into starting again is below the budget: "o/(t−a) < 1−σ".
func TestQoSOverheadLimit(t *testing.T) {
	const second = cluster.Second
	for _, c := range []struct {
		budget cluster.Share
		leaves bool
	}{{cluster.Whole / 10, false}, {cluster.Whole * 30 / 230, false}, {cluster.Whole*30/230 + 1, true}, {cluster.Whole / 2, true}} {
		l := oneSlot(t, cluster.Class{Name: "bronze", Availability: cluster.Whole / 2, Budget: c.budget})
		a := l.task(work{user: "a", cpu: 1, mem: 1})
		l.settle()
		l.now = 100 * second
		b := l.task(work{user: "b", cpu: 1, mem: 1})
		l.settle() // a has 100 s of slack, b none
		l.wantOn(b, 0)
		l.now = 160 * second // a has 40 s, b 60 s
		r := l.core.Begin(0, l.now)
		r.Run(0)
		l.answer(l.core.Finish(r, l.now, nil))
		l.step() // b leaves
		l.now = 190 * second
		l.settle() // a begins 30 s later
		l.wantOn(a, 0)
		l.passAt(230 * second) // a has 50 s, b is critical
		if left := l.s.Task(a).Node != 0; left != c.leaves {
			t.Errorf("with a budget of %v it is %v that a leaves", c.budget, left)
		}
	}
}

// TestQoSRelation evicts by the order of the queue: "critical bronze does preempt
// non-critical silver", of the critical the more important class goes first, and a
// gold task that runs is never evicted.
func TestQoSRelation(t *testing.T) {
	const second = cluster.Second
	classes := []cluster.Class{
		{Name: "gold", Importance: 0, Availability: cluster.Whole},
		{Name: "silver", Importance: 1, Availability: cluster.Whole * 9 / 10, Budget: cluster.Whole / 10},
		{Name: "bronze", Importance: 2, Availability: cluster.Whole / 2, Budget: cluster.Whole / 2},
	}
	l := oneSlot(t, classes...)
	silver := l.task(work{user: "silver", cpu: 1, mem: 1, class: 1})
	l.settle()
	l.now = 90 * second // silver has 10 s
	bronze := l.task(work{user: "bronze", cpu: 1, mem: 1, class: 2})
	l.settle()
	l.wantOn(bronze, 0) // with no slack it is not critical, and has less than silver
	l.passAt(101 * second)
	l.wantOn(silver, 0) // critical by now, and bronze is not
	gold := l.task(work{user: "gold", cpu: 1, mem: 1, class: 0})
	l.now += second
	l.settle()
	l.wantOn(gold, cluster.NoNode) // not critical on arrival; silver is
	l.passAt(l.now + second)
	l.wantOn(gold, 0) // critical, and more important than critical silver
	l.passAt(1000 * second)
	l.wantOn(gold, 0) // though all others are critical, too
}

// TestQoSFreed places a task where an eviction of the same pass leaves room, if that node scores
// better than one that has had room all along: "F0 = hosts satisfying constraints with free ≥ d_j
// in every resource", and who was preempted takes nothing of its host.
func TestQoSFreed(t *testing.T) {
	for _, policy := range []sched.Policy{policyNamed(t, "qos"), &plainQoS{seed: 1, ties: book.Lowest}} {
		l := newLabOf(t, policy, []cluster.Class{
			{Name: "gold", Importance: 1, Availability: cluster.Whole, Margin: cluster.Second},
			{Name: "bronze", Importance: 2, Availability: cluster.Whole / 2, Budget: cluster.Whole / 2},
		}, sched.Trigger{})
		l.node(10, 10)
		l.node(10, 10)
		bronze := l.task(work{user: "bronze", cpu: 8, mem: 8, class: 1})
		stays := l.task(work{user: "stays", cpu: 7, mem: 7})
		l.settle()
		l.wantOn(bronze, 1)
		l.wantOn(stays, 0)
		l.now = cluster.Minute
		evicts := l.task(work{user: "evicts", cpu: 4, mem: 4})
		later := l.task(work{user: "later", cpu: 1, mem: 1})
		l.step()
		l.wantOn(evicts, 1)
		l.wantOn(later, 1) // of 10 it takes the fifth there, and would take the eighth on the other
	}
}
