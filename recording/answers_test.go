//go:build !nohighs

package recording_test

import (
	"bytes"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/lane"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/ilp/highs"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// mending is a policy that places as serial does, and mends that by the solver.
func mending(solver ilp.Solver) sched.Policy {
	serial := func(p *constraint.Problem, _ int64) (constraint.Assignment, int64) { return greedy.Serial().Solve(p) }
	return lane.New(lane.Options{
		Solve: serial, Quick: serial, Objective: constraint.Standard(),
		Repair: func(p *constraint.Problem, found constraint.Assignment, _ int64) lane.Repaired {
			r, _ := exact.Repair(p, found, solver, exact.Defaults())
			return lane.Repaired{Assignment: r.Assignment, Ticks: r.Ticks, Score: r.Score, Bound: r.Bound, Better: r.Better > 0}
		},
	})
}

// slow is a solver that was given up before it had an answer.
type slow struct{ answers *recording.Answers }

func (s slow) Solve(*ilp.Model, []float64, ilp.Limits) (ilp.Solution, error) {
	if s.answers.Ask() {
		s.answers.GiveUp()
	}
	return ilp.Solution{}, ilp.ErrGivenUp
}

// TestReplaysGivenUp records a round beside the core whose solver was given up at its first model, and one in which it was not. A replay gives
// up there and nowhere else; one of a file that does not say so decides otherwise.
func TestReplaysGivenUp(t *testing.T) {
	engine := highs.Start(highs.Options{})
	if err := engine.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := recording.Header{Kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, Lanes: []recording.Lane{{Name: "long", Policy: "medea", Beside: true}}}
	answers := &recording.Answers{}
	var solver ilp.Solver = slow{answers}
	core, err := sched.New(cluster.NewState(h.Kinds, nil), h.Lanes[0].Of(mending(solving(func(m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
		return solver.Solve(m, start, l)
	}))))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to, err := recording.NewWriter(dir, h, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := recording.NewRecorder(core, to)
	var solved []sched.Solved
	for i := range 2 {
		call := r.Observe
		if i == 0 {
			call = r.Snapshot
		}
		if _, err := call(cluster.Time(i)*cluster.Second, append(together(i), cluster.SolverReady{}), nil); err != nil {
			t.Fatal(err)
		}
		round := r.Begin(0, cluster.Time(i)*cluster.Second)
		round.Answers = answers
		round.Run(0)
		r.Finish(round, cluster.Time(i)*cluster.Second, nil)
		solved = append(solved, round.Solved())
		solver = ilp.UpTo{Solver: engine, More: answers.Ask}
	}
	if solved[0].By != sched.Search || solved[0].Optimal() || solved[1].By != sched.Programs || !solved[1].Bounded {
		t.Errorf("plans were %+v, want the first by search and the second by programs", solved)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := recording.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	again := func(l recording.Lane) (sched.Policy, error) {
		return mending(ilp.UpTo{Solver: engine, More: l.Answers.Ask}), nil
	}
	data := read(t, files[0])
	result, err := recording.Replay(bytes.NewReader(data), "f", again)
	if err != nil || result.Difference != nil || result.Rounds != 2 {
		t.Errorf("%d rounds: %v, %v; want none to differ", result.Rounds, result.Difference, err)
	}
	text := unzip(t, data)
	without := strings.Replace(text, `,"given_up":1`, "", 1)
	if without == text {
		t.Fatalf("that the solver was given up is not in\n%s", text)
	}
	if result, err = recording.Replay(bytes.NewReader(zip(without)), "f", again); err != nil || result.Difference == nil {
		t.Errorf("without where the solver was given up: %v, want a difference", err)
	}
	if result, err = recording.Replay(bytes.NewReader(zip(strings.Replace(text, `"given_up":1`, `"given_up":99`, 1))), "f", again); err != nil || result.Difference == nil {
		t.Errorf("given up behind the last model: %v, want a difference", err)
	}
	at := strings.LastIndex(text, `"call":"finish"`)
	if result, err = recording.Replay(bytes.NewReader(zip(text[:at]+`"given_up":99,`+text[at:])), "f", again); err != nil || result.Difference == nil || !strings.Contains(result.Difference.Recorded, "model 99") {
		t.Errorf("fewer models than were answered: %v, %v, want a difference", result.Difference, err)
	}
	for _, wrong := range []string{`"given_up":-1`, `"given_up":1.5`} {
		if _, err = recording.Replay(bytes.NewReader(zip(strings.Replace(text, `"given_up":1`, wrong, 1))), "f", again); err == nil {
			t.Errorf("%s is no error", wrong)
		}
	}
	if _, err = recording.Replay(bytes.NewReader(zip(strings.Replace(text, `{"call":"begin"`, `{"call":"begin","given_up":1`, 1))), "f", again); err == nil || !strings.Contains(err.Error(), "only finish says so") {
		t.Errorf("begin gives up a solver: %v", err)
	}
}

// solving is a function as a solver.
type solving func(*ilp.Model, []float64, ilp.Limits) (ilp.Solution, error)

func (s solving) Solve(m *ilp.Model, start []float64, l ilp.Limits) (ilp.Solution, error) {
	return s(m, start, l)
}
