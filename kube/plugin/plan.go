package plugin

import (
	v1 "k8s.io/api/core/v1"

	"github.com/spf13/cobra"
)

// This file is plan of the live cluster: manifests and workloads that name no namespace are in the one that kubectl is in, and nodes are offered to a shell.

func (a *access) plans(c *cobra.Command) {
	a.lists(c)
	run := c.RunE
	c.Example = `  kubectl fairlead plan -f app.yaml
  kustomize build . | kubectl fairlead plan -n shop -f -
  kubectl fairlead plan -f app.yaml --add-nodes 10:like=node-7
  kubectl fairlead plan --drain node-7,node-8
  kubectl fairlead plan --scale deploy/web=30 -o json`
	for _, flag := range []string{"drain", "remove"} {
		_ = c.RegisterFlagCompletionFunc(flag, a.completeNodes)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		flag := c.Flags().Lookup("namespace") // which plan has itself, so that kubectl's does not see it
		if flag.Changed {
			*a.flags.Namespace = flag.Value.String()
		} else if namespace, err := a.namespace(); err == nil {
			if err := c.Flags().Set("namespace", namespace); err != nil {
				return err
			}
		}
		return run(c, args)
	}
}

func (a *access) completeNodes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return a.namesOf(v1.SchemeGroupVersion.WithResource("nodes"), ""), cobra.ShellCompDirectiveNoFileComp
}
