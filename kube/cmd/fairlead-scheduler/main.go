// Fairlead-scheduler places the pods of a Kubernetes cluster.
package main

import (
	"os"

	"fairlead.dev/fairlead/kube/app"
)

func main() { os.Exit(app.Main()) }
