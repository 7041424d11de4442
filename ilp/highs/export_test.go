//go:build !nohighs

package highs

import (
	"context"

	"github.com/tetratelabs/wazero"

	"fairlead.dev/fairlead/ilp"
)

// Trap makes HiGHS run a solver at an address that is not in its memory.
func (e *Engine) Trap() error {
	h := &host{memory: e.program.memory, copied: make(chan struct{})}
	ctx := context.WithValue(context.Background(), hostKey{}, h)
	return e.program.attempt(ctx, h, func(in *instance) answer {
		in.call(highsRun, 0xfffffff0)
		return answer{}
	}).err
}

// Abort makes HiGHS read values beyond its memory, for which it asks by the gigabyte.
func (e *Engine) Abort() error {
	h := &host{memory: e.program.memory, copied: make(chan struct{})}
	ctx := context.WithValue(context.Background(), hostKey{}, h)
	return e.program.attempt(ctx, h, func(in *instance) answer {
		in.call(highsPassMip, in.call(highsCreate), 1<<30, 0, 0, byRows, minimise, 0, 8, 8, 8, 8, 8, 8, 8, 8, 8)
		return answer{}
	}).err
}

// GivenUp solves for a caller who does not wait any more, and returns what stopped it.
func (e *Engine) GivenUp(m *ilp.Model) (ilp.Limit, error) {
	h := &host{memory: e.program.memory, copied: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), hostKey{}, h))
	cancel()
	o := e.program.attempt(ctx, h, func(in *instance) answer { return in.solve(request{model: m}) })
	return o.answer.limit, o.err
}

// Version is what the module says of itself.
func (e *Engine) Version() string {
	h := &host{memory: e.program.memory, copied: make(chan struct{})}
	ctx := context.WithValue(context.Background(), hostKey{}, h)
	version := ""
	e.program.attempt(ctx, h, func(in *instance) answer {
		address := uint32(in.call(highsVersion))
		for b, _ := in.module.Memory().ReadByte(address); b != 0; b, _ = in.module.Memory().ReadByte(address) {
			version += string(rune(b))
			address++
		}
		return answer{}
	})
	return version
}

// CoreVersion is that of wazero by which the folder of compiled code is named.
const CoreVersion = coreVersion

// Module is the embedded module.
func Module() []byte { return wasm }

// Find compiles a module other than HiGHS, with the folder as its cache.
func Find(folder string, code []byte) error {
	return new(program).find(wazero.NewRuntimeConfigCompiler(), cacheFolder(folder), code)
}
