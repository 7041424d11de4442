// Package fairlead_test holds what is true of the module as a whole. The root
// has no other Go file.
package fairlead_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "fairlead.dev/fairlead"

// layers is the import policy of this module: each package, then the packages
// of this module that it may import; * is all of them. A package that is not
// here is an error. This is a statement of design: do not edit it to make a
// build pass.
const layers = `
cluster:
capacity: cluster sched
capacity/fleet: cluster
capacity/moves: cluster sched
constraint: cluster internal/nearest
constraint/lane: cluster constraint constraint/conflict sched
constraint/conflict: cluster constraint constraint/board
constraint/constrainttest: cluster constraint
constraint/planted: cluster constraint
constraint/request: cluster constraint constraint/file constraint/kubernetes internal/document
constraint/outcome: cluster constraint constraint/conflict constraint/exact constraint/request
constraint/board: cluster constraint
constraint/greedy: cluster constraint constraint/board
constraint/file: cluster constraint internal/document
constraint/search: cluster constraint constraint/board constraint/greedy
constraint/exact: cluster constraint constraint/board ilp
constraint/kubernetes: cluster internal/manifest
constraint/kubernetes/kubernetestest: cluster constraint/kubernetes internal/manifest
class: cluster internal/document internal/nearest internal/wide queue/promethee
sched: cluster
sched/book: cluster internal/heap sched
sched/keeper: cluster
fairlead: cluster sched sched/book sched/evict sched/lifetime sched/locality sched/worth
sched/worth: cluster sched
sched/lifetime: cluster internal/heap sched
sched/locality: cluster
sched/evict: cluster sched
sched/schedtest: cluster sched
policies: cluster constraint constraint/exact constraint/greedy constraint/lane constraint/search fairlead flow flow/bandwidth flow/cpumem flow/ecsched flow/quincy flow/slack flow/spread ilp internal/nearest mcmf queue queue/fragmentation sched sched/book sched/lifetime
policies/chosen: class cluster policies queue/promethee recording sched
policies/chosen/chosentest: policies policies/chosen
flow: cluster flow/pack internal/heap mcmf sched sched/book sched/evict
flow/spread: cluster flow
flow/cpumem: cluster flow
flow/quincy: cluster flow sched/locality
flow/bandwidth: cluster flow
flow/slack: cluster flow flow/cpumem sched/book
flow/pack:
queue: cluster internal/heap queue/fragmentation queue/power queue/promethee sched sched/book sched/evict sched/lifetime
queue/fragmentation: cluster
queue/power: cluster internal/nearest
queue/promethee:
flow/ecsched: cluster internal/heap mcmf sched sched/book
internal/cputime:
internal/heap:
internal/document: internal/nearest
internal/manifest: cluster
internal/nearest:
internal/parquet:
internal/spill: internal/heap
internal/strict: internal/nearest
internal/unpack:
internal/wide:
ilp:
ilp/highs: ilp
mcmf:
mcmf/dimacs: mcmf
mcmf/mcmftest: mcmf
mcmf/race: mcmf
recording: cluster internal/strict mcmf sched
report: cluster internal/strict
report/page: report
shadow: cluster recording report sched
sim: class cluster constraint internal/heap internal/wide queue/fragmentation queue/power report sched sched/keeper sim/trace
sim/trace: cluster internal/nearest queue/fragmentation
sim/trace/google2011: cluster internal/spill sim/trace
sim/trace/azure2017: cluster sim/trace
sim/trace/azure2020: cluster sim/trace
sim/trace/stream: cluster internal/parquet queue/fragmentation sim/trace
sim/trace/google2019: cluster internal/nearest internal/parquet internal/spill sim/trace
sim/trace/qos: cluster sim/trace
sim/trace/openb: cluster queue/fragmentation sim/trace
sim/trace/alibaba2018: cluster internal/spill sim/trace
sim/trace/dlrm: cluster sim/trace
sim/trace/swf: cluster sim/trace
sim/trace/gpujobs: cluster sim/trace
sim/trace/philly: cluster sim/trace sim/trace/gpujobs
sim/trace/chronus: cluster sim/trace sim/trace/gpujobs
sim/trace/helios: sim/trace sim/trace/gpujobs
sim/trace/acme: sim/trace sim/trace/gpujobs
sim/trace/gavel: cluster sim/trace sim/trace/gpujobs
sim/trace/alibaba2020: cluster sim/trace sim/trace/gpujobs
sim/trace/alibaba2026: cluster sim/trace sim/trace/gpujobs
sim/trace/ecsched: cluster sim/trace
sim/trace/kubernetes: cluster constraint constraint/kubernetes internal/document internal/manifest internal/nearest sim/trace
sim/trace/place: cluster constraint constraint/request sim/trace
internal/checkmoves:
internal/kmeans:
internal/kubedump:
internal/mutants:
sim/workload: cluster internal/heap internal/kmeans queue/fragmentation sim/trace
setup: class cluster constraint/request flow ilp internal/document internal/nearest internal/unpack internal/wide mcmf policies policies/chosen queue/fragmentation queue/power recording report sched sched/keeper sim sim/trace sim/trace/acme sim/trace/alibaba2018 sim/trace/alibaba2020 sim/trace/alibaba2026 sim/trace/azure2017 sim/trace/azure2020 sim/trace/chronus sim/trace/dlrm sim/trace/ecsched sim/trace/gavel sim/trace/google2011 sim/trace/google2019 sim/trace/gpujobs sim/trace/helios sim/trace/kubernetes sim/trace/openb sim/trace/philly sim/trace/place sim/trace/qos sim/trace/stream sim/trace/swf sim/workload
whatif: report
advise: cluster report sched sim/trace
sweep: internal/document internal/nearest internal/strict policies report setup sim/trace
timeline: cluster sched
explain: cluster flow internal/nearest recording report sched
experiment: class cluster constraint constraint/greedy constraint/planted constraint/request constraint/search fairlead internal/cputime internal/heap internal/nearest policies queue/power report sched sched/lifetime setup sim sim/trace sim/trace/azure2017 sim/trace/dlrm sim/trace/ecsched sim/trace/gavel sim/trace/google2011 sim/trace/gpujobs sim/trace/openb sim/trace/philly sim/trace/place sim/trace/qos sim/workload
cli: *
cmd/fairlead: cli
`

// pure packages decide. They see no clock, chance, network, file, lock or log,
// start no goroutine and keep nothing between calls but what they return.
const pure = `capacity capacity/fleet capacity/moves cluster constraint constraint/board constraint/conflict constraint/exact constraint/greedy constraint/kubernetes constraint/lane constraint/planted constraint/search fairlead flow flow/bandwidth flow/cpumem flow/ecsched flow/pack flow/quincy flow/slack flow/spread ilp internal/heap internal/kmeans internal/manifest internal/nearest internal/wide mcmf policies queue queue/fragmentation queue/power queue/promethee sched sched/book sched/evict sched/keeper sched/lifetime sched/locality sched/worth`

// Each of these stands for itself and for all packages below it, except that
// math/rand/v2 is welcome everywhere: its source is passed in.
const (
	bannedInPure = `context crypto/rand hash/maphash io/fs log math/rand net os runtime sync syscall time`
	bannedAlways = `math/rand k8s.io sigs.k8s.io`
)

func TestLayers(t *testing.T) {
	complaints, files, err := newPolicy(layers, pure).check(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("found no Go file to check")
	}
	for _, c := range complaints {
		t.Error(c)
	}
}

// TestLayersCanFail plants one violation at a time and wants exactly one
// complaint about it, on that file.
func TestLayersCanFail(t *testing.T) {
	for _, tc := range []struct{ name, file, source, want string }{
		{"arrow against the policy", "sched/a.go", `import _ "fairlead.dev/fairlead/sim"`, "sched may not import sim"},
		{"arrow to the root", "sched/a.go", `import _ "fairlead.dev/fairlead"`, "sched may not import fairlead.dev/fairlead"},
		{"package nobody planned", "util/a.go", ``, "not in the layers table"},
		{"sub-package nobody planned", "queue/order/a.go", ``, "not in the layers table"},
		{"clock", "cluster/a.go", `import _ "time"`, "may not import time"},
		{"below a banned package", "queue/a.go", `import _ "sync/atomic"`, "may not import sync/atomic"},
		{"foreign code in a pure package", "queue/a.go", `import _ "github.com/a/b"`, "may not import github.com/a/b"},
		{"old chance", "sim/a.go", `import _ "math/rand"`, "nothing here may import math/rand"},
		{"kubernetes", "cmd/fairlead/a.go", `import _ "k8s.io/api/core/v1"`, "nothing here may import k8s.io/api/core/v1"},
		{"goroutine", "sched/a.go", `func f() { go f() }`, "goroutine"},
		{"channel", "sched/a.go", `func f(c <-chan int) {}`, "channel"},
		{"channel of another's type", "sched/a.go", `func f[T any](c T) { select {} }`, "select"},
		{"init", "queue/a.go", `func init() {}`, "init"},
		{"variable", "cluster/a.go", `var table = []int{1}`, "variable table"},
		{"variable beside an error", "cluster/a.go", `import "errors"; var errX, n = errors.New("x"), 1`, "variable n"},
		{"does not parse", "cluster/a.go", `func`, "expected"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			world := fstest.MapFS{
				"cluster/fine.go": goFile(`import ("errors"; "math/rand/v2"; _ "fmt")
					var ErrX = errors.New("x")
					var _ error = ErrX
					var _ rand.Source
					type t struct{}
					func (t) init() {}`),
				"sim/fine.go":               goFile(`import ("sync"; _ "time"; _ "fairlead.dev/fairlead/sched"); var mu sync.Mutex; func f(c chan int) { go f(c) }`),
				"cluster/a_test.go":         goFile(`import _ "time"; var x = 1`),
				"cluster/testdata/src/a.go": goFile(`import _ "time"`),
				".cache/a.go":               goFile(`import _ "math/rand"`),
				"kube/go.mod":               {},
				"kube/a.go":                 goFile(`import _ "k8s.io/api"`),
			}
			if got, files, err := newPolicy(layers, pure).check(world); err != nil || len(got) > 0 || files != 2 {
				t.Fatalf("before planting: %q, %d files, %v; want no complaint and two files", got, files, err)
			}
			world[tc.file] = goFile(tc.source)
			got, _, err := newPolicy(layers, pure).check(world)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || !strings.HasPrefix(got[0], tc.file+":") || !strings.Contains(got[0], tc.want) {
				t.Errorf("complaints %q, want one on %s that says %q", got, tc.file, tc.want)
			}
		})
	}
}

func goFile(body string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("package p\n" + body + "\n")}
}

// policy is a layers table that has been read.
type policy struct {
	allowed map[string][]string
	pure    []string
}

func newPolicy(layers, pure string) policy {
	p := policy{allowed: map[string][]string{}, pure: strings.Fields(pure)}
	for line := range strings.Lines(strings.TrimSpace(layers)) {
		name, deps, _ := strings.Cut(line, ":")
		p.allowed[name] = strings.Fields(deps)
	}
	return p
}

// check returns a complaint for each breach, and how many files it read. Tests,
// testdata, hidden folders and modules of their own are not looked at. It reads
// the files directly, not through "go list": the go command then knows what a
// test depends on, and does not serve a stale cached result.
func (p policy) check(module fs.FS) (complaints []string, files int, err error) {
	err = fs.WalkDir(module, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != ".":
			_, noModule := fs.Stat(module, file+"/go.mod")
			if noModule == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		case path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		files++
		src, err := fs.ReadFile(module, file)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, src, parser.SkipObjectResolution)
		if err != nil {
			complaints = append(complaints, err.Error())
			return nil
		}
		report := func(at token.Pos, format string, args ...any) {
			complaints = append(complaints, set.Position(at).String()+": "+fmt.Sprintf(format, args...))
		}
		p.checkImports(path.Dir(file), f, report)
		if slices.Contains(p.pure, path.Dir(file)) {
			checkPure(f, report)
		}
		return nil
	})
	return complaints, files, err
}

type reportFunc func(at token.Pos, format string, args ...any)

func (p policy) checkImports(name string, f *ast.File, report reportFunc) {
	deps, known := p.allowed[name]
	if !known {
		report(f.Package, "package %s is not in the layers table", name)
		return
	}
	for _, spec := range f.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		host, _, _ := strings.Cut(imp, "/")
		dep, ours := strings.CutPrefix(imp, module)
		dep = strings.TrimPrefix(dep, "/")
		switch {
		case ours && !slices.Contains(deps, dep) && !slices.Contains(deps, "*"):
			report(spec.Pos(), "%s may not import %s", name, cmp.Or(dep, module))
		case !ours && under(imp, bannedAlways):
			report(spec.Pos(), "nothing here may import %s", imp)
		case !ours && slices.Contains(p.pure, name) && (under(imp, bannedInPure) || strings.Contains(host, ".")):
			report(spec.Pos(), "%s is pure; it may not import %s", name, imp)
		}
	}
}

// under reports whether imp is one of the banned packages or below one.
func under(imp, banned string) bool {
	if imp == "math/rand/v2" {
		return false
	}
	return slices.ContainsFunc(strings.Fields(banned), func(b string) bool {
		return imp == b || strings.HasPrefix(imp, b+"/")
	})
}

// checkPure looks for what a pure package can do wrong without an import.
func checkPure(f *ast.File, report reportFunc) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n.Pos(), "a pure package starts no goroutine")
		case *ast.ChanType:
			report(n.Pos(), "a pure package has no channel")
		case *ast.SelectStmt:
			report(n.Pos(), "a pure package has no select")
		}
		return true
	})
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.Name == "init" {
				report(decl.Pos(), "a pure package has no init function")
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if vars, ok := spec.(*ast.ValueSpec); ok && decl.Tok == token.VAR {
					checkVars(vars, report)
				}
			}
		}
	}
}

// checkVars allows error values and the assertion that a type has an
// interface's methods, var _ T = x.
func checkVars(vars *ast.ValueSpec, report reportFunc) {
	for i, name := range vars.Names {
		if name.Name == "_" || i < len(vars.Values) && makesError(vars.Values[i]) {
			continue
		}
		report(name.Pos(), "a pure package has no variable %s; only error values", name.Name)
	}
}

// makesError reports whether x is errors.New(…) or fmt.Errorf(…).
func makesError(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := fun.X.(*ast.Ident)
	return ok && (pkg.Name == "errors" && fun.Sel.Name == "New" || pkg.Name == "fmt" && fun.Sel.Name == "Errorf")
}
