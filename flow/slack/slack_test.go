package slack

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
)

// table is the classes of the tests; they are drawn but for their importance.
func table(t *rapid.T, restart cluster.Time) []cluster.Class {
	classes := []cluster.Class{{Name: "none", Importance: 9}}
	for i := range rapid.IntRange(1, 4).Draw(t, "classes") {
		share := cluster.Share(rapid.Int64Range(1, int64(cluster.Whole)).Draw(t, "availability"))
		if rapid.IntRange(0, 3).Draw(t, "all") == 0 {
			share = cluster.Whole
		}
		c := cluster.Class{
			Name: string(rune('a' + i)), Importance: rapid.Int32Range(0, 3).Draw(t, "importance"), Availability: share,
			Margin: cluster.Time(rapid.Int64Range(0, int64(cluster.Minute)).Draw(t, "margin")), Budget: cluster.Whole - share,
		}
		if restart > 0 {
			c.Restart = cluster.Time(rapid.Int64Range(0, int64(restart)).Draw(t, "restart"))
			c.Budget = cluster.Share(rapid.Int64Range(0, int64(cluster.Whole)/10).Draw(t, "budget"))
		}
		classes = append(classes, c)
	}
	return classes
}

// world is a task on a node of a state, to be moved through time.
func world(t *rapid.T, classes []cluster.Class, c cluster.ClassID) *cluster.State {
	s := cluster.NewState([]cluster.Kind{{Name: "slots", PerUnit: 1}}, classes)
	must := func(e cluster.Event) {
		if err := s.Apply(s.Now(), e); err != nil {
			t.Fatal(err)
		}
	}
	must(cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n0", Capacity: cluster.Vector{1}}})
	must(cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}})
	must(cluster.JobSubmitted{Job: 0, Name: "j"})
	must(cluster.TaskSubmitted{Task: 0, Seq: 0, Job: 0, Class: c})
	longest := []cluster.Time{cluster.Second, cluster.Minute, cluster.Hour, 10 * cluster.Day}[rapid.IntRange(0, 3).Draw(t, "long")]
	wait := func() {
		s.Advance(s.Now() + cluster.Time(rapid.Int64Range(0, int64(longest)).Draw(t, "time")))
	}
	for range rapid.IntRange(0, 6).Draw(t, "phases") {
		wait()
		task := s.Task(0)
		switch task.Phase {
		case cluster.Waiting:
			s.Begin(cluster.NoLane)
			if r := s.Place(0, 0, 0); r.Refused() {
				t.Fatal(r)
			}
			s.Keep()
			if wait(); rapid.IntRange(0, 3).Draw(t, "starts") > 0 {
				must(cluster.TaskStarted{Task: 0, Attempt: task.Attempt, Node: 0})
			}
		case cluster.Starting:
			must(cluster.TaskStarted{Task: 0, Attempt: task.Attempt, Node: 0})
		default:
			must(cluster.TaskLeft{Task: 0, Attempt: task.Attempt})
		}
	}
	wait()
	return s
}

// TestNext compares the price of a task with what it is at other times, if nothing
// happens: it is the same until the time that was told, and another one then. Of a task
// that may not leave the price is the same, whatever its slack does.
func TestNext(t *testing.T) {
	changes, falls := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		classes := table(t, 5*cluster.Second)
		s := world(t, classes, cluster.ClassID(rapid.IntRange(0, len(classes)-1).Draw(t, "class")))
		m := New(Options{
			Gain:   cluster.Time(rapid.Int64Range(0, int64(cluster.Minute)).Draw(t, "gain")),
			Period: cluster.Time(rapid.Int64Range(0, int64(10*cluster.Minute)).Draw(t, "period")),
		})
		if p := s.Task(0).Phase; p != cluster.Waiting && p != cluster.Running {
			return
		}
		for range 5 {
			was := m.Terms(&s.View, 0)
			if was.Next <= s.Now() {
				t.Fatalf("at %v the price changes at %v, which is past", s.Now(), was.Next)
			}
			if was.Next == cluster.Never {
				for range 5 {
					s.Advance(s.Now() + cluster.Time(rapid.Int64Range(0, int64(cluster.Day)).Draw(t, "later")))
					if is := m.Terms(&s.View, 0); is.Wait != was.Wait || is.Tier != was.Tier || is.Next != cluster.Never {
						t.Fatalf("it is %+v at %v, and was to be %+v for ever", is, s.Now(), was)
					}
				}
				return
			}
			began := s.Now()
			for _, at := range []cluster.Time{began + (was.Next-began)/2, was.Next - 1} {
				s.Advance(at)
				if is := m.Terms(&s.View, 0); is.Wait != was.Wait || is.Tier != was.Tier || is.Next != was.Next {
					t.Fatalf("it is %+v at %v, and was to be %+v", is, at, was)
				}
			}
			s.Advance(was.Next)
			is := m.Terms(&s.View, 0)
			if was.Wait != m.highest() && is.Wait == was.Wait {
				t.Fatalf("at %v it is still %+v", was.Next, is)
			}
			if is.Wait != was.Wait {
				changes++
			}
			if is.Wait < was.Wait {
				falls++
			}
		}
	})
	t.Logf("%d changes, %d of them falls", changes, falls)
	if !testing.Short() && (falls == 0 || changes == falls) {
		t.Errorf("%d changes, %d of them falls: want both falls and rises", changes, falls)
	}
}

// key is the paper's: critical tasks first, by importance and then by slack; the others
// by slack alone (specification §2).
type key struct {
	calm       int
	importance int32
	slack      cluster.Time
}

func keyOf(s *cluster.View, t cluster.TaskID) key {
	task := s.Task(t)
	class := &s.Classes()[task.Class]
	k := key{slack: class.Slack(task.Account.At(s.Now(), task.Phase))}
	if k.slack < 0 {
		k.importance = class.Importance
	} else {
		k.calm = 1
	}
	return k
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.calm, o.calm), cmp.Compare(k.importance, o.importance), cmp.Compare(k.slack, o.slack))
}

// TestOrder compares prices with the paper's keys: who comes later by them is never
// dearer, and cheaper where slacks are of different steps. Tiers say the same, coarsely.
func TestOrder(t *testing.T) {
	different := 0
	rapid.Check(t, func(t *rapid.T) {
		classes := table(t, 0)
		m := New(Options{})
		var keys [2]key
		var terms [2]flow.Terms
		for i := range keys {
			s := world(t, classes, cluster.ClassID(rapid.IntRange(0, len(classes)-1).Draw(t, "class")))
			if s.Task(0).Phase != cluster.Waiting && s.Task(0).Phase != cluster.Running {
				return
			}
			keys[i], terms[i] = keyOf(&s.View, 0), m.Terms(&s.View, 0)
			if s.Task(0).Phase == cluster.Running && !classes[s.Task(0).Class].MayLeave(s.Task(0).Account.At(s.Now(), cluster.Running)) {
				return
			}
		}
		first, second := 0, 1
		if keys[0].compare(keys[1]) > 0 {
			first, second = 1, 0
		}
		if keys[first].slack == cluster.Never {
			return // promised nothing, both
		}
		sameStep := keys[0].calm == keys[1].calm && keys[0].importance == keys[1].importance && m.at(keys[0].slack) == m.at(keys[1].slack) && keys[second].slack < cluster.Never
		switch a, b := terms[first], terms[second]; {
		case sameStep && (a.Wait != b.Wait || a.Tier != b.Tier):
			t.Fatalf("%+v for %+v, and %+v for %+v, want the same", a, keys[first], b, keys[second])
		case !sameStep && (a.Wait <= b.Wait || a.Tier < b.Tier):
			t.Fatalf("%+v for %+v, and %+v for %+v, which comes later", a, keys[first], b, keys[second])
		case !sameStep:
			different++
		}
	})
	if !testing.Short() && different < 10 {
		t.Errorf("%d pairs were different", different)
	}
}

// TestSteps wants about as many steps of slack as prices should have, fine ones near 0.
func TestSteps(t *testing.T) {
	m := New(Standard())
	if n := m.steps(); n < 24 || n > 40 {
		t.Errorf("there are %d steps of a sign, want about 32", n)
	}
	if !slices.IsSorted(m.edges) || m.edges[len(m.edges)-1] != longest || m.edges[0] != fine {
		t.Errorf("the edges are %v", m.edges)
	}
	if top := m.highest(); top >= 1<<30 {
		t.Errorf("the highest price is %d, want below 2^30, which is solved the fastest", top)
	}
	for _, tc := range []struct {
		slack, from, above cluster.Time
	}{
		{0, 0, fine},
		{fine - 1, 0, fine},
		{fine, fine, 2 * fine},
		{-1, -fine, 0},
		{-fine, -fine, 0},
		{-fine - 1, -2 * fine, -fine},
		{longest, longest, cluster.Never},
		{-longest - 1, lowest, -longest},
	} {
		if at := m.at(tc.slack); at.from != tc.from || at.above != tc.above {
			t.Errorf("a slack of %v is in the step from %v to %v, want from %v to %v", tc.slack, at.from, at.above, tc.from, tc.above)
		}
	}
}

// TestSwitching holds ō/σ and the gain to what the specification has: a task that was
// promised half of its time, and takes 2 s to begin anew, loses 4 s of slack by it.
func TestSwitching(t *testing.T) {
	half := &cluster.Class{Availability: cluster.Whole / 2, Restart: 2 * cluster.Second}
	for _, tc := range []struct {
		options Options
		want    cluster.Time
	}{
		{Options{}, 4 * cluster.Second},
		{Options{Gain: cluster.Minute}, 64 * cluster.Second},
		{Options{Period: 400 * cluster.Second}, 204 * cluster.Second},
	} {
		if got := New(tc.options).switching(half); got != tc.want {
			t.Errorf("%+v: switching costs %v, want %v", tc.options, got, tc.want)
		}
	}
	whole := &cluster.Class{Availability: cluster.Whole, Restart: 2 * cluster.Second}
	if got := New(Standard()).switching(whole); got != 2*cluster.Second {
		t.Errorf("who may never wait has nothing to gain; switching costs %v", got)
	}
}

// TestExplainWait adds up the parts of prices.
func TestExplainWait(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		classes := table(t, 5*cluster.Second)
		s := world(t, classes, cluster.ClassID(rapid.IntRange(0, len(classes)-1).Draw(t, "class")))
		if p := s.Task(0).Phase; p != cluster.Waiting && p != cluster.Running {
			return
		}
		m, sum := New(Standard()), flow.Cost(0)
		for _, part := range m.ExplainWait(&s.View, 0) {
			sum += part.Cost
			seen[part.Name]++
		}
		if want := m.Terms(&s.View, 0).Wait; sum != want {
			t.Fatalf("%v add up to %d, want %d", m.ExplainWait(&s.View, 0), sum, want)
		}
	})
	for _, name := range []string{"priority", "promise", "slack", "margin", "switching", "importance", "overhead budget"} {
		if !testing.Short() && seen[name] == 0 {
			t.Errorf("%s was never a part: %v", name, seen)
		}
	}
}
