package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fairlead/internal/cputime"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/dimacs"
	"fairlead.dev/fairlead/mcmf/race"
)

// This file solves a problem, and again after each batch of changes, measures
// how long that takes, and prints each result as a row or a line of JSON.

// solver is *mcmf.Solver, or a race.
type solver interface {
	Solve(o mcmf.Options) mcmf.Result
	Flow(a mcmf.Arc) int64
	Certificate() error
}

// newSolver is what the flags ask for.
func (s *solve) newSolver(g *mcmf.Graph) solver {
	if s.algorithm == racing {
		return race.New(g, mcmf.CostScaling)
	}
	return mcmf.NewSolver(g)
}

// session is a problem that is solved again and again.
type session struct {
	*solve

	problem *dimacs.Problem
	solver  solver
	out     io.Writer
	last    mcmf.Result
	batches int    // solved so far
	failed  int    // of them, not optimal
	first   solved // of those
}

func (s *session) run(ctx context.Context, changes *dimacs.Changes, flow *output) error {
	if s.format == "table" {
		fmt.Fprintf(s.out, "%5s %8s  %-10s %20s %12s %12s %12s  %s\n", "BATCH", "CHANGES", "STATUS", "COST", "CPU", "WALL", "TICKS", "ALGORITHM")
	}
	// What is left of reading is not to be swept up at the cost of the solve.
	runtime.GC()
	err := s.step(ctx, 0)
	for err == nil {
		var made int
		if made, err = changes.Next(); err == nil {
			err = s.step(ctx, made)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err := s.finish(flow, err); err != nil {
		return err
	}
	if s.failed > 0 {
		return fmt.Errorf("%d of %d solves were not optimal; the first is batch %d, %s", s.failed, s.batches, s.first.Batch, s.first.Status)
	}
	return nil
}

// step solves and prints the problem as it is after so many changes.
func (s *session) step(ctx context.Context, changes int) error {
	r := s.measure(ctx, changes)
	if s.batches == 0 {
		r = s.measureAgain(ctx, r)
	}
	if err := s.print(r); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if s.last.Status != mcmf.Optimal {
		if s.failed++; s.failed == 1 {
			s.first = r
		}
	} else if s.certify {
		if err := s.solver.Certificate(); err != nil {
			return fmt.Errorf("batch %d: this is not optimal, which is a bug: %w", s.batches, err)
		}
	}
	s.batches++
	return nil
}

// measureAgain solves the file as often as was asked for, each time from nothing,
// and is the solve of median CPU time. The last solve is what later ones start
// from, whichever that is.
func (s *session) measureAgain(ctx context.Context, first solved) solved {
	all := []solved{first}
	for len(all) < s.repeat && ctx.Err() == nil {
		s.solver = s.newSolver(s.problem.Graph)
		all = append(all, s.measure(ctx, 0))
	}
	slices.SortFunc(all, func(a, b solved) int { return cmp.Compare(a.CPUSeconds, b.CPUSeconds) })
	return all[len(all)/2]
}

// measure solves once.
func (s *session) measure(ctx context.Context, changes int) solved {
	o := mcmf.Options{Stop: func() bool { return ctx.Err() != nil }}
	if s.algorithm != automatic && s.algorithm != racing {
		o.Algorithm = mcmf.Algorithm(s.algorithm)
	}
	wall, cpu := time.Now(), cputime.Used()
	s.last = s.solver.Solve(o)
	used, passed := cputime.Used()-cpu, time.Since(wall)
	result := &s.last
	r := solved{
		Batch: s.batches, Changes: changes, Status: result.Status.String(), CPUSeconds: used.Seconds(), WallSeconds: passed.Seconds(),
		Ticks: result.Ticks, Algorithm: cmp.Or(string(result.Algorithm), s.algorithm), Unrouted: result.Unrouted,
	}
	switch {
	case result.Status == mcmf.Optimal:
		r.Cost = &result.Cost
	case result.Status != mcmf.Infeasible:
	case result.Arc != mcmf.None:
		e := s.problem.Graph.Arc(result.Arc)
		r.Arc = &arc{s.problem.ID(e.From), s.problem.ID(e.To), e.Lower, e.Capacity}
	default:
		const few = 10
		r.Cut = &cut{Nodes: len(result.Cut)}
		for _, v := range result.Cut[:min(few, len(result.Cut))] {
			r.Cut.First = append(r.Cut.First, s.problem.ID(v))
		}
	}
	return r
}

// print prints a result at once: the next one may take long.
func (s *session) print(r solved) error {
	if s.format == "json" {
		return json.NewEncoder(s.out).Encode(r)
	}
	cost := "-"
	if r.Cost != nil {
		cost = fmt.Sprint(*r.Cost)
	}
	duration := func(seconds float64) string {
		return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond).String()
	}
	_, err := fmt.Fprintf(s.out, "%5d %8d  %-10s %20s %12s %12s %12d  %s\n%s", r.Batch, r.Changes, r.Status, cost,
		duration(r.CPUSeconds), duration(r.WallSeconds), r.Ticks, r.Algorithm, r.why())
	return err
}

// why is a line that says what stands in the way, or nothing.
func (r *solved) why() string {
	switch {
	case r.Arc != nil:
		return fmt.Sprintf("      the arc from %d to %d has the lower bound %d, above its capacity %d\n", r.Arc.From, r.Arc.To, r.Arc.Lower, r.Arc.Capacity)
	case r.Cut != nil:
		more := ""
		if len(r.Cut.First) < r.Cut.Nodes {
			more = fmt.Sprintf(" … (%d in all)", r.Cut.Nodes)
		}
		ids := strings.Trim(fmt.Sprint(r.Cut.First), "[]")
		return fmt.Sprintf("      more is given than can leave these nodes: %s%s\n", ids, more)
	case r.Unrouted > 0:
		return fmt.Sprintf("      %d units have no way yet\n", r.Unrouted)
	}
	return ""
}

// finish writes the last flow, if it is to be, or gives the output up after an error.
func (s *session) finish(flow *output, err error) error {
	if flow == nil {
		return err
	}
	if err == nil {
		err = s.writeFlow(flow)
	}
	if err != nil {
		return errors.Join(err, flow.Discard())
	}
	return flow.Commit()
}

// writeFlow writes the last flow, or a comment that there is none.
func (s *session) writeFlow(w io.Writer) error {
	if s.last.Status != mcmf.Optimal {
		_, err := fmt.Fprintf(w, "c no flow: %s\n", s.last.Status)
		return err
	}
	return s.problem.WriteFlow(w, s.last.Cost, s.solver.Flow)
}

// solved is the result of a solve, as JSON shows it.
type solved struct {
	Batch       int     `json:"batch"`
	Changes     int     `json:"changes"`
	Status      string  `json:"status"`
	Cost        *int64  `json:"cost"` // null unless optimal
	CPUSeconds  float64 `json:"cpu_seconds"`
	WallSeconds float64 `json:"wall_seconds"`
	Ticks       int64   `json:"ticks"`
	Algorithm   string  `json:"algorithm"`
	Cut         *cut    `json:"cut,omitempty"`
	Arc         *arc    `json:"arc,omitempty"`
	Unrouted    int64   `json:"unrouted,omitempty"`
}

// cut is some nodes that are given more than can leave them.
type cut struct {
	Nodes int     `json:"nodes"`
	First []int64 `json:"first"` // ids of some of them
}

// arc is one whose bounds cross.
type arc struct {
	From     int64 `json:"from"`
	To       int64 `json:"to"`
	Lower    int64 `json:"lower"`
	Capacity int64 `json:"capacity"`
}
