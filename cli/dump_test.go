package cli

import (
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"fairlead.dev/fairlead/internal/kubedump"
)

// dump writes a cluster by chance, with pods that wait for causes that are known: dump NODES SEED FILE.
func dump(t *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		t.Fatalf("usage: dump NODES SEED FILE")
	}
	nodes, err := strconv.Atoi(args[0])
	t.Check(err)
	seed, err := strconv.ParseUint(args[1], 10, 64)
	t.Check(err)
	file, err := os.Create(t.MkAbs(args[2]))
	t.Check(err)
	t.Check(kubedump.Write(file, kubedump.Options{Nodes: nodes, PodsPerNode: 12, Seed: seed}))
	t.Check(file.Close())
}
