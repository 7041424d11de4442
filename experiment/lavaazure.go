package experiment

import (
	"fmt"
	"os"
	"path/filepath"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/azure2017"
)

// testBegins is when the last part of Azure's trace begins, of which it was published how long its VMs lived.
const testBegins = 2_100_000 * cluster.Second

// azureShare says of how many batches one is run.
const azureShare = 8

// azureVMs are the VMs of Azure's trace of 2017, one batch in eight of all 30 days: what is scored are the last days.
func azureVMs(o *Options) (vmWorkload, error) {
	dir := filepath.Join(o.Data, "azure2017")
	if _, err := os.Stat(dir); err != nil {
		return vmWorkload{}, fmt.Errorf("the data: %w; a folder of that name holds Azure's arrivals and what became of them", err)
	}
	host := cluster.Vector{48 * vmCore, 256 * vmGiB}
	open := func(hosts int) (*azure2017.Source, error) {
		chosen := azure2017.Default()
		chosen.Seed, chosen.Nodes, chosen.CPU, chosen.Memory, chosen.TasksOnly = o.Seed, hosts, host[0], host[1], hosts == 0
		return azure2017.Open(dir, chosen)
	}
	whole, err := open(0)
	if err != nil {
		return vmWorkload{}, err
	}
	defer whole.Close() //nolint:errcheck // it was only read
	return vmWorkload{
		name: fmt.Sprintf("azure2017?seed=%d, one batch in %d", o.Seed, azureShare), real: true,
		what: fmt.Sprintf("Azure's trace of 2017, one batch in %d of 1.87 million VMs in 30 days; seed %d for what is drawn", azureShare, o.Seed),
		host: host, from: testBegins, until: whole.End(),
		open: func(hosts int) (trace.Source, error) {
			src, err := open(hosts)
			return &oneIn{src, azureShare}, err
		},
		facts: []string{
			"How long VMs lived is known of the last nine days: of the first three of these it is known to the policies when it has happened, and of the others, which are scored, likewise. Of the 21 days before it is drawn by flavour from those three, so that hosts are as full as they would be.",
		},
	}, nil
}
