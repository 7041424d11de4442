package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/kube/testbed"
)

func newBuild() *cobra.Command {
	var kubelet, karpenter bool
	c := &cobra.Command{
		Use:   "build",
		Short: "Build the programs, once for each version; 8 to 10 minutes the first time",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := testbed.Build(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			if kubelet {
				if err := testbed.BuildKubelet(c.Context(), c.ErrOrStderr()); err != nil {
					return err
				}
			}
			if karpenter {
				if err := testbed.BuildKarpenter(c.Context(), c.ErrOrStderr()); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), dir)
			return err
		},
	}
	c.Flags().BoolVar(&kubelet, "kubelet", false, "the kubelet too, for real containers")
	c.Flags().BoolVar(&karpenter, "karpenter", false, "Karpenter too, for tests with an autoscaler")
	return c
}
