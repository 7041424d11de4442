package schedtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

func newPlain(uint64) sched.Policy { return &plain{} }

func TestConformanceOfPlain(t *testing.T) { Conformance(t, newPlain) }

func TestConformanceOfRestless(t *testing.T) { Conformance(t, newRestless) }

// restless is plain with a bad character: for its first rounds it evicts and
// moves whomever it likes, promises room that is not free yet, breaks its
// promises, and wants what cannot be.
type restless struct {
	plain
	chance *rand.Rand
	rounds int
}

// BreaksPromises says so.
func (*restless) BreaksPromises() {}

func newRestless(seed uint64) sched.Policy {
	return &restless{chance: rand.New(rand.NewPCG(seed, 0x2e57))}
}

func (p *restless) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	if p.rounds++; p.rounds < 300 && s.TaskRows() > 0 && s.NodeRows() > 0 {
		for range p.chance.IntN(6) {
			id, other := cluster.TaskID(p.chance.IntN(s.TaskRows())), cluster.TaskID(p.chance.IntN(s.TaskRows()))
			n := cluster.NodeID(p.chance.IntN(s.NodeRows()))
			evict := sched.Action{Kind: sched.Evict, Task: id, Attempt: s.Task(id).Attempt}
			place := sched.Action{Kind: sched.Place, Task: other, Attempt: s.Task(other).Attempt, Node: n}
			at := s.Task(id).Node
			bundle := []sched.Action{evict}
			switch what := p.chance.IntN(10); {
			case what < 3 && at != cluster.NoNode: // preempt
				place.Node = at
				bundle = append(bundle, place)
			case what < 7: // move
				place.Task, place.Attempt = id, evict.Attempt
				bundle = append(bundle, place)
			case what < 8: // give and take
				resize := sched.Action{Kind: sched.Resize, Task: id, Attempt: evict.Attempt, Grant: p.grant(s, id)}
				bundle = []sched.Action{resize, place}
				if p.chance.IntN(2) == 0 {
					bundle = bundle[:1]
				}
			case what < 9: // a gang of two
				bundle = []sched.Action{place, {Kind: sched.Place, Task: id, Attempt: evict.Attempt, Node: n}}
			}
			mark, refused := t.Mark(), false
			for i := range bundle {
				if a := &bundle[i]; a.Kind == sched.Place && p.chance.IntN(3) > 0 {
					a.Grant = p.grant(s, a.Task)
				}
			}
			for _, a := range bundle {
				refused = refused || t.Try(a).Refused()
			}
			if refused {
				t.Rollback(mark)
			}
			if refused && p.chance.IntN(20) > 0 {
				continue
			}
			for _, a := range bundle {
				out.Add(a)
			}
			out.Close()
		}
	}
	p.plain.Plan(t, c, budget, out)
}

// grant is mostly one that the task's shape allows.
func (p *restless) grant(s *cluster.View, t cluster.TaskID) cluster.Vector {
	shape := s.Shape(s.Task(t).Shape)
	grant := slices.Clone(shape.Demand)
	for k := range shape.Max {
		if room := shape.Max[k] - shape.Demand[k]; room > 0 {
			grant[k] += p.chance.Int64N(room + 1)
		}
	}
	if p.chance.IntN(20) == 0 && len(grant) > 0 {
		grant[0] += 3
	}
	return grant
}

// TestWorldIsHostile: the faults happen, so that passing means something.
func TestWorldIsHostile(t *testing.T) {
	count := map[string]int{}
	for seed := range uint64(24) {
		w, err := live(newRestless, mode{seed: seed, hostile: true})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, r := range w.order {
			for what, is := range map[string]bool{
				"run": true, "refused": r.refused, "late begin": r.refused && r.reported, "taken back": r.refused && r.reported && !r.orphan,
				"orphan run": r.orphan, "told to leave": r.toLeave,
			} {
				if is {
					count[what]++
				}
			}
		}
		for what, n := range w.count {
			count[what] += n
		}
		counts := w.core.Counts()
		count["stale"] += int(counts.Stale)
		count["orphan"] += int(counts.Orphans)
		count["refused bundle"] += int(counts.Refused)
		count["evicted"] += int(counts.Evicted)
		count["resized"] += int(counts.Resized)
		count["ended"] += int(counts.Ended)
	}
	t.Log(count)
	for what, least := range map[string]int{
		"run": 2000, "refused": 100, "late begin": 20, "taken back": 5, "orphan run": 20, "told to leave": 300, "stale": 300,
		"orphan": 20, "refused bundle": 100, "evicted": 300, "node lost": 30, "node back": 30, "eviction refused": 20, "round in flight": 200, "found": 40, "short run": 50,
		"gated": 50, "reshaped": 200, "set redefined": 30, "class changed": 30, "class forgotten": 1, "shape forgotten": 3, "usage": 60, "input": 500,
		"ended": 50, "late copy": 5, "barred": 500, "constraint forgotten": 10, "granted": 30, "resized": 50, "gang": 1000, "room coming": 20,
	} {
		if count[what] < least {
			t.Errorf("%s happened %d times, want at least %d", what, count[what], least)
		}
	}
}

// TestConformanceCanFail plants one fault at a time, in the policy or between
// the core and the world, and wants the check that is there for it to speak.
func TestConformanceCanFail(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		policy     func(uint64) sched.Policy
		tamper     func() *tamper // a fresh one for each seed
	}{
		{name: "over the limit", want: "over the limit", tamper: redirect(func(w *world, d sched.Decision, n *wNode) bool {
			shape := w.shapes[w.taskOf(d).shape]
			return n.known && w.eligible(shape, n) && w.beside(n, w.taskOf(d), shape) == nil && w.room(n, shape.Demand, nil) != nil
		})},
		{name: "not eligible", want: "not eligible", tamper: redirect(func(w *world, d sched.Decision, n *wNode) bool {
			return n.known && !w.eligible(w.shapes[w.taskOf(d).shape], n)
		})},
		{name: "not apart", want: "may have one a node", tamper: redirect(func(w *world, d sched.Decision, n *wNode) bool {
			shape := w.shapes[w.taskOf(d).shape]
			return n.known && w.eligible(shape, n) && w.beside(n, w.taskOf(d), shape) != nil
		})},
		{name: "lost node", want: "node is not there", tamper: redirect(func(_ *world, _ sched.Decision, n *wNode) bool { return !n.known })},
		{name: "two runs", want: "still runs", tamper: always(&tamper{decisions: func(w *world, ds []sched.Decision) []sched.Decision {
			for _, r := range w.order {
				if r.present && !r.orphan && !r.task.gone && !r.task.job.foreign {
					return append(ds, sched.Decision{Kind: sched.Place, Task: r.id.task, Seq: r.task.seq, Attempt: r.id.attempt + 1000, Node: r.node.row})
				}
			}
			return ds
		}})},
		{name: "same attempt", want: "used before", tamper: always(&tamper{decisions: func(_ *world, ds []sched.Decision) []sched.Decision {
			return append(ds, ds...)
		}})},
		{name: "orphan tolerated", want: "not told to leave", tamper: always(&tamper{decisions: func(w *world, ds []sched.Decision) []sched.Decision {
			kept := ds[:0]
			for _, d := range ds {
				if r := w.live[runID{d.Task, d.Attempt}]; d.Kind == sched.Place || r == nil || !r.orphan {
					kept = append(kept, d)
				}
			}
			return kept
		}})},
		{name: "task lost", want: "is lost", tamper: func() *tamper {
			seen := 0
			return &tamper{events: func(_ *world, events []cluster.Event) []cluster.Event {
				for i, e := range events {
					if _, is := e.(cluster.TaskSubmitted); is {
						if seen++; seen == 40 {
							return append(events[:i:i], events[i+1:]...)
						}
					}
				}
				return events
			}}
		}},
		{name: "too much granted", want: "granted", tamper: always(&tamper{decisions: func(_ *world, ds []sched.Decision) []sched.Decision {
			for i := range ds {
				if ds[i].Kind == sched.Place {
					ds[i].Grant = cluster.Vector{99, 0, 0}
				}
			}
			return ds
		}})},
		{name: "resized over the limit", want: "over the limit", policy: newRestless, tamper: always(&tamper{decisions: func(w *world, ds []sched.Decision) []sched.Decision {
			for i := range ds {
				if r := w.live[runID{ds[i].Task, ds[i].Attempt}]; ds[i].Kind == sched.Resize && r != nil && r.shape.Max != nil {
					ds[i].Grant = r.shape.Max
				}
			}
			return ds
		}})},
		{name: "copies run on", want: "was not told to end", tamper: always(&tamper{decisions: func(_ *world, ds []sched.Decision) []sched.Decision {
			return slices.DeleteFunc(ds, func(d sched.Decision) bool { return d.Kind == sched.End })
		}})},
		{name: "ends nobody's copy", want: "no copy of it has finished", tamper: always(&tamper{decisions: func(w *world, ds []sched.Decision) []sched.Decision {
			for _, t := range w.tasks {
				if t.sent && !t.gone {
					return append(ds, sched.Decision{Kind: sched.End, Task: t.row, Seq: t.seq})
				}
			}
			return ds
		}})},
		{name: "ended twice", want: "told to end before", tamper: always(&tamper{decisions: func(_ *world, ds []sched.Decision) []sched.Decision {
			for _, d := range ds {
				if d.Kind == sched.End {
					return append(ds, d)
				}
			}
			return ds
		}})},
		{name: "ending task placed", want: "was told to end", tamper: always(&tamper{decisions: func(w *world, ds []sched.Decision) []sched.Decision {
			for _, t := range w.tasks {
				if t.ends && !t.gone {
					return append(ds, sched.Decision{Kind: sched.Place, Task: t.row, Seq: t.seq, Attempt: 999})
				}
			}
			return ds
		}})},
		{name: "state corrupted", want: "its tasks sum to", tamper: always(&tamper{step: func(w *world) {
			if s := w.core.View(); s.TaskRows() > 3 && s.Task(3).Placed() {
				s.Task(3).Node = 2
			}
		}})},
		{name: "foreign task placed", want: "somebody else's", tamper: always(&tamper{decisions: func(w *world, ds []sched.Decision) []sched.Decision {
			for _, t := range w.tasks {
				if t.job.foreign && !t.gone {
					return append(ds, sched.Decision{Kind: sched.Place, Task: t.row, Seq: t.seq, Attempt: 999})
				}
			}
			return ds
		}})},
		{name: "lazy policy", want: "still wait", policy: wrap(func(_ *sched.Trial, c *sched.Changed) {
			kept := c.Tasks[:0]
			for _, id := range c.Tasks {
				if id%16 != 7 {
					kept = append(kept, id)
				}
			}
			c.Tasks = kept
		}, nil)},
		{name: "tireless policy", want: "round after round", policy: wrap(nil, func(t *sched.Trial, out *sched.Plan) { out.Wake = t.View().Now() })},
		{name: "fickle policy", want: "evictions were without a placement", policy: newFickle},
		{name: "policy of chance", want: "the same seed decides differently", policy: func() func(uint64) sched.Policy {
			calls := uint64(0)
			return func(uint64) sched.Policy { calls++; return newRestless(calls) }
		}()},
		{name: "policy that sees where it is", want: "differently on a view", policy: func(uint64) sched.Policy { return &shy{} }},
		{name: "policy that panics", want: "the policy panicked", policy: wrap(func(t *sched.Trial, _ *sched.Changed) {
			if t.View().TaskRows() > 30 && t.View().LogEnd() == 0 {
				panic("too many tasks")
			}
		}, nil)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.policy == nil {
				tc.policy = newPlain
			}
			for seed := range uint64(10) {
				var planted *tamper
				if tc.tamper != nil {
					planted = tc.tamper()
				}
				if err := conform(tc.policy, seed, planted); err != nil {
					if !strings.Contains(err.Error(), tc.want) {
						t.Errorf("seed %d: found %q, which says nothing of %q", seed, err, tc.want)
					}
					return
				}
			}
			t.Error("planted a fault in 10 seeds, and nothing was found")
		})
	}
}

// newFickle is plain with a bad habit: it evicts for tasks that wait, and takes from them the
// room that they are promised.
func newFickle(seed uint64) sched.Policy {
	rounds := 0
	return wrap(nil, func(t *sched.Trial, out *sched.Plan) {
		if rounds++; rounds > 200 {
			return
		}
		s := t.View()
		evict := func(id cluster.TaskID) sched.Action {
			return sched.Action{Kind: sched.Evict, Task: id, Attempt: s.Task(id).Attempt}
		}
		for row := range s.TaskRows() {
			if id := cluster.TaskID(row); s.Task(id).Phase == cluster.Reserved {
				out.Add(evict(id))
				out.Close()
				return
			}
		}
		for row := range s.TaskRows() {
			victim, other := cluster.TaskID(row), cluster.TaskID((row+rounds)%s.TaskRows())
			at := s.Task(victim).Node
			place := sched.Action{Kind: sched.Place, Task: other, Attempt: s.Task(other).Attempt, Node: at}
			if at != cluster.NoNode && !t.TryTogether([]sched.Action{evict(victim), place}).Refused() {
				out.Add(evict(victim))
				out.Add(place)
				out.Close()
				return
			}
		}
	})(seed)
}

func always(x *tamper) func() *tamper { return func() *tamper { return x } }

// redirect sends one placement to a node that is wrong for it.
func redirect(wrong func(*world, sched.Decision, *wNode) bool) func() *tamper {
	return always(&tamper{decisions: func(w *world, ds []sched.Decision) []sched.Decision {
		for i := range ds {
			if ds[i].Kind != sched.Place {
				continue
			}
			for _, n := range w.nodes {
				if wrong(w, ds[i], n) {
					ds[i].Node = n.row
					return ds
				}
			}
		}
		return ds
	}})
}

// wrap is plain with something done before or after.
func wrap(before func(*sched.Trial, *sched.Changed), after func(*sched.Trial, *sched.Plan)) func(uint64) sched.Policy {
	return func(uint64) sched.Policy { return &wrapped{Policy: &plain{}, before: before, after: after} }
}

type wrapped struct {
	sched.Policy
	before func(*sched.Trial, *sched.Changed)
	after  func(*sched.Trial, *sched.Plan)
}

func (p *wrapped) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	if p.before != nil {
		p.before(t, c)
	}
	p.Policy.Plan(t, c, budget, out)
	if p.after != nil {
		p.after(t, out)
	}
}

// shy is plain, but on a view, which has no log of its own, it waits a second
// before each plan.
type shy struct {
	plain
	seen sched.Changed
	wait bool
}

func (p *shy) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	p.seen.All = p.seen.All || c.All
	p.seen.Tasks, p.seen.Gangs, p.seen.Nodes = append(p.seen.Tasks, c.Tasks...), append(p.seen.Gangs, c.Gangs...), append(p.seen.Nodes, c.Nodes...)
	if p.wait = !p.wait; p.wait && t.View().LogEnd() == 0 {
		out.Wake = t.View().Now() + cluster.Second
		return
	}
	p.plain.Plan(t, &p.seen, budget, out)
	p.seen = sched.Changed{}
}

// TestDriverCanFail: what is wrong in a story fails it.
func TestDriverCanFail(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "must be a comment"},
		{"only a comment", "# Nothing happens.\n", "no command"},
		{"no purpose", "policy plain\n----\n", "must be a comment"},
		{"too long", "# Long.\npolicy plain\n----\n" + strings.Repeat("\n", 150), "more than 150"},
	} {
		if err := wellFormed(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error that says %q", tc.name, err, tc.want)
		}
	}
	for _, tc := range []struct{ command, input, want string }{
		{"jump t=1", "", "unknown command"},
		{"step t=1 far", "", "unknown argument far"},
		{"step t=1", "explode n1", "unknown event"},
		{"step t=1", "node n9 cpu=4 disk=7", "unknown argument disk=7"},
		{"step t=1", "node n9 cpu=four", "no integer"},
		{"step t=1", "node n1", "is node n1 there: true"},
		{"step t=1", "change n9", "is node n9 there: false"},
		{"step t=1", "node", "of what?"},
		{"step t=1", "lost n9", "no node"},
		{"step t=1", "job b tasks=many", "no integer"},
		{"step t=1", "job b require=zone", "want key=value"},
		{"step t=1", "job b class=lead", "no class"},
		{"step t=1", "job a user=u", "is there"},
		{"step t=1", "node n9 label=zone", "want key:value"},
		{"step t=1", "node n9 overcommit=disk:2", "want kind:factor"},
		{"step t=1", "started b/0", "no task"},
		{"step t=1", "started a/0", "on no node"},
		{"step t=1", "found a/0", "say where"},
		{"step", "", "needs a time"},
		{"step t=soon", "", "no time"},
		{"step t=-3", "", "needs a time"},
		{"state", "node n2", "takes no input"},
		{"policy plain", "", "before the first step"},
		{"run", "", "no round that could run"},
		{"finish t=1", "", "no round that has run"},
		{"begin t=1 lane=x", "", "no lane"},
		{"plan", "put a/0 on n1", "want \"place TASK on NODE"},
		{"plan lane=plain", "", "not scripted"},
		{"why b/0", "", "no task"},
		{"why", "", "of what?"},
	} {
		s := opening(t)
		_, err := run(s, tc.command, tc.input)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %q: %v, want an error that says %q", tc.command, tc.input, err, tc.want)
		}
	}
}

// TestDriverFailsAtTheEnd: what was begun must be ended.
func TestDriverFailsAtTheEnd(t *testing.T) {
	for want, commands := range map[string][]string{
		"no round took":          {"plan"},
		"in flight":              {"begin t=1"},
		"no such task":           {"plan|evict b/0", "step t=1|node n2"},
		"no round took the last": {"plan", "plan"},
	} {
		s := opening(t)
		var err error
		for _, c := range commands {
			if err != nil {
				break
			}
			command, input, _ := strings.Cut(c, "|")
			_, err = run(s, command, input)
		}
		if err == nil {
			err = s.over()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want an error that says %q", commands, err, want)
		}
	}
	if err := newStory(nil).over(); err == nil {
		t.Error("a story without a step is well")
	}
	if _, err := run(newStory(nil), "step t=0", ""); err == nil || !strings.Contains(err.Error(), "names no policy") {
		t.Errorf("a story without a policy: %v", err)
	}
	if _, err := run(newStory(nil), "policy kube", ""); err == nil || !strings.Contains(err.Error(), "unknown policy") {
		t.Errorf("a story with an unknown policy: %v", err)
	}
	unknown := func(name string) (sched.Policy, error) { return nil, fmt.Errorf("cannot make %s", name) }
	if _, err := run(newStory(unknown), "policy kube ties=lowest", ""); err == nil || !strings.Contains(err.Error(), "cannot make kube ties=lowest") {
		t.Errorf("a story with a policy that cannot be made: %v", err)
	}
}

// opening is a story in which a cluster of one node, and a task that does not
// fit on it, are there.
func opening(t *testing.T) *story {
	t.Helper()
	s := newStory(nil)
	for _, c := range []string{"policy scripted", "policy plain", "step t=0|node n1 cpu=1\njob a cpu=2"} {
		command, input, _ := strings.Cut(c, "|")
		if _, err := run(s, command, input); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
