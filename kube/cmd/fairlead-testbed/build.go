package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/kube/testbed"
)

func newBuild() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the programs, once for each version; 8 to 10 minutes the first time",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := testbed.Build(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), dir)
			return err
		},
	}
}
