// Command image builds the image of fairlead-scheduler, for each architecture, without a daemon and without a registry.
//
// ko compiles the program and puts it onto a base that is assembled here of three packages of Debian (base.go). The result is an OCI image layout, an archive of
// it that `ctr images import` and the like take, and what the image contains as SPDX documents. The same source, Go and packages make the same
// bytes, on any machine: there are no times in it, and no paths of the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/ko/pkg/build"
)

// order is what to build.
type order struct {
	program   string   // the import path of its main package
	module    string   // the folder of the program's module
	name      string   // of the image, with its tag
	platforms []string // such as linux/arm64
	packages  string   // the folder of Debian's packages
	output    string   // the folder of the result
}

func main() {
	var o order
	flag.StringVar(&o.program, "program", "fairlead.dev/fairlead/kube/cmd/fairlead-scheduler", "the import `path` of the program")
	flag.StringVar(&o.module, "module", "../..", "the `folder` of the program's module")
	flag.StringVar(&o.name, "name", "fairlead.dev/fairlead-scheduler:development", "the `name` of the image, with its tag")
	flag.StringVar(&o.packages, "packages", "", "a `folder` with the packages of Debian for the base; without it they are downloaded with apt-get")
	flag.StringVar(&o.output, "output", "", "the `folder` of the result, which must not exist")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64", "`platforms`, separated by commas")
	flag.Parse()
	o.platforms = strings.Split(*platforms, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run builds the image and prints its digest.
func (o order) run(ctx context.Context) error {
	if o.output == "" || flag.NArg() > 0 {
		return errors.New("want --output FOLDER, and no arguments")
	}
	if _, err := os.Stat(o.output); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the folder %s must not exist; remove it, or name another with --output", o.output)
	}
	if o.packages == "" {
		// They stay beside the image, so that it can be made again when Debian has newer ones.
		o.packages = filepath.Join(o.output, "packages")
		if err := os.MkdirAll(o.packages, 0o755); err != nil {
			return fmt.Errorf("make a folder for packages: %w", err)
		}
		if err := download(ctx, o.packages); err != nil {
			return err
		}
	}
	digest, err := o.build(ctx)
	if err != nil {
		return err
	}
	fmt.Println(digest)
	return nil
}

// build writes layout, archive and SPDX documents into the folder.
func (o order) build(ctx context.Context) (v1.Hash, error) {
	debian, err := readPackages(ctx, o.packages)
	if err != nil {
		return v1.Hash{}, err
	}
	base, err := newBase(debian, o.platforms)
	if err != nil {
		return v1.Hash{}, err
	}
	// It is in no registry: the name says what it is, and the annotations which versions.
	baseName, err := name.ParseReference("fairlead.dev/base:debian")
	if err != nil {
		return v1.Hash{}, fmt.Errorf("name the base: %w", err)
	}
	options := []build.Option{
		build.WithBaseImages(func(context.Context, string) (name.Reference, build.Result, error) { return baseName, base, nil }),
		build.WithPlatforms(o.platforms...),
		build.WithTrimpath(true),
		build.WithDefaultEnv([]string{"CGO_ENABLED=0", "GOWORK=off"}),
		build.WithDefaultLdflags([]string{"-s", "-w"}),
		build.WithUser(nonroot),
		build.WithSBOMDir(filepath.Join(o.output, "sbom")),
		build.WithSPDX(koVersion()),
		build.WithJobs(1), // the go command uses all processors by itself
	}
	for _, p := range debian {
		options = append(options, build.WithAnnotation("dev.fairlead.base."+p.name, p.version+" sha256:"+p.digest))
	}
	builder, err := build.NewGo(ctx, o.module, options...)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("prepare ko: %w", err)
	}
	result, err := builder.Build(ctx, build.StrictScheme+o.program)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("build %s in %s: %w", o.program, o.module, err)
	}
	if err := write(result, o.name, o.output); err != nil {
		return v1.Hash{}, err
	}
	return result.Digest()
}

// koVersion is that of go.mod, which SPDX documents name as their author.
func koVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/google/ko" {
			return d.Version
		}
	}
	return "unknown"
}
