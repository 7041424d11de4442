package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched/keeper"
	"fairlead.dev/fairlead/sim/trace"
)

// yard is a cluster of nodes of 4 cpu, a socket each, of which those with nothing on them are switched off after ten minutes, but for one, and take two to wake.
type yard struct {
	list
	config Config
	diary  strings.Builder // when nodes went off and on, and who was placed where
}

func newYard(nodes int) *yard {
	y := &yard{list: list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}}}
	for id := range nodes {
		y.node(0, trace.NodeAdded, uint64(id))
	}
	y.config = Config{
		World: World{
			Power:    power.Table{{Cores: 2, Socket: power.Draw{Idle: 10, Full: 100}, Off: 1}},
			Switches: keeper.Rules{OffAfter: 10 * cluster.Minute, Wake: 2 * cluster.Minute, Keep: 1},
		},
		Planner: Planner{Time: Zero},
	}
	return y
}

func (y *yard) node(minute int, what trace.What, id uint64) {
	y.records = append(y.records, trace.Record{Time: cluster.Time(minute) * cluster.Minute, What: what, Node: trace.Node{ID: id, Capacity: cluster.Vector{4}}})
}

// task has a task of the job come, which takes some minutes.
func (y *yard) task(minute int, job uint64, cpu int64, minutes cluster.Time) {
	y.records = append(y.records, trace.Record{Time: cluster.Time(minute) * cluster.Minute, What: trace.TaskSubmitted, Task: trace.Task{
		Job: job, JobTasks: 1, Demand: cluster.Vector{cpu}, Work: minutes * cluster.Minute,
	}})
}

// run plays it, and wants the diary to be like that.
func (y *yard) run(t *testing.T, want string) *simulation {
	t.Helper()
	y.config.Source, y.config.Lanes = &y.list, lane(t, "first-fit")
	y.config.Calls = func(call Call) {
		for _, e := range call.In {
			if turned, is := e.(cluster.EligibilityChanged); is {
				fmt.Fprintf(&y.diary, "%d: node %d is %s\n", call.At/cluster.Minute, turned.Node, map[bool]string{true: "on", false: "not"}[turned.Eligible])
			}
		}
		for _, d := range call.Out {
			fmt.Fprintf(&y.diary, "%d: %s is placed on node %d\n", call.At/cluster.Minute, call.Name(d.Task), d.Node)
		}
	}
	s, err := newSimulation(y.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.play(); err != nil {
		t.Fatal(err)
	}
	if got := y.diary.String(); got != want {
		t.Errorf("by the minute, it went\n%s\nwant\n%s", got, want)
	}
	return s
}

// TestNodesAreSwitchedOffAndWoken is an hour of three nodes, and what they draw, by hand.
func TestNodesAreSwitchedOffAndWoken(t *testing.T) {
	y := newYard(3)
	y.task(0, 1, 4, 15)
	y.task(20, 2, 4, 10) // finds the node that was kept
	y.task(21, 3, 3, 10) // another one is woken for it
	y.task(22, 4, 1, 10) // has room there, too
	y.task(60, 5, 1, 1)
	s := y.run(t, `0: 1/0 is placed on node 0
10: node 2 is not
15: node 1 is not
20: 2/0 is placed on node 0
23: node 1 is on
23: 3/0 is placed on node 1
23: 4/0 is placed on node 1
43: node 1 is not
60: 5/0 is placed on node 0
`)
	r := report.Run{}
	s.measures.result(s.planner.view(), s.kernel.now, &r)
	// Minutes × W: at work, idle, off, and node 1 while it wakes.
	const drawn = (15+10+1+10)*100 + (5+30+15+10+10)*10 + (6+18+51)*1 + 2*10
	p := r.Power
	if want := drawn / 60e3; math.Abs(float64(p.Energy)-want) > 1e-12 || p.Final != 10+1+1 {
		t.Errorf("they drew %v kWh, and %v W at the end; want %v, 12", p.Energy, p.Final, want)
	}
	want := report.Switched{Times: 3, Off: report.Sleeping{Final: 2, Hours: 75. / 60, Energy: 75 / 60e3}, Waking: report.Sleeping{Hours: report.Number(2 / 60.), Energy: 20 / 60e3}}
	if *p.Switched != want {
		t.Errorf("switched: %+v, want %+v", *p.Switched, want)
	}
}

// TestLostWhileOff: a node that was lost while it was off, or while it woke, is on when it returns, and what was to happen to it before does not.
func TestLostWhileOff(t *testing.T) {
	y := newYard(2)
	y.config.World.Switches.Keep = 0
	y.task(0, 0, 1, 1)
	y.node(12, trace.NodeLost, 0)
	y.node(12, trace.NodeAdded, 0)
	y.task(12, 1, 4, 60)
	y.task(13, 2, 4, 60) // wakes node 1
	y.node(14, trace.NodeLost, 1)
	y.node(14, trace.NodeAdded, 1) // on, and sooner than it would have been
	y.run(t, `0: 0/0 is placed on node 0
10: node 1 is not
11: node 0 is not
12: node 0 is on
12: 1/0 is placed on node 0
14: node 1 is on
14: 2/0 is placed on node 1
`)
}

// TestSomebodyElseWakesANode: what runs where nobody here placed it runs on a node that is on.
func TestSomebodyElseWakesANode(t *testing.T) {
	y := newYard(1)
	y.config.World.Switches.Keep = 0
	y.task(0, 0, 1, 1)
	y.records = append(y.records, trace.Record{Time: 12 * cluster.Minute, What: trace.TaskSubmitted, Task: trace.Task{
		Job: 1, JobTasks: 1, Demand: cluster.Vector{1}, Work: 5 * cluster.Minute, Running: true, OnNode: 0,
	}})
	y.task(12, 2, 1, 1)
	y.run(t, `0: 0/0 is placed on node 0
11: node 0 is not
12: node 0 is on
12: 2/0 is placed on node 0
`)
}

// TestNothingIsInUseOnANodeThatIsOff: what was measured before it was switched off is not taken for what is in use when it is woken.
func TestNothingIsInUseOnANodeThatIsOff(t *testing.T) {
	y := newYard(2)
	y.config.World.Switches.Keep = 0
	y.config.World.Usage = Usage{Every: 14 * cluster.Minute, Least: 1000, Most: 1000}
	y.config.Until = 26 * cluster.Minute // it is not measured again, as it is off by then
	y.task(0, 1, 4, 15)
	y.task(0, 2, 4, 60)
	s := y.run(t, `0: 1/0 is placed on node 0
0: 2/0 is placed on node 1
25: node 0 is not
`)
	if v := s.planner.view(); !slices.Equal(v.Usage(0), cluster.Vector{0}) || !slices.Equal(v.Usage(1), cluster.Vector{4}) {
		t.Errorf("in use are %v and %v, want 0 and 4", v.Usage(0), v.Usage(1))
	}
}

// TestWhyItWaitsForANodeThatIsOff: who waits is told how many nodes are off, and how long waking takes; nobody is called unplaceable who is not.
func TestWhyItWaitsForANodeThatIsOff(t *testing.T) {
	const oneIsLeft = "0: 1/0 is placed on node 0\n10: node 1 is not\n10: node 2 is not\n"
	for _, c := range []struct {
		takes, asks int64 // of the first, which stays, and of the one that waits
		diary       string
		code        string
		reason      string
	}{
		{3, 4, oneIsLeft, "cpu", "0 of 3 nodes take it: 1 are waking, 1 lack cpu (needs 4, left at most 1), 1 are off (waking takes 2m); nobody is evicted for it, as room is on its way; it would fit once awake on 1"},
		{3, 9, oneIsLeft, "unplaceable by cpu", "unplaceable on any of 3 nodes, even empty: 1 are too small: cpu (needs 9, the largest has 4), 2 are off (waking takes 2m); it would fit on a node that has 9 cpu"},
		{9, 4, "10: node 0 is not\n10: node 1 is not\n10: node 2 is not\n", "waking", "0 of 3 nodes take it: 1 are waking, 2 are off (waking takes 2m); it would fit once awake on 0"},
	} {
		y := newYard(3)
		y.config.World.Switches.Keep = 0
		y.config.Until = 20 * cluster.Minute
		y.task(0, 1, c.takes, 60)
		y.task(20, 2, c.asks, 60)
		s := y.run(t, c.diary)
		row := cluster.TaskID(slices.IndexFunc(s.tasks.list, func(k *task) bool { return k.seq != 0 && k.job.id == 2 }))
		why := s.planner.core.Why(row)
		if code, reason := why.Code(s.nodes.kinds), why.Text(s.nodes.kinds); code != c.code || reason != c.reason {
			t.Errorf("%s: %s; want %s: %s", code, reason, c.code, c.reason)
		}
	}
}
