package keeper_test

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/keeper"
)

const (
	minute = cluster.Minute
	wake   = 3 * minute
)

// park is a cluster of nodes of 4 cpu in the hands of a keeper; its orders are carried out at once, and waking takes its time.
type park struct {
	t        testing.TB
	s        *cluster.State
	k        *keeper.Keeper
	standing []keeper.Standing
	watts    []int64
	only     []cluster.NodeID // of the nodes, those that tasks of shape 1 may use
	now      cluster.Time
}

func newPark(tb testing.TB, rules keeper.Rules, watts ...int64) *park {
	tb.Helper()
	p := &park{t: tb, s: cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil), standing: make([]keeper.Standing, len(watts)), watts: watts}
	rules.Wake = wake
	p.k = keeper.New(rules, p)
	for n := range watts {
		p.apply(cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Capacity: cluster.Vector{4}}})
	}
	for shape := range cluster.ShapeID(4) { // of so many cpu, one more than its number
		p.apply(cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: cluster.Vector{int64(shape) + 1}}})
	}
	return p
}

func (p *park) Standing(n cluster.NodeID) keeper.Standing                { return p.standing[n] }
func (p *park) Wakes(n cluster.NodeID) (watts int64, takes cluster.Time) { return p.watts[n], wake }
func (p *park) Admits(shape cluster.ShapeID, n cluster.NodeID) bool {
	return shape != 1 || p.only == nil || slices.Contains(p.only, n)
}

func (p *park) apply(e cluster.Event) {
	p.t.Helper()
	if err := p.s.Apply(p.now, e); err != nil {
		p.t.Fatal(err)
	}
}

// comes has a task come, of a job of its own.
func (p *park) comes(t cluster.TaskID, shape cluster.ShapeID) {
	p.t.Helper()
	p.apply(cluster.JobSubmitted{Job: cluster.JobID(t)})
	p.apply(cluster.TaskSubmitted{Task: t, Seq: cluster.Seq(t) + 1, Job: cluster.JobID(t), Shape: shape})
}

// after asks the keeper when so much time has gone by, and wants these to be switched off, and these to be woken.
func (p *park) after(time cluster.Time, off, wake []cluster.NodeID) keeper.Orders {
	p.t.Helper()
	p.now += time
	p.s.Advance(p.now)
	o := p.k.Decide(&p.s.View, p.now)
	if !slices.Equal(o.Off, off) || !slices.Equal(o.Wake, wake) {
		p.t.Errorf("after %v off %v, wake %v; want off %v, wake %v", p.now, o.Off, o.Wake, off, wake)
	}
	for _, e := range o.Coming {
		if cluster.RoomComes(&p.s.View, e.Shape) == e.Coming {
			p.t.Errorf("after %v it says again of shape %d that room is coming: %v", p.now, e.Shape, e.Coming)
		}
		p.apply(e)
	}
	for _, n := range o.Off {
		p.standing[n] = keeper.Off
	}
	for _, n := range o.Wake {
		p.standing[n] = keeper.Waking
	}
	return o
}

// on says that nodes are on.
func (p *park) on(nodes ...cluster.NodeID) {
	for _, n := range nodes {
		p.standing[n] = keeper.On
	}
}

type nodes = []cluster.NodeID

// TestKeep: the first nodes with nothing on them stay on, and it says when it is to be asked again.
func TestKeep(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: 10 * minute, Keep: 2}, 1, 1, 1, 1)
	p.comes(0, 0)
	p.apply(cluster.TaskFound{Task: 0, Seq: 1, Node: 1})
	if o := p.after(0, nil, nil); o.Idle != 10*minute || o.Waits != cluster.Never {
		t.Errorf("%+v", o)
	}
	p.after(10*minute, nodes{3}, nil) // 0 and 2 stay
	p.apply(cluster.TaskEnded{Task: 0, Seq: 1})
	p.after(0, nodes{2}, nil) // 0 and 1 stay
	if o := p.after(minute, nil, nil); o.Idle != cluster.Never {
		t.Errorf("%+v", o)
	}
}

// TestWakesAsFewAsHold: two share a node, the third has room on the one that is on; the node that draws less comes first.
func TestWakesAsFewAsHold(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, 9, 9, 8, 7)
	p.comes(0, 0)
	p.apply(cluster.TaskFound{Task: 0, Seq: 1, Node: 1})
	p.after(0, nil, nil)
	p.after(minute, nodes{0, 2, 3}, nil)
	p.comes(1, 3)
	p.comes(2, 2)
	p.comes(3, 1)
	p.comes(4, 0)
	p.after(0, nil, nodes{2, 3}) // for 2 and 4, and for 1; 3 has room on node 1
	p.after(minute, nil, nil)
	p.comes(5, 1) // as 3 has taken it, there is none left
	p.after(0, nil, nodes{0})
}

// TestWakesWhatWouldTakeThem: a node is woken that the task may use.
func TestWakesWhatWouldTakeThem(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, 1, 1, 1)
	p.only = nodes{2}
	p.after(0, nil, nil)
	p.after(minute, nodes{0, 1, 2}, nil)
	p.comes(1, 1)
	p.after(0, nil, nodes{2})
	p.standing[2] = keeper.Off // somebody else has switched it off
	p.after(0, nil, nodes{2})
}

// TestWakesANodeForEach: tasks of a job of which a node may hold one have a node each, though all would have room on one.
func TestWakesANodeForEach(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, 1, 1, 1)
	p.after(0, nil, nil)
	p.after(minute, nodes{0, 1, 2}, nil)
	p.apply(cluster.ShapeDefined{Shape: 4, Spec: cluster.Shape{Demand: cluster.Vector{1}, PerNode: 1}})
	p.apply(cluster.JobSubmitted{Job: 0})
	for task := range cluster.TaskID(2) {
		p.apply(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task) + 1, Shape: 4})
	}
	p.after(0, nil, nodes{0, 1})
	p.on(0, 1)
	if o := p.after(minute, nil, nil); o.Waits != p.now-minute+wake+wake {
		t.Errorf("%+v", o)
	}
}

// coming are the shapes for which room is coming.
func (p *park) coming(shapes ...cluster.ShapeID) {
	p.t.Helper()
	for shape := range cluster.ShapeID(p.s.ShapeRows()) {
		if is := cluster.RoomComes(&p.s.View, shape); is != slices.Contains(shapes, shape) {
			p.t.Errorf("after %v room is coming for shape %d: %v", p.now, shape, is)
		}
	}
}

// TestRoomComesForWhomNodesAreWoken: as long as what is off or waking has room for all who wait with a shape, and none of them has waited for twice as long as is usual.
func TestRoomComesForWhomNodesAreWoken(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, 1, 1)
	p.standing[0], p.standing[1] = keeper.Off, keeper.Off
	p.comes(0, 3)
	p.after(0, nil, nodes{0})
	p.coming(3)
	p.comes(1, 3)
	p.comes(2, 1)
	p.after(minute, nil, nodes{1}) // for 1, which fills it: none is left for 2
	p.coming(3)
	p.comes(3, 3)
	p.after(0, nil, nil)
	p.coming() // as there is no room for all of the shape
	p.apply(cluster.TaskEnded{Task: 3, Seq: 4})
	p.after(0, nil, nil)
	p.coming(3)
	p.on(0)
	p.apply(cluster.TaskFound{Task: 0, Seq: 1, Node: 0})
	p.after(wake-minute, nil, nil)
	p.coming(3) // 1 waits yet
	p.on(1)
	p.apply(cluster.TaskFound{Task: 1, Seq: 2, Node: 1})
	p.after(minute, nil, nil)
	p.coming()
}

// TestRoomComesByTheOrderOfShapes: whoever came first, as what is said is compared with what was.
func TestRoomComesByTheOrderOfShapes(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, 1, 1)
	p.standing[0], p.standing[1] = keeper.Off, keeper.Off
	p.comes(0, 3)
	p.comes(1, 1)
	p.after(0, nil, nodes{0, 1})
	p.coming(3, 1)
	p.after(1, nil, nil)
	p.coming(3, 1)
}

// TestRoomDoesNotComeForEver: who waits for twice as long as is usual, as a constraint keeps him off, say, does so without regard for others then; and it says when to ask.
func TestRoomDoesNotComeForEver(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute, Keep: 1}, make([]int64, 9)...)
	p.after(0, nil, nil)
	p.after(minute, nodes{1, 2, 3, 4, 5, 6, 7, 8}, nil)
	p.comes(0, 0)
	p.after(0, nil, nil)
	p.coming(0)
	p.after(wake, nil, nodes{1}) // as room was of no use to it
	p.coming(0)
	if o := p.after(wake-1, nil, nil); o.Waits != p.now+1 {
		t.Errorf("%+v", o)
	}
	p.coming(0)
	p.on(1)
	p.after(1, nil, nil)
	p.coming()
	p.apply(cluster.TaskEnded{Task: 0, Seq: 1})
	p.comes(1, 0) // for it there is room on node 0, and others are off
	p.after(0, nil, nil)
	p.coming(0)
	p.apply(cluster.TaskEnded{Task: 1, Seq: 2})
	p.after(0, nil, nil)
	p.coming()
}

// TestWakesANodeForEachShape: of one job a node may hold one task, of whatever shape these are.
func TestWakesANodeForEachShape(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, 1, 1, 1)
	p.after(0, nil, nil)
	p.after(minute, nodes{0, 1, 2}, nil)
	p.apply(cluster.JobSubmitted{Job: 0})
	for task := range cluster.TaskID(2) {
		shape := cluster.ShapeID(task) + 4
		p.apply(cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: cluster.Vector{int64(task) + 1}, PerNode: 1}})
		p.apply(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task) + 1, Shape: shape})
	}
	p.after(0, nil, nodes{0, 1})
}

// TestWhoLeavesTheMiddleWaitsNoMore: of three who wait one in the middle ends, and nodes are woken for the two that are left.
func TestWhoLeavesTheMiddleWaitsNoMore(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, 1, 1, 1)
	p.after(0, nil, nil)
	p.after(minute, nodes{0, 1, 2}, nil)
	for task := range cluster.TaskID(3) {
		p.comes(task, 3)
	}
	p.after(0, nil, nodes{0, 1, 2})
	p.apply(cluster.TaskEnded{Task: 1, Seq: 2})
	for n := range p.standing {
		p.standing[n] = keeper.Off // somebody else has switched them off
	}
	p.after(0, nil, nodes{0, 1})
}

// TestWhoIsOnlyShortOfOthersWakesNobody: a gang of which too few wait cannot be placed however many nodes are on, and keeps none on.
func TestWhoIsOnlyShortOfOthersWakesNobody(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, 1, 1)
	p.apply(cluster.JobSubmitted{Job: 0, Gang: 2})
	p.apply(cluster.TaskSubmitted{Task: 0, Seq: 1, Shape: 3})
	p.after(0, nil, nil)
	p.after(minute, nodes{0, 1}, nil)
	p.apply(cluster.TaskSubmitted{Task: 1, Seq: 2, Shape: 3})
	p.after(0, nil, nodes{0, 1})
}

// TestNobodyWaitsForEver: a task that finds no place where there is room has nodes woken for it, one, two, four, until all are on; and those are not switched off.
func TestNobodyWaitsForEver(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute, Keep: 1}, make([]int64, 9)...)
	p.after(0, nil, nil)
	p.after(minute, nodes{1, 2, 3, 4, 5, 6, 7, 8}, nil)
	p.comes(0, 0)
	if o := p.after(0, nil, nil); o.Waits != p.now+wake { // there is room on node 0
		t.Errorf("%+v", o)
	}
	for _, woken := range []nodes{{1}, {2, 3}, {4, 5, 6, 7}, {8}} {
		p.after(wake, nil, woken)
		p.on(woken...)
		p.after(wake, nil, nil) // they are just on
	}
	p.after(cluster.Hour, nil, nil)
	p.apply(cluster.TaskEnded{Task: 0, Seq: 1})
	p.after(0, nodes{1, 2, 3, 4, 5, 6, 7, 8}, nil)
}

// TestNobodyWaitsForEverAmongOthers: a task that finds no place has nodes woken for it though one or the other of those that are on is always empty, and none for long.
func TestNobodyWaitsForEverAmongOthers(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, make([]int64, 12)...)
	const busy = 4 // the others are off
	for n := busy; n < len(p.standing); n++ {
		p.standing[n] = keeper.Off
	}
	p.comes(0, 0) // which a constraint keeps from those that are on
	var on [busy]cluster.TaskID
	var woken []cluster.Time
	for step := range 4 * 60 {
		p.now = cluster.Time(step) * minute / 4
		if was := on[step%busy]; was != 0 {
			p.apply(cluster.TaskEnded{Task: was, Seq: cluster.Seq(was) + 1})
		}
		if step > 0 { // where one has ended a quarter of a minute before
			at := (step - 1) % busy
			on[at] = cluster.TaskID(step)
			p.comes(on[at], 3)
			p.apply(cluster.TaskFound{Task: on[at], Seq: cluster.Seq(step) + 1, Node: cluster.NodeID(at)})
		}
		p.s.Advance(p.now)
		o := p.k.Decide(&p.s.View, p.now)
		for _, n := range o.Wake { // at once
			woken = append(woken, p.now)
			p.on(n)
		}
		if len(o.Off) > 0 {
			t.Fatalf("%v are switched off, which are wanted", o.Off)
		}
	}
	at := func(times cluster.Time) cluster.Time { return times * wake }
	if want := []cluster.Time{at(1), at(3), at(3), at(5), at(5), at(5), at(5), at(7)}; !slices.Equal(woken, want) {
		t.Errorf("nodes are woken at %v, want %v", woken, want)
	}
}

// TestEachCountsOnWhatWasWokenForIt: what is woken for one who waits beside room is not taken to be of use to another.
func TestEachCountsOnWhatWasWokenForIt(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, 1, 1, 2)
	p.standing[1], p.standing[2] = keeper.Off, keeper.Off
	p.comes(1, 0)
	p.comes(2, 1)
	p.after(0, nil, nil)
	p.after(wake, nil, nodes{1, 2})
}

// TestTiesGoBySubmission: of two who came at once the first to be submitted has the node that draws less, whatever rows they have.
func TestTiesGoBySubmission(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, 1, 2)
	p.only = nodes{0} // that is all that shape 1 may use
	p.standing[0], p.standing[1] = keeper.Off, keeper.Off
	for row, shape := range []cluster.ShapeID{3, 1} {
		p.apply(cluster.JobSubmitted{Job: cluster.JobID(row)})
		p.apply(cluster.TaskSubmitted{Task: cluster.TaskID(row), Seq: cluster.Seq(2 - row), Job: cluster.JobID(row), Shape: shape})
	}
	p.after(0, nil, nodes{0, 1}) // else 3 would have taken node 0, and 1 found nothing
}

// TestFindsWhoeverHelpsLater: a node that is off and has changed may be one that somebody waits for.
func TestFindsWhoeverHelpsLater(t *testing.T) {
	p := newPark(t, keeper.Rules{OffAfter: minute}, 1, 1)
	p.only = nodes{1}
	p.standing[0] = keeper.Off
	p.comes(1, 1)
	p.comes(2, 3)
	p.apply(cluster.TaskFound{Task: 2, Seq: 3, Node: 1})
	p.after(0, nil, nil)
	p.after(cluster.Hour, nil, nil)
	p.only = nodes{0, 1}
	p.apply(cluster.NodeChanged{Node: 0, Spec: cluster.NodeSpec{Capacity: cluster.Vector{4}, Labels: []cluster.Label{{Key: "a"}}}})
	p.after(minute, nil, nodes{0})
}

// BenchmarkDecide is 10,000 tasks that want a node each, and 10,000 nodes that are off: how long the call takes in which they are woken, and the next one, in which but one node has.
func BenchmarkDecide(b *testing.B) {
	for name, perNode := range map[string]int32{"one crowd": 0, "10,000 jobs": 1} {
		for _, call := range []string{"first", "next"} {
			b.Run(name+"/"+call, func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					p := newPark(b, keeper.Rules{OffAfter: minute}, make([]int64, 10_000)...)
					p.apply(cluster.ShapeDefined{Shape: 4, Spec: cluster.Shape{Demand: cluster.Vector{4}, PerNode: perNode}})
					for n := range p.standing {
						p.standing[n] = keeper.Off
					}
					for task := range cluster.TaskID(10_000) {
						p.comes(task, 4)
					}
					if call == "next" {
						for _, n := range p.k.Decide(&p.s.View, 0).Wake {
							p.standing[n] = keeper.Waking
						}
						p.standing[0] = keeper.Off // so that there is one that would take them
					}
					b.StartTimer()
					p.k.Decide(&p.s.View, 0)
				}
			})
		}
	}
}
