package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/queue"
)

func newPolicies() *cobra.Command {
	return &cobra.Command{
		Use:     "policies",
		Short:   "List the policies: name, what it does, where it comes from",
		Example: "  fairlead policies",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tWHAT IT DOES\tFROM")
			for _, p := range queue.Policies() {
				fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.What, p.From)
			}
			return w.Flush()
		},
	}
}

// checkPolicy returns an error that suggests the nearest name unless there is
// a policy of that name.
func checkPolicy(name string) error {
	var names []string
	for _, p := range queue.Policies() {
		if p.Name == name {
			return nil
		}
		names = append(names, p.Name)
	}
	return unknown("policy", name, names)
}

// unknown says that there is no such name, and which one is near it.
func unknown(what, name string, names []string) error {
	if near, ok := nearest.Of(name, names); ok {
		return fmt.Errorf("unknown %s %q; did you mean %s?", what, name, near)
	}
	return fmt.Errorf("unknown %s %q; there are %s", what, name, strings.Join(names, ", "))
}
