package workload

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// The stock is what is there when the trace begins: a sample of the jobs of
// Google's snapshot. A few jobs hold half of the tasks, so a sample of
// independent draws would differ from Google's in all that matters. Instead
// the rows of the data stand in order of priority and size, and every n-th job
// is taken (systematic sampling): each part of the order is there in its
// share, whatever the seed.

// newStock returns the jobs of the stock in random order. Of the tasks as many
// have requirements as g says.
func newStock(d *data, g Google, nodes *machines, wants *requirements) []job {
	draw := g.stream(stockStream)
	rows := sampleStock(d, g, nodes, draw)
	draw.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	users, want := newUsers(d.Users.Stock), g.stream(stockWantStream)
	factor := d.Work.Factor.table(1e6)
	var stays [bands]stay
	for b, r := range []residue{d.Left.Free, d.Left.Middle, d.Left.Production} {
		stays[b] = stay{uint64(1)<<32 - part(r.Never), quantiles{r.Source, r.Knots}.table(float64(cluster.Second))}
	}
	// A share of jobs would be any share of tasks, so it is tasks that are
	// counted off until enough have requirements.
	quota := uint32(g.Constrained * g.TasksPerNode * float64(g.Nodes))
	largest := max(1, quota/3)
	jobs := make([]job, len(rows))
	for i := range rows {
		row := &rows[i]
		set := wants.some(want, row, row.apart)
		if row.tasks <= min(quota, largest) && set != nil {
			quota -= row.tasks
		} else {
			set = nil
		}
		jobs[i] = job{
			task: trace.Task{
				Job: uint64(i + 1), JobTasks: row.tasks, User: users.pick(draw),
				Class: row.class, Priority: row.priority, Demand: row.demand, PerNode: perNode(row.apart), Requirements: set,
			},
			work: stays[band(row.priority)].draw(draw), factor: factor, draw: draw,
		}
	}
	return jobs
}

// sampleStock takes jobs so that there are as many tasks as g says.
func sampleStock(d *data, g Google, nodes *machines, draw *rand.Rand) []jobRow {
	want := int64(math.Round(g.TasksPerNode * float64(g.Nodes)))
	all := int64(0)
	for _, r := range d.Stock.Rows {
		all += int64(r[2]) * int64(r[5])
	}
	scale := float64(want) / float64(all)
	var out []jobRow
	due := float64(draw.Uint32()) / (1 << 32)
	for _, row := range d.Stock.rows(d, nodes, scale) {
		for due += row.jobs; due >= 1; due-- {
			out = append(out, row)
			want -= int64(row.tasks)
		}
	}
	settle(out, want)
	return out
}

// settle adds the tasks that are still wanted to the largest jobs, or takes
// from them what is too much.
func settle(rows []jobRow, want int64) {
	order := make([]int, 0, len(rows))
	for i, r := range rows {
		if !r.apart && r.tasks > 1 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[b].tasks, rows[a].tasks) })
	for _, i := range order {
		step := int64(rows[i].tasks / 2)
		step = min(max(want, -step), step)
		rows[i].tasks = uint32(int64(rows[i].tasks) + step)
		want -= step
	}
}

// stay is how long jobs of a band stay from the start on.
type stay struct {
	leaving uint64 // share that leaves at all, in 2^-32
	when    table
}

func (s stay) draw(r *rand.Rand) cluster.Time {
	u := uint64(r.Uint32())
	v := r.Uint32()
	if u >= s.leaving {
		return cluster.Never
	}
	return cluster.Time(s.when.at(v))
}
