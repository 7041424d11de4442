//go:build !nohighs

package highs

// What the module asks of the world. It gets a clock of ours (see the package's
// comment) and memory up to a cap. It gets no file, no environment and no time
// zone; what it prints is kept for the error, should it crash.

import (
	"context"
	"errors"
	"math"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"fairlead.dev/fairlead/ilp"
)

const (
	// endOfTime is HiGHS's time limit, in seconds. HiGHS may take the time anew
	// at any moment and count from there, so once it is to stop the clock leaps
	// each time that it is read, by more than that; as often as its number of
	// nanoseconds can be told in 64 bits.
	endOfTime = 1e4
	leap      = 2e4
	leapsMost = 1e5
	// tick is by how many seconds the clock goes on at each reading.
	tick = 1e-6
)

var (
	errThrown  = errors.New("an exception was thrown")
	errAborted = errors.New("it aborted")
	errKilled  = errors.New("it was given up")
)

// host is the world of one instance.
type host struct {
	ticks, limit int64 // readings of the clock; limit is 0 for none
	leaps        int64 // of the clock, since HiGHS is to stop
	memory       int64 // the cap, in bytes
	refused      bool  // whether memory was asked for beyond the cap
	printed      []byte
	stopped      atomic.Uint32 // the ilp.Limit that first made the clock leap
	copied       chan struct{} // closed when the caller's model is not read any more
}

type hostKey struct{}

func hostOf(ctx context.Context) *host { return ctx.Value(hostKey{}).(*host) }

// stop makes the clock leap. Any goroutine may call it.
func (h *host) stop(why ilp.Limit) { h.stopped.CompareAndSwap(uint32(ilp.None), uint32(why)) }

// read returns the clock's time in seconds.
func (h *host) read() float64 {
	h.ticks++
	if h.limit > 0 && h.ticks > h.limit {
		h.stop(ilp.Ticks)
	}
	if h.stopped.Load() != uint32(ilp.None) {
		h.leaps = min(h.leaps+1, leapsMost)
	}
	return float64(float64(h.ticks)*tick) + float64(float64(h.leaps)*leap)
}

// grow gives the module at least so many bytes in all, and a fifth more than it
// has, as each time costs a copy. In the last eighth below the cap HiGHS is asked
// to stop, so that it has room to end well.
func (h *host) grow(m api.Memory, wanted int64) bool {
	has := int64(m.Size())
	if wanted > h.memory-h.memory/8 {
		h.stop(ilp.Memory)
	}
	if wanted > h.memory {
		h.refused = true
		return false
	}
	size := min(max(wanted, has+has/5), h.memory/pageSize*pageSize)
	_, ok := m.Grow(uint32((size - has + pageSize - 1) / pageSize))
	h.refused = h.refused || !ok
	return ok
}

// mostPrinted is how much of what the module prints is kept.
const mostPrinted = 400

// write takes what is printed and returns its length.
func (h *host) write(m api.Memory, vectors, count uint32) uint32 {
	total := uint32(0)
	for i := range count {
		from, _ := m.ReadUint32Le(vectors + 8*i)
		size, _ := m.ReadUint32Le(vectors + 8*i + 4)
		if text, ok := m.Read(from, size); ok {
			h.printed = append(h.printed, text[:min(len(text), mostPrinted-len(h.printed))]...)
		}
		total += size
	}
	return total
}

// Error numbers that the module knows.
const (
	noFile     = 44
	noTerminal = 59
	noPipe     = 70
)

// provide makes the functions that the module imports, under the short names of
// its version.
func provide(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(hostModule)
	i32, i64, f64 := api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeF64
	add := func(name string, f api.GoModuleFunc, results []api.ValueType, parameters ...api.ValueType) {
		b.NewFunctionBuilder().WithGoModuleFunction(f, parameters, results).Export(name)
	}
	none, one, fraction := []api.ValueType(nil), []api.ValueType{i32}, []api.ValueType{f64}
	answers := func(n int32) api.GoModuleFunc {
		return func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = api.EncodeI32(n) }
	}
	fails := func(err error) api.GoModuleFunc {
		return func(context.Context, api.Module, []uint64) { panic(err) }
	}
	nothing := func(context.Context, api.Module, []uint64) {}

	add("a", fails(errThrown), none, i32, i32, i32) // __cxa_throw
	add("b", fails(errAborted), none, i32)          // exit
	add("c", milliseconds, fraction)                // emscripten_get_now
	add("d", answers(0), one, i32)                  // fd_close
	add("e", answers(0), one, i32, i32, i32)        // fcntl64
	add("f", write, one, i32, i32, i32, i32)        // fd_write
	add("g", answers(noFile), one, i32, i32, i32, i32)
	add("h", answers(-noTerminal), one, i32, i32, i32)  // ioctl
	add("i", answers(-noFile), one, i32, i32, i32, i32) // openat
	add("j", milliseconds, fraction)                    // emscripten_date_now
	add("k", fails(errAborted), none)                   // abort
	add("l", answers(0), one, i32, f64)                 // setitimer
	add("m", nothing, none, i32, i32, i32, i32)         // tzset
	add("n", answers(0), one, i32, i32)                 // environ_get
	add("o", environment, one, i32, i32)                // environ_sizes_get
	add("p", nanoseconds, one, i32, i64, i32)           // clock_time_get
	add("q", resize, one, i32)                          // emscripten_resize_heap
	add("r", fails(errAborted), none, i32)              // proc_exit
	add("s", nothing, none)                             // emscripten_runtime_keepalive_clear
	add("t", answers(noPipe), one, i32, i64, i32, i32)  // fd_seek
	_, err := b.Instantiate(ctx)
	return err
}

// now is the clock for whoever is still waited for.
func now(ctx context.Context) float64 {
	if ctx.Err() != nil {
		panic(errKilled)
	}
	return hostOf(ctx).read()
}

func milliseconds(ctx context.Context, _ api.Module, stack []uint64) {
	stack[0] = api.EncodeF64(now(ctx) * 1e3)
}

func nanoseconds(ctx context.Context, m api.Module, stack []uint64) {
	m.Memory().WriteUint64Le(uint32(stack[2]), uint64(math.Round(now(ctx)*1e9)))
	stack[0] = 0
}

func resize(ctx context.Context, m api.Module, stack []uint64) {
	wanted, ok := int64(uint32(stack[0])), uint64(0)
	if hostOf(ctx).grow(m.Memory(), wanted) {
		ok = 1
	}
	stack[0] = ok
}

func write(ctx context.Context, m api.Module, stack []uint64) {
	n := hostOf(ctx).write(m.Memory(), uint32(stack[1]), uint32(stack[2]))
	m.Memory().WriteUint32Le(uint32(stack[3]), n)
	stack[0] = 0
}

// environment says that there are no variables, of no size.
func environment(_ context.Context, m api.Module, stack []uint64) {
	m.Memory().WriteUint32Le(uint32(stack[0]), 0)
	m.Memory().WriteUint32Le(uint32(stack[1]), 0)
	stack[0] = 0
}
