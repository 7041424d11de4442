package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a package with one change.
type mutant struct {
	of       *loaded
	file     *source
	edit     edit
	line     int
	function string // that is changed, with its receiver's type
	operator string
	was, is  string // the lines that are changed, joined, without the space around them
	verdict  verdict
}

// path is the file's, from the root of the repository.
func (m *mutant) path() string {
	return filepath.ToSlash(filepath.Join(m.of.target.module, m.of.target.name, m.file.name))
}

// key says what the change is, wherever in the file it stands.
func (m *mutant) key() string {
	return fmt.Sprintf("%s, %s, %s\n- %s\n+ %s\n", m.path(), m.function, m.operator, m.was, m.is)
}

// String is the mutant as equivalent.txt would name it, under the place where it stands.
func (m *mutant) String() string { return fmt.Sprintf("# line %d\n%s", m.line, m.key()) }

// text is the changed file.
func (m *mutant) text() []byte {
	t := m.file.text
	return slices.Concat(t[:m.edit.from], []byte(m.edit.text), t[m.edit.to:])
}

// mutants are all changes that the operators can make, in the order of the source. Some of
// them may not compile.
func (p *loaded) mutants() []*mutant {
	var all []*mutant
	for _, f := range p.files {
		if slices.Contains(p.target.skip, f.name) {
			continue
		}
		for _, decl := range f.tree.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			find := &finder{set: p.set, info: p.info, text: f.text}
			find.found = func(operator string, e edit) {
				m := &mutant{of: p, file: f, edit: e, function: nameOf(fn), operator: operator}
				m.line, m.was, m.is = lines(f.text, e)
				all = append(all, m)
			}
			find.walk(fn.Body)
		}
	}
	return all
}

// nameOf is the function's name, after its receiver's type if it has one.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// lines are the lines that the edit changes, before and after it, and the number of the first.
func lines(text []byte, e edit) (number int, was, is string) {
	from := bytes.LastIndexByte(text[:e.from], '\n') + 1
	to := len(text)
	if n := bytes.IndexByte(text[e.to:], '\n'); n >= 0 {
		to = e.to + n
	}
	join := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return 1 + bytes.Count(text[:from], []byte("\n")), join(string(text[from:to])), join(string(text[from:e.from]) + e.text + string(text[e.to:to]))
}

// draw takes so many mutants that compile, each operator in turn. Where an operator has no more,
// the others give.
func (p *loaded) draw(seed uint64, count int) []*mutant {
	byOperator := map[string][]*mutant{}
	same := map[string]int{}
	luck := map[*mutant]uint64{}
	for _, m := range p.mutants() {
		key := m.key()
		same[key]++ // of two lines alike each has its own number
		luck[m] = number(seed, fmt.Sprint(key, same[key]))
		byOperator[m.operator] = append(byOperator[m.operator], m)
	}
	for _, list := range byOperator {
		slices.SortFunc(list, func(a, b *mutant) int {
			return cmp.Or(cmp.Compare(luck[a], luck[b]), cmp.Compare(a.path(), b.path()), cmp.Compare(a.edit.from, b.edit.from), cmp.Compare(a.edit.to, b.edit.to))
		})
	}
	var drawn []*mutant
	for left := true; left && len(drawn) < count; {
		left = false
		for _, operator := range operators() {
			for len(byOperator[operator]) > 0 && len(drawn) < count {
				m := byOperator[operator][0]
				byOperator[operator] = byOperator[operator][1:]
				if p.compiles(m.file, m.text()) {
					drawn, left = append(drawn, m), true
					break
				}
			}
		}
	}
	return drawn
}

// number is what PCG draws from the seed and the text.
func number(seed uint64, text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return rand.New(rand.NewPCG(seed, h.Sum64())).Uint64()
}
