package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/fairlead/kube/testbed"
)

// newFloor is a process of its own, so that a benchmark can tell its processor
// time from that of the load.
func newFloor() *cobra.Command {
	var kubeconfig, name string
	var events bool
	c := &cobra.Command{
		Use:   "floor",
		Short: "Bind pods to random nodes: what any scheduler costs at least",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return fmt.Errorf("read --kubeconfig: %w", err)
			}
			config.QPS = -1
			config.ContentType = runtime.ContentTypeProtobuf
			config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("connect to the API server: %w", err)
			}
			return testbed.Floor(c.Context(), client, name, events)
		},
	}
	c.Flags().StringVar(&kubeconfig, "kubeconfig", "", "how to reach the cluster")
	c.Flags().StringVar(&name, "name", "floor", "the schedulerName of the pods to bind")
	c.Flags().BoolVar(&events, "events", false, "write the event of each pod that it binds, as other schedulers do")
	_ = c.MarkFlagRequired("kubeconfig") // The flag exists.
	return c
}
