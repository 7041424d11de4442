//go:build !nohighs

package highs

// One solve: an instance is made, the model copied into its memory, HiGHS run,
// and the answer copied out.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"fairlead.dev/fairlead/ilp"
)

// grace is how long HiGHS may go on after the context has ended, to end well. It
// takes some milliseconds as a rule. After this nobody waits for it any more: what
// it had found is lost, and its slot stays taken until it notices.
const grace = 500 * time.Millisecond

// solve waits for a slot and asks HiGHS. It returns an error only where HiGHS failed.
func (p *program) solve(ctx context.Context, r request) (answer, error) {
	nothing := answer{status: notSet, bound: math.Inf(-1), limit: ilp.Time}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nothing, nil
	}
	h := &host{limit: r.limits.Ticks, memory: p.memory, copied: make(chan struct{})}
	running, kill := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), hostKey{}, h))
	defer kill()
	done := make(chan outcome, 1)
	go func() {
		defer func() { <-p.slots }()
		done <- p.attempt(running, h, func(in *instance) answer { return in.solve(r) })
	}()
	defer context.AfterFunc(ctx, func() {
		h.stop(ilp.Time)
		patience, end := context.WithTimeout(running, grace)
		defer end()
		<-patience.Done()
		kill()
	})()
	select {
	case o := <-done:
		return o.answer, o.err
	case <-running.Done():
	}
	// The caller may change the model once this function has returned, so it does
	// not before the model was copied.
	select {
	case o := <-done:
		return o.answer, o.err
	case <-h.copied:
		return nothing, nil
	}
}

type outcome struct {
	answer answer
	err    error
}

// attempt does something with a new instance and tells what broke it off.
func (p *program) attempt(ctx context.Context, h *host, do func(*instance) answer) outcome {
	a, err := p.run(ctx, do)
	a.ticks, a.limit = h.ticks, ilp.Limit(h.stopped.Load())
	switch {
	case err == nil:
		return outcome{answer: a}
	case h.refused:
		a.limit = ilp.Memory
	case ctx.Err() != nil:
		a.limit = ilp.Time
	case len(h.printed) > 0:
		return outcome{err: fmt.Errorf("%w: %w; it printed %q", ErrCrashed, err, h.printed)}
	default:
		return outcome{err: fmt.Errorf("%w: %w", ErrCrashed, err)}
	}
	return outcome{answer: answer{status: notSet, bound: math.Inf(-1), ticks: a.ticks, limit: a.limit}}
}

// run makes an instance, does something with it and drops it.
func (p *program) run(ctx context.Context, do func(*instance) answer) (answer, error) {
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions(initialise)
	module, err := p.runtime.InstantiateModule(ctx, p.module, config)
	if err != nil {
		return answer{}, err
	}
	in := &instance{ctx: ctx, module: module}
	// Closing frees memory only, of which nothing is used again.
	defer func() { _ = module.Close(context.WithoutCancel(ctx)) }()
	return do(in), in.err
}

// instance calls functions of the module. It keeps the first error, after which
// nothing is called any more.
type instance struct {
	ctx    context.Context //nolint:containedctx // An instance lives for one solve only.
	module api.Module
	err    error
	highs  uint64 // the solver's address
}

func (in *instance) call(name string, parameters ...uint64) uint64 {
	if in.err != nil {
		return 0
	}
	results, err := in.module.ExportedFunction(name).Call(in.ctx, parameters...)
	if err != nil {
		in.err = err
	}
	if err != nil || len(results) == 0 {
		return 0
	}
	return results[0]
}

// do calls a function of HiGHS that returns whether it worked: an error is -1, 0
// and 1 mean that it did, with or without a warning.
func (in *instance) do(what, name string, parameters ...uint64) {
	status := api.DecodeI32(in.call(name, append([]uint64{in.highs}, parameters...)...))
	if in.err == nil && status < 0 {
		in.err = fmt.Errorf("it refused to %s", what)
	}
}

var errMemory = errors.New("it has no memory left")

// place takes memory of the module's, and gives its address and a view of it,
// which is good until the next call.
func (in *instance) place(size int) (uint64, []byte) {
	address := in.call(allocate, uint64(size))
	view, ok := in.module.Memory().Read(uint32(address), uint32(size))
	if in.err == nil && (address == 0 || !ok) {
		in.err = errMemory
	}
	return address, view
}

func (in *instance) text(s string) uint64 {
	address, view := in.place(len(s) + 1)
	copy(view, s+"\x00")
	return address
}

func (in *instance) numbers(values []float64) uint64 {
	address, view := in.place(8 * len(values))
	for i := 0; i < len(values) && in.err == nil; i++ {
		binary.LittleEndian.PutUint64(view[8*i:], math.Float64bits(values[i]))
	}
	return address
}

func (in *instance) indices(n int, of func(i int) int32) uint64 {
	address, view := in.place(4 * n)
	for i := 0; i < n && in.err == nil; i++ {
		binary.LittleEndian.PutUint32(view[4*i:], uint32(of(i)))
	}
	return address
}

func (in *instance) solve(r request) answer {
	in.highs = in.call(highsCreate)
	in.options(r.limits)
	in.pass(r.model)
	if r.start != nil {
		in.do("take the start", highsSetSolution, in.numbers(r.start), 0, 0, 0)
	}
	columns, mixed := r.model.Columns(), integers(r.model)
	close(hostOf(in.ctx).copied)
	in.do("solve", highsRun)
	return in.answer(columns, mixed)
}

// options makes HiGHS quiet and repeatable.
func (in *instance) options(l ilp.Limits) {
	set := func(function, name string, value uint64) { in.do("set "+name, function, in.text(name), value) }
	set(highsSetBoolOption, "output_flag", 0)
	set(highsSetIntOption, "threads", 1)
	set(highsSetIntOption, "random_seed", 1)
	set(highsSetStringOption, "parallel", in.text("off"))
	set(highsSetDoubleOption, "time_limit", api.EncodeF64(endOfTime))
	// It looks for a first solution for 50 ms, whatever the size of the model; a
	// small one is solved in a tenth of that, and a large one comes with a start.
	set(highsSetBoolOption, "mip_heuristic_run_feasibility_jump", 0)
	set(highsSetDoubleOption, "mip_rel_gap", api.EncodeF64(l.Gap))
}

// How HiGHS's C interface is told that a matrix is by rows, and that the
// objective is to be minimised.
const (
	byRows   = 2
	minimise = 1
)

func (in *instance) pass(m *ilp.Model) {
	starts := func(r int) int32 {
		if r == 0 {
			return 0
		}
		return m.End[r-1]
	}
	cost, lower, upper := in.numbers(m.Cost), in.numbers(m.Lower), in.numbers(m.Upper)
	rowLower, rowUpper := in.numbers(m.RowLower), in.numbers(m.RowUpper)
	start := in.indices(m.Rows()+1, starts)
	index := in.indices(len(m.Column), func(i int) int32 { return m.Column[i] })
	value := in.numbers(m.Value)
	kind := in.indices(m.Columns(), func(i int) int32 { return int32(m.Kind[i]) })
	in.do("take the model", highsPassMip,
		uint64(m.Columns()), uint64(m.Rows()), uint64(len(m.Column)), byRows, minimise, api.EncodeF64(0),
		cost, lower, upper, rowLower, rowUpper, start, index, value, kind)
}

func (in *instance) answer(columns int, mixed bool) answer {
	a := answer{bound: math.Inf(-1)}
	a.status = modelStatus(api.DecodeI32(in.call(highsGetModelStatus, in.highs)))
	if in.err == nil && a.status <= postsolveError {
		in.err = fmt.Errorf("it failed, with model status %d", a.status)
	}
	const feasible = 2
	if uint32(in.info(highsGetIntInfo, "primal_solution_status")) == feasible {
		address, _ := in.place(8 * columns)
		in.do("return values", highsGetSolution, address, 0, 0, 0)
		view, _ := in.module.Memory().Read(uint32(address), uint32(8*columns))
		a.values = make([]float64, columns)
		for i := 0; i < len(a.values) && in.err == nil; i++ {
			a.values[i] = math.Float64frombits(binary.LittleEndian.Uint64(view[8*i:]))
		}
	}
	if mixed {
		a.bound = math.Float64frombits(in.info(highsGetDoubleInfo, "mip_dual_bound"))
	}
	return a
}

// info returns the eight bytes of a piece of information; one of four is in the lower half.
func (in *instance) info(function, name string) uint64 {
	address, view := in.place(8)
	clear(view)
	in.do("return "+name, function, in.text(name), address)
	n, _ := in.module.Memory().ReadUint64Le(uint32(address))
	return n
}
