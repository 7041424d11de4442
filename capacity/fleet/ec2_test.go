package fleet_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"fairlead.dev/fairlead/capacity/fleet"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/workload"
)

// instances are on-demand prices of Amazon's EC2, in hundredths of a cent an hour, of the types of package workload and of two
// families beside them, and what a node keeps for itself.
func instances() []fleet.Offer {
	var offers []fleet.Offer
	for _, i := range []struct {
		name          string
		cores, memory int64 // milli, MiB
		price         int64
	}{
		{"t2.nano", 1000, 512, 58},
		{"t2.micro", 1000, 1024, 116},
		{"t2.small", 1000, 2048, 230},
		{"t2.medium", 2000, 4096, 464},
		{"t2.large", 2000, 8192, 928},
		{"t2.xlarge", 4000, 16384, 1856},
		{"t2.2xlarge", 8000, 32768, 3712},
		{"m4.large", 2000, 8192, 1000},
		{"m4.xlarge", 4000, 16384, 2000},
		{"m4.2xlarge", 8000, 32768, 4000},
		{"m4.4xlarge", 16000, 65536, 8000},
		{"m4.10xlarge", 40000, 163840, 20000},
		{"m4.16xlarge", 64000, 262144, 32000},
		{"m5.large", 2000, 8192, 960},
		{"m5.xlarge", 4000, 16384, 1920},
		{"m5.2xlarge", 8000, 32768, 3840},
		{"m5.4xlarge", 16000, 65536, 7680},
		{"m5.12xlarge", 48000, 196608, 23040},
		{"m5.24xlarge", 96000, 393216, 46080},
		{"c5.large", 2000, 4096, 850},
		{"c5.xlarge", 4000, 8192, 1700},
		{"c5.2xlarge", 8000, 16384, 3400},
		{"c5.9xlarge", 36000, 73728, 15300},
		{"r5.large", 2000, 16384, 1260},
		{"r5.xlarge", 4000, 32768, 2520},
		{"r5.2xlarge", 8000, 65536, 5040},
		{"r5.4xlarge", 16000, 131072, 10080},
	} {
		offers = append(offers, fleet.Offer{Name: i.name, Room: cluster.Vector{i.cores - 80 - i.cores/100, i.memory - i.memory/20 - 100}, Price: i.price})
	}
	return offers
}

// ec2 is the problem of the tasks of a cluster of EC2's instances.
func ec2(t *testing.T, e workload.EC2) *fleet.Problem {
	t.Helper()
	source, err := workload.NewEC2(e)
	if err != nil {
		t.Fatal(err)
	}
	p := &fleet.Problem{Kinds: source.Kinds(), Offers: instances()}
	at := map[string]int{}
	var r trace.Record
	for {
		if err := source.Next(&r); errors.Is(err, io.EOF) {
			return p
		} else if err != nil {
			t.Fatal(err)
		}
		if r.What != trace.TaskSubmitted {
			continue
		}
		key := fmt.Sprint(r.Task.Demand)
		if _, known := at[key]; !known {
			at[key] = len(p.Tasks)
			p.Tasks = append(p.Tasks, fleet.Tasks{Demand: slices.Clone(r.Task.Demand)})
		}
		p.Tasks[at[key]].Count++
	}
}

// TestEC2 holds the gap on clusters like EC2's.
func TestEC2(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds a cluster")
	}
	clusters := []workload.EC2{{Nodes: 40, Load: 0.5, Seed: 1}, {Nodes: 200, Tasks: 300, Load: 0.5, Seed: 1}}
	if long() {
		clusters = append(clusters, workload.EC2{Nodes: 500, Tasks: 100, Load: 0.8, Seed: 2})
	}
	for _, e := range clusters {
		solveWithin(t, fmt.Sprintf("%+v", e), ec2(t, e))
	}
}
