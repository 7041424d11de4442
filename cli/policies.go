package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/race"
	"fairlead.dev/fairlead/policies"
)

func newPolicies(known policies.List) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use:   "policies",
		Short: "List the policies: name, family, what it does, where it comes from",
		Long: `Policies lists fairlead, which is what runs where nothing else is asked for, a policy
for each paper that it unites and for what others use, and with --all every other baseline.

What tasks prefer (nodes, company, soft spread) is part of the price of a place under fairlead, and of
the scores under kube-scheduler. Policies of the family flow price preferred nodes, and those of the family
constraint honour preferred company and spread of applications. All others go by resources and by what is
required.`,
		Example: "  fairlead policies\n  fairlead policies --all",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			shown := known
			if !all {
				shown = known.Short()
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tFAMILY\tWHAT IT DOES\tFROM")
			for _, p := range shown {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Name, p.Family, p.What, p.From)
			}
			if err := w.Flush(); err != nil || len(shown) == len(known) {
				return err
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "%d more with --all.\n", len(known)-len(shown))
			return err
		},
	}
	c.Flags().BoolVar(&all, "all", false, "list every policy, also further baselines")
	return c
}

// unknown says that there is no such name, and which one is near it.
func unknown(what, name string, names []string) error { return nearest.Unknown(what, name, names) }

// racer makes the solver that races Firmament's two: who is first may depend on
// the machine, what is found does not get worse for it.
func racer(g *mcmf.Graph) flow.Solver { return race.New(g, mcmf.CostScaling) }
