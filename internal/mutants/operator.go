package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
)

// This file finds the places at which each operator can change a package. An operator
// imitates one slip of the hand:
//
//	off by one         < for <=, > for >= and the other way round; a number and one more
//	dropped call       a call whose result nobody uses is left out
//	negated condition  of an if, a case without a value to compare, a result that is a comparison
//	wrong sign         + for -, += for -=, ++ for --, and the other way round; x for -x
//	swapped argument   two neighbours of one type change places
//
// Left out is what no test is to notice: what a panic says and what an error says, the
// step of a loop, whose wrong sign only takes the time up to the limit, and arguments
// whose order makes no difference.

// Operators, in the order in which mutants are drawn.
const (
	offByOne  = "off by one"
	dropped   = "dropped call"
	negated   = "negated condition"
	wrongSign = "wrong sign"
	swapped   = "swapped argument"
)

func operators() []string { return []string{offByOne, dropped, negated, wrongSign, swapped} }

// edit replaces the text from one offset of a file to another.
type edit struct {
	from, to int
	text     string
}

// finder collects the edits in one file.
type finder struct {
	set   *token.FileSet
	info  *types.Info
	text  []byte
	found func(operator string, e edit)
}

// walk looks at a function's body.
func (f *finder) walk(body ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			f.negate(n.Cond)
		case *ast.SwitchStmt:
			if n.Tag == nil {
				f.cases(n)
			}
		case *ast.ReturnStmt:
			f.result(n)
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok && !f.isPanic(call) {
				f.replace(dropped, n.Pos(), n.End(), "")
			}
		case *ast.BinaryExpr:
			f.binary(n)
		case *ast.UnaryExpr:
			if n.Op == token.SUB {
				f.replace(wrongSign, n.Pos(), n.X.Pos(), "")
			}
		case *ast.AssignStmt:
			f.token(n.TokPos, n.Tok, map[token.Token]token.Token{token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN}, wrongSign)
		case *ast.IncDecStmt:
			f.token(n.TokPos, n.Tok, map[token.Token]token.Token{token.INC: token.DEC, token.DEC: token.INC}, wrongSign)
		case *ast.ForStmt:
			f.loop(n)
			return false
		case *ast.BasicLit:
			f.number(n)
		case *ast.CallExpr:
			if f.isPanic(n) || f.makesError(n) {
				return false
			}
			f.swap(n)
		case *ast.ArrayType: // its length is no number that is reckoned with
			return false
		}
		return true
	})
}

// loop looks at a loop but for its step.
func (f *finder) loop(n *ast.ForStmt) {
	for _, part := range []ast.Node{n.Init, n.Cond, n.Body} {
		if part != nil {
			f.walk(part)
		}
	}
}

func (f *finder) negate(cond ast.Expr) {
	f.replace(negated, cond.Pos(), cond.End(), "!("+f.between(cond.Pos(), cond.End())+")")
}

// cases negates each condition of a switch that compares nothing.
func (f *finder) cases(n *ast.SwitchStmt) {
	for _, clause := range n.Body.List {
		if clause, ok := clause.(*ast.CaseClause); ok {
			for _, cond := range clause.List {
				f.negate(cond)
			}
		}
	}
}

// result negates a result that is a comparison, or several.
func (f *finder) result(n *ast.ReturnStmt) {
	for _, x := range n.Results {
		b, ok := x.(*ast.BinaryExpr)
		if !ok {
			continue
		}
		switch b.Op {
		case token.LAND, token.LOR, token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
			f.negate(x)
		default: // an amount
		}
	}
}

func (f *finder) binary(n *ast.BinaryExpr) {
	f.token(n.OpPos, n.Op, map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}, offByOne)
	if basic, ok := f.info.TypeOf(n).Underlying().(*types.Basic); ok && basic.Info()&types.IsNumeric != 0 {
		f.token(n.OpPos, n.Op, map[token.Token]token.Token{token.ADD: token.SUB, token.SUB: token.ADD}, wrongSign)
	}
}

// token replaces one token by its other, if it has one.
func (f *finder) token(at token.Pos, is token.Token, other map[token.Token]token.Token, operator string) {
	if to, ok := other[is]; ok {
		f.replace(operator, at, at+token.Pos(len(is.String())), to.String())
	}
}

func (f *finder) number(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	if v, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
		f.replace(offByOne, n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
	}
}

// swap exchanges arguments of one type that are not the same.
func (f *finder) swap(n *ast.CallExpr) {
	if f.symmetric(n) {
		return
	}
	for i := 1; i < len(n.Args); i++ {
		a, b := n.Args[i-1], n.Args[i]
		first, second := f.between(a.Pos(), a.End()), f.between(b.Pos(), b.End())
		if first == second || !types.Identical(f.info.TypeOf(a), f.info.TypeOf(b)) {
			continue
		}
		f.replace(swapped, a.Pos(), b.End(), second+f.between(a.End(), b.Pos())+first)
	}
}

// symmetric reports whether the order of the call's arguments says nothing.
func (f *finder) symmetric(n *ast.CallExpr) bool {
	switch f.between(n.Fun.Pos(), n.Fun.End()) {
	case "min", "max", "errors.Join", "slices.Equal", "slices.EqualFunc", "maps.Equal", "bits.Mul64", "wide.Product":
		return true
	}
	return false
}

func (f *finder) isPanic(n *ast.CallExpr) bool {
	name, ok := n.Fun.(*ast.Ident)
	return ok && name.Name == "panic"
}

func (f *finder) makesError(n *ast.CallExpr) bool {
	switch f.between(n.Fun.Pos(), n.Fun.End()) {
	case "fmt.Errorf", "errors.New":
		return true
	}
	return false
}

func (f *finder) between(from, to token.Pos) string {
	return string(f.text[f.set.Position(from).Offset:f.set.Position(to).Offset])
}

func (f *finder) replace(operator string, from, to token.Pos, text string) {
	f.found(operator, edit{f.set.Position(from).Offset, f.set.Position(to).Offset, text})
}
