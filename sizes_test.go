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

// embeddings is the same list for types with all that is promoted to them: the fields and the methods of
// what they embed of their own package, which the list above counts as one field each. Embedding is composition
// here: the parts are within the limits, or in the list above, and stand for an idea of their own; or the whole is one of them at work
// on something, as a pass of a policy is. It only shrinks as well.
const embeddings = `
capacity/fleet.solver: 19 32 a shop, which makes bins, and what is chosen of these
cluster.State: 25 184 the writer around a View, which is handed out alone
cluster.boundRow: 17 18 a Bound as it is given, and how it stands
cluster.checker: 23 94 recomputes what a View holds
constraint/board.Board: 65 83 an assignment: places, room, counts, a tally and a memory of estimates, each a part with an idea of its own
constraint/board.counts: 17 23 counts of containers by set, and their sums, which a check adds up alone
constraint/board.floor: 70 97 a Board that is kept empty, of which it asks what each container costs at least
constraint/exact.binder: 30 64 the builder at work on constraints
constraint/exact.builder: 25 45 a builder of columns around one of rows
constraint/exact.rows: 18 19 a Model whose rows are being written
constraint/kubernetes.translator: 13 38 a parser: a translation in the making
constraint/request.reading: 15 45 a parser: a Request in the making
constraint/search.Search: 40 53 the moves that it draws, and for how long it goes on
constraint/search.moves: 32 41 the plan that is tried, who is near whom, and the nodes that are looked at, each a part with a file of its own
experiment.edge: 19 11 a core with its world, and what is measured of it by the clock
experiment.outcome: 22 6 a simulation that was done, and what it promised
experiment.tried: 24 7 an outcome, of a part
fairlead.explanation: 16 39 the policy, asked at a moment
fairlead.finding: 19 33 the policy at work on one task
fairlead.ganging: 19 56 the policy in a pass for gangs
fairlead.moving: 18 54 the policy in a pass that moves
fairlead.preempting: 18 33 the policy that evicts for one task
fairlead.refining: 18 42 the policy in a pass that places a batch anew
fairlead.united: 20 34 the policy, and its stage of applications
internal/manifest.Claim: 18 3 a parser: the fields of a document, with those that a volume has as well
internal/manifest.PersistentVolume: 17 7 a parser: the fields of a document, with those that a claim has as well
internal/manifest.Spec: 53 2 a parser: the fields of a document, by kinds of objects
kube/api/v1alpha1.ServiceClassSpec: 18 2 an object of the API: its fields stand in one level of YAML, its methods are generated
kube/devices.bounds: 12 44 a search, and bounds that spare it
kube/devices.conflicts: 10 33 a search that is asked again for less
kube/scheduler.Options: 16 5 options, with those of what not every API server serves: a record that is asked a few things
kube/scheduler.Scheduler: 30 35 what it is made of, kept as it was given
kube/world.Group: 19 9 a group, its key, and its terms, which are compared as a whole
kube/world.Pod: 48 26 a pod: how it was last seen, its turn in the queue, and its run, each renewed as a whole and kept by a file of its own
kube/world.Volumes: 20 33 what follows for pods, and the catalogue of objects that it follows from
kube/world.query: 20 7 a query, and its result, which is replaced as a whole
mcmf.auction: 49 131 solver state: bids on a contracted graph, which others solve, too
mcmf/dimacs.minFile: 19 20 a parser: a scanner of lines, and what was read
mcmf/mcmftest.netgen: 16 5 a network in the making, and the parameters it was asked for by
queue.windowed: 18 17 a greedy, the parameters, and the window
recording.wireEvent: 54 6 a parser: the fields of all events as they are written
recording.wireLane: 20 3 a parser: the fields of a Lane as they are written
report/page.view: 22 1 what the template shows: what stands in every page, how this one begins, and the rest
sched.lane: 18 2 a Lane as it was given, and where it stands
sched/evict.Search: 30 35 a search: the deficit, who is in the way, and what is guarded, each begun anew for a node or a shape
sched/keeper.plan: 24 21 a Keeper, in one decision
sched/schedtest.story: 19 39 a test world: a method for each command of a scenario, and the names in it
sched/schedtest.world: 31 78 a test world: plays nodes and tasks around a core, in a mode and by rules
sim.measures: 16 6 all observers, and the list by which they are called
sim.simulation: 16 19 the parts of a run, and its upkeep of nodes, a record
sim.task: 39 8 a record: its methods read, and count what it used
sim.tasks: 17 17 the book of tasks, and of their shapes, which is asked alone
sim/trace.Description: 33 2 a record: its methods count into it
sim/trace/kubernetes.Source: 19 32 a parser: a folder that was read, and objects that are only counted
sim/trace/kubernetes.changer: 23 49 a Source with changes, and what they came to
sim/trace/kubernetes.elsewhere: 19 36 a Source whose pods go to other nodes
sim/trace/kubernetes.mounter: 20 40 a Source whose pods get what follows from their volumes
sim/workload.withData: 17 14 a generator, and racks in which blocks are stored, which is asked alone
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
	for _, c := range []struct {
		list  string
		types int // that it names, and no more ever
		count func(map[string]*typeSize, string) (fields, methods int)
	}{{sizes, 19, own}, {embeddings, 58, promoted}} {
		if lines := strings.Count(strings.TrimSpace(c.list), "\n") + 1; lines != c.types {
			t.Errorf("a list names %d types, and %d were there: take a type that came apart; of one that left write the smaller number", lines, c.types)
		}
		complaints, err := complainOfSizes(types, c.list, c.count)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range complaints {
			t.Error(c)
		}
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
				got, err := complainOfSizes(types, listed, own)
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
	if got, err := complainOfSizes(within, "a.T: 15 0 why", own); err != nil || len(got) != 1 {
		t.Errorf("a listed type within the limits: complaints %q, %v; want one", got, err)
	}
	for _, bad := range []string{"a.Large: 17 1", "a.Large: many 1 why", "a.Large 17 1 why", listed + "\n" + listed} {
		if _, err := complainOfSizes(nil, bad, own); err == nil {
			t.Errorf("the list %q is accepted", bad)
		}
	}
}

// TestEmbeddingsCanFail plants one type at a time beside parts that it may embed, and wants exactly one complaint about it, or none.
func TestEmbeddingsCanFail(t *testing.T) {
	const listed = "a.Listed: 16 1 why"
	for _, tc := range []struct{ name, file, source, want string }{
		{"at the limit", "a/b.go", "type T struct { Ten; " + nFields(5) + " }; func (T) n() {}", ""},
		{"fields", "a/b.go", "type T struct { Ten; " + nFields(6) + " }; func (T) n() {}", "a.T has 16 fields and 2 methods, with what it embeds"},
		{"by a pointer", "a/b.go", "type T struct { *Ten; " + nFields(6) + " }", "a.T has 16 fields and 1 methods"},
		{"of what is embedded in it", "a/b.go", "type T struct { Deep; " + nFields(4) + " }", "a.T has 16 fields and 1 methods"},
		{"generic", "a/b.go", "type T struct { G[int]; " + nFields(7) + " }; func (T) n() {}; type G[K any] struct { " + nFields(9) + " }", "a.T has 16 fields and 1 methods"},
		{"methods", "a/b.go", "type T struct { Ten }\n" + nMethods("T", 31), "a.T has 10 fields and 31 methods"}, // of which m1 hides none
		{"methods of its parts", "a/b.go", "type T struct { Many }; func (T) n() {}", "a.T has 1 fields and 31 methods"},
		{"methods by one name", "a/b.go", "type T struct { Many }; func (T) m7() {}", ""},
		{"a record", "a/b.go", "type T struct { R; " + nFields(9) + " }; type R struct { " + nFields(9) + " }", ""},
		{"an interface in it", "a/b.go", "type T struct { I; " + nFields(14) + " }; func (T) n() {}; type I interface { a(); b() }", ""},
		{"another package's", "b/b.go", `import x "fairlead.dev/fairlead/a"` + "\ntype T struct { x.Ten; " + nFields(14) + " }; func (T) n() {}", ""},
		{"no struct", "a/b.go", "type T struct { N; " + nFields(14) + " }; type N int\n" + nMethods("N", 30), ""},
		{"in itself", "a/b.go", "type T struct { *T; " + nFields(14) + " }; func (T) n() {}", ""},
		{"grown", "a/listed.go", "type Listed struct { Ten; " + nFields(7) + " }", "a.Listed has 17 fields and 1 methods, with what it embeds, 16 and 1 are listed: take it apart"},
		{"shrunk", "a/listed.go", "type Listed struct { Ten; " + nFields(5) + " }", "a.Listed has 15 fields and 1 methods, with what it embeds, 16 and 1 are listed: write the smaller number, or take it off the list"},
		{"embeds nothing any more", "a/listed.go", "type Listed struct { " + nFields(15) + " }", "write the smaller number, or take it off the list"},
		{"gone", "a/listed.go", "", "a.Listed is listed, but there is no such type: take it off the list"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			world := fstest.MapFS{
				"a/listed.go": goFile("type Listed struct { Ten; " + nFields(6) + " }"),
				"a/parts.go":  goFile("type Ten struct { " + nFields(10) + " }; func (*Ten) m0() {}; type Deep struct { Ten; x, y int }; type Many struct { x int }\n" + nMethods("Many", 30)),
				tc.file:       goFile(tc.source),
			}
			types, err := countTypes(world)
			if err != nil {
				t.Fatal(err)
			}
			switch got, err := complainOfSizes(types, listed, promoted); {
			case err != nil:
				t.Error(err)
			case tc.want == "" && len(got) > 0:
				t.Errorf("complaints %q, want none", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("complaints %q, want one that says %q", got, tc.want)
			}
		})
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
	embedded    []string // an interface's interfaces, or of a struct what it embeds of its own package, as keys of the types
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
					size.embeds(folder, x)
				case *ast.InterfaceType:
					countInterface(size, x, folder, f)
				}
			}
		}
	}
}

// embeds notes what of its own package a struct embeds.
func (s *typeSize) embeds(folder string, x *ast.StructType) {
	for _, field := range x.Fields.List {
		of := field.Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		if name, ok := unindexed(of).(*ast.Ident); ok && len(field.Names) == 0 && !slices.Contains(s.embedded, folder+"."+name.Name) {
			s.embedded = append(s.embedded, folder+"."+name.Name)
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

// own counts a type's fields, of which what it embeds is one, and its methods.
func own(types map[string]*typeSize, key string) (fields, methods int) {
	if types[key].isInterface {
		return 0, methodsOf(types, key)
	}
	return types[key].fields, len(types[key].methods)
}

// promoted counts the fields and methods of a struct that embeds others of its package, with those that are promoted to it from
// these: in place of what is embedded counts what is in it, if that is a struct. Of other types, which own counts, there is nothing to say.
func promoted(types map[string]*typeSize, key string) (fields, methods int) {
	all, seen := map[string]bool{}, map[string]bool{}
	var add func(key string)
	add = func(key string) {
		seen[key] = true
		size := types[key]
		fields += size.fields
		maps.Copy(all, size.methods)
		for _, e := range size.embedded {
			part := types[e]
			switch {
			case part == nil || part.isInterface || seen[e]:
			case part.fields == 0: // no struct, or an empty one
				maps.Copy(all, part.methods)
			default:
				fields--
				add(e)
			}
		}
	}
	if add(key); len(seen) == 1 {
		return 0, 0
	}
	return fields, len(all)
}

// methodsOf counts an interface's methods with those of the interfaces in it. One
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

// complainOfSizes holds the types, as they are counted, against the limits, and against the list of
// those that may exceed them.
func complainOfSizes(types map[string]*typeSize, list string, count func(map[string]*typeSize, string) (fields, methods int)) ([]string, error) {
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
		fields, methods := count(types, key)
		was, isListed := listed[key]
		limit, isOver := overLimit(key, types[key].isInterface, fields, methods)
		has := fmt.Sprintf("%s has %d fields and %d methods", key, fields, methods)
		if ownFields, ownMethods := own(types, key); fields > ownFields || methods > ownMethods {
			has += ", with what it embeds"
		}
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
