// Kubectl-fairlead is kubectl fairlead: what would change in a cluster, which policy serves it best, why pods wait.
package main

import (
	"os"

	"fairlead.dev/fairlead/kube/plugin"
)

func main() { os.Exit(plugin.Main(os.Args[1:], os.Stdout, os.Stderr)) }
