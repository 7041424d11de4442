//go:build !nohighs

package scheduler

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/ilp/highs"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// solver is HiGHS, which asks the test before it solves, if that wants to be asked.
type solver struct {
	*highs.Engine
	before func(context.Context) (ilp.Solution, error)
	asked  atomic.Int32
}

// SolveContext is HiGHS's, but where the test answers instead.
func (h *solver) SolveContext(ctx context.Context, m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
	h.asked.Add(1)
	if h.before != nil {
		if s, err := h.before(ctx); err != nil || s.Limit != ilp.None {
			return s, err
		}
	}
	return h.Engine.SolveContext(ctx, m, start, l)
}

// newSolver is one that is ready.
func newSolver(t *testing.T) *solver {
	t.Helper()
	h := &solver{Engine: highs.Start(highs.Options{Preemptible: true, Instances: 1})}
	if err := h.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// solvedBy has a scheduler ask that solver.
func solvedBy(h Programs) func(*Options) {
	return func(o *Options) { o.Programs = func() Programs { return h } }
}

// replayBy replays the one recording in the folder, with the solver wherever the recording does not have it given up, and returns at which models it has that.
func replayBy(t *testing.T, dir string, h *solver) (_ recording.Result, givenUp []int) {
	t.Helper()
	in := onlyRecording(t, dir)
	result, err := recording.Follow(in, in.Name(), func(l recording.Lane) (sched.Policy, error) {
		return chosen.Make(policies.All(), &l, policies.Options{Programs: ilp.UpTo{Solver: h.Engine, More: l.Answers.Ask}})
	}, func(c *recording.Call, _ *sched.Core) {
		if c.GivenUp > 0 {
			givenUp = append(givenUp, c.GivenUp)
		}
	})
	if err != nil || result.Difference != nil || result.Wrong > 0 || result.Cut != "" {
		t.Errorf("replayed: %d events made no sense, difference %v, cut %q, error %v", result.Wrong, result.Difference, result.Cut, err)
	}
	return result, givenUp
}

// apart are a web and a cache that would like to be together, of which each takes most of a node.
func apart() []runtime.Object {
	objects := []runtime.Object{sizedNode(0, "1", "4Gi", "10"), sizedNode(1, "1", "4Gi", "10")}
	for i, app := range []string{"web", "cache"} {
		p := bin(i, 700, 100)
		p.Labels["app"] = app
		objects = append(objects, p)
	}
	return objects
}

// Seven nodes are filled to the last of cpu and memory by 21 pods of odd sizes. The search, with all of its effort, leaves one without a place; integer programs, which begin with what it has found, place all of them in one round,
// and the rest is as it would be replayed anywhere.
func TestProgramsPlaceWhomTheSearchDoesNot(t *testing.T) {
	sizes := [][2]int64{
		{479, 604},
		{590, 847},
		{49, 298},
		{54, 70},
		{896, 701},
		{608, 307},
		{472, 98},
		{231, 503},
		{46, 707},
		{552, 63},
		{534, 459},
		{49, 471},
		{322, 67},
		{552, 631},
		{43, 268},
		{394, 299},
		{161, 190},
		{61, 31},
		{402, 230},
		{417, 70},
		{88, 86},
	}
	h := newSolver(t)
	for _, with := range []bool{false, true} {
		var client dynamic.Interface
		var objects []runtime.Object
		for n := range 7 {
			objects = append(objects, sizedNode(n, "1", "1000Mi", "100"))
		}
		for i, size := range sizes {
			objects = append(objects, bin(i, size[0], size[1]))
		}
		few := own(t, "PlacementConstraint", "few", `{constraint: {text: "{app=web, {app=web, 0, 20}, node}"}}`)
		dir := t.TempDir()
		placed := len(sizes) - 1
		inBubbleWith(t, func(o *Options) {
			constraining(&client, few)(o)
			if with {
				placed++
				solvedBy(h)(o)
			}
		}, objects, func(b *bubble) {
			b.Config.BindWorkers, b.Config.Record.Path = 8, dir
			b.Config.Profiles[0].Evictions.Enabled = false
			b.run()
			b.pass(20 * time.Second)
			if got := len(strings.Fields(b.bound())); got != placed {
				b.t.Errorf("with programs %t: %d of %d pods have a place, want %d", with, got, len(sizes), placed)
			}
			if got := b.sum("fairlead_constraint_plans_total", "programs", "optimal"); got > 0 != with || b.sum("fairlead_programs_solved_total") > 0 != with {
				b.t.Errorf("with programs %t: %v plans were found by them, %v were solved", with, got, b.sum("fairlead_programs_solved_total"))
			}
			if with {
				b.expectSaid("pod-0", "by integer programs; it is proven that no placement of all these is better")
			}
		})
		if result, givenUp := replayBy(t, dir, h); result.Placements != placed || len(givenUp) > 0 {
			t.Errorf("with programs %t: replayed %d placements, given up at %v", with, result.Placements, givenUp)
		}
	}
}

// unbound is a pod that no constraint binds.
func unbound(i int) *v1.Pod {
	p := plainPod(i)
	p.Labels = nil
	return p
}

// The solver is asked for what cannot be mended, and says so: what search found is proven to be best. It is not begun before a constraint counts, and pods that none binds are placed while it is at work.
func TestProgramsBesideTheFastLane(t *testing.T) {
	h := newSolver(t)
	dir := t.TempDir()
	var client dynamic.Interface
	begun := 0
	inBubbleWith(t, func(o *Options) {
		constraining(&client)(o)
		o.Programs = func() Programs { begun++; return h }
	}, append(apart()[:2], unbound(2)), func(b *bubble) {
		gate := make(chan struct{})
		h.before = func(ctx context.Context) (ilp.Solution, error) {
			select {
			case <-gate:
			case <-ctx.Done():
			}
			return ilp.Solution{}, nil
		}
		b.Config.Record.Path = dir
		b.run()
		b.pass(time.Second)
		b.expectBound("pod-2")
		if begun != 0 {
			b.t.Error("the solver was begun though no constraint counts")
		}
		near := own(b.t, "PlacementConstraint", "near", `{constraint: {text: "{app=web, {app=cache, 1, inf}, node}"}}`)
		if _, err := client.Resource(PlacementConstraints()[0]).Namespace("default").Create(b.t.Context(), near, metav1.CreateOptions{}); err != nil {
			b.t.Fatal(err)
		}
		b.pass(time.Second)
		pods := apart()[2:]
		b.create(pods[1].(*v1.Pod)) // which the constraint only counts
		b.pass(time.Second)
		b.expectBound("pod-1 pod-2")
		if asked := h.asked.Load(); asked != 0 {
			b.t.Errorf("the solver was asked %d times though there is nothing to mend", asked)
		}
		b.create(pods[0].(*v1.Pod))
		b.pass(time.Second)
		if h.asked.Load() == 0 {
			b.t.Error("the solver was not asked")
		}
		b.create(unbound(3))
		b.pass(time.Second)
		b.expectBound("pod-1 pod-2 pod-3")
		close(gate)
		b.pass(time.Second)
		b.expectBound("pod-0 pod-1 pod-2 pod-3")
		if begun != 1 || b.sum("fairlead_programs_ready") != 1 {
			b.t.Errorf("the solver was begun %d times, ready %v", begun, b.sum("fairlead_programs_ready"))
		}
		if got := b.sum("fairlead_constraint_plans_total", "search", "optimal"); got == 0 {
			b.t.Error("no plan was proven to be best")
		}
		b.expectSaid("pod-0", "together with others that constraints bind, by search; it is proven that no placement of all these is better")
	})
	if result, givenUp := replayBy(t, dir, h); result.Placements != 4 || result.Rounds == 0 || len(givenUp) > 0 {
		t.Errorf("replayed %d placements in %d rounds beside, given up at %v", result.Placements, result.Rounds, givenUp)
	}
}

// expectSaid fails unless an event of the pod says so.
func (b *bubble) expectSaid(pod, want string) {
	b.t.Helper()
	b.pass(3 * time.Second)
	list, err := b.api.EventsV1().Events("default").List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	var said []string
	for i := range list.Items {
		if list.Items[i].Regarding.Name == pod {
			said = append(said, list.Items[i].Note)
		}
	}
	if !strings.Contains(strings.Join(said, "\n"), want) {
		b.t.Errorf("events of %s say %q, want %q", pod, said, want)
	}
}

// Where the solver fails, rounds go by what the search has found, the recording says at which model, and the solver is asked again after a while, which grows.
func TestProgramsFail(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		answer       func(context.Context) (ilp.Solution, error)
	}{
		{"panics", "crash", func(context.Context) (ilp.Solution, error) { panic("out of bounds") }},
		{"crashes", "crash", func(context.Context) (ilp.Solution, error) { return ilp.Solution{}, highs.ErrCrashed }},
		{"takes too long", "time", func(ctx context.Context) (ilp.Solution, error) {
			<-ctx.Done()
			return ilp.Solution{Limit: ilp.Time}, nil
		}},
		{"runs out of memory", "memory", func(context.Context) (ilp.Solution, error) { return ilp.Solution{Limit: ilp.Memory}, nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newSolver(t)
			h.before = tc.answer
			dir := t.TempDir()
			var client dynamic.Interface
			near := own(t, "PlacementConstraint", "near", `{constraint: {text: "{app=web, {app=cache, 1, inf}, node}"}}`)
			inBubbleWith(t, func(o *Options) {
				constraining(&client, near)(o)
				solvedBy(h)(o)
			}, apart(), func(b *bubble) {
				b.Config.Record.Path = dir
				b.run()
				b.pass(programsAtMost + time.Second)
				b.expectBound("pod-0 pod-1")
				if got := b.sum("fairlead_programs_failures_total", tc.reason); got != 1 || h.asked.Load() != 1 {
					b.t.Errorf("asked %d times, %v failures, want one: %s", h.asked.Load(), got, tc.reason)
				}
				web := bin(4, 700, 100) // for which there is no room, which nothing proves without a solver
				b.create(web)
				b.pass(10 * time.Second)
				if h.asked.Load() != 1 {
					b.t.Errorf("the solver was asked %d times though it rests", h.asked.Load())
				}
				h.before = nil
				b.pass(2 * time.Minute)
				b.create(bin(5, 200, 100))
				b.pass(20 * time.Second)
				if h.asked.Load() < 2 || b.sum("fairlead_programs_failures_total") != 1 {
					b.t.Errorf("the solver was asked %d times, and failed %v times", h.asked.Load(), b.sum("fairlead_programs_failures_total"))
				}
				b.expectBound("pod-0 pod-1 pod-5")
			})
			if result, givenUp := replayBy(t, dir, h); result.Placements != 3 || len(givenUp) < 2 {
				t.Errorf("replayed %d placements, given up at %v, want 1 when it failed, and 1 while it rests", result.Placements, givenUp)
			}
		})
	}
}

// stillborn is a solver that does not start.
type stillborn struct{ ready chan struct{} }

func (s stillborn) Ready() <-chan struct{}     { return s.ready }
func (s stillborn) Wait(context.Context) error { return highs.ErrPlatform }
func (s stillborn) SolveContext(context.Context, *ilp.Model, []float64, ilp.Limits) (ilp.Solution, error) {
	return ilp.Solution{}, errors.New("nobody may ask it")
}

// A solver that does not start is said once, and rounds go by search.
func TestProgramsDoNotStart(t *testing.T) {
	var client dynamic.Interface
	near := own(t, "PlacementConstraint", "near", `{constraint: {text: "{app=web, {app=cache, 1, inf}, node}"}}`)
	begun := 0
	inBubbleWith(t, func(o *Options) {
		constraining(&client, near)(o)
		o.Programs = func() Programs {
			begun++
			s := stillborn{make(chan struct{})}
			time.AfterFunc(5*time.Second, func() { close(s.ready) })
			return s
		}
	}, apart(), func(b *bubble) {
		b.run()
		b.pass(time.Second)
		b.expectBound("pod-0 pod-1")
		b.pass(time.Minute)
		b.inbox.put(func() {
			b.subject.handling(b.world.Pod("uid-1").Object())
			panic("as if something was wrong with it")
		})
		b.pass(time.Minute)
		if got := b.sum("fairlead_programs_failures_total", "start"); got != 1 || begun != 1 || b.sum("fairlead_programs_ready") != 0 {
			b.t.Errorf("begun %d times, %v failures to start, ready %v", begun, got, b.sum("fairlead_programs_ready"))
		}
	})
}
