package cli

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/constraint/request"
	"fairlead.dev/fairlead/internal/document"
)

// This file is the generator of long-running applications, whose file is that of place and
// no workload over time.

// lraFlags are the flags as they were given.
type lraFlags struct {
	options             planted.Options
	planted             bool
	utilisation, output string
}

func newGenerateLRA() *cobra.Command {
	f := lraFlags{}
	c := &cobra.Command{
		Use:   "lra",
		Short: "Long-running applications with constraints, for 'fairlead place'",
		Long: `Generate lra makes up a cluster in racks and upgrade domains, and applications of 10
to 30 containers like HBase, TensorFlow, Storm, memcached and web servers, with
constraints of every kind, some of them between applications. It writes a file for
'fairlead place', as JSON if its name ends in .json or .json.gz, and else as YAML.

With --planted it draws a placement first and loosens the constraints that this violates,
so that a placement without violations is known; the file has it under "planted", which
place does not look at. Without --planted nobody knows whether all constraints can hold.

--utilisation is the part of the cluster that is taken when all applications run. With
--lras 0 there are as many applications as it takes to reach that; otherwise other work,
which stays, takes the rest, unevenly.`,
		Example: `  fairlead trace generate lra --nodes 100 --lras 10 --planted --output lra.yaml
  fairlead trace generate lra --nodes 5000 --lras 40 --running 100 --utilisation 0.6 --inter-app 10 --planted --output lra.json.gz`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return usage(c, err)
			}
			return f.run(c)
		},
	}
	o := &f.options
	c.Flags().IntVar(&o.Nodes, "nodes", 100, "how many nodes there are")
	c.Flags().IntVar(&o.Applications, "lras", 10, "how many applications are to be placed; 0 means as many as reach the utilisation")
	c.Flags().StringVar(&f.utilisation, "utilisation", "0.5", "what `part` of the cluster is taken in the end, such as 0.7 or 70%")
	c.Flags().IntVar(&o.InterApp, "inter-app", 1, "how many applications a constraint between applications ties together")
	c.Flags().IntVar(&o.Running, "running", 0, "how many applications run already")
	c.Flags().BoolVar(&f.planted, "planted", false, "make sure that a placement without violations is known")
	c.Flags().BoolVar(&o.Movable, "movable", false, "let containers that run be moved")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "the seed of all that is made up")
	c.Flags().StringVarP(&f.output, "output", "o", "", "`FILE` to write, compressed if it ends in .gz; - is the standard output")
	_ = c.Flags().MarkShorthandDeprecated("output", "-o is a format everywhere else; write --output")
	return c
}

// check completes the options.
func (f *lraFlags) check() error {
	if f.output == "" {
		return errors.New("--output: want a file, or - for the standard output")
	}
	if err := f.checkCounts(); err != nil {
		return err
	}
	digits, percent := strings.CutSuffix(f.utilisation, "%")
	share, ok := document.ParseDecimal(digits)
	if ok && percent {
		share.Quo(share, big.NewRat(100, 1))
	}
	if !ok || share.Sign() <= 0 || share.Cmp(big.NewRat(1, 1)) > 0 {
		return fmt.Errorf("--utilisation: %q, want a part of the cluster such as 0.7 or 70%%", f.utilisation)
	}
	share.Mul(share, big.NewRat(1000, 1))
	f.options.Utilisation = new(big.Int).Quo(share.Num(), share.Denom()).Int64()
	if f.options.Utilisation < 1 {
		return fmt.Errorf("--utilisation: %q, want 0.001 or more", f.utilisation)
	}
	f.options.Free = !f.planted
	return nil
}

// checkCounts says which numbers are out of bounds.
func (f *lraFlags) checkCounts() error {
	var wrong []error
	for _, number := range []struct {
		flag        string
		given       int
		least, most int
	}{
		{"nodes", f.options.Nodes, 1, planted.MostNodes},
		{"lras", f.options.Applications, 0, planted.MostApplications},
		{"inter-app", f.options.InterApp, 0, planted.MostApplications},
		{"running", f.options.Running, 0, planted.MostApplications},
	} {
		if number.given < number.least || number.given > number.most {
			wrong = append(wrong, fmt.Errorf("--%s: %d, want a number from %d to %d", number.flag, number.given, number.least, number.most))
		}
	}
	return errors.Join(wrong...)
}

func (f *lraFlags) run(c *cobra.Command) error {
	d, err := planted.Draw(f.options)
	if err != nil {
		return err
	}
	r := request.New(d.Problem, d.Parts)
	if f.planted {
		r.Planted = d.Witness
	}
	encode := r.YAML
	if strings.HasSuffix(strings.TrimSuffix(f.output, ".gz"), ".json") {
		encode = r.JSON
	}
	text, err := encode()
	if err != nil {
		return err
	}
	out, err := createOutput(f.output, c.OutOrStdout())
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return errors.Join(err, out.Discard())
	}
	if err := out.Commit(); err != nil {
		return err
	}
	if f.output != "-" {
		fmt.Fprintf(c.ErrOrStderr(), "fairlead: wrote %d nodes and %d applications of %d containers to %s\n",
			len(d.Problem.Nodes), len(d.Problem.Applications), len(d.Problem.Containers), f.output)
	}
	return nil
}
