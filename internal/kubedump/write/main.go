// Command write writes a cluster made by chance to the standard output, as kubectl would print it.
package main

import (
	"flag"
	"log"
	"os"

	"fairlead.dev/fairlead/internal/kubedump"
)

func main() {
	var o kubedump.Options
	flag.IntVar(&o.Nodes, "nodes", 1000, "nodes")
	flag.IntVar(&o.PodsPerNode, "pods", 15, "pods for each node, beside those of DaemonSets")
	flag.Uint64Var(&o.Seed, "seed", 1, "seed")
	flag.BoolVar(&o.Volumes, "volumes", false, "give StatefulSets claims")
	flag.Parse()
	if err := kubedump.Write(os.Stdout, o); err != nil {
		log.Fatalln("write:", err)
	}
}
