package experiment

import "math"

// This file is the model of interference by which medea-runtime turns placements into run times.
// It is a reconstruction: the paper measured real applications, and of its measurements only
// some ratios are known. Where there are such the model is calibrated to them, so that it
// says nothing about them; where there are none it is made up, and says so. Run times are in
// units of the best one.

// TensorFlow's workers slow one another down on a node, and the network slows them down
// between nodes, so that some number on a node is best: 16 in a busy cluster, where 32
// take 1/(1−42 %) of its time and 1 takes 1/(1−34 %), and 4 in a quiet one (quoted). Between
// these the time grows with the square of the octaves from the best; how fast in a quiet
// cluster is not known, and is taken from the flat side of the busy one. The slowest worker
// sets the pace: made up.
const (
	bestBusy, bestQuiet = 4, 2 // octaves: 16 and 4 workers
	crowded, alone      = 1 / (1 - 0.42), 1 / (1 - 0.34)
)

// besideWorkers is a worker's time with so many of the job on its node, itself included.
func besideWorkers(workers int, busy bool) float64 {
	flat := (alone - 1) / (bestBusy * bestBusy)
	octaves := math.Log2(float64(workers))
	switch away := octaves - bestQuiet; {
	case !busy:
		return 1 + float64(flat*float64(away*away))
	case octaves > bestBusy:
		away = octaves - bestBusy
		return 1 + float64((crowded-1)*float64(away*away))
	default:
		away = octaves - bestBusy
		return 1 + float64(flat*float64(away*away))
	}
}

// Region servers of HBase share the disks of their node with all of their like, and reach
// their master over the racks. Both numbers are made up.
const (
	perNeighbour = 0.25 // for each region server on the node beyond two
	offRack      = 0.2
)

// besideRegions is a region server's time with so many on its node, itself included.
func besideRegions(servers int, nearMaster bool) float64 {
	time := 1 + float64(perNeighbour*float64(max(servers-2, 0)))
	if !nearMaster {
		time += offRack
	}
	return time
}

// Storm's tuples cross the network between supervisors on different nodes, and for each look
// into memcached on another node. With all supervisors on one node latency is 31 % lower, and
// with memcached there, too, five times lower again (quoted).
const (
	perHop    = 1/(1-0.31) - 1 // where no two supervisors share a node
	perLookup = 5 - 1          // where no supervisor has memcached on its node
)

// latency is Storm's, of a share of the pairs of supervisors that are on different nodes, and
// of the supervisors that have no memcached on theirs.
func latency(apart, missing float64) float64 {
	return float64((1 + float64(perHop*apart)) * (1 + float64(perLookup*missing)))
}
