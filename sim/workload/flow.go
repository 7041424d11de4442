package workload

import (
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// firstFlowJob keeps the numbers of arriving jobs apart from those of the
// stock, however large that is.
const firstFlowJob = 10_000_001

// flow is the jobs that arrive, one after the other.
type flow struct {
	arrivals
	draw  *rand.Rand
	next  uint64 // number of the next job
	rows  []jobRow
	until []uint64 // sum of the weights of the rows up to each
	users users
	apart uint64 // share of jobs of several tasks, in 2^-32
	work  work
	wants *requirements
	want  *rand.Rand // from which wants draws
}

// arrivals is when jobs arrive. The time between two of them is often a few
// milliseconds and sometimes half a minute, as scripts submit them; it is not
// a Poisson process.
type arrivals struct {
	at    cluster.Time // of the next job; Never if there is none
	gap   table
	slow  [24]float64 // what the gap is multiplied with, by hour of day
	begin cluster.Time
}

func newFlow(d *data, g Google, nodes *machines, wants *requirements) *flow {
	if g.Rate == 0 {
		return &flow{arrivals: arrivals{at: cluster.Never}}
	}
	f := &flow{
		draw: g.stream(flowStream), next: firstFlowJob, users: newUsers(d.Users.Flow),
		apart: part(d.Apart.Share), work: newWork(d), wants: wants, want: g.stream(flowWantStream),
	}
	more := f.choose(d, g, nodes)
	f.gap, f.begin = d.JobGap.table(float64(cluster.Second)), cluster.Time(d.Hours.Begin)*cluster.Hour
	for h, factor := range d.Hours.Factors {
		f.slow[h] = 1 / (more * g.Rate * factor)
	}
	f.advance(f.draw)
	return f
}

// choose prepares the rows to draw jobs from. It returns how many jobs arrive
// here for each that arrives at Google's.
func (f *flow) choose(d *data, g Google, nodes *machines) float64 {
	theirs, ours := 0.0, 0.0
	for _, r := range d.Flow.Rows {
		theirs += float64(r[5])
	}
	f.rows = d.Flow.rows(d, nodes, float64(g.Nodes)/float64(d.theirNodes()))
	for _, r := range f.rows {
		ours += r.jobs
	}
	sum := uint64(0)
	for _, r := range f.rows {
		sum += uint64(r.jobs / ours * (1 << 31)) // leaves room for a product with 32 bits
		f.until = append(f.until, sum)
	}
	return ours / theirs
}

// advance moves on to the next arrival.
func (a *arrivals) advance(draw *rand.Rand) {
	hour := (a.at + a.begin) / cluster.Hour % 24
	gap := float64(a.gap.at(draw.Uint32())) * a.slow[hour]
	a.at += cluster.Time(gap)
}

// step returns the job that arrives at f.at, and moves on.
func (f *flow) step() job {
	u := uint64(f.draw.Uint32()) * f.until[len(f.until)-1] >> 32
	row := &f.rows[pick(f.until, u)]
	apart := uint64(f.draw.Uint32()) < f.apart && row.tasks > 1 && int(row.tasks) <= row.room/2
	j := job{
		at: f.at,
		task: trace.Task{
			Job: f.next, JobTasks: row.tasks, User: f.users.pick(f.draw),
			Class: row.class, Priority: row.priority, Demand: row.demand, PerNode: perNode(apart),
			Requirements: f.wants.perhaps(f.want, row, apart),
		},
		work: f.work.draw(f.draw, row), factor: f.work.factor, draw: f.draw,
	}
	f.next++
	f.advance(f.draw)
	return j
}

// pick returns the row into whose part of the sum of all weights u falls; until
// is that sum up to each row, inclusive.
func pick(until []uint64, u uint64) int {
	i, found := slices.BinarySearch(until, u)
	if found {
		i++
	}
	return i
}
