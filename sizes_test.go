package fairlead_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// sizes names each type that is larger than the limits below: its fields, its
// methods, and why it may be. The list only shrinks: a type that grows is taken
// apart, one that has become smaller is written here with its new numbers, and
// one within the limits leaves. Structs without methods are records, and free.
const sizes = `
cluster.State: 3 107 the writer, named by the design: an event, a method
cluster.Task: 17 7 a record: its methods read and write one packed field
cluster.View: 23 77 the reader, named by the design: a question, a method
constraint/exact.Model: 17 14 solver state: the columns of a program, by what they stand for
constraint/kubernetes.translator: 9 38 a parser: reads manifests, a method for each form of a term
flow/pack.Packer: 18 17 solver state, flat arrays
internal/manifest.Spec: 16 2 a parser: the fields of a document
kube/testbed.Bed: 12 40 a test world: real clusters
mcmf.Graph: 10 39 solver state: the graph that all algorithms read
mcmf.contracted: 40 119 solver state, flat arrays, named by the design
mcmf.scaling: 16 24 solver state, flat arrays
recording.Reader: 16 14 a parser: reads recordings
recording.wireEvent: 38 6 a parser: the fields of all events as they are written
sched/schedtest.story: 6 35 a test world: a method for each command of a scenario
sched/schedtest.world: 23 78 a test world: plays nodes and tasks around a core
sim.Config: 16 1 a record: its method validates it
sim.task: 26 8 a record: its methods read, and count what it used
sim/trace.Description: 31 2 a record: its methods count into it
sim/trace/stream.Reader: 19 30 a parser: reads streams
`

const (
	maxFields          = 15
	maxMethods         = 30
	maxInterface       = 3
	maxInterfaceAtEdge = 5 // in kube, cmd and sim
)

// TestSizesOfTypes counts the fields and methods of all types of this module
// and of the modules below it.
func TestSizesOfTypes(t *testing.T) {
	types, err := countTypes(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if types["cluster.State"] == nil || types["kube/world.World"] == nil {
		t.Error("did not find cluster.State and kube/world.World: what was counted?")
	}
	complaints, err := complainOfSizes(types, sizes)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range complaints {
		t.Error(c)
	}
}

// TestSizesCanFail plants one type at a time and wants exactly one complaint
// about it, or none.
func TestSizesCanFail(t *testing.T) {
	const listed = "a.Large: 17 1 the writer"
	large := func(fields int) string {
		return fmt.Sprintf("type Large struct { %s }; func (*Large) m() {}", nFields(fields))
	}
	for _, tc := range []struct{ name, file, source, want string }{
		{"at the limit", "b/b.go", "type T struct { " + nFields(15) + " }\n" + nMethods("T", 30), ""},
		{"fields", "b/b.go", "type T struct { " + nFields(16) + " }; func (T) m() {}", "b.T has 16 fields and 1 methods"},
		{"an embedded field", "b/b.go", "type T struct { " + nFields(15) + "; fmt.Stringer }; func (T) m() {}", "b.T has 16 fields"},
		{"a record", "b/b.go", "type T struct { " + nFields(16) + " }", ""},
		{"methods", "b/b.go", "type T int\n" + nMethods("T", 31), "b.T has 0 fields and 31 methods"},
		{"methods of pointers to a generic type", "b/b.go", "type T[K, V any] struct{}\n" + nMethods("*T[K, V]", 31), "31 methods"},
		{"methods in another file", "a/b.go", nMethods("Small", 30), "a.Small has 1 fields and 31 methods"},
		{"another package's methods", "b/b.go", "type Small int\n" + nMethods("Small", 30), ""},
		{"in a group, in a nested module", "kube/world/b.go", "type ( A = int; T struct { " + nFields(16) + " } ); func (T) m() {}", "kube/world.T has 16 fields"},
		{"interface", "b/b.go", "type T interface { a(); b(); c(); d() }", "b.T has 0 fields and 4 methods, want at most 3 methods in an interface"},
		{"interface at an edge", "kube/b/b.go", "type T interface { a(); b(); c(); d(); e() }", ""},
		{"wide interface at an edge", "kube/b/b.go", "type T interface { a(); b(); c(); d(); e(); f() }", "kube/b.T has 0 fields and 6 methods, want at most 5 methods in an interface"},
		{"embedded interfaces", "b/b.go", "type T interface { U; a() }; type U interface { error; b(); c() }", "b.T has 0 fields and 4 methods, want at most 3 methods in an interface"},
		{"another package's interface", "b/b.go", `import x "fairlead.dev/fairlead/a"` + "\ntype T interface { x.Three; a() }", "b.T has 0 fields and 4 methods, want at most 3 methods in an interface"},
		{"constraint", "b/b.go", "type T interface { ~int | ~string; a(); b(); c() }", ""},
		{"grown", "a/large.go", large(18), "a.Large has 18 fields and 1 methods, 17 and 1 are listed: take it apart"},
		{"shrunk", "a/large.go", large(16), "a.Large has 16 fields and 1 methods, 17 and 1 are listed: write the smaller number, or take it off the list"},
		{"a record at last", "a/large.go", "type Large struct { " + nFields(17) + " }", "write the smaller number, or take it off the list"},
		{"within the limits", "a/large.go", large(15), "a.Large has 15 fields and 1 methods, 17 and 1 are listed: write the smaller number, or take it off the list"},
		{"gone", "a/large.go", "", "a.Large is listed, but there is no such type: take it off the list"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			world := fstest.MapFS{
				"a/large.go":      goFile(large(17)),
				"a/small.go":      goFile("type Small struct{ x int }; func (s *Small) large() {}; type Three interface { d(); e(); f() }"),
				"a/a_test.go":     goFile("type T struct { " + nFields(16) + " }; func (T) m() {}"),
				"a/testdata/a.go": goFile("type T interface { a(); b(); c(); d() }"),
				".cache/a.go":     goFile("type T interface { a(); b(); c(); d() }"),
				"kube/go.mod":     {},
			}
			complaints := func() []string {
				types, err := countTypes(world)
				if err != nil {
					t.Fatal(err)
				}
				got, err := complainOfSizes(types, listed)
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			if got := complaints(); len(got) > 0 {
				t.Fatalf("before planting: %q", got)
			}
			world[tc.file] = goFile(tc.source)
			switch got := complaints(); {
			case tc.want == "" && len(got) > 0:
				t.Errorf("complaints %q, want none", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("complaints %q, want one that says %q", got, tc.want)
			}
		})
	}
	within := map[string]*typeSize{"a.T": {fields: 15}}
	if got, err := complainOfSizes(within, "a.T: 15 0 why"); err != nil || len(got) != 1 {
		t.Errorf("a listed type within the limits: complaints %q, %v; want one", got, err)
	}
	for _, bad := range []string{"a.Large: 17 1", "a.Large: many 1 why", "a.Large 17 1 why", listed + "\n" + listed} {
		if _, err := complainOfSizes(nil, bad); err == nil {
			t.Errorf("the list %q is accepted", bad)
		}
	}
}

// nFields are the fields of a struct, half of them named in one breath.
func nFields(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("f", i))
	}
	return strings.Join(names[:n/2], ", ") + " int; " + strings.Join(names[n/2:], " int; ") + " int"
}

func nMethods(receiver string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "func (%s) m%d() {}\n", receiver, i)
	}
	return b.String()
}

// typeSize is what was counted of one named type. Methods are a set of names,
// as build tags may give a type the same method twice.
type typeSize struct {
	fields      int
	methods     map[string]bool
	isInterface bool
	embedded    []string // an interface's interfaces, as keys of the types
}

// countTypes reads all Go files that are no test, and counts by folder and
// name, as in kube/world.World.
func countTypes(tree fs.FS) (map[string]*typeSize, error) {
	types := map[string]*typeSize{}
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		countFile(types, path.Dir(file), f)
		return nil
	})
	return types, err
}

func countFile(types map[string]*typeSize, folder string, f *ast.File) {
	of := func(name string) *typeSize {
		key := folder + "." + name
		if types[key] == nil {
			types[key] = &typeSize{methods: map[string]bool{}}
		}
		return types[key]
	}
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv != nil {
				of(receiver(decl.Recv.List[0].Type)).methods[decl.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				spec, ok := spec.(*ast.TypeSpec)
				if !ok || spec.Assign.IsValid() {
					continue
				}
				size := of(spec.Name.Name)
				switch x := spec.Type.(type) {
				case *ast.StructType:
					// Build tags may give a type two bodies; the larger one counts.
					size.fields = max(size.fields, x.Fields.NumFields())
				case *ast.InterfaceType:
					countInterface(size, x, folder, f)
				}
			}
		}
	}
}

func countInterface(size *typeSize, x *ast.InterfaceType, folder string, f *ast.File) {
	size.isInterface = true
	for _, field := range x.Methods.List {
		for _, name := range field.Names {
			size.methods[name.Name] = true
		}
		if len(field.Names) > 0 {
			continue
		}
		switch x := unindexed(field.Type).(type) {
		case *ast.Ident:
			size.embedded = append(size.embedded, folder+"."+x.Name)
		case *ast.SelectorExpr:
			size.embedded = append(size.embedded, folderOf(f, x.X.(*ast.Ident).Name)+"."+x.Sel.Name)
		}
	}
}

// folderOf is where the package lies that a file calls so. A package of others
// keeps its import path.
func folderOf(f *ast.File, name string) string {
	for _, spec := range f.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && path.Base(imp) == name {
			return strings.TrimPrefix(imp, module+"/")
		}
	}
	return name
}

// receiver is the name of a method's type.
func receiver(x ast.Expr) string {
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	return unindexed(x).(*ast.Ident).Name
}

// unindexed takes off the type arguments.
func unindexed(x ast.Expr) ast.Expr {
	switch x := x.(type) {
	case *ast.IndexExpr:
		return x.X
	case *ast.IndexListExpr:
		return x.X
	}
	return x
}

// methodsOf counts a type's methods with those of the interfaces in it. One
// that is not of this tree, such as error, counts as one method, and a
// constraint's union of types as none.
func methodsOf(types map[string]*typeSize, key string) int {
	all := map[string]bool{}
	var add func(key string)
	add = func(key string) {
		size := types[key]
		if size == nil {
			all[key] = true
			return
		}
		maps.Copy(all, size.methods)
		for _, e := range size.embedded {
			add(e)
		}
	}
	add(key)
	return len(all)
}

// complainOfSizes holds the types against the limits, and against the list of
// those that may exceed them.
func complainOfSizes(types map[string]*typeSize, list string) ([]string, error) {
	listed := map[string][2]int{}
	var complaints []string
	for line := range strings.Lines(strings.TrimSpace(list)) {
		key, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if len(words) < 3 {
			return nil, fmt.Errorf("list: %q: want TYPE: FIELDS METHODS REASON", line)
		}
		fields, err1 := strconv.Atoi(words[0])
		methods, err2 := strconv.Atoi(words[1])
		if err := cmp.Or(err1, err2); err != nil {
			return nil, fmt.Errorf("list: %s: %w", key, err)
		}
		if _, twice := listed[key]; twice {
			return nil, fmt.Errorf("list: %s stands there twice", key)
		}
		listed[key] = [2]int{fields, methods}
		if types[key] == nil {
			complaints = append(complaints, key+" is listed, but there is no such type: take it off the list")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(types)) {
		fields, methods := types[key].fields, methodsOf(types, key)
		was, isListed := listed[key]
		limit, isOver := overLimit(key, types[key].isInterface, fields, methods)
		has := fmt.Sprintf("%s has %d fields and %d methods", key, fields, methods)
		switch {
		case isListed && (fields > was[0] || methods > was[1]):
			complaints = append(complaints, fmt.Sprintf("%s, %d and %d are listed: take it apart", has, was[0], was[1]))
		case isListed && (fields < was[0] || methods < was[1] || !isOver):
			complaints = append(complaints, fmt.Sprintf("%s, %d and %d are listed: write the smaller number, or take it off the list", has, was[0], was[1]))
		case !isListed && isOver:
			complaints = append(complaints, has+", want at most "+limit+": take it apart")
		}
	}
	return complaints, nil
}

// overLimit is the limit of a type, and whether it is exceeded. Interfaces may be wider at
// the edges, which adapt what others defined.
func overLimit(key string, isInterface bool, fields, methods int) (limit string, isOver bool) {
	if !isInterface {
		return fmt.Sprintf("%d and %d", maxFields, maxMethods), fields > maxFields && methods > 0 || methods > maxMethods
	}
	most := maxInterface
	if top := key[:strings.IndexAny(key, "/.")]; top == "kube" || top == "cmd" || top == "sim" {
		most = maxInterfaceAtEdge
	}
	return fmt.Sprintf("%d methods in an interface", most), methods > most
}
