package workload

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// EC2 describes the clusters on which the authors of ECSched (Hu et al., FGCS
// 102, 2020) measured how long a decision takes: nodes of 19 general-purpose
// types of Amazon's EC2 in equal numbers, half of each in use, and 100, 200 or
// 300 requests that arrive at once. They used 1,000 and 5,000 nodes.
//
// The paper names neither the types, the load nor the requests. We take the
// types that were on offer then; the load of a node is cut at random into one
// to four tasks that never end; and a request asks for what a task of Google's
// flow asks for, where the largest node there is the largest type here, and runs
// as long. One that asks for more than half of every node is not made, as the
// paper's other workload has none either. All priorities are 0.
type EC2 struct {
	Nodes int
	Tasks int     // requests, all submitted after a second
	Load  float64 // share of each node in use at the start, from 0 to 1
	Seed  uint64  // of the order of the nodes, the load and the requests, each drawn apart
}

// DefaultEC2 is the smaller of the paper's clusters with the most requests.
func DefaultEC2() EC2 { return EC2{Nodes: 1000, Tasks: 300, Load: 0.5, Seed: 1} }

// maxRequests keeps the number of a request within that of a job.
const maxRequests = 100_000_000

// Validate reports the first field that has no meaning.
func (e EC2) Validate() error {
	switch {
	case e.Nodes < 1 || e.Nodes > maxNodes:
		return fmt.Errorf("workload: Nodes = %d, want 1 to %d", e.Nodes, maxNodes)
	case e.Tasks < 0 || e.Tasks > maxRequests:
		return fmt.Errorf("workload: Tasks = %d, want 0 to %d", e.Tasks, maxRequests)
	case !(e.Load >= 0 && e.Load <= 1):
		return fmt.Errorf("workload: Load = %g, want a share from 0 to 1", e.Load)
	}
	return nil
}

// instanceType is a kind of virtual machine that EC2 offers.
type instanceType struct {
	name   string
	cores  int64
	memory int64 // MiB
}

// The units of cores and memory are those of most readers of traces.
const (
	milli = 1000 // in a core
	gib   = 1024 // MiB
)

func instanceTypes() []instanceType {
	return []instanceType{
		{"t2.nano", 1, gib / 2},
		{"t2.micro", 1, gib},
		{"t2.small", 1, 2 * gib},
		{"t2.medium", 2, 4 * gib},
		{"t2.large", 2, 8 * gib},
		{"t2.xlarge", 4, 16 * gib},
		{"t2.2xlarge", 8, 32 * gib},
		{"m4.large", 2, 8 * gib},
		{"m4.xlarge", 4, 16 * gib},
		{"m4.2xlarge", 8, 32 * gib},
		{"m4.4xlarge", 16, 64 * gib},
		{"m4.10xlarge", 40, 160 * gib},
		{"m4.16xlarge", 64, 256 * gib},
		{"m5.large", 2, 8 * gib},
		{"m5.xlarge", 4, 16 * gib},
		{"m5.2xlarge", 8, 32 * gib},
		{"m5.4xlarge", 16, 64 * gib},
		{"m5.12xlarge", 48, 192 * gib},
		{"m5.24xlarge", 96, 384 * gib},
	}
}

func (t instanceType) capacity() cluster.Vector { return cluster.Vector{t.cores * milli, t.memory} }

// instances makes the records of an EC2 workload.
type instances struct {
	types   []instanceType
	kind    []uint8 // of each node, an index of types
	emitted int     // nodes that have been emitted

	share  uint64 // of each node in use, in 2^-32
	cuts   *rand.Rand
	loaded int              // nodes whose load has been emitted, or cut
	loads  []cluster.Vector // of the latest of them, those yet to be emitted
	jobs   uint64           // of the load so far

	requests requests
}

// NewEC2 returns the workload that e describes. It ends with the last request.
func NewEC2(e EC2) (trace.Source, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	chance := Google{Seed: e.Seed}
	s := &instances{types: instanceTypes(), share: part(e.Load), cuts: chance.stream(stockStream)}
	var offered []instanceType
	for i, n := range apportion(slices.Repeat([]int{1}, len(s.types)), e.Nodes) {
		for range n {
			s.kind = append(s.kind, uint8(i))
		}
		if n > 0 {
			offered = append(offered, s.types[i])
		}
	}
	chance.stream(nodeStream).Shuffle(len(s.kind), func(i, j int) { s.kind[i], s.kind[j] = s.kind[j], s.kind[i] })
	s.requests = newRequests(load(), offered, e.Tasks, chance.stream(flowStream))
	return s, nil
}

// Kinds are cpu and memory.
func (s *instances) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: milli}, {Name: "memory", Unit: "GiB", PerUnit: gib}}
}

// Next fills in the next record: all nodes, what runs on them, the requests.
func (s *instances) Next(r *trace.Record) error {
	if s.emitted < len(s.kind) {
		t := s.types[s.kind[s.emitted]]
		s.emitted++
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{
			ID: uint64(s.emitted), Name: fmt.Sprintf("%s-%d", t.name, s.emitted), Capacity: t.capacity(),
			Labels: []cluster.Label{{Key: "instance-type", Value: t.name}},
		}}
		return nil
	}
	for len(s.loads) == 0 && s.share > 0 && s.loaded < len(s.kind) {
		s.loads = cut(s.cuts, s.types[s.kind[s.loaded]].capacity(), s.share)
		s.loaded++
	}
	if len(s.loads) > 0 {
		s.jobs++
		*r = trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
			Job: s.jobs, JobTasks: 1, User: "load", Demand: s.loads[0], Work: cluster.Never, Running: true, OnNode: uint64(s.loaded),
		}}
		s.loads = s.loads[1:]
		return nil
	}
	return s.requests.next(r)
}

// Close does nothing: there are no files.
func (s *instances) Close() error { return nil }

// cut cuts a share of a node, in 2^-32, into one to four demands. They are no
// less than nothing, and sum up to the share, rounded down.
func cut(draw *rand.Rand, capacity cluster.Vector, share uint64) []cluster.Vector {
	demands := make([]cluster.Vector, 1+draw.IntN(4))
	for i := range demands {
		demands[i] = make(cluster.Vector, len(capacity))
	}
	for k, q := range capacity {
		rest := int64(uint64(q) * share >> 32)
		for i := range demands[1:] {
			demands[i][k] = draw.Int64N(rest + 1)
			rest -= demands[i][k]
		}
		demands[len(demands)-1][k] = rest
	}
	return demands
}

// requests are tasks that look like those of Google's flow, each a job of its
// own.
type requests struct {
	draw  *rand.Rand
	rows  []jobRow
	until []uint64 // sum of the weights of the rows up to each
	work  work
	given int
	most  int
}

// newRequests makes requests of which each fits half of an empty node of one of
// the types. There are such, as Google's smallest task asks for next to nothing.
func newRequests(d *data, types []instanceType, most int, draw *rand.Rand) requests {
	q := requests{draw: draw, work: newWork(d), most: most}
	all := instanceTypes()
	unit := all[len(all)-1].capacity() // of what the rows ask for a share
	sum := uint64(0)
	for _, r := range d.Flow.Rows {
		demand := make(cluster.Vector, len(unit))
		for k := range demand {
			demand[k] = int64(math.Ceil(d.Shapes.Rows[r[3]][k] * float64(unit[k])))
		}
		if !slices.ContainsFunc(types, func(t instanceType) bool { return fitsHalf(demand, t.capacity()) }) {
			continue
		}
		q.rows = append(q.rows, jobRow{priority: int32(r[0]), class: uint8(r[1]), tasks: r[2], demand: demand})
		sum += uint64(r[2]) * uint64(r[5])
		q.until = append(q.until, sum)
	}
	return q
}

func fitsHalf(demand, capacity cluster.Vector) bool {
	for k, q := range demand {
		if 2*q > capacity[k] {
			return false
		}
	}
	return true
}

// next gives the next request.
func (q *requests) next(r *trace.Record) error {
	if q.given == q.most {
		return io.EOF
	}
	row := &q.rows[pick(q.until, q.draw.Uint64N(q.until[len(q.until)-1]))]
	*r = trace.Record{Time: cluster.Second, What: trace.TaskSubmitted, Task: trace.Task{
		Job: firstFlowJob + uint64(q.given), JobTasks: 1, Demand: row.demand, Work: max(1, q.work.draw(q.draw, row)),
	}}
	q.given++
	return nil
}
