//go:build !nohighs

package highs

import (
	"context"
	_ "embed" // for the module
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// wasm is HiGHS; README.md says where it comes from.
//
//go:embed highs.wasm
var wasm []byte

const (
	pageSize    = 65536
	hostModule  = "a"
	coreVersion = "1.12.0" // of wazero: compiled code of another one is never looked at
)

// program is the module as machine code, from which instances are made.
type program struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
	memory  int64
	slots   chan struct{} // one for each solve at work
}

// compile makes machine code of the module, or finds it in the folder. Code there
// that cannot be read, as of another version or cut short, is made anew.
func compile(o Options, folder string) (*program, error) {
	config, err := compiler()
	if err != nil {
		return nil, err
	}
	config = config.WithCloseOnContextDone(o.Preemptible).WithMemoryLimitPages(uint32(o.Memory / pageSize))
	p := &program{memory: o.Memory, slots: make(chan struct{}, o.Instances)}
	return p, p.find(config, folder, wasm)
}

// find loads code from the folder, where there is one, or makes it and keeps it there; else without.
func (p *program) find(config wazero.RuntimeConfig, folder string, code []byte) error {
	for tries := 2; tries > 0 && folder != ""; tries-- {
		cache, err := wazero.NewCompilationCacheWithDir(folder)
		if err != nil {
			break
		}
		if err := p.load(config.WithCompilationCache(cache), code); err == nil {
			return nil
		}
		// What is spoilt is never replaced, so it goes.
		if err := os.RemoveAll(folder); err != nil {
			break
		}
	}
	return p.load(config, code)
}

// compiler returns the configuration of wazero's compiler. wazero panics where it has none.
func compiler() (config wazero.RuntimeConfig, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w (%v)", ErrPlatform, r)
		}
	}()
	config = wazero.NewRuntimeConfigCompiler()
	return config, wazero.NewRuntimeWithConfig(context.Background(), config).Close(context.Background())
}

// cacheFolder is the folder for code of this version of wazero; empty if none can be had.
func cacheFolder(folder string) string {
	if folder == NoCache {
		return ""
	}
	if folder == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		folder = filepath.Join(user, "fairlead", "highs")
	}
	folder = filepath.Join(folder, coreVersion)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return ""
	}
	return folder
}

// load compiles code, and what it needs of the world.
func (p *program) load(config wazero.RuntimeConfig, code []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w (%v)", ErrPlatform, r)
		}
	}()
	// Half of the processors, as others have work to do meanwhile.
	ctx := experimental.WithCompilationWorkers(context.Background(), max(1, runtime.GOMAXPROCS(0)/2))
	p.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if p.module, err = p.runtime.CompileModule(ctx, code); err != nil {
		return fmt.Errorf("HiGHS cannot be compiled: %w", err)
	}
	if err := provide(ctx, p.runtime); err != nil {
		return fmt.Errorf("what HiGHS needs cannot be compiled: %w", err)
	}
	return nil
}
