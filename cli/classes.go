package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/class"
)

// The command classes.

func newClasses() *cobra.Command {
	c := &cobra.Command{
		Use:   "classes [TABLE]",
		Short: "List the tables of classes, or print one as a file to start from",
		Long: `Classes prints a table of what is promised to whom, as YAML with what each field
means: a preset, or a file as it is understood. Without a name it lists the presets.
Change what it prints, and give the file to 'fairlead simulate --classes FILE'.`,
		Example: `  fairlead classes
  fairlead classes google > classes.yaml
  fairlead simulate --classes classes.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listClasses(c.OutOrStdout())
			}
			table, err := class.Load(args[0])
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(table.Encode())
			return err
		},
	}
	c.ValidArgsFunction = cobra.FixedCompletions(class.PresetNames(), cobra.ShellCompDirectiveDefault)
	return c
}

func listClasses(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tCLASSES\tWHAT IT IS")
	for _, p := range class.Presets() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, strings.Join(p.Table().Names(), ", "), p.What)
	}
	return w.Flush()
}
