// Kubectl-fairlead is kubectl fairlead: why pods wait, what is promised to whom, what would change in a cluster, which policy serves it best.
package main

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"fairlead.dev/fairlead/kube/plugin"
)

func main() {
	os.Exit(plugin.Main(os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
