package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
)

// This file is fairlead trace convert --redact.

// redaction is a dump, and where it is to be written without what is not read.
type redaction struct {
	path, output string
	lenient      bool
}

// redaction turns the flags into one, or says what is wrong with them.
func (f *convertFlags) redaction(c *cobra.Command, args []string) (*redaction, error) {
	var errs []error
	if len(args) > 1 {
		errs = append(errs, errors.New("--redact: there are two sources, want one, a cluster as kubectl prints it"))
	}
	if c.Flags().Changed("to") && f.to != "kubernetes" {
		errs = append(errs, fmt.Errorf("--redact: it writes a cluster as kubectl prints it, and not --to %s", f.to))
	}
	for _, name := range []string{"until", "data", "seed"} {
		if c.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf("--%s makes no sense beside --redact", name))
		}
	}
	source := setup.Source{Cluster: args[0]}
	url, err := setup.URL{}, source.AsDump()
	if err == nil {
		url, err = parseConvertible(source.Cluster)
	}
	if err != nil {
		errs = append(errs, err)
	}
	if f.output == "" {
		errs = append(errs, errors.New("--output: want a file, or - for the standard output"))
	}
	errs = append(errs, checkOutputs([]named{{"", url.File()}}, []named{{"output", f.output}}))
	return &redaction{url.Path, f.output, f.lenient}, errors.Join(errs...)
}

// run writes it, and says on stderr what was left out.
func (r *redaction) run(c *cobra.Command) error {
	ctx, stop := stoppable(c)
	defer stop()
	out, err := createOutput(r.output, c.OutOrStdout())
	if err != nil {
		return err
	}
	done, err := kubernetes.Redact(out, r.path, r.lenient, func() error {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return nil
	})
	if err != nil {
		return errors.Join(err, out.Discard())
	}
	if err := out.Commit(); err != nil {
		return err
	}
	stderr := c.ErrOrStderr()
	fmt.Fprintf(stderr, "fairlead: wrote %d objects to %s, with what is read of them alone\n", done.Objects, r.output)
	if done.Others > 0 {
		fmt.Fprintf(stderr, "fairlead: left out %d objects of other kinds\n", done.Others)
	}
	if count := done.Skips.Count; count > 0 {
		fmt.Fprintf(stderr, "fairlead: left out %d objects that cannot be read; the first: %v\n", count, done.Skips.First[0])
	}
	return nil
}
