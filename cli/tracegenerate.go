package cli

import (
	"net/url"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/setup"
)

// newGenerate is a front for the conversion of a synthetic source: each
// generator is a command, and its options are flags.
func newGenerate() *cobra.Command {
	c := &cobra.Command{
		Use:   "generate",
		Short: "Make up a cluster and a workload, and write them",
		Long: `Generate makes up a cluster and a workload and writes them in Fairlead's own
format. The same flags give the same file. What it writes is what the source
synthetic:NAME?options gives; give that source to a simulation to make it up again
instead of keeping a file. What lra makes up is for 'fairlead place', and in its format;
what kubernetes makes up is as kubectl prints it.`,
		Example: "  fairlead trace generate google --nodes 100 --until 1h --seed 7 --output google.jsonl.gz\n  fairlead trace generate ec2 --nodes 5000 --output -",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, g := range setup.Generators() {
		c.AddCommand(newGenerateOne(g))
	}
	c.AddCommand(newGenerateLRA(), newGenerateKubernetes())
	return c
}

func newGenerateOne(g setup.Generator) *cobra.Command {
	var f convertFlags
	c := &cobra.Command{
		Use:     g.Name,
		Short:   g.What,
		Example: "  fairlead trace generate " + g.Name + " --nodes 100 --output " + g.Name + ".jsonl.gz",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			plan, err := f.planGenerated(c, g)
			if err != nil {
				return usage(c, err)
			}
			return plan.run(c)
		},
	}
	f.register(c)
	for _, o := range g.Options {
		c.Flags().String(o.Name, "", o.What)
	}
	if g.Lasts {
		f.registerUntil(c)
	}
	return c
}

// planGenerated is the conversion of the source that the flags describe.
func (f *convertFlags) planGenerated(c *cobra.Command, g setup.Generator) (*conversion, error) {
	values := url.Values{}
	c.Flags().Visit(func(flag *pflag.Flag) {
		if g.Has(flag.Name) {
			values.Set(flag.Name, flag.Value.String())
		}
	})
	f.to, f.seed = streamName, 1
	return f.plan([]string{"synthetic:" + g.Name + "?" + values.Encode()})
}
