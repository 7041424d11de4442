package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// This file reads a package with its types, so that only mutants are made that compile. What
// it imports it knows from what the go command has compiled.

// loaded is a package that has been read.
type loaded struct {
	target target
	root   string // of the repository
	rapid  bool   // its tests draw by rapid, from a seed that can be given
	set    *token.FileSet
	files  []*source
	info   *types.Info
	config types.Config
}

// source is one of its files.
type source struct {
	name string // of the file, in the package's folder
	text []byte
	tree *ast.File
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Export        string
	GoFiles                   []string
	TestImports, XTestImports []string
	DepOnly                   bool
}

// load reads the target below the root.
func load(ctx context.Context, root string, t target) (*loaded, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles,TestImports,XTestImports,DepOnly", "./"+filepath.ToSlash(t.name)) //nolint:gosec // a package of ours
	cmd.Dir = filepath.Join(root, t.module)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	p := &loaded{target: t, root: root, set: token.NewFileSet()}
	exports := map[string]string{}
	for stream := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := stream.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[l.ImportPath] = l.Export
		if l.DepOnly {
			continue
		}
		p.rapid = slices.Contains(append(l.TestImports, l.XTestImports...), "pgregory.net/rapid")
		if err := p.read(l.GoFiles); err != nil {
			return nil, err
		}
	}
	p.config = types.Config{Importer: importer.ForCompiler(p.set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if err := p.check(p.trees(nil, nil), p.info); err != nil {
		return nil, err
	}
	return p, nil
}

// folder is where the package is.
func (p *loaded) folder() string { return filepath.Join(p.root, p.target.module, p.target.name) }

// read parses the files.
func (p *loaded) read(names []string) error {
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(p.folder(), name))
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(p.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.files = append(p.files, &source{name, text, tree})
	}
	return nil
}

// trees are the package's files, one of them in another version.
func (p *loaded) trees(changed *source, version *ast.File) []*ast.File {
	var trees []*ast.File
	for _, f := range p.files {
		if f == changed {
			trees = append(trees, version)
		} else {
			trees = append(trees, f.tree)
		}
	}
	return trees
}

// check type-checks these files.
func (p *loaded) check(trees []*ast.File, info *types.Info) error {
	_, err := p.config.Check(p.target.name, p.set, trees, info)
	return err
}

// compiles reports whether the package does with this text for the file.
func (p *loaded) compiles(f *source, text []byte) bool {
	version, err := parser.ParseFile(p.set, f.name, text, parser.SkipObjectResolution)
	return err == nil && p.check(p.trees(f, version), nil) == nil
}
