package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/kube/testbed"
)

func newBuild() *cobra.Command {
	var kubelet, karpenter, helm bool
	var kubernetes []string
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
			if helm {
				if err := testbed.BuildHelm(c.Context(), c.ErrOrStderr()); err != nil {
					return err
				}
			}
			for _, version := range kubernetes {
				if _, err := testbed.BuildKubernetes(c.Context(), c.ErrOrStderr(), version); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), dir)
			return err
		},
	}
	c.Flags().BoolVar(&kubelet, "kubelet", false, "the kubelet too, for real containers")
	c.Flags().BoolVar(&karpenter, "karpenter", false, "Karpenter too, for tests with an autoscaler")
	c.Flags().BoolVar(&helm, "helm", false, "Helm too, for tests of the chart")
	c.Flags().StringSliceVar(&kubernetes, "kubernetes", nil,
		"the control plane of another Kubernetes too, such as v1.36.3, or v1.36 for its newest patch; "+testbed.KubernetesEnv+" has beds run it (10 to 20 minutes each)")
	return c
}
