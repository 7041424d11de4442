package calibration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// This file draws what comes.

// Each node has room for 8 cores and 32 GiB, and pods ask for the part of it that one of these sizes says.
const (
	nodeCores = 8
	nodeGiB   = 32
	halfCores = 2 // a size counts halves of a core
)

// size is what a pod asks for.
type size struct{ halves, gib int64 }

// sizes are drawn with equal chances: cores and memory do not compete alike, so that nodes are not full of both at once.
func sizes() []size { return []size{{1, 2}, {1, 1}, {2, 4}, {2, 12}, {4, 8}, {8, 8}} }

// Options say what is drawn. Equal ones give equal workloads.
type Options struct {
	Nodes, Pods int
	// Load is the part of the nodes' cores that pods would have on average, if each had its node at once.
	Load float64
	// Work is how long pods work on average; each draws from an exponential distribution, and has a second at least.
	Work time.Duration
	Seed uint64
	// Policy is that of the scheduler's profile, and of the simulator.
	Policy string
	// Scheduler is the path of a fairlead-scheduler.
	Scheduler string
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	if o.Nodes < 1 || o.Pods < 1 || o.Load <= 0 || o.Work < time.Second {
		return fmt.Errorf("%d nodes, %d pods, load %v, work %v: want a node and a pod at least, some load, and a second of work", o.Nodes, o.Pods, o.Load, o.Work)
	}
	if o.Policy == "" {
		return errors.New("want a policy")
	}
	return nil
}

// pod is one that comes.
type pod struct {
	at   time.Duration // from the start
	size size
	work time.Duration
}

// draw draws the pods, the first to come first. Their gaps are exponential.
func draw(o *Options) []pod {
	random := rand.New(rand.NewPCG(o.Seed, 0xCA11B))
	all := sizes()
	halves := int64(0)
	for _, s := range all {
		halves += s.halves
	}
	cores := float64(halves) / halfCores / float64(len(all))
	gap := cores * o.Work.Seconds() / (o.Load * float64(o.Nodes) * nodeCores)
	pods, at := make([]pod, o.Pods), 0.0
	for i := range pods {
		at += gap * random.ExpFloat64()
		work := max(time.Second, time.Duration(random.ExpFloat64()*float64(o.Work)))
		pods[i] = pod{time.Duration(at * float64(time.Second)), all[random.IntN(len(all))], work}
	}
	return pods
}
