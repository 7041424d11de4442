package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/testbed/versions"
)

// comparison is what works on which Kubernetes.
type comparison struct {
	kubernetes []string
	results    string // the folder of what go test said
	page       string
	log        io.Writer
}

func newVersions() *cobra.Command {
	var o comparison
	c := &cobra.Command{
		Use:   "versions",
		Short: "Run the tests on several versions of Kubernetes, and write a table of what works",
		Long: `Versions builds the control plane of each version, runs tests of kube/e2e on it and on
the Kubernetes that go.mod requires, and writes a page with a table. Tests that fail
are run once more by themselves.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.log = c.ErrOrStderr()
			return o.write(c.Context())
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.kubernetes, "kubernetes", []string{"v1.35", "v1.36"}, "the versions beside ours: exact, or without a patch for the newest one")
	f.StringVar(&o.results, "results", "", "a folder for what go test says; versions that have a file there are not run again (default a temporary one)")
	f.StringVar(&o.page, "page", "../docs/bench/versions.md", "the file to write")
	return c
}

// write runs the tests on all versions, ours last, and writes the page.
func (o *comparison) write(ctx context.Context) error {
	features, err := versions.Features()
	if err != nil {
		return err
	}
	if o.results == "" {
		if o.results, err = os.MkdirTemp("", "fairlead-versions-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.results) //nolint:errcheck // Litter in a temporary folder.
	} else if err := os.MkdirAll(o.results, 0o755); err != nil {
		return err
	}
	own, err := testbed.OwnKubernetes(ctx)
	if err != nil {
		return err
	}
	var all []versions.Version
	for _, asked := range o.kubernetes {
		exact, err := testbed.BuildKubernetes(ctx, o.log, asked)
		if err != nil {
			return err
		}
		if exact == own { // which comes anyway
			continue
		}
		v, err := o.try(ctx, exact, exact, versions.Tests(features))
		if err != nil {
			return err
		}
		all = append(all, v)
	}
	v, err := o.try(ctx, own, "", versions.Tests(features))
	if err != nil {
		return err
	}
	return os.WriteFile(o.page, []byte(versions.Page(features, append(all, v))), 0o644)
}

// try runs the tests on a version, and those that failed again. To the beds ours is the one without a name.
func (o *comparison) try(ctx context.Context, version, beds string, tests []string) (versions.Version, error) {
	results, err := o.run(ctx, version, beds, tests)
	if err != nil {
		return versions.Version{}, err
	}
	if failed := results.Failed(); len(failed) > 0 {
		fmt.Fprintf(o.log, "failed on %s, and run again: %q\n", version, failed)
		again, err := o.run(ctx, version+"-again", beds, failed)
		if err != nil {
			return versions.Version{}, err
		}
		results.Repeat(again)
	}
	return versions.Version{Kubernetes: version, Results: results}, nil
}

// run runs tests, unless there is a file of what became of them.
func (o *comparison) run(ctx context.Context, name, beds string, tests []string) (versions.Results, error) {
	path := filepath.Join(o.results, name+".json")
	if _, err := os.Stat(path); err != nil {
		if err := o.goTest(ctx, path, beds, tests); err != nil {
			return nil, err
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // Only read.
	results, err := versions.Read(file)
	if err == nil && len(results) == 0 {
		said := path + ".none" // so that the next run is not content with it
		err = errors.Join(fmt.Errorf("go test ran no test; what it said is in %s", said), os.Rename(path, said))
	}
	return results, err
}

// goTest has go test write into a file what became of the tests.
func (o *comparison) goTest(ctx context.Context, path, beds string, tests []string) error {
	fmt.Fprintf(o.log, "running %d tests of kube/e2e into %s\n", len(tests), path)
	file, err := os.Create(path + ".running")
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // Closed below, unless all has failed.
	c := exec.CommandContext(ctx, "go", "test", "-json", "-count", "1", "-timeout", "90m", "-run", versions.Pattern(tests), "./e2e")
	c.Env = append(os.Environ(), "FAIRLEAD_TESTBED=require", testbed.KubernetesEnv+"="+beds)
	c.Stdout, c.Stderr = file, o.log
	err = c.Run()
	if exit := (*exec.ExitError)(nil); err != nil && (ctx.Err() != nil || !errors.As(err, &exit)) { // one that says failed tests is none
		return fmt.Errorf("run go test: %w", err)
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(path+".running", path)
}
