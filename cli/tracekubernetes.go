package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/internal/kubedump"
)

// This file is fairlead trace generate kubernetes.

func newGenerateKubernetes() *cobra.Command {
	var o kubedump.Options
	var output string
	c := &cobra.Command{
		Use:   "kubernetes",
		Short: "A Kubernetes cluster as kubectl prints it",
		Long: `Generate kubernetes makes up a cluster as a List in JSON, as 'kubectl fairlead dump' and
'kubectl get -o json' print one: pools of nodes in three zones with taints, cordons and GPUs;
DaemonSets, static pods, Deployments, StatefulSets and Jobs with budgets, priorities and
preferences; and pods that wait, for causes of every kind. Ask of it what you would ask of your own.`,
		Example: `  fairlead trace generate kubernetes --nodes 200 --output made.json
  fairlead explain --cluster made.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkKubernetes(&o, output); err != nil {
				return usage(c, err)
			}
			return generateKubernetes(c, o, output)
		},
	}
	c.Flags().IntVar(&o.Nodes, "nodes", 200, "how many nodes there are")
	c.Flags().IntVar(&o.PodsPerNode, "pods-per-node", 12, "how many pods of Deployments, StatefulSets and Jobs there are for each node")
	c.Flags().BoolVar(&o.Volumes, "volumes", false, "give StatefulSets claims, with the volumes behind them")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "the seed of all that is made up")
	c.Flags().StringVar(&output, "output", "", "`FILE` to write, compressed if it ends in .gz; - is the standard output")
	return c
}

func checkKubernetes(o *kubedump.Options, output string) error {
	var wrong []error
	if output == "" {
		wrong = append(wrong, errors.New("--output: want a file, or - for the standard output"))
	}
	if o.Nodes < kubedump.LeastNodes || o.Nodes > kubedump.MostNodes {
		wrong = append(wrong, fmt.Errorf("--nodes: %d, want a number from %d to %d", o.Nodes, kubedump.LeastNodes, kubedump.MostNodes))
	}
	if o.PodsPerNode < 1 || o.PodsPerNode > kubedump.MostPodsPerNode {
		wrong = append(wrong, fmt.Errorf("--pods-per-node: %d, want a number from 1 to %d", o.PodsPerNode, kubedump.MostPodsPerNode))
	}
	return errors.Join(wrong...)
}

func generateKubernetes(c *cobra.Command, o kubedump.Options, output string) error {
	out, err := createOutput(output, c.OutOrStdout())
	if err != nil {
		return err
	}
	if err := kubedump.Write(out, o); err != nil {
		return errors.Join(err, out.Discard())
	}
	if err := out.Commit(); err != nil {
		return err
	}
	if output != "-" {
		fmt.Fprintf(c.ErrOrStderr(), "fairlead: wrote a cluster of %d nodes to %s\n", o.Nodes, output)
	}
	return nil
}
